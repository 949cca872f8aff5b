# SPDX-License-Identifier: Apache-2.0
"""Sources that become files: those of other file systems, and asynchronous iterators of bytes."""

import os
from collections.abc import AsyncIterable
from typing import TYPE_CHECKING, Any, cast

from arrowsmith._types import Source

if TYPE_CHECKING:
    from arrowsmith._async import Files


def opened(source: Any, files: "Files | None" = None) -> Source:
    """Return the source, with files in place of what the library cannot open itself.

    ``files`` are those of a running event loop, if there is one.
    """
    if isinstance(source, (list, tuple)):
        return [cast(Any, _one(part, files)) for part in source]
    return cast(Source, _one(source, files))


def _one(source: Any, files: "Files | None") -> Any:
    if isinstance(source, str) and source.startswith("hf://"):
        from arrowsmith._hub import HubFile

        return HubFile(source)
    if isinstance(source, AsyncIterable):
        if files is None:
            raise TypeError(
                "source: an asynchronous iterator needs a running event loop: use read_json_async "
                "or read_parquet_async"
            )
        return files.of(source)
    if _is_unopened(source):
        # Only fsspec's has a mode of its own.
        return source.open() if hasattr(source, "mode") else source.open("rb")
    return source


def _is_unopened(source: object) -> bool:
    """Whether this is a file that is not open yet: ``fsspec.core.OpenFile``, ``UPath``."""
    if isinstance(source, os.PathLike):
        # The library opens and maps local files. Some of the others are `PathLike`, too.
        return getattr(source, "protocol", "") not in ("", "file", "local")
    return callable(getattr(source, "open", None)) and not hasattr(source, "read")
