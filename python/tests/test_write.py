# SPDX-License-Identifier: Apache-2.0
"""Writing Parquet and converting JSON, read back by other libraries."""

import io
import json
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

import duckdb
import polars
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest

import arrowsmith


def rows(count: int) -> pyarrow.Table:
    return pyarrow.table(
        {
            "n": range(count),
            "key": [None if n % 7 == 0 else f"k/{n % 3}" for n in range(count)],
            "ts": pyarrow.array([n * 3_600_000_000 for n in range(count)], pyarrow.timestamp("us")),
        }
    )


def nested(kind: pyarrow.DataType, value: Any, depth: int) -> pyarrow.Array:
    """Seven values in structs and lists of two items in one another, some of them null."""
    values: list[Any] = [None if n % 3 == 1 else value(n) for n in range(7)]
    for level in range(depth):
        if level % 2 == 0:
            kind = pyarrow.struct({"a": kind, "b": pyarrow.int8()})
            values = [None if n == 5 else {"a": v, "b": n} for n, v in enumerate(values)]
        else:
            kind = pyarrow.list_(kind, 2)
            values = [None if n == 2 else [v, v] for n, v in enumerate(values)]
    return pyarrow.array(values, kind)


@pytest.mark.parametrize("depth", range(1, 6))
def test_slices_of_what_is_nested_are_written(tmp_path: Path, depth: int) -> None:
    columns = {
        "s": nested(pyarrow.string(), str, depth),
        "n": nested(pyarrow.int32(), int, depth),
        "l": nested(
            pyarrow.list_(pyarrow.struct({"x": pyarrow.int8()})), lambda n: [{"x": n}] * n, depth
        ),
        "d": nested(
            pyarrow.struct({"e": pyarrow.struct({"f": pyarrow.bool_()})}),
            lambda n: {"e": {"f": n > 3}},
            depth,
        ),
    }
    table, path = pyarrow.table(columns), tmp_path / "t.parquet"
    for start, length in [(0, 7), (1, 6), (3, 2), (4, 0)]:
        part = table.slice(start, length)
        arrowsmith.write_parquet(part, path)
        assert pyarrow.parquet.read_table(path).to_pylist() == part.to_pylist()
        for batch in part.to_batches()[:1]:
            arrowsmith.write_parquet(batch, path)
            assert pyarrow.parquet.read_table(path).to_pylist() == batch.to_pylist()
        reader = pyarrow.RecordBatchReader.from_batches(
            part.schema, part.to_batches(max_chunksize=1)
        )
        arrowsmith.write_parquet(reader, path)
        assert pyarrow.parquet.read_table(path).to_pylist() == part.to_pylist()


def test_what_is_no_table_is_said_to_be_none(tmp_path: Path) -> None:
    column = pyarrow.chunked_array([[1], [2]])
    for data in [None, [1], column, pyarrow.array([1]), polars.Series([1])]:
        with pytest.raises(TypeError, match=r"^data: "):
            arrowsmith.write_parquet(data, tmp_path / "t.parquet")
    reader = pyarrow.RecordBatchReader.from_batches(rows(1).schema, [])
    stream = reader.__arrow_c_stream__()

    class Once:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return stream

    arrowsmith.write_parquet(Once(), tmp_path / "t.parquet")
    with pytest.raises(TypeError, match="taken before"):
        arrowsmith.write_parquet(Once(), tmp_path / "t.parquet")


@pytest.mark.parametrize("codec", ["zstd", "zstd:9", "snappy", "none", "auto"])
def test_what_is_written_is_read_by_others(tmp_path: Path, codec: str) -> None:
    table, path = rows(20_000), tmp_path / "t.parquet"
    written = arrowsmith.write_parquet(table, path, codec=codec, row_group_rows=6000)
    assert written == (20_000, path.stat().st_size)
    assert written.rows == 20_000
    assert pyarrow.parquet.read_table(path).equals(table)
    assert pyarrow.parquet.ParquetFile(path).num_row_groups == 4
    assert polars.read_parquet(path).equals(polars.DataFrame(table))
    assert duckdb.execute(f"select sum(n) from '{path}'").fetchall() == [(sum(range(20_000)),)]
    assert arrowsmith.read_parquet(path).to_pyarrow().equals(table)


