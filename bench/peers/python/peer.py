# SPDX-License-Identifier: Apache-2.0
"""The Python peers of `arrowsmith bench json`: pyarrow, polars and DuckDB.

peer.py --engine E --shape S --schema FILE --input FILE --threads N [--infer] loads the input,
reports that it is ready, and converts it once for every line `run` on its standard input. Every
engine is given the schema, but with --infer; types that it cannot read directly are converted from
text by its own functions, inside the timed part, as its user would have to. With --infer it infers
the schema from every record, where it can. Summing the result is not timed.
"""

import argparse
import json
import os
import sys
import time


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", required=True, choices=["pyarrow", "polars", "duckdb"])
    parser.add_argument("--shape", required=True)
    parser.add_argument("--schema", required=True)
    parser.add_argument("--input", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--infer", action="store_true")
    options = parser.parse_args()
    # Must be set before the library is loaded: it sizes its pool then.
    os.environ["POLARS_MAX_THREADS"] = str(options.threads)

    import pyarrow as pa

    schema = pa.ipc.open_stream(options.schema).schema
    engine = {"pyarrow": PyArrow, "polars": Polars, "duckdb": DuckDb}[options.engine]
    engine = engine(schema, options.input, options.threads, options.infer)
    say({"ready": True, "engine": options.engine, "version": engine.version})
    for line in sys.stdin:
        if line.strip() != "run":
            break
        start = time.perf_counter()
        result = engine.run()
        seconds = time.perf_counter() - start
        peak = peak_rss_mb()
        table = engine.table(result)
        check = {}
        for field, column in zip(schema, table.columns):
            totals(field.name, column, check)
        rows = table.num_rows
        del result, table
        say({"seconds": seconds, "rows": rows, "check": check, "peak_rss_mb": peak})


def say(message):
    print(json.dumps(message), flush=True)


def peak_rss_mb():
    """The highest resident memory. Not from getrusage: that one remembers the process before exec."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0


class PyArrow:
    """pyarrow.json.read_json. It cannot read fixed-size lists, which are read as lists; nor dates,
    which are read as text and cast; nor required fields of an optional struct, so that all fields
    are optional."""

    def __init__(self, schema, path, threads, infer):
        import pyarrow as pa
        import pyarrow.json

        self.version = pa.__version__
        pa.set_cpu_count(threads)
        with open(path, "rb") as file:
            self.text = pa.py_buffer(file.read())
        longest = max(map(len, bytes(self.text).splitlines()), default=0)
        fields = [field.with_type(simpler(field.type)).with_nullable(True) for field in schema]
        self.dates = [i for i, field in enumerate(schema) if pa.types.is_date(field.type)]
        self.read = pa.json.read_json
        self.read_options = pa.json.ReadOptions(
            use_threads=threads > 1, block_size=max(1 << 20, 4 * longest)
        )
        self.names = schema.names
        self.parse_options = None
        if not infer:
            self.parse_options = pa.json.ParseOptions(
                explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore"
            )

    def run(self):
        import pyarrow as pa

        source = pa.BufferReader(self.text)
        table = self.read(source, self.read_options, self.parse_options)
        for i in self.dates:
            table = table.set_column(i, table.field(i).name, table.column(i).cast(pa.date32()))
        return table

    def table(self, result):
        return result.select(self.names)


class Polars:
    """polars.scan_ndjson. Dates and times are read as text and converted."""

    def __init__(self, schema, path, threads, infer):
        import polars as pl

        self.version = pl.__version__
        with open(path, "rb") as file:
            self.text = file.read()
        self.names = schema.names
        kinds = {field.name: polars_type(field.type) for field in schema}
        self.schema = {"infer_schema_length": None} if infer else {"schema": kinds}
        self.convert = [polars_conversion(field) for field in schema if is_time(field.type)]

    def run(self):
        import polars as pl

        frame = pl.scan_ndjson(self.text, **self.schema).collect()
        return frame.with_columns(self.convert) if self.convert else frame

    def table(self, result):
        return result.select(self.names).to_arrow()


class DuckDb:
    """read_json over a file in memory, with the columns given, fetched as an Arrow table."""

    def __init__(self, schema, path, threads, infer):
        import duckdb

        self.version = duckdb.__version__
        self.names = schema.names
        self.connection = duckdb.connect(":memory:")
        self.connection.execute(f"SET threads = {threads}")
        self.connection.execute("SET preserve_insertion_order = true")
        self.connection.execute("SET TimeZone = 'UTC'")
        columns = ", ".join(f"{quote(f.name)}: {quote(duckdb_type(f.type))}" for f in schema)
        schema = "sample_size = -1" if infer else f"columns = {{{columns}}}"
        self.query = (
            f"SELECT * FROM read_json({quote(path)}, format = 'newline_delimited', {schema})"
        )

    def run(self):
        return self.connection.execute(self.query).to_arrow_table()

    def table(self, result):
        return result.select(self.names)


def simpler(kind):
    """The type that pyarrow reads in place of a type."""
    import pyarrow as pa

    if pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind):
        return pa.list_(simpler(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, simpler(field.type)) for field in kind])
    return pa.string() if pa.types.is_date(kind) else kind


def is_time(kind):
    import pyarrow as pa

    return pa.types.is_date(kind) or pa.types.is_timestamp(kind)


def polars_type(kind):
    import polars as pl
    import pyarrow as pa

    if pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind):
        return pl.List(polars_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pl.Struct({field.name: polars_type(field.type) for field in kind})
    if is_time(kind) or pa.types.is_string(kind):
        return pl.String
    simple = {
        pa.uint64(): pl.UInt64,
        pa.int64(): pl.Int64,
        pa.int32(): pl.Int32,
        pa.float64(): pl.Float64,
        pa.bool_(): pl.Boolean,
    }
    return simple[kind]


def polars_conversion(field):
    import polars as pl
    import pyarrow as pa

    text = pl.col(field.name).str
    if pa.types.is_date(field.type):
        return text.to_date("%Y-%m-%d")
    if field.type.tz is None:
        return text.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us")
    return text.to_datetime("%Y-%m-%dT%H:%M:%S%.fZ", time_unit="us", time_zone="UTC")


def duckdb_type(kind):
    import pyarrow as pa

    if pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind):
        return duckdb_type(kind.value_type) + "[]"
    if pa.types.is_struct(kind):
        fields = ", ".join(f'"{field.name}" {duckdb_type(field.type)}' for field in kind)
        return f"STRUCT({fields})"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP" if kind.tz is None else "TIMESTAMPTZ"
    simple = {
        pa.uint64(): "UBIGINT",
        pa.int64(): "BIGINT",
        pa.int32(): "INTEGER",
        pa.float64(): "DOUBLE",
        pa.bool_(): "BOOLEAN",
        pa.string(): "VARCHAR",
        pa.date32(): "DATE",
    }
    return simple[kind]


def quote(text):
    return "'" + text.replace("'", "''") + "'"


def totals(path, column, check):
    """Adds the totals of a column: values that are null, or have a null ancestor, do not count."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_struct(kind):
        # flatten() propagates the nulls of the struct to its fields.
        for field, child in zip(kind, column.flatten()):
            totals(f"{path}.{field.name}", child, check)
        return
    if hasattr(kind, "value_type"):
        items = [chunk.flatten() for chunk in column.chunks]
        totals(path + "[]", pa.chunked_array(items, kind.value_type), check)
        return
    count = len(column) - column.null_count
    if pa.types.is_floating(kind):
        check[path] = {"n": count, "float": pc.sum(column).as_py() or 0.0}
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        if pa.types.is_string_view(kind):
            column = column.cast(pa.large_string())
        check[path] = {"n": count, "bytes": pc.sum(pc.binary_length(column)).as_py() or 0}
    else:
        if pa.types.is_date(kind):
            column = column.cast(pa.int32())
        elif pa.types.is_timestamp(kind):
            column = column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64())
        total = pc.sum(column).as_py() or 0
        if pa.types.is_decimal(kind):
            total = int(total.scaleb(kind.scale))
        check[path] = {"n": count, "sum": str(total % 2**64)}


if __name__ == "__main__":
    main()
