# SPDX-License-Identifier: Apache-2.0
"""Lazy reading: a source with columns, a condition and a limit, and the libraries that push theirs.

Nothing is read before rows or their schema are needed.
"""

import operator
import os
import warnings
from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from arrowsmith import _lib
from arrowsmith._conditions import Unread
from arrowsmith._lib import Reader, Schema, Table
from arrowsmith._progress import watching
from arrowsmith._sources import located, opened
from arrowsmith._types import Progress, SchemaLike, Source, StorageOptions
from arrowsmith.errors import ConfigError, SchemaError

_ADDED = ("file_column", "offset_column", "record_column", "rescued_column")
"""Options with the name of a column that is added."""

_CHANGED = {"columns", "filter", "flatten", "partitions", *_ADDED}
"""Options with which the columns are not those of the records."""

_UNQUOTED = str.maketrans("", "", '"`')

SPLIT_BYTES = "64MiB"
"""The size of a part, unless another one is given."""


class _All(str):
    """Conditions joined by ``and``, to which others are added without more parentheses.

    Those of the parts are there: the library's text of ``and`` and ``or`` is in parentheses.
    """

    __slots__ = ()


class Scan:
    """A source that is read when its rows are needed, as often as they are needed.

    ``select``, ``filter`` and ``limit`` return another scan. ``scan_json`` and ``scan_parquet``
    make the first one.
    """

    __slots__ = ("_format", "_given", "_options", "_schema", "_source", "_storage")

    def __init__(
        self,
        format: str,  # noqa: A002
        source: Source,
        schema: SchemaLike | None,
        options: Mapping[str, object],
        storage: StorageOptions | None = None,
    ) -> None:
        """For ``scan_json`` and ``scan_parquet``."""
        if _is_read_once(source):
            raise TypeError("source: a scan may be read several times: pass a path or bytes")
        self._format = format
        self._source = source
        self._storage = storage
        self._given = schema
        self._options = {name: value for name, value in options.items() if value is not None}
        self._schema: Schema | None = None
        if is_expression(self._options.get("filter")):
            self._options["filter"] = self._translated(self._options["filter"])

    def select(self, *columns: str | Sequence[str]) -> "Scan":
        """Keep only these columns, in the order of the source: names, or paths (``user.name``).

        They are some of those that a ``select`` before it keeps.
        """
        names = [
            name for given in columns for name in ([given] if isinstance(given, str) else given)
        ]
        before = self._options.get("columns")
        if isinstance(before, (list, tuple)):
            names = [kept for name in names for kept in self._kept(name, before)]
        # A key of a column that is not selected would be an unknown one.
        return self._with(columns=names, unknown_keys=None)

    def filter(self, condition: object) -> "Scan":
        """Keep only rows that match ``condition``, and the conditions before it.

        It is text (``"fare > 10 and zone is null"``), tuples (``[("fare", ">", 10)]``) or an
        expression of polars or pyarrow. One that this library cannot decide is a ``ConfigError``:
        ``to_polars().filter(...)`` leaves it to polars, ``to_dataset().scanner(filter=...)`` to
        pyarrow.
        """
        if self._is_limited():
            raise ConfigError("filter: comes before limit and skip, which count rows that match")
        condition = self._translated(condition)
        text = _lib.condition(condition)
        before = self._options.get("filter")
        if before:
            before = before if isinstance(before, _All) else _lib.condition(before)
            text = _All(f"{before} and {text}")
        return self._with(filter=text)

    def limit(self, rows: int | None) -> "Scan":
        """Read at most the first ``rows`` rows of those that match; with ``None``, as before."""
        if rows is None:
            return self
        before = self._options.get("limit")
        return self._with(limit=rows if before is None else min(_number(before), _number(rows)))

    @property
    def schema(self) -> Schema:
        """The columns and their types; the first call opens the source."""
        if self._schema is None:
            with self.open() as reader:
                self._schema = reader.schema
        return self._schema

    def open(self) -> Reader:
        """Read batch by batch, in bounded memory."""
        if self._format == "json":
            return _lib.open_json(
                opened(self._source, self._storage), self._given, None, False, self._options
            )
        return _lib.open_parquet(opened(self._source, self._storage), False, self._options)

    def explain(self) -> str:
        """Return what is read and by which engine; the first file is opened, nothing is decoded.

        Row groups of Parquet are those that its metadata does not rule out.
        """
        given = {name: self._options.get(name) for name in ("columns", "filter", "skip", "limit")}
        lines = [f"{self._format}: {self._shown()}"]
        for name, value in given.items():
            if value is not None and (name != "filter" or self._format == "json"):
                text = ", ".join(value) if isinstance(value, (list, tuple)) else str(value)
                lines.append(f"{'where' if name == 'filter' else name}: {text}")
        source = opened(self._source, self._storage)
        if self._format == "json":
            found = _lib.explain_json(source, self._given, self._options)
        else:
            found = _lib.explain_parquet(source, self._options)
        return "\n".join([*lines, found])

    def collect(self, *, progress: Progress = False) -> Table:
        """Read all rows. An inferred schema grows, so that nothing is lost."""
        with watching(progress) as watch:
            return self._collect(None, watch)

    async def collect_async(self) -> Table:
        """Read all rows while the event loop runs. Cancelling the task stops the work."""
        from arrowsmith._async import in_thread

        cancel = _lib.Cancel()
        return await in_thread(lambda: self._collect(cancel), cancel.cancel)

    def split(self, size: int | str = SPLIT_BYTES) -> list["Scan"]:
        """Return scans that read the same rows one after another, each of about ``size`` bytes.

        They can be pickled, for other processes and machines, where their files have the same
        names. Small files are read together; JSON with one record per line is split between lines,
        Parquet between row groups; compressed JSON and JSON in stores are not cut. All parts have
        the schema of this scan. If it is inferred, a record with another key is an error, unless
        ``late_keys="ignore"``. Each is read by one thread, unless ``threads`` is given.
        """
        split = _lib.split_json if self._format == "json" else _lib.split_parquet
        parts = split(located(self._source, self._storage), self._options, size)
        options, given = {"threads": 1, **self._options}, self._given
        # The columns of a table have types.
        names: list[str] = []
        if parts:
            first = parts[0][0]
            if isinstance(first, list):
                names = [name for name, _ in first[0].partitions]
            else:
                names = first.untyped
        if names or self._format == "json":
            # Columns that only the condition needs have a type as well.
            whole = self._with(columns=None, filter=None).schema
            if names:
                options["partitions"] = whole.select(names)
            if self._format == "json":
                added = {*names, *(options.get(column) for column in _ADDED)}
                given = whole.select([name for name in whole.names if name not in added])
                if self._given is None:
                    options.update(self._late_keys())
        return [
            Scan(self._format, cast(Source, files), given, {**options, **part}, self._storage)
            for files, part in parts
        ]

    def to_pyarrow(self) -> Any:
        """Return a ``pyarrow.RecordBatchReader``."""
        return self.open().to_pyarrow()

    def to_pandas(self, **options: Any) -> Any:
        """Return all rows as a ``pandas.DataFrame``."""
        return self.collect().to_pandas(**options)

    def to_polars(self) -> Any:
        """Return a ``polars.LazyFrame``.

        Its columns, limit and condition are pushed down: what of the condition this library can
        decide is decided here, and polars decides the whole of it again.
        """
        from arrowsmith._polars import lazy_frame

        return lazy_frame(self)

    def to_dataset(self) -> Any:
        """Return a ``pyarrow.dataset.Dataset``.

        Its columns and condition are pushed down: what of the condition this library can decide is
        decided here, and unless that is all of it, pyarrow decides the whole of it again.
        """
        from arrowsmith._arrow_dataset import Dataset

        return Dataset(self)

    def to_duckdb(self, connection: Any = None) -> Any:
        """Return a relation of ``connection``, or of DuckDB's default connection.

        Its columns and conditions are pushed down, as those of ``to_dataset()``.
        """
        from arrowsmith._arrow_dataset import relation

        return relation(self, connection)

    def to_datafusion(self, context: Any = None) -> Any:
        """Return a DataFusion frame of ``context``, a ``SessionContext``, or of a new one.

        Its columns and conditions are pushed down, as those of ``to_dataset()``.
        """
        from arrowsmith._arrow_dataset import frame

        return frame(self, context)

    def __arrow_c_schema__(self) -> object:
        """Return the schema as a capsule."""
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows as a capsule of a stream."""
        return self.open().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """Return the source and what is read of it."""
        options = "".join(f", {name}={value!r}" for name, value in self._options.items())
        return f"<arrowsmith.Scan {self._format} {self._shown()}{options}>"

    def _shown(self) -> str:
        return "<bytes>" if isinstance(self._source, bytes) else repr(self._source)

    def _collect(
        self, cancel: _lib.Cancel | None, watch: Callable[[int, int | None], object] | None = None
    ) -> Table:
        source, options = opened(self._source, self._storage), self._options
        if self._format == "json":
            return _lib.read_json(source, self._given, None, False, options, cancel, watch)
        return _lib.read_parquet(source, False, options, cancel, watch)

    def _with(self, **options: object) -> "Scan":
        options = {**self._options, **options}
        return Scan(self._format, self._source, self._given, options, self._storage)

    def _kept(self, name: str, before: Sequence[str]) -> list[str]:
        """Return what is left of a column where only those of ``before`` are kept."""
        path = name.replace('"', "")
        paths = {column: column.replace('"', "") for column in before}
        if any(path == other or path.startswith(f"{other}.") for other in paths.values()):
            return [name]
        inside = [column for column, other in paths.items() if other.startswith(f"{path}.")]
        # Those that are added to the records are always kept.
        if inside or name in map(self._options.get, _ADDED):
            return inside or [name]
        message = f"{name}: there is no such column to select: a select before keeps "
        message += ", ".join(before) or "none"
        # As of a column that the source lacks.
        if self._format == "json":
            raise SchemaError(f"schema, field {message}")
        raise ConfigError(f"columns: {message}")

    def _narrowed(self, names: Sequence[str], of: "Scan") -> "Scan":
        """Return ``select`` of these columns, with the schema of the scan ``of``, if it is known.

        A schema that was inferred for a query is not inferred again for its rows: keys that it
        lacks are not those of the columns.
        """
        scan = self.select(names)
        if of._schema is None or not of._is_inferred():
            return scan
        return Scan(scan._format, scan._source, of._schema, scan._options, scan._storage)

    def _is_inferred(self) -> bool:
        """Whether the schema is that of the records: all of them, without what is added."""
        if self._format != "json" or self._given is not None or _CHANGED & self._options.keys():
            return False
        if isinstance(self._source, bytes):
            return True
        # One file, which has no partition columns.
        is_path = isinstance(self._source, (str, os.PathLike))
        name = os.fspath(cast("str | os.PathLike[str]", self._source)) if is_path else ""
        return not set(name) & set("*?[") and os.path.isfile(name)

    def _whole(self) -> Schema:
        """Return the schema with the columns that are not selected."""
        if "columns" not in self._options:
            return self.schema
        return self._with(columns=None, filter=None, skip=None, limit=None).schema

    def _translated(self, condition: object) -> object:
        """Return text in place of an expression of another library."""
        library = is_expression(condition)
        if not library:
            return condition
        # A condition may be about columns that are not selected.
        schema = self._with(columns=None, filter=None, skip=None, limit=None).schema
        if library == "polars":
            from arrowsmith import _polars

            self._check_columns(_polars.columns(condition), schema)
            return _polars.exactly(condition, schema, self._unread())
        import pyarrow as pa

        from arrowsmith import _arrow_expression

        self._check_columns(_arrow_expression.columns(condition, pa.schema(schema)), schema)
        return _arrow_expression.exactly(condition, schema, self._unread())

    def _check_columns(self, names: Iterable[str], schema: Schema) -> None:
        """Check that there are the columns of an expression, whose types it takes."""
        missing = sorted(set(names).difference(schema.names))
        if not missing:
            return
        message = f"filter: there is no column {missing[0]}"
        is_sampled = self._format == "json" and self._given is None
        if is_sampled and self._options.get("infer_records") != "all":
            message += (
                " among those of the first records: if later ones have it, give the condition as "
                "text, or infer_records='all'"
            )
        raise ConfigError(message)

    def _unread(self) -> Unread:
        """Return the columns that a condition cannot be about."""
        # The name of a file is known before its rows are.
        added = [self._options.get(option) for option in _ADDED if option != "file_column"]
        return Unread([name for name in added if isinstance(name, str)], self._format == "json")

    def _late_keys(self) -> dict[str, object]:
        """Return how parts, which are given the inferred schema, handle keys that it lacks."""
        get = self._options.get
        is_known = get("infer_records") == "all" or get("columns")
        if is_known or get("late_keys") == "ignore" or get("rescued_column"):
            return {}
        if get("on_error", "fail") != "fail":
            raise ConfigError(
                "split: on_error would skip records with keys that the inferred schema lacks: pass "
                "a schema, infer_records='all' or late_keys='ignore'"
            )
        return {"unknown_keys": "error"}

    def _of(self, columns: Sequence[str] | None) -> Any:
        """Return a ``pyarrow.RecordBatchReader`` of these columns, in this order.

        If there are none, it has the first column of the scan: no columns would be no rows.
        """
        import pyarrow as pa

        if columns is None:
            return self.to_pyarrow()
        names = list(columns) or self.schema.names[:1]
        reader = (self.select(names) if all(map(is_plain, names)) else self).to_pyarrow()
        schema = pa.schema([reader.schema.field(name) for name in names], reader.schema.metadata)
        return pa.RecordBatchReader.from_batches(schema, (batch.select(names) for batch in reader))

    def _is_limited(self) -> bool:
        return "limit" in self._options or "skip" in self._options


def _is_read_once(source: Source) -> bool:
    """Whether a source, or a part of it, is gone when it has been read."""
    return any(
        (hasattr(part, "read") and not isinstance(part, os.PathLike))
        or isinstance(part, AsyncIterable)
        for part in (source if isinstance(source, (list, tuple)) else [source])
    )


def _number(rows: Any) -> int:
    """Return a number of rows, which may be one of numpy."""
    try:
        return operator.index(rows)
    except TypeError:
        raise TypeError(f"limit: expected a number, found {rows!r}") from None


def is_expression(condition: object) -> str:
    """Return the library whose expression this is; empty if it is none."""
    library = type(condition).__module__.partition(".")[0]
    return library if library in ("polars", "pyarrow") else ""


def translated(
    format: str,  # noqa: A002
    source: Source,
    schema: SchemaLike | None,
    options: Mapping[str, object],
    storage: StorageOptions | None,
) -> Mapping[str, object]:
    """Return the options of a reader, with text in place of an expression as ``filter``.

    It takes the schema of the source, which is opened once more.
    """
    library = is_expression(options.get("filter"))
    if not library:
        return options
    if _is_read_once(source):
        raise TypeError(
            f"filter: an expression of {library} is translated by the types of the columns, for "
            "which the source is read once more: pass a path or bytes, or the condition as text"
        )
    return {**options, "filter": Scan(format, source, schema, options, storage)._options["filter"]}


def check_parents(schema: Schema, options: Mapping[str, object]) -> None:
    """Warn of fields of documents that are not columns: their paths may be misspelled.

    It is not an error: a document may lack an optional one, and another file of the same kind have
    it.
    """
    given = options.get("parent_fields")
    if not isinstance(given, (list, tuple)) or options.get("columns") or options.get("flatten"):
        return
    for text in given:
        name, is_named, path = (part.strip() for part in text.partition("="))
        if not is_named:
            path = name
            keys = path[1:].split("/") if path.startswith("/") else [path.translate(_UNQUOTED)]
            name = ".".join(key.replace("~1", "/").replace("~0", "~") for key in keys)
        if name not in schema.names:
            message = (
                f"parent_fields: no column {name}: no document has {path}, or the schema lacks it"
            )
            warnings.warn(message, stacklevel=3)


def is_plain(name: str) -> bool:
    """Whether a name is the path of a column with this name."""
    return not set(name) & set('."`[]') and bool(name)
