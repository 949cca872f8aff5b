# SPDX-License-Identifier: Apache-2.0
"""The functions that the modules for distributed engines have in common."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from arrowsmith import scan_json, scan_parquet
from arrowsmith._options import JsonReadOptions, ParquetReadOptions
from arrowsmith._scan import SPLIT_BYTES, Scan
from arrowsmith._signature import with_options
from arrowsmith._types import SchemaLike, Source, StorageOptions, TableFormat

if TYPE_CHECKING:
    from typing_extensions import Unpack


class ReadJson(Protocol):
    """``read_json`` of an engine."""

    def __call__(
        self,
        source: Source,
        schema: SchemaLike | None = None,
        *,
        split_bytes: int | str = SPLIT_BYTES,
        storage_options: StorageOptions | None = None,
        **options: "Unpack[JsonReadOptions]",
    ) -> Any:
        """Read JSON."""


class ReadParquet(Protocol):
    """``read_parquet`` of an engine."""

    def __call__(
        self,
        source: Source,
        *,
        split_bytes: int | str = SPLIT_BYTES,
        table: TableFormat | None = None,
        storage_options: StorageOptions | None = None,
        **options: "Unpack[ParquetReadOptions]",
    ) -> Any:
        """Read Parquet."""


def readers(frame: Callable[[Scan, int | str], Any]) -> tuple[ReadJson, ReadParquet]:
    """Return ``read_json`` and ``read_parquet``; ``frame`` makes the engine's object of a scan."""

    @with_options(JsonReadOptions)
    def read_json(
        source: Source,
        schema: SchemaLike | None = None,
        *,
        split_bytes: int | str = SPLIT_BYTES,
        storage_options: StorageOptions | None = None,
        **options: "Unpack[JsonReadOptions]",
    ) -> Any:
        """Return the rows of ``source``, read in parts.

        The arguments and exceptions are those of ``scan_json`` and ``Scan.split``.

        Args:
            source: paths, patterns, folders or URLs; see ``read_json``.
            schema: inferred if ``None``.
            split_bytes: the approximate size of a part.
            storage_options: settings of the store; each part has them.
            **options: how the source is read; ``None`` is the default of each:
        """
        return frame(
            scan_json(source, schema, storage_options=storage_options, **options), split_bytes
        )

    @with_options(ParquetReadOptions)
    def read_parquet(
        source: Source,
        *,
        split_bytes: int | str = SPLIT_BYTES,
        table: TableFormat | None = None,
        storage_options: StorageOptions | None = None,
        **options: "Unpack[ParquetReadOptions]",
    ) -> Any:
        """Return the rows of ``source``, read in parts.

        The arguments and exceptions are those of ``scan_parquet`` and ``Scan.split``.

        Args:
            source: paths, patterns, folders or URLs; see ``read_parquet``.
            split_bytes: the approximate size of a part.
            table: ``"delta"`` or ``"iceberg"``, see ``read_parquet``.
            storage_options: settings of the store; each part has them.
            **options: what is read and how; ``None`` is the default of each:
        """
        scan = scan_parquet(source, table=table, storage_options=storage_options, **options)
        return frame(scan, split_bytes)

    return read_json, read_parquet
