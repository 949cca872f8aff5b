# SPDX-License-Identifier: Apache-2.0
"""Splits of a scan: each row once, in order, in another process as here."""

import gzip
import pickle
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arrowsmith
from arrowsmith import ConfigError, Scan


def whole(scan: Scan) -> pa.Table:
    return scan.to_pyarrow().read_all()


def joined(parts: list[Scan]) -> pa.Table:
    copies = [pickle.loads(pickle.dumps(part)) for part in parts]
    return pa.concat_tables([whole(copy) for copy in copies])


def lines(count: int, first: int = 0) -> bytes:
    rows = (b'{"id":%d,"name":"%s"}\n' % (first + i, b"x" * (i % 40)) for i in range(count))
    return b"".join(rows)


@pytest.mark.parametrize("seed", range(8))
def test_lines_of_files_in_any_sizes(tmp_path: Path, seed: int) -> None:
    choose = random.Random(seed)
    for file in range(choose.randint(1, 5)):
        text = lines(choose.choice([0, 1, 5, 80]), first=1000 * file)
        (tmp_path / f"{file}.jsonl").write_bytes(text)
        if choose.random() < 0.3:
            (tmp_path / f"{file}.jsonl.gz").write_bytes(gzip.compress(text))
    (tmp_path / "last.jsonl").write_bytes(lines(3))
    scan = arrowsmith.scan_json(str(tmp_path))
    size = choose.choice(["50", "100B", "333", "1000", "4KiB", "1GiB"])
    parts = scan.split(size)
    assert joined(parts).equals(whole(scan))
    if size == "1GiB":
        assert len(parts) == 1


