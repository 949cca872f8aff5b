# SPDX-License-Identifier: Apache-2.0
"""Reading while an event loop runs: each call is run by a thread, a cancelled one ends early.

Imported when it is needed: ``asyncio`` takes as long to import as all the rest.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from arrowsmith._lib import Batch, Reader

T = TypeVar("T")


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
