# SPDX-License-Identifier: Apache-2.0
"""Columns whose names have dots, beside structs whose fields have the same paths."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import arrowsmith

NAMES = ["a", "b", "c", "a.b", "b.c", "a.b.c", 'q"', "q`.b", "[a]"]


def some_type(chance: random.Random, depth: int) -> pa.DataType:
    if depth == 0 or chance.random() < 0.4:
        return pa.int64()
    names = chance.sample(NAMES, chance.randrange(1, 4))
    return pa.struct([(name, some_type(chance, depth - 1)) for name in names])


def some_value(chance: random.Random, of: pa.DataType) -> Any:
    if chance.random() < 0.1:
        return None
    if not pa.types.is_struct(of):
        return chance.randrange(4)
    return {field.name: some_value(chance, field.type) for field in of}


def leaves(fields: Any, *path: str) -> Iterator[tuple[str, ...]]:
    for field in fields:
        if pa.types.is_struct(field.type):
            yield from leaves(field.type, *path, field.name)
        else:
            yield (*path, field.name)


def table(chance: random.Random) -> pa.Table:
    names = chance.sample(NAMES, chance.randrange(3, 6))
    schema = pa.schema([("k", pa.int64())] + [(name, some_type(chance, 2)) for name in names])
    rows = [
        {"k": at, **{name: some_value(chance, schema.field(name).type) for name in names}}
        for at in range(40)
    ]
    return pa.Table.from_pylist(rows, schema)


@pytest.mark.parametrize("format", ["json", "parquet"])
def test_conditions_are_about_the_column_that_they_name(
    tmp_path: Path,
    format: str,  # noqa: A002
) -> None:
    chance, pushed = random.Random(31), 0
    for number in range(40):
        rows = table(chance)
        path = tmp_path / f"{number}.{format}"
        if format == "json":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows.to_pylist()))
            scan = arrowsmith.scan_json(path, rows.schema)
        else:
            pq.write_table(rows, path)
            scan = arrowsmith.scan_parquet(path)
        for leaf in leaves(rows.schema):
            value = chance.randrange(4)
            wanted = pc.field(*leaf)
            expected = ds.dataset(rows).to_table(["k"], filter=wanted == value)["k"].to_pylist()
            column = pl.col(leaf[0])
            for name in leaf[1:]:
                column = column.struct.field(name)
            scans = [scan]
            if not set(leaf[0]) & set('."`[]'):
                # Columns that are not selected have names, too.
                scans.append(scan.select("k", leaf[0]))
            for some in scans:
                kept = some.to_polars().filter(column == value).select("k").collect()
                assert kept["k"].to_list() == expected, (leaf, rows.schema)
                found = some.to_dataset().to_table(["k"], filter=wanted == value)
                assert found["k"].to_pylist() == expected, (leaf, rows.schema)
            for one in (wanted, column):
                try:
                    exact = scan.filter(one == value)
                except arrowsmith.ConfigError:
                    continue
                pushed += 1
                assert exact.collect()["k"].to_pylist() == expected, (leaf, rows.schema)
    assert pushed > 100
