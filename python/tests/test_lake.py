# SPDX-License-Identifier: Apache-2.0
"""Delta and Iceberg tables as sources, whole, lazy, and in parts for other processes; and Iceberg
tables as pyiceberg reads what is written."""

import asyncio
import datetime as dt
import json
import pickle
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table import StaticTable

import arrowsmith
from arrowsmith import ConfigError

DELTA = Path(__file__).parents[2] / "testdata/delta"
ICEBERG = Path(__file__).parents[2] / "testdata/iceberg"


def rows(start: int, count: int) -> pa.Table:
    numbers = range(start, start + count)
    keys = [None if n % 7 == 0 else f"k/{n % 3} ä%" for n in numbers]
    ids = pa.array(numbers, pa.int64())
    return pa.table({"n": ids, "key": keys, "x": [n / 4 for n in numbers]})


@pytest.fixture
def delta(tmp_path: Path) -> Path:
    """Two commits; the second has a column more, and one less."""
    root = tmp_path / "a table"
    options: Any = {"table": "delta", "partition_by": ["key"]}
    arrowsmith.write_parquet(rows(0, 100), root, **options)
    arrowsmith.write_parquet(rows(100, 50).select(["n", "key"]), root, append=True, **options)
    return root


def sorted_rows(stream: Any) -> list[dict[str, Any]]:
    return sorted(pa.table(stream).to_pylist(), key=lambda row: row["n"])


EXPECTED = [*rows(0, 100).to_pylist(), *({**row, "x": None} for row in rows(100, 50).to_pylist())]


def test_a_delta_table_is_its_current_version(delta: Path) -> None:
    found = arrowsmith.read_parquet(delta, table="delta")
    assert found.schema.names == ["n", "key", "x"]
    assert sorted_rows(found) == EXPECTED
    with arrowsmith.open_parquet(str(delta), table="delta", columns=["key", "n"]) as reader:
        assert sorted_rows(reader) == [{"n": row["n"], "key": row["key"]} for row in EXPECTED]
    awaited = arrowsmith.read_parquet_async(f"file://{delta}", table="delta")
    assert sorted_rows(asyncio.run(awaited)) == EXPECTED


def test_scans_of_tables(delta: Path) -> None:
    scan = arrowsmith.scan_parquet(delta, table="delta").filter("n >= 95 and key = 'k/1 ä%'")
    expected = [row for row in EXPECTED if row["n"] >= 95 and row["key"] == "k/1 ä%"]
    assert sorted_rows(scan) == expected
    frame = scan.to_polars().collect().to_arrow()
    assert sorted_rows(frame.cast(pa.table(scan).schema)) == expected
    copy = pickle.loads(pickle.dumps(scan))
    assert sorted_rows(copy) == expected
    assert "delta" in repr(copy).lower()
    parts = arrowsmith.scan_parquet(delta, table="delta").split(1)
    assert len(parts) > 2
    parts = pickle.loads(pickle.dumps(parts))
    assert all(part.schema.names == ["n", "key", "x"] for part in parts)
    tables = [pa.table(part) for part in parts]
    assert sorted_rows(pa.concat_tables(tables)) == EXPECTED
    # What the condition needs is read, also of columns that are not.
    parts = scan.select("x").split(1)
    found = [row["x"] for part in parts for row in pa.table(part).to_pylist()]
    assert sorted(found, key=str) == sorted((row["x"] for row in expected), key=str)


def test_rows_that_vectors_have_deleted() -> None:
    ranges = json.loads((DELTA / "rows.json").read_text())
    expected = [n for start, end in ranges for n in range(start, end)]
    scan = arrowsmith.scan_parquet(DELTA / "deleted", table="delta")
    assert pa.table(scan)["n"].to_pylist() == expected
    some = scan.filter("n >= 60000 and n < 80000").collect()
    assert some.to_pyarrow()["n"].to_pylist() == [n for n in expected if 60000 <= n < 80000]
    parts = pickle.loads(pickle.dumps(scan.split(1)))
    assert len(parts) > 5
    assert pa.concat_tables(map(pa.table, parts))["n"].to_pylist() == expected


