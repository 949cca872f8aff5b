# SPDX-License-Identifier: Apache-2.0
"""Literals of conditions, as the modules that translate expressions of other libraries write them.

Such a translation is exact, or it may keep more rows than the expression, never fewer, where the
other library decides it again.
"""

from datetime import date, datetime, timedelta, timezone

BEYOND = 2**53
"""Integers from here on are not exact as floating-point numbers."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


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
