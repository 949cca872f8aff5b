# SPDX-License-Identifier: Apache-2.0
"""A scan as a polars LazyFrame; expressions of polars as conditions.

A condition may keep more rows than the expression, never fewer: polars applies the expression
again. Conjuncts that are not understood are therefore omitted.
"""

import inspect
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl
from polars.io.plugins import register_io_source

from arrowsmith import _conditions
from arrowsmith._conditions import BEYOND, Tree, Unread
from arrowsmith._lib import Schema
from arrowsmith._scan import is_plain
from arrowsmith.errors import ConfigError

if TYPE_CHECKING:
    from arrowsmith._scan import Scan

_COMPARISONS = {"Eq": "=", "NotEq": "!=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_WORDS = {"And": "and", "LogicalAnd": "and", "Or": "or", "LogicalOr": "or"}
_INTEGERS = (
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128),
    *(pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64),
)
_PER_SECOND = {"Milliseconds": 10**3, "Microseconds": 10**6, "Nanoseconds": 10**9}
_READ = Unread()
_UNITS = {"ms": "Milliseconds", "us": "Microseconds", "ns": "Nanoseconds"}


def lazy_frame(scan: "Scan") -> pl.LazyFrame:
    """Return a frame that reads ``scan`` when it is collected."""

    def schema() -> pl.Schema:
        return pl.Schema(scan.schema)

    def read(
        columns: list[str] | None,
        predicate: pl.Expr | None,
        rows: int | None,
        batch_rows: int | None,
    ) -> Iterator[pl.DataFrame]:
        wanted = scan
        if predicate is not None and rows is None and not scan._is_limited():
            condition = translate(predicate, schema(), scan._whole, scan._unread())
            wanted = wanted if condition is None else wanted.filter(condition)
        if columns and all(map(is_plain, columns)):
            wanted = wanted._narrowed(columns, scan)
        if rows is not None:
            wanted = wanted.limit(rows)
        if batch_rows is not None and "batch_rows" not in wanted._options:
            wanted = wanted._with(batch_rows=batch_rows)
        with wanted.open() as reader:
            for batch in reader:
                frame: pl.DataFrame = batch.to_polars()
                if columns is not None:
                    frame = frame.select(columns)
                yield frame if predicate is None else frame.filter(predicate)

    options: dict[str, Any] = {"is_pure": True, "explain_name": f"arrowsmith {scan._format}"}
    known = inspect.signature(register_io_source).parameters
    options = {name: value for name, value in options.items() if name in known}
    return register_io_source(read, schema=schema, **options)


class _Columns(NamedTuple):
    """The columns that an expression may be about, and the names of all there are."""

    types: pl.Schema
    tree: Callable[[], Tree]
    unread: Unread


def columns(predicate: Any) -> list[str]:
    """Return the columns that an expression names."""
    return predicate.meta.root_names() if isinstance(predicate, pl.Expr) else []


def exactly(predicate: Any, schema: Schema, unread: Unread = _READ) -> str:
    """Return the condition that is true, false and null as ``predicate`` is."""
    condition, instead = None, "to_polars().filter(...)"
    if isinstance(predicate, pl.Expr):
        types = pl.Schema(schema)
        columns = _Columns(types, lambda: _names(types), unread)
        try:
            condition = _exact(_tree(predicate), columns)
        except RecursionError:
            raise _conditions.too_deep(predicate, instead) from None
    if condition is None:
        shown = _conditions.shown(predicate)
        raise ConfigError(f"filter: only polars can decide {shown}: use {instead}")
    if not _conditions.fits(condition):
        raise _conditions.too_deep(predicate, instead)
    return condition


def translate(
    predicate: pl.Expr,
    schema: pl.Schema,
    whole: Callable[[], Schema] | None = None,
    unread: Unread = _READ,
) -> str | None:
    """Return a condition that is true wherever ``predicate`` is, if there is a useful one.

    ``whole`` returns the schema with the columns that are not selected.
    """
    columns = _Columns(schema, lambda: _names(pl.Schema(whole()) if whole else schema), unread)
    try:
        return _weaker(_tree(predicate), columns)
    except RecursionError:
        return None  # Polars decides it, whose expressions may be nested more deeply.


def _tree(predicate: pl.Expr) -> Any:
    try:
        return json.loads(predicate.meta.serialize(format="json"))
    except (pl.exceptions.PolarsError, ValueError):
        return None


def _weaker(tree: Any, columns: _Columns) -> str | None:
    """Return what holds wherever ``tree`` does: of a conjunction, the parts that are understood."""
    parts = [_exact(part, columns) for part in _conditions.terms(tree, _operands("and"))]
    return " and ".join(part for part in parts if part and _conditions.fits(part)) or None


def _operands(word: str) -> Callable[[Any], list[Any]]:
    """Return what returns the sides of an expression with this operator."""

    def operands(tree: Any) -> list[Any]:
        operation = _field(tree, "BinaryExpr")
        is_one = operation and _WORDS.get(operation["op"]) == word
        return [operation["left"], operation["right"]] if is_one else []

    return operands


