# SPDX-License-Identifier: Apache-2.0
"""Files of data sets on a Hugging Face hub: ``hf://datasets/OWNER/NAME[@REVISION]/PATH``.

The token and the hub are those of the hub's own tools (``HF_TOKEN``, or the file that their login
writes; ``HF_ENDPOINT``), or those of ``storage_options``. The token is sent to the hub only, not to
where it redirects.

Imported when it is needed, as are the modules of HTTP.
"""

import errno
import os
import time
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

T = TypeVar("T")

_TRIES = 4
_PAUSE = 0.25
"""Seconds before the second try; twice as long before each further one."""
_TIMEOUT = 60
"""Seconds without a byte, after which a connection counts as lost."""
_BUSY = (408, 429, 500, 502, 503, 504)
_DIGITS = 18
"""Digits of a size in bytes: more are none, and Python refuses to read very many."""


class _AgainError(Exception):
    """What another try may get past."""


class HubFile:
    """A binary file that is read by HTTP: in one request from its start, or part by part."""

    def __init__(self, url: str, token: str | None = None, endpoint: str | None = None) -> None:
        """Nothing is requested before the file is read."""
        self.name = url
        self._address = _address(url, endpoint)
        self._token = token
        self._at = 0
        self._size: int | None = None
        self._version: str | None = None
        self._in_parts = False
        self._body: Any = None

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set the position; what is read from now on is requested without what follows."""
        if whence == os.SEEK_END and self._size is None:
            self._tried(lambda: self._open(0, 1))
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size or 0}[whence]
        self._close()
        self._in_parts, self._at = True, start + offset
        return self._at

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes; empty at the end."""
        return self._tried(lambda: self._read(size))

    def _read(self, size: int) -> bytes:
        if self._body is None and not self._is_at_end():
            self._open(self._at, self._at + size if self._in_parts else None)
        if size == 0 or self._is_at_end():
            self._close()
            return b""
        body: Any = self._body
        try:
            piece: bytes = body.read(size)
        except (HTTPException, OSError) as error:
            piece, lost = b"", str(error)
        else:
            lost = f"the connection ended at byte {self._at} of {self._size}"
        if self._in_parts or not piece:
            self._close()
        if not piece:
            raise _AgainError(lost)
        self._at += len(piece)
        return piece

    def _is_at_end(self) -> bool:
        return self._size is not None and self._at >= self._size

    def _open(self, start: int, stop: int | None) -> None:
        """Request the bytes from ``start``; learn the size of the file."""
        request = Request(self._address)
        if start or stop is not None:
            request.add_header("Range", f"bytes={start}-{'' if stop is None else stop - 1}")
        if token := self._token or _token():
            request.add_header("Authorization", f"Bearer {token}")
        try:
            answer = _OPENER.open(request, timeout=_TIMEOUT)
        except HTTPError as error:
            error.close()
            if error.code == 416 and start == 0 and stop is not None:
                self._size = 0
                return
            if error.code in _BUSY:
                raise _AgainError(f"{error.code} {error.reason}") from None
            raise self._refused(error) from None
        except (HTTPException, OSError) as error:
            raise _AgainError(str(error)) from None
        self._body = answer
        size, version = answer.headers.get("Content-Length"), answer.headers.get("ETag")
        if answer.status == 206:
            part, _, size = answer.headers.get("Content-Range", "").rpartition("/")
            if not part.startswith(f"bytes {start}-"):
                raise self._failed("the server sends another part of the file")
        elif start:
            raise self._failed("the server does not send parts of files")
        if not (size and size.isdecimal() and len(size) <= _DIGITS):
            raise self._failed("the server does not tell the size of the file")
        if self._size not in (None, int(size)) or self._version not in (None, version):
            raise self._failed("the file was replaced while it was read")
        self._size, self._version = int(size), version

    def _failed(self, text: str) -> OSError:
        return OSError(errno.EIO, text, self.name)

    def _refused(self, error: HTTPError) -> OSError:
        number, text = errno.EIO, f"{error.code} {error.reason}"
        if error.code in (401, 403):
            number = errno.EACCES
            text += "; set HF_TOKEN, or storage_options={'token': …}, to a token that may read it"
        elif error.code == 404:
            number = errno.ENOENT
        return OSError(number, text, self.name)

    def _tried(self, call: Callable[[], T]) -> T:
        lost = ""
        for again in range(_TRIES):
            try:
                return call()
            except _AgainError as error:
                lost = str(error)
            if again + 1 < _TRIES:
                time.sleep(_PAUSE * 2**again)
        raise OSError(errno.EIO, f"{lost}; tried {_TRIES} times", self.name)

    def _close(self) -> None:
        if self._body is not None:
            self._body.close()
            self._body = None


class _Redirects(HTTPRedirectHandler):
    """Redirects without the token, where they lead to another server."""

    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        if following is not None:
            before, after = urlsplit(req.full_url), urlsplit(following.full_url)
            if (before.scheme, before.netloc) != (after.scheme, after.netloc):
                following.remove_header("Authorization")
        return following


_OPENER = build_opener(_Redirects)


def _address(url: str, endpoint: str | None) -> str:
    kind, _, rest = url.removeprefix("hf://").partition("/")
    owner, _, rest = rest.partition("/")
    name, _, path = rest.partition("/")
    name, _, revision = name.partition("@")
    wanted = "hf://datasets/OWNER/NAME/PATH"
    if kind != "datasets" or not (owner and name and path) or path.endswith("/"):
        raise ValueError(f"source: expected a file, {wanted}, found {url}")
    if set(path) & set("*?["):
        raise ValueError(f"source: {url}: no patterns here; pass a list of files, {wanted}")
    if {".", ".."} & {owner, name, revision, *path.split("/")}:
        # A server, or what is before it, may take them for folders above, outside of the data set.
        raise ValueError(f"source: {url}: no folders named . or ..; {wanted}")
    hub = endpoint or os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    place = f"datasets/{quote(owner)}/{quote(name)}/resolve/{quote(revision or 'main', safe='')}"
    return f"{hub.rstrip('/')}/{place}/{quote(path)}"


def _token() -> str | None:
    if token := os.environ.get("HF_TOKEN"):
        return token.strip()
    home = os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface"
    file = os.environ.get("HF_TOKEN_PATH") or Path(home) / "token"
    try:
        return Path(file).read_text().strip() or None
    except OSError:
        return None
