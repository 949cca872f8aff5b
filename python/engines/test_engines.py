# SPDX-License-Identifier: Apache-2.0
"""Dask, Daft, Ray and DataFusion, the real ones: their rows are those of the library.

Dask and Ray run on two processes.
"""

import json
import math
import random
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arrowsmith
from arrowsmith import _lib

SPLIT_BYTES = {"json": 20_000, "parquet": 5_000}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make files of JSON and of Parquet; a column of the last ones has only nulls."""
    folder = tmp_path_factory.mktemp("in")
    for file in range(3):
        name = None if file == 2 else "n"
        rows = [
            {"id": 1000 * file + i, "name": name and f"{name}{i % 9}", "x": i / 4, "t": {"k": [i]}}
            for i in range(1000)
        ]
        below = folder / f"part={file}"
        below.mkdir()
        (below / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        pq.write_table(pa.Table.from_pylist(rows), below / "rows.parquet", row_group_size=100)
    return folder


@pytest.fixture(scope="module")
def expected(folder: Path) -> list[dict[str, Any]]:
    """Return all rows in order."""
    return ordered(arrowsmith.read_json(str(folder)).to_pyarrow().to_pylist())


def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["id"])


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Start two processes of Ray."""
    import ray

    ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
    yield
    ray.shutdown()


@pytest.mark.parametrize("format", ["json", "parquet"])
def test_dask(folder: Path, expected: list[dict[str, Any]], format: str) -> None:  # noqa: A002
    import dask

    import arrowsmith.dask

    read = getattr(arrowsmith.dask, f"read_{format}")
    frame = read(str(folder), split_bytes=SPLIT_BYTES[format])
    assert frame.npartitions > 3
    with dask.config.set(scheduler="processes", num_workers=2):
        rows = pa.Table.from_pandas(frame.compute(), preserve_index=False)
        assert ordered(rows.to_pylist()) == expected
        assert frame["x"].sum().compute() == sum(row["x"] for row in expected)
        assert len(frame) == len(expected)
        counts = frame.groupby("name").id.count().compute()
        assert counts.sum() == sum(row["name"] is not None for row in expected)
    assert frame["name"].dtype == pd.ArrowDtype(pa.string())
    assert "columns=['x']" in str(frame[["x"]].optimize().expr.tree_repr())


@pytest.mark.parametrize("format", ["json", "parquet"])
def test_daft(folder: Path, expected: list[dict[str, Any]], format: str) -> None:  # noqa: A002
    import daft

    import arrowsmith.daft

    read = getattr(arrowsmith.daft, f"read_{format}")
    frame = read(str(folder), split_bytes=SPLIT_BYTES[format])
    assert ordered(frame.to_pylist()) == expected
    assert frame.count_rows() == len(expected)
    found = frame.where(daft.col("id") < 3).select("x").to_pydict()
    assert sorted(found["x"]) == [0.0, 0.25, 0.5]
    assert frame.limit(5).count_rows() == 5
    assert read(str(folder), columns=["x"], filter="id >= 2000").to_pydict().keys() == {"x"}


@pytest.mark.parametrize("format", ["json", "parquet"])
@pytest.mark.usefixtures("cluster")
def test_ray(folder: Path, expected: list[dict[str, Any]], format: str) -> None:  # noqa: A002
    import arrowsmith.ray

    read = getattr(arrowsmith.ray, f"read_{format}")
    data = read(str(folder), split_bytes=SPLIT_BYTES[format])
    assert ordered(data.take_all()) == expected
    assert data.count() == len(expected)
    assert data.sum("x") == sum(row["x"] for row in expected)
    two = data.select_columns(["x", "id"])
    assert two.schema().names == ["x", "id"]
    assert sum(row["id"] for row in two.take_all()) == sum(row["id"] for row in expected)
    assert read(str(folder), filter="id >= 2000").count() == 1000


@pytest.mark.parametrize("engine", ["dask", "daft"])
def test_an_error_of_a_part_is_the_error_of_the_whole(tmp_path: Path, engine: str) -> None:
    import importlib

    (tmp_path / "a.jsonl").write_text('{"id":1}\n')
    (tmp_path / "b.jsonl").write_text('{"id":1}\n{"id":"x"}\n')
    read = importlib.import_module(f"arrowsmith.{engine}").read_json
    frame = read(str(tmp_path), schema="id: int64", split_bytes=1)
    with pytest.raises(Exception, match=r"b\.jsonl.*line 2"):
        frame.compute() if engine == "dask" else frame.collect()


@pytest.mark.usefixtures("cluster")
def test_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("events").mkdir()
    Path("events/a.jsonl").write_text('{"id":1,"user":"ada"}\n{"id":2,"user":"bob"}\n')
    pq.write_table(pa.table({"id": [1, 2, 3]}), "events.parquet")
    guide = Path(__file__).parents[2] / "docs" / "guide" / "distributed.md"
    names: dict[str, Any] = {"arrowsmith": arrowsmith}
    for example in re.findall(r"```python\n(.*?)```", guide.read_text(), re.DOTALL):
        exec(compile(example, guide.name, "exec"), names)
    assert dict(names["per_user"]) == {"ada": 1, "bob": 1}
    assert names["events"] == {"id": [2]}
    assert names["total"] == 5
    assert names["rows"] == 2