def test_data_of_any_library_is_written(tmp_path: Path) -> None:
    table = rows(100)
    sources = {
        "pyarrow": table,
        "batch": table.to_batches()[0],
        "reader": table.to_reader(max_chunksize=7),
        "polars": polars.DataFrame(table),
        "pandas": table.to_pandas(),
        "arrowsmith": arrowsmith.read_json(b'{"n":1}\n{"n":2}'),
        "open": arrowsmith.open_json(b'{"n":1}\n{"n":2}'),
    }
    for name, data in sources.items():
        path = tmp_path / f"{name}.parquet"
        written = arrowsmith.write_parquet(data, path)
        assert pyarrow.parquet.read_table(path).num_rows == written.rows in (2, 100), name


class Slow(io.BytesIO):
    """Takes a part of what it is given."""

    def write(self, data: Any, /) -> int:
        return super().write(bytes(data[:100_000]))


class Unopened:
    """A file as fsspec has it."""

    mode = "wb"

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self) -> BinaryIO:
        return self.path.open(self.mode)  # type: ignore[return-value]


def test_file_objects_are_targets(tmp_path: Path) -> None:
    table = rows(200_000)
    for file in (io.BytesIO(), Slow()):
        written = arrowsmith.write_parquet(table, file, codec="none")
        assert written == (200_000, len(file.getvalue()))
        assert pyarrow.parquet.read_table(io.BytesIO(file.getvalue())).equals(table)
    with (tmp_path / "x.parquet").open("wb") as opened:
        arrowsmith.write_parquet(table, opened)
    with pyarrow.OSFile(str(tmp_path / "y.parquet"), "wb") as stream:
        arrowsmith.write_parquet(table, stream)
    arrowsmith.write_parquet(table, Unopened(tmp_path / "z.parquet"))
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        arrowsmith.write_parquet(table, zipfile.Path(archive, "in.parquet"))
    assert (
        arrowsmith.read_parquet(zipfile.Path(tmp_path / "z.zip", "in.parquet")).num_rows == 200_000
    )
    for name in "xyz":
        assert pyarrow.parquet.read_table(tmp_path / f"{name}.parquet").equals(table)
    empty = io.BytesIO()
    for option in ({"partition_by": ["key"]}, {"append": True}, {"table": "delta"}):
        with pytest.raises(arrowsmith.ConfigError, match=f"{next(iter(option))} makes a folder"):
            arrowsmith.write_parquet(table, empty, **option)
    with pytest.raises(arrowsmith.ConfigError, match="codec"):
        arrowsmith.write_parquet(table, empty, codec="zip")
    assert empty.getvalue() == b""


def test_a_folder_is_partitioned(tmp_path: Path) -> None:
    table, root = rows(1000), tmp_path / "table"
    written = arrowsmith.write_parquet(table, root, partition_by=["key", "day(ts)"])
    assert written.rows == 1000
    names = sorted(str(path.relative_to(root)) for path in root.rglob("*.parquet"))
    assert names[0] == "key=__HIVE_DEFAULT_PARTITION__/ts_day=1970-01-01/part-00000.parquet"
    back = duckdb.execute(
        f"select n, key, ts from read_parquet('{root}/*/*/*.parquet', hive_partitioning = true)"
        " order by n"
    )
    assert back.fetchall() == list(zip(*table.to_pydict().values(), strict=True))
    hive = pyarrow.dataset.dataset(root, partitioning="hive").to_table().sort_by("n")
    assert hive["n"].equals(table["n"])
    assert arrowsmith.read_parquet(root, columns=["key"]).num_rows == 1000
    with pytest.raises(FileExistsError, match="not empty"):
        arrowsmith.write_parquet(table, root, partition_by=["key"])
    arrowsmith.write_parquet(table, root, partition_by=["key", "day(ts)"], append=True)
    assert arrowsmith.read_parquet(root).num_rows == 2000


