# SPDX-License-Identifier: Apache-2.0
"""Common libraries accept the result, and use its memory without a copy."""

import io

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.json
import pytest

import arrowsmith
from conftest import ROWS


def addresses(array: pa.Array) -> list[int]:
    return [buffer.address for buffer in array.buffers() if buffer is not None]


@pytest.fixture(scope="module")
def table(lines: bytes) -> arrowsmith.Table:
    # One batch, so that no library has to join several.
    table = arrowsmith.read_json(lines, batch_rows=ROWS)
    assert len(table.batches) == 1
    return table


def test_pyarrow_reads_the_same_rows(lines: bytes) -> None:
    expected = pyarrow.json.read_json(io.BytesIO(lines))
    found = pa.table(arrowsmith.read_json(lines))
    found.validate(full=True)
    assert found.num_rows == ROWS
    assert found.schema == expected.schema
    assert found.equals(expected)


def test_pyarrow_shares_memory(table: arrowsmith.Table) -> None:
    first, second, one = pa.table(table), table.to_pyarrow(), table.batches[0].to_pyarrow()
    assert isinstance(one, pa.RecordBatch)
    for name in first.column_names:
        found = addresses(first[name].chunk(0))
        assert found
        assert found == addresses(second[name].chunk(0)) == addresses(one[name])


def test_memory_outlives_the_table(lines: bytes) -> None:
    taken = pa.table(arrowsmith.read_json(lines, columns=["id", "name"]))
    assert taken["id"].to_pylist() == list(range(ROWS))
    assert taken["name"][7].as_py() == 'nümber "7"'


def test_polars_shares_memory(table: arrowsmith.Table) -> None:
    frame = pl.DataFrame(table)
    expected = pa.table(table)
    for name in ("id", "ratio"):
        # Polars exports its own memory, whose address must be that of ours.
        taken = frame[name].to_arrow()
        assert (taken.offset, len(taken)) == (0, ROWS)
        assert taken.buffers()[1].address in addresses(expected[name].chunk(0))
    assert frame.equals(pl.DataFrame(expected))
    assert frame["user"].struct.field("age").to_list() == [n % 90 for n in range(ROWS)]


def test_duckdb_queries_it(table: arrowsmith.Table) -> None:
    with duckdb.connect() as connection:
        connection.register("t", pa.table(table))
        query = 'select count(*), sum(id), sum("user".age), max(name), sum(len(tags)) from t'
        expected = connection.execute(query).fetchall()
        # Without pyarrow: DuckDB reads the capsule.
        direct = connection.from_arrow(table).query("t2", query.replace("from t", "from t2"))
        assert direct is not None
        assert direct.fetchall() == expected
        assert [row[:2] for row in expected] == [(ROWS, ROWS * (ROWS - 1) // 2)]


def test_duckdb_queries_a_stream(lines: bytes) -> None:
    with arrowsmith.open_json(lines, columns=["id"]) as reader, duckdb.connect() as connection:
        relation = connection.from_arrow(reader)
        assert relation.aggregate("count(*), max(id)").fetchall() == [(ROWS, ROWS - 1)]


def test_pandas_shares_memory(table: arrowsmith.Table) -> None:
    taken = table.to_pyarrow()
    frame = taken.to_pandas(types_mapper=pd.ArrowDtype)
    for name in taken.column_names:
        chunked = frame[name].array.__arrow_array__()
        assert addresses(chunked.chunk(0)) == addresses(taken[name].chunk(0))
    # NumPy shares numbers without nulls, too.
    numbers = taken.select(["ratio"]).to_pandas(zero_copy_only=True, split_blocks=True)
    assert numbers["ratio"].to_numpy().ctypes.data in addresses(taken["ratio"].chunk(0))
    assert frame["id"].sum() == ROWS * (ROWS - 1) // 2


def test_every_type_arrives() -> None:
    schema = pa.schema(
        [
            pa.field("u8", pa.uint8(), nullable=False),
            ("f16", pa.float16()),
            ("dec", pa.decimal128(10, 2)),
            ("view", pa.string_view()),
            ("bin", pa.binary()),
            ("day", pa.date32()),
            ("at", pa.timestamp("us", "UTC")),
            ("took", pa.duration("ms")),
            ("dict", pa.dictionary(pa.int8(), pa.string())),
            ("map", pa.map_(pa.string(), pa.int64())),
            ("fixed", pa.list_(pa.int32(), 2)),
        ],
        metadata={"kept": "yes"},
    )
    text = (
        b'{"u8":255,"f16":0.5,"dec":"12.50","view":"a string beyond twelve bytes","bin":"AQI=",'
        b'"day":"2024-02-29","at":"2024-02-29T10:11:12+01:00","took":1500,"dict":"red",'
        b'"map":{"x":1},"fixed":[1,2]}'
    )
    table = arrowsmith.read_json(text, schema)
    taken = pa.table(table)
    taken.validate(full=True)
    assert taken.schema.equals(schema, check_metadata=True)
    assert pa.schema(table.schema).equals(schema, check_metadata=True)
    batch = pa.record_batch(table.batches[0])
    assert batch.schema.equals(schema, check_metadata=True)
    row = taken.to_pylist()[0]
    assert (row["u8"], str(row["dec"]), row["bin"], row["dict"]) == (255, "12.50", b"\1\2", "red")
    assert (row["map"], row["fixed"]) == ([("x", 1)], [1, 2])
    assert row["at"].isoformat() == "2024-02-29T09:11:12+00:00"
