# SPDX-License-Identifier: Apache-2.0
"""The types of arguments."""

import os
from collections.abc import Mapping, Sequence
from mmap import mmap
from typing import Literal, Protocol, TypeAlias, TypedDict


class BinaryFile(Protocol):
    """An object with a ``read`` method that returns bytes."""

    def read(self, size: int, /) -> bytes | None:
        """Return at most ``size`` bytes; empty at the end."""
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


class Appendable(Protocol):
    """A list of rejects, or an object with its ``append``."""

    def append(self, reject: Reject, /) -> object:
        """Append one reject."""
        ...


Buffer: TypeAlias = bytes | bytearray | memoryview | mmap
OneSource: TypeAlias = str | os.PathLike[str] | Buffer | BinaryFile
Source: TypeAlias = OneSource | Sequence[OneSource]
SchemaLike: TypeAlias = str | os.PathLike[str] | ArrowSchema
TypesLike: TypeAlias = SchemaLike | Mapping[str, str | ArrowSchema]
"""Types by path, as text or Arrow types: ``{"id": "utf8", "user.born": pa.date32()}``."""

Value: TypeAlias = object
"""A number, text, bytes, bool, date, time, ``Decimal``, UUID, or a numpy scalar of one of these."""
Test: TypeAlias = tuple[str, str, Value]
"""Column, operator and value: ``("fare", ">", 10)``, ``("zone", "in", {"A", "B"})``."""
Filter: TypeAlias = str | Test | Sequence[Test] | Sequence[Sequence[Test]]
