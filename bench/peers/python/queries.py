# SPDX-License-Identifier: Apache-2.0
"""The participants of `arrowsmith bench python`: queries of a notebook over a file of JSON lines.

queries.py --side S --task T --workload W --input FILE reports that it is ready, and runs the task
once for every line `run` on its standard input. Both sides of a task run the same query of the same
library, over Arrowsmith's reader (`arrowsmith`) or over the library's own (`own`), with the
defaults of both: the schema is inferred. Summing the result is not timed.
"""

import argparse
import sys
import time

# Of each workload: a condition, the groups, a sum and a mean; as text for DuckDB, as a function for
# polars.
QUERIES = {
    "lineitem": (
        "l_quantity < 24 and l_discount >= 0.05",
        "l_returnflag",
        "l_partkey",
        "l_extendedprice",
    ),
    "logs": ("http.status >= 500", "service.name", "http.status", "http.latency_ms"),
    "taxi": ("trip_distance > 5.0", "payment_type", "PULocationID", "fare_amount"),
}


def main():
    from peer import peak_rss_mb, say

    parser = argparse.ArgumentParser()
    parser.add_argument("--side", required=True, choices=["arrowsmith", "own"])
    parser.add_argument("--task", required=True, choices=sorted(TASKS))
    parser.add_argument("--workload", required=True, choices=sorted(QUERIES))
    parser.add_argument("--input", required=True)
    options = parser.parse_args()
    library, task = TASKS[options.task]
    run = task(options.side == "arrowsmith", options.workload, options.input)
    version = __import__(library).__version__
    if options.side == "arrowsmith":
        version = f"{__import__('arrowsmith').__version__} in {version}"
    say({"ready": True, "version": version})
    for line in sys.stdin:
        if line.strip() != "run":
            break
        start = time.perf_counter()
        result = run()
        seconds = time.perf_counter() - start
        peak = peak_rss_mb()
        rows, check = totals(result)
        del result
        say({"seconds": seconds, "rows": rows, "check": check, "peak_rss_mb": peak})


def polars_query(use_arrowsmith, workload, path):
    import polars as pl

    condition, group, number, mean = QUERIES[workload]

    def column(name):
        first, *rest = name.split(".")
        found = pl.col(first)
        for part in rest:
            found = found.struct.field(part)
        return found

    wanted = True
    for part in condition.split(" and "):
        name, sign, value = part.split(" ")
        compare = {"<": "__lt__", ">": "__gt__", ">=": "__ge__"}[sign]
        value = float(value) if "." in value else int(value)
        wanted = getattr(column(name), compare)(value) & wanted
    if use_arrowsmith:
        import arrowsmith

        def scan():
            return arrowsmith.scan_json(path).to_polars()
    else:

        def scan():
            return pl.scan_ndjson(path)

    def run():
        groups = scan().filter(wanted).group_by(column(group).alias("key"))
        sums = groups.agg(
            column(number).sum().alias("sum"),
            column(mean).mean().alias("mean"),
            pl.len().alias("count"),
        )
        return sums.collect().to_arrow()

    return run


def duckdb_query(use_arrowsmith, workload, path):
    import duckdb

    condition, group, number, mean = QUERIES[workload]
    source = "t" if use_arrowsmith else f"read_json('{path}', format = 'newline_delimited')"
    query = (
        f"select {group} as key, sum({number})::bigint as sum, avg({mean}) as mean, "
        f"count(*)::bigint as count from {source} where {condition} group by all"
    )

    def run():
        connection = duckdb.connect()
        if use_arrowsmith:
            import arrowsmith

            arrowsmith.scan_json(path).to_duckdb(connection).create_view("t")
        return connection.sql(query).to_arrow_table()

    return run


def pandas_frame(use_arrowsmith, workload, path):
    import pandas as pd

    if use_arrowsmith:
        import arrowsmith

        return lambda: arrowsmith.read_json(path).to_pandas()
    return lambda: pd.read_json(path, lines=True)


def first_rows(use_arrowsmith, workload, path):
    import polars as pl

    if use_arrowsmith:
        import arrowsmith

        return lambda: arrowsmith.scan_json(path).limit(10).collect().to_pyarrow()
    return lambda: pl.scan_ndjson(path).head(10).collect().to_arrow()


TASKS = {
    "polars": ("polars", polars_query),
    "duckdb": ("duckdb", duckdb_query),
    "pandas": ("pandas", pandas_frame),
    "first": ("polars", first_rows),
}


def totals(result):
    """Return the number of rows, and the totals of columns of numbers and of text.

    Types may differ in width; nested columns, which have no common form, have no totals.
    """
    if hasattr(result, "column_names"):
        result = result.to_pandas()
    check = {}
    for name in result.columns:
        values = result[name].dropna()
        if values.dtype.kind in "iuf":
            check[name] = {"n": len(values), "float": float(values.sum())}
        elif all(isinstance(value, str) for value in values):
            check[name] = {"n": len(values), "bytes": sum(map(len, values))}
    return len(result), check


if __name__ == "__main__":
    main()
