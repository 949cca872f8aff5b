# SPDX-License-Identifier: Apache-2.0
"""The types of arguments."""

import os
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from mmap import mmap
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypedDict


class BinaryFile(Protocol):
    """An object with a ``read`` method that returns bytes."""

    def read(self, size: int, /) -> bytes | None:
        """Return at most ``size`` bytes; empty at the end."""
        ...


class UnopenedFile(Protocol):
    """A file that is not open yet: ``fsspec.core.OpenFile``, ``upath.UPath``."""

    @property
    def open(self) -> Callable[..., BinaryFile]:
        """Return the file."""
        ...


class WritableFile(Protocol):
    """An object with a ``write`` method that takes bytes."""

    def write(self, data: Any, /) -> Any:
        """Write bytes, and return how many."""
        ...


class ArrowSchema(Protocol):
    """An object with an Arrow schema: ``pyarrow.Schema``, ``arrowsmith.Schema``."""

    def __arrow_c_schema__(self) -> object:
        """Return the schema as a capsule."""
        ...


class Reject(TypedDict):
    """A record that was skipped or changed, and why. The keys are those of ``--rejects``."""

    source: str | None
    record: int
    line: int
    offset: int
    path: str
    kind: str
    expected: str
    found: str
    kept_as_null: bool
    text: bytes


class ArrowStream(Protocol):
    """An object with Arrow data: a table or reader of any library."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the data as a capsule."""
        ...


class ArrowArray(Protocol):
    """An object with one batch of Arrow data."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Return schema and data as capsules."""
        ...


class Written(NamedTuple):
    """What was written."""

    rows: int
    """Rows in all files."""
    bytes: int
    """Bytes of all files."""


class WriteOptions(TypedDict, total=False):
    """How files are written; the first six are for Parquet, and ``codec`` for text."""

    codec: str | None
    """``none``, ``snappy``, ``lz4``, ``zstd``, ``gzip`` or ``brotli``, the last three with a level
    (``zstd:9``), or ``auto``: none, lz4 or zstd for each column chunk. Default: ``zstd``.
    JSON and CSV: ``none``, ``gzip`` or ``zstd`` for the file, by default by its name
    (``x.jsonl.gz``)."""

    encodings: Literal["smallest", "compatible", "plain"] | None
    """Which encodings are chosen from the data. Default: ``smallest``."""

    bloom_filters: Sequence[str] | None
    """Columns with a bloom filter, by their paths."""

    variant: bool | None
    """Whether columns of JSON text (type ``json``) are written as VARIANT. Default: false."""

    row_group_rows: int | None
    """Maximum rows of a row group. Default: 1048576."""

    row_group_bytes: int | None
    """Arrow data after which a row group ends, in bytes. Default: 256 MiB."""

    sort_by: Sequence[str] | None
    """Sort the rows of each file by these columns: ``["level", "ts desc"]``. Nulls are last."""

    sort_memory: int | None
    """Rows of a file that are sorted in memory, in bytes; more go to temporary files. Default:
    256 MiB."""

    table: Literal["delta", "iceberg"] | None
    """Write a table, or with ``append`` add rows to one. The target is its folder. An Iceberg table
    is one of the file system or the store, without a catalog."""

    partition_by: Sequence[str] | None
    """Write a folder ``name=value`` for each value of these columns, or of ``year(c)``,
    ``month(c)``, ``day(c)`` or ``hour(c)`` of one. The target is a folder."""

    rows_per_file: int | None
    """Start another file after this many rows. The target is a folder."""

    bytes_per_file: int | None
    """Start another file after this many bytes, at the end of a batch or row group. The target is a
    folder."""

    partitions_max: int | None
    """Maximum number of folders ``name=value``. Default: 10000."""

    append: bool | None
    """Add files to a folder that has some already, or rows to a table."""

    threads: int | None
    """Threads that encode; 0: as many as there are processors. Default: 0."""

    fsync: bool | None
    """Sync what was written to disk. Default: no."""


class PageInfo(TypedDict):
    """A page. Sizes are in bytes."""

    dictionary: bool
    encoding: str
    values: int
    rows: int | None
    bytes_compressed: int
    bytes_uncompressed: int
    offset: int


class _Chunk(TypedDict):
    path: str
    codec: str
    encodings: list[str]
    values: int
    nulls: int | None
    min: str | None
    max: str | None
    bytes_compressed: int
    bytes_uncompressed: int
    column_index: bool
    offset_index: bool
    bloom_filter: bool


class ChunkInfo(_Chunk, total=False):
    """A column chunk. Sizes are in bytes; ``pages`` is present if it was requested."""

    pages: list[PageInfo]


class RowGroupInfo(TypedDict):
    """A row group. Sizes are in bytes."""

    rows: int
    bytes_compressed: int
    bytes_uncompressed: int
    columns: list[ChunkInfo]


class ColumnInfo(TypedDict):
    """A leaf column of the whole file. Sizes are in bytes."""

    path: str
    physical_type: str
    codec: str
    encodings: list[str]
    values: int
    nulls: int | None
    bytes_compressed: int
    bytes_uncompressed: int


class FileInfo(TypedDict):
    """The metadata of a Parquet file. Sizes are in bytes."""

    format: Literal["parquet"]
    bytes: int
    rows: int
    version: int
    created_by: str | None
    schema: str
    metadata: dict[str, str]
    row_groups: list[RowGroupInfo]
    columns: list[ColumnInfo]


class Expression(Protocol):
    """An expression of polars or pyarrow."""

    def __and__(self, other: Any, /) -> Any:
        """Both."""
        ...

    def __invert__(self) -> Any:
        """Not."""
        ...


class Appendable(Protocol):
    """A list of rejects, or an object with its ``append``."""

    def append(self, reject: Reject, /) -> object:
        """Append one reject."""
        ...


Progress: TypeAlias = bool | Callable[[int, int | None], object]
"""Whether progress is shown, or what is called with the bytes done and the bytes in all."""
Buffer: TypeAlias = bytes | bytearray | memoryview | mmap
OneSource: TypeAlias = (
    str | os.PathLike[str] | Buffer | BinaryFile | UnopenedFile | AsyncIterable[bytes]
)
Source: TypeAlias = OneSource | Sequence[OneSource]
Target: TypeAlias = str | os.PathLike[str]
StorageOptions: TypeAlias = Mapping[str, str | float | Mapping[str, str] | None]
"""Settings of a store: ``{"aws_region": "eu-central-1"}``; of HTTP also ``headers``."""
TableFormat: TypeAlias = Literal["delta", "iceberg"]
"""Tables whose files are Parquet."""
SchemaLike: TypeAlias = str | os.PathLike[str] | ArrowSchema
TypesLike: TypeAlias = SchemaLike | Mapping[str, str | ArrowSchema]
"""Types by path, as text or Arrow types: ``{"id": "utf8", "user.born": pa.date32()}``."""

Value: TypeAlias = object
"""A number, text, bytes, bool, date, time, ``Decimal``, UUID, or a numpy scalar of one of these."""
Test: TypeAlias = tuple[str, str, Value]
"""Column, operator and value: ``("fare", ">", 10)``, ``("zone", "in", {"A", "B"})``."""
Filter: TypeAlias = str | Test | Sequence[Test] | Sequence[Sequence[Test]] | Expression
