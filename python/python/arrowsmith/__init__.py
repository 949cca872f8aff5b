# SPDX-License-Identifier: Apache-2.0
"""JSON to Apache Arrow, at the speed of the hardware.

>>> import arrowsmith
>>> table = arrowsmith.read_json(b'{"name":"ada","age":36}')
>>> print(table.schema, end="")
name: utf8
age: int64

What comes out speaks the Arrow PyCapsule interface: pyarrow, polars, DuckDB and pandas take its
memory as it is.
"""

from collections.abc import Callable, Sequence
from typing import Literal

from arrowsmith import _lib
from arrowsmith._lib import Batch, Reader, Schema, Table, __version__
from arrowsmith._types import (
    Appendable,
    Compression,
    DuplicateKeys,
    Engine,
    Format,
    OnError,
    Reject,
    SchemaLike,
    Source,
    UnknownKeys,
)
from arrowsmith.errors import ArrowsmithError, ConfigError, DataError, SchemaError

__all__ = [
    "ArrowsmithError",
    "Batch",
    "ConfigError",
    "DataError",
    "Reader",
    "Reject",
    "Schema",
    "SchemaError",
    "Table",
    "__version__",
    "infer_schema",
    "open_json",
    "read_json",
]


def read_json(
    source: Source,
    schema: SchemaLike | None = None,
    *,
    columns: Sequence[str] | None = None,
    engine: Engine = "cpu",
    threads: int | None = None,
    format: Format = "auto",  # noqa: A002
    compression: Compression = "auto",
    on_error: OnError = "fail",
    rejects: Callable[[Reject], object] | Appendable | None = None,
    duplicate_keys: DuplicateKeys = "last",
    unknown_keys: UnknownKeys = "skip",
    allow_nan: bool = False,
    trust: bool = False,
    batch_rows: int | None = None,
    batch_bytes: int | None = None,
    depth_max: int = 128,
    record_bytes_max: int = 128 << 20,
    memory_bytes_max: int = 256 << 20,
    infer_records: int | Literal["all"] = 10_000,
    infer_timestamps: bool = False,
) -> Table:
    """Read all of ``source``.

    Args:
        source: a path, a glob pattern (as a string), bytes, a buffer, a binary file, or a list of
            these, which are read one after another. Compressed input is recognised.
        schema: its text form, the path of a schema file, or anything with
            ``__arrow_c_schema__``, such as a ``pyarrow.Schema``; inferred if there is none.
        columns: paths of the columns to keep: ``["id", "user.name"]``.
        engine: what decodes.
        threads: threads that decode; one for each core if there is no number.
        format: how records follow one another; the first bytes say if ``"auto"``.
        compression: how the input is compressed; the first bytes say if ``"auto"``.
        on_error: what a record that does not fit does: ``"fail"`` raises ``DataError``,
            ``"skip"`` leaves it out, ``"null"`` puts nulls in place of what does not fit.
        rejects: a list that gets, or a function that is called with, each record that was left
            out or changed, with the reason.
        duplicate_keys: which of two equal keys in an object counts, or that they are an error.
        unknown_keys: what becomes of keys that the schema does not have.
        allow_nan: take ``NaN`` and ``Infinity`` in floating-point columns.
        trust: do not validate what no column takes.
        batch_rows: rows of each batch but the last.
        batch_bytes: Arrow bytes of a batch, about.
        depth_max: deepest nesting of a record.
        record_bytes_max: longest record, in bytes.
        memory_bytes_max: working memory beyond mapped input and batches, in bytes.
        infer_records: records to infer the schema from, or ``"all"``.
        infer_timestamps: take strings that are all ISO 8601 dates or timestamps as such.

    Raises:
        DataError: the input does not fit.
        SchemaError: the schema makes no sense.
        ConfigError: an option makes no sense.
        OSError: reading failed; ``FileNotFoundError`` and so on.
    """
    options = {
        "columns": columns,
        "engine": engine,
        "threads": threads,
        "format": format,
        "compression": compression,
        "on_error": on_error,
        "duplicate_keys": duplicate_keys,
        "unknown_keys": unknown_keys,
        "allow_nan": allow_nan,
        "trust": trust,
        "batch_rows": batch_rows,
        "batch_bytes": batch_bytes,
        "depth_max": depth_max,
        "record_bytes_max": record_bytes_max,
        "memory_bytes_max": memory_bytes_max,
        "infer_records": infer_records,
        "infer_timestamps": infer_timestamps,
    }
    return _lib.read_json(source, schema, rejects, options)


def open_json(
    source: Source,
    schema: SchemaLike | None = None,
    *,
    columns: Sequence[str] | None = None,
    engine: Engine = "cpu",
    threads: int | None = None,
    format: Format = "auto",  # noqa: A002
    compression: Compression = "auto",
    on_error: OnError = "fail",
    rejects: Callable[[Reject], object] | Appendable | None = None,
    duplicate_keys: DuplicateKeys = "last",
    unknown_keys: UnknownKeys = "skip",
    allow_nan: bool = False,
    trust: bool = False,
    batch_rows: int | None = None,
    batch_bytes: int | None = None,
    depth_max: int = 128,
    record_bytes_max: int = 128 << 20,
    memory_bytes_max: int = 256 << 20,
    infer_records: int | Literal["all"] = 10_000,
    infer_timestamps: bool = False,
) -> Reader:
    """Read ``source`` batch by batch, in bounded memory.

    The reader is an iterator of batches and a context manager, or, once, an Arrow stream. The
    arguments, and what is raised, are those of ``read_json``; errors of the data come with the
    batches, after the rows before them.
    """
    options = {
        "columns": columns,
        "engine": engine,
        "threads": threads,
        "format": format,
        "compression": compression,
        "on_error": on_error,
        "duplicate_keys": duplicate_keys,
        "unknown_keys": unknown_keys,
        "allow_nan": allow_nan,
        "trust": trust,
        "batch_rows": batch_rows,
        "batch_bytes": batch_bytes,
        "depth_max": depth_max,
        "record_bytes_max": record_bytes_max,
        "memory_bytes_max": memory_bytes_max,
        "infer_records": infer_records,
        "infer_timestamps": infer_timestamps,
    }
    return _lib.open_json(source, schema, rejects, options)


def infer_schema(
    source: Source,
    *,
    format: Format = "auto",  # noqa: A002
    compression: Compression = "auto",
    allow_nan: bool = False,
    depth_max: int = 128,
    record_bytes_max: int = 128 << 20,
    infer_records: int | Literal["all"] = 10_000,
    infer_timestamps: bool = False,
) -> Schema:
    """Infer a schema that the first records of ``source`` fit.

    ``str`` of it is the text form, to look at, change and keep. The arguments are those of
    ``read_json``; a file is read on from where this leaves it.
    """
    options = {
        "format": format,
        "compression": compression,
        "allow_nan": allow_nan,
        "depth_max": depth_max,
        "record_bytes_max": record_bytes_max,
        "infer_records": infer_records,
        "infer_timestamps": infer_timestamps,
    }
    return _lib.infer_schema(source, options)
