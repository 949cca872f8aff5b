# SPDX-License-Identifier: Apache-2.0
"""Expressions of pyarrow as conditions, and scans as datasets: what DuckDB pushes down is read."""

import asyncio
import copy
import io
import math
import pickle
import random
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.acero as acero
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import arrowsmith
from arrowsmith import _arrow_expression, _lib
from arrowsmith._arrow_expression import columns, translate
from conftest import ROWS

COUNT = 3_000
GROUP = 500


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    """Values at which comparisons differ: NaN, -0, nulls, large numbers; ``k`` is sorted."""
    chance = random.Random(23)
    start = datetime(2024, 5, 1, tzinfo=timezone.utc)
    floats = [0.0, -0.0, 1.5, -1.5, math.nan, math.inf, -math.inf, 0.1, None]
    texts = ["", "a", "b", "it's", 'q"', "é", "NaN", None]

    def some(values: list[Any], of: pa.DataType) -> pa.Array:
        return pa.array([chance.choice(values) for _ in range(COUNT)], of)

    small = [None if number < 3 else number for number in range(40)]
    return pa.table(
        {
            "k": pa.array(range(COUNT), pa.int32()),
            "i": some([0, 1, 2, -3, 2**53, 2**53 + 1, -(2**62), None], pa.int64()),
            "u": some([0, 1, 2**64 - 1, None], pa.uint64()),
            "f": some(floats, pa.float64()),
            "g": some(floats, pa.float32()),
            "s": some(texts, pa.string()),
            "l": some(texts, pa.large_string()),
            "x": some([b"", b"\x00", b"ab", None], pa.binary()),
            "b": some([True, False, None], pa.bool_()),
            "c": some([Decimal("1.50"), Decimal("-2.00"), None], pa.decimal128(9, 2)),
            "d": some([date(2024, 5, day) for day in range(1, 31)], pa.date32()),
            "t": some(
                [start + timedelta(milliseconds=number) for number in range(40)],
                pa.timestamp("ms", "UTC"),
            ),
            "n": some(
                [start.replace(tzinfo=None) + timedelta(hours=number) for number in range(40)],
                pa.timestamp("us"),
            ),
            "o": some(
                [None if number is None else {"x": number, "y": str(number)} for number in small],
                pa.struct([("x", pa.int32()), ("y", pa.string())]),
            ),
            "a.b": some(small, pa.int8()),
        }
    )


