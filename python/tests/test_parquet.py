# SPDX-License-Identifier: Apache-2.0
"""Parquet, against pyarrow: sources, parts, conditions, hints, errors."""

import datetime as dt
import decimal
import io
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import arrowsmith

ROWS = 5_000


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rows = range(ROWS)
    start = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
    return pa.table(
        {
            "id": pa.array(rows, pa.int64()),
            "fare": [row / 4 if row % 11 else None for row in rows],
            "zone": ["ABC"[row % 3] for row in rows],
            "price": pa.array([decimal.Decimal(row) / 100 for row in rows], pa.decimal128(9, 2)),
            "day": [dt.date(2024, 1, 1) + dt.timedelta(days=row // 100) for row in rows],
            "at": pa.array(
                [start + dt.timedelta(minutes=row) for row in rows],
                pa.timestamp("us", "Europe/Amsterdam"),
            ),
            "raw": [bytes([row % 7]) for row in rows],
            "tags": [["x"] * (row % 3) if row % 5 else None for row in rows],
            "user": [{"age": row % 90, "name": f"n{row}"} for row in rows],
        }
    )


@pytest.fixture(scope="module")
def path(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("parquet") / "x.parquet"
    pq.write_table(table, path, row_group_size=1_000, write_page_index=True)
    return path


def read(source: Any, **options: Any) -> pa.Table:
    return pa.table(arrowsmith.read_parquet(source, **options))


@pytest.mark.parametrize("threads", [None, 1, 3])
@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_reads_what_pyarrow_reads(
    path: Path, table: pa.Table, threads: int | None, engine: Any
) -> None:
    found = read(path, threads=threads, engine=engine)
    assert found.schema.equals(pq.read_schema(path))
    assert found.equals(table)


def test_sources(path: Path, table: pa.Table, tmp_path: Path) -> None:
    whole = path.read_bytes()
    sources: list[Any] = [str(path), whole, bytearray(whole), memoryview(whole), io.BytesIO(whole)]
    for source in sources:
        assert read(source).equals(table), type(source)
    with path.open("rb") as file:
        assert read(file).equals(table)
    two = pa.concat_tables([table, table])
    assert read([path, whole]).equals(two)
    for number in range(2):
        (tmp_path / f"{number}.parquet").write_bytes(whole)
    assert read(str(tmp_path / "*.parquet")).equals(two)
    assert read(tmp_path).equals(two)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "missing.parquet")
    with pytest.raises(TypeError, match="source: expected a path"):
        read(5)


class Counting(io.BytesIO):
    """A file that counts the bytes read from it."""

    count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        piece = super().read(size)
        self.count += len(piece)
        return piece


def test_only_what_is_needed_is_read_of_a_file(table: pa.Table) -> None:
    buffer = io.BytesIO()
    wide = pa.table({name: np.random.default_rng(7).random(100_000) for name in "abcdefgh"})
    pq.write_table(wide, buffer, row_group_size=20_000, compression="none")
    file = Counting(buffer.getvalue())
    assert read(file, columns=["c"], threads=2).equals(wide.select(["c"]))
    assert file.count < len(buffer.getvalue()) / 3


def test_a_pipe_is_read_whole(path: Path, table: pa.Table) -> None:
    class Pipe:
        def __init__(self, file: Any) -> None:
            self.read = file.read

    assert read(Pipe(io.BytesIO(path.read_bytes()))).equals(table)


def test_parts(path: Path, table: pa.Table) -> None:
    assert read(path, columns=["zone", "id"]).equals(table.select(["zone", "id"]))
    assert read(path, columns=["user.name"]).schema.field("user").type == pa.struct(
        [pa.field("name", pa.string())]
    )
    assert read(path, row_groups=[3, 1], columns=["id"]).column("id").to_pylist() == [
        *range(3_000, 4_000),
        *range(1_000, 2_000),
    ]
    assert read(path, limit=1_234).equals(table.slice(0, 1_234))
    assert read(path, columns=[]).num_rows == ROWS
    with pytest.raises(arrowsmith.ConfigError, match="there is no 9"):
        read(path, row_groups=[9])
    with pytest.raises(arrowsmith.ConfigError, match="nothing"):
        read(path, columns=["nothing"])


FILTERS: list[tuple[Any, Any]] = [
    ("id < 10", pc.field("id") < 10),
    ("fare > 600 and zone = 'A'", (pc.field("fare") > 600) & (pc.field("zone") == "A")),
    ([("id", ">", 4_990)], pc.field("id") > 4_990),
    (("id", "=", 7), pc.field("id") == 7),
    (
        [("zone", "in", ["A", "B"]), ("id", "<", 20)],
        (pc.field("zone") != "C") & (pc.field("id") < 20),
    ),
    ([[("id", "<", 5)], [("id", ">=", 4_995)]], (pc.field("id") < 5) | (pc.field("id") >= 4_995)),
    ([("zone", "not in", {"A", "B"})], pc.field("zone") == "C"),
    ([("fare", "=", None)], pc.field("fare").is_null()),
    (
        [("fare", "is not", None), ("id", "<", 100)],
        pc.field("fare").is_valid() & (pc.field("id") < 100),
    ),
    ([("fare", "in", [1.0, None])], (pc.field("fare") == 1.0) | pc.field("fare").is_null()),
    ([("price", "==", decimal.Decimal("1.50"))], pc.field("price") == decimal.Decimal("1.50")),
    ([("day", ">", dt.date(2024, 2, 1))], pc.field("day") > dt.date(2024, 2, 1)),
    (
        [("at", "<", dt.datetime(2024, 1, 1, 1, tzinfo=dt.timezone.utc))],
        pc.field("id") < 60,
    ),
    ([("raw", "=", b"\x03")], pc.field("raw") == b"\x03"),
    ([("user.age", "=", 89)], pc.field("user", "age") == 89),
    ([("id", "<", np.int32(3))], pc.field("id") < 3),
    ([("fare", "=", np.float64(0.25))], pc.field("fare") == 0.25),
    ([("day", "<", np.datetime64("2024-01-02"))], pc.field("id") < 100),
    ([("id", "=", -1)], pc.field("id") == -1),
]


@pytest.mark.parametrize(("ours", "theirs"), FILTERS, ids=[str(ours) for ours, _ in FILTERS])
def test_filters(path: Path, table: pa.Table, ours: Any, theirs: Any) -> None:
    expected = table.filter(theirs)
    assert read(path, filter=ours).equals(expected)
    assert read(path, filter=ours, columns=["zone"], threads=1).equals(expected.select(["zone"]))


def test_filters_that_make_no_sense(path: Path) -> None:
    for wrong in [
        "id <",
        "nothing = 1",
        [("id", "~", 1)],
        [("id", "<", float("nan"))],
        [("id", "<", None)],
    ]:
        with pytest.raises(arrowsmith.ConfigError):
            read(path, filter=wrong)
    for other in [
        5,
        [("id", "<")],
        [("id", "in", "text")],
        [("id", "=", object())],
        {"id": 3},
    ]:
        with pytest.raises(TypeError, match="filter"):
            read(path, filter=other)


def test_hints(path: Path, table: pa.Table) -> None:
    zones = table.column("zone")
    choices: list[tuple[dict[str, Any], pa.DataType]] = [
        ({"strings": "large"}, pa.large_string()),
        ({"strings": "view"}, pa.string_view()),
        ({"dictionary": True}, pa.dictionary(pa.int32(), pa.string())),
        ({"dictionary": ["zone"]}, pa.dictionary(pa.int32(), pa.string())),
    ]
    for options, data_type in choices:
        column = read(path, **options).column("zone")
        assert column.type == data_type
        assert column.to_pylist() == zones.to_pylist()
    assert read(path, timestamp_unit="ms").schema.field("at").type == pa.timestamp(
        "ms", "Europe/Amsterdam"
    )
    assert read(path, verify_checksums=True).equals(table)
    with pytest.raises(arrowsmith.ConfigError, match="strings: expected"):
        read(path, strings="huge")
    with pytest.raises(TypeError, match="dictionary"):
        read(path, dictionary="zone")


@pytest.mark.parametrize("stored", [True, False])
def test_dictionaries_without_values(tmp_path: Path, stored: bool) -> None:
    words = pa.field("word", pa.dictionary(pa.int32(), pa.string()), nullable=False)
    nothing = pa.table(
        {
            "s": pa.array([None, None], pa.struct([words])),
            "l": pa.array([None, []], pa.list_(pa.struct([words]))),
            "d": pa.array([None, None], words.type),
        }
    )
    path = tmp_path / "in.parquet"
    pq.write_table(nothing, path, store_schema=stored)
    for dictionary in (False, True):
        found = pa.table(arrowsmith.read_parquet(path, dictionary=dictionary))
        found.validate(full=True)
        assert found.to_pylist() == nothing.to_pylist()


def test_folders(tmp_path: Path) -> None:
    table = pa.table({"id": range(30), "year": [2022 + row % 3 for row in range(30)]})
    pq.write_to_dataset(table, tmp_path / "t", partition_cols=["year"])
    found = read(tmp_path / "t")
    assert found.schema.field("year").type == pa.int64()
    assert found.sort_by("id").equals(table)
    some = read(str(tmp_path / "t"), filter=[("year", "=", 2023), ("id", ">", 20)])
    assert some.column("id").to_pylist() == [22, 25, 28]
    assert read(tmp_path / "t", partitions="year: utf8").schema.field("year").type == pa.string()


def test_batch_by_batch(path: Path, table: pa.Table) -> None:
    with arrowsmith.open_parquet(path, batch_rows=300) as reader:
        batches = [pa.record_batch(batch) for batch in reader]
        assert reader.num_rows == ROWS
    assert all(batch.num_rows <= 300 for batch in batches)
    assert pa.Table.from_batches(batches).equals(table)
    stream = pa.RecordBatchReader.from_stream(arrowsmith.open_parquet(path))
    assert stream.read_all().equals(table)


def test_polars_and_pandas_take_it(path: Path, table: pa.Table) -> None:
    frame = pl.DataFrame(arrowsmith.read_parquet(path))
    assert frame.equals(pl.read_parquet(path))
    pandas = read(path).to_pandas()
    assert pandas.equals(pq.read_table(path).to_pandas())


def test_metadata(path: Path, table: pa.Table) -> None:
    info = arrowsmith.parquet_metadata(path)
    theirs = pq.read_metadata(path)
    assert info["rows"] == theirs.num_rows
    assert info["bytes"] == path.stat().st_size
    assert info["created_by"] == theirs.created_by
    assert len(info["row_groups"]) == theirs.num_row_groups
    first = info["row_groups"][0]["columns"][0]
    assert (first["path"], first["min"], first["max"], first["nulls"]) == ("id", "0", "999", 0)
    assert "pages" not in first
    pages = arrowsmith.parquet_metadata(path, pages=True)["row_groups"][0]["columns"][0]["pages"]
    assert sum(page["values"] for page in pages if not page["dictionary"]) == 1_000
    with pytest.raises(arrowsmith.ConfigError, match="a single file"):
        arrowsmith.parquet_metadata([path, path])


def test_errors_say_where(path: Path) -> None:
    with pytest.raises(arrowsmith.FileError) as caught:
        read(b"PAR1 and nothing else PAR1")
    assert caught.value.kind in {"corrupt", "truncated", "format"}
    assert caught.value.source is None
    broken = bytearray(path.read_bytes())
    broken[4:400] = b"\xff" * 396
    (path.parent / "broken.parquet").write_bytes(broken)
    with pytest.raises(
        arrowsmith.FileError, match=r"broken\.parquet, row group 0, column id"
    ) as caught:
        read(path.parent / "broken.parquet")
    assert (caught.value.row_group, caught.value.column) == (0, "id")
    assert isinstance(caught.value, ValueError)


def test_a_file_that_raises(path: Path) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise PermissionError(13, "not yours")

    with pytest.raises(PermissionError, match="not yours"):
        read(Broken(path.read_bytes()))


def test_threads_of_python_go_on(path: Path) -> None:
    ticks = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(0.001):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    for _ in range(20):
        read(path, threads=1)
    stop.set()
    thread.join()
    assert ticks


NESTED: dict[str, pa.DataType] = {
    "int32": pa.int32(),
    "uint64": pa.uint64(),
    "float16": pa.float16(),
    "float32": pa.float32(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "fixed": pa.binary(5),
    "decimal": pa.decimal128(25, 3),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("ns", "UTC"),
    "list": pa.list_(pa.int64()),
    "lists": pa.list_(pa.list_(pa.string())),
    "struct": pa.struct([("a", pa.int64()), ("b", pa.list_(pa.float64()))]),
    "map": pa.map_(pa.string(), pa.struct([("x", pa.int32())])),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
    "uuid": pa.uuid(),
}


def value(kind: pa.DataType, rng: np.random.Generator) -> Any:
    """Return a random value of a type; sometimes null."""
    if rng.random() < 0.15:
        return None
    if pa.types.is_boolean(kind):
        return bool(rng.integers(2))
    if pa.types.is_integer(kind):
        return int(rng.integers(0, 50) if rng.random() < 0.5 else rng.integers(0, 1 << 31))
    if pa.types.is_float16(kind):
        return np.float16(rng.integers(0, 100))
    if pa.types.is_floating(kind):
        return float(np.float32(rng.normal()))
    if pa.types.is_string(kind):
        return "é" * int(rng.integers(4)) + str(rng.integers(20))
    if isinstance(kind, pa.UuidType):
        return uuid.UUID(bytes=rng.bytes(16)).bytes
    if pa.types.is_fixed_size_binary(kind):
        return rng.bytes(kind.byte_width)
    if pa.types.is_binary(kind):
        return rng.bytes(int(rng.integers(20)))
    if pa.types.is_decimal(kind):
        return decimal.Decimal(int(rng.integers(-(10**9), 10**9))).scaleb(-3)
    if pa.types.is_date(kind):
        return dt.date(1970, 1, 1) + dt.timedelta(days=int(rng.integers(-9_000, 30_000)))
    if pa.types.is_time(kind):
        return dt.time(int(rng.integers(24)), 3, 4, int(rng.integers(10**6)))
    if pa.types.is_timestamp(kind):
        return int(rng.integers(-(10**17), 10**18))
    if pa.types.is_dictionary(kind):
        return f"d{rng.integers(9)}"
    if pa.types.is_map(kind):
        item = (kind.item_type, rng)
        return [(f"k{key}", value(*item)) for key in range(int(rng.integers(4)))]
    if pa.types.is_list(kind):
        return [value(kind.value_type, rng) for _ in range(int(rng.integers(5)))]
    return {field.name: value(field.type, rng) for field in kind}


@pytest.fixture(scope="module")
def nested() -> pa.Table:
    rng = np.random.default_rng(1)
    columns = {
        name: pa.array([value(kind, rng) for _ in range(1_500)], kind)
        for name, kind in NESTED.items()
    }
    return pa.table(columns)


ENCODINGS = [
    ("int32", "DELTA_BINARY_PACKED"),
    ("uint64", "BYTE_STREAM_SPLIT"),
    ("float16", "BYTE_STREAM_SPLIT"),
    ("float32", "BYTE_STREAM_SPLIT"),
    ("bool", "RLE"),
    ("string", "DELTA_BYTE_ARRAY"),
    ("binary", "DELTA_LENGTH_BYTE_ARRAY"),
    ("fixed", "DELTA_BYTE_ARRAY"),
    ("decimal", "BYTE_STREAM_SPLIT"),
    ("date", "DELTA_BINARY_PACKED"),
    ("timestamp", "DELTA_BINARY_PACKED"),
    ("list.list.element", "DELTA_BINARY_PACKED"),
    ("lists.list.element.list.element", "DELTA_LENGTH_BYTE_ARRAY"),
    ("struct.b.list.element", "BYTE_STREAM_SPLIT"),
]


def writings() -> Iterator[dict[str, Any]]:
    for version in ["1.0", "2.0"]:
        for codec in ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]:
            for encoding in ["plain", "dictionary", "others"]:
                for page in [500, 1 << 20]:
                    yield {
                        "data_page_version": version,
                        "compression": codec,
                        "encoding": encoding,
                        "data_page_size": page,
                    }


@pytest.mark.parametrize(
    "writing", [*writings()], ids=lambda writing: "-".join(map(str, writing.values()))
)
def test_every_way_of_writing(nested: pa.Table, writing: dict[str, Any]) -> None:
    options = dict(writing)
    encoding = options.pop("encoding")
    options["use_dictionary"] = encoding == "dictionary"
    if encoding == "others":
        options["column_encoding"] = dict(ENCODINGS)
    buffer = io.BytesIO()
    pq.write_table(nested, buffer, row_group_size=700, write_page_checksum=True, **options)
    whole = buffer.getvalue()
    expected = pq.read_table(io.BytesIO(whole))
    for threads in [1, 2]:
        found = read(whole, threads=threads, batch_rows=400, verify_checksums=True)
        assert found.schema.equals(expected.schema)
        for name in found.column_names:
            assert (
                found.column(name).combine_chunks().equals(expected.column(name).combine_chunks())
            ), name
