# SPDX-License-Identifier: Apache-2.0
"""The exceptions of this package. I/O errors are ``OSError``, as everywhere in Python."""


class ArrowsmithError(Exception):
    """The base of all errors of this package, except for ``OSError`` and ``TypeError``."""


class DataError(ArrowsmithError, ValueError):
    """The input does not match the schema; with the position of the error."""

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
    """What the schema expects here."""
    found: str
    """What was found instead."""
    hint: str | None
    """An option that would help, if there is one."""


class FileError(ArrowsmithError, ValueError):
    """A Parquet file is invalid or uses something unsupported; with the position of the error."""

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
    """The schema cannot be read, or cannot be decoded from JSON."""

    path: str
    """The field; empty for the schema as a whole."""


class ConfigError(ArrowsmithError, ValueError):
    """An option has an invalid value."""
