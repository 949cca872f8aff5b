# SPDX-License-Identifier: Apache-2.0
"""Reading while an event loop runs: each call is run by a thread, a cancelled one ends early.

Imported when it is needed: ``asyncio`` takes as long to import as all the rest.
"""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable
from concurrent.futures import CancelledError, Future
from typing import TypeVar, cast

from arrowsmith._lib import Batch, Cancel, Reader
from arrowsmith._sources import opened
from arrowsmith._types import Source, StorageOptions

T = TypeVar("T")

_END = object()
"""What follows the last piece: an iterator may yield anything else, by mistake."""


async def in_thread(call: Callable[[], T], stop: Callable[[], object]) -> T:
    """Return the result of ``call``; call ``stop`` if the task is cancelled before its end."""
    running = asyncio.get_running_loop().run_in_executor(None, call)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop()
        # The thread ends with an exception, which is not awaited.
        running.add_done_callback(lambda done: done.cancelled() or done.exception())
        raise


async def reading(
    source: Source, storage: StorageOptions | None, call: Callable[[Source, Cancel], T]
) -> T:
    """Return the result of ``call``, which ends early if the task is cancelled."""
    cancel, files = Cancel(), Files()

    def stop() -> None:
        cancel.cancel()
        files.stop()

    # Opening a file of another file system may take time.
    return await in_thread(lambda: call(opened(source, storage, files), cancel), stop)


async def next_batch(reader: Reader) -> Batch:
    """Return the next batch; cancelling it closes the reader."""
    batch = await in_thread(lambda: next(reader, None), reader.close)
    if batch is None:
        raise StopAsyncIteration
    return batch


async def entered(reader: Reader) -> Reader:
    """Return the reader, as ``async with`` expects."""
    return reader


async def closed(reader: Reader) -> None:
    """Close the reader: the threads are waited for by another thread."""
    await asyncio.get_running_loop().run_in_executor(None, reader.close)


class Files:
    """The files of asynchronous iterators, which end together."""

    def __init__(self) -> None:
        """Inside a coroutine: the iterators run in its loop."""
        self._loop = asyncio.get_running_loop()
        self._files: list[_Pieces] = []

    def of(self, source: AsyncIterable[bytes]) -> "_Pieces":
        """Return the bytes of an iterator as a file."""
        file = _Pieces(source.__aiter__(), self._loop)
        self._files.append(file)
        return file

    def stop(self) -> None:
        """Cancel what a thread waits for."""
        for file in self._files:
            file.stop()


class _Pieces:
    """A binary file that a thread reads, of pieces that come in an event loop."""

    def __init__(self, pieces: AsyncIterator[bytes], loop: asyncio.AbstractEventLoop) -> None:
        self._pieces = pieces
        self._loop = loop
        self._waiting: Future[object] | None = None
        self._stopped = False
        self._rest = memoryview(b"")

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes; empty at the end."""
        while not self._rest:
            if self._stopped:
                raise OSError("source: reading was cancelled")
            self._waiting = asyncio.run_coroutine_threadsafe(self._next(), self._loop)
            if self._stopped:  # Between the two lines above.
                self._waiting.cancel()
            try:
                piece = self._waiting.result()
            except CancelledError:
                raise OSError("source: reading was cancelled") from None
            if piece is _END:
                return b""
            try:
                self._rest = memoryview(cast(bytes, piece)).cast("B")
            except TypeError:
                found = type(piece).__name__
                raise TypeError(f"source: expected pieces that are bytes, found {found}") from None
        part, self._rest = self._rest[:size], self._rest[size:]
        return bytes(part)

    def stop(self) -> None:
        """End a ``read`` of another thread."""
        self._stopped = True
        if self._waiting is not None:
            self._waiting.cancel()

    async def _next(self) -> object:
        try:
            return await anext(self._pieces)
        except StopAsyncIteration:
            return _END
