# SPDX-License-Identifier: Apache-2.0
"""Errors have a message and a position; rejected records are passed on."""

import io
import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import arrowsmith

BAD = b'{"a":{"b":1}}\n\n{"a":{"b":"x\\u0000"}}\n{"a":{"b":3}}\n{"a":\n'
SCHEMA = "a: struct<b: int64 not null> not null"


def test_data_error(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(BAD)
    with pytest.raises(arrowsmith.DataError) as info:
        arrowsmith.read_json(path, SCHEMA, format="ndjson")
    error = info.value
    assert isinstance(error, arrowsmith.ArrowsmithError)
    assert isinstance(error, ValueError)
    assert (error.kind, error.path, error.expected) == ("wrong-type", "a.b", "int64")
    assert (error.record, error.line, error.offset) == (1, 3, 25)
    assert error.source == str(path)
    assert error.found.startswith("string")
    assert error.hint is None
    assert f"{path}: line 3, byte 25 (record 1), field a.b: wrong-type" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), vars(again)) == (str(error), vars(error))


def test_sources_have_names() -> None:
    class Named(io.BytesIO):
        name = "upload"

    for source, name in ((BAD, None), (io.BytesIO(BAD), None), (Named(BAD), "upload")):
        with pytest.raises(arrowsmith.DataError) as info:
            arrowsmith.read_json(source, SCHEMA, format="ndjson")
        assert info.value.source == name


def test_hints_name_options_of_python() -> None:
    text = b'{"a":1}\n' * 20 + b'{"a":"x"}\n'
    with pytest.raises(arrowsmith.DataError) as info:
        list(arrowsmith.open_json(text, infer_records=10))
    assert info.value.hint is not None
    assert 'infer_records="all"' in info.value.hint
    assert "--" not in str(info.value)


DEEP = b'{"a":' * 200 + b"1" + b"}" * 200
RECORDS = {"records": "r", "schema": "a: int64"}


