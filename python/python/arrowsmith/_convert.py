# SPDX-License-Identifier: Apache-2.0
"""Rows as objects of other libraries, which are imported when they are needed.

These are methods of the compiled classes, but written in Python: a library may release the GIL
while it reads a stream, which no frame of the compiled module must be waiting for.
"""

from importlib import import_module
from typing import Any

from arrowsmith._lib import Batch, Reader, Table


def _library(name: str, also: str = "") -> Any:
    try:
        if also:
            import_module(also)
        return import_module(name)
    except ModuleNotFoundError as error:
        packages = f"{name} {also}".strip()
        message = f"{error}; pip install {packages}"
        raise ModuleNotFoundError(message, name=error.name) from error


def to_pyarrow(self: Any) -> Any:
    """Return a ``pyarrow.Table`` that shares the memory."""
    return _library("pyarrow").table(self)


def batch_to_pyarrow(self: Any) -> Any:
    """Return a ``pyarrow.RecordBatch`` that shares the memory."""
    return _library("pyarrow").record_batch(self)


def reader_to_pyarrow(self: Any) -> Any:
    """Return the batches that remain as a ``pyarrow.RecordBatchReader``, which owns them."""
    return _library("pyarrow").RecordBatchReader.from_stream(self)


def to_pandas(self: Any, **options: Any) -> Any:
    """Return a ``pandas.DataFrame``; the options are those of ``pyarrow.Table.to_pandas``."""
    return _library("pyarrow", also="pandas").table(self).to_pandas(**options)


def batch_to_pandas(self: Any, **options: Any) -> Any:
    """Return a ``pandas.DataFrame``; the options are those of ``pyarrow.RecordBatch.to_pandas``."""
    return _library("pyarrow", also="pandas").record_batch(self).to_pandas(**options)


def to_polars(self: Any) -> Any:
    """Return a ``polars.DataFrame``."""
    return _library("polars").DataFrame(self)


def to_duckdb(self: Any, connection: Any = None) -> Any:
    """Return a relation of ``connection``, or of the default connection.

    That of a reader can be read once.
    """
    connection = connection or _library("duckdb")
    # DuckDB knows pyarrow's classes in every version, and streams only in some.
    return connection.from_arrow(self.to_pyarrow())


def to_pylist(self: Any) -> Any:
    """Return the rows as dictionaries."""
    return self.to_pyarrow().to_pylist()


for _class, _prefix, _functions in (
    (Table, "", (to_pyarrow, to_pandas, to_polars, to_duckdb, to_pylist)),
    (Batch, "batch_", (batch_to_pyarrow, batch_to_pandas, to_polars, to_pylist)),
    (Reader, "reader_", (reader_to_pyarrow, to_pandas, to_polars, to_duckdb)),
):
    for _function in _functions:
        setattr(_class, _function.__name__.removeprefix(_prefix), _function)
