# SPDX-License-Identifier: Apache-2.0
"""Options: those of the library's table, in signatures, types and help."""

import asyncio
import inspect
import itertools
import typing
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import arrowsmith
from arrowsmith import _lib

JSON, PARQUET = _lib.read_options()
ALL = {"source", "on_device", "storage_options"}
"""Arguments of every reader that are not options of the table."""
TEXT = b'{"a":1}'


@pytest.mark.parametrize(
    ("function", "table", "own"),
    [
        (arrowsmith.read_json, JSON, ALL | {"schema", "rejects", "progress"}),
        (arrowsmith.open_json, JSON, ALL | {"schema", "rejects"}),
        (arrowsmith.read_parquet, PARQUET, ALL | {"progress", "table"}),
        (arrowsmith.open_parquet, PARQUET, ALL | {"table"}),
    ],
)
def test_every_option_is_an_argument(
    function: Callable[..., object], table: list[tuple[str, Any, str]], own: set[str]
) -> None:
    arguments = inspect.signature(function).parameters
    assert set(arguments) == own | {name for name, _, _ in table}
    for name, default, text in table:
        assert arguments[name].default == default
        assert text
        if function.__name__.startswith("read_"):
            assert function.__doc__ is not None
            assert name in function.__doc__


@pytest.mark.parametrize(
    ("options", "table"),
    [(arrowsmith.JsonReadOptions, JSON), (arrowsmith.ParquetReadOptions, PARQUET)],
)
def test_every_option_has_a_type(options: type, table: list[tuple[str, Any, str]]) -> None:
    types = typing.get_type_hints(options)
    # The schema is an argument of its own.
    assert set(types) == {name for name, _, _ in table} - {"schema"}
    inferring = set(typing.get_type_hints(arrowsmith.InferOptions))
    arguments = set(inspect.signature(arrowsmith.infer_schema).parameters)
    assert arguments == inferring | {"source", "storage_options"}


def test_defaults_and_none_are_accepted() -> None:
    for name, default, _ in JSON:
        for value in (default, None):
            options: dict[str, Any] = {name: value}
            assert arrowsmith.read_json(TEXT, **options).num_rows == 1


def test_sizes_may_be_text() -> None:
    record = b'{"a":"' + b"x" * 2000 + b'"}'
    assert arrowsmith.read_json(record, record_bytes_max="3KiB").num_rows == 1
    with pytest.raises(arrowsmith.DataError, match="record-too-long"):
        arrowsmith.read_json(record, record_bytes_max="1KiB")
    with pytest.raises(arrowsmith.ConfigError, match="is not a size"):
        arrowsmith.read_json(record, record_bytes_max="much")


def test_unknown_options_are_named() -> None:
    with pytest.raises(TypeError, match=r'no option "thread" \(did you mean "threads"'):
        arrowsmith.read_json(TEXT, thread=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match='no option "where"'):
        arrowsmith.read_parquet(TEXT, where="a = 1")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="trust: does not apply to inference"):
        arrowsmith.infer_schema(TEXT, trust=True)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "value"),
    [("trust", 1), ("columns", "a"), ("columns", {"a": 1}), ("threads", 1.5), ("format", object())],
)
def test_values_of_another_type_are_refused(name: str, value: object) -> None:
    options: dict[str, Any] = {name: value}
    with pytest.raises(TypeError, match=name):
        arrowsmith.read_json(TEXT, **options)


def in_itself() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


class Immense(list[str]):
    def __len__(self) -> int:
        return 2**62


class Endless:
    def __getitem__(self, index: int) -> str:
        return "a"


def test_lists_in_themselves_and_lone_surrogates_are_refused_by_every_option() -> None:
    cyclic = in_itself()
    for name, _, _ in JSON:
        for value in (cyclic, ["a", cyclic], "\ud800", ["\ud800"]):
            options: dict[str, Any] = {name: value}
            with pytest.raises((TypeError, ValueError)):
                arrowsmith.read_json(TEXT, **options)