def _exact(tree: Any, columns: _Columns) -> str | None:
    """Return what is true, false and null as ``tree`` is, in parentheses."""
    if operation := _field(tree, "BinaryExpr"):
        left, right, op = operation["left"], operation["right"], operation["op"]
        if word := _WORDS.get(op):
            parts = _conditions.terms(tree, _operands(word))
            return _conditions.joined(word, [_exact(part, columns) for part in parts])
        if op in _COMPARISONS:
            if "Literal" in left:
                left, right = right, left
                op = op.translate(str.maketrans("LG", "GL"))
            return _comparison(left, op, right, columns)
    elif function := _field(tree, "Function"):
        given, name = function["input"], _field(function["function"], "Boolean")
        if name == "Not":
            inner = _exact(given[0], columns)
            return inner and f"(not {inner})"
        if name in ("IsNull", "IsNotNull") and (column := _column(given[0], columns)):
            return f"({column[0]} is {'not ' if name == 'IsNotNull' else ''}null)"
        if closed := _field(_field(name, "IsBetween"), "closed"):
            low = "GtEq" if closed in ("Both", "Left") else "Gt"
            high = "LtEq" if closed in ("Both", "Right") else "Lt"
            both = [
                _comparison(given[0], low, given[1], columns),
                _comparison(given[0], high, given[2], columns),
            ]
            return _conditions.joined("and", both)
    elif (column := _column(tree, columns)) and column[1] == pl.Boolean:
        return f"({column[0]} = true)"
    return None


def _comparison(left: Any, op: str, right: Any, columns: _Columns) -> str | None:
    column = _column(left, columns)
    if column is None:
        return None
    if isinstance(column[1], pl.Datetime):
        return _instants(column[0], op, _datetime(right), column[1])
    literal = _literal(right, column[1])
    if literal is None:
        return None
    # In polars NaN is greater than all other numbers, here nothing is true of it.
    if op == "Gt" or op == "GtEq":
        return f"(not {column[0]} {'<=' if op == 'Gt' else '<'} {literal})"
    return f"({column[0]} {_COMPARISONS[op]} {literal})"


def _column(tree: Any, columns: _Columns) -> tuple[str, Any] | None:
    """Return the quoted path and the type of a column, or of a field of one."""
    found = _found(tree, columns.types)
    if found and _is_unread(*found, columns.unread):
        return None
    path = found and _conditions.path(found[0], columns.tree)
    return (path, found[1]) if found and path else None


def _found(tree: Any, types: pl.Schema) -> tuple[tuple[str, ...], Any] | None:
    """Return the names from a column to the field, and its type."""
    if name := _field(tree, "Column"):
        return ((name,), types[name]) if name in types else None
    if function := _field(tree, "Function"):
        of = _field(_field(function["function"], "StructExpr"), "FieldByName")
        parent = of and _found(function["input"][0], types)
        if parent and isinstance(parent[1], pl.Struct):
            for field in parent[1].fields:
                if field.name == of:
                    return (*parent[0], of), field.dtype
    return None


def _is_unread(names: tuple[str, ...], of: Any, unread: Unread) -> bool:
    # Before polars had extension types, it took these values for text.
    is_json = hasattr(of, "ext_name") and of.ext_name() == _conditions.JSON
    return names[0] in unread.names or (is_json and unread.json)


def _names(types: pl.Schema) -> Tree:
    return [(name, _inside(of)) for name, of in types.items()]


def _inside(of: Any) -> Tree:
    fields = of.fields if isinstance(of, pl.Struct) else ()
    return [(field.name, _inside(field.dtype)) for field in fields]


def _literal(tree: Any, of: Any) -> str | None:
    """Return a literal, if comparing it with this type means the same in polars and here."""
    value = _field(tree, "Literal")
    value = _field(value, "Dyn") or _field(value, "Scalar")
    if not isinstance(value, dict) or len(value) != 1:
        return None
    [(kind, value)] = value.items()
    if kind.startswith(("Int", "UInt")) and isinstance(value, int):
        fits = of in _INTEGERS or (of in (pl.Float32, pl.Float64) and abs(value) < BEYOND)
        return str(value) if fits else None
    if kind in ("Float", "Float64") and isinstance(value, (int, float)):
        return repr(float(value)) if of == pl.Float64 else None
    if kind in ("String", "StringOwned") and of == pl.String:
        return _conditions.text(str(value))
    if kind == "Date" and of == pl.Date:
        return _conditions.day(value)
    return None


def _instants(column: str, op: str, literal: Any, of: pl.Datetime) -> str | None:
    """Return a comparison of instants, both of which polars rounds down to the coarser unit."""
    if literal is None:
        return None
    ticks, unit, zone = literal
    given, own = _PER_SECOND.get(unit), _PER_SECOND[_UNITS[of.time_unit]]
    if given is None or (zone is None) != (of.time_zone is None):
        return None
    coarser = min(given, own)
    ticks //= given // coarser
    # All of the column from the first to before the second are equal to the literal.
    first, next_ = (_conditions.instant(at, coarser, zone is not None) for at in (ticks, ticks + 1))
    if first is None or next_ is None:
        return None
    if own == coarser:
        return f"({column} {_COMPARISONS[op]} {first})"
    return {
        "Eq": f"({column} >= {first} and {column} < {next_})",
        "NotEq": f"({column} < {first} or {column} >= {next_})",
        "Lt": f"({column} < {first})",
        "LtEq": f"({column} < {next_})",
        "Gt": f"({column} >= {next_})",
        "GtEq": f"({column} >= {first})",
    }[op]


def _datetime(tree: Any) -> Any:
    value = _field(tree, "Literal")
    return _field(_field(value, "Dyn") or _field(value, "Scalar"), "Datetime")


def _field(tree: Any, name: str) -> Any:
    return tree.get(name) if isinstance(tree, dict) else None
