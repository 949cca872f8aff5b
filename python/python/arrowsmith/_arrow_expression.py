# SPDX-License-Identifier: Apache-2.0
"""Expressions of pyarrow as conditions.

An expression has no methods that tell what it consists of, and its Substrait form lacks ``is_in``.
What it is pickled as has all of it: an Arrow IPC file whose columns are the literals, with their
types, and whose metadata is the tree, in the order in which it is walked.
"""

import math
import struct
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from arrowsmith import _conditions
from arrowsmith._conditions import BEYOND, Tree, Unread
from arrowsmith._lib import Schema
from arrowsmith.errors import ConfigError

_COMPARISONS = {
    "equal": "=",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_READ = Unread()
_MATCH = 0  # pyarrow's number for `is_in` that is true or false of null, never null.


class _Field(NamedTuple):
    path: tuple[str, ...]


class _Literal(NamedTuple):
    value: Any


class _Call(NamedTuple):
    name: str
    arguments: list[Any]
    options: dict[str, Any]


class _Columns(NamedTuple):
    """The columns that an expression may be about, and the names of all there are."""

    types: pa.Schema
    tree: Callable[[], Tree]
    unread: Unread
    is_sql: bool = False
    """Whether DataFusion means the expression, of whose functions some are not pyarrow's."""


def exactly(expression: Any, schema: Schema, unread: Unread = _READ) -> str:
    """Return the condition that is true, false and null as ``expression`` is."""
    instead = "to_dataset().scanner(filter=...)"
    tree, types = _tree(expression), pa.schema(schema)
    columns = _Columns(types, lambda: _names(types), unread)
    try:
        condition = None if tree is None else _exact(tree, columns)
    except RecursionError:
        raise _conditions.too_deep(expression, instead) from None
    if condition is None:
        shown = _conditions.shown(expression)
        raise ConfigError(f"filter: only pyarrow can decide {shown}: use {instead}")
    if not _conditions.fits(condition):
        raise _conditions.too_deep(expression, instead)
    return condition


def translate(
    expression: Any,
    schema: pa.Schema,
    whole: Callable[[], Any] | None = None,
    is_sql: bool = False,
    unread: Unread = _READ,
) -> tuple[str | None, bool]:
    """Return a condition that is true wherever ``expression`` is, and whether nowhere else.

    There is none for an expression of which nothing is understood. ``whole`` returns the schema
    with the columns that are not selected. With ``is_sql`` it is true where ``kept`` says so.
    """
    tree = _tree(expression)
    if tree is None:
        return None, False
    columns = _Columns(
        schema, lambda: _names(pa.schema(whole()) if whole else schema), unread, is_sql
    )
    try:
        exact = _exact(tree, columns)
        if exact and _conditions.fits(exact):
            return exact, True
        return _weaker(tree, columns), False
    except RecursionError:
        return None, False


def kept(expression: Any, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows of which DataFusion finds ``expression`` to be true.

    It gives pyarrow conditions that mean something else there: in SQL `in` is null of null, and
    DataFusion has an order of all floating-point numbers, from -NaN to NaN; `in` tells -0 from 0.
    """
    tree = _tree(expression)
    if tree is None:
        raise NotImplementedError(f"filter: this version of pyarrow does not show {expression}")
    found = _decided(tree, batch)
    if isinstance(found, pa.Scalar):
        return batch if found.as_py() else batch.slice(0, 0)
    return batch.filter(found)


def _decided(tree: Any, batch: pa.RecordBatch) -> Any:
    if isinstance(tree, _Literal):
        return tree.value
    if isinstance(tree, _Field):
        found = batch.column(tree.path[0])
        for name in tree.path[1:]:
            found = pc.call_function("struct_field", [found], pc.StructFieldOptions([name]))
        return found.dictionary_decode() if pa.types.is_dictionary(found.type) else found
    if tree.name in ("and_kleene", "or_kleene"):
        parts = (_decided(part, batch) for part in _terms(tree, tree.name))
        return reduce(lambda left, right: pc.call_function(tree.name, [left, right]), parts)
    given = [_decided(part, batch) for part in tree.arguments]
    if tree.name in _COMPARISONS:
        return _compared(tree.name, *given)
    if tree.name == "is_in":
        found = pa.scalar(False)
        for value in tree.options["value_set"]:
            same = _compared("equal", given[0], value, are_zeros_equal=False)
            found = pc.call_function("or_kleene", [found, same])
        return found
    if tree.name in ("invert", "is_null", "is_valid"):
        return pc.call_function(tree.name, given)
    raise NotImplementedError(f"filter: there is no {tree.name} in a condition of DataFusion")


def _compared(name: str, left: Any, right: Any, are_zeros_equal: bool = True) -> Any:
    if not (pa.types.is_null(left.type) or pa.types.is_null(right.type)):
        if pa.types.is_floating(left.type) or pa.types.is_floating(right.type):
            left, right = (_ordered(side, are_zeros_equal) for side in (left, right))
        elif pa.types.is_boolean(left.type):
            left, right = left.cast(pa.int8()), right.cast(pa.int8())
    return pc.call_function(name, [left, right])


def _ordered(numbers: Any, are_zeros_equal: bool) -> Any:
    """Return integers in the order of these floating-point numbers."""
    if isinstance(numbers, pa.Scalar):
        return _ordered(pa.array([numbers.as_py()], numbers.type), are_zeros_equal)[0]
    bits = numbers.cast(pa.float64()).view(pa.int64())
    # The bits of negative ones are in the opposite order; those of -0 are the least.
    turned = pc.call_function("bit_wise_xor", [bits, pa.scalar(2**63 - 1)])
    if are_zeros_equal:
        is_zero = pc.call_function("equal", [bits, pa.scalar(-(2**63))])
        turned = pc.call_function("if_else", [is_zero, pa.scalar(0), turned])
    is_negative = pc.call_function("less", [bits, pa.scalar(0)])
    return pc.call_function("if_else", [is_negative, turned, bits])


def columns(expression: Any, schema: pa.Schema) -> set[str]:
    """Return the columns that deciding ``expression`` may take."""
    tree = _tree(expression)
    if tree is not None:
        return {field.path[0] for field in _fields(tree)}
    text = str(expression)
    return {name for name in schema.names if name in text}


def _weaker(tree: Any, columns: _Columns) -> str | None:
    """Return what holds wherever ``tree`` does, in parentheses.

    Of a conjunction, the parts that are understood.
    """
    if isinstance(tree, _Call) and tree.name in ("and_kleene", "and"):
        parts = [_weaker(part, columns) for part in _terms(tree, "and_kleene", "and")]
        known = [part for part in parts if part and _conditions.fits(part)]
        return _conditions.joined("and", known) if len(known) > 1 else next(iter(known), None)
    if isinstance(tree, _Call) and tree.name in ("or_kleene", "or"):
        parts = [_weaker(part, columns) for part in _terms(tree, "or_kleene", "or")]
        return _conditions.joined("or", parts)
    if columns.is_sql and isinstance(tree, _Call) and tree.name in _COMPARISONS:
        return _comparison(*_sides(tree), columns, is_weaker=True)
    return _exact(tree, columns)


def _terms(tree: Any, *names: str) -> list[Any]:
    """Return what calls of these functions, one in another, are about."""
    return _conditions.terms(
        tree, lambda part: part.arguments if isinstance(part, _Call) and part.name in names else ()
    )


def _exact(tree: Any, columns: _Columns) -> str | None:
    """Return what is true, false and null as ``tree`` is, in parentheses."""
    if not isinstance(tree, _Call):
        column = _column(tree, columns)
        return f"({column[0]} = true)" if column and pa.types.is_boolean(column[1]) else None
    name, given = tree.name, tree.arguments
    if name in ("and_kleene", "or_kleene"):
        parts = [_exact(part, columns) for part in _terms(tree, name)]
        return _conditions.joined(name.removesuffix("_kleene"), parts)
    if name == "invert":
        inner = _exact(given[0], columns)
        return inner and f"(not {inner})"
    if name in _COMPARISONS:
        return _comparison(*_sides(tree), columns)
    column = _column(given[0], columns) if given else None
    if column is None:
        return None
    quoted, of = column
    if name == "is_valid":
        return f"({quoted} is not null)"
    if name == "is_null" and tree.options.get("nan_is_null") is False:
        return f"({quoted} is null)"
    if name == "is_nan" and pa.types.is_floating(of):
        return f"(not {quoted} <= 0 and not {quoted} > 0)"
    if name == "is_in" and tree.options.get("null_matching_behavior") == _MATCH:
        return _one_of(quoted, of, tree.options["value_set"], columns.is_sql)
    return None


def _sides(tree: _Call) -> tuple[Any, str, Any]:
    """Return a comparison, with a literal on the right."""
    left, right, sign = *tree.arguments, _COMPARISONS[tree.name]
    if isinstance(left, _Literal):
        return right, sign.translate(str.maketrans("<>", "><")), left
    return left, sign, right


def _comparison(
    left: Any, sign: str, right: Any, columns: _Columns, is_weaker: bool = False
) -> str | None:
    column = _column(left, columns)
    if column is None or not isinstance(right, _Literal):
        return None
    if pa.types.is_boolean(column[1]) and sign not in ("=", "!="):
        return None
    literal = _literal(right.value, column[1])
    if columns.is_sql and pa.types.is_floating(column[1]):
        # There NaN has a place in the order, and -0 is less than 0.
        if not is_weaker or sign == "!=" or literal is None:
            return None
        beyond = {"<": ">", ">": "<"}.get(sign[0])
        return f"(not {column[0]} {beyond} {literal})" if beyond else f"({column[0]} = {literal})"
    return literal and f"({column[0]} {sign} {literal})"


def _one_of(quoted: str, of: pa.DataType, values: Any, is_sql: bool) -> str | None:
    """Return what is false, not null, of null; in SQL what is null of it."""
    if pa.types.is_floating(of):
        return None  # It finds NaN, and tells -0 from 0.
    literals = [_literal(value, of) for value in values if value.is_valid]
    if not all(literals) or not literals:
        return None
    found = f"{quoted} in ({', '.join(map(str, literals))})"
    if is_sql:
        # With null among them it is nowhere false, which `not` would tell from null.
        return None if len(literals) < len(values) else f"({found})"
    if len(literals) < len(values):
        return f"({quoted} is null or {found})"
    return f"({quoted} is not null and {found})"


def _column(tree: Any, columns: _Columns) -> tuple[str, pa.DataType] | None:
    """Return the quoted path and the type of a column with values, or of such a field of one."""
    if not isinstance(tree, _Field) or tree.path[0] in columns.unread.names:
        return None
    fields: Any = columns.types
    of: Any = None
    field: Any = None
    for name in tree.path:
        if isinstance(fields, pa.DataType) and not pa.types.is_struct(fields):
            return None
        at = fields.get_field_index(name)
        if at < 0:
            return None
        field = fields.field(at)
        fields = of = field.type
    if columns.unread.json and _is_json(field):
        return None
    if pa.types.is_dictionary(of):
        of = of.value_type
    path = None if pa.types.is_nested(of) else _conditions.path(tree.path, columns.tree)
    return (path, of) if path else None


def _is_json(field: Any) -> bool:
    # A version of pyarrow that has no such type leaves its name in the metadata.
    name = (field.metadata or {}).get(b"ARROW:extension:name", b"").decode()
    return bool(getattr(field.type, "extension_name", name) == _conditions.JSON)


def _names(fields: Any) -> Tree:
    """Return the names of a schema, or of a struct."""
    return [
        (field.name, _names(field.type) if pa.types.is_struct(field.type) else ())
        for field in fields
    ]


def _literal(value: Any, of: pa.DataType) -> str | None:
    """Return a literal, if comparing it with this type means the same in pyarrow and here."""
    kind, types = value.type, pa.types
    if not value.is_valid:
        return None
    if types.is_integer(kind):
        number = value.as_py()
        if types.is_floating(of):
            return str(number) if abs(number) < BEYOND and _number(float(number), of) else None
        return str(number) if types.is_integer(of) or types.is_decimal(of) else None
    if types.is_floating(kind):
        return _number(float(value.as_py()), of)
    if types.is_decimal(kind):
        return str(value.as_py()) if types.is_decimal(of) else None
    if types.is_boolean(kind):
        return str(value.as_py()).lower() if types.is_boolean(of) else None
    if _is_text(kind):
        return _conditions.text(value.as_py()) if _is_text(of) else None
    if _is_binary(kind):
        return f"x'{value.as_py().hex()}'" if _is_binary(of) else None
    if types.is_date32(kind):
        return _conditions.day(value.value) if types.is_date32(of) else None
    if types.is_timestamp(kind) and types.is_timestamp(of) and (kind.tz is None) == (of.tz is None):
        return _conditions.instant(value.value, _PER_SECOND[kind.unit], kind.tz is not None)
    return None


def _number(number: float, of: pa.DataType) -> str | None:
    if pa.types.is_float32(of):
        try:
            exact = struct.unpack("f", struct.pack("f", number))[0] == number
        except OverflowError:
            exact = False
    else:
        exact = pa.types.is_float64(of)
    return repr(number) if exact and math.isfinite(number) else None


def _is_text(of: pa.DataType) -> bool:
    return of in (pa.string(), pa.large_string(), pa.string_view())


def _is_binary(of: pa.DataType) -> bool:
    return of in (pa.binary(), pa.large_binary(), pa.binary_view())


def _fields(tree: Any) -> Iterator[_Field]:
    parts = _conditions.terms(tree, lambda part: part.arguments if isinstance(part, _Call) else ())
    return (part for part in parts if isinstance(part, _Field))


def _tree(expression: Any) -> Any:
    """Return what an expression consists of; ``None`` if this version pickles it otherwise."""
    if not isinstance(expression, pc.Expression):
        return None
    try:
        _, (pickled,) = expression.__reduce__()
        literals = pa.ipc.open_file(pickled).get_batch(0)
        pairs = iter(_metadata(bytes(pickled)))
        tree = _node(pairs, literals)
    except (pa.ArrowException, IndexError, KeyError, TypeError, ValueError, struct.error):
        return None
    except (NotImplementedError, StopIteration, UnicodeDecodeError):
        return None
    return tree


def _node(pairs: Iterator[tuple[str, str]], literals: Any) -> Any:
    """Return the next expression. By a loop: calls may be nested as deeply as there are terms."""
    calls: list[_Call] = []
    while True:
        kind, value = next(pairs)
        if kind == "call":
            calls.append(_Call(value, [], {}))
            continue
        if kind == "options":
            given = literals.column(int(value))[0]
            calls[-1].options.update({name: _option(given[name]) for name in given})
            continue
        node: Any
        if kind == "end":
            node = calls.pop()
        elif kind == "literal":
            node = _Literal(literals.column(int(value))[0])
        elif kind == "field_ref":
            node = _Field((value,))
        elif kind == "nested_field_ref":
            parts = [_node(pairs, literals) for _ in range(int(value))]
            node = _Field(tuple(name for part in parts for name in part.path))
        else:
            raise ValueError(kind)
        if not calls:
            return node
        calls[-1].arguments.append(node)


def _option(given: Any) -> Any:
    return given.values if pa.types.is_list(given.type) else given.as_py()


def _metadata(file: bytes) -> list[tuple[str, str]]:
    """Return the metadata of a file's schema, in order: pyarrow keeps one of several equal keys.

    The footer is a table of Flatbuffers: `Footer.schema` is field 1, `Schema.custom_metadata`
    field 2, a pair has the fields 0 and 1.
    """
    size = int.from_bytes(file[-10:-6], "little")
    footer = file[-10 - size : -10]

    def number(code: str, at: int) -> int:
        found: int = struct.unpack_from(f"<{code}", footer, at)[0]
        return found

    def target(at: int) -> int:
        return at + number("I", at)

    def field(table: int, index: int) -> int:
        offset = number("H", table - number("i", table) + 4 + 2 * index)
        if offset == 0:
            raise ValueError("a field is missing")
        return target(table + offset)

    def text(table: int, index: int) -> str:
        start = field(table, index)
        return footer[start + 4 : start + 4 + number("I", start)].decode()

    pairs = field(field(target(0), 1), 2)
    tables = [target(pairs + 4 + 4 * index) for index in range(number("I", pairs))]
    return [(text(table, 0), text(table, 1)) for table in tables]