@pytest.fixture(scope="module")
def file(rows: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dataset") / "rows.parquet"
    pq.write_table(rows, path, row_group_size=GROUP)
    return path


@pytest.fixture(scope="module")
def scan(file: Path) -> arrowsmith.Scan:
    return arrowsmith.scan_parquet(file)


def expression(chance: random.Random, depth: int) -> pc.Expression:
    def test() -> pc.Expression:
        columns: list[tuple[str, list[Any]]] = [
            ("i", [0, 1, 2**53, 2**53 + 1, 1.5, None]),
            ("u", [0, 2**63 - 1]),
            ("f", [0.0, -0.0, 1.5, 0.1, math.nan, math.inf, 1]),
            ("g", [0.0, 1.5, 0.1, 1]),
            ("s", ["", "a", "it's", 'q"', "é"]),
            ("l", ["", "a", "NaN"]),
            ("x", [b"", b"\x00", b"ab"]),
            ("c", [Decimal("1.50"), Decimal("-2.00")]),
            ("d", [date(2024, 5, chance.randrange(1, 31))]),
            ("t", [datetime(2024, 5, 1, 0, 0, 0, chance.randrange(40_000), timezone.utc)]),
            ("n", [datetime(2024, 5, 1, chance.randrange(24))]),
            ("o.x", [chance.randrange(40)]),
            ("o.y", [str(chance.randrange(40))]),
            ("a.b", [chance.randrange(40)]),
        ]
        name, values = chance.choice(columns)
        field = pc.field(*name.split(".")) if name.startswith("o.") else pc.field(name)
        value = pa.scalar(chance.choice(values))
        flipped = pc.scalar(value)
        some = [chance.choice(values), *chance.sample([None, values[0]], chance.randrange(2))]
        some = [some_value for some_value in some if not isinstance(some_value, float)] or [None]
        tests: list[Callable[[], pc.Expression]] = [
            lambda: field == value,
            lambda: field != value,
            lambda: field < value,
            lambda: field <= value,
            lambda: field > value,
            lambda: field >= value,
            lambda: flipped < field,
            lambda: flipped >= field,
            lambda: field.is_null(),
            lambda: field.is_valid(),
            lambda: field.isin(some),
            lambda: pc.field(chance.choice("fg")).is_nan(),
            lambda: pc.starts_with(pc.field("s"), "i"),
        ]
        return chance.choice(tests)()

    match chance.randrange(6 if depth else 2):
        case 0 | 1:
            return test()
        case 2:
            return ~expression(chance, depth - 1)
        case 3:
            return expression(chance, depth - 1) | expression(chance, depth - 1)
        case 4:
            return pc.field("b") & expression(chance, depth - 1)
        case _:
            return expression(chance, depth - 1) & expression(chance, depth - 1)


def test_conditions_keep_the_rows_of_the_expression(file: Path, rows: pa.Table) -> None:
    chance = random.Random(29)
    in_memory = ds.dataset(rows)
    pushed = exact = 0
    for _ in range(600):
        wanted = expression(chance, 3)
        try:
            expected = set(in_memory.to_table(["k"], filter=wanted)["k"].to_pylist())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue  # pyarrow casts no such value, such as a large integer to a number of bits.
        condition, is_exact = translate(wanted, rows.schema)
        if condition is None:
            continue
        kept = arrowsmith.read_parquet(file, columns=["k"], filter=condition)
        found = set(kept["k"].to_pylist())
        assert expected <= found, (str(wanted), condition)
        assert not is_exact or expected == found, (str(wanted), condition)
        pushed += 1
        exact += is_exact
    assert pushed > 300
    assert exact > 200


def test_expressions_are_conditions(scan: arrowsmith.Scan, rows: pa.Table) -> None:
    wanted = (pc.field("i") > 0) & pc.field("s").isin(["a", "it's"])
    expected = rows.filter(wanted).select(["s", "d"])
    assert scan.select("s", "d").filter(wanted).collect().to_pyarrow().equals(expected)
    for not_one in (
        pc.field("i") > 1.5,
        pc.field("i") == pc.field("u"),
        pc.starts_with(pc.field("s"), "a"),
        pc.field("f") == math.nan,
        pc.field("o").is_null(),
    ):
        with pytest.raises(arrowsmith.ConfigError, match="only pyarrow can decide"):
            scan.filter(not_one)


@pytest.mark.parametrize("library", [pl.col, pc.field])
def test_readers_take_expressions(library: Any, file: Path, path: Path, tmp_path: Path) -> None:
    wanted = library("k") < 3
    assert arrowsmith.read_parquet(file, columns=["i"], filter=wanted).num_rows == 3
    assert sum(map(len, arrowsmith.open_parquet(file, filter=wanted))) == 3
    assert asyncio.run(arrowsmith.read_parquet_async(file, filter=wanted)).num_rows == 3
    scan = arrowsmith.scan_parquet(file, filter=wanted).filter(library("k") > 0)
    assert scan.collect().num_rows == 2
    wanted = library("id") < 5
    assert arrowsmith.read_json(path, filter=wanted, limit=4).num_rows == 4
    assert sum(map(len, arrowsmith.open_json(path, filter=wanted))) == 5
    assert asyncio.run(arrowsmith.read_json_async(path, filter=wanted)).num_rows == 5
    assert arrowsmith.convert_json(path, tmp_path / "x.arrow", filter=wanted).rows == 5
    with pytest.raises(arrowsmith.ConfigError, match="can decide"):
        arrowsmith.read_parquet(file, filter=library("k") == library("i"))
    with pytest.raises(TypeError, match=r"^filter: an expression"):
        arrowsmith.read_json(io.BytesIO(b"{}"), filter=wanted)


@pytest.mark.parametrize(
    ("wanted", "condition"),
    [
        (pc.field("i") > 1, '("i" > 1)'),
        (pc.scalar(1) >= pc.field("i"), '("i" <= 1)'),
        (pc.field("s") == "it's", "(\"s\" = 'it''s')"),
        (pc.field("x") == b"\xff\x00", "(\"x\" = x'ff00')"),
        (pc.field("o", "x") < 3, '("o.x" < 3)'),
        (pc.field("b"), '("b" = true)'),
        (~pc.field("b"), '(not ("b" = true))'),
        (pc.field("s").isin(["a", None]), '("s" is null or "s" in (\'a\'))'),
        (pc.field("s").isin(["a"]), '("s" is not null and "s" in (\'a\'))'),
        (pc.field("g") == 0.1, None),
        (pc.field("a.b") == 1, '("a.b" = 1)'),
        ((pc.field("i") == 1) & pc.starts_with(pc.field("s"), "a"), '("i" = 1)'),
        ((pc.field("i") == 1) | pc.starts_with(pc.field("s"), "a"), None),
        (pc.field("t") < pa.scalar(1714521600000001, pa.timestamp("us", "UTC")), "us"),
        (pc.field("d") >= date(2024, 5, 1), "(\"d\" >= '2024-05-01')"),
    ],
)
def test_a_condition_of_pyarrow(wanted: pc.Expression, condition: str, rows: pa.Table) -> None:
    found, _ = translate(wanted, rows.schema)
    expected = "(\"t\" < '2024-05-01T00:00:00.000001Z')" if condition == "us" else condition
    assert found == expected


def test_columns_of_an_expression(rows: pa.Table) -> None:
    wanted = (pc.field("o", "x") > 1) & pc.starts_with(pc.field("s"), "i")
    assert columns(wanted, rows.schema) == {"o", "s"}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, object]]:
    """The options of each reader, in the order in which they are opened."""
    seen: list[Mapping[str, object]] = []
    before = _lib.open_parquet

    def spy(source: Any, on_device: bool, options: Mapping[str, object]) -> arrowsmith.Reader:
        seen.append(dict(options))
        return before(source, on_device, options)

    monkeypatch.setattr(_lib, "open_parquet", spy)
    return seen


