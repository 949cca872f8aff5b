# SPDX-License-Identifier: Apache-2.0
"""Sources that become files: those of other file systems, and asynchronous iterators of bytes.

And sources and targets in stores, with settings.
"""

import os
from collections.abc import AsyncIterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from arrowsmith import _lib
from arrowsmith._types import (
    Source,
    StorageOptions,
    TableFormat,
    Target,
    UnopenedFile,
    WritableFile,
)
from arrowsmith.errors import ArrowsmithError, ConfigError

if TYPE_CHECKING:
    from arrowsmith._async import Files

_STORES = ("s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss", "http", "https")
"""The schemes that the library opens by itself."""

_PIECE = 1 << 20
"""Bytes that are copied at once."""


class _Process:
    """Whether stores were used by this process, or by the one that it was forked from."""

    is_using = False
    is_forked = False


def _after_fork() -> None:
    _Process.is_forked = _Process.is_using or _Process.is_forked


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


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
    is_list = isinstance(source, (list, tuple))
    for part in source if is_list else [source]:
        if _is_unopened(part):
            found = type(part).__name__
            raise ConfigError(
                f"split: other processes cannot open a {found}: pass a path or the URL of a store"
            )
    if is_list:
        return [_with_settings(part, storage) for part in source]
    return cast(Source, _with_settings(source, storage))


def table_of(source: Any, table: TableFormat | None) -> Any:
    """Return the source as a table of this format, if it is one."""
    if table is None:
        return source
    if not isinstance(source, (str, os.PathLike)) or _is_unopened(source):
        found = type(source).__name__
        raise TypeError(f"source: expected the path or URL of a {table} table, found {found}")
    return _lib.TableSource(_with_settings(os.fspath(source), None), table)


def stored(target: Target, storage: StorageOptions | None) -> Target:
    """Return the target, with the settings of its store if it is in one."""
    return cast(Target, _with_settings(target, storage, "target"))


@contextmanager
def writable(
    target: Target | WritableFile | UnopenedFile,
    storage: StorageOptions | None,
    options: Mapping[str, object],
) -> Iterator[Target]:
    """Yield the target, or a temporary file, whose bytes are written to the file that it is."""
    is_open = not isinstance(target, (str, os.PathLike)) and hasattr(target, "write")
    if not is_open and not _is_unopened(target):
        yield stored(cast(Target, target), storage)
        return
    import tempfile

    for name in ("partition_by", "rows_per_file", "bytes_per_file", "append", "table"):
        if options.get(name):
            raise ConfigError(f"target: {name} makes a folder: pass a path or URL, not a file")
    with tempfile.TemporaryDirectory(prefix="arrowsmith-") as folder:
        path = os.path.join(folder, "rows.parquet")
        yield path
        file: Any = target
        with open(path, "rb") as rows:
            if is_open:
                _copy(rows, file)
            else:
                with _opened_as(file, "wb") as written:
                    _copy(rows, written)


def _copy(source: BinaryIO, target: WritableFile) -> None:
    while piece := source.read(_PIECE):
        rest = memoryview(piece)
        while rest:
            count = target.write(rest)
            rest = rest[len(rest) if count is None else count :]


def _opened_as(file: Any, mode: str) -> Any:
    """Return what opening a file gives; only fsspec's has a mode of its own."""
    return file.open() if hasattr(file, "mode") else file.open(mode)


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
        return _opened_as(source, "rb")
    return _with_settings(source, storage)


def _with_settings(place: Any, storage: StorageOptions | None, argument: str = "source") -> Any:
    """Return text, a table or a part of a split scan with settings.

    Files of this machine have none.
    """
    is_part = isinstance(place, (_lib.File, _lib.TableFiles, _lib.TableSource))
    name = place.name if is_part else place
    if not isinstance(name, str) or "://" not in name:
        return place
    scheme, _, rest = name.partition("://")
    if scheme.lower() in _STORES:
        _use_stores(scheme)
        return _lib.Stored(place, *_settings(storage)) if storage else place
    if place is not name or os.path.exists(name):
        return place
    if scheme.lower() in ("file", "local"):
        return _path(rest, name, argument)
    if not scheme.replace("+", "").replace("-", "").isalnum():
        return place
    mode = "" if argument == "source" else ", 'wb'"
    raise ConfigError(
        f"{argument}: {scheme}:// is none of {', '.join(_STORES)}, hf, file; what fsspec has is "
        f"taken as its file: fsspec.open(url{mode})"
    )


def _path(rest: str, url: str, argument: str) -> str:
    """Return the path, or pattern, of a URL of a file."""
    from urllib.request import url2pathname

    host, slash, path = rest.partition("/")
    if host not in ("", "localhost") or not slash:
        raise ConfigError(f"{argument}: {url}: expected file:///PATH, with an absolute path")
    return url2pathname(slash + path)


def _use_stores(scheme: str) -> None:
    if _Process.is_forked:
        # The threads that wait for answers did not survive, and what they wait with is shared.
        raise ArrowsmithError(
            f"{scheme}://: this process was forked from one that had read or written a URL: start "
            "processes by multiprocessing.get_context('spawn') or 'forkserver'"
        )
    _Process.is_using = True


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
