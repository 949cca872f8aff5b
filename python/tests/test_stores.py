# SPDX-License-Identifier: Apache-2.0
"""Settings of stores, beside a server of these tests that says what it was sent."""

import json
import multiprocessing
import pickle
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arrowsmith
from arrowsmith._types import StorageOptions
from conftest import ROWS

KEY = "AKIDEXAMPLE"
SECRET = "SECRET/key"


class Store:
    """Objects behind HTTP and behind as much of S3 as it takes to list, read and write them."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.headers: list[dict[str, str]] = []
        """The headers of each request, names in small letters."""
        self.wanted = ("", "")
        """A header without which requests are refused, and how it starts."""
        store = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                store.answer(self)

            do_HEAD = do_PUT = do_GET  # noqa: N815

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.headers.append(headers)
        address = urlsplit(request.path)
        name, query = address.path, parse_qs(address.query)
        sent = request.rfile.read(int(headers.get("content-length", 0)))
        wanted, start = self.wanted
        status, body = 200, b""
        if wanted and not headers.get(wanted, "").startswith(start):
            status = 403
        elif request.command == "PUT":
            self.objects[name] = sent
        elif "list-type" in query:
            prefix = f"{name}/{query['prefix'][0]}".replace("//", "/")
            found = [at for at in sorted(self.objects) if at.startswith(prefix)]
            body = "".join(
                f"<Contents><Key>{at.split('/', 2)[2]}</Key><Size>{len(self.objects[at])}</Size>"
                "<LastModified>2024-03-05T10:11:12.000Z</LastModified></Contents>"
                for at in found
            ).encode()
            body = b"<ListBucketResult>%b</ListBucketResult>" % body
        elif name in self.objects:
            body = self.objects[name]
        else:
            status = 404
        part = headers.get("range") if status == 200 else None
        if part:
            first, last = part.removeprefix("bytes=").split("-")
            stop, size = min(int(last) + 1, len(body)), len(body)
            body = body[int(first) : stop]
        request.send_response(206 if part else status)
        if part:
            request.send_header("Content-Range", f"bytes {first}-{stop - 1}/{size}")
        request.send_header("Content-Length", str(len(body)))
        request.send_header("Last-Modified", "Tue, 05 Mar 2024 10:11:12 GMT")
        request.send_header("ETag", '"1"')
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(body)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    store = Store()
    yield store
    store.server.shutdown()
    store.server.server_close()


@pytest.fixture
def s3(store: Store) -> StorageOptions:
    store.wanted = ("authorization", f"AWS4-HMAC-SHA256 Credential={KEY}/")
    return {
        "aws_access_key_id": KEY,
        "secret_access_key": SECRET,
        "aws_region": "eu-central-1",
        "endpoint_url": store.url,
    }


TEXT = b'{"id":1}\n{"id":2}\n'


def test_every_reader_takes_settings(store: Store, s3: StorageOptions) -> None:
    store.objects["/box/a.jsonl"] = TEXT
    url = "s3://box/a.jsonl"
    rows = [{"id": 1}, {"id": 2}]
    assert arrowsmith.read_json(url, storage_options=s3).to_pylist() == rows
    assert "/eu-central-1/s3/" in store.headers[-1]["authorization"]
    assert arrowsmith.read_json([url, url], storage_options=s3).num_rows == 4
    with arrowsmith.open_json(url, storage_options=s3) as reader:
        assert sum(map(len, reader)) == 2
    assert arrowsmith.infer_schema(url, storage_options=s3).names == ["id"]
    scan = arrowsmith.scan_json(url, storage_options=s3)
    assert scan.filter("id > 1").collect().to_pylist() == rows[1:]
    assert scan.to_polars().collect().to_dicts() == rows
    parts = pickle.loads(pickle.dumps(scan.split("1MiB")))
    assert [part.collect().to_pylist() for part in parts] == [rows]


def test_parquet_in_a_store(store: Store, s3: StorageOptions) -> None:
    table = pa.table({"id": [1, 2]})
    written = arrowsmith.write_parquet(table, "s3://box/out/x.parquet", storage_options=s3)
    assert (written.rows, written.bytes) == (2, len(store.objects["/box/out/x.parquet"]))
    assert pq.read_table(pa.BufferReader(store.objects["/box/out/x.parquet"])).equals(table)
    for url in ("s3://box/out/", "s3://box/out/x.parquet"):
        read = arrowsmith.read_parquet(url, storage_options=s3)
        assert read.to_pyarrow().equals(table)
    assert arrowsmith.scan_parquet(url, storage_options=s3).limit(1).collect().num_rows == 1
    assert arrowsmith.parquet_metadata(url, storage_options=s3)["rows"] == 2
    store.objects["/box/a.jsonl"] = TEXT
    arrowsmith.convert_json("s3://box/a.jsonl", "s3://box/b.jsonl", storage_options=s3)
    assert store.objects["/box/b.jsonl"] == TEXT


def test_given_credentials_come_alone(
    store: Store, s3: StorageOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session's token in the environment belongs to another key."""
    monkeypatch.setenv("AWS_SESSION_TOKEN", "OTHER")
    store.objects["/box/a.jsonl"] = TEXT
    arrowsmith.read_json("s3://box/a.jsonl", storage_options=s3)
    assert all("x-amz-security-token" not in headers for headers in store.headers)


