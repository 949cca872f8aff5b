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
from collections.abc import Callable
from typing import TYPE_CHECKING

from arrowsmith import _convert as _convert
from arrowsmith import _lib
from arrowsmith._lib import Batch, Reader, Schema, Table, __version__
from arrowsmith._options import InferOptions, JsonReadOptions, ParquetReadOptions
from arrowsmith._progress import watching
from arrowsmith._scan import Scan, check_parents, translated
from arrowsmith._signature import with_options
from arrowsmith._sources import opened, stored, table_of, writable
from arrowsmith._types import (
    Appendable,
    ArrowArray,
    ArrowStream,
    FileInfo,
    Progress,
    Reject,
    SchemaLike,
    Source,
    StorageOptions,
    TableFormat,
    Target,
    UnopenedFile,
    WritableFile,
    WriteOptions,
    Written,
)
from arrowsmith.errors import ArrowsmithError, ConfigError, DataError, FileError, SchemaError

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "ArrowsmithError",
    "Batch",
    "ConfigError",
    "DataError",
    "FileError",
    "FileInfo",
    "InferOptions",
    "JsonReadOptions",
    "ParquetReadOptions",
    "Reader",
    "Reject",
    "Scan",
    "Schema",
    "SchemaError",
    "Table",
    "WriteOptions",
    "Written",
    "__version__",
    "convert_json",
    "infer_schema",
    "open_json",
    "open_parquet",
    "parquet_metadata",
    "read_json",
    "read_json_async",
    "read_parquet",
    "read_parquet_async",
    "scan_json",
    "scan_parquet",
    "write_parquet",
]


@with_options(JsonReadOptions)
def read_json(
    source: Source,
    schema: SchemaLike | None = None,
    *,
    rejects: Callable[[Reject], object] | Appendable | None = None,
    on_device: bool = False,
    storage_options: StorageOptions | None = None,
    progress: Progress = False,
    **options: "Unpack[JsonReadOptions]",
) -> Table:
    """Read all of ``source``.

    Args:
        source: a path, a glob pattern (as a string), a URL, bytes, a buffer, a binary file, one
            that is not open yet (of fsspec or upath), or a list of these, which are read one after
            another. Compressed input is detected.
        schema: its text form, the path of a schema file, or any object with
            ``__arrow_c_schema__``, such as a ``pyarrow.Schema``; inferred if ``None``.
        rejects: a list to append to, or a function to call, with each record that was skipped or
            changed and the reason.
        on_device: leave the batches in GPU memory, for ``Batch.__arrow_c_device_array__``;
            requires ``engine="gpu"``, or ``"auto"`` on a machine with a GPU.
        storage_options: settings of the store that the source is in, beside the environment's:
            ``{"aws_region": "eu-central-1", "aws_access_key_id": ...}``, as polars names them;
            ``{"token": ...}`` of a hub; ``{"headers": {...}}`` or ``{"token": ...}`` of HTTP.
        progress: whether to show a bar (of tqdm, or a line on a terminal), or a function that is
            called with the bytes done and the bytes in all, ``None`` if that is not known. The
            bytes are those of the source as it is stored.
        **options: how the source is read; ``None`` is the default of each:

    Raises:
        DataError: the input does not match the schema.
        SchemaError: the schema is invalid.
        ConfigError: the value of an option is not allowed.
        TypeError: there is no such option, or its value has another type.
        OSError: reading failed; ``FileNotFoundError`` and so on.
    """
    given = translated("json", source, schema, options, storage_options)
    source = opened(source, storage_options)
    with watching(progress) as watch:
        table = _lib.read_json(source, schema, rejects, on_device, given, None, watch)
    check_parents(table.schema, options)
    return table


@with_options(JsonReadOptions)
async def read_json_async(
    source: Source,
    schema: SchemaLike | None = None,
    *,
    rejects: Callable[[Reject], object] | Appendable | None = None,
    on_device: bool = False,
    storage_options: StorageOptions | None = None,
    progress: Progress = False,
    **options: "Unpack[JsonReadOptions]",
) -> Table:
    """Read all of ``source`` while the event loop runs.

    The arguments and exceptions are those of ``read_json``; a source may also be an asynchronous
    iterator of bytes. Cancelling the task stops the work.
    """
    from arrowsmith._async import reading

    with watching(progress) as watch:
        table = await reading(
            source,
            storage_options,
            lambda file, cancel: _lib.read_json(
                file,
                schema,
                rejects,
                on_device,
                translated("json", source, schema, options, storage_options),
                cancel,
                watch,
            ),
        )
    check_parents(table.schema, options)
    return table