def test_a_large_file_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(lines(1000))
    assert len(arrowsmith.scan_json(path).split(path.stat().st_size // 4 + 1)) == 4
    numbered = arrowsmith.scan_json(path, record_column="n")
    assert len(numbered.split(100)) == 1
    assert joined(numbered.split(100)).equals(whole(numbered))


def test_parts_of_one_byte(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(lines(5))
    scan = arrowsmith.scan_json(tmp_path / "in.jsonl")
    assert joined(scan.split(1)).equals(whole(scan))


@pytest.mark.parametrize("text", [b'[{"a":1},{"a":2}]', b'{"a":\n1}{"a":\n2}', b'{"a":1} {"a":2}'])
def test_what_has_no_lines_is_not_cut(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "in.json").write_bytes(text)
    scan = arrowsmith.scan_json(tmp_path / "in.json")
    assert joined(scan.split(1)).equals(whole(scan))


def test_documents_with_records_are_not_cut(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_bytes(b'{"items":[{"a":1},{"a":2}]}\n' * 9)
    scan = arrowsmith.scan_json(tmp_path / "in.json", records="items")
    assert joined(scan.split(20)).num_rows == 18


def test_partitions_keep_their_types(tmp_path: Path) -> None:
    for year, zone in [(2023, "01"), (2024, "A"), (2024, "__HIVE_DEFAULT_PARTITION__")]:
        folder = tmp_path / f"year={year}" / f"zone={zone}"
        folder.mkdir(parents=True)
        (folder / "part.jsonl").write_bytes(lines(100, first=year))
        pq.write_table(pa.table({"id": [year, 7]}), folder / "part.parquet")
    for scan in (
        arrowsmith.scan_json(str(tmp_path), file_column="file"),
        arrowsmith.scan_json(str(tmp_path)).select("zone", "id").filter("id > 2050 and year > 0"),
        arrowsmith.scan_parquet(str(tmp_path)),
        arrowsmith.scan_parquet(str(tmp_path)).select("zone").filter("id = 7"),
    ):
        parts = scan.split(50)
        assert len(parts) >= 3
        assert all(part.schema == scan.schema for part in parts)
        assert joined(parts).equals(whole(scan))


@pytest.mark.parametrize("late", ["add", "ignore"])
def test_files_that_differ(tmp_path: Path, late: Any) -> None:
    tables = [
        {"none": pa.nulls(2), "id": pa.array([1, 2], pa.int32()), "text": ["a", None]},
        {"late": [1.5, None], "none": pa.nulls(2), "id": pa.array([3, 4], pa.int64())},
        {"id": pa.array([5, 6], pa.int32()), "s": [{"a": 1}, None]},
        {"id": pa.array([7, 8], pa.int32()), "s": [{"b": 1}, {"a": None}]},
    ]
    for year, table in enumerate(tables):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(pa.table(table), tmp_path / f"year={year}" / "part.parquet")
    scan = arrowsmith.scan_parquet(str(tmp_path), late_columns=late)
    names = ["none", "id", "text", "year"]
    added = ["none", "id", "text", "late", "s", "year"]
    assert scan.schema.names == (added if late == "add" else names)
    for chosen in (scan, scan.select("id", "year"), scan.filter("id > 2 and year < 3")):
        parts = chosen.split(1)
        assert len(parts) == 4
        assert all(part.schema == chosen.schema for part in parts)
        assert joined(parts).equals(whole(chosen))
    if late == "add":
        rows = whole(scan).to_pylist()
        assert [row["late"] for row in rows[:4]] == [None, None, 1.5, None]
        assert [row["s"] for row in rows[4:]] == [
            {"a": 1, "b": None},
            None,
            {"a": None, "b": 1},
            {"a": None, "b": None},
        ]
    with pytest.raises(arrowsmith.FileError, match='late_columns="add" reads'):
        joined(arrowsmith.scan_parquet(str(tmp_path)).split(1))


def test_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"id": range(10_000)}), path, row_group_size=1000)
    scan = arrowsmith.scan_parquet(path, filter="id >= 500")
    assert len(scan.split(1)) == 10
    assert 1 < len(scan.split(path.stat().st_size // 3)) < 5
    for size in (1, 5000, "1GiB"):
        assert joined(scan.split(size)).equals(whole(scan))


def test_names_are_literal_and_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a*.jsonl", "ab.jsonl", "[a].jsonl"):
        (tmp_path / name).write_bytes(lines(2))
    monkeypatch.chdir(tmp_path)
    scan = arrowsmith.scan_json([Path("a*.jsonl"), Path("[a].jsonl")])
    parts = scan.split(1)
    monkeypatch.chdir("/")
    assert joined(parts).num_rows == 4


def test_an_inferred_schema_is_that_of_all_parts(tmp_path: Path) -> None:
    (tmp_path / "0.jsonl").write_bytes(b'{"a":1}\n')
    (tmp_path / "1.jsonl").write_bytes(b'{"a":1.5,"b":{"c":[true]}}\n')
    scan = arrowsmith.scan_json(str(tmp_path))
    assert joined(scan.split(1)).to_pylist() == [
        {"a": 1.0, "b": None},
        {"a": 1.5, "b": {"c": [True]}},
    ]


def test_a_late_key_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"a":1}\n' * 20 + b'{"a":1,"late":2}\n')
    scan = arrowsmith.scan_json(path, infer_records=10)
    with pytest.raises(pa.ArrowInvalid, match="late"):
        joined(scan.split(50))
    assert joined(arrowsmith.scan_json(path, infer_records="all").split(50)).num_columns == 2
    ignoring = arrowsmith.scan_json(path, infer_records=10, late_keys="ignore")
    assert joined(ignoring.split(50)).num_rows == 21
    rescuing = arrowsmith.scan_json(path, infer_records=10, rescued_column="more")
    assert joined(rescuing.split(50))["more"].to_pylist() == [None] * 20 + ['{"late":2}']
    with pytest.raises(ConfigError, match="pass a schema"):
        arrowsmith.scan_json(path, on_error="skip").split()


@pytest.mark.parametrize(
    ("scan", "named"),
    [
        (lambda path: arrowsmith.scan_json(path).limit(1), "limit"),
        (lambda path: arrowsmith.scan_json(path, skip=1), "skip"),
        (lambda path: arrowsmith.scan_json(path, range_end=9), "range_end"),
        (lambda _: arrowsmith.scan_json(b'{"a":1}'), "memory"),
    ],
)
def test_what_cannot_be_split(tmp_path: Path, scan: Any, named: str) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(lines(10))
    with pytest.raises(ConfigError, match=named):
        scan(path).split()
    for size in (0, -1, "many"):
        with pytest.raises((ConfigError, TypeError), match="size"):
            arrowsmith.scan_json(path).split(size)


def test_schemas_are_pickled_and_selected() -> None:
    schema = arrowsmith.Schema(pa.schema([("a", pa.int8()), ("b", "string")], {"k": "v"}))
    copy = pickle.loads(pickle.dumps(schema))
    assert copy == schema
    assert copy.to_pyarrow().metadata == {b"k": b"v"}
    assert schema.select(["b"]).names == ["b"]
    with pytest.raises(KeyError, match="nothing"):
        schema.select(["b", "nothing"])
