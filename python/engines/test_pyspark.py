# SPDX-License-Identifier: Apache-2.0
"""Spark, the real one: a script is read natively by one line more, and has the same result.

Needs a JDK and the jars that ``tools/spark build`` makes.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from arrowsmith import spark

ROOT = Path(__file__).resolve().parents[2]

# What a user has, without the line.
SCRIPT = """
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[2]").appName("logs")
{line}
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")

logs = spark.read.json("logs/")
slow = logs.where("http.ms > 400").groupBy("service").agg({{"http.ms": "sum", "*": "count"}})
answer = [
    logs.schema.json(),
    slow.orderBy("service").toPandas().to_csv(),
    [row.asDict(True) for row in logs.orderBy("id").collect()],
    logs._jdf.queryExecution().executedPlan().toString(),
]

logs.write.mode("overwrite").parquet("copy/")
copy = spark.read.parquet("copy/")
answer += [
    [row.asDict(True) for row in copy.orderBy("id").collect()],
    copy._jdf.queryExecution().executedPlan().toString(),
]
import json, pathlib
pathlib.Path("answer.json").write_text(json.dumps(answer))
spark.stop()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder of logs, in which some lines are not JSON."""
    folder = tmp_path_factory.mktemp("spark")
    (folder / "logs").mkdir()
    chance = random.Random(7)
    for file in range(3):
        lines = [
            json.dumps(
                {
                    "id": 1000 * file + number,
                    "service": chance.choice(["cart", "käse", "search", None]),
                    "http": {"ms": chance.randrange(500), "path": "/" * (number % 5)},
                    "tags": ["a"] * (number % 3),
                    "at": f"2026-11-{1 + number % 28:02}T10:00:00Z",
                    "x": chance.random(),
                }
            )
            for number in range(1000)
        ]
        lines[500] = '{"id": ' + f"{1000 * file + 500}" + ', "service": oops}'
        (folder / "logs" / f"{file}.json").write_text("\n".join(lines) + "\n")
    return folder


def answer(folder: Path, line: str) -> list[Any]:
    home = subprocess.run([ROOT / "tools/java", "home", "17"], capture_output=True, text=True)
    if home.returncode != 0:
        pytest.skip(home.stderr)
    environment = os.environ | {"JAVA_HOME": home.stdout.strip(), "SPARK_LOCAL_IP": "127.0.0.1"}
    script = folder / "report.py"
    script.write_text(SCRIPT.format(line=line))
    found = subprocess.run(
        [sys.executable, script], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr[-3000:]
    return json.loads((folder / "answer.json").read_text())  # type: ignore[no-any-return]


def test_one_line_more_reads_natively(folder: Path) -> None:
    if not spark._built():
        pytest.skip("no jars: tools/spark build")
    own = answer(folder, "")
    line = "import arrowsmith.spark; builder = arrowsmith.spark.configure(builder)"
    ours = answer(folder, line)
    assert [plan for plan in own[3::2] if "Arrowsmith" in plan] == []
    assert "Format: Arrowsmith JSON" in ours[3]
    assert "Format: Arrowsmith Parquet" in ours[5]
    assert len(ours[2]) == 3000
    assert sum(row["_corrupt_record"] is not None for row in ours[2]) == 3
    assert (ours[:3], ours[4]) == (own[:3], own[4])