def test_a_schema_grows_while_it_is_converted(tmp_path: Path) -> None:
    text = b"".join(
        b'{"a":%d}\n' % n if n < 30_000 else b'{"a":%d.5,"b":1}\n' % n for n in range(60_000)
    )
    source = tmp_path / "in.jsonl"
    source.write_bytes(text)
    target = tmp_path / "out.parquet"
    assert arrowsmith.convert_json(source, target).rows == 60_000
    back = pyarrow.parquet.read_table(target)
    assert back.schema.field("a").type == pyarrow.float64()
    assert back["b"].null_count == 30_000
    for name in ["out.arrow", "out.arrows", "out.jsonl"]:
        assert arrowsmith.convert_json(source, tmp_path / name, columns=["a"]).rows == 60_000
    folder = tmp_path / "folder"
    arrowsmith.convert_json(source, folder, write={"rows_per_file": 25_000})
    assert [path.name for path in sorted(folder.iterdir())] == [
        f"part-0000{n}.parquet" for n in range(3)
    ]


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(arrowsmith.DataError):
        arrowsmith.convert_json(b'{"a":1}\n{"a":', tmp_path / "x.parquet")

    def fail(_: object) -> None:
        raise KeyError("callback")

    with pytest.raises(KeyError, match="callback"):
        arrowsmith.convert_json(
            b'{"a":1}\n{"a":"x"}',
            tmp_path / "x.parquet",
            "a: int64",
            on_error="skip",
            rejects=fail,
        )

    def batches() -> Iterator[pyarrow.RecordBatch]:
        yield rows(10).to_batches()[0]
        raise RuntimeError("no more")

    reader = pyarrow.RecordBatchReader.from_batches(rows(10).schema, batches())
    with pytest.raises(arrowsmith.ArrowsmithError, match="no more"):
        arrowsmith.write_parquet(reader, tmp_path / "x.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.csv.zst", "x.jsonl.gz", "x.ndjson.zst"])
def test_text_is_compressed_by_its_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    text = "".join(f'{{"a":{n},"b":"t,{n % 5}"}}\n' for n in range(5000))
    written = arrowsmith.convert_json(text.encode(), path)
    assert written == (5000, path.stat().st_size)
    read = "read_csv" if ".csv" in name else "read_json"
    query = f"select count(*), sum(a), max(b) from {read}('{path}')"
    assert duckdb.execute(query).fetchall() == [(5000, sum(range(5000)), "t,4")]
    if "." in name.removeprefix("x."):
        plain = tmp_path / "plain.jsonl"
        options = {"codec": "zstd:9"}
        small = arrowsmith.convert_json(text.encode(), plain, write=options)  # type: ignore[arg-type]
        assert small.bytes < len(text) / 4
        assert arrowsmith.read_json(plain).num_rows == 5000


def test_rows_are_sorted(tmp_path: Path) -> None:
    table, path = rows(20_000), tmp_path / "t.parquet"
    # Less memory than the rows take.
    arrowsmith.write_parquet(table, path, sort_by=["key desc", "n"], sort_memory=100_000)
    order = [("key", "descending"), ("n", "ascending")]
    assert pyarrow.parquet.read_table(path).equals(table.sort_by(order))
    group = pyarrow.parquet.ParquetFile(path).metadata.row_group(0)
    sorting = [(column.column_index, column.descending) for column in group.sorting_columns]
    assert sorting == [(1, True), (0, False)]


