# SPDX-License-Identifier: Apache-2.0
"""Lazy reading, beside the same query of whole tables by the libraries themselves."""

import asyncio
import functools
import io
import json
import math
import operator
import random
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import pytest

import arrowsmith
from arrowsmith import _lib
from arrowsmith._polars import translate
from conftest import ROWS

COUNT = 3_000


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    """Values at which comparisons of libraries differ: NaN, -0, nulls, large numbers."""
    chance = random.Random(7)
    floats = [0.0, -0.0, 1.5, -1.5, math.nan, math.inf, -math.inf, 0.1, None]
    integers = [0, 1, 2, -3, 2**53, 2**53 + 1, -(2**62), None]
    texts = ["", "a", "b", "it's", "é", 'q"', "NaN", None]
    start = datetime(2024, 5, 1, tzinfo=timezone.utc)

    def days(number: int) -> date:
        return date(2024, 5, 1) + timedelta(days=number)

    some = [chance.randrange(40) for _ in range(COUNT)]
    return pa.table(
        {
            "i": pa.array([chance.choice(integers) for _ in some], pa.int64()),
            "f": pa.array([chance.choice(floats) for _ in some], pa.float64()),
            "s": pa.array([chance.choice(texts) for _ in some], pa.string()),
            "b": pa.array([chance.choice([True, False, None]) for _ in some], pa.bool_()),
            "d": pa.array([days(number) for number in some], pa.date32()),
            "t": pa.array(
                [start + timedelta(milliseconds=number) for number in some],
                pa.timestamp("ms", "UTC"),
            ),
            "n": pa.array(
                [start.replace(tzinfo=None) + timedelta(hours=number) for number in some],
                pa.timestamp("us"),
            ),
            "o": pa.array(
                [None if number < 3 else {"x": number, "y": str(number)} for number in some],
                pa.struct([("x", pa.int32()), ("y", pa.string())]),
            ),
            "a.b": pa.array(some, pa.int8()),
            'q"`': pa.array(some, pa.uint16()),
        }
    )


