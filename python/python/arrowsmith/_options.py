# SPDX-License-Identifier: Apache-2.0
"""The options. Made from crates/arrowsmith/src/options/table.rs by its tests."""

from collections.abc import Sequence
from typing import Literal, TypeAlias, TypedDict

from arrowsmith._types import Filter, SchemaLike, TypesLike

Engine: TypeAlias = Literal["cpu", "gpu", "rtl", "reference", "auto"]
Format: TypeAlias = Literal["auto", "ndjson", "concatenated", "array"]
Compression: TypeAlias = Literal["auto", "none", "gzip", "zstd", "lz4", "bzip2", "xz"]
Dialect: TypeAlias = Literal["iso", "spark"]
OnError: TypeAlias = Literal["fail", "null", "skip"]
DuplicateKeys: TypeAlias = Literal["last", "error"]
UnknownKeys: TypeAlias = Literal["skip", "error"]
LateKeys: TypeAlias = Literal["add", "error", "ignore"]
LateColumns: TypeAlias = Literal["error", "add", "ignore"]
Strings: TypeAlias = Literal["auto", "small", "large", "view"]
Lists: TypeAlias = Literal["auto", "small", "large"]
TimestampUnit: TypeAlias = Literal["s", "ms", "us", "ns"]


class InferOptions(TypedDict, total=False):
    """How a schema is inferred from JSON."""

    depth_max: int
    """Maximum nesting depth of a record, or of a file's schema. Default: ``128``."""

    types: TypesLike | None
    """Types of some columns, by their paths: ``id: utf8, user.born: date32``. The other types are
    those of the schema, given or inferred."""

    coerce: str | None
    """Values that columns take beyond those of their types: ``scalars`` (numbers in strings and
    back, 0 and 1 as booleans), ``epoch ms`` (numbers in timestamps), ``format "%d.%m.%Y"``, ``nulls
    "N/A" "-"``; null words in all columns, the others where the type is given."""

    format: Format
    """How records are separated: ``auto`` (detect from the first bytes: an array, one record per
    line, or else concatenated), ``ndjson`` (one record per line), ``concatenated`` (records one
    after another, each on any number of lines), ``array`` (the elements of one array). Default:
    ``auto``."""

    records: str | None
    """The records of a document are the elements of the array at this path: keys with dots between
    them (``data.items``), or a JSON pointer (``/data/items``). Default: documents are records."""

    parent_fields: Sequence[str] | None
    """Fields of a document, beside its records, that these have as columns, too: paths as that of
    the records, through objects only, or ``NAME=PATH``."""

    range_start: int
    """Read only lines that begin after this byte, or with 0 from the first one: with ``range_end``
    the part of one plain file. Adjacent ranges have every line once. Default: ``0``."""

    range_end: int | None
    """Read only lines that begin at this byte or before it; the last one is read to its end.
    Default: the end."""

    compression: Compression
    """How the input is compressed: ``auto`` (detect from the first bytes), ``none``, ``gzip``,
    ``zstd``, ``lz4``, ``bzip2``, ``xz``. Default: ``auto``."""

    record_bytes_max: int | str
    """Maximum size of a record. Default: ``128MiB``."""

    fields_max: int
    """Maximum number of fields of a schema, given or inferred, nested fields included. Default:
    ``10000``."""

    row_bytes_max: int | str
    """Maximum Arrow size of an empty record: bounds columns of fixed size. Default: ``1MiB``."""

    batch_bytes_max: int | str
    """Maximum Arrow size of one record. Default: ``1GiB``."""

    allow_nan: bool
    """Accept ``NaN``, ``Infinity`` and ``-Infinity`` in floating-point columns."""

    infer_records: int | Literal["all"]
    """Number of records to infer the schema from, or ``all``. Default: ``10000``."""

    object_keys_max: int
    """Infer a map for objects below the record with more distinct keys than this. Default:
    ``1000``."""

    infer_timestamps: bool
    """Infer dates and timestamps for string fields whose values are all in ISO 8601."""