def test_a_delta_table_grows(tmp_path: Path) -> None:
    root = tmp_path / "t"
    arrowsmith.write_parquet(rows(100), root, table="delta", partition_by=["key"])
    with pytest.raises(OSError, match="there is a Delta table"):
        arrowsmith.write_parquet(rows(100), root, table="delta")
    with pytest.raises(arrowsmith.ConfigError, match="added as such"):
        arrowsmith.write_parquet(rows(100), root, append=True)
    # Partitions are those of the table.
    arrowsmith.write_parquet(rows(50), root, table="delta", append=True)
    log = sorted((root / "_delta_log").iterdir())
    assert [path.name for path in log] == [f"{n:020}.json" for n in range(2)]
    actions = [json.loads(line) for line in (log[0].read_text() + log[1].read_text()).splitlines()]
    added = [action["add"] for action in actions if "add" in action]
    assert sum(json.loads(add["stats"])["numRecords"] for add in added) == 150
    assert {add["partitionValues"]["key"] for add in added} == {None, "k/0", "k/1", "k/2"}
    files = [root / unquote(add["path"]) for add in added]
    assert sum(pyarrow.parquet.read_metadata(path).num_rows for path in files) == 150
    assert [path.stat().st_size for path in files] == [add["size"] for add in added]


def test_json_is_variant_to_others(tmp_path: Path) -> None:
    values = [{"a": [1, 2.5, "é"], "b": {}}, None, "text", 2**63, [True, None]]
    lines, path = tmp_path / "v.jsonl", tmp_path / "v.parquet"
    lines.write_text("".join(json.dumps({"v": value}) + "\n" for value in values))
    arrowsmith.convert_json(lines, path, types={"v": "json"}, write={"variant": True})
    with duckdb.connect() as connection:
        found = connection.sql(f"SELECT typeof(v), v::JSON FROM '{path}'").fetchall()
        # What DuckDB writes has parts of the values in columns of their own.
        shredded = tmp_path / "s.parquet"
        query = "SELECT json_object('n', i, 's', 'x' || i)::JSON::VARIANT AS v FROM range(100) t(i)"
        connection.sql(f"COPY ({query}) TO '{shredded}'")
    assert {kind for kind, _ in found} == {"VARIANT"}
    assert [None if text is None else json.loads(text) for _, text in found] == values
    assert "typed_value" in str(pyarrow.parquet.ParquetFile(shredded).schema)
    back = tmp_path / "back.jsonl"
    command = [sys.executable, "-m", "arrowsmith", "convert", "-q", str(shredded), "-o", str(back)]
    subprocess.run(command, check=True)
    rows = [json.loads(line)["v"] for line in back.read_text().splitlines()]
    assert rows == [{"n": n, "s": f"x{n}"} for n in range(100)]
    table = arrowsmith.read_json(lines, types={"v": "json"})
    arrowsmith.write_parquet(table, path, variant=True)
    assert "Variant" in str(pyarrow.parquet.ParquetFile(path).schema)
    with pytest.raises(arrowsmith.ConfigError, match="variant"):
        arrowsmith.convert_json(lines, tmp_path / "v.arrow", write={"variant": True})


