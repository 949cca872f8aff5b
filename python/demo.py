# SPDX-License-Identifier: Apache-2.0
"""Reads what the demonstration made with pyarrow, and compares it with Python's own parse."""

import json
import sys

import pyarrow as pa

import arrowsmith

source, converted = sys.argv[1:]
table = pa.ipc.open_file(pa.memory_map(converted)).read_all()
with open(source, encoding="utf-8") as lines:
    expected = [json.loads(line)["voltage"] for line, _ in zip(lines, range(100_000))]
assert table["voltage"].slice(0, len(expected)).to_pylist() == expected
again = pa.table(arrowsmith.read_json(source, schema=table.schema))
assert again.equals(table), "the package and the command disagree"
print(f"pyarrow reads {table.num_rows:,} rows; {len(expected):,} of them equal Python's own parse")
