# SPDX-License-Identifier: Apache-2.0
"""JSON and Parquet as a Daft dataframe: one task for each part of the source.

Columns that a query does not use are not read.
"""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from daft import Schema
from daft.io.pushdowns import Pushdowns
from daft.io.source import DataSource, DataSourceTask
from daft.recordbatch import RecordBatch

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
    """Return a ``daft.DataFrame`` of ``source``.

    The arguments and exceptions are those of ``scan_json`` and ``Scan.split``.
    """
    return ScanSource(scan_json(source, schema, **options), split_bytes).read()


def read_parquet(
    source: Source,
    *,
    split_bytes: int | str = SPLIT_BYTES,
    **options: "Unpack[ParquetReadOptions]",
) -> Any:
    """Return a ``daft.DataFrame`` of ``source``.

    The arguments and exceptions are those of ``scan_parquet`` and ``Scan.split``.
    """
    return ScanSource(scan_parquet(source, **options), split_bytes).read()


class ScanSource(DataSource):  # type: ignore[misc]
    """A scan, as a source of Daft."""

    def __init__(self, scan: Scan, split_bytes: int | str) -> None:
        """Split the scan into parts of about ``split_bytes`` bytes."""
        self._arrow = scan.schema.to_pyarrow()
        self._schema = Schema.from_pyarrow_schema(self._arrow)
        self._splits = scan.split(split_bytes)

    @property
    def name(self) -> str:
        """Return the name that Daft shows."""
        return "Arrowsmith"

    @property
    def schema(self) -> Schema:
        """Return the schema of all tasks."""
        return self._schema

    async def get_tasks(self, pushdowns: Pushdowns) -> AsyncIterator[DataSourceTask]:
        """Yield a task for each part."""
        columns, schema = pushdowns.columns, self._schema
        if columns is not None:
            # Daft decides the condition by itself.
            used = {*columns, *pushdowns.filter_required_column_names()}
            columns = [name for name in self._arrow.names if name in used]
            schema = pa.schema([self._arrow.field(name) for name in columns])
            schema = Schema.from_pyarrow_schema(schema)
        for split in self._splits:
            yield _Task(split, columns, schema)


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
