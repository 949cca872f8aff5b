# SPDX-License-Identifier: Apache-2.0
"""A scan as a ``pyarrow.dataset.Dataset``, for DuckDB and DataFusion.

Both ask a dataset for the columns that a query uses, with the query's conditions, and do not test
the rows again. What of a condition the scan can decide is decided while reading; pyarrow decides
the whole, unless the scan decides it exactly.

Inside of pyarrow a dataset is an object of C++, which Python cannot implement. There it is a
dataset of one Arrow file, in a file system of ours, that is written when it is opened: so that what
does not call ``scanner`` (unions of datasets, joins, ``ScanNodeOptions``) has the same rows, though
all of them, in memory.
"""

import io
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs

from arrowsmith import _arrow_expression
from arrowsmith._scan import is_plain

if TYPE_CHECKING:
    from arrowsmith._scan import Scan


class Dataset(ds.UnionDataset):  # type: ignore[misc]
    """A dataset with one fragment. Python reads it by ``scanner``."""

    def __init__(self, scan: "Scan") -> None:
        """Read nothing but the schema."""
        self._scan = scan
        self._types = types = pa.schema(scan.schema)
        files, format = pyarrow.fs.PyFileSystem(_Rows(scan)), ds.IpcFileFormat()  # noqa: A001
        # A union is of datasets with its schema, and its class has no attributes of files.
        file = ds.FileSystemDataset([format.make_fragment("rows", files)], types, format, files)
        super().__init__(types, [file])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the scan and the condition."""
        return _restored, (self._scan, self._scan_options.get("filter"))

    @property
    def schema(self) -> pa.Schema:
        """The columns of the scan."""
        return self._types

    def filter(self, expression: pc.Expression) -> "Dataset":
        """Return the dataset of the rows that match."""
        return _restored(self._scan, self._all(expression))

    def sort_by(self, sorting: Any, **options: Any) -> ds.InMemoryDataset:
        """Return the sorted rows."""
        return _in_memory(self).sort_by(sorting, **options)

    def join(self, right_dataset: Any, *arguments: Any, **options: Any) -> ds.InMemoryDataset:
        """Return the rows joined with those of another dataset."""
        return _in_memory(self).join(_in_memory(right_dataset), *arguments, **options)

    def join_asof(self, right_dataset: Any, *arguments: Any, **options: Any) -> ds.InMemoryDataset:
        """Return the rows joined with the nearest ones of another dataset."""
        return _in_memory(self).join_asof(_in_memory(right_dataset), *arguments, **options)

    def _all(self, condition: Any) -> Any:
        """Return this condition and that of the dataset."""
        before = self._scan_options.get("filter")
        if condition is None or before is None:
            return before if condition is None else condition
        return before & condition

    def scanner(
        self,
        columns: Sequence[str] | Mapping[str, Any] | None = None,
        filter: Any = None,  # noqa: A002
        **options: Any,
    ) -> ds.Scanner:
        """Return a scanner of these columns and of the rows that match."""
        condition = self._all(_expression(filter))
        scan, filter = pushed(self._scan, self._types, columns, condition)  # noqa: A001
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
        scan, rest = pushed(self._scan, self._types, columns, self._all(filter))
        return f"{scan.explain()}decided by pyarrow: {'nothing' if rest is None else rest}\n"

    def get_fragments(self, filter: Any = None) -> list["_Fragment"]:  # noqa: A002
        """Return the only part."""
        return [_Fragment(self)]


def _restored(scan: "Scan", condition: Any) -> Dataset:
    dataset = Dataset(scan)
    if condition is not None:
        dataset._scan_options = {"filter": condition}
    return dataset


def _in_memory(dataset: Any) -> Any:
    """Return the rows of a dataset of this class, others as they are."""
    if not isinstance(dataset, Dataset):
        return dataset
    # Joins take one dictionary for each column.
    return ds.InMemoryDataset(dataset.to_table().unify_dictionaries())


class _Rows(pyarrow.fs.FileSystemHandler):  # type: ignore[misc]
    """A file system in which every file is an Arrow file with the rows of the scan."""

    def __init__(self, scan: "Scan") -> None:
        self._scan = scan
        self._lock = threading.Lock()
        self._first: weakref.ref[io.BytesIO] | None = None

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Return the file, for which the source is read.

        A scanner opens a file for its schema and, while it has that open, again for the rows.
        """
        with self._lock:
            first = None if self._first is None else self._first()
            self._first = None
            if first is not None and not first.closed:
                return pa.PythonFile(io.BytesIO(first.getvalue()), "r")  # Nothing is copied.
            file = self._written()
            self._first = weakref.ref(file)
        return pa.PythonFile(file, "r")

    def _written(self) -> io.BytesIO:
        with self._scan.open() as reader:
            schema = pa.schema(reader.schema)
            rows = pa.Table.from_batches([batch.to_pyarrow() for batch in reader], schema)
        file = io.BytesIO()
        # A file has one dictionary for each column.
        options = pa.ipc.IpcWriteOptions(unify_dictionaries=True)
        with pa.ipc.new_file(file, rows.schema, options=options) as writer:
            writer.write_table(rows)
        file.seek(0)
        return file

    def open_input_stream(self, path: str) -> pa.NativeFile:
        return self.open_input_file(path)

    def get_type_name(self) -> str:
        return "arrowsmith"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: Sequence[str]) -> list[pyarrow.fs.FileInfo]:
        return [pyarrow.fs.FileInfo(path, pyarrow.fs.FileType.File) for path in paths]

    def get_file_info_selector(self, selector: Any) -> list[pyarrow.fs.FileInfo]:
        return []

    def _refused(self, *_: object, **__: object) -> Any:
        raise NotImplementedError("the dataset of a scan can only be read")

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refused
    delete_file = move = copy_file = open_output_stream = open_append_stream = _refused


class _Fragment:
    """What DataFusion reads of a dataset."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def scanner(
        self,
        schema: Any = None,
        columns: Sequence[str] | None = None,
        filter: Any = None,  # noqa: A002
        **options: Any,
    ) -> ds.Scanner:
        """Return a scanner of the rows that match as DataFusion means it, which tests none again.

        It repeats the schema of the dataset.
        """
        dataset = self._dataset
        condition = dataset._all(_expression(filter))
        scan, rest = pushed(dataset._scan, dataset._types, columns, condition, is_sql=True)
        reader = scan.to_pyarrow()
        if rest is not None:
            batches = (_arrow_expression.kept(rest, batch) for batch in reader)
            reader = pa.RecordBatchReader.from_batches(reader.schema, batches)
        return ds.Scanner.from_batches(reader, columns=columns, **options)


def _expression(condition: Any) -> Any:
    """Return a condition as an expression: DataFusion has scalars for those that are constant."""
    return pc.scalar(condition) if isinstance(condition, pa.Scalar) else condition


def pushed(
    scan: "Scan",
    types: pa.Schema,
    columns: Sequence[str] | Mapping[str, Any] | None,
    condition: Any,
    is_sql: bool = False,
) -> tuple["Scan", Any]:
    """Return the scan that reads no more than is needed, and what is to be decided of its rows."""
    whole, wanted = scan, set(types.names)
    if isinstance(columns, Mapping):
        used = [_arrow_expression.columns(column, types) for column in columns.values()]
        wanted = set().union(*used)
    elif columns is not None:
        wanted = set(columns)
    if condition is not None:
        # A limit is of rows before the condition.
        if not scan._is_limited():
            text, is_exact = _arrow_expression.translate(
                condition, types, scan._whole, is_sql, scan._unread()
            )
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