@pytest.fixture(scope="module")
def scan(rows: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> arrowsmith.Scan:
    path = tmp_path_factory.mktemp("scan") / "rows.parquet"
    pyarrow.parquet.write_table(rows, path, row_group_size=700)
    return arrowsmith.scan_parquet(path)


def expression(chance: random.Random, depth: int) -> pl.Expr:
    def comparison() -> pl.Expr:
        column, literal = chance.choice(
            [
                (pl.col("i"), chance.choice([0, 1, 2**53, 2**53 + 1, 2**70, 1.5, -0.0])),
                (pl.col("f"), chance.choice([0.0, 1.5, 0.1, math.nan, math.inf, 1, 2**53 + 1])),
                (pl.col("s"), chance.choice(["", "a", "it's", "é", 'q"'])),
                (pl.col("d"), date(2024, 5, chance.randrange(1, 31))),
                (
                    pl.col("t"),
                    datetime(2024, 5, 1, 0, 0, 0, chance.randrange(40_000), timezone.utc),
                ),
                (pl.col("n"), datetime(2024, 5, 1, chance.randrange(24))),
                (pl.col("o").struct.field("x"), chance.randrange(40)),
                (pl.col("o").struct.field("y"), str(chance.randrange(40))),
                (pl.col("a.b"), chance.randrange(40)),
                (pl.col('q"`'), chance.randrange(40)),
            ]
        )
        value = pl.lit(literal)
        return chance.choice(
            [
                column == value,
                column != value,
                column < value,
                column <= value,
                column > value,
                column >= value,
                value < column,
                value >= column,
                column.is_between(value, value, closed=chance.choice(["both", "left", "none"])),
                column.is_null(),
                column.is_not_null(),
                column.eq_missing(value),
            ]
        )

    match chance.randrange(6 if depth else 2):
        case 0 | 1:
            return comparison()
        case 2:
            return ~expression(chance, depth - 1)
        case 3:
            return expression(chance, depth - 1) | expression(chance, depth - 1)
        case 4:
            return pl.col("b") & expression(chance, depth - 1)
        case _:
            return expression(chance, depth - 1) & expression(chance, depth - 1)


def test_conditions_of_polars_keep_all_its_rows(scan: arrowsmith.Scan, rows: pa.Table) -> None:
    """The condition alone, without polars' own filter, keeps at least the rows of the filter."""
    frame = pl.DataFrame(rows).with_row_index("row")
    schema = pl.Schema(scan.schema)
    numbered = pa.table(frame.to_arrow())
    file = io.BytesIO()
    pyarrow.parquet.write_table(numbered, file)
    chance = random.Random(11)
    pushed = exact = 0
    for _ in range(400):
        wanted = expression(chance, 3)
        condition = translate(wanted, schema)
        if condition is None:
            continue
        pushed += 1
        expected = set(frame.filter(wanted)["row"])
        kept = arrowsmith.read_parquet(file.getvalue(), columns=["row"], filter=condition)
        found = set(kept["row"].to_pylist())
        assert expected <= found, (str(wanted), condition)
        exact += expected == found
    assert pushed > 150
    assert exact > pushed * 0.6


def test_expressions_of_polars_are_conditions(scan: arrowsmith.Scan, rows: pa.Table) -> None:
    """Those that are not decided exactly are refused: polars does not decide them again."""
    frame = pl.DataFrame(rows)
    chance = random.Random(17)
    decided = 0
    for _ in range(150):
        wanted = expression(chance, 2)
        try:
            found = scan.select("d", "s").filter(wanted)
        except arrowsmith.ConfigError:
            continue
        decided += 1
        expected = frame.filter(wanted).select("s", "d")
        assert found.collect().to_polars().select("s", "d").equals(expected), str(wanted)
    assert decided > 50
    for not_one in (pl.col("i").sum() > 1, pl.col("s").str.starts_with("a"), pl.Series([1])):
        with pytest.raises(arrowsmith.ConfigError, match="only polars"):
            scan.filter(not_one)


def test_instants_are_compared_in_the_coarser_unit(tmp_path: Path) -> None:
    """As polars does, of a column and a literal; before 1970, too."""
    chance, path = random.Random(19), tmp_path / "instants.parquet"
    per_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}

    def near(unit: str) -> int:
        step = chance.choice([0, 1, 10**3, 10**6]) * chance.randrange(-2, 3)
        return chance.choice([0, 1_714_521_600]) * per_second[unit] + step

    pyarrow.parquet.write_table(
        pa.table(
            {
                f"{unit} {zone}": pa.array(
                    [near(unit) for _ in range(300)], pa.timestamp(unit, zone)
                )
                for unit in per_second
                for zone in (None, "UTC")
            }
        ),
        path,
    )
    scan = arrowsmith.scan_parquet(path)
    frame = pl.DataFrame(scan.collect())
    for _ in range(500):
        name, unit = chance.choice(frame.columns), chance.choice(list(per_second))
        of = pl.Datetime(unit, frame.schema[name].time_zone)  # type: ignore[arg-type, attr-defined]
        column, value = pl.col(name), pl.lit(pl.Series([near(unit)]).cast(of)[0], dtype=of)
        wanted = chance.choice(
            [
                column == value,
                column != value,
                column < value,
                column <= value,
                value < column,
                column >= value,
                ~column.is_between(value, value),
            ]
        )
        found = scan.filter(wanted).collect().to_polars()
        assert found.equals(frame.filter(wanted)), str(wanted)


def test_duckdb_finds_scans_by_their_variables(scan: arrowsmith.Scan) -> None:
    rides = scan.select("i", "s")
    with duckdb.connect() as connection:
        for _ in range(2):
            assert connection.sql("select count(*) from rides").fetchall() == [(COUNT,)]
    assert rides.schema.names == ["i", "s"]


def test_polars_queries_give_what_polars_gives(scan: arrowsmith.Scan, rows: pa.Table) -> None:
    frame, lazy = pl.DataFrame(rows), scan.to_polars()
    chance = random.Random(13)
    for _ in range(60):
        wanted = expression(chance, 2)
        columns = chance.sample(rows.column_names, chance.randrange(1, 5))
        found = lazy.filter(wanted).select(columns).collect()
        assert found.equals(frame.filter(wanted).select(columns)), str(wanted)
    assert lazy.head(10).collect().equals(frame.head(10))
    assert (
        lazy.filter(pl.col("i") > 0)
        .head(10)
        .collect()
        .equals(frame.filter(pl.col("i") > 0).head(10))
    )
    assert (
        lazy.head(100)
        .filter(pl.col("i") > 0)
        .collect()
        .equals(frame.head(100).filter(pl.col("i") > 0))
    )
    assert lazy.select(pl.len()).collect().item() == COUNT
    assert (
        lazy.select(pl.len(), pl.col("i").sum())
        .collect()
        .equals(frame.select(pl.len(), pl.col("i").sum()))
    )
    grouped = lazy.group_by("s").agg(pl.col("o").struct.field("x").sum()).sort("s")
    expected = frame.group_by("s").agg(pl.col("o").struct.field("x").sum()).sort("s")
    assert grouped.collect(engine="streaming").equals(expected)
    assert lazy.collect_schema() == frame.schema