@with_options(JsonReadOptions)
def open_json(
    source: Source,
    schema: SchemaLike | None = None,
    *,
    rejects: Callable[[Reject], object] | Appendable | None = None,
    on_device: bool = False,
    storage_options: StorageOptions | None = None,
    **options: "Unpack[JsonReadOptions]",
) -> Reader:
    """Read ``source`` batch by batch, in bounded memory.

    The reader is an iterator of batches and a context manager (``for`` and ``async for``, ``with``
    and ``async with``), or, once, an Arrow stream. The arguments and exceptions are those of
    ``read_json``; an error in the data is raised by the iteration, after the rows before it.
    """
    given = translated("json", source, schema, options, storage_options)
    reader = _lib.open_json(opened(source, storage_options), schema, rejects, on_device, given)
    check_parents(reader.schema, options)
    return reader


@with_options(JsonReadOptions)
def scan_json(
    source: Source,
    schema: SchemaLike | None = None,
    *,
    storage_options: StorageOptions | None = None,
    **options: "Unpack[JsonReadOptions]",
) -> Scan:
    """Return a scan of ``source``: nothing is read before rows are needed.

    The arguments and exceptions are those of ``open_json``; file objects are not accepted, because
    a scan may be read several times.
    """
    return Scan("json", source, schema, options, storage_options)


@with_options(InferOptions)
def infer_schema(
    source: Source,
    *,
    storage_options: StorageOptions | None = None,
    **options: "Unpack[InferOptions]",
) -> Schema:
    """Infer a schema that matches the first records of ``source``.

    ``str`` of it is the text form, which can be edited and stored. The arguments are those of
    ``read_json``. The position of a file object is after the bytes that were read.
    """
    schema = _lib.infer_schema(opened(source, storage_options), options)
    check_parents(schema, options)
    return schema


@with_options(ParquetReadOptions)
def read_parquet(
    source: Source,
    *,
    on_device: bool = False,
    table: TableFormat | None = None,
    storage_options: StorageOptions | None = None,
    progress: Progress = False,
    **options: "Unpack[ParquetReadOptions]",
) -> Table:
    """Read Parquet: all of ``source``, or selected columns and rows.

    Conditions (``filter``) are text, such as ``"fare > 10 and zone is null"``, or tuples as in
    pyarrow and pandas: ``[("fare", ">", 10), ("zone", "=", "A")]`` is a conjunction, a list of such
    lists a disjunction of them, or an expression of polars or pyarrow. A comparison with null is
    neither true nor false, as in SQL. Row groups and pages that cannot match are not read.

    Args:
        source: a path, a folder, a glob pattern (as a string), bytes, a buffer, a binary file, or a
            list of these, which are read one after another. All files must have the columns of the
            first. ``name=value`` folders below a folder, or matched by a pattern's wildcards, are
            partition columns.
        on_device: leave the batches, one per row group, in GPU memory, for
            ``Batch.__arrow_c_device_array__``; requires ``engine="gpu"``, or ``"auto"`` on a
            machine with a GPU.
        table: ``"delta"`` or ``"iceberg"``: the source is the folder of such a table, a path or
            URL, or a file ``….metadata.json`` of an Iceberg table. Read is its current version.
        storage_options: settings of the store that the source is in, see ``read_json``.
        progress: see ``read_json``.
        **options: what is read and how; ``None`` is the default of each:

    Raises:
        FileError: a file is invalid, or uses something unsupported.
        ConfigError: the value of an option is not allowed, or names a column that does not exist.
        TypeError: there is no such option, or its value has another type.
        OSError: reading failed; ``FileNotFoundError`` and so on.
    """
    source = table_of(source, table)
    given = translated("parquet", source, None, options, storage_options)
    source = opened(source, storage_options)
    with watching(progress) as watch:
        return _lib.read_parquet(source, on_device, given, None, watch)


@with_options(ParquetReadOptions)
async def read_parquet_async(
    source: Source,
    *,
    on_device: bool = False,
    table: TableFormat | None = None,
    storage_options: StorageOptions | None = None,
    progress: Progress = False,
    **options: "Unpack[ParquetReadOptions]",
) -> Table:
    """Read Parquet while the event loop runs.

    The arguments and exceptions are those of ``read_parquet``. Cancelling the task stops the work.
    """
    from arrowsmith._async import reading

    source = table_of(source, table)
    with watching(progress) as watch:
        return await reading(
            source,
            storage_options,
            lambda file, cancel: _lib.read_parquet(
                file,
                on_device,
                translated("parquet", source, None, options, storage_options),
                cancel,
                watch,
            ),
        )