def test_duckdb_pushes_columns_and_conditions(
    scan: arrowsmith.Scan, rows: pa.Table, opened: list[Mapping[str, object]]
) -> None:
    queries = [
        ("select i from t where k >= 2750", "k", {"k", "i"}),
        ("select i from t where s in ('a', 'b') and k < 10", "k", {"k", "s", "i"}),
        ("select count(*) from t where d between '2024-05-03' and '2024-05-04'", "d", {"d", "k"}),
        # What DuckDB decides itself.
        ("select s from t where f > 1 or f is null", None, {"f", "s"}),
        ("select s from t where o.x = 7 and b", "o.x", {"o", "b", "s"}),
        ("select u from t where t >= '2024-05-01 00:00:00.02+00'", "t", {"t", "u"}),
        ("select u from t where c = 1.5 and l <> 'a'", "c", {"c", "l", "u"}),
    ]
    for query, column, names in queries:
        with duckdb.connect() as connection:
            connection.register("t", rows)
            expected = connection.sql(f"{query} order by all").fetchall()
        with duckdb.connect() as connection:
            scan.to_duckdb(connection).create_view("t")
            opened.clear()
            found = connection.sql(f"{query} order by all").fetchall()
        assert repr(found) == repr(expected), query
        reading = opened[-1]
        assert column is None or f'"{column}"' in str(reading["filter"]), query
        assert set(reading["columns"]) <= names, query  # type: ignore[call-overload]


