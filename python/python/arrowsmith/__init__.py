# SPDX-License-Identifier: Apache-2.0
"""JSON and Parquet to Apache Arrow, at the speed of the hardware.

>>> import arrowsmith
>>> table = arrowsmith.read_json(b'{"name":"ada","age":36}')
>>> print(table.schema, end="")
name: utf8
age: int64

Results implement the Arrow PyCapsule interface: pyarrow, polars, DuckDB and pandas use their memory
without a copy.
"""

import json
from collections.abc import Callable, Sequence
from typing import Literal

from arrowsmith import _lib
from arrowsmith._lib import Batch, Reader, Schema, Table, __version__
from arrowsmith._types import (
    Appendable,
    Compression,
    DuplicateKeys,
    Engine,
    FileInfo,
    Filter,
    Format,
    OnError,
    Reject,
    SchemaLike,
    Source,
    Strings,
    TimestampUnit,
    UnknownKeys,
)
from arrowsmith.errors import ArrowsmithError, ConfigError, DataError, FileError, SchemaError

__all__ = [
    "ArrowsmithError",
    "Batch",
    "ConfigError",
    "DataError",
    "FileError",
    "FileInfo",
    "Reader",
    "Reject",
    "Schema",
    "SchemaError",
    "Table",
    "__version__",
    "infer_schema",
    "open_json",
    "open_parquet",
    "parquet_metadata",
    "read_json",
    "read_parquet",
]