def test_options_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    wrong: list[tuple[dict[str, object], type[Exception], str]] = [
        ({"codec": "zip"}, arrowsmith.ConfigError, "codec"),
        ({"codec": 1}, TypeError, "codec: expected str"),
        ({"encodings": "best"}, arrowsmith.ConfigError, "smallest"),
        ({"row_group_rows": -1}, arrowsmith.ConfigError, "negative"),
        ({"row_group_rows": "x"}, TypeError, "expected int"),
        ({"rows_per_file": 0}, arrowsmith.ConfigError, "at least 1"),
        ({"partition_by": ["week(ts)"]}, arrowsmith.ConfigError, "day"),
        ({"partition_by": ["nope"]}, arrowsmith.SchemaError, "no such column"),
        ({"partition_by": 5}, TypeError, "list of str"),
        ({"partitions_max": 5}, arrowsmith.ConfigError, "needs partition_by"),
        ({"sort_memory": 5}, arrowsmith.ConfigError, "needs sort_by"),
        ({"sort_by": "nope"}, arrowsmith.SchemaError, "no such column"),
        ({"sort_by": "n", "bytes_per_file": 9}, arrowsmith.ConfigError, "limit its rows"),
        ({"table": "hudi"}, arrowsmith.ConfigError, "there are delta, iceberg"),
        ({"nope": 1}, TypeError, "no such option"),
    ]
    for options, error, message in wrong:
        with pytest.raises(error, match=message):
            arrowsmith.write_parquet(rows(1), path, **options)  # type: ignore[arg-type]
    with pytest.raises(arrowsmith.ConfigError, match=r"\.parquet"):
        arrowsmith.convert_json(b"{}", tmp_path / "x.txt")
    for name, write, message in [
        ("x.arrow", {"codec": "zstd"}, "Arrow files have no codec"),
        ("x.csv", {"codec": "snappy"}, "JSON and CSV have none, gzip and zstd"),
        ("x.csv", {"encodings": "plain"}, "for Parquet"),
        ("x.csv", {"table": "delta"}, "for Parquet"),
    ]:
        with pytest.raises(arrowsmith.ConfigError, match=message):
            arrowsmith.convert_json(b'{"a":1}', tmp_path / name, write=write)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="path or URL"):
        arrowsmith.write_parquet(rows(1), 5)  # type: ignore[arg-type]
    for url in ["http://user:SECRET@localhost/x.parquet", "s3://b/x.parquet?sig=SECRET"]:
        with pytest.raises((OSError, arrowsmith.ConfigError)) as refused:
            arrowsmith.write_parquet(rows(1), url)
        assert "SECRET" not in str(refused.value)
    with pytest.raises(arrowsmith.ConfigError, match="fsync"):
        arrowsmith.write_parquet(rows(1), "s3://b/x.parquet", fsync=True)
    assert list(tmp_path.iterdir()) == []


class Store(BaseHTTPRequestHandler):
    """Objects by HTTP: HEAD, GET of ranges, PUT."""

    protocol_version = "HTTP/1.1"
    objects: dict[str, bytes]

    def answer(self, status: int, body: bytes = b"", length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
        if status == 206:
            self.send_header("Content-Range", self.range)
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self) -> None:
        self.objects[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(201)

    def do_HEAD(self) -> None:
        found = self.objects.get(self.path)
        self.answer(404) if found is None else self.answer(200, length=len(found))

    def do_GET(self) -> None:
        found = self.objects.get(self.path)
        if found is None:
            return self.answer(404)
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        self.range = f"bytes {first}-{last}/{len(found)}"
        return self.answer(206, found[int(first) : int(last) + 1])

    def log_message(self, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def store() -> Iterator[str]:
    handler = type("Handler", (Store,), {"objects": {}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_objects_are_written_and_read_by_their_urls(store: str) -> None:
    table, url = rows(5000), f"{store}/a/t.parquet"
    arrowsmith.write_parquet(table, url)
    assert arrowsmith.read_parquet(url).to_pyarrow().equals(table)
    few = arrowsmith.read_parquet(url, columns=["n"], filter=[("n", "<", 10)])
    assert few.to_pyarrow()["n"].to_pylist() == list(range(10))
    arrowsmith.convert_json(b'{"a":1}\n{"a":2}', f"{store}/b.jsonl")
    assert arrowsmith.read_json(f"{store}/b.jsonl").to_pylist() == [{"a": 1}, {"a": 2}]
    with pytest.raises(FileNotFoundError, match="404"):
        arrowsmith.read_parquet(f"{store}/missing.parquet")


def test_dictionaries_of_any_values_are_read_back(tmp_path: Path) -> None:
    arrays = [[True, None, True], ["x", None, "y"], [1, None, 2], [1.5, None, 2.0], [b"x", None]]
    for values in arrays:
        table = pyarrow.table({"c": pyarrow.array(values).dictionary_encode()})
        arrowsmith.write_parquet(table, tmp_path / "d.parquet")
        read = arrowsmith.read_parquet(tmp_path / "d.parquet")
        assert pyarrow.table(read).to_pylist() == table.to_pylist()