def test_what_is_pushed_down_is_explained(scan: arrowsmith.Scan) -> None:
    plan = scan.to_polars().filter(pl.col("i") > 1).select("s").explain()
    assert "arrowsmith parquet" in plan
    assert "PROJECT 2/10 COLUMNS" in plan or "2/10" in plan
    assert 'col("i")' in plan


def test_scans_are_explained(path: Path, tmp_path: Path) -> None:
    sorted_path = tmp_path / "sorted.parquet"
    pyarrow.parquet.write_table(pa.table({"a": range(100)}), sorted_path, row_group_size=10)
    scan = arrowsmith.scan_parquet(sorted_path).filter("a >= 95").limit(3)
    for line in ("limit: 3", 'where: "a" >= 95', "row groups: 1 of 10", "by engine cpu"):
        assert line in scan.explain()
    text = arrowsmith.scan_json(path).filter("id < 9").select("id").explain()
    assert text.startswith(f'json: {path!r}\ncolumns: id\nwhere: "id" < 9\n')
    assert "cpu" in text
    dataset = arrowsmith.scan_parquet(sorted_path).to_dataset()
    wanted = (pc.field("a") < 10) & (pc.field("a") * 2 < 5)
    assert "row groups: 1 of 10" in dataset.explain(filter=wanted)
    assert dataset.explain(filter=wanted).endswith("(multiply_checked(a, 2) < 5))\n")
    assert dataset.explain(filter=pc.field("a") < 10).endswith("decided by pyarrow: nothing\n")


def test_a_condition_reaches_the_reader(scan: arrowsmith.Scan) -> None:
    schema = pl.Schema(scan.schema)
    for wanted, condition in [
        (pl.col("i") > 1, '(not "i" <= 1)'),
        ((pl.col("i") == 1) & pl.col("s").str.starts_with("a"), '("i" = 1)'),
        (pl.col("d") >= date(2024, 5, 1), "(not \"d\" < '2024-05-01')"),
        (pl.col("o").struct.field("x") < 3, '("o.x" < 3)'),
        (pl.col("b"), '("b" = true)'),
        ((pl.col("i") == 1) | pl.col("s").str.starts_with("a"), None),
        (pl.col("a.b") == 1, '("a.b" = 1)'),
        (pl.col("f") == math.nan, None),
    ]:
        assert translate(wanted, schema) == condition, str(wanted)


def test_duckdb_reads_only_columns_of_a_query(scan: arrowsmith.Scan, rows: pa.Table) -> None:
    for query in [
        "select count(*) from t",
        "select count(*), sum(i % 1000) from t where s = 'a' and d >= '2024-05-03'",
        "select s, count(*) from t where f > 1 or b group by s order by s nulls first",
        'select "a.b", "q""`" from t where "a.b" < 3 order by all',
        "select o.x from t where o.y = '7' order by all",
        "select * exclude (t) from t where i is null order by all limit 5",
        "select f from t where f > 1 order by all",
    ]:
        with duckdb.connect() as connection:
            connection.register("t", rows)
            expected = connection.sql(query).fetchall()
        with duckdb.connect() as connection:
            scan.to_duckdb(connection).create_view("t")
            for _ in range(2):
                assert repr(connection.sql(query).fetchall()) == repr(expected), query


def test_scans_are_refined_and_read_again(scan: arrowsmith.Scan, rows: pa.Table) -> None:
    part = scan.select("i", ["s"]).filter([("i", ">", 0)]).filter("s is not null")
    expected = pl.DataFrame(rows).filter((pl.col("i") > 0) & pl.col("s").is_not_null())
    expected = expected.select("i", "s")
    for _ in range(2):
        assert part.collect().to_polars().equals(expected)
    assert pl.DataFrame(part).equals(expected)
    assert part.to_pyarrow().read_all().num_rows == expected.height
    assert len(part.to_pandas()) == expected.height
    assert part.limit(7).limit(9).collect().to_polars().equals(expected.head(7))
    assert sum(map(len, part.open())) == expected.height
    assert asyncio.run(part.collect_async()).num_rows == expected.height
    assert part.schema.names == ["i", "s"]
    assert pa.schema(part) == pa.schema(part.schema)
    assert "filter='" in repr(part)
    with pytest.raises(arrowsmith.ConfigError, match="before limit"):
        part.limit(1).filter("i = 1")
    limited = part.limit(100).to_polars().filter(pl.col("i") == 2).collect()
    assert limited.equals(expected.head(100).filter(pl.col("i") == 2))


