# SPDX-License-Identifier: Apache-2.0
"""Every kind of source gives the same rows."""

import array
import contextlib
import gzip
import io
import mmap
import os
import threading
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet
import pytest

import arrowsmith
from conftest import ROWS


@pytest.fixture(scope="module")
def expected(lines: bytes) -> pa.Table:
    return pa.table(arrowsmith.read_json(lines))


@pytest.mark.parametrize("threads", [None, 1, 3])
def test_paths(path: Path, expected: pa.Table, threads: int | None) -> None:
    for source in (path, str(path)):
        assert pa.table(arrowsmith.read_json(source, threads=threads)).equals(expected)


def test_lists_and_patterns(path: Path, lines: bytes, expected: pa.Table) -> None:
    (path.parent / "many").mkdir(exist_ok=True)
    for number in range(3):
        (path.parent / "many" / f"{number}.json").write_bytes(lines)
    pattern = str(path.parent / "many" / "*.json")
    three = pa.concat_tables([expected] * 3)
    assert pa.table(arrowsmith.read_json(pattern)).equals(three)
    mixed: list[Any] = [path, lines, io.BytesIO(lines)]
    assert pa.table(arrowsmith.read_json(mixed)).equals(three)
    assert pa.table(arrowsmith.read_json(tuple(mixed[:2]))).num_rows == 2 * ROWS


def test_folders(tmp_path: Path) -> None:
    for year in (2023, 2024):
        folder = tmp_path / "logs" / f"year={year}"
        folder.mkdir(parents=True)
        text = b'{"id":1,"level":"info"}\n{"id":2,"level":"error"}\n'
        (folder / "a.jsonl.gz").write_bytes(gzip.compress(text))
        (folder / "_SUCCESS").write_bytes(b"")
    for source in (tmp_path / "logs", str(tmp_path / "logs"), f"{tmp_path}/logs/year=*/"):
        table = pa.table(
            arrowsmith.read_json(
                source,
                columns=["id", "year"],
                filter=[("level", "=", "error")],
                file_column="file",
                record_column="record",
                skip=1,
            )
        )
        assert table.to_pylist() == [
            {
                "id": 2,
                "year": 2024,
                "file": str(tmp_path / "logs" / "year=2024" / "a.jsonl.gz"),
                "record": 1,
            }
        ]
    with arrowsmith.open_json(tmp_path / "logs", filter="year = 2023", limit=1) as reader:
        assert [batch.num_rows for batch in reader] == [1]


def test_a_path_is_not_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "[1].json").write_bytes(b'{"a":1}')
    assert arrowsmith.read_json(tmp_path / "[1].json").num_rows == 1
    with pytest.raises(FileNotFoundError):
        arrowsmith.read_json(tmp_path / "*.json")


@pytest.mark.parametrize("threads", [1, 2])
def test_buffers(path: Path, lines: bytes, expected: pa.Table, threads: int) -> None:
    sources: list[Any] = [bytearray(lines), memoryview(lines), pa.py_buffer(lines)]
    sources.append(array.array("B", lines))
    for source in sources:
        table = arrowsmith.read_json(source, threads=threads)
        assert pa.table(table).equals(expected), type(source)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert pa.table(arrowsmith.read_json(mapped, threads=threads)).equals(expected)


def test_a_buffer_is_let_go_of(lines: bytes) -> None:
    source = bytearray(lines)
    arrowsmith.read_json(source)
    source.clear()  # BufferError while anyone has a view of it.


def test_changing_a_buffer_does_no_harm(lines: bytes) -> None:
    source = bytearray(lines * 20)
    reader = arrowsmith.open_json(source, "id: int64", threads=1)
    assert pa.record_batch(next(reader))["id"][0].as_py() == 0
    source[:] = b" " * len(source)
    # The partially read record is now truncated; it is the last one.
    with contextlib.suppress(arrowsmith.DataError):
        list(reader)
    assert 0 < reader.num_rows < 20 * ROWS


@pytest.mark.parametrize("threads", [1, 2])
def test_files(path: Path, lines: bytes, expected: pa.Table, threads: int) -> None:
    with path.open("rb") as file:
        assert pa.table(arrowsmith.read_json(file, threads=threads)).equals(expected)
    with path.open("rb", buffering=0) as raw:
        raw.readline()
        table = arrowsmith.read_json(raw, threads=threads)
        assert pa.table(table).equals(expected.slice(1))
    packed = gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(lines)))
    assert pa.table(arrowsmith.read_json(packed, threads=threads)).equals(expected)


def test_pipes(lines: bytes, expected: pa.Table) -> None:
    reading, writing = os.pipe()

    def write() -> None:
        with os.fdopen(writing, "wb") as file:
            file.write(lines)

    writer = threading.Thread(target=write)
    writer.start()
    with os.fdopen(reading, "rb") as file:
        assert pa.table(arrowsmith.read_json(file, threads=2)).equals(expected)
    writer.join()


def test_compression(lines: bytes, tmp_path: Path, expected: pa.Table) -> None:
    packed = gzip.compress(lines, 1)
    (tmp_path / "packed").write_bytes(packed)
    for source in (packed, tmp_path / "packed", io.BytesIO(packed), bytearray(packed)):
        assert pa.table(arrowsmith.read_json(source)).equals(expected)
    with pytest.raises(arrowsmith.DataError):
        arrowsmith.read_json(packed, compression="none")
    with pytest.raises(OSError, match=r"."):
        arrowsmith.read_json(packed[:-100], "id: int64")


