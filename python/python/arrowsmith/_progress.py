# SPDX-License-Identifier: Apache-2.0
"""Progress as it is shown: by tqdm if it is installed, else as a line on a terminal."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from arrowsmith._types import Progress


class _Display(Protocol):
    def show(self, done: int, total: int | None, /) -> None: ...
    def close(self) -> None: ...


@contextmanager
def watching(progress: Progress) -> Iterator[Callable[[int, int | None], object] | None]:
    """Yield what is called with the bytes done and the bytes in all, if that is known."""
    if callable(progress):
        yield progress
        return
    display = _display() if progress else None
    if display is None:
        yield None
        return
    try:
        yield display.show
    finally:
        display.close()


def _display() -> _Display | None:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line() if sys.stderr.isatty() else None
    return _Bar(tqdm(unit="B", unit_scale=True, unit_divisor=1024))


class _Bar:
    """A bar of tqdm."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar

    def show(self, done: int, total: int | None, /) -> None:
        self._bar.total = total
        self._bar.n = done
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


class _Line:
    """A line that is written again and again."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def show(self, done: int, total: int | None, /) -> None:
        seconds = max(time.monotonic() - self._start, 1e-3)
        of = f" of {_size(total)}, {done / max(total, 1):.0%}" if total is not None else ""
        text = f"{_size(done)}{of}, {_size(done / seconds)}/s"
        print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        # What is printed next starts on an empty line.
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _size(count: float) -> str:
    unit = "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            break
        count /= 1024
    return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
