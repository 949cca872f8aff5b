# SPDX-License-Identifier: Apache-2.0
"""JSON and Parquet as a ``ray.data.Dataset``: one read task for each part of the source.

Columns that a dataset does not use are not read.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import ray.data
from ray.data import Datasource, ReadTask
from ray.data.block import BlockMetadata

from arrowsmith._readers import readers
from arrowsmith._scan import Scan

__all__ = ["read_json", "read_parquet"]


class _Datasource(Datasource):  # type: ignore[misc]
    def __init__(self, scan: Scan, split_bytes: int | str) -> None:
        super().__init__()
        # Ray's own; without it there is no projection.
        self._projection_map: dict[str, str] | None = None
        self._schema = scan.schema.to_pyarrow()
        self.splits = scan.split(split_bytes)

    def get_name(self) -> str:
        return "Arrowsmith"

    def estimate_inmemory_data_size(self) -> int | None:
        return None

    def supports_projection_pushdown(self) -> bool:
        return True

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None
    ) -> list[ReadTask]:
        projection = self.get_projection_map()
        columns = None if projection is None else list(projection)
        schema = self._schema
        if columns:
            schema = pa.schema([schema.field(name) for name in columns])
        unknown = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return [
            ReadTask(partial(_blocks, split, columns), unknown, schema, per_task_row_limit)
            for split in self.splits
        ]


def _blocks(scan: Scan, columns: list[str] | None) -> Iterator[Any]:
    for batch in scan._of(columns):
        yield pa.Table.from_batches([batch])


def _dataset(scan: Scan, split_bytes: int | str) -> Any:
    source = _Datasource(scan, split_bytes)
    # Ray would cut what a task returns into more blocks than there are tasks.
    return ray.data.read_datasource(source, override_num_blocks=max(1, len(source.splits)))


read_json, read_parquet = readers(_dataset)
