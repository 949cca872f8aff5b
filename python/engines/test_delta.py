# SPDX-License-Identifier: Apache-2.0
"""Delta tables, read and grown by the package `deltalake`."""

import datetime
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import deltalake
import pyarrow as pa

import arrowsmith


def rows(start: int, count: int) -> pa.Table:
    zone = datetime.timezone.utc
    return pa.table(
        {
            "n": pa.array(range(start, start + count), pa.int64()),
            "key": [None if n % 7 == 0 else f"k/{n % 3} ä%" for n in range(start, start + count)],
            "ts": pa.array(
                [datetime.datetime(2024, 1, 1 + n % 3, 5, tzinfo=zone) for n in range(count)],
                pa.timestamp("ms", "Europe/Berlin"),
            ),
            "price": pa.array([Decimal(n) / 4 for n in range(count)], pa.decimal128(12, 2)),
            "small": pa.array([n % 200 for n in range(count)], pa.uint8()),
            "tags": [[n, None] for n in range(count)],
            "user": [{"name": f"u{n}"} for n in range(count)],
        }
    )


def test_tables_are_read_and_grown_by_deltalake(tmp_path: Path) -> None:
    root = tmp_path / "t"
    options = {"table": "delta", "partition_by": ["key", "day(ts)"]}
    arrowsmith.write_parquet(rows(0, 100), root, **options)  # type: ignore[arg-type]
    arrowsmith.write_parquet(rows(100, 50), root, append=True, **options)  # type: ignore[arg-type]
    table = deltalake.DeltaTable(root)
    assert table.version() == 1
    assert table.metadata().partition_columns == ["key", "ts_day"]
    found = pa.table(table.to_pyarrow_table()).sort_by("n")
    assert found["n"].to_pylist() == list(range(150))
    expected = pa.concat_tables([rows(0, 100), rows(100, 50)])
    for name in ["key", "price", "tags", "user", "small", "ts"]:
        assert found[name].to_pylist() == expected[name].to_pylist(), name
    days = [ts.astimezone(datetime.timezone.utc).date() for ts in expected["ts"].to_pylist()]
    assert found["ts_day"].to_pylist() == days
    # Statistics skip files and no rows.
    some = table.to_pyarrow_table(filters=[("n", ">=", 140), ("price", "<", Decimal(12))])
    assert sorted(some["n"].to_pylist()) == list(range(140, 148))

    # Another writer, a checkpoint, and we again.
    more = found.slice(0, 10).set_column(0, "n", pa.array(range(150, 160)))
    deltalake.write_deltalake(root, more, mode="append")
    table = deltalake.DeltaTable(root)
    table.create_checkpoint()
    arrowsmith.write_parquet(rows(160, 5), root, append=True, **options)  # type: ignore[arg-type]
    table = deltalake.DeltaTable(root)
    assert table.version() == 3
    assert sorted(table.to_pyarrow_table()["n"].to_pylist()) == list(range(165))
    out = tmp_path / "out.parquet"
    command = [sys.executable, "-m", "arrowsmith", "convert", "-q", str(root), "--format", "delta"]
    subprocess.run([*command, "-o", str(out)], check=True)
    assert sorted(arrowsmith.read_parquet(out).to_pyarrow()["n"].to_pylist()) == list(range(165))


def test_times_without_a_zone_are_read(tmp_path: Path) -> None:
    root = tmp_path / "t"
    times: list[datetime.datetime | None] = [datetime.datetime(2024, 1, 1, 5), None]
    data = pa.table({"ts": pa.array(times, pa.timestamp("us")), "n": [1, 2]})
    arrowsmith.write_parquet(data, root, table="delta", partition_by=["ts"])
    table = deltalake.DeltaTable(root)
    assert table.protocol().reader_features == ["timestampNtz"]
    assert table.to_pyarrow_table().sort_by("n")["ts"].to_pylist() == times