def test_what_a_list_says_of_its_length_reserves_nothing() -> None:
    names = Immense(["a"])
    table = arrowsmith.read_json(TEXT, columns=names)
    assert table[names].column_names == table.select(names).column_names == ["a"]
    assert table.schema.select(names).names == ["a"]


def test_lists_without_an_end_are_refused() -> None:
    table = arrowsmith.read_json(TEXT)
    names: Any = Endless()
    columns: Any = itertools.repeat("a")
    for read in (
        lambda: arrowsmith.read_json(TEXT, columns=columns),
        lambda: table.select(names),
        lambda: table.schema.select(names),
    ):
        with pytest.raises(ValueError, match="a list of more than 1048576 items"):
            read()


def test_columns_are_selected_in_an_order() -> None:
    table = arrowsmith.read_json(b'{"a":1,"b":2}')
    for names in (["b", "a"], ("b", "a"), pd.Index(["b", "a"]), np.array(["b", "a"])):
        selected: Any = names
        assert table[selected].column_names == table.select(selected).column_names == ["b", "a"]
    for names in ({"b", "a"}, {"b": 1, "a": 2}, iter(["b"]), b"b", "ab", 1, None):
        other: Any = names
        for select in (table.select, table.schema.select):
            with pytest.raises(TypeError):
                select(other)


def test_types_of_some_columns() -> None:
    text = b'{"id":"7","user":{"born":"2001-02-03","n":1}}'
    expected = "id: large_utf8\nuser: struct<born: date32, n: int64>\n"
    for types in (
        {"id": "large_utf8", "user.born": pa.date32()},
        {"id": pa.large_string(), "user.born": "date"},
        "id: large_utf8, user.born: date32",
        pa.schema([("id", pa.large_string()), ("user.born", pa.date32())]),
    ):
        assert str(arrowsmith.infer_schema(text, types=types)) == expected
        assert str(arrowsmith.read_json(text, types=types).schema) == expected
    required = {"id": pa.field("id", pa.large_string(), nullable=False)}
    assert not arrowsmith.infer_schema(text, types=required).to_pyarrow().field("id").nullable
    for wrong in ({"id": 7}, {"id": None}, 7):
        options: dict[str, Any] = {"types": wrong}
        with pytest.raises(TypeError, match="type"):
            arrowsmith.read_json(text, **options)
    for refused in ({"id": "int65"}, {"id": "int8, b: int8"}, {"id.x": "int8"}, {"": "int8"}):
        with pytest.raises(arrowsmith.SchemaError):
            arrowsmith.read_json(text, types=refused)


def test_parent_fields_that_no_document_has_are_said() -> None:
    text = b'{"meta":{"page":1,"x.y":2,"a/b":3},"r":[{"a":1}]}'
    there = ["meta.page", "p=meta.page", "/meta/page", "/meta/a~1b", '"meta"."x.y"']
    absent = {"nope": "nope", "p=nope.x": "p", "meta.pgae": "meta.pgae", "/nope/x": "nope.x"}

    def all_of(fields: list[str]) -> list[list[str]]:
        def table() -> arrowsmith.Table:
            return arrowsmith.read_json(text, records="r", parent_fields=fields)

        schema = arrowsmith.infer_schema(text, records="r", parent_fields=fields)
        reader = arrowsmith.open_json(text, records="r", parent_fields=fields)
        later = arrowsmith.read_json_async(text, records="r", parent_fields=fields)
        schemas = [table().schema, schema, reader.schema, asyncio.run(later).schema]
        return [schema.names for schema in schemas]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for field in there:
            assert all(len(names) == 2 for names in all_of([field]))
        arrowsmith.read_json(text, records="r", parent_fields=["nope"], columns=["a"])
    for field, name in absent.items():
        with pytest.warns(UserWarning, match=f"no column {name}: no document has") as found:
            assert all_of([field]) == [["a"]] * 4
        assert len(found) == 4
        assert sum(warning.filename == __file__ for warning in found) == 3
    with pytest.warns(UserWarning, match="or the schema lacks it"):
        arrowsmith.read_json(text, "a: int8", records="r", parent_fields=["meta.page"])