@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        (DEEP, {}, "depth_max"),
        (DEEP, {"schema": "a: json"}, "depth_max sets the limit"),
        (b'{"m":' + DEEP + b',"r":[]}', RECORDS, "(see depth_max)"),
        (
            b'{"r":[' + b'{"a":1},' * 99 + b'{"a":2}],"m":1}',
            {
                "records": "r",
                "schema": "a: int64, m: int64",
                "parent_fields": ["m"],
                "record_bytes_max": 20,
            },
            "(see record_bytes_max)",
        ),
        (b"", {}, "schema gives the columns"),
        (b"PAR1abcd", {}, "read_parquet reads it"),
        (b"a,b\n1,2\n", {}, "`arrowsmith convert` reads)"),
        (b"ARROW1\0\0", {}, "`arrowsmith convert` reads)"),
        (b"\x1f\x8b\x08", {"compression": "none"}, 'compression="gzip" reads it'),
        (b'{"a":NaN}', {"schema": "a: float64"}, "allow_nan=True takes it"),
        (b'{"a":1}\n' * 9 + b'{"a":"x"}', {"infer_records": 3, "late_keys": "error"}, ""),
        (
            b'{"a":1}\n' * 9 + b'{"b":1}',
            {"infer_records": 3, "late_keys": "error"},
            'late_keys="ignore" or rescued_column takes',
        ),
        (b'{"a":1}{"a":2}\n', {"schema": "a: int64", "format": "ndjson"}, 'format="concatenated"'),
        (b'{"a":[1]}\n{"a":"x"}', {"filter": "a = 1"}, "compared (types)"),
        (b'{"a":[1,1]}', {"schema": "a: list<int64>", "batch_bytes_max": 9}, "batch_bytes_max"),
        (b'{"--schema":1}', {"schema": "a: int64", "unknown_keys": "error"}, '"--schema"'),
    ],
)
def test_messages_have_the_words_of_python(
    source: bytes, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(arrowsmith.ArrowsmithError) as info:
        list(arrowsmith.open_json(source, **options))
    message = str(info.value)
    assert said in message
    assert "--" not in message.replace('"--schema"', "")
    for attribute in ("hint", "expected"):
        assert "--" not in (getattr(info.value, attribute, None) or "")
    # The same inside of an Arrow stream.
    with pytest.raises((pa.ArrowException, arrowsmith.ArrowsmithError)) as info:
        arrowsmith.open_json(source, **options).to_pyarrow().read_all()
    assert "--" not in str(info.value).replace('"--schema"', "")


@pytest.mark.parametrize(
    ("given", "here"),
    [
        ("schema_overrides", "types"),
        ("n_rows", "limit"),
        ("ignore_errors", "on_error"),
        ("usecols", "columns"),
    ],
)
def test_names_of_other_libraries_are_known(given: str, here: str) -> None:
    options: dict[str, Any] = {given: None}
    with pytest.raises(TypeError, match=f'no option "{given}": here it is {here}'):
        arrowsmith.read_json(b'{"a":1}', **options)
    options = {"schema_overrides": None}
    with pytest.raises(TypeError, match="no option"):
        arrowsmith.read_parquet(b"", **options)


def test_columns_as_one_text_says_what_is_expected() -> None:
    with pytest.raises(TypeError, match=r"columns=\['a'\]"):
        arrowsmith.read_json(b'{"a":1}', columns="a")


def test_the_rows_before_an_error_come_first() -> None:
    reader = arrowsmith.open_json(BAD, SCHEMA, format="ndjson", threads=1)
    assert next(reader).num_rows == 1
    with pytest.raises(arrowsmith.DataError):
        next(reader)
    assert list(reader) == []


def test_an_error_inside_an_arrow_stream() -> None:
    reader = arrowsmith.open_json(BAD, SCHEMA, format="ndjson")
    with pytest.raises(pa.ArrowInvalid, match="line 3"):
        pa.table(reader)


def test_skip() -> None:
    rejects: list[arrowsmith.Reject] = []
    table = arrowsmith.read_json(
        BAD, SCHEMA, format="ndjson", on_error="skip", rejects=rejects, threads=2
    )
    assert pa.table(table)["a"].to_pylist() == [{"b": 1}, {"b": 3}]
    assert table.num_rejects == 2
    assert [reject["kind"] for reject in rejects] == ["wrong-type", "truncated"]
    assert json.loads(rejects[0]["text"]) == {"a": {"b": "x\0"}}
    assert (rejects[0]["line"], rejects[0]["path"]) == (3, "a.b")
    assert not rejects[0]["kept_as_null"]


def test_null() -> None:
    rejects: list[arrowsmith.Reject] = []
    take = rejects.append
    text = b'{"a":1,"b":"x"}\n{"a":"x","b":"y"}\n'
    table = arrowsmith.read_json(text, "a: int8, b: utf8", on_error="null", rejects=take)
    assert pa.table(table).to_pydict() == {"a": [1, None], "b": ["x", "y"]}
    assert [reject["kept_as_null"] for reject in rejects] == [True]
    assert table.num_rejects == 1


@pytest.mark.parametrize("threads", [1, 2])
def test_what_rejects_raises_is_raised(threads: int) -> None:
    def refuse(reject: arrowsmith.Reject) -> None:
        raise LookupError(reject["line"])

    text = b'{"a":1}\n{"a":"x"}\n' * 1000
    with pytest.raises(LookupError) as info:
        arrowsmith.read_json(text, "a: int8", on_error="skip", rejects=refuse, threads=threads)
    assert info.value.args == (2,)
    with pytest.raises(TypeError, match="rejects: expected a callable or a list"):
        arrowsmith.read_json(text, rejects=7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("on_error", "ignore", arrowsmith.ConfigError),
        ("format", "csv", arrowsmith.ConfigError),
        ("engine", "abacus", arrowsmith.ConfigError),
        ("compression", 7, TypeError),
        ("threads", 0, arrowsmith.ConfigError),
        ("threads", -1, arrowsmith.ConfigError),
        ("threads", 1 << 70, arrowsmith.ConfigError),
        ("threads", "2", TypeError),
        ("batch_rows", 0, arrowsmith.ConfigError),
        ("infer_records", 0, arrowsmith.ConfigError),
        ("infer_records", "some", TypeError),
        ("columns", "a", TypeError),
        ("trust", 1, TypeError),
    ],
)
def test_options_are_checked(name: str, value: object, error: type[Exception]) -> None:
    options: dict[str, Any] = {name: value}
    with pytest.raises(error, match=name if name != "engine" else "there is no engine"):
        arrowsmith.read_json(b'{"a":1}', **options)


def test_reading_that_fails(tmp_path: Path) -> None:
    missing = tmp_path / "missing.json"
    sources: list[Any] = [missing, str(missing), [b"{}", missing]]
    for source in sources:
        with pytest.raises(FileNotFoundError) as info:
            arrowsmith.read_json(source)
        assert (info.value.errno, info.value.filename) == (2, str(missing))
        assert info.value.strerror == "No such file or directory"
    with pytest.raises(FileNotFoundError, match="no file matches"):
        arrowsmith.read_json(str(tmp_path / "*.json"))
    with pytest.raises(FileNotFoundError, match="no file in this folder ends in"):
        arrowsmith.read_json(tmp_path)