def read_json(
    source: Source,
    schema: SchemaLike | None = None,
    *,
    columns: Sequence[str] | None = None,
    engine: Engine = "cpu",
    on_device: bool = False,
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
    fields_max: int = 10_000,
    row_bytes_max: int = 1 << 20,
    batch_bytes_max: int = 1 << 30,
    memory_bytes_max: int = 256 << 20,
    gpu_memory_bytes_max: int = 2 << 30,
    infer_records: int | Literal["all"] = 10_000,
    infer_timestamps: bool = False,
) -> Table:
    """Read all of ``source``.

    Args:
        source: a path, a glob pattern (as a string), bytes, a buffer, a binary file, or a list of
            these, which are read one after another. Compressed input is detected.
        schema: its text form, the path of a schema file, or any object with
            ``__arrow_c_schema__``, such as a ``pyarrow.Schema``; inferred if ``None``.
        columns: paths of the columns to keep: ``["id", "user.name"]``.
        engine: the engine that decodes.
        on_device: leave the batches in GPU memory, for ``Batch.__arrow_c_device_array__``;
            requires ``engine="gpu"``, or ``"auto"`` on a machine with a GPU.
        threads: number of decoder threads; one per core if ``None``.
        format: how the records are separated; detected from the first bytes if ``"auto"``.
        compression: compression of the input; detected from the first bytes if ``"auto"``.
        on_error: how to handle a record that does not match the schema: ``"fail"`` raises
            ``DataError``, ``"skip"`` skips it, ``"null"`` replaces the values that do not match
            by nulls.
        rejects: a list to append to, or a function to call, with each record that was skipped or
            changed and the reason.
        duplicate_keys: how to handle a key that appears twice in an object: use the last value,
            or treat it as an error.
        unknown_keys: how to handle a key that is not in the schema.
        allow_nan: accept ``NaN`` and ``Infinity`` in floating-point columns.
        trust: do not validate values that no column needs.
        batch_rows: rows per batch, the last one excepted.
        batch_bytes: approximate Arrow size of a batch, in bytes.
        depth_max: maximum nesting depth of a record.
        record_bytes_max: maximum size of a record, in bytes.
        fields_max: maximum number of fields of a schema, given or inferred, nested ones included.
        row_bytes_max: maximum Arrow size of an empty record, in bytes.
        batch_bytes_max: maximum Arrow size of one record, in bytes.
        memory_bytes_max: working memory in bytes, not counting mapped input and output batches.
        gpu_memory_bytes_max: GPU memory per decoder thread, in bytes.
        infer_records: number of records to infer the schema from, or ``"all"``.
        infer_timestamps: infer dates and timestamps for string fields whose values are all in
            ISO 8601.

    Raises:
        DataError: the input does not match the schema.
        SchemaError: the schema is invalid.
        ConfigError: an option is invalid.
        OSError: reading failed; ``FileNotFoundError`` and so on.
    """
    options = {
        "columns": columns,
        "engine": engine,
        "on_device": on_device,
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
        "fields_max": fields_max,
        "row_bytes_max": row_bytes_max,
        "batch_bytes_max": batch_bytes_max,
        "memory_bytes_max": memory_bytes_max,
        "gpu_memory_bytes_max": gpu_memory_bytes_max,
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
    on_device: bool = False,
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
    fields_max: int = 10_000,
    row_bytes_max: int = 1 << 20,
    batch_bytes_max: int = 1 << 30,
    memory_bytes_max: int = 256 << 20,
    gpu_memory_bytes_max: int = 2 << 30,
    infer_records: int | Literal["all"] = 10_000,
    infer_timestamps: bool = False,
) -> Reader:
    """Read ``source`` batch by batch, in bounded memory.

    The reader is an iterator of batches and a context manager, or, once, an Arrow stream. The
    arguments and exceptions are those of ``read_json``; an error in the data is raised by the
    iteration, after the rows before it.
    """
    options = {
        "columns": columns,
        "engine": engine,
        "on_device": on_device,
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
        "fields_max": fields_max,
        "row_bytes_max": row_bytes_max,
        "batch_bytes_max": batch_bytes_max,
        "memory_bytes_max": memory_bytes_max,
        "gpu_memory_bytes_max": gpu_memory_bytes_max,
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
    fields_max: int = 10_000,
    row_bytes_max: int = 1 << 20,
    batch_bytes_max: int = 1 << 30,
    infer_records: int | Literal["all"] = 10_000,
    infer_timestamps: bool = False,
) -> Schema:
    """Infer a schema that matches the first records of ``source``.

    ``str`` of it is the text form, which can be edited and stored. The arguments are those of
    ``read_json``. The position of a file object is after the bytes that were read.
    """
    options = {
        "format": format,
        "compression": compression,
        "allow_nan": allow_nan,
        "depth_max": depth_max,
        "record_bytes_max": record_bytes_max,
        "fields_max": fields_max,
        "row_bytes_max": row_bytes_max,
        "batch_bytes_max": batch_bytes_max,
        "infer_records": infer_records,
        "infer_timestamps": infer_timestamps,
    }
    return _lib.infer_schema(source, options)