def test_datasets_are_read_by_other_libraries(scan: arrowsmith.Scan, rows: pa.Table) -> None:
    dataset = scan.to_dataset()
    wanted = (pc.field("k") > 2_000) & pc.starts_with(pc.field("s"), "i")
    assert isinstance(dataset, ds.Dataset)
    assert dataset.schema.equals(rows.schema)
    found = dataset.to_table(columns=["s", "k"], filter=wanted)
    assert found.equals(rows.filter(wanted).select(["s", "k"]))
    assert dataset.count_rows(filter=pc.field("k") < 7) == 7
    computed = dataset.to_table(columns={"twice": pc.field("k") + pc.field("k")})
    assert computed["twice"].to_pylist() == [2 * at for at in range(COUNT)]
    assert dataset.head(5)["k"].to_pylist() == list(range(5))
    lazy = pl.scan_pyarrow_dataset(dataset).filter(pl.col("k") < 4).select("k")
    assert lazy.collect()["k"].to_list() == [0, 1, 2, 3]
    with duckdb.connect() as connection:
        found = connection.sql("select max(k) from dataset where i is null").fetchall()
    nulls = rows.filter(pc.field("i").is_null())["k"]
    assert found == [(pc.max(nulls).as_py(),)]


def test_datafusion_means_something_else_by_conditions(tmp_path: Path) -> None:
    """What it reads, a fragment, has the rows of its own comparisons."""
    numbers = [math.nan, -math.nan, math.inf, 1.0, 0.0, -0.0, -1.0, None]
    rows = pa.table(
        {
            "k": range(8),
            "f": pa.array(numbers, pa.float64()),
            "s": pa.array(["a", "b", None, "c"] * 2, pa.dictionary(pa.int8(), pa.string())),
            "b": [True, False, None, True] * 2,
        }
    )
    pq.write_table(rows, tmp_path / "rows.parquet")
    dataset = arrowsmith.scan_parquet(tmp_path / "rows.parquet").to_dataset()
    [fragment] = dataset.get_fragments()
    f, s, b = pc.field("f"), pc.field("s"), pc.field("b")
    for condition, expected in [
        (f > 0.0, [0, 2, 3]),
        (f <= 0.0, [1, 4, 5, 6]),
        (f == math.nan, [0]),
        (~(f < math.inf), [0, 2]),
        (f.isin([0.0, math.nan]), [0, 4]),
        ((f >= 1) & b, [0, 3]),
        (~s.isin(["a"]), [1, 3, 5, 7]),
        (~s.isin(["a", None]), []),
        (s.isin(["a", None]) | (f == 1), [0, 3, 4]),
        ((f < 0) | ~s.isin(["b", "c"]), [0, 1, 4, 6]),
        (b > pa.scalar(False), [0, 3, 4, 7]),
        (pa.scalar(None, pa.bool_()), []),
        (pa.scalar(True), list(range(8))),
    ]:
        found = fragment.scanner(schema=dataset.schema, columns=["k"], filter=condition).to_table()
        assert found["k"].to_pylist() == expected, str(condition)


def test_a_limit_comes_before_the_condition(scan: arrowsmith.Scan) -> None:
    with duckdb.connect() as connection:
        scan.limit(10).to_duckdb(connection).create_view("t")
        assert connection.sql("select count(*) from t where k >= 5").fetchall() == [(5,)]


def test_what_no_condition_can_be_about_is_left_to_the_other_library() -> None:
    """JSON text, and columns that are added to the rows that a condition keeps."""
    data = b'{"id":1,"a":1,"u":{"a":1}}\n{"id":2,"a":"x","u":{"a":"x"}}\n{"id":3}\n'
    scan = arrowsmith.scan_json(
        data, record_column="r", offset_column="o", rescued_column="q", file_column="f"
    )
    inside, of_pyarrow = pl.col("u").struct.field("a"), pc.field("u", "a")
    cases: list[tuple[Any, Any, str, list[int]]] = [
        (pl.col("a").is_null(), pc.field("a").is_null(), "a is null", [3]),
        (pl.col("a").is_not_null(), pc.field("a").is_valid(), "a is not null", [1, 2]),
        (~pl.col("a").is_null(), ~pc.field("a").is_null(), "not a is null", [1, 2]),
        (inside.is_null(), of_pyarrow.is_null(), "u['a'] is null", [3]),
        (inside.is_not_null(), of_pyarrow.is_valid(), "u['a'] is not null", [1, 2]),
        (pl.col("r") > 0, pc.field("r") > 0, "r > 0", [2, 3]),
        (pl.col("o") > 30, pc.field("o") > 30, "o > 30", [3]),
        (pl.col("q").is_null(), pc.field("q").is_null(), "q is null", [1, 2, 3]),
        (pl.col("f").is_null(), pc.field("f").is_null(), "f is null", [1, 2, 3]),
    ]
    for of_polars, of_pyarrow, text, expected in cases:
        for extra in (False, True):
            wanted = of_polars & (pl.col("id") > 1) if extra else of_polars
            other = of_pyarrow & (pc.field("id") > 1) if extra else of_pyarrow
            sql = f"({text}) and id > 1" if extra else text
            rows = [number for number in expected if number > extra]
            assert scan.to_polars().filter(wanted).collect()["id"].to_list() == rows, text
            dataset = scan.to_dataset()
            assert dataset.to_table(filter=other)["id"].to_pylist() == rows, text
            assert ("where: " in dataset.explain(filter=other)) == (extra or text[0] == "f")
            with duckdb.connect() as connection:
                found = scan.to_duckdb(connection).filter(sql).project("id").fetchall()
            assert [number for (number,) in found] == rows, text
    for wanted in (pl.col("a").is_null(), pc.field("r") > 0):
        with pytest.raises(arrowsmith.ConfigError, match="only p"):
            scan.filter(wanted)


