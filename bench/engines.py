# SPDX-License-Identifier: Apache-2.0
"""Ray, Daft and Dask on two workers: our reader of JSON in each, beside its own.

engines.py --command target/release/arrowsmith [--mib 512] [--rounds 3] [--engines ray,daft,dask]
[--workloads lineitem,taxi] prints a table in Markdown: the shortest of some runs, in seconds,
and the processor time of the process with all below it, workers included. Each engine with each
reader is a process of its own, which runs once before it is timed; the sums have to be equal. Run
it in an environment as `python/setup.sh engines` makes, with the module of a release build.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

FILES = 8
WORKERS = 2
# A number of each workload. Ray's own reader refuses logs.
COLUMNS = {"lineitem": "l_partkey", "taxi": "PULocationID"}
QUERIES = ["all columns", "one sum"]


def ray_queries(use_arrowsmith, path, column):
    import pyarrow.compute as pc
    import ray

    ray.init(num_cpus=WORKERS, log_to_driver=False, include_dashboard=False)
    ray.data.DataContext.get_current().enable_progress_bars = False

    def read():
        if use_arrowsmith:
            import arrowsmith.ray

            return arrowsmith.ray.read_json(path)
        return ray.data.read_json(path)

    def everything():
        return read().materialize().count()

    def one():
        # Its own sum is a shuffle, which takes longer than reading.
        batches = read().select_columns([column]).iter_batches(batch_format="pyarrow")
        return sum(pc.sum(batch[column]).as_py() for batch in batches)

    return everything, one


def daft_queries(use_arrowsmith, path, column):
    import daft

    def read():
        if use_arrowsmith:
            import arrowsmith.daft

            return arrowsmith.daft.read_json(path)
        return daft.read_json(f"{path}/*.json")

    def one():
        return read().agg(daft.col(column).sum()).to_pydict()[column][0]

    return lambda: len(read().collect()), one


def dask_queries(use_arrowsmith, path, column):
    import concurrent.futures
    import multiprocessing

    import dask

    workers = multiprocessing.get_context("spawn")
    # Of Dask's own pool, each computation would start new processes.
    pool = concurrent.futures.ProcessPoolExecutor(WORKERS, mp_context=workers)
    dask.config.set(scheduler="processes", pool=pool)

    def read():
        if use_arrowsmith:
            import arrowsmith.dask

            return arrowsmith.dask.read_json(path)
        import dask.dataframe as dd

        return dd.read_json(f"{path}/*.json", lines=True, blocksize=64 << 20)

    def everything():
        # All columns are read in the workers; `len` alone would read one.
        return int(read().map_partitions(len, meta=(None, "int64")).sum().compute())

    return everything, lambda: int(read()[column].sum().compute())


ENGINES = {"ray": ray_queries, "daft": daft_queries, "dask": dask_queries}


def cpu_seconds():
    """Processor time of this process and all below it, those that have ended included."""
    below, spent = {}, {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        process = int(stat.parent.name)
        below.setdefault(int(fields[1]), []).append(process)
        spent[process] = sum(map(int, fields[11:15]))
    total, left = 0, [os.getpid()]
    while left:
        process = left.pop()
        total += spent.get(process, 0)
        left += below.get(process, [])
    return total / os.sysconf("SC_CLK_TCK")


def measure(engine, reader, workload, path, rounds):
    """In a process of its own: what each query gives, and its shortest times."""
    found = []
    for query in ENGINES[engine](reader == "arrowsmith", path, COLUMNS[workload]):
        result, times = query(), []
        for _ in range(rounds):
            start, cpu = time.perf_counter(), cpu_seconds()
            assert query() == result
            times.append((time.perf_counter() - start, cpu_seconds() - cpu))
        found.append((int(result), *map(min, zip(*times))))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", default="target/release/arrowsmith")
    parser.add_argument("--mib", default=512, type=int)
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--workloads", default=",".join(COLUMNS))
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(*options.measure, options.rounds)))
        return
    print("| engine, data, query | own s | arrowsmith | times | own CPU s | arrowsmith | times |")
    print("|" + " -- |" * 7)
    for workload in options.workloads.split(","):
        with tempfile.TemporaryDirectory() as folder:
            generate(options, workload, pathlib.Path(folder))
            for engine in options.engines.split(","):
                compare(options, engine, workload, folder)


def generate(options, workload, folder):
    """Make several files, for readers that do not split one."""
    size = options.mib * 1024 * 1024 // FILES
    for number in range(FILES):
        path = folder / f"{number}.json"
        words = ["generate", workload, "--seed", str(number), "--bytes", str(size), "--output"]
        subprocess.run([options.command, *words, path], check=True, stderr=subprocess.DEVNULL)


def compare(options, engine, workload, folder):
    found = []
    for reader in ["own", "arrowsmith"]:
        words = ["--rounds", str(options.rounds), "--measure", engine, reader, workload, folder]
        said = subprocess.run(
            [sys.executable, __file__, *words], check=True, stdout=subprocess.PIPE, text=True
        )
        found.append(json.loads(said.stdout.splitlines()[-1]))
    for query, (own, own_s, own_cpu), (ours, ours_s, ours_cpu) in zip(QUERIES, *found):
        assert own == ours, f"{engine}, {workload}, {query}: {own} and {ours}"
        print(
            f"| {engine}, {workload}, {query} | {own_s:.2f} | {ours_s:.2f} | "
            f"{own_s / ours_s:.1f} | {own_cpu:.2f} | {ours_cpu:.2f} | {own_cpu / ours_cpu:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
