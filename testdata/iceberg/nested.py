# SPDX-License-Identifier: Apache-2.0
"""Makes the table `nested` here, whose fields of structs were renamed, dropped, added and widened at
every depth, and the rows that pyiceberg reads of it (`nested.json`).

    pip install 'pyiceberg[sql-sqlite,pyarrow,pyiceberg-core]==0.12.0'
    python nested.py FOLDER
"""

import json
import shutil
import sys
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.types import (
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
)

ROOT = Path("/warehouse")


def field(number, name, kind):
    return NestedField(number, name, kind, False)


def main():
    target = Path(sys.argv[1])
    shutil.rmtree(ROOT, ignore_errors=True)
    ROOT.mkdir()
    catalog = SqlCatalog("c", uri=f"sqlite:///{ROOT}/c.db", warehouse=f"file://{ROOT}")
    catalog.create_namespace("t")
    inner = StructType(field(5, "x", IntegerType()))
    record = StructType(
        field(3, "a", IntegerType()), field(4, "b", StringType()), field(6, "in", inner)
    )
    item = StructType(field(10, "p", IntegerType()), field(11, "q", IntegerType()))
    value = StructType(field(14, "v", FloatType()))
    schema = Schema(
        field(1, "id", LongType()),
        field(2, "s", record),
        field(7, "l", ListType(8, item, False)),
        field(9, "m", MapType(12, StringType(), 13, value, False)),
    )
    table = catalog.create_table("t.nested", schema)

    def append(*rows):
        table.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))

    def old(n):
        return {
            "id": n,
            "s": {"a": n, "b": f"b{n}", "in": {"x": -n}},
            "l": [{"p": n, "q": 2}, None, {"p": None, "q": n}],
            "m": [("k", {"v": n / 2}), ("none", None)],
        }

    append(old(1), old(2), {"id": 3, "s": None, "l": None, "m": None})
    with table.update_schema() as change:
        change.rename_column("s.a", "z")
        change.delete_column("s.b")
        change.update_column("s.in.x", LongType())
        change.rename_column("l.p", "w")
        change.delete_column("l.q")
        change.rename_column("m.v", "u")
        change.update_column("m.v", DoubleType())
    with table.update_schema() as change:
        change.add_column(("s", "b"), DoubleType())
        change.add_column(("l", "q"), StringType())
        change.add_column(("s", "in", "new"), StringType())
    append(
        {
            "id": 10,
            "s": {"z": 10, "b": 0.5, "in": {"x": 1 << 40, "new": "n"}},
            "l": [{"w": 3, "q": "q"}],
            "m": [("k", {"u": 1e300})],
        }
    )
    with table.update_schema() as change:
        change.move_first("s.b")
        change.rename_column("s", "record")
    rows = table.scan().to_arrow().to_pylist()
    for row in rows:
        row["m"] = None if row["m"] is None else dict(row["m"])
    (target / "nested.json").write_text(json.dumps(rows, indent=1) + "\n")
    shutil.rmtree(target / "nested", ignore_errors=True)
    shutil.copytree(ROOT / "t" / "nested", target / "nested")
    for before in sorted((target / "nested" / "metadata").glob("*.metadata.json"))[:-1]:
        before.unlink()
    shutil.rmtree(ROOT)


main()
