# SPDX-License-Identifier: Apache-2.0
"""A few columns of JSON from Python, beside all of them and polars: processor time.

columns.py --command target/release/arrowsmith [--mib 128] [--rounds 5] [--folder /tmp/columns]
[--workloads lineitem,taxi,trip,logs] prints a table in Markdown: the shortest of some runs with
one thread, in milliseconds of processor time (of polars' threads all), with the schema given. Run
it in an environment with `arrowsmith`, pyarrow and polars.
"""

import argparse
import pathlib
import subprocess
import time

import arrowsmith
import polars
import pyarrow


def choices(names):
    """The columns that are read, by the words of the table's head."""
    return {
        "all": names,
        "first": names[:1],
        "first and last": [names[0], names[-1]],
        "every other": names[::2],
    }


def shortest(call, rounds):
    took = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        took.append(time.process_time() - start)
    return min(took) * 1000


def row(path, reader, read, chosen, rounds):
    cells = []
    for columns in chosen.values():
        try:
            cells.append(f"{shortest(lambda: read(columns), rounds):.0f}")
        except polars.exceptions.PolarsError:
            cells.append("refused")
    return f"| {path.stem}, {reader} | {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", default="target/release/arrowsmith")
    parser.add_argument("--folder", default="target/tmp/columns", type=pathlib.Path)
    parser.add_argument("--mib", default=128, type=int)
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--workloads", default="lineitem,taxi,trip,logs")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    heads = list(choices(["a"]))
    print(f"| | {' | '.join(heads)} |\n|{' -- |' * (len(heads) + 1)}")
    for workload in options.workloads.split(","):
        path = options.folder / f"{workload}.jsonl"
        call = [options.command, "generate", "-q", workload, "-o", path]
        subprocess.run([*call, "--bytes", f"{options.mib}MiB"], check=True)
        schema = arrowsmith.infer_schema(path)
        chosen = choices(pyarrow.schema(schema).names)
        readers = {
            "us": lambda columns: arrowsmith.read_json(
                path, schema=schema, columns=columns, threads=1
            ),
            "polars": lambda columns: polars.scan_ndjson(path).select(columns).collect(),
        }
        for reader, read in readers.items():
            print(row(path, reader, read, chosen, options.rounds), flush=True)


if __name__ == "__main__":
    main()