def read_parquet(
    source: Source,
    *,
    columns: Sequence[str] | None = None,
    filter: Filter | None = None,  # noqa: A002
    row_groups: Sequence[int] | None = None,
    limit: int | None = None,
    engine: Engine = "cpu",
    on_device: bool = False,
    threads: int | None = None,
    batch_rows: int | None = None,
    dictionary: bool | Sequence[str] = False,
    strings: Strings = "auto",
    timestamp_unit: TimestampUnit | None = None,
    arrow_schema: bool = True,
    partitions: SchemaLike | None = None,
    verify_checksums: bool = False,
    memory_bytes_max: int = 256 << 20,
    gpu_memory_bytes_max: int = 2 << 30,
) -> Table:
    """Read Parquet: all of ``source``, or selected columns and rows.

    Args:
        source: a path, a folder, a glob pattern (as a string), bytes, a buffer, a binary file, or a
            list of these, which are read one after another. All files must have the columns of the
            first. ``name=value`` folders below a folder, or matched by a pattern's wildcards, are
            partition columns.
        columns: paths of the columns to read: ``["id", "user.name"]``.
        filter: keep only rows that match this condition: text, such as
            ``"fare > 10 and zone is null"``, or tuples as in pyarrow and pandas:
            ``[("fare", ">", 10), ("zone", "=", "A")]`` is a conjunction, a list of such lists a
            disjunction of them. A comparison with null is neither true nor false, as in SQL. Row
            groups and pages that cannot match are not read.
        row_groups: numbers of the row groups to read, of a single file.
        limit: maximum number of rows.
        engine: the engine that decodes; ``"reference"`` is the ``parquet`` crate.
        on_device: leave the batches, one per row group, in GPU memory, for
            ``Batch.__arrow_c_device_array__``; requires ``engine="gpu"``, or ``"auto"`` on a
            machine with a GPU.
        threads: number of decoder threads; one per core if ``None``.
        batch_rows: maximum rows per batch.
        dictionary: string and binary columns to read as dictionaries: ``True`` for all, or paths.
        strings: Arrow type of strings and binary values: with 32-bit (``"small"``) or 64-bit
            (``"large"``) offsets, as views, or as in the file's Arrow schema (``"auto"``).
        timestamp_unit: unit of all timestamps; that of the file if ``None``.
        arrow_schema: use the Arrow schema that the writer stored in the file.
        partitions: types of partition columns; those of others are inferred.
        verify_checksums: verify page checksums.
        memory_bytes_max: working memory in bytes, not counting mapped input and output batches.
        gpu_memory_bytes_max: GPU memory per decoder thread, in bytes.

    Raises:
        FileError: a file is invalid, or uses something unsupported.
        ConfigError: an option is invalid, or names a column that does not exist.
        OSError: reading failed; ``FileNotFoundError`` and so on.
    """
    options = {
        "columns": columns,
        "filter": filter,
        "row_groups": row_groups,
        "limit": limit,
        "engine": engine,
        "on_device": on_device,
        "threads": threads,
        "batch_rows": batch_rows,
        "dictionary": dictionary,
        "strings": strings,
        "timestamp_unit": timestamp_unit,
        "arrow_schema": arrow_schema,
        "partitions": partitions,
        "verify_checksums": verify_checksums,
        "memory_bytes_max": memory_bytes_max,
        "gpu_memory_bytes_max": gpu_memory_bytes_max,
    }
    return _lib.read_parquet(source, options)


def open_parquet(
    source: Source,
    *,
    columns: Sequence[str] | None = None,
    filter: Filter | None = None,  # noqa: A002
    row_groups: Sequence[int] | None = None,
    limit: int | None = None,
    engine: Engine = "cpu",
    on_device: bool = False,
    threads: int | None = None,
    batch_rows: int | None = None,
    dictionary: bool | Sequence[str] = False,
    strings: Strings = "auto",
    timestamp_unit: TimestampUnit | None = None,
    arrow_schema: bool = True,
    partitions: SchemaLike | None = None,
    verify_checksums: bool = False,
    memory_bytes_max: int = 256 << 20,
    gpu_memory_bytes_max: int = 2 << 30,
) -> Reader:
    """Read Parquet batch by batch, in bounded memory.

    The reader is an iterator of batches and a context manager, or, once, an Arrow stream. The
    arguments and exceptions are those of ``read_parquet``; an error in the data is raised by the
    iteration, after the rows before it.
    """
    options = {
        "columns": columns,
        "filter": filter,
        "row_groups": row_groups,
        "limit": limit,
        "engine": engine,
        "on_device": on_device,
        "threads": threads,
        "batch_rows": batch_rows,
        "dictionary": dictionary,
        "strings": strings,
        "timestamp_unit": timestamp_unit,
        "arrow_schema": arrow_schema,
        "partitions": partitions,
        "verify_checksums": verify_checksums,
        "memory_bytes_max": memory_bytes_max,
        "gpu_memory_bytes_max": gpu_memory_bytes_max,
    }
    return _lib.open_parquet(source, options)


def parquet_metadata(source: Source, *, pages: bool = False) -> FileInfo:
    """Return the metadata of a Parquet file: row groups, columns, sizes, statistics.

    With ``pages`` every page is listed, from its header. No values are decoded.
    """
    info: FileInfo = json.loads(_lib.parquet_metadata(source, pages))
    return info
