# SPDX-License-Identifier: Apache-2.0
"""Literals of conditions, as the modules that translate expressions of other libraries write them.

Such a translation is exact, or it may keep more rows than the expression, never fewer, where the
other library decides it again.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import date, datetime, timedelta, timezone
from typing import Any, NamedTuple, TypeAlias

from arrowsmith import _lib
from arrowsmith.errors import ConfigError

Tree: TypeAlias = "Sequence[tuple[str, Tree]]"
"""Names of columns, each with the fields inside of it if it is a struct."""

JSON = "arrow.json"
"""The extension type of JSON text."""

BEYOND = 2**53
"""Integers from here on are not exact as floating-point numbers."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

_SHOWN = 200
"""Characters of an expression in a message."""


class Unread(NamedTuple):
    """Columns that no condition of a scan can be about, which only the other library decides."""

    names: Collection[str] = ()
    """Columns that are added to the rows for which the condition is true."""
    json: bool = False
    """Whether values that are JSON text are such: a reader of JSON compares them with nothing."""


def terms(tree: Any, inside: Callable[[Any], Sequence[Any]]) -> list[Any]:
    """Return the terms of a chain of one operator, in order, however they are nested.

    ``inside`` returns the operands of an expression with this operator, and none of others. There
    may be more terms than Python has frames, and than a condition may have parentheses in others.
    """
    found, rest = [], [tree]
    while rest:
        part = rest.pop()
        if operands := inside(part):
            rest += reversed(operands)
        else:
            found.append(part)
    return found


def joined(word: str, parts: Sequence[str | None]) -> str | None:
    """Return conditions joined by ``and`` or ``or``, in parentheses, if there are all of them."""
    known = [part for part in parts if part]
    return f"({f' {word} '.join(known)})" if len(known) == len(parts) else None


def fits(condition: str) -> bool:
    """Whether a scan takes this condition: parentheses in others are limited."""
    try:
        # What a scan keeps has more of them than what it is given.
        _lib.condition(_lib.condition(condition))
    except ConfigError:
        return False
    return True


def too_deep(expression: object, instead: str) -> ConfigError:
    """Return the error of an expression that is not a condition for its nesting."""
    return ConfigError(
        f"filter: {shown(expression)} is nested more deeply than a condition may be: use {instead}"
    )


def shown(expression: object) -> str:
    """Return the text of an expression, or its start."""
    text = str(expression)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def path(names: Sequence[str], columns: Callable[[], Tree]) -> str | None:
    """Return the quoted path of a column, unless it is that of another one of ``columns``, too.

    A condition has dots between names: a column `a.b` has the path of the field `b` of a struct
    `a`. ``columns`` are all of the source: a condition finds those that are not selected, too.
    """
    text = ".".join(names)
    if set(text) & set('"`[]') or not text:
        return None
    is_one = "." not in text or _matches(text, columns()) == [tuple(names)]
    return f'"{text}"' if is_one else None


def _matches(text: str, columns: Tree) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name, inside in columns:
        if text == name:
            found.append((name,))
        elif name and text.startswith(f"{name}."):
            found += [(name, *rest) for rest in _matches(text[len(name) + 1 :], inside)]
    return found


def text(value: str) -> str:
    """Return text in quotes."""
    return "'" + value.replace("'", "''") + "'"


def day(days: int) -> str | None:
    """Return the date that is this many days after 1970-01-01."""
    try:
        return f"'{date(1970, 1, 1) + timedelta(days=days)}'"
    except OverflowError:
        return None


def instant(ticks: int, per_second: int, in_utc: bool) -> str | None:
    """Return the timestamp that is this many ticks after 1970-01-01."""
    seconds, part = divmod(ticks, per_second)
    try:
        start = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    except (OverflowError, ValueError):
        return None
    if len(start) != 19:
        return None  # A year with fewer than four digits.
    fraction = f".{part:0{len(str(per_second)) - 1}}" if part else ""
    return f"'{start}{fraction}{'Z' if in_utc else ''}'"
