# SPDX-License-Identifier: Apache-2.0
"""Small JSON from Python: microseconds of one call, beside pyarrow and polars.

small.py --command target/release/arrowsmith [--sizes 1KiB,16KiB,128KiB] [--workloads trip,logs]
[--calls 400] prints a table in Markdown: the shortest call and the median. The readers take turns
of a tenth of the calls: right after a call of another one, whose threads still run, any call takes
up to three times as long. Run it in an environment with `arrowsmith`, pyarrow and polars. A reader
that refuses the records has a dash.
"""

import argparse
import io
import statistics
import subprocess
import time

import arrowsmith
import polars
import pyarrow.json

ONE_THREAD = pyarrow.json.ReadOptions(use_threads=False)
READERS = {
    "us": arrowsmith.read_json,
    "us, two threads": lambda text: arrowsmith.read_json(text, threads=2),
    "pyarrow, one thread": lambda text: pyarrow.json.read_json(
        io.BytesIO(text), ONE_THREAD
    ),
    "pyarrow": lambda text: pyarrow.json.read_json(io.BytesIO(text)),
    "polars": polars.read_ndjson,
}


def accepts(read, text):
    try:
        read(text)
    except (ValueError, polars.exceptions.PolarsError):
        return False
    return True


def measured(text, calls):
    """Seconds of the calls of each reader that accepts the text."""
    readers = {name: read for name, read in READERS.items() if accepts(read, text)}
    seconds = {name: [] for name in readers}
    for _ in range(10):
        for name, read in readers.items():
            for _ in range(calls // 10):
                start = time.perf_counter()
                read(text)
                seconds[name].append(time.perf_counter() - start)
    return seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    parser.add_argument("--sizes", default="1KiB,16KiB,128KiB,1MiB")
    parser.add_argument("--workloads", default="trip,lineitem,logs")
    parser.add_argument("--calls", type=int, default=400)
    options = parser.parse_args()
    print("|", *READERS, sep=" | ", end=" |\n")
    print("| --" * (len(READERS) + 1), "|")
    for workload in options.workloads.split(","):
        for size in options.sizes.split(","):
            call = [options.command, "generate", workload, "--bytes", size]
            text = subprocess.run(call, check=True, capture_output=True).stdout
            seconds = measured(text, options.calls)
            cells = [f"{workload}, {size}"]
            for name in READERS:
                taken = [call * 1e6 for call in seconds.get(name, [])]
                cell = (
                    f"{min(taken):.0f} ({statistics.median(taken):.0f})"
                    if taken
                    else "-"
                )
                cells.append(cell)
            print("|", " | ".join(cells), "|")


if __name__ == "__main__":
    main()
