# SPDX-License-Identifier: Apache-2.0
"""Compares what readers read of pairs of Parquet files: `python readers.py FOLDER`.

For each `N.ours.parquet` there is `N.theirs.parquet` with the same rows. What a reader cannot read
of theirs is not compared.
"""

import sys
from collections import Counter
from pathlib import Path

import duckdb
import polars
import pyarrow.parquet


def by_pyarrow(path: Path, column: str) -> str:
    table = pyarrow.parquet.read_table(path, columns=[column], page_checksum_verification=True)
    return f"{table.schema.types} {table.to_pylist()}"


def by_duckdb(path: Path, column: str) -> str:
    return repr(duckdb.sql(f"SELECT {column} FROM '{path}'").fetchall())


def by_polars(path: Path, column: str) -> str:
    frame = polars.read_parquet(path, columns=[column])
    return f"{frame.dtypes} {frame.rows()}"


def main(folder: Path) -> int:
    equal: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    failures = []
    for ours in sorted(folder.glob("*.ours.parquet")):
        theirs = ours.with_name(ours.name.replace("ours", "theirs"))
        for column in pyarrow.parquet.read_schema(theirs).names:
            for read in (by_pyarrow, by_duckdb, by_polars):
                name = read.__name__.removeprefix("by_")
                try:
                    expected = read(theirs, column)
                except BaseException:  # noqa: BLE001, polars panics
                    skipped[name] += 1
                    continue
                try:
                    found = read(ours, column)
                except BaseException as error:  # noqa: BLE001
                    found = f"{type(error).__name__}: {error}"
                if found == expected:
                    equal[name] += 1
                else:
                    kind = pyarrow.parquet.read_schema(theirs).field(column)
                    options = ours.with_name(ours.name.split(".")[0] + ".txt").read_text()
                    text = f"{ours.name}, {kind}, {name}: {found[:300]}\n not {expected[:300]}"
                    failures.append(f"{text}\n{options}")
    print("equal:", dict(equal), "not read by the reader itself:", dict(skipped))
    for failure in failures[:10]:
        print(failure)
    few = [name for name in ("pyarrow", "duckdb", "polars") if equal[name] < 50]
    if few:
        print("hardly anything was read by", few)
    return 1 if failures or few else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
