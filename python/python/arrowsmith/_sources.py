# SPDX-License-Identifier: Apache-2.0
"""Sources that become files: those of other file systems, and asynchronous iterators of bytes.

And sources and targets in stores, with settings.
"""

import os
from collections.abc import AsyncIterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from arrowsmith import _lib
from arrowsmith._types import Source, StorageOptions, Target
from arrowsmith.errors import ConfigError

if TYPE_CHECKING:
    from arrowsmith._async import Files


def opened(
    source: Any, storage: StorageOptions | None = None, files: "Files | None" = None
) -> Source:
    """Return the source, with files in place of what the library cannot open itself.

    ``storage`` are the settings of stores, ``files`` those of a running event loop, if there is
    one.
    """
    if isinstance(source, (list, tuple)):
        return [cast(Any, _one(part, storage, files)) for part in source]
    return cast(Source, _one(source, storage, files))


def located(source: Any, storage: StorageOptions | None) -> Source:
    """Return the source with the settings of its store, and nothing opened."""
    if isinstance(source, (list, tuple)):
        return [_with_settings(part, storage) for part in source]
    return cast(Source, _with_settings(source, storage))


def stored(target: Target, storage: StorageOptions | None) -> Target:
    """Return the target, with the settings of its store if it is in one."""
    return cast(Target, _with_settings(target, storage))


def _one(source: Any, storage: StorageOptions | None, files: "Files | None") -> Any:
    if isinstance(source, str) and source.startswith("hf://"):
        from arrowsmith._hub import HubFile

        settings, headers = _settings(storage)
        for name, _ in [*settings, *headers]:
            if name not in ("token", "endpoint"):
                raise ConfigError(
                    f"storage_options: there is no {name!r} for hf://: there are token, endpoint"
                )
        return HubFile(source, **dict(settings))
    if isinstance(source, AsyncIterable):
        if files is None:
            raise TypeError(
                "source: an asynchronous iterator needs a running event loop: use read_json_async "
                "or read_parquet_async"
            )
        return files.of(source)
    if _is_unopened(source):
        file: Any = source
        # Only fsspec's has a mode of its own.
        return file.open() if hasattr(file, "mode") else file.open("rb")
    return _with_settings(source, storage)


def _with_settings(place: Any, storage: StorageOptions | None) -> Any:
    """Return text or a part of a split scan with settings; files of this machine have none."""
    name = place.name if isinstance(place, _lib.File) else place
    if not storage or not isinstance(name, str) or "://" not in name:
        return place
    return _lib.Stored(place, *_settings(storage))


def _settings(storage: StorageOptions | None) -> tuple[list[tuple[str, str]], ...]:
    """Return settings, and the headers of requests."""
    if storage is None:
        return [], []
    if not isinstance(storage, Mapping):
        raise TypeError(f"storage_options: expected a dict, found {type(storage).__name__}")
    headers = storage.get("headers") or {}
    if not isinstance(headers, Mapping):
        raise TypeError(f"storage_options: headers: expected a dict, found {headers!r}")
    settings = {name: value for name, value in storage.items() if name != "headers"}
    return _texts(settings), _texts(headers)


def _texts(given: Mapping[str, object]) -> list[tuple[str, str]]:
    texts = []
    for name, value in given.items():
        if value is None:
            continue
        if not isinstance(name, str) or not isinstance(value, (str, int, float)):
            found = type(value).__name__
            raise TypeError(f"storage_options: {name}: expected text or a number, found {found}")
        texts.append((name, str(value).lower() if isinstance(value, bool) else str(value)))
    return texts


def _is_unopened(source: object) -> bool:
    """Whether this is a file that is not open yet: ``fsspec.core.OpenFile``, ``UPath``."""
    if isinstance(source, os.PathLike):
        # The library opens and maps local files. Some of the others are `PathLike`, too.
        return getattr(source, "protocol", "") not in ("", "file", "local")
    return callable(getattr(source, "open", None)) and not hasattr(source, "read")
