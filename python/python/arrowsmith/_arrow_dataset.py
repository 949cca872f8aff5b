# SPDX-License-Identifier: Apache-2.0
"""A scan as a ``pyarrow.dataset.Dataset``, for DuckDB and DataFusion.

Both ask a dataset for the columns that a query uses, with the query's conditions, and do not test
the rows again. What of a condition the scan can decide is decided while reading; pyarrow decides
the whole, unless the scan decides it exactly.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

from arrowsmith import _arrow_expression
from arrowsmith._scan import is_plain

if TYPE_CHECKING:
    from arrowsmith._scan import Scan


class Dataset(ds.Dataset):  # type: ignore[misc]
    """A dataset with one fragment. It is always read by ``scanner``."""

    def __init__(self, scan: "Scan") -> None:
        """Read nothing but the schema."""
        self._scan = scan
        self._types = pa.schema(scan.schema)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the scan."""
        return self._types

    def scanner(
        self,
        columns: Sequence[str] | Mapping[str, Any] | None = None,
        filter: Any = None,  # noqa: A002
        **options: Any,
    ) -> ds.Scanner:
        """Return a scanner of these columns and of the rows that match."""
        scan, filter = pushed(self._scan, self._types, columns, filter)  # noqa: A001
        reader = scan.to_pyarrow()
        if columns is not None and not isinstance(columns, Mapping):
            columns = list(columns)
        return ds.Scanner.from_batches(reader, columns=columns, filter=filter, **options)

    def explain(
        self,
        columns: Sequence[str] | Mapping[str, Any] | None = None,
        filter: Any = None,  # noqa: A002
    ) -> str:
        """Return what a scanner of these arguments reads, and what pyarrow has to decide."""
        scan, rest = pushed(self._scan, self._types, columns, filter)
        return f"{scan.explain()}decided by pyarrow: {'nothing' if rest is None else rest}\n"

    def get_fragments(self, filter: Any = None) -> list["_Fragment"]:  # noqa: A002
        """Return the only part."""
        return [_Fragment(self)]


class _Fragment:
    """What DataFusion reads of a dataset."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def scanner(self, schema: Any, **options: Any) -> ds.Scanner:
        """Return a scanner of the dataset, whose schema DataFusion repeats."""
        return self._dataset.scanner(**options)


def pushed(
    scan: "Scan",
    types: pa.Schema,
    columns: Sequence[str] | Mapping[str, Any] | None,
    condition: Any,
) -> tuple["Scan", Any]:
    """Return the scan that reads no more than is needed, and what pyarrow has to decide."""
    whole, wanted = scan, set(types.names)
    if isinstance(columns, Mapping):
        used = [_arrow_expression.columns(column, types) for column in columns.values()]
        wanted = set().union(*used)
    elif columns is not None:
        wanted = set(columns)
    if condition is not None:
        # A limit is of rows before the condition.
        if not scan._is_limited():
            text, is_exact = _arrow_expression.translate(condition, types, scan._whole)
            scan = scan if text is None else scan.filter(text)
            condition = None if is_exact else condition
        if condition is not None:
            wanted |= _arrow_expression.columns(condition, types)
    names = [name for name in types.names if name in wanted]
    if 0 < len(names) < len(types.names) and all(map(is_plain, names)):
        scan = scan._narrowed(names, whole)
    return scan, condition


def relation(scan: "Scan", connection: Any) -> Any:
    """Return a relation of ``connection``, or of the default connection."""
    if connection is None:
        import duckdb as connection
    return connection.from_arrow(Dataset(scan))


def frame(scan: "Scan", context: Any) -> Any:
    """Return a frame of ``context``, or of one of its own."""
    if context is None:
        from datafusion import SessionContext

        context = SessionContext()
    return context.read_table(Dataset(scan))