@pytest.mark.parametrize("of", [pl.col, pc.field])
def test_columns_that_are_not_there_are_named(of: Any, file: Path, path: Path) -> None:
    late = path.read_bytes() + b'{"id":-1,"late":1}'
    sampled = r"no column late among those of the first records: .*text, or infer_records='all'$"
    with pytest.raises(arrowsmith.ConfigError, match=sampled):
        arrowsmith.read_json(late, filter=of("late") > 0)
    with pytest.raises(arrowsmith.ConfigError, match=sampled):
        arrowsmith.scan_json(late).filter((of("id") > 0) & (of("late") > 0))
    for given in ("late > 0", of("late") > 0):
        found = arrowsmith.read_json(late, filter=given, infer_records="all")
        assert found["id"].to_pylist() == [-1]
    assert arrowsmith.read_json(late, filter="late > 0")["id"].to_pylist() == [-1]
    calls: list[Callable[[], object]] = [
        lambda: arrowsmith.read_parquet(file, filter=of("nope") > 0),
        lambda: arrowsmith.read_json(late, "id: int64", filter=of("nope") > 0),
        lambda: arrowsmith.read_json(late, filter=of("nope") > 0, infer_records="all"),
    ]
    for call in calls:
        with pytest.raises(arrowsmith.ConfigError, match=r"filter: there is no column nope$"):
            call()


@pytest.mark.parametrize("of", [pl.col, pc.field])
def test_an_expression_takes_a_source_that_is_read_twice(of: Any, file: Path) -> None:
    """Or the condition is text, which takes no types."""
    line = b'{"id":1}'

    async def pieces() -> AsyncIterator[bytes]:
        yield line

    wanted = {"filter": of("id") > 0}
    calls: list[Callable[[], object]] = [
        lambda: arrowsmith.read_json(io.BytesIO(line), **wanted),
        lambda: arrowsmith.open_json([line, io.BytesIO(line)], **wanted),
        lambda: asyncio.run(arrowsmith.read_json_async(pieces(), **wanted)),
        lambda: arrowsmith.read_parquet(io.BytesIO(file.read_bytes()), filter=of("k") > 0),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"^filter: .* a path or bytes, or .* as text$"):
            call()
    assert arrowsmith.read_json(io.BytesIO(line), filter="id > 0").num_rows == 1
    assert arrowsmith.read_json(bytearray(line), **wanted).num_rows == 1


def test_json_is_a_dataset(path: Path) -> None:
    dataset = arrowsmith.scan_json(path).to_dataset()
    wanted = (pc.field("user", "age") < 10) & pc.field("ok")
    numbers = dataset.to_table(columns=["id"], filter=wanted)["id"].to_pylist()
    assert numbers == [n for n in range(ROWS) if n % 90 < 10 and n % 3 == 0]