def test_the_least_limit_counts() -> None:
    scan = arrowsmith.scan_json(b'{"id":1}\n{"id":2}\n{"id":3}\n')
    one = np.int64(1)
    for limited in (
        scan.limit(one).limit(2),
        scan.limit(2).limit(one),
        scan.limit(one).limit(None),
        arrowsmith.scan_json(b'{"id":1}\n{"id":2}\n', limit=one).limit(2),
    ):
        assert limited.collect().num_rows == 1
    assert scan.limit(None).collect().num_rows == 3
    with pytest.raises(TypeError, match="limit: expected a number, found 'x'"):
        scan.limit(1).limit("x")  # type: ignore[arg-type]


def test_what_a_select_left_out_stays_so(tmp_path: Path) -> None:
    record = b'{"id":1,"x":2,"u":{"a":1,"b":2},"c.d":3,"l":[{"k":1,"m":2}]}'
    scan = arrowsmith.scan_json(record, file_column="f")
    path = tmp_path / "x.parquet"
    arrowsmith.write_parquet(arrowsmith.read_json(record), path)
    parquet = arrowsmith.scan_parquet(path)
    with pytest.raises(arrowsmith.SchemaError, match=r"field x: there is no such column .* id$"):
        scan.select("id").select("x")
    with pytest.raises(arrowsmith.SchemaError, match=r"field x: there is no such column"):
        scan.select("x", "id").select("id").select("x")
    with pytest.raises(arrowsmith.SchemaError, match=r"field u.b: there is no such column"):
        scan.select("u.a").select("u.b")
    with pytest.raises(arrowsmith.SchemaError, match=r"field id: .* keeps none"):
        scan.select().select("id")
    with pytest.raises(arrowsmith.ConfigError, match=r"columns: x: there is no such column"):
        parquet.select("id").select("x")
    with pytest.raises(arrowsmith.SchemaError, match=r"field x: there is no such column"):
        arrowsmith.scan_json(record, columns=("id",)).select("x")
    for first, second, names in (
        (["id", "u"], "u", ["u.a", "u.b"]),
        (["id", "u"], "u.a", ["u.a"]),
        (["id", "u.a"], "u", ["u.a"]),
        (["id", '"c.d"'], '"c.d"', ["c.d"]),
        (["l.k"], "l", ["l"]),
    ):
        for of in (scan, parquet):
            found = pa.table(of.select(first).select(second).collect())
            found = found.drop(["f"] if of is scan else [])
            assert found.flatten().column_names == names
    assert scan.select("id").select("f").schema.names == ["f"]
    # A query of a column has its type, not that of the source.
    frame = scan.select("u.a", "id").to_polars().select("u", "f")
    assert frame.collect()["u"].to_list() == [{"a": 1}]
    assert scan.select("u.a", "id").to_dataset().to_table(["u"])["u"].to_pylist() == [{"a": 1}]


def many(wanted: Any, word: Any, count: int) -> Any:
    return functools.reduce(word, [wanted(number) for number in range(count)])


@pytest.mark.parametrize("count", [66, 300, 700, 5_000])
def test_conditions_have_many_terms(count: int) -> None:
    """More than a condition may have parentheses in others, and than Python has frames."""
    scan = arrowsmith.scan_json(b"".join(b'{"id":%d}\n' % number for number in range(2 * count)))
    for expected, word, wanted in (
        (range(count), operator.or_, lambda field, number: field == number),
        (range(count, 2 * count), operator.and_, lambda field, number: field != number),
        (range(count), operator.or_, lambda field, number: (field == number) & (field >= 0)),
    ):
        if count < 1_000:  # Polars takes minutes to decide 5,000.
            of_polars = many(functools.partial(wanted, pl.col("id")), word, count)
            assert scan.to_polars().filter(of_polars).collect()["id"].to_list() == [*expected]
        of_pyarrow = many(functools.partial(wanted, pc.field("id")), word, count)
        dataset = scan.to_dataset()
        assert dataset.to_table(filter=of_pyarrow)["id"].to_pylist() == [*expected]
        assert "decided by pyarrow: nothing" in dataset.explain(filter=of_pyarrow)
        assert scan.filter(of_pyarrow).collect()["id"].to_pylist() == [*expected]
        if count < 400:
            assert "where: " in scan.filter(of_polars).explain()
            assert scan.filter(of_polars).collect()["id"].to_pylist() == [*expected]
    if count < 1_000:
        text = many(
            lambda number: f"id = {number} or (id < 0 and id > 1)", "{} or {}".format, count
        )
        assert scan.to_duckdb().filter(text).fetchall() == [(number,) for number in range(count)]
        for _ in range(count):
            scan = scan.filter("id > 0")
        assert scan.filter("id < 3 or id = 4").collect()["id"].to_pylist() == [1, 2, 4]


