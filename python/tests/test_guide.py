# SPDX-License-Identifier: Apache-2.0
"""The examples of the guide run unchanged, and its table has every option."""

import doctest
import inspect
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arrowsmith

GUIDES = Path(__file__).parents[2] / "docs" / "guide"
GUIDE = GUIDES / "python.md"


@pytest.mark.parametrize("guide", ["python.md", "parquet.md"])
def test_examples(guide: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("events.jsonl").write_text('{"id":1,"user":{"name":"ada"}}\n{"id":2}\n')
    pq.write_table(pa.table({"fare": [5.0, 20.0], "zone": ["A", None]}), "taxi.parquet")
    examples = re.findall(r"```python\n(.*?)```", (GUIDES / guide).read_text(), re.DOTALL)
    assert len(examples) >= 4
    names: dict[str, object] = {}
    for example in examples:
        exec(compile(example, guide, "exec"), names)


def test_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("logs.jsonl").write_text('{"ts":"2026-01-01T00:00:00Z","user":{"id":7}}\n')
    Path("rides/year=2024").mkdir(parents=True)
    pq.write_table(pa.table({"fare_amount": [5.0, 20.0]}), "rides/year=2024/taxi.parquet")
    readme = (GUIDES.parents[1] / "README.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert list(names["frame"]["fare_amount"]) == [20.0]  # type: ignore[index]


def test_module_examples() -> None:
    results = doctest.testmod(arrowsmith)
    assert results.attempted > 0
    assert results.failed == 0


def test_options() -> None:
    guide = (GUIDES / "options.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| `--.*?` .*?\| (both|JSON|Parquet) \|", guide, re.MULTILINE)
    assert len(rows) > 30
    for functions, formats in (
        ((arrowsmith.read_json, arrowsmith.open_json), {"both", "JSON"}),
        ((arrowsmith.read_parquet, arrowsmith.open_parquet), {"both", "Parquet"}),
    ):
        names = {name for name, of in rows if of in formats}
        for function in functions:
            assert set(inspect.signature(function).parameters) - OWN == names - OWN
    text = GUIDE.read_text()
    assert all(f"`{name}`" in text for name in OWN - {"source"})


OWN = {"source", "schema", "rejects", "on_device", "progress", "storage_options", "table"}
"""The arguments that are not options of the table, or have a place of their own."""
