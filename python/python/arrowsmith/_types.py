# SPDX-License-Identifier: Apache-2.0
"""The types of arguments."""

import os
from collections.abc import Sequence
from mmap import mmap
from typing import Literal, Protocol, TypeAlias, TypedDict


class BinaryFile(Protocol):
    """What has a ``read`` that gives bytes."""

    def read(self, size: int, /) -> bytes | None:
        """Give at most ``size`` bytes; none at the end."""
        ...


class ArrowSchema(Protocol):
    """What has an Arrow schema: ``pyarrow.Schema``, ``arrowsmith.Schema``."""

    def __arrow_c_schema__(self) -> object:
        """Give the schema as a capsule."""
        ...


class Reject(TypedDict):
    """A record that was left out or changed, and why. The keys of the command's ``--rejects``."""

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


class Appendable(Protocol):
    """A list of rejects, or what acts like one."""

    def append(self, reject: Reject, /) -> object:
        """Take one."""
        ...


Buffer: TypeAlias = bytes | bytearray | memoryview | mmap
OneSource: TypeAlias = str | os.PathLike[str] | Buffer | BinaryFile
Source: TypeAlias = OneSource | Sequence[OneSource]
SchemaLike: TypeAlias = str | os.PathLike[str] | ArrowSchema

Engine: TypeAlias = Literal["cpu", "reference"]
Format: TypeAlias = Literal["auto", "ndjson", "concatenated", "array"]
Compression: TypeAlias = Literal["auto", "none", "gzip", "zstd", "lz4"]
OnError: TypeAlias = Literal["fail", "null", "skip"]
DuplicateKeys: TypeAlias = Literal["last", "error"]
UnknownKeys: TypeAlias = Literal["skip", "error"]