@pytest.mark.parametrize(
    ("options", "name", "value"),
    [
        ({"token": "SECRET"}, "authorization", "Bearer SECRET"),
        ({"headers": {"X-Api-Key": "SECRET"}}, "x-api-key", "SECRET"),
        ({"token": "t", "headers": {"User-Agent": "me"}, "timeout": "5s"}, "user-agent", "me"),
    ],
)
def test_headers_of_http(store: Store, options: Any, name: str, value: str) -> None:
    store.wanted = (name, value)
    store.objects["/a.jsonl"] = TEXT
    url = f"{store.url}/a.jsonl"
    assert arrowsmith.read_json(url, storage_options=options).num_rows == 2
    with pytest.raises(PermissionError, match=r"403.*storage_options=\{\"token\""):
        arrowsmith.read_json(url)


def test_refused_settings_name_those_there_are(tmp_path: Path) -> None:
    for url, options, message in [
        ("s3://box/a", {"aws_key_id": "SECRET"}, "aws_key_id.*s3.*aws_access_key_id"),
        ("gs://box/a", {"x": "SECRET"}, "gs.*google_service_account"),
        ("az://box/a", {"x": "SECRET"}, "az.*account_key"),
        ("http://localhost/a", {"x": "SECRET"}, "https.*token, headers"),
        ("hf://datasets/a/b/c.jsonl", {"x": "SECRET"}, "hf://.*token, endpoint"),
        ("s3://box/a", {"headers": {"X": "SECRET"}}, "headers are for https"),
    ]:
        with pytest.raises(arrowsmith.ConfigError, match=message) as error:
            arrowsmith.read_json(url, storage_options=options)  # type: ignore[arg-type]
        assert "SECRET" not in str(error.value)
    for options in ({"aws_region": b"x"}, {"headers": "x"}, ["x"]):
        with pytest.raises(TypeError, match="storage_options: "):
            arrowsmith.read_json("s3://box/a", storage_options=options)  # type: ignore[arg-type]
    # As in polars, files of this machine have no store.
    path = tmp_path / "a.jsonl"
    path.write_bytes(TEXT)
    assert arrowsmith.read_json(str(path), storage_options={"aws_region": "x"}).num_rows == 2


def test_secrets_are_not_shown(s3: StorageOptions) -> None:
    scan = arrowsmith.scan_json("s3://box/a.jsonl", storage_options=s3)
    assert SECRET not in repr(scan)
    assert SECRET not in json.dumps(repr(scan.filter("id > 1")))


def test_missing_credentials_name_the_remedy(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.wanted = ("authorization", "AWS4")
    options: StorageOptions = {"endpoint_url": store.url, "skip_signature": True}
    remedy = r'403.*storage_options=\{"aws_access_key_id"'
    with pytest.raises(PermissionError, match=remedy):
        arrowsmith.read_json("s3://box/a.jsonl", storage_options=options)


def test_a_signed_url_is_read_and_not_shown(store: Store) -> None:
    store.objects["/x.jsonl"] = TEXT
    url = f"{store.url}/x.jsonl"
    table = arrowsmith.read_json(f"{url}?sig=SECRET", file_column="file")
    assert table.to_pylist() == [{"id": n, "file": f"{url}?***"} for n in (1, 2)]
    assert arrowsmith.scan_json(f"{url}?sig=SECRET").filter("id = 2").collect().num_rows == 1
    with pytest.raises(FileNotFoundError, match=r"404 Not Found: .*/y\.jsonl\?\*\*\*'$"):
        arrowsmith.read_json(f"{store.url}/y.jsonl?sig=SECRET")


def count(url: str) -> int | str:
    """Return the rows, or what was raised: for another process."""
    try:
        return arrowsmith.read_json(url).num_rows
    except arrowsmith.ArrowsmithError as error:
        return str(error)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
def test_a_forked_process_does_not_wait_for_ever(store: Store, path: Path) -> None:
    store.objects["/x.jsonl"] = b'{"a":1}\n{"a":2}\n'
    url = f"{store.url}/x.jsonl"
    assert count(url) == 2
    with multiprocessing.get_context("fork").Pool(1) as pool:
        found = pool.apply_async(count, (url,)).get(timeout=60)
        assert "get_context('spawn')" in str(found)
        assert pool.apply_async(count, (str(path),)).get(timeout=60) == ROWS
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply_async(count, (url,)).get(timeout=60) == 2
    assert count(url) == 2
