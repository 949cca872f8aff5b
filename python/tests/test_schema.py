# SPDX-License-Identifier: Apache-2.0
"""Every form of a schema, inference, and projection."""

import io
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arrowsmith

ARROW = pa.schema([pa.field("a", pa.int8(), nullable=False), ("b", pa.list_(pa.float32()))])
TEXT = "a: int8 not null\nb: list<float32>\n"
LINE = b'{"a":1,"b":[0.5]}'


def forms(folder: Path) -> list[str | os.PathLike[str] | pa.Schema | arrowsmith.Schema]:
    (folder / "text").write_text(TEXT)
    (folder / "message").write_bytes(ARROW.serialize().to_pybytes())
    pq.write_table(ARROW.empty_table(), folder / "parquet")
    files = [folder / "text", str(folder / "text"), folder / "message", folder / "parquet"]
    return [TEXT, *files, ARROW, arrowsmith.Schema(ARROW), arrowsmith.Schema(TEXT)]


def test_forms(tmp_path: Path) -> None:
    for schema in forms(tmp_path):
        table = arrowsmith.read_json(LINE, schema)
        taken = pa.table(table)
        assert taken.schema.field("a").type == pa.int8(), schema
        assert taken.schema.field("b").type.value_type == pa.float32(), schema
        # Parquet has another name for the items of lists.
        assert str(table.schema).replace("element: ", "") == TEXT, schema
        assert taken.to_pydict() == {"a": [1], "b": [[0.5]]}


def test_schema_object() -> None:
    schema = arrowsmith.Schema(TEXT)
    assert schema == arrowsmith.Schema(str(schema))
    assert schema != arrowsmith.Schema("a: int8")
    assert schema != TEXT
    assert schema.names == ["a", "b"]
    assert str(schema) == TEXT
    assert TEXT in repr(schema)
    assert isinstance(schema.to_pyarrow(), pa.Schema)
    assert pa.schema(schema) == schema.to_pyarrow()


def test_bad_schemas(tmp_path: Path) -> None:
    with pytest.raises(arrowsmith.SchemaError, match="line 1") as info:
        arrowsmith.read_json(LINE, "a: int9")
    assert info.value.path == ""
    with pytest.raises(arrowsmith.SchemaError) as info:
        arrowsmith.read_json(LINE, pa.schema([("a", pa.month_day_nano_interval())]))
    assert info.value.path == "a"
    with pytest.raises(arrowsmith.SchemaError, match="NUL"):
        arrowsmith.read_json(LINE, 'a: list<dictionary<int8, timestamp(us, "x\\u0000")>>')
    with pytest.raises(arrowsmith.SchemaError, match="there is no file"):
        arrowsmith.read_json(LINE, "missing.schema")
    with pytest.raises(FileNotFoundError):
        arrowsmith.read_json(LINE, tmp_path / "missing.schema")
    with pytest.raises(TypeError, match="schema: expected"):
        arrowsmith.read_json(LINE, {"a": "int8"})  # type: ignore[arg-type]


def test_names_with_a_nul() -> None:
    """A C string cannot contain them: an error at every export."""
    table = arrowsmith.read_json(b'{"k\\u0000":1}')
    with pytest.raises(arrowsmith.ArrowsmithError, match="Null byte"):
        pa.schema(table.schema)
    with pytest.raises(pa.ArrowInvalid, match="Null byte"):
        pa.table(table)
    with pytest.raises(arrowsmith.DataError, match="wrong-type"):
        arrowsmith.read_json(b'{"k\\u0000":"x"}', table.schema)
    with pytest.raises(pa.ArrowInvalid):
        pa.table(arrowsmith.open_json(b'{"k\\u0000":"x"}', table.schema))


def test_inference(path: Path) -> None:
    schema = arrowsmith.infer_schema(path)
    assert schema.names == ["id", "ratio", "ok", "name", "tags", "user"]
    assert "user: struct<age: int64, city: utf8>" in str(schema)
    assert arrowsmith.read_json(path, schema).schema == arrowsmith.read_json(path).schema
    text = b'{"a":"2024-02-29","b":1}\n{"a":"2024-03-01","b":"x"}\n'
    assert str(arrowsmith.infer_schema(text, infer_timestamps=True)) == "a: date32\nb: json\n"
    assert str(arrowsmith.infer_schema(text, infer_records=1)) == "a: utf8\nb: int64\n"
    with pytest.raises(arrowsmith.DataError):
        list(arrowsmith.open_json(text, infer_records=1))
    for records in (1, "all"):
        table = arrowsmith.read_json(text, infer_records=records)
        assert str(table.schema) == "a: utf8\nb: json\n"
    with pytest.raises(arrowsmith.DataError, match="syntax"):
        arrowsmith.infer_schema(b'{"a":nope}')


def test_what_comes_late_is_kept() -> None:
    text = b'{"a":1}\n' * 30_000 + b'{"a":2.5,"b":"x"}\n' * 30_000
    for threads in (1, 3):
        table = pa.table(arrowsmith.read_json(text, threads=threads))
        assert table.schema == pa.schema([("a", pa.float64()), ("b", pa.string())])
        assert table.num_rows == 60_000
        assert table["b"].null_count == 30_000
        assert table.slice(29_999, 2).to_pylist() == [{"a": 1, "b": None}, {"a": 2.5, "b": "x"}]
    # A stream has its schema before the end.
    with pytest.raises(arrowsmith.DataError) as info:
        list(arrowsmith.open_json(b'{"a":1}\n' * 30_000 + b'{"b":1}\n'))
    assert (info.value.kind, info.value.line) == ("unknown-key", 30_001)
    late = b'{"a":1}\n' * 30_000 + b'{"a":2,"b":1}\n'
    reader = arrowsmith.open_json(late, late_keys="ignore")
    assert sum(batch.num_rows for batch in reader) == 30_001
    assert reader.num_left_out == 1
    reader = arrowsmith.open_json(late, rescued_column="rest")
    assert sum(batch.num_rows for batch in reader) == 30_001
    assert reader.num_left_out == 0
    for rescued, left_out in ((None, 1), ("rest", 0)):
        assert (
            arrowsmith.read_json(late, "a: int8", rescued_column=rescued).num_left_out == left_out
        )
    # A stream is kept, so that it can be read again, up to a maximum.
    assert arrowsmith.read_json(io.BytesIO(text)).num_rows == 60_000
    mixed = b'{"a":"x"}\n' * 300_000 + b'{"a":[]}\n'
    table = arrowsmith.read_json(io.BytesIO(mixed), threads=1)
    assert (table.num_rows, str(table.schema)) == (300_001, "a: json\n")
    with pytest.raises(arrowsmith.DataError, match="spool_bytes_max"):
        arrowsmith.read_json(io.BytesIO(mixed), threads=1, spool_bytes_max=1 << 20)


def test_projection(path: Path) -> None:
    table = pa.table(arrowsmith.read_json(path, columns=["user.age", "id"]))
    assert table.schema.names == ["id", "user"]
    assert table.schema.field("user").type == pa.struct([("age", pa.int64())])
    assert table.slice(7, 1).to_pylist() == [{"id": 7, "user": {"age": 7}}]
    with pytest.raises(arrowsmith.ArrowsmithError, match="nope"):
        arrowsmith.read_json(path, columns=["nope"])
