# SPDX-License-Identifier: Apache-2.0
"""JSON and Parquet as a Ray dataset: one read task for each part of the source.

Columns that a dataset does not use are not read.
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import ray.data
from ray.data import Datasource, ReadTask
from ray.data.block import BlockMetadata

from arrowsmith import scan_json, scan_parquet
from arrowsmith._options import JsonReadOptions, ParquetReadOptions
from arrowsmith._scan import SPLIT_BYTES, Scan
from arrowsmith._types import SchemaLike, Source

if TYPE_CHECKING:
    from typing_extensions import Unpack


def read_json(
    source: Source,
    schema: SchemaLike | None = None,
    *,
    split_bytes: int | str = SPLIT_BYTES,
    **options: "Unpack[JsonReadOptions]",
) -> Any:
    """Return a ``ray.data.Dataset`` of ``source``.

    The arguments and exceptions are those of ``scan_json`` and ``Scan.split``.
    """
    return ray.data.read_datasource(
        ScanDatasource(scan_json(source, schema, **options), split_bytes)
    )


def read_parquet(
    source: Source,
    *,
    split_bytes: int | str = SPLIT_BYTES,
    **options: "Unpack[ParquetReadOptions]",
) -> Any:
    """Return a ``ray.data.Dataset`` of ``source``.

    The arguments and exceptions are those of ``scan_parquet`` and ``Scan.split``.
    """
    return _dataset(scan_parquet(source, **options), split_bytes)


class ScanDatasource(Datasource):  # type: ignore[misc]
    """A scan, for ``ray.data.read_datasource``."""

    def __init__(self, scan: Scan, split_bytes: int | str) -> None:
        """Split the scan into parts of about ``split_bytes`` bytes."""
        super().__init__()
        self._projection_map: dict[str, str] | None = None
        self._schema = scan.schema.to_pyarrow()
        self._splits = scan.split(split_bytes)

    def get_name(self) -> str:
        """Return the name that Ray shows."""
        return "Arrowsmith"

    def estimate_inmemory_data_size(self) -> int | None:
        """Return ``None``: the size is not known."""
        return None

    def supports_projection_pushdown(self) -> bool:
        """Only columns that are used are read."""
        return True

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None
    ) -> list[ReadTask]:
        """Return a task for each part, whatever the parallelism."""
        projection = self.get_projection_map()
        columns = None if projection is None else list(projection)
        schema = self._schema
        if columns:
            schema = pa.schema([schema.field(name) for name in columns])
        unknown = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return [
            ReadTask(partial(_blocks, split, columns), unknown, schema, per_task_row_limit)
            for split in self._splits
        ]


def _dataset(scan: Scan, split_bytes: int | str) -> Any:
    source = ScanDatasource(scan, split_bytes)
    # Ray would cut what a task returns into more blocks than there are tasks.
    return ray.data.read_datasource(source, override_num_blocks=max(1, len(source._splits)))


def _blocks(scan: Scan, columns: list[str] | None) -> Iterator[Any]:
    for batch in scan._of(columns):
        yield pa.Table.from_batches([batch])
