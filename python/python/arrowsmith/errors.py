# SPDX-License-Identifier: Apache-2.0
"""The exceptions of this package. Reading that fails is an ``OSError``, as everywhere in Python."""


class ArrowsmithError(Exception):
    """Whatever goes wrong in this package, unless it is an ``OSError`` or a ``TypeError``."""


class DataError(ArrowsmithError, ValueError):
    """The input does not hold what the schema says: what is wrong, and where."""

    kind: str
    """The kind, for programs: ``"wrong-type"``, ``"overflow"``, ``"syntax"``, …"""
    source: str | None
    """The path or the file's name; ``None`` for bytes in memory."""
    record: int
    """Number of the record in its source, from 0."""
    line: int
    """Number of the line in its source, from 1."""
    offset: int
    """Offset of the byte in its source, after decompression, from 0."""
    path: str
    """The field: ``"user.tags[3]"``; empty for the record itself."""
    expected: str
    """What the schema has here."""
    found: str
    """What is there instead."""
    hint: str | None
    """The option that helps, where one does."""


class FileError(ArrowsmithError, ValueError):
    """A Parquet file that is not sound, or holds what cannot be read: what is wrong, and where."""

    kind: str
    """The kind, for programs: ``"format"``, ``"truncated"``, ``"corrupt"``, ``"encrypted"``, …"""
    source: str | None
    """The path or the file's name; ``None`` for bytes in memory."""
    row_group: int | None
    """Number of the row group in its file, from 0."""
    column: str | None
    """Path of the column, dotted."""
    page: int | None
    """Number of the page in its column chunk, from 0."""
    offset: int | None
    """Offset in the file, in bytes."""


class SchemaError(ArrowsmithError, ValueError):
    """The schema cannot be read, or no JSON can be decoded into it."""

    path: str
    """The field; empty for the schema as a whole."""


class ConfigError(ArrowsmithError, ValueError):
    """An option has a value that makes no sense."""