def values(table: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = json.loads(json.dumps(pa.table(table).to_pydict(), default=str))
    return found


@pytest.mark.parametrize("name", ["evolved", "partitioned", "imported"])
def test_iceberg_tables_are_as_pyiceberg_reads_them(name: str) -> None:
    expected = json.loads((ICEBERG / "rows.json").read_text())[name]
    table = ICEBERG / name
    assert values(arrowsmith.read_parquet(table, table="iceberg")) == expected
    (metadata,) = (table / "metadata").glob("*.metadata.json")
    assert values(arrowsmith.read_parquet(metadata, table="iceberg")) == expected
    scan = arrowsmith.scan_parquet(table, table="iceberg")
    assert values(scan.collect()) == expected
    parts = pickle.loads(pickle.dumps(scan.split(1)))
    assert len(parts) > 1
    assert values(pa.concat_tables(map(pa.table, parts))) == expected


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_that_were_renamed(mode: str) -> None:
    source = DELTA / f"mapped-{mode}"
    expected = pq.read_table(source / "_rows.parquet").sort_by("key")
    found = pa.table(arrowsmith.read_parquet(source, table="delta")).sort_by("key")
    assert found.to_pylist() == expected.to_pylist()
    parts = arrowsmith.scan_parquet(source, table="delta").select("key", "s.d").split(1)
    assert len(parts) == 3
    parts = pickle.loads(pickle.dumps(parts))
    read = pa.concat_tables(map(pa.table, parts)).sort_by("key")
    assert read["key"].to_pylist() == expected["key"].to_pylist()
    assert read["s"].to_pylist() == [{"d": row["d"]} for row in expected["s"].to_pylist()]


def test_a_table_without_rows(delta: Path) -> None:
    log = sorted((delta / "_delta_log").glob("*.json"))[-1]
    removed = [
        {"remove": {"path": json.loads(line)["add"]["path"], "dataChange": True}}
        for commit in sorted((delta / "_delta_log").glob("*.json"))
        for line in commit.read_text().splitlines()
        if "add" in json.loads(line)
    ]
    next_one = log.with_name(f"{int(log.stem) + 1:020}.json")
    next_one.write_text("".join(json.dumps(line) + "\n" for line in removed))
    found = arrowsmith.read_parquet(delta, table="delta")
    assert (len(found), found.schema.names) == (0, ["n", "key", "x"])
    scan = arrowsmith.scan_parquet(delta, table="delta").filter("key = 'a' and n > 1").select("x")
    assert (len(scan.collect()), scan.schema.names) == (0, ["x"])
    assert arrowsmith.scan_parquet(delta, table="delta").split(1) == []
    typed = arrowsmith.read_parquet(delta, table="delta", partitions="key: large_utf8")
    assert pa.table(typed).schema.field("key").type == pa.large_utf8()
    with pytest.raises(ConfigError, match="no partition column nope"):
        arrowsmith.read_parquet(delta, table="delta", partitions="nope: int8")


def test_rows_that_iceberg_tables_have_deleted() -> None:
    ranges = json.loads((ICEBERG / "deleted.json").read_text())
    expected = [n for start, end in ranges for n in range(start, end)]
    scan = arrowsmith.scan_parquet(ICEBERG / "deleted", table="iceberg")
    assert sorted(pa.table(scan)["n"].to_pylist()) == expected
    parts = pickle.loads(pickle.dumps(scan.split(1)))
    assert sorted(n for part in parts for n in pa.table(part)["n"].to_pylist()) == expected


def wide(start: int, count: int) -> pa.Table:
    """Every type that an Iceberg table has, with nulls."""
    numbers = range(start, start + count)
    day, time = dt.date(1969, 12, 30), dt.datetime(1969, 12, 30, 23, tzinfo=dt.timezone.utc)
    columns: dict[str, tuple[Any, list[Any]]] = {
        "id": (pa.int64(), list(numbers)),
        "small": (pa.int16(), [n - 50 for n in numbers]),
        "large": (pa.uint64(), [2**64 - 1 - n for n in numbers]),
        "ok": (pa.bool_(), [n % 2 == 0 for n in numbers]),
        "x": (pa.float64(), [-n / 4 for n in numbers]),
        "f": (pa.float32(), [n / 8 - 3 for n in numbers]),
        "price": (pa.decimal128(9, 2), [Decimal(50 - n).scaleb(-2) for n in numbers]),
        "day": (pa.date32(), [day + dt.timedelta(days=n % 5) for n in numbers]),
        "ts": (pa.timestamp("ms", "Europe/Paris"), [time + dt.timedelta(hours=n) for n in numbers]),
        "local": (pa.timestamp("us"), [dt.datetime(2024, 1, 1, 0, n % 60) for n in numbers]),
        "at": (pa.time32("s"), [dt.time(n % 24, 1) for n in numbers]),
        "key": (pa.string(), [f"k/{n % 3} ä%" for n in numbers]),
        "text": (pa.large_string(), ["é" * (n % 50) + str(n) for n in numbers]),
        "bytes": (pa.binary(), [bytes([n % 256]) for n in numbers]),
        "fixed": (pa.binary(3), [b"abc" for _ in numbers]),
        "tags": (pa.list_(pa.string()), [["a", None][: n % 3] for n in numbers]),
        "pair": (
            pa.struct({"a": pa.int8(), "b": pa.list_(pa.int32())}),
            [{"a": n % 9, "b": [n]} for n in numbers],
        ),
        "map": (pa.map_(pa.string(), pa.int64()), [[("k", n), ("l", None)] for n in numbers]),
    }

    def column(data_type: pa.DataType, values: list[Any]) -> pa.Array:
        return pa.array([None if n % 7 == 6 else v for n, v in enumerate(values)], data_type)

    arrays = {name: column(*of) for name, of in columns.items() if name != "id"}
    return pa.table({"id": pa.array(columns["id"][1], pa.int64()), **arrays})


PARTITIONS: list[list[str]] = [
    [],
    ["key"],
    ["day(ts)", "ok"],
    ["month(day)", "small"],
    ["hour(local)"],
    ["year(day)", "price"],
    ["large"],
    ["day", "local"],
    ["ts"],
]


@pytest.mark.parametrize("by", PARTITIONS, ids=",".join)
def test_pyiceberg_reads_what_is_written(tmp_path: Path, by: list[str]) -> None:
    root = tmp_path / "a table"
    first, second = wide(0, 36), wide(36, 18).drop(["f", "tags"])
    arrowsmith.write_parquet(first, root, table="iceberg", partition_by=by or None)
    arrowsmith.write_parquet(second, root, table="iceberg", append=True, rows_per_file=10)
    assert (root / "metadata/version-hint.text").read_text() == "2"
    table = StaticTable.from_metadata(f"file://{root}/metadata/v2.metadata.json")

    def sorted_rows(found: pa.Table) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = found.sort_by("id").to_pylist()
        return rows

    # The types of a table: what was written has others for some.
    schema = table.scan().to_arrow().schema
    nulls = {"f": pa.nulls(18), "tags": pa.nulls(18)}
    second = pa.table({**{name: second[name] for name in second.column_names}, **nulls})
    everything = pa.concat_tables(
        t.select(first.column_names).cast(schema) for t in (first, second)
    )
    expected = sorted_rows(everything)
    assert sorted_rows(table.scan().to_arrow()) == expected
    assert sorted_rows(pa.table(arrowsmith.read_parquet(root, table="iceberg"))) == expected
    # Files are left out by their partitions and statistics, and no rows with them.
    conditions: list[tuple[str, Callable[[dict[str, Any]], bool]]] = [
        ("id >= 45", lambda row: row["id"] >= 45),
        ("x > -1 and x < 0", lambda row: row["x"] is not None and -1 < row["x"] < 0),
        ("f < -2.5", lambda row: row["f"] is not None and row["f"] < -2.5),
        ("small = -20", lambda row: row["small"] == -20),
        ("key = 'k/1 ä%'", lambda row: row["key"] == "k/1 ä%"),
        ("key is null", lambda row: row["key"] is None),
        ("day <= '1969-12-31'", lambda row: str(row["day"] or "z") <= "1969-12-31"),
        ("price < 0", lambda row: row["price"] is not None and row["price"] < 0),
        ("ok = true", lambda row: row["ok"] is True),
        ("large > 18446744073709551600", lambda row: (row["large"] or 0) > 2**64 - 16),
        (
            "text > 'ééééééééééééééééééééééééééééééééééééééé'",
            lambda row: (row["text"] or "") > "é" * 39,
        ),
        (
            "ts < '1970-01-01T00:00:00+00:00'",
            lambda row: (
                row["ts"] is not None
                and row["ts"] < dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
            ),
        ),
    ]
    for condition, is_met in conditions:
        found = sorted_rows(table.scan(row_filter=condition).to_arrow())
        assert found == [row for row in expected if is_met(row)], condition
        assert found, condition
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    assert snapshot.summary["total-records"] == "54"


@pytest.mark.parametrize("table", ["iceberg", "delta"])
def test_structs_may_lack_fields_of_the_table(
    tmp_path: Path, table: Literal["iceberg", "delta"]
) -> None:
    root = tmp_path / "t"
    whole = [{"id": 1, "u": {"a": 1, "b": {"c": "x", "d": 2}, "l": [{"m": 1, "n": 2}]}}]
    parts = [
        {"id": 2, "u": {"b": {"d": 5}}},
        {"id": 3, "u": {"l": [{"n": 7}], "b": {"d": 1, "c": "y"}, "a": 3}},
    ]
    for row in [*whole, *parts]:
        rows = pa.Table.from_pylist([row])
        arrowsmith.write_parquet(rows, root, table=table, append=True)
    expected = [
        *whole,
        {"id": 2, "u": {"a": None, "b": {"c": None, "d": 5}, "l": None}},
        {"id": 3, "u": {"a": 3, "b": {"c": "y", "d": 1}, "l": [{"m": None, "n": 7}]}},
    ]
    found = pa.table(arrowsmith.read_parquet(root, table=table))
    assert found.sort_by("id").to_pylist() == expected
    if table == "iceberg":
        other = StaticTable.from_metadata(f"file://{root}/metadata/v3.metadata.json")
        assert other.scan().to_arrow().sort_by("id").to_pylist() == expected
    for wrong in ({"a": 1, "z": 1}, {"a": "x"}):
        with pytest.raises(arrowsmith.SchemaError, match="in the table, not"):
            arrowsmith.write_parquet(
                pa.Table.from_pylist([{"id": 4, "u": wrong}]), root, table=table, append=True
            )


def test_errors(delta: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no Delta table"):
        arrowsmith.read_parquet(tmp_path, table="delta")
    with pytest.raises(ConfigError, match="there is no Iceberg table"):
        arrowsmith.read_parquet(delta, table="iceberg")
    with pytest.raises(ConfigError, match="there are delta, iceberg"):
        arrowsmith.read_parquet(delta, table="hudi")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the path or URL of a delta table, found list"):
        arrowsmith.read_parquet([delta], table="delta")
    with pytest.raises(TypeError, match="found bytes"):
        arrowsmith.scan_parquet(b"", table="delta")
    log = next((delta / "_delta_log").glob("*0.json"))
    log.write_text(log.read_text().replace('"minReaderVersion":1', '"minReaderVersion":99'))
    with pytest.raises(arrowsmith.FileError, match="version 99 of the protocol to read it"):
        arrowsmith.read_parquet(delta, table="delta")
