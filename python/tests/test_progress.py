# SPDX-License-Identifier: Apache-2.0
"""Progress: the bytes that a callback gets, and what is shown to people."""

import asyncio
import builtins
import io
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arrowsmith
from conftest import ROWS

Call = tuple[int, int | None]


def check(calls: list[Call], total: int | None) -> None:
    """The bytes grow; the last call has all of them."""
    done = [bytes_done for bytes_done, _ in calls]
    assert done == sorted(done)
    assert {of for _, of in calls} == {total}
    if total is not None:
        assert done[-1] == total


def take(calls: list[Call]) -> Any:
    return lambda done, total: calls.append((done, total))


def test_reading_json(path: Path, lines: bytes) -> None:
    calls: list[Call] = []
    table = arrowsmith.read_json(path, batch_rows=100, progress=take(calls))
    assert table.num_rows == ROWS
    check(calls, len(lines))
    calls.clear()
    arrowsmith.read_json(io.BytesIO(lines), progress=take(calls))
    check(calls, None)
    calls.clear()
    asyncio.run(arrowsmith.read_json_async(path, progress=take(calls)))
    check(calls, len(lines))
    calls.clear()
    arrowsmith.scan_json(path).filter("id > 1").collect(progress=take(calls))
    check(calls, len(lines))


def test_reading_parquet(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": range(100_000), "b": range(100_000)}), path)
    calls: list[Call] = []
    arrowsmith.read_parquet(path, progress=take(calls))
    total = calls[-1][1]
    assert total is not None
    assert 0 < total <= path.stat().st_size
    check(calls, total)


def test_writing(path: Path, lines: bytes, tmp_path: Path) -> None:
    calls: list[Call] = []
    arrowsmith.convert_json(path, tmp_path / "x.parquet", progress=take(calls))
    check(calls, len(lines))
    table = arrowsmith.read_json(path, batch_rows=1000)
    calls.clear()
    arrowsmith.write_parquet(table, tmp_path / "y.parquet", progress=take(calls))
    check(calls, table.nbytes)
    assert 0.9 < table.nbytes / pa.table(table).nbytes < 1.1
    calls.clear()
    reader = arrowsmith.open_json(path)
    arrowsmith.write_parquet(reader, tmp_path / "z.parquet", progress=take(calls))
    check(calls, None)


def test_readers_tell_their_bytes(path: Path, lines: bytes) -> None:
    with arrowsmith.open_json(path, batch_rows=1000) as reader:
        assert reader.bytes_total == len(lines)
        for _ in reader:
            pass
        assert reader.bytes_read == len(lines)
    assert arrowsmith.open_json(io.BytesIO(lines)).bytes_total is None


def test_an_exception_of_the_callback_ends_the_work(path: Path, tmp_path: Path) -> None:
    def fail(done: int, total: int | None) -> None:
        raise KeyError(done)

    target = tmp_path / "x.parquet"
    for call in (
        lambda: arrowsmith.read_json(path, progress=fail),
        lambda: arrowsmith.convert_json(path, target, progress=fail),
        lambda: arrowsmith.write_parquet(arrowsmith.open_json(path), target, progress=fail),
    ):
        with pytest.raises(KeyError):
            call()
    assert not target.exists()


def test_an_exception_about_the_last_record_leaves_no_file(tmp_path: Path) -> None:
    path, target = tmp_path / "x.json", tmp_path / "x.parquet"

    def fail(reject: object) -> None:
        raise KeyError("reject")

    # On the caller's thread, and on one of its own.
    for records in (10, 1_100_000):
        path.write_bytes(b'{"a":1}\n' * records + b"bad\n")
        options: dict[str, Any] = {"on_error": "skip", "rejects": fail}
        with pytest.raises(KeyError, match="reject"):
            arrowsmith.convert_json(path, target, "a: int64", **options)
        assert not target.exists()
        with pytest.raises(KeyError, match="reject"):
            arrowsmith.read_json(path, "a: int64", **options)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    before = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("tqdm"):
            raise ModuleNotFoundError(name)
        return before(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)


@pytest.mark.usefixtures("without_tqdm")
def test_a_line_on_a_terminal(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        arrowsmith.read_json(path, progress=True)
        text = stream.getvalue()
        assert ("MiB of " in text and "100%" in text) == shown
        assert text.endswith("\r\x1b[K" if shown else "")
    silent = Terminal()
    monkeypatch.setattr(sys, "stderr", silent)
    arrowsmith.read_json(path)
    assert silent.getvalue() == ""


def test_a_bar_of_tqdm(path: Path, lines: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    bars = []

    class Bar:
        def __init__(self, **options: object) -> None:
            assert options["unit"] == "B"
            self.total: int | None = None
            self.n = 0
            self.closed = False
            bars.append(self)

        def refresh(self) -> None:
            pass

        def close(self) -> None:
            self.closed = True

    module = types.ModuleType("tqdm.auto")
    module.tqdm = Bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    arrowsmith.read_json(path, progress=True)
    with pytest.raises(arrowsmith.DataError):
        arrowsmith.read_json(b"{", progress=True)
    assert [bar.closed for bar in bars] == [True, True]
    assert (bars[0].n, bars[0].total) == (len(lines), len(lines))


BLOCKED = """
import os, signal, sys, threading, time
import arrowsmith

signal.signal(signal.SIGINT, signal.default_int_handler)
path, call = sys.argv[1:3]
os.mkfifo(path)
keep = os.open(path, os.O_RDWR)
os.write(keep, b'{"a":1}\\n' * int(sys.argv[3]))
calls = {
    "read_json": lambda: arrowsmith.read_json(path),
    "infer_schema": lambda: arrowsmith.infer_schema(path),
    "open_json": lambda: list(arrowsmith.open_json(path, "a: int64")),
    "convert_json": lambda: arrowsmith.convert_json(path, path + ".parquet", "a: int64"),
}
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    calls[call]()
except KeyboardInterrupt:
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]
    print("interrupted")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
@pytest.mark.parametrize("records", [0, 3])
@pytest.mark.parametrize("call", ["read_json", "infer_schema", "open_json", "convert_json"])
def test_ctrl_c_while_a_pipe_is_silent(tmp_path: Path, call: str, records: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, str(tmp_path / "pipe"), call, str(records)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr
