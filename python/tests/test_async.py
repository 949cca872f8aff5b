# SPDX-License-Identifier: Apache-2.0
"""Reading in an event loop, and that a cancelled task ends its work."""

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import arrowsmith
from conftest import ROWS


class Endless:
    """A file without an end, which tells when it is read."""

    def __init__(self) -> None:
        self.line = b'{"a":1}\n' * 8_192
        self.began = threading.Event()
        self.position = 0
        self.reads = 0

    def read(self, size: int, /) -> bytes:
        self.began.set()
        self.reads += 1
        part = self.line[self.position : self.position + size]
        self.position = (self.position + len(part)) % len(self.line)
        return part


async def ends(source: Endless) -> None:
    """Wait until the source is no longer read."""
    for _ in range(1_000):
        before = source.reads
        await asyncio.sleep(0.05)
        if source.reads == before:
            return
    raise AssertionError("reading the source never ends")


def test_tables_are_read_while_the_loop_runs(lines: bytes, path: Path) -> None:
    async def both() -> tuple[arrowsmith.Table, arrowsmith.Table]:
        return await asyncio.gather(
            arrowsmith.read_json_async(lines), arrowsmith.read_json_async(path, threads=1)
        )

    for table in asyncio.run(both()):
        assert pa.table(table).equals(pa.table(arrowsmith.read_json(lines)))


def test_parquet_is_read_while_the_loop_runs(lines: bytes, tmp_path: Path) -> None:
    whole = pa.table(arrowsmith.read_json(lines))
    pa.parquet.write_table(whole, tmp_path / "rows.parquet", row_group_size=5_000)

    async def read() -> tuple[arrowsmith.Table, int]:
        table = await arrowsmith.read_parquet_async(tmp_path / "rows.parquet", columns=["id"])
        rows = 0
        async with arrowsmith.open_parquet(tmp_path / "rows.parquet") as reader:
            async for batch in reader:
                rows += len(batch)
        return table, rows

    table, rows = asyncio.run(read())
    assert pa.table(table).equals(whole.select(["id"]))
    assert rows == ROWS


def test_readers_are_iterated_asynchronously(lines: bytes) -> None:
    async def numbers() -> list[int]:
        found = []
        async with arrowsmith.open_json(lines, columns=["id"], batch_rows=1_000) as reader:
            async for batch in reader:
                found += [row["id"] for row in batch.to_pylist()]
        assert reader.closed
        return found

    assert asyncio.run(numbers()) == list(range(ROWS))


def test_errors_are_raised_by_the_task() -> None:
    async def table() -> None:
        await arrowsmith.read_json_async(b'{"a":1}\n{"a":"x"}\n', "a: int64")

    async def batches() -> None:
        async for _ in arrowsmith.open_json(b'{"a":1}\n{"a":"x"}\n', "a: int64"):
            pass

    async def option() -> None:
        await arrowsmith.read_json_async(b"", threads="many")  # type: ignore[arg-type]

    for call in (table, batches):
        with pytest.raises(arrowsmith.DataError) as caught:
            asyncio.run(call())
        assert caught.value.line == 2
    with pytest.raises(TypeError, match="threads"):
        asyncio.run(option())


def cancelled(call: Callable[[Endless], "asyncio.Future[object]"]) -> None:
    async def main() -> None:
        source = Endless()
        task = asyncio.ensure_future(call(source))
        while not source.began.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await ends(source)

    asyncio.run(main())


def test_cancelling_a_table_ends_the_work() -> None:
    async def call(source: Endless) -> object:
        return await arrowsmith.read_json_async(source, "a: int64", threads=2)

    cancelled(lambda source: asyncio.ensure_future(call(source)))


def test_cancelling_an_iteration_ends_the_work() -> None:
    async def call(source: Endless) -> object:
        async for _ in arrowsmith.open_json(source, "a: int64", batch_rows=100):
            pass
        return None

    cancelled(lambda source: asyncio.ensure_future(call(source)))


def test_leaving_the_block_ends_the_work() -> None:
    async def main() -> None:
        source = Endless()
        async with arrowsmith.open_json(source, "a: int64", batch_rows=100) as reader:
            async for _ in reader:
                break
        assert reader.closed
        await ends(source)

    asyncio.run(main())


def test_they_are_coroutine_functions_with_the_same_options() -> None:
    functions: list[tuple[Callable[..., object], Callable[..., object]]] = [
        (arrowsmith.read_json, arrowsmith.read_json_async),
        (arrowsmith.read_parquet, arrowsmith.read_parquet_async),
    ]
    for plain, other in functions:
        assert inspect.iscoroutinefunction(other)
        assert inspect.signature(plain).parameters == inspect.signature(other).parameters


def test_pieces_of_an_event_loop_are_a_source(lines: bytes, tmp_path: Path) -> None:
    """Of any size, empty ones too, between which others run."""
    expected = pa.table(arrowsmith.read_json(lines))
    pyarrow.parquet.write_table(expected, tmp_path / "x.parquet")

    async def pieces(content: bytes, size: int) -> AsyncIterator[bytes]:
        for start in range(0, len(content), size):
            yield b""
            await asyncio.sleep(0)
            yield content[start : start + size]

    async def read() -> None:
        for size in (1_009, len(lines)):
            table = await arrowsmith.read_json_async(pieces(lines, size))
            assert pa.table(table).equals(expected)
        both = await arrowsmith.read_json_async([pieces(lines, 50_000), lines])
        assert both.num_rows == 2 * ROWS
        content = (tmp_path / "x.parquet").read_bytes()
        table = await arrowsmith.read_parquet_async(pieces(content, 999), columns=["id"])
        assert table.num_rows == ROWS
        assert (await arrowsmith.read_json_async(pieces(b"", 1), "a: int64")).num_rows == 0

    asyncio.run(read())
    for read_it in (arrowsmith.read_json, arrowsmith.open_json, arrowsmith.infer_schema):
        with pytest.raises(TypeError, match="read_json_async"):
            read_it(pieces(lines, 9))
    with pytest.raises(TypeError, match="several times"):
        arrowsmith.scan_json(pieces(lines, 9))


def test_what_pieces_raise_is_raised() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"a":1}\n'
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        asyncio.run(arrowsmith.read_json_async(pieces(), "a: int64"))

    async def text() -> AsyncIterator[str]:
        yield '{"a":1}\n'

    with pytest.raises(TypeError, match="bytes"):
        asyncio.run(arrowsmith.read_json_async(text(), "a: int64"))  # type: ignore[arg-type]

    async def with_none() -> AsyncIterator[bytes | None]:
        yield b'{"a":1}\n'
        yield None
        yield b'{"a":2}\n'

    with pytest.raises(TypeError, match="bytes, found NoneType"):
        asyncio.run(arrowsmith.read_json_async(with_none()))  # type: ignore[arg-type]


def test_cancelling_ends_the_wait_for_a_piece() -> None:
    """Otherwise the thread would wait for it, and the interpreter for the thread."""
    ended = []

    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"a":1}\n'
        try:
            await asyncio.sleep(3_600)
        finally:
            ended.append(True)

    async def read() -> None:
        task = asyncio.ensure_future(arrowsmith.read_json_async(pieces(), "a: int64"))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.get_running_loop().shutdown_default_executor()

    asyncio.run(read())
    assert ended
