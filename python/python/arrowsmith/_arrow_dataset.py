# SPDX-License-Identifier: Apache-2.0
"""A scan as a DuckDB relation or as a DataFusion frame.

Both ask a ``pyarrow.dataset.Dataset`` for the columns that a query uses, with the query's
conditions. This dataset reads the columns by the scan; pyarrow decides the conditions.
"""

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

if TYPE_CHECKING:
    from arrowsmith._scan import Scan


class _Dataset(ds.Dataset):  # type: ignore[misc]
    """Only what the two call: the other methods of a dataset are missing."""

    def __init__(self, scan: "Scan") -> None:
        self._scan = scan
        self._types = pa.schema(scan.schema)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the scan."""
        return self._types

    def scanner(
        self,
        columns: list[str] | None = None,
        filter: Any = None,  # noqa: A002
        **options: Any,
    ) -> ds.Scanner:
        """Return a scanner of these columns and of the rows that match."""
        names = self._types.names
        # An expression does not tell its columns: all whose names occur in its text are read.
        text = "" if filter is None else str(filter)
        wanted = [name for name in names if columns is None or name in columns or name in text]
        scan = self._scan
        if 0 < len(wanted) < len(names) and not any("." in name for name in wanted):
            scan = scan.select(wanted)
        reader = scan.to_pyarrow()
        return ds.Scanner.from_batches(reader, columns=columns, filter=filter, **options)

    def get_fragments(self, filter: Any = None) -> list["_Fragment"]:  # noqa: A002
        """Return the only part."""
        return [_Fragment(self)]


class _Fragment:
    """What DataFusion reads of a dataset."""

    def __init__(self, dataset: _Dataset) -> None:
        self._dataset = dataset

    def scanner(self, schema: Any, **options: Any) -> ds.Scanner:
        """Return a scanner of the dataset, whose schema DataFusion repeats."""
        return self._dataset.scanner(**options)


def relation(scan: "Scan", connection: Any) -> Any:
    """Return a relation of ``connection``, or of the default connection."""
    if connection is None:
        import duckdb as connection
    return connection.from_arrow(_Dataset(scan))


def frame(scan: "Scan", context: Any) -> Any:
    """Return a frame of ``context``, or of one of its own."""
    if context is None:
        from datafusion import SessionContext

        context = SessionContext()
    return context.read_table(_Dataset(scan))
