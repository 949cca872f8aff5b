# SPDX-License-Identifier: Apache-2.0
"""JSON and Parquet as a ``daft.DataFrame``: one task for each part of the source.

Columns that a query does not use are not read.
"""

from collections.abc import AsyncIterator
from typing import Any

import pyarrow as pa
from daft import Schema
from daft.io.pushdowns import Pushdowns
from daft.io.source import DataSource, DataSourceTask
from daft.recordbatch import RecordBatch

from arrowsmith._readers import readers
from arrowsmith._scan import Scan

__all__ = ["read_json", "read_parquet"]


class _Source(DataSource):  # type: ignore[misc]
    def __init__(self, scan: Scan, split_bytes: int | str) -> None:
        self._arrow = scan.schema.to_pyarrow()
        self._splits = scan.split(split_bytes)

    @property
    def name(self) -> str:
        return "Arrowsmith"

    @property
    def schema(self) -> Schema:
        return Schema.from_pyarrow_schema(self._arrow)

    async def get_tasks(self, pushdowns: Pushdowns) -> AsyncIterator[DataSourceTask]:
        columns, schema = pushdowns.columns, self._arrow
        if columns is not None:
            # Daft decides the condition by itself.
            used = {*columns, *pushdowns.filter_required_column_names()}
            columns = [name for name in schema.names if name in used]
            schema = pa.schema([schema.field(name) for name in columns])
        for split in self._splits:
            yield _Task(split, columns, Schema.from_pyarrow_schema(schema))


class _Task(DataSourceTask):  # type: ignore[misc]
    def __init__(self, scan: Scan, columns: list[str] | None, schema: Schema) -> None:
        self._scan = scan
        self._columns = columns
        self._schema = schema

    @property
    def schema(self) -> Schema:
        return self._schema

    async def read(self) -> AsyncIterator[RecordBatch]:
        reader = self._scan._of(self._columns)
        for batch in reader:
            yield RecordBatch.from_arrow_record_batches([batch], reader.schema)


def _frame(scan: Scan, split_bytes: int | str) -> Any:
    return _Source(scan, split_bytes).read()


read_json, read_parquet = readers(_frame)