@with_options(ParquetReadOptions)
def open_parquet(
    source: Source,
    *,
    on_device: bool = False,
    table: TableFormat | None = None,
    storage_options: StorageOptions | None = None,
    **options: "Unpack[ParquetReadOptions]",
) -> Reader:
    """Read Parquet batch by batch, in bounded memory.

    The reader is an iterator of batches and a context manager (``for`` and ``async for``, ``with``
    and ``async with``), or, once, an Arrow stream. The arguments and exceptions are those of
    ``read_parquet``; an error in the data is raised by the iteration, after the rows before it.
    """
    source = table_of(source, table)
    given = translated("parquet", source, None, options, storage_options)
    return _lib.open_parquet(opened(source, storage_options), on_device, given)


@with_options(ParquetReadOptions)
def scan_parquet(
    source: Source,
    *,
    table: TableFormat | None = None,
    storage_options: StorageOptions | None = None,
    **options: "Unpack[ParquetReadOptions]",
) -> Scan:
    """Return a scan of ``source``: nothing is read before rows are needed.

    The arguments and exceptions are those of ``open_parquet``; file objects are not accepted,
    because a scan may be read several times.
    """
    return Scan("parquet", table_of(source, table), None, options, storage_options)


def write_parquet(
    data: ArrowStream | ArrowArray,
    target: Target | WritableFile | UnopenedFile,
    *,
    storage_options: StorageOptions | None = None,
    progress: Progress = False,
    **options: "Unpack[WriteOptions]",
) -> Written:
    """Write Parquet: all of ``data``, batch by batch.

    The file, or all files of a folder, appear when they are complete; after an exception nothing is
    left.

    Args:
        data: a table or reader of any library with the Arrow PyCapsule interface: ``Table`` and
            ``Reader`` of this package, of pyarrow, polars, DuckDB, pandas.
        target: a path, or a URL such as ``s3://bucket/table.parquet``; a folder if it ends in
            ``/``, is one, or an option needs one. Or a binary file, or one that is not open yet (of
            fsspec or upath): it is written when all is complete.
        storage_options: settings of the store that the target is in, see ``read_json``.
        progress: see ``read_json``; the bytes are those of Arrow.
        **options: how the file is written, see ``WriteOptions``; ``None`` is the default of each.

    Raises:
        SchemaError: Parquet has no such type, or there is no such column to partition by.
        ConfigError: the value of an option is not allowed.
        TypeError: there is no such option, or its value has another type.
        OSError: writing failed.
    """
    total = getattr(data, "nbytes", None)
    total = total if isinstance(total, int) else None
    with writable(target, storage_options, options) as place, watching(progress) as watch:
        return Written(*_lib.write_parquet(data, place, options, watch, total))


@with_options(JsonReadOptions)
def convert_json(
    source: Source,
    target: Target,
    schema: SchemaLike | None = None,
    *,
    rejects: Callable[[Reject], object] | Appendable | None = None,
    write: WriteOptions | None = None,
    storage_options: StorageOptions | None = None,
    progress: Progress = False,
    **options: "Unpack[JsonReadOptions]",
) -> Written:
    """Convert JSON to files, in bounded memory.

    An inferred schema grows with the data, as in ``read_json`` and the command ``arrowsmith
    convert``. The other arguments and exceptions are those of ``read_json``.

    Args:
        source: as for ``read_json``.
        target: a path or URL that ends in ``.arrow``, ``.arrows``, ``.parquet`` or ``.jsonl``, or a
            folder, of Parquet files.
        schema: as for ``read_json``.
        rejects: as for ``read_json``.
        write: how the files are written, see ``WriteOptions``.
        storage_options: settings of the stores of source and target, see ``read_json``.
        progress: see ``read_json``.
        **options: how the source is read; ``None`` is the default of each:
    """
    target = stored(target, storage_options)
    given = translated("json", source, schema, options, storage_options)
    source, how = opened(source, storage_options), write or {}
    with watching(progress) as watch:
        return Written(*_lib.convert_json(source, target, schema, rejects, given, how, watch))


def parquet_metadata(
    source: Source, *, pages: bool = False, storage_options: StorageOptions | None = None
) -> FileInfo:
    """Return the metadata of a Parquet file: row groups, columns, sizes, statistics.

    With ``pages`` every page is listed, from its header. No values are decoded.
    """
    info: FileInfo = json.loads(_lib.parquet_metadata(opened(source, storage_options), pages))
    return info
