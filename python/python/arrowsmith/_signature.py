# SPDX-License-Identifier: Apache-2.0
"""Signatures and documentation of functions that take options, from the library's table.

A type checker knows the options from ``Unpack[...]``; ``help`` and editors that run the code know
them from this.
"""

import inspect
import textwrap
from collections.abc import Callable
from typing import TypeVar

from arrowsmith import _lib

F = TypeVar("F", bound=Callable[..., object])

_JSON, _PARQUET = _lib.read_options()
_TABLE = {name: (default, text) for name, default, text in [*_PARQUET, *_JSON]}


def with_options(options: type) -> Callable[[F], F]:
    """Give a function the options of a ``TypedDict`` in place of its ``**options``."""

    def decorate(function: F) -> F:
        types = options.__annotations__
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        keywords = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=of)
            for name, of in types.items()
            for default, _ in [_TABLE[name]]
        ]
        parameters = [*own, *keywords]
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        mark = "of each:\n"
        if function.__doc__ and mark in function.__doc__:
            before, after = function.__doc__.split(mark, 1)
            function.__doc__ = before + mark + "".join(map(_line, types)) + after
        return function

    return decorate


def _line(name: str) -> str:
    text = f"``{name}``: {_TABLE[name][1]}.".replace("``", "`").replace("`", "``")
    return textwrap.fill(text, 100, initial_indent=" " * 12, subsequent_indent=" " * 16) + "\n"
