# SPDX-License-Identifier: Apache-2.0
"""JSON and Parquet to Apache Arrow, at the speed of the hardware.

>>> import arrowsmith
>>> table = arrowsmith.read_json(b'{"name":"ada","age":36}')
>>> print(table.schema, end="")
name: utf8
age: int64

What comes out speaks the Arrow PyCapsule interface: pyarrow, polars, DuckDB and pandas take its
memory as it is.
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
            these, which are read one after another. Compressed input is recognised.
        schema: its text form, the path of a schema file, or anything with
            ``__arrow_c_schema__``, such as a ``pyarrow.Schema``; inferred if there is none.
        columns: paths of the columns to keep: ``["id", "user.name"]``.
        engine: what decodes.
        on_device: leave the batches on the GPU, for ``Batch.__arrow_c_device_array__``; with
            ``engine="gpu"``, or with ``"auto"`` where there is one.
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
        fields_max: most fields of a schema, given or inferred, those inside others too.
        row_bytes_max: most that an empty record may become in Arrow, in bytes.
        batch_bytes_max: most that one record may become in Arrow, in bytes.
        memory_bytes_max: working memory beyond mapped input and batches, in bytes.
        gpu_memory_bytes_max: memory of the GPU for each thread that decodes on it, in bytes.
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
    arguments, and what is raised, are those of ``read_json``; errors of the data come with the
    batches, after the rows before them.
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
    """Read Parquet: all of ``source``, or what is asked for.

    Args:
        source: a path, a folder, a glob pattern (as a string), bytes, a buffer, a binary file, or a
            list of these, which are read one after another. The first file's columns are those of
            all. ``name=value`` folders below a folder, or in what a pattern's wildcards stand for,
            are columns.
        columns: paths of the columns to read: ``["id", "user.name"]``.
        filter: only rows for which this holds. Text, such as ``"fare > 10 and zone is null"``,
            or tuples as pyarrow and pandas take them: ``[("fare", ">", 10), ("zone", "=", "A")]``
            is a conjunction, a list of such lists a disjunction of them. A comparison with null is
            neither true nor false, as in SQL. Row groups and pages that cannot match are not read.
        row_groups: numbers of the row groups to read, of a single file.
        limit: rows, at most.
        engine: what decodes; ``"reference"`` is the ``parquet`` crate.
        on_device: leave the batches, one a row group, on the GPU, for
            ``Batch.__arrow_c_device_array__``; with ``engine="gpu"``, or with ``"auto"`` where
            there is one.
        threads: threads that decode; one for each core if there is no number.
        batch_rows: rows of a batch, at most.
        dictionary: string and binary columns to read as dictionaries: ``True`` for all, or paths.
        strings: form of strings and binary values: with offsets of 32 (``"small"``) or 64 bits
            (``"large"``), as views, or as the file's Arrow schema says.
        timestamp_unit: unit of all timestamps; as the file says if there is none.
        arrow_schema: follow the Arrow schema that a writer put into the file.
        partitions: types of columns from folders' names; those of the others are inferred.
        verify_checksums: hold pages to their checksums.
        memory_bytes_max: working memory beyond mapped input and batches, in bytes.
        gpu_memory_bytes_max: memory of the GPU for each thread that decodes on it, in bytes.

    Raises:
        FileError: a file is not sound, or holds what cannot be read.
        ConfigError: an option makes no sense, or names a column that is not there.
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
    arguments, and what is raised, are those of ``read_parquet``; errors of the data come with the
    batches, after the rows before them.
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
    """Say what is in a Parquet file: row groups, columns, sizes, statistics.

    With ``pages`` every page is listed, from its header. No value is decoded.
    """
    info: FileInfo = json.loads(_lib.parquet_metadata(source, pages))
    return info