def test_options_that_change_what_is_good() -> None:
    twice, nan = b'{"a":1,"a":2}', b'{"a":NaN}'
    assert pa.table(arrowsmith.read_json(twice))["a"].to_pylist() == [2]
    with pytest.raises(arrowsmith.DataError, match="duplicate-key"):
        arrowsmith.read_json(twice, duplicate_keys="error")
    with pytest.raises(arrowsmith.DataError, match="unknown-key"):
        arrowsmith.read_json(b'{"b":1}', "a: int64", unknown_keys="error")
    both = "a: int64, b: int64"
    some = arrowsmith.read_json(b'{"a":1,"b":2}', both, columns=["a"], unknown_keys="error")
    assert pa.table(some).to_pylist() == [{"a": 1}]
    with pytest.raises(arrowsmith.DataError, match="unknown-key"):
        arrowsmith.read_json(b'{"a":1,"c":2}', both, columns=["a"], unknown_keys="error")
    with pytest.raises(arrowsmith.DataError, match="syntax"):
        arrowsmith.read_json(nan, "a: float64")
    assert arrowsmith.read_json(nan, allow_nan=True).num_rows == 1
    with pytest.raises(arrowsmith.DataError, match="depth-exceeded"):
        arrowsmith.read_json(b'{"a":{"b":{}}}', "a: json", depth_max=2)
    with pytest.raises(arrowsmith.DataError, match="record-too-long"):
        arrowsmith.read_json(b'{"a":"' + b"x" * 1000 + b'"}', "a: utf8", record_bytes_max=100)


@pytest.mark.parametrize(
    "schema",
    ["a: fixed_size_binary(2147483647)", "a: list<fixed_size_list<int8, 2147483647>>"],
)
def test_a_schema_of_any_width_is_an_error(schema: str) -> None:
    with pytest.raises(arrowsmith.SchemaError, match="row_bytes_max"):
        arrowsmith.read_json(b"{}\n" * 40, schema)
    with pytest.raises(arrowsmith.SchemaError, match="fields_max"):
        arrowsmith.read_json(b"{}\n", "a: int8, b: int8", fields_max=1)


def test_a_record_that_becomes_too_much_is_an_error() -> None:
    schema = "a: list<fixed_size_binary(4096)>"
    record = b'{"a":[' + b",".join([b"null"] * 1000) + b"]}\n"
    with pytest.raises(arrowsmith.DataError, match="batch_bytes_max") as info:
        arrowsmith.read_json(b"{}\n" + record, schema, batch_bytes_max=1 << 20)
    assert (info.value.kind, info.value.record) == ("limit", 1)
    assert arrowsmith.read_json(record, schema).num_rows == 1


def test_rejects_are_a_table() -> None:
    text = b'{"a":1}\n{"a":"x"}\n{"a":3}\n{"a":[]}\n'
    table = arrowsmith.read_json(text, "a: int64", on_error="skip")
    found = table.rejects.to_pylist()
    places = [(row["record"], row["line"], row["offset"]) for row in found]
    assert places == [(1, 2, 13), (3, 4, 31)]
    assert found[0]["kind"] == "wrong-type"
    assert found[0]["text"] == b'{"a":"x"}'
    rejects: list[arrowsmith.Reject] = []
    also = arrowsmith.read_json(text, "a: int64", on_error="skip", rejects=rejects)
    assert also.rejects.to_pylist() == rejects == found
    for other in (table[1:], table.select([]), pickle.loads(pickle.dumps(table))):
        assert other.rejects.to_pylist() == found
    assert table.rejects.num_rejects == 0
    assert arrowsmith.read_json(b'{"a":1}').rejects.num_rows == 0
    with arrowsmith.open_json(text, "a: int64", on_error="null") as reader:
        assert sum(map(len, reader)) == 4
        assert [row["kept_as_null"] for row in reader.rejects.to_pylist()] == [True, True]


def test_kept_rejects_are_bounded() -> None:
    table = arrowsmith.read_json(b'{"a":"x"}\n' * 10_100, "a: int64", on_error="skip")
    assert (table.num_rejects, table.rejects.num_rows) == (10_100, 10_000)
