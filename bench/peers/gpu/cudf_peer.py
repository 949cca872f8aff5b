# SPDX-License-Identifier: Apache-2.0
"""cuDF as a peer of `bench gpu`: FORMAT FILE ROUNDS in; the number of rows, then the seconds of
each round out.

It reads a file into the device's memory. It never compares values: the suite compares the number of
rows."""

import sys
import time

import cudf

kind, path, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])


def read() -> "cudf.DataFrame":
    return cudf.read_json(path, lines=True) if kind == "json" else cudf.read_parquet(path)


print(len(read()))
for _ in range(rounds):
    started = time.perf_counter()
    frame = read()
    print(time.perf_counter() - started)
    del frame
