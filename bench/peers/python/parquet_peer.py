# SPDX-License-Identifier: Apache-2.0
"""The Python peers of `arrowsmith bench parquet`: pyarrow, polars and DuckDB.

parquet_peer.py --engine E --input FILE --threads N reports that it is ready, and reads the file
once for every line `run` on its standard input. Opening the file belongs to each reading, except
for engines that read from memory. Summing the result is not timed.
"""

import argparse
import os
import sys
import time

ENGINES = {
    "pyarrow": lambda: PyArrow,
    "pyarrow-memory": lambda: PyArrowMemory,
    "pyarrow-dataset": lambda: PyArrowDataset,
    "pyarrow-view": lambda: PyArrowView,
    "pyarrow-dictionary": lambda: PyArrowDictionary,
    "polars": lambda: Polars,
    "polars-memory": lambda: PolarsMemory,
    "duckdb": lambda: DuckDb,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", required=True, choices=list(ENGINES))
    parser.add_argument("--input", required=True)
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()
    # Must be set before the library is loaded: it sizes its pool then.
    os.environ["POLARS_MAX_THREADS"] = str(options.threads)

    from peer import peak_rss_mb, say, totals

    engine = ENGINES[options.engine]()(options.input, options.threads)
    say({"ready": True, "engine": options.engine, "version": engine.version})
    for line in sys.stdin:
        if line.strip() != "run":
            break
        start = time.perf_counter()
        result = engine.run()
        seconds = time.perf_counter() - start
        peak = peak_rss_mb()
        rows = result.num_rows if hasattr(result, "num_rows") else result.height
        check = {}
        # Checked once: all readings are of the same file.
        if engine.looked_at is None:
            table = engine.table(result)
            for field, column in zip(table.schema, table.columns):
                totals(field.name, column, check)
            engine.looked_at = check
            del table
        del result
        say({"seconds": seconds, "rows": rows, "check": engine.looked_at, "peak_rss_mb": peak})


class PyArrow:
    """ParquetFile.read of a mapped file."""

    looked_at = None
    options = {}

    def __init__(self, path, threads):
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.version = pa.__version__
        pa.set_cpu_count(threads)
        self.threads = threads > 1
        self.file = pq.ParquetFile
        self.path = path
        self.prepare()

    def prepare(self):
        """Untimed preparation."""

    def source(self):
        return {"source": self.path, "memory_map": True}

    def run(self):
        file = self.file(**self.source(), **self.options)
        return file.read(use_threads=self.threads)

    def table(self, result):
        return result


class PyArrowMemory(PyArrow):
    def prepare(self):
        import pyarrow as pa

        with open(self.path, "rb") as file:
            self.bytes = pa.py_buffer(file.read())

    def source(self):
        import pyarrow as pa

        return {"source": pa.BufferReader(self.bytes)}


class PyArrowDataset(PyArrow):
    def run(self):
        import pyarrow.dataset as ds

        return ds.dataset(self.path, format="parquet").to_table(use_threads=self.threads)


class PyArrowView(PyArrow):
    def prepare(self):
        import pyarrow as pa

        self.options = {"binary_type": pa.binary_view()}


class PyArrowDictionary(PyArrow):
    def prepare(self):
        import pyarrow.parquet as pq

        schema = pq.read_schema(self.path)
        self.options = {"read_dictionary": schema.names}


class Polars:
    """read_parquet. It returns strings as views."""

    looked_at = None

    def __init__(self, path, threads):
        import polars as pl

        self.version = pl.__version__
        self.path = path

    def run(self):
        import polars as pl

        return pl.read_parquet(self.path)

    def table(self, result):
        return result.to_arrow()


class PolarsMemory(Polars):
    def __init__(self, path, threads):
        super().__init__(path, threads)
        with open(path, "rb") as file:
            self.bytes = file.read()

    def run(self):
        import polars as pl

        return pl.read_parquet(self.bytes)


class DuckDb:
    """read_parquet, fetched as an Arrow table in the order of the file."""

    looked_at = None

    def __init__(self, path, threads):
        import duckdb
        from peer import quote

        self.version = duckdb.__version__
        self.connection = duckdb.connect(":memory:")
        self.connection.execute(f"SET threads = {threads}")
        self.connection.execute("SET preserve_insertion_order = true")
        self.query = f"SELECT * FROM read_parquet({quote(path)})"

    def run(self):
        return self.connection.execute(self.query).to_arrow_table()

    def table(self, result):
        return result


if __name__ == "__main__":
    main()
