# SPDX-License-Identifier: Apache-2.0
"""JSON whose schema drifts: what inference of a growing schema costs.

drift.py --command target/release/arrowsmith [--mib 256] [--rounds 5] [--workloads logs,lineitem]
[--to arrow] [--folder /tmp/drift] prints a table in Markdown. `uniform` is the workload as it is,
`late` has one new key in the middle, `every` one at each 10,000th record. Each is converted without
a schema, to Arrow or with `--to parquet` to Parquet, in turn; seconds by the clock (the shortest) and of processor time (the median), and both as
multiples of `uniform`. `infer` is `arrowsmith infer --infer-records all`.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import time

VARIANTS = ["uniform", "late", "every"]


def drifted(source, variant, target):
    """Writes the records of `source`, some with a new key."""
    with open(source, "rb") as lines:
        count = sum(1 for _ in lines)
    with open(source, "rb") as lines, open(target, "wb") as out:
        for number, line in enumerate(lines):
            is_new = variant == "late" and number == count // 2
            if is_new or (variant == "every" and number % 10_000 == 9_999):
                line = line.rstrip()[:-1] + b',"new_%d":%d}\n' % (number // 10_000, number)
            out.write(line)


def turn(call):
    """One run: seconds, and processor time."""
    start = time.perf_counter()
    child = subprocess.Popen(call, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(call)}: status {status}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", default="target/release/arrowsmith")
    parser.add_argument("--folder", default="target/tmp/drift", type=pathlib.Path)
    parser.add_argument("--mib", default=256, type=int)
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--workloads", default="logs,lineitem")
    parser.add_argument("--to", default="arrow", choices=["arrow", "parquet"])
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    print("| workload | variant | s | × | processor s | × |\n| -- | -- | -- | -- | -- | -- |")
    for workload in options.workloads.split(","):
        sources = {name: options.folder / f"{workload}-{name}.jsonl" for name in VARIANTS}
        call = [options.command, "generate", "-q", workload, "-o", sources["uniform"]]
        subprocess.run([*call, "--bytes", f"{options.mib}MiB"], check=True)
        for variant in VARIANTS[1:]:
            drifted(sources["uniform"], variant, sources[variant])
        target = options.folder / f"out.{options.to}"
        calls = {
            variant: [options.command, "convert", "-q", source, "-o", target]
            for variant, source in sources.items()
        }
        infer = [options.command, "infer", "--infer-records", "all"]
        calls["infer"] = [*infer, sources["uniform"]]
        turns = {name: [] for name in calls}
        for _ in range(options.rounds):
            for name, call in calls.items():
                turns[name].append(turn([str(word) for word in call]))
        shortest = {name: min(clock for clock, _ in found) for name, found in turns.items()}
        median = {name: statistics.median(cpu for _, cpu in found) for name, found in turns.items()}
        for name in calls:
            clock, cpu = shortest[name], median[name]
            times = [clock, clock / shortest["uniform"], cpu, cpu / median["uniform"]]
            figures = " | ".join(f"{figure:.2f}" for figure in times)
            print(f"| {workload} | {name} | {figures} |", flush=True)
        for source in sources.values():
            source.unlink()
        target.unlink()


if __name__ == "__main__":
    main()