class JsonReadOptions(InferOptions, total=False):
    """How JSON is read."""

    columns: Sequence[str] | None
    """The columns to keep, as paths such as ``user.name``. Default: all."""

    filter: Filter | None
    """Keep only rows that match this condition: ``fare > 10 and (zone = 'A' or zone is null)``."""

    limit: int | None
    """Read at most this many rows, of those that match. Default: all rows."""

    partitions: SchemaLike | None
    """Types of partition columns, whose values are in folder names: ``year: int32, zone: utf8``.
    Default: inferred."""

    engine: Engine
    """The engine that decodes; what it declines, the next one decodes. Default: ``cpu``."""

    threads: int | None
    """Number of decoder threads. Default: one per core."""

    memory_bytes_max: int | str
    """Working memory, not counting mapped input and output batches. Default: ``256MiB``."""

    gpu_memory_bytes_max: int | str
    """GPU memory per decoder thread; larger inputs are split, or decoded on the CPU. Default:
    ``2GiB``."""

    batch_rows: int | None
    """Rows per batch: of JSON exactly, the last batch excepted; of Parquet the maximum. Default:
    the rows in 1 MiB of JSON; for Parquet at most 131072."""

    skip: int
    """Skip this many rows, of those that match. Default: ``0``."""

    rescued_column: str | None
    """Add a column of this name with the keys that the schema lacks and their values, as a JSON
    object; null where it has them all. An inferred schema does not grow then."""

    flatten: bool
    """Make the fields of objects columns of their own, with dotted names: ``user.name``."""

    file_column: str | None
    """Add a column of this name with the name of the file that a row is from."""

    offset_column: str | None
    """Add a column of this name with the byte of its file, uncompressed, at which the record
    starts."""

    record_column: str | None
    """Add a column of this name with the number of the record in its file, from 0."""

    spool_bytes_max: int | str
    """Maximum bytes of standard input and other streams, together, that are kept in a temporary
    file, so that they can be read again when an inferred schema grows. Default: ``1GiB``."""

    dialect: Dialect
    """Whose rules apply to values: with ``spark``, dates, timestamps, base64, and values in columns
    of strings are read as by the JSON source of Apache Spark: ``iso`` (exactly ISO 8601; strings
    only in columns of strings), ``spark`` (as Apache Spark 4 reads JSON). Default: ``iso``."""

    trust: bool
    """Trust the input to be valid JSON: values that no column needs are not validated."""

    on_error: OnError
    """How to handle records that do not match the schema: ``fail`` (stop with an error; the rows
    before it are kept), ``null`` (replace a value that does not match by null), ``skip`` (skip the
    record). Default: ``fail``."""

    duplicate_keys: DuplicateKeys
    """How to handle a key that appears twice in an object: ``last`` (use the last value), ``error``
    (treat the record as one that does not match the schema). Default: ``last``."""

    unknown_keys: UnknownKeys
    """How to handle a key that is not in the schema: ``skip`` (ignore the key and its value),
    ``error`` (treat the record as one that does not match the schema). Default: ``skip``."""

    late_keys: LateKeys
    """How to handle keys that an inferred schema lacks because they first appear after the records
    that it was inferred from: ``add`` (add columns; an error in streams, whose schema comes first),
    ``error`` (fail, with the key and its position), ``ignore`` (skip the key and its value, and
    count it). Default: ``add``."""

    batch_bytes: int | str | None
    """Approximate Arrow size of a batch."""


class ParquetReadOptions(TypedDict, total=False):
    """How Parquet is read."""

    columns: Sequence[str] | None
    """The columns to keep, as paths such as ``user.name``. Default: all."""

    filter: Filter | None
    """Keep only rows that match this condition: ``fare > 10 and (zone = 'A' or zone is null)``."""

    limit: int | None
    """Read at most this many rows, of those that match. Default: all rows."""

    partitions: SchemaLike | None
    """Types of partition columns, whose values are in folder names: ``year: int32, zone: utf8``.
    Default: inferred."""

    engine: Engine
    """The engine that decodes; what it declines, the next one decodes. Default: ``cpu``."""

    threads: int | None
    """Number of decoder threads. Default: one per core."""

    memory_bytes_max: int | str
    """Working memory, not counting mapped input and output batches. Default: ``256MiB``."""

    gpu_memory_bytes_max: int | str
    """GPU memory per decoder thread; larger inputs are split, or decoded on the CPU. Default:
    ``2GiB``."""

    depth_max: int
    """Maximum nesting depth of a record, or of a file's schema. Default: ``128``."""

    batch_rows: int | None
    """Rows per batch: of JSON exactly, the last batch excepted; of Parquet the maximum. Default:
    the rows in 1 MiB of JSON; for Parquet at most 131072."""

    row_groups: Sequence[int] | None
    """Read only these row groups of a single file, in this order. Default: all."""

    late_columns: LateColumns
    """How to handle columns, and fields of structs, that the first of several files lacks:
    ``error`` (fail, with the column's name, unless only other columns are read), ``add`` (add
    columns: the metadata of all files is read first, and types hold their values), ``ignore``
    (leave the column out). Default: ``error``."""

    dictionary: bool | Sequence[str]
    """String and binary columns to read as dictionaries, as paths, or all of them. Default:
    ``false``."""

    strings: Strings
    """The Arrow type of strings and binary values: ``auto`` (as in the Arrow schema that is stored
    in the file, else small), ``small`` (32-bit offsets: utf8, binary), ``large`` (64-bit offsets:
    large_utf8, large_binary), ``view`` (views: utf8_view, binary_view). Default: ``auto``."""

    lists: Lists
    """The Arrow type of lists: ``auto`` (as in the Arrow schema that is stored in the file, else
    small), ``small`` (32-bit offsets: list), ``large`` (64-bit offsets: large_list). Default:
    ``auto``."""

    timestamp_unit: TimestampUnit | None
    """The unit of all timestamps; what is finer is truncated: ``s``, ``ms``, ``us``, ``ns``.
    Default: that of the file."""

    arrow_schema: bool
    """Use the Arrow schema that is stored in the file by its writer."""

    verify_checksums: bool
    """Verify page checksums."""

    metadata_bytes_max: int | str
    """Maximum size of the footer of a file. Default: ``256MiB``."""

    page_bytes_max: int | str
    """Maximum size of a page, before and after decompression, and of a column in one batch.
    Default: ``2147483647``."""
