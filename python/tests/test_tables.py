# SPDX-License-Identifier: Apache-2.0
"""Tables, batches and readers as other libraries and notebooks use them."""

import copy
import importlib
import pickle
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import arrowsmith
from conftest import ROWS


@pytest.fixture(scope="module")
def table(lines: bytes) -> arrowsmith.Table:
    table = arrowsmith.read_json(lines, batch_rows=3_000)
    assert len(table.batches) == 7
    return table


def test_every_library_gets_the_same_rows(table: arrowsmith.Table) -> None:
    rows = pa.table(table).to_pylist()
    assert table.to_pylist() == rows
    assert table.to_polars().to_dicts() == rows
    assert [row[0] for row in table.to_duckdb().project("id").fetchall()] == list(range(ROWS))
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    assert isinstance(frame, pd.DataFrame)
    assert frame["name"].tolist() == [row["name"] for row in rows]
    batch = table.batches[1]
    assert batch.to_pylist() == rows[3_000:6_000]
    assert isinstance(batch.to_polars(), pl.DataFrame)
    assert batch.to_pandas()["id"].tolist() == list(range(3_000, 6_000))


def test_readers_are_converted(lines: bytes) -> None:
    assert arrowsmith.open_json(lines).to_polars().height == ROWS
    assert len(arrowsmith.open_json(lines).to_pandas()) == ROWS
    with duckdb.connect() as connection:
        relation = arrowsmith.open_json(lines).to_duckdb(connection)
        assert relation.aggregate("count(*), sum(id)").fetchall()[0] == (
            ROWS,
            ROWS * (ROWS - 1) // 2,
        )


def test_lengths_columns_and_rows(table: arrowsmith.Table) -> None:
    whole = pa.table(table)
    assert len(table) == ROWS
    assert len(table.batches[0]) == 3_000
    assert table.column_names == whole.column_names
    assert table["id"].equals(whole["id"])
    assert pa.table(table[["name", "id"]]).equals(whole.select(["name", "id"]))
    for start, stop in [(0, 5), (2_990, 6_010), (-3, None), (5, 2), (ROWS, None), (0, 10**9)]:
        rows = slice(start, stop)
        assert pa.table(table[rows]).equals(whole[rows]), rows
    assert pa.table(table.slice(7, 2)).equals(whole.slice(7, 2))
    assert pa.table(table.slice(7)).equals(whole.slice(7))
    assert len(table.slice(10**30)) == len(table.slice(0, 0)) == len(table.head(-ROWS - 1)) == 0
    assert pa.table(table.slice(-7, 2)).equals(whole.slice(ROWS - 7, 2))
    assert pa.table(table.head(-3)).equals(whole.slice(0, ROWS - 3))
    assert len(table.slice(-(10**30))) == len(table.head(10**30)) == ROWS
    with pytest.raises(ValueError, match="length: must not be negative"):
        table.slice(0, -1)
    assert table.head(3).to_pylist() == whole.slice(0, 3).to_pylist()
    assert len(arrowsmith.read_json(b"", "a: int8")[0:1]) == 0


@pytest.mark.parametrize("key", ["none", ["id", "none"]])
def test_unknown_columns_are_key_errors(table: arrowsmith.Table, key: str) -> None:
    with pytest.raises(KeyError, match="none"):
        table[key]


def test_wrong_keys_are_type_errors(table: arrowsmith.Table) -> None:
    for key in (1, ("id", 2), None):
        with pytest.raises(TypeError, match=r"rows by a slice, table\[10:20\]; found"):
            table[key]  # type: ignore[index]
    with pytest.raises(NotImplementedError, match="step"):
        table[::2]


def test_selection_without_columns_keeps_rows(table: arrowsmith.Table) -> None:
    assert len(table.select([])) == ROWS


def test_slices_share_memory(table: arrowsmith.Table) -> None:
    whole, part = pa.table(table)["id"].chunk(0), pa.table(table[10:20])["id"].chunk(0)
    addresses = [array.buffers()[1].address + array.offset * 8 for array in (whole, part)]
    assert addresses[1] == addresses[0] + 10 * 8


def test_pickles(table: arrowsmith.Table) -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(table[:100], protocol))
        assert isinstance(again, arrowsmith.Table)
        assert again.schema == table.schema
        assert pa.table(again).equals(pa.table(table)[:100])
    batch = pickle.loads(pickle.dumps(table.batches[2]))
    assert batch.to_pylist() == table.batches[2].to_pylist()
    assert pa.table(copy.deepcopy(table)).equals(pa.table(table))
    empty = arrowsmith.read_json(b"", "a: int8, b: dictionary<int8, utf8>")
    assert pickle.loads(pickle.dumps(empty)).schema == empty.schema


def test_pickles_keep_counts_and_dictionaries() -> None:
    text = b'{"a":"x"}\n{"a":1}\n{"a":"y","b":1}\n{"a":"x"}\n'
    table = arrowsmith.read_json(text, "a: dictionary<int32, utf8>", on_error="skip", batch_rows=2)
    again = pickle.loads(pickle.dumps(table))
    assert (again.num_rejects, again.num_left_out) == (table.num_rejects, table.num_left_out)
    assert (again.num_rejects, again.num_left_out) == (1, 1)
    assert again["a"].to_pylist() == ["x", "y", "x"]


def test_html_shows_the_first_rows_and_escapes() -> None:
    text = b"".join(b'{"<b>":"<i>&%d","n":null}\n' % row for row in range(30))
    html = arrowsmith.read_json(text, batch_rows=4)._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<td>&lt;i&gt;&amp;9</td><td>null</td>" in html
    assert "&amp;10" not in html
    assert "<b>" not in html
    assert "30 rows &times; 2 columns" in html
    long = arrowsmith.read_json(b'{"a":"%s"}' % (b"x" * 10_000)).batches[0]._repr_html_()
    assert len(long) < 500


def test_html_of_wide_tables_is_bounded() -> None:
    record = ",".join(f'"c{column}":{column}' for column in range(1_000))
    html = arrowsmith.read_json(f"{{{record}}}".encode())._repr_html_()
    assert html.count("<th>") == 50
    assert "1 rows &times; 1000 columns" in html


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    convert = importlib.import_module("arrowsmith._convert")

    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(convert, "import_module", missing)
    table = arrowsmith.read_json(b'{"a":1}')
    with pytest.raises(ModuleNotFoundError, match="pip install polars"):
        table.to_polars()
    with pytest.raises(ModuleNotFoundError, match="pip install pyarrow pandas"):
        table.to_pandas()


def test_parquet_is_converted(table: arrowsmith.Table, tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table(table), tmp_path / "rows.parquet")
    read = arrowsmith.read_parquet(tmp_path / "rows.parquet", columns=["id"])
    assert read.to_polars()["id"].to_list() == list(range(ROWS))
    assert read[-2:].to_pylist() == [{"id": ROWS - 2}, {"id": ROWS - 1}]