def test_what_is_nested_too_deeply_is_left_to_the_other_library() -> None:
    scan = arrowsmith.scan_json(b'{"id":1}\n{"id":2}\n{"id":3}\n')
    for depth in (10, 30, 70, 200):
        for field in (pl.col("id"), pc.field("id")):
            wanted = field == 2
            for number in range(depth):
                wanted = ((wanted | (field == number + 10)) & (field != number + 10)) & ~(
                    field == 3
                )
            both = wanted & (field > 1)
            if isinstance(field, pl.Expr):
                found = scan.to_polars().filter(both).collect()["id"].to_list()
                pushed = translate(both, pl.Schema(scan.schema))
                if depth < 200:  # Python may not parse what polars writes of deeper ones.
                    assert pushed is not None
                    assert pushed.endswith('(not "id" <= 1)')
            else:
                found = scan.to_dataset().to_table(filter=both)["id"].to_pylist()
                assert (
                    "decided by pyarrow: nothing" in scan.to_dataset().explain(filter=both)
                ) == (depth < 32)
            assert found == [2]
            if depth < 32:
                assert scan.filter(both).collect()["id"].to_pylist() == [2]
            else:
                with pytest.raises(arrowsmith.ConfigError, match="more deeply than a condition"):
                    scan.filter(both)


def test_json_is_scanned(path: Path, lines: bytes) -> None:
    whole = pl.DataFrame(arrowsmith.read_json(lines))
    for source in (path, lines, [path]):
        lazy = arrowsmith.scan_json(source).to_polars()
        found = lazy.filter(pl.col("ok"), pl.col("id") < 100).select("name", "user").collect()
        expected = whole.filter(pl.col("ok"), pl.col("id") < 100).select("name", "user")
        assert found.equals(expected)
    assert arrowsmith.scan_json(path).limit(10).collect().num_rows == 10
    total = arrowsmith.scan_json(path).to_duckdb().aggregate("sum(id)").fetchall()[0]
    assert total == (ROWS * (ROWS - 1) // 2,)


def test_a_query_infers_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And reads what is there, whatever the schema lacks."""
    schemas = []
    before = _lib.open_json

    def spy(source: Any, schema: Any, *rest: Any) -> arrowsmith.Reader:
        schemas.append(schema)
        return before(source, schema, *rest)

    monkeypatch.setattr(_lib, "open_json", spy)
    late = path.read_bytes() + b'{"id":-1,"new":1}'
    for source in (path, str(path), late):
        schemas.clear()
        lazy = arrowsmith.scan_json(source).to_polars()
        found = lazy.filter(pl.col("user").struct.field("age") < 1).select(pl.col("id").max())
        assert found.collect().item() == 19_980
        assert [schema is None for schema in schemas] == [True, False]
        dataset = arrowsmith.scan_json(source).to_dataset()
        rows = dataset.to_table(columns=["id"]).num_rows
        assert rows == ROWS + (source is late)
    with pytest.raises((arrowsmith.DataError, pl.exceptions.ComputeError), match="unknown-key"):
        arrowsmith.scan_json(late).to_polars().collect()
    for scan in (
        arrowsmith.scan_json([path, path]),
        arrowsmith.scan_json(path.parent),
        arrowsmith.scan_json(path, record_column="r"),
        arrowsmith.scan_json(path, "id: int64"),
        arrowsmith.scan_json(path).filter("ok = true"),
    ):
        assert not scan._is_inferred()


def test_nothing_is_read_before_it_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "later.jsonl"
    scan = arrowsmith.scan_json(path).filter("a > 1")
    lazy = scan.to_polars()
    with pytest.raises(FileNotFoundError):
        scan.collect()
    path.write_bytes(b'{"a":1}\n{"a":2}\n')
    assert lazy.collect().to_dicts() == [{"a": 2}]


def test_errors_are_those_of_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    records = [json.dumps({"a": number}) for number in range(20_000)]
    path.write_text("\n".join([*records, '{"a":"x"}']))
    with pytest.raises(arrowsmith.DataError, match="line 20001"):
        arrowsmith.scan_json(path, "a: int64").collect()
    with pytest.raises((arrowsmith.DataError, pl.exceptions.ComputeError), match="20001"):
        arrowsmith.scan_json(path, "a: int64").to_polars().collect()
    with pytest.raises(TypeError, match="no_option"):
        arrowsmith.scan_json(path, no_option=1).collect()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="several times"):
        arrowsmith.scan_json(io.BytesIO(b""))
