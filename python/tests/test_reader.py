# SPDX-License-Identifier: Apache-2.0
"""Streaming, threads, and the GIL."""

import gc
import io
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import arrowsmith
from conftest import ROWS


def test_batches(path: Path) -> None:
    with arrowsmith.open_json(path, batch_rows=3000) as reader:
        assert reader.schema.names[0] == "id"
        rows = [batch.num_rows for batch in reader]
        assert rows == [3000] * 6 + [2000]
        assert (reader.num_rows, reader.num_rejects, reader.closed) == (ROWS, 0, False)
        assert list(reader) == []
    assert reader.closed
    with pytest.raises(ValueError, match="closed"):
        next(reader)


def test_batch_object(lines: bytes) -> None:
    reader = arrowsmith.open_json(lines, columns=["id"], batch_rows=10)
    batches = [next(reader), next(reader)]
    taken = [pa.record_batch(batch) for batch in batches]
    assert pa.Table.from_batches(taken)["id"].to_pylist() == list(range(20))
    assert batches[0].schema == reader.schema
    assert "10 rows" in repr(batches[0])


def test_arrow_stream_is_taken_once(lines: bytes) -> None:
    reader = arrowsmith.open_json(lines)
    assert next(reader).num_rows > 0
    rest = pa.RecordBatchReader.from_stream(reader)
    for use in (lambda: next(reader), lambda: pa.table(reader)):
        with pytest.raises(ValueError, match="only once"):
            use()
    reader.close()  # The stream goes on.
    first = reader.num_rows
    assert sum(batch.num_rows for batch in rest) <= ROWS
    assert reader.num_rows == ROWS >= first


def test_stream_to_polars_and_pyarrow(lines: bytes) -> None:
    # The consumer of the next batch may hold the GIL, which the source needs on another thread.
    for threads in (1, 2):
        assert pl.DataFrame(arrowsmith.open_json(io.BytesIO(lines), threads=threads)).height == ROWS
    reader = arrowsmith.open_json(io.BytesIO(lines), threads=2).to_pyarrow()
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.read_all().num_rows == ROWS
    reader.close()


def test_schema_before_data(lines: bytes) -> None:
    reader = arrowsmith.open_json(lines)
    assert pa.schema(reader).names == reader.schema.names
    assert reader.num_rows == 0


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_threads_give_the_same(path: Path, threads: int) -> None:
    one = pa.table(arrowsmith.read_json(path, threads=1))
    assert pa.table(arrowsmith.read_json(path, threads=threads)).equals(one)


def test_engines_give_the_same(path: Path) -> None:
    schema = arrowsmith.infer_schema(path)
    cpu = pa.table(arrowsmith.read_json(path, schema))
    assert pa.table(arrowsmith.read_json(path, schema, engine="reference")).equals(cpu)


@pytest.mark.parametrize("threads", [1, 2])
def test_other_threads_run_meanwhile(lines: bytes, threads: int) -> None:
    source = lines * 10
    schema = arrowsmith.infer_schema(lines)
    ticks, done = 0, threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.0005)

    other = threading.Thread(target=tick)
    interval = sys.getswitchinterval()
    # From here on a thread keeps the GIL until it releases it.
    sys.setswitchinterval(100)
    try:
        other.start()
        time.sleep(0.01)
        before = ticks
        # A single batch: during it only the decoder runs on this thread.
        table = arrowsmith.read_json(source, schema, threads=threads, batch_rows=1 << 30)
        during = ticks - before
    finally:
        sys.setswitchinterval(interval)
        done.set()
        other.join()
    assert table.num_rows == 10 * ROWS
    assert during >= 5


def test_a_reader_in_use(lines: bytes) -> None:
    """A source that reads from its own reader gets an error instead of a deadlock."""
    errors: list[Exception] = []
    readers: list[arrowsmith.Reader] = []

    class Curious(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if readers:
                try:
                    next(readers[0])
                except ValueError as error:
                    errors.append(error)
            return super().read(size)

    readers.append(arrowsmith.open_json(Curious(lines), "id: int64", threads=1))
    assert sum(batch.num_rows for batch in readers[0]) == ROWS
    assert "in use" in str(errors[0])


def test_dropping_a_reader_stops_it(lines: bytes) -> None:
    class Source(io.BytesIO):
        pass

    source = Source(lines * 50)
    watch = weakref.ref(source)
    reader = arrowsmith.open_json(source, "id: int64", threads=2)
    next(reader)
    assert source.tell() < 50 * len(lines)
    del reader, source
    deadline = time.monotonic() + 10
    while watch() is not None and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert watch() is None


def test_close_from_another_thread() -> None:
    """A reader that waits for its source ends when it is closed, once the source returns."""
    gate, waiting = threading.Event(), threading.Event()

    class Slow(io.RawIOBase):
        def read(self, size: int = -1, /) -> bytes:
            waiting.set()
            gate.wait(10)
            return b"{}\n"[-size:]

    reader = arrowsmith.open_json(Slow(), "id: int64", threads=1)
    raised: list[BaseException] = []

    def consume() -> None:
        try:
            for _ in reader:
                pass
        except arrowsmith.ArrowsmithError as error:
            raised.append(error)

    thread = threading.Thread(target=consume)
    thread.start()
    assert waiting.wait(10)
    reader.close()
    gate.set()
    thread.join(10)
    assert not thread.is_alive()
    assert "cancelled" in str(raised[0])
    assert reader.closed


@pytest.mark.parametrize("threads", [1, 2])
def test_interrupt(lines: bytes, threads: int) -> None:
    """Ctrl-C takes effect long before the input ends."""

    class Interrupting(io.BytesIO):
        reads = 0

        def read(self, size: int | None = -1, /) -> bytes:
            self.reads += 1
            if self.reads == 5:
                signal.raise_signal(signal.SIGINT)
            return super().read(size)

    # A shell starts background jobs with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    source = Interrupting(lines * 80)
    with pytest.raises(KeyboardInterrupt):
        arrowsmith.read_json(source, "id: int64", threads=threads)
    assert source.tell() < 60 * len(lines)


def test_nothing() -> None:
    table = arrowsmith.read_json(b"", "a: int64")
    assert (table.num_rows, table.batches) == (0, [])
    assert pa.table(table).schema.names == ["a"]
    assert "0 rows" in repr(table)
    assert pl.DataFrame(table).schema == {"a": pl.Int64}


LEAVE = """
import sys, time
import arrowsmith
import pyarrow.dataset

dataset = arrowsmith.scan_json(sys.argv[1], batch_rows=500).to_dataset()
for _ in range(3):
    dataset.head(3)
batches = dataset.to_batches()
next(batches)
"""


def test_python_exits_while_other_threads_read(path: Path) -> None:
    """A thread of pyarrow that wants the GIL too late would never end."""
    for _ in range(8):
        subprocess.run([sys.executable, "-c", LEAVE, path], timeout=60, check=True)