def test_datafusion_decides_what_no_condition_can_be_about() -> None:
    import datafusion

    data = b'{"id":1,"a":1}\n{"id":2,"a":"x"}\n{"id":3}\n'
    scan = arrowsmith.scan_json(data, record_column="r", offset_column="o", rescued_column="q")
    for condition, expected in [
        ("a is null", [3]),
        ("a is not null", [1, 2]),
        ("r > 0", [2, 3]),
        ("o > 15", [3]),
        ("q is null", [1, 2, 3]),
    ]:
        context = datafusion.SessionContext()
        context.register_view("t", scan.to_datafusion(context))
        found = context.sql(f"select id from t where {condition}").to_pydict()
        assert found.get("id", []) == expected, condition


def test_datafusion_reads_only_columns_of_a_query(tmp_path: Path) -> None:
    import datafusion

    rows = pa.table({"a": range(1_000), "b": ["x", None] * 500, "c": [1.5] * 1_000})
    pq.write_table(rows, tmp_path / "rows.parquet")
    scan = arrowsmith.scan_parquet(tmp_path / "rows.parquet")
    context = datafusion.SessionContext()
    context.register_view("t", scan.to_datafusion(context))
    for query, expected in [
        ("select count(*) n from t", [{"n": 1_000}]),
        (
            "select b, sum(a) s from t where c > 1 and a < 4 group by b order by s",
            [
                {"b": "x", "s": 2},
                {"b": None, "s": 4},
            ],
        ),
        ("select a from t where b = 'x' order by a limit 1", [{"a": 0}]),
        ("select b from t where a in (1, 4) order by a", [{"b": None}, {"b": "x"}]),
    ]:
        for _ in range(2):
            assert context.sql(query).to_pylist() == expected
    assert scan.select("a").filter("a > 7").to_datafusion().count() == 992


def test_conditions_of_datafusion_reach_the_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datafusion import col, lit

    pq.write_table(pa.table({"a": range(1_000), "b": ["x"] * 1_000}), tmp_path / "rows.parquet")
    opened: list[dict[str, Any]] = []
    before = _lib.open_parquet

    def spy(source: Any, on_device: bool, options: Any) -> arrowsmith.Reader:
        opened.append(dict(options))
        return before(source, on_device, options)

    monkeypatch.setattr(_lib, "open_parquet", spy)
    frame = arrowsmith.scan_parquet(tmp_path / "rows.parquet").to_datafusion()
    wanted = (col("a") < lit(3)) & (col("b") == lit("x"))
    assert frame.filter(wanted).select("a").to_pydict() == {"a": [0, 1, 2]}
    assert opened[-1]["columns"] == ["a"]
    assert opened[-1]["filter"] == '("a" < 3 and "b" = \'x\')'


def test_datafusion_finds_the_rows_that_it_finds_in_memory(tmp_path: Path) -> None:
    """It gives pyarrow conditions that mean something else there, and tests no rows again."""
    import datafusion

    chance = random.Random(37)
    negative = struct.unpack("d", struct.pack("Q", 0xFFF8 << 48))[0]
    floats = [0.0, -0.0, 1.5, -1.5, math.nan, negative, math.inf, -math.inf, 0.1, None]

    def some(values: list[Any], of: pa.DataType) -> pa.Array:
        return pa.array([chance.choice(values) for _ in range(300)], of)

    rows = pa.table(
        {
            "k": pa.array(range(300), pa.int32()),
            "i": some([0, 1, 2, -3, None], pa.int64()),
            "f": some(floats, pa.float64()),
            "g": some(floats, pa.float32()),
            "s": some(["", "a", "b", "it's", None], pa.string()),
            "b": some([True, False, None], pa.bool_()),
            "t": some([10**15, 10**15 + 1, 10**15 + 10**6, None], pa.timestamp("us")),
        }
    )
    pq.write_table(rows, tmp_path / "rows.parquet")
    context = datafusion.SessionContext()
    context.register_record_batches("expected", [rows.to_batches()])
    scan = arrowsmith.scan_parquet(tmp_path / "rows.parquet")
    context.register_view("found", scan.to_datafusion(context))
    literals = {
        "k": ["5", "100"],
        "i": ["0", "1", "-3", "1.5"],
        "f": ["0.0", "-0.0", "1.5", "'NaN'::double", "-'NaN'::double", "0.1"],
        "g": ["0.0", "1.5", "'NaN'::real", "'inf'::real"],
        "s": ["''", "'a'", "'it''s'"],
        "b": ["true", "false"],
        "t": ["'2001-09-09 01:46:40.000001'"],
    }

    def test() -> str:
        column = chance.choice(list(literals))
        values = literals[column]
        value, no, sign = chance.choice(values), chance.choice(["", "not"]), chance.choice("=<>")
        some = ", ".join(chance.choice(values) for _ in range(chance.randrange(1, 6)))
        return chance.choice(
            [
                f"{column} {sign} {value}",
                f"{value} {sign} {column}",
                f"{column} {chance.choice(['<>', '<=', '>='])} {value}",
                f"{column} is {no} null",
                f"{column} {no} in ({some})",
                f"{column} {no} between {value} and {chance.choice(values)}",
                "b",
                "b = (i > 0)",
                "f > g",
                "s like 'a%'",
            ]
        )

    def predicate(depth: int) -> str:
        match chance.randrange(5 if depth else 1):
            case 0 | 1:
                return test()
            case 2:
                return f"not ({predicate(depth - 1)})"
            case _:
                word = chance.choice(["and", "or"])
                return f"({predicate(depth - 1)}) {word} ({predicate(depth - 1)})"

    for _ in range(300):
        where = predicate(2)
        found, expected = (
            context.sql(f"select k from {of} where {where} order by k").to_pydict()
            for of in ("found", "expected")
        )
        assert found == expected, where
