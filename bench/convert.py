# SPDX-License-Identifier: Apache-2.0
"""JSON lines -> Parquet: the command beside DuckDB and polars, in turn.

convert.py --command target/release/arrowsmith [--mib 128] [--rounds 5] [--workloads logs,trip]
[--codecs zstd:1,snappy,none] [--folder /tmp/convert] prints a table in Markdown: seconds by the
clock (the shortest) and of processor time (the median), and the size of the file. DuckDB and polars
are timed without their start, with a thread for each processor, as the command; they infer the
schema, where polars leaves times as text, and the command is given it. One that fails has a line of
its own with the reason.
"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time


def duckdb(source, target, codec, level):
    import duckdb

    connection = duckdb.connect()
    codec = "uncompressed" if codec == "none" else codec
    level = f", compression_level {level}" if level else ""
    reader = f"read_json('{source}', format='newline_delimited', maximum_object_size=134217728)"
    query = f"copy (from {reader}) to '{target}' (format parquet, codec '{codec}'{level})"
    return lambda: connection.execute(query)


def polars(source, target, codec, level):
    import polars

    codec = "uncompressed" if codec == "none" else codec
    level = int(level) if level else None
    frame = polars.scan_ndjson(source, infer_schema_length=10_000)
    return lambda: frame.sink_parquet(target, compression=codec, compression_level=level)


PEERS = {"duckdb": duckdb, "polars": polars}


def used(usage):
    return usage.ru_utime + usage.ru_stime


def peer(name, source, target, codec, level):
    """Converts once; prints seconds and processor time."""
    convert = PEERS[name](source, target, codec, level)
    start, before = time.perf_counter(), used(resource.getrusage(resource.RUSAGE_SELF))
    convert()
    after = used(resource.getrusage(resource.RUSAGE_SELF))
    print(time.perf_counter() - start, after - before)


def turn(name, options, workload, source, target, codec):
    """One conversion: seconds, and processor time."""
    if name in PEERS:
        kind, _, level = codec.partition(":")
        call = [sys.executable, __file__, "--peer", name, source, target, kind, level]
        ran = subprocess.run(call, capture_output=True, text=True)
        if ran.returncode:
            print(f"| {workload} | {codec} | {name} | {ran.stderr.splitlines()[-1]} | | |")
            return None
        seconds, processor = ran.stdout.split()[-2:]
        return float(seconds), float(processor)
    call = [options.command, "convert", source, "-q", "-o", target, "--schema", workload]
    call += ["--codec", codec, *COMMANDS[name]]
    start = time.perf_counter()
    child = subprocess.Popen(call)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(call)}: status {status}")
    return time.perf_counter() - start, used(usage)


COMMANDS = {
    "arrowsmith": [],
    "arrowsmith, 1 thread": ["--threads", "1"],
    "arrowsmith --writer reference": ["--writer", "reference"],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--command", default="target/release/arrowsmith")
    parser.add_argument("--folder", default="target/tmp/convert", type=pathlib.Path)
    parser.add_argument("--mib", default=128, type=int)
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--workloads", default="logs,lineitem,trip,taxi")
    parser.add_argument("--codecs", default="zstd:1,snappy,none")
    options = parser.parse_args()
    if options.peer:
        peer(*options.peer)
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    names = [*COMMANDS, *PEERS]
    print("| workload | codec | writer | s | processor s | MB |\n| -- | -- | -- | -- | -- | -- |")
    for workload in options.workloads.split(","):
        source = str(options.folder / f"{workload}-{options.mib}.jsonl")
        if not os.path.exists(source):
            call = [options.command, "generate", "-q", workload, "-o", source]
            subprocess.run([*call, "--bytes", f"{options.mib}MiB"], check=True)
        for codec in options.codecs.split(","):
            turns = {name: [] for name in names}
            failed = set()
            target = str(options.folder / "out.parquet")
            sizes = {}
            for first in range(options.rounds):
                # Who is first rotates.
                for name in names[first % len(names) :] + names[: first % len(names)]:
                    if name in failed:
                        continue
                    found = turn(name, options, workload, source, target, codec)
                    if found is None:
                        failed.add(name)
                        continue
                    turns[name].append(found)
                    sizes[name] = os.path.getsize(target)
            for name, found in turns.items():
                if name in failed:
                    continue
                seconds = min(seconds for seconds, _ in found)
                processor = statistics.median(processor for _, processor in found)
                figures = f"{seconds:.2f} | {processor:.2f} | {sizes[name] / 1e6:.1f}"
                print(f"| {workload} | {codec} | {name} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
