# SPDX-License-Identifier: Apache-2.0
"""Shared by every Python program of `arrowsmith bench flight`: options, and the protocol with the
command. A user would not write it, so it is not counted among the lines of code."""

import argparse
import json
import sys
import time

import pyarrow as pa
import pyarrow.compute as pc


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--mode", choices=["parquet", "memory"], default="parquet")
    parser.add_argument("--batch-rows", type=int, default=65536)
    parser.add_argument("--read-ahead", type=int, default=1)
    return parser.parse_args()


def say(line):
    print(json.dumps(line), flush=True)


def ready(uri="", version=f"pyarrow {pa.__version__}"):
    say({"ready": True, "version": version, "uri": uri})


def wait_for_end():
    for _ in sys.stdin:
        pass


def totals(column):
    count = len(column) - column.null_count
    if pa.types.is_floating(column.type):
        return {"n": count, "float": pc.sum(column).as_py() or 0.0}
    if pa.types.is_string(column.type):
        return {"n": count, "bytes": pc.sum(pc.binary_length(column)).as_py() or 0}
    return {"n": count, "sum": str((pc.sum(column.cast(pa.int64())).as_py() or 0) % 2**64)}


def serve_commands(get, version=f"pyarrow {pa.__version__}", as_table=lambda result: result, rows=len):
    """`get URI` fetches and keeps the table, `check` sums and frees it."""
    ready(version=version)
    result = None
    for line in sys.stdin:
        words = line.split()
        if words[:1] == ["get"]:
            result = None
            start = time.perf_counter()
            try:
                result = get(words[1])
            except Exception as error:
                say({"error": str(error)})
                continue
            seconds = time.perf_counter() - start
            say({"seconds": seconds, "rows": rows(result)})
        elif result is not None:
            table = as_table(result)
            check = {field.name: totals(column) for field, column in zip(table.schema, table.columns)}
            say({"rows": table.num_rows, "check": check})
            result = table = None