def test_formats() -> None:
    for text in (b'[{"a":1},{"a":2}]', b'{"a":1}{"a":2}', b'{\n"a":1}\n{"a":2}'):
        assert pa.table(arrowsmith.read_json(text)).to_pydict() == {"a": [1, 2]}
    with pytest.raises(arrowsmith.DataError):
        arrowsmith.read_json(b'{"a":1}{"a":2}', format="ndjson")


def test_no_source() -> None:
    for source in (None, 7, object(), [None], [[b"{}"]]):
        with pytest.raises(TypeError, match="source: expected"):
            arrowsmith.read_json(source)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="binary mode"):
        arrowsmith.read_json(io.StringIO('{"a":1}'))  # type: ignore[arg-type]


class Failing(io.RawIOBase):
    """Some valid lines, then an exception."""

    def __init__(self, lines: bytes, error: BaseException) -> None:
        self.pieces = [lines[at : at + 4000] for at in range(0, len(lines), 4000)]
        self.error = error

    def read(self, size: int = -1, /) -> bytes:
        if not self.pieces:
            raise self.error
        piece, rest = self.pieces[0][:size], self.pieces[0][size:]
        self.pieces[:1] = [rest] if rest else []
        return piece


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("error", [RuntimeError("x"), KeyboardInterrupt(), OSError(5, "bad")])
def test_what_read_raises_is_raised(lines: bytes, error: BaseException, threads: int) -> None:
    with pytest.raises(type(error)) as info:
        arrowsmith.read_json(Failing(lines, error), "id: int64", threads=threads)
    assert info.value is error


class Unopened:
    """A file that is opened by each reader, as one of fsspec is."""

    mode = "rb"

    def __init__(self, content: bytes) -> None:
        self.content = content

    def open(self) -> io.BytesIO:
        return io.BytesIO(self.content)


@pytest.mark.parametrize("threads", [1, 2])
def test_unopened_files(lines: bytes, expected: pa.Table, threads: int) -> None:
    source = Unopened(lines)
    assert pa.table(arrowsmith.read_json(source, threads=threads)).equals(expected)
    assert str(arrowsmith.infer_schema(source)) == str(arrowsmith.infer_schema(lines))
    with arrowsmith.open_json([source, lines], threads=threads) as reader:
        assert sum(map(len, reader)) == 2 * ROWS
    scan = arrowsmith.scan_json(source, threads=threads)
    for _ in range(2):
        assert pa.table(scan.collect()).equals(expected)
    assert scan.to_polars().select("id").collect().height == ROWS


def test_files_of_pyarrow(path: Path, tmp_path: Path, expected: pa.Table) -> None:
    files = pyarrow.fs.SubTreeFileSystem(str(path.parent), pyarrow.fs.LocalFileSystem())
    with files.open_input_stream(path.name) as stream:
        assert pa.table(arrowsmith.read_json(stream)).equals(expected)
    pyarrow.parquet.write_table(expected, tmp_path / "x.parquet")
    with pyarrow.fs.LocalFileSystem().open_input_file(str(tmp_path / "x.parquet")) as file:
        assert pa.table(arrowsmith.read_parquet(file, columns=["id"])).num_rows == ROWS


def test_files_in_an_archive(lines: bytes, tmp_path: Path, expected: pa.Table) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("day/x.jsonl", lines)
    inside = zipfile.Path(tmp_path / "x.zip", "day/x.jsonl")
    assert pa.table(arrowsmith.read_json(inside)).equals(expected)
    pyarrow.parquet.write_table(expected, tmp_path / "x.parquet")
    source = Unopened((tmp_path / "x.parquet").read_bytes())
    assert arrowsmith.scan_parquet(source).select("id").filter("id < 9").collect().num_rows == 9
    assert arrowsmith.parquet_metadata(source)["rows"] == ROWS


def test_urls_of_files(path: Path, lines: bytes, tmp_path: Path) -> None:
    copy = tmp_path / "with space.jsonl"
    copy.write_bytes(lines)
    for url in (path.as_uri(), copy.as_uri(), f"file://localhost{path}", f"{tmp_path.as_uri()}/*"):
        assert arrowsmith.read_json(url).num_rows == ROWS
        scan = arrowsmith.scan_json(url)
        assert sum(part.collect().num_rows for part in scan.split(1 << 20)) == ROWS
    target = (tmp_path / "x.parquet").as_uri()
    written = arrowsmith.write_parquet(arrowsmith.read_json(path), target)
    assert written.bytes == (tmp_path / "x.parquet").stat().st_size
    assert arrowsmith.convert_json(path, (tmp_path / "x.arrow").as_uri()).rows == ROWS
    with pytest.raises(arrowsmith.ConfigError, match="with an absolute path"):
        arrowsmith.read_json("file://x.jsonl")
    for url in ("memory://x.jsonl", "sftp://user:SECRET@host/x.jsonl"):
        with pytest.raises(arrowsmith.ConfigError, match=r"source: .*fsspec\.open\(url\)") as info:
            arrowsmith.read_json(url)
        assert "SECRET" not in str(info.value)
        with pytest.raises(arrowsmith.ConfigError, match=r"target: .*fsspec\.open\(url, 'wb'\)"):
            arrowsmith.write_parquet(arrowsmith.read_json(path), url)


def test_a_path_may_look_like_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memory:").mkdir()
    (tmp_path / "memory:" / "x.jsonl").write_text('{"a":1}')
    monkeypatch.chdir(tmp_path)
    assert arrowsmith.read_json("memory://x.jsonl").num_rows == 1


def test_files_that_other_processes_cannot_open() -> None:
    sources: list[Any] = [Unopened(b"{}"), [b"{}", Unopened(b"{}")]]
    for source in sources:
        with pytest.raises(arrowsmith.ConfigError, match="split: other processes cannot open"):
            arrowsmith.scan_json(source, "a: int64").split()