def test_what_an_expression_is_pickled_as_may_change(
    scan: arrowsmith.Scan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then nothing is pushed down, and pyarrow decides everything."""
    monkeypatch.setattr(_arrow_expression, "_metadata", lambda file: [("new", "")])
    with pytest.raises(arrowsmith.ConfigError, match="only pyarrow"):
        scan.filter(pc.field("k") < 3)
    found = scan.to_dataset().to_table(columns=["i"], filter=pc.field("k") < 3)
    assert found.num_rows == 3


COLUMNS = ["k", "s", "i"]
SOME = pa.table({"k": pa.array([3, 4], pa.int32())})
USES: dict[str, Callable[[Any], Any]] = {
    "filter": lambda t: t.filter(pc.field("k") > 5).filter(pc.field("k") < 9).to_table(),
    "sort_by": lambda t: t.filter(pc.field("k") < 9).sort_by([("k", "descending")]).to_table(),
    "join": lambda t: t.join(ds.dataset(SOME), "k", join_type="inner").to_table(),
    "joined": lambda t: ds.dataset(SOME).join(t, "k").to_table(),
    "join_asof": lambda t: t.join_asof(ds.dataset(SOME), "k", [], 1).to_table(),
    "replace_schema": lambda t: (
        t.filter(pc.field("k") < 3).replace_schema(pa.schema([("k", pa.int32())])).to_table()
    ),
    "union": lambda t: ds.dataset([t, t]).to_table(COLUMNS, filter=pc.field("k") == 7),
    "children": lambda t: ds.UnionDataset(t.schema, [t]).children[0].head(3, columns=COLUMNS),
    "scanner": lambda t: ds.Scanner.from_dataset(t, filter=pc.field("k") < 3).to_table(),
    "node": lambda t: (
        acero.Declaration("scan", acero.ScanNodeOptions(t)).to_table().select(COLUMNS)
    ),
    "copy": lambda t: copy.copy(t).filter(pc.field("k") < 3).to_table(),
    "pickle": lambda t: pickle.loads(pickle.dumps(t)).filter(pc.field("k") < 3).to_table(),
    "take": lambda t: t.take([5, 2_999]),
    "unbound": lambda t: ds.Dataset.to_table(t, columns=COLUMNS),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_pyarrow_does_with_a_dataset(
    rows: pa.Table, tmp_path: Path, use: Callable[[Any], Any]
) -> None:
    """Nothing of it ends the process, and it has the rows of pyarrow's dataset."""
    path = tmp_path / "rows.parquet"
    pq.write_table(rows.select(COLUMNS), path)
    expected, found = ds.dataset(path), arrowsmith.scan_parquet(path).to_dataset()
    assert found.partition_expression.equals(expected.partition_expression)

    def in_order(given: pa.Table) -> list[str]:
        # NaN is equal to nothing.
        return sorted(map(repr, given.to_pylist()))

    wanted = in_order(use(expected))
    assert wanted
    assert in_order(use(found)) == wanted


def test_what_pyarrow_reads_by_itself_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a":1,"b":"x"}\n')
    scan = arrowsmith.scan_json(path, "a: int64, b: dictionary<int8, utf8>", batch_rows=1)
    union = ds.dataset([scan.to_dataset(), scan.to_dataset()])
    assert union.to_table()["b"].to_pylist() == ["x", "x"]
    with path.open("a") as file:
        file.write('{"a":2,"b":"y"}\n')
    assert union.to_table(filter=pc.field("a") > 1)["b"].to_pylist() == ["y", "y"]
    some = pickle.loads(pickle.dumps(scan.to_dataset().filter(pc.field("a") > 1)))
    assert some.to_table()["b"].to_pylist() == ["y"]
    assert 'where: ("a" > 1 and "a" < 9)' in some.explain(filter=pc.field("a") < 9)
    path.write_text('{"a":1}\n{"a":"x"}\n')
    with pytest.raises(arrowsmith.DataError, match="line 2"):
        union.to_table()
    path.unlink()
    with pytest.raises(FileNotFoundError):
        union.to_table()
    with pytest.raises(NotImplementedError, match="only be read"):
        union.children[0].children[0].filesystem.create_dir("x")
