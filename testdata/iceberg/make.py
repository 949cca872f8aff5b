# SPDX-License-Identifier: Apache-2.0
"""Makes the tables here, and the rows that pyiceberg reads of them (`rows.json`).

    pip install 'pyiceberg[sql-sqlite,pyarrow,pyiceberg-core]==0.12.0'
    python make.py FOLDER

Their metadata names the folder `/warehouse`, where they are made and from which they are moved.
"""

import json
import shutil
import sys
from datetime import date, datetime, time, timezone
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

ROOT = Path("/warehouse")


def types(catalog):
    """Every type, in two files, with nulls."""
    kinds = [
        ("b", BooleanType(), True),
        ("i", IntegerType(), -7),
        ("l", LongType(), 1 << 40),
        ("f", FloatType(), 0.5),
        ("d", DoubleType(), -1e300),
        ("dec", DecimalType(20, 3), Decimal("-12345.678")),
        ("day", DateType(), date(2024, 2, 29)),
        ("t", TimeType(), time(12, 34, 56, 789)),
        ("ts", TimestampType(), datetime(1969, 12, 31, 23, 59, 59, 5)),
        ("tz", TimestamptzType(), datetime(2024, 3, 4, 5, 6, 7, tzinfo=timezone.utc)),
        ("s", StringType(), "ä\n"),
        ("u", UUIDType(), UUID(int=7).bytes),
        ("x", FixedType(3), b"\x00\x01\xff"),
        ("bin", BinaryType(), b"\xfe"),
        ("list", ListType(101, IntegerType(), False), [1, None]),
        ("map", MapType(102, StringType(), 103, LongType(), False), [("k", 1), ("m", None)]),
        ("st", StructType(NestedField(104, "in", StringType(), False)), {"in": "y"}),
    ]
    fields = [NestedField(at + 1, name, kind, False) for at, (name, kind, _) in enumerate(kinds)]
    table = catalog.create_table("t.types", Schema(*fields))
    schema = table.schema().as_arrow()
    row = {name: value for name, _, value in kinds}
    for rows in ([row, dict.fromkeys(row)], [dict.fromkeys(row), row]):
        table.append(pa.Table.from_pylist(rows, schema=schema))
    return table


def evolved(catalog):
    """Columns that were renamed, dropped, added again with another type, moved and widened."""
    schema = Schema(
        NestedField(1, "id", IntegerType(), True),
        NestedField(2, "a b", StringType(), False),
        NestedField(3, "gone", LongType(), False),
        NestedField(4, "price", FloatType(), False),
        NestedField(5, "amount", DecimalType(5, 2), False),
    )
    table = catalog.create_table("t.evolved", schema)

    def append(*rows):
        table.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))

    append(
        {"id": 1, "a b": "x", "gone": 10, "price": 1.5, "amount": Decimal("1.25")},
        {"id": 2, "a b": None, "gone": 20, "price": 2.5, "amount": Decimal("999.99")},
    )
    with table.update_schema() as change:
        change.rename_column("a b", "name")
        change.delete_column("gone")
    with table.update_schema() as change:
        change.add_column("gone", StringType())
        change.update_column("id", LongType())
        change.update_column("price", DoubleType())
        change.update_column("amount", DecimalType(9, 2))
        change.move_first("price")
    append({"id": 1 << 40, "name": "y", "gone": "new", "price": 0.1, "amount": Decimal("-7.00")})
    with table.update_schema() as change:
        change.rename_column("gone", "was")
        change.add_column("id2", LongType())
        change.rename_column("name", "a.b")
    return table


def partitioned(catalog):
    """By a column as it is, and by days of another; files that were replaced and deleted."""
    schema = Schema(
        NestedField(1, "level", StringType(), False),
        NestedField(2, "ts", TimestampType(), False),
        NestedField(3, "n", LongType(), False),
    )
    spec = PartitionSpec(
        PartitionField(1, 1000, IdentityTransform(), "level"),
        PartitionField(2, 1001, DayTransform(), "ts_day"),
    )
    table = catalog.create_table("t.partitioned", schema, partition_spec=spec)
    rows = [
        {"level": level, "ts": datetime(2024, 3, day, hour), "n": 100 * day + hour}
        for level in ("error", "in/fo =%20", None)
        for day in (1, 2)
        for hour in (0, 23)
    ]
    table.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))
    table.delete("n = 100")
    table.delete("level = 'error' and ts >= '2024-03-02T00:00:00'")
    return table


def imported(catalog):
    """Files of a hive table, which have neither ids nor the partition column."""
    schema = Schema(
        NestedField(1, "day", DateType(), False),
        NestedField(2, "n", LongType(), False),
    )
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "day"))
    table = catalog.create_table("t.imported", schema, partition_spec=spec)
    paths = []
    for at, day in enumerate(("2024-02-29", "1969-12-31")):
        path = ROOT / f"t/imported/data/day={day}/{at}.parquet"
        path.parent.mkdir(parents=True)
        # pyiceberg takes the value from the statistics of the column.
        columns = {"day": pa.array([date.fromisoformat(day)] * 2), "n": pa.array([at, None])}
        pq.write_table(pa.table(columns), path)
        paths.append(f"file://{path}")
    table.add_files(paths)
    rows = {name: table.scan().to_arrow()[name].to_pylist() for name in ("day", "n")}
    for at, path in enumerate(paths):
        path = path.removeprefix("file://")
        pq.write_table(pq.read_table(path, partitioning=None).select(["n"]), path)
    return table, rows


def main():
    target = Path(sys.argv[1])
    shutil.rmtree(ROOT, ignore_errors=True)
    ROOT.mkdir()
    catalog = SqlCatalog("c", uri=f"sqlite:///{ROOT}/c.db", warehouse=f"file://{ROOT}")
    catalog.create_namespace("t")
    all_rows = {}
    for make in (types, evolved, partitioned, imported):
        made = make(catalog)
        table, rows = made if isinstance(made, tuple) else (made, None)
        if rows is None:
            read = table.scan().to_arrow()
            rows = {name: read[name].to_pylist() for name in read.column_names}
        all_rows[make.__name__] = rows
        shutil.rmtree(target / make.__name__, ignore_errors=True)
        shutil.copytree(ROOT / "t" / make.__name__, target / make.__name__)
        for old in sorted((target / make.__name__ / "metadata").glob("*.metadata.json"))[:-1]:
            old.unlink()

    def plain(value):
        if isinstance(value, bytes):
            return value.hex()
        return str(value)

    text = json.dumps(all_rows, default=plain, indent=1)
    (target / "rows.json").write_text(text + "\n")
    shutil.rmtree(ROOT)


main()
