# SPDX-License-Identifier: Apache-2.0
"""The peers of `arrowsmith bench convert`: DuckDB, polars and pyarrow, from a file to a file.

convert_peer.py --engine E --schema FILE --input FILE --output FILE --codec C --threads N reports
that it is ready, and converts once per line `run` on its standard input. Formats are those of
the extensions: .jsonl and .csv in, .parquet and .arrow out. Types that an engine cannot read
directly are converted from text by its own functions, as its user would have to.
"""

import argparse
import os
import resource
import sys
import time


def main():
    from peer import peak_rss_mb, say

    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", required=True, choices=sorted(ENGINES))
    parser.add_argument("--schema", required=True)
    parser.add_argument("--input", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--codec", required=True)
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()
    # Must be set before the library is loaded: it sizes its pool then.
    os.environ["POLARS_MAX_THREADS"] = str(options.threads)

    import pyarrow as pa

    codec, _, level = options.codec.partition(":")
    codec, level = "uncompressed" if codec == "none" else codec, int(level) if level else None
    schema = pa.ipc.open_stream(options.schema).schema
    version, convert = ENGINES[options.engine](schema, options, codec, level)
    say({"ready": True, "engine": options.engine, "version": version})
    for line in sys.stdin:
        if line.strip() != "run":
            break
        start, before = time.perf_counter(), processor()
        convert()
        seconds, used = time.perf_counter() - start, processor() - before
        # The rows are counted in the file.
        answer = {"seconds": seconds, "cpu_seconds": used, "rows": 0}
        say({**answer, "peak_rss_mb": peak_rss_mb()})


def processor():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def duckdb(schema, options, codec, level):
    import duckdb
    import pyarrow as pa
    from peer import duckdb_type, quote

    connection = duckdb.connect(":memory:")
    connection.execute(f"SET threads = {options.threads}")
    connection.execute("SET TimeZone = 'UTC'")
    columns = ", ".join(f"{quote(f.name)}: {quote(duckdb_type(f.type))}" for f in schema)
    if options.input.endswith(".csv"):
        rows = f"read_csv({quote(options.input)}, header = true, columns = {{{columns}}})"
    else:
        rows = (
            f"read_json({quote(options.input)}, format = 'newline_delimited', "
            f"columns = {{{columns}}})"
        )
    if options.output.endswith(".arrow"):

        def convert():
            reader = connection.execute(f"FROM {rows}").to_arrow_reader()
            with pa.ipc.new_file(options.output, reader.schema) as file:
                for batch in reader:
                    file.write_batch(batch)

        return duckdb.__version__, convert
    level = f", compression_level {level}" if level else ""
    query = (
        f"COPY (FROM {rows}) TO {quote(options.output)} (format parquet, codec '{codec}'{level})"
    )
    return duckdb.__version__, lambda: connection.execute(query)


def polars(schema, options, codec, level):
    import polars as pl
    from peer import is_time, polars_conversion, polars_type

    types = {field.name: polars_type(field.type) for field in schema}
    times = [polars_conversion(field) for field in schema if is_time(field.type)]

    def convert():
        if options.input.endswith(".csv"):
            frame = pl.scan_csv(options.input, schema=types)
        else:
            frame = pl.scan_ndjson(options.input, schema=types)
        frame = frame.with_columns(times)
        if options.output.endswith(".arrow"):
            frame.sink_ipc(options.output)
        else:
            frame.sink_parquet(options.output, compression=codec, compression_level=level)

    return pl.__version__, convert


def pyarrow(schema, options, codec, level):
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.json
    import pyarrow.parquet
    from peer import simpler

    pa.set_cpu_count(options.threads)
    fields = [field.with_type(simpler(field.type)).with_nullable(True) for field in schema]
    parse = pa.json.ParseOptions(
        explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore"
    )
    dates = [i for i, field in enumerate(schema) if pa.types.is_date(field.type)]

    def read():
        if options.input.endswith(".csv"):
            types = pa.csv.ConvertOptions(
                column_types=schema, null_values=[""], strings_can_be_null=True
            )
            return pa.csv.read_csv(options.input, convert_options=types)
        table = pa.json.read_json(options.input, parse_options=parse)
        for i in dates:
            table = table.set_column(i, table.field(i).name, table.column(i).cast(pa.date32()))
        return table

    def convert():
        table = read()
        if options.output.endswith(".arrow"):
            with pa.ipc.new_file(options.output, table.schema) as file:
                file.write_table(table)
        else:
            name = "none" if codec == "uncompressed" else codec
            pa.parquet.write_table(
                table, options.output, compression=name, compression_level=level
            )

    return pa.__version__, convert


ENGINES = {"duckdb": duckdb, "polars": polars, "pyarrow": pyarrow}


if __name__ == "__main__":
    main()
