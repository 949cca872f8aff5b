# SPDX-License-Identifier: Apache-2.0
"""Data sets of a hub, which is a server of these tests: with redirects, tokens and failures."""

import io
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet
import pytest

import arrowsmith
from arrowsmith import _hub
from conftest import ROWS

TOKEN = "hf_SECRET"
PLACE = "/datasets/ann/logs/resolve/"


class Hub:
    """A hub, and the server that it redirects to."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.faults: list[int] = []
        """A status each, or minus the number of bytes after which a connection ends."""
        self.headers: dict[str, str] = {}
        """In place of those of the next answers."""
        self.ranges: list[str | None] = []
        self.leaked: list[str] = []
        self.servers = [self.serve(), self.serve()]
        self.endpoint, self.elsewhere = [
            f"http://127.0.0.1:{server.server_address[1]}" for server in self.servers
        ]

    def serve(self) -> ThreadingHTTPServer:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                hub.answer(self)

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}).start()
        return server

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        token, path = request.headers["Authorization"], request.path
        if request.server is self.servers[0]:
            status = 302 if token == f"Bearer {TOKEN}" else 401
            if status == 302 and path.removeprefix(PLACE) not in self.files:
                status = 404
            request.send_response(status)
            request.send_header("Location", self.elsewhere + path)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        if token is not None:
            self.leaked.append(token)
        part = request.headers["Range"]
        self.ranges.append(part)
        fault = self.faults.pop(0) if self.faults else 0
        if fault > 0:
            request.send_error(fault)
            return
        whole = self.files[path.removeprefix(PLACE)]
        start, end = 0, len(whole)
        if part is not None:
            first, last = re.fullmatch(r"bytes=(\d+)-(\d*)", part).groups()  # type: ignore[union-attr]
            start, end = int(first), min(int(last) + 1 if last else end, end)
            if start >= len(whole):
                request.send_error(416)
                return
        request.send_response(200 if part is None else 206)
        headers = {"Content-Length": str(end - start)}
        if part is not None:
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(whole)}"
        for name, value in {**headers, **self.headers}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(whole[start:end] if not fault else whole[start:end][:-fault])
        request.close_connection = True


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    hub = Hub()
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setattr(_hub, "_PAUSE", 0.001)
    yield hub
    for server in hub.servers:
        server.shutdown()
        server.server_close()
    assert hub.leaked == []


def test_json_is_read_in_one_request(hub: Hub, lines: bytes) -> None:
    hub.files = {"main/a%20b.jsonl": lines, "v1/x.jsonl": lines[: lines.index(b"\n")]}
    url = "hf://datasets/ann/logs/a b.jsonl"
    expected = pa.table(arrowsmith.read_json(lines))
    assert pa.table(arrowsmith.read_json(url)).equals(expected)
    assert hub.ranges == [None]
    both = arrowsmith.scan_json([url, "hf://datasets/ann/logs@v1/x.jsonl"])
    assert both.collect().num_rows == ROWS + 1
    with pytest.raises(FileNotFoundError, match="404"):
        arrowsmith.read_json("hf://datasets/ann/logs@v2/x.jsonl")
    assert arrowsmith.scan_json(url).select("id").limit(3).collect().num_rows == 3


def test_parquet_is_read_in_parts(hub: Hub) -> None:
    table = pa.table({f"c{number}": range(number, ROWS + number) for number in range(50)})
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file)
    hub.files["main/x.parquet"] = file.getvalue()
    url = "hf://datasets/ann/logs/x.parquet"
    found = arrowsmith.scan_parquet(url).select("c3", "c40").collect()
    assert found.to_pyarrow().equals(table.select(["c3", "c40"]))
    parts = [list(map(int, (part or "").removeprefix("bytes=").split("-"))) for part in hub.ranges]
    assert len(parts) <= 6
    assert sum(last - first + 1 for first, last in parts) < len(file.getvalue()) / 2


def test_faults_are_tried_again(hub: Hub, lines: bytes) -> None:
    hub.files["main/x.jsonl"] = lines
    hub.faults = [503, 429, -1_000, -(len(lines) // 2), 502]
    table = arrowsmith.read_json("hf://datasets/ann/logs/x.jsonl")
    assert pa.table(table).equals(pa.table(arrowsmith.read_json(lines)))
    assert hub.ranges[:3] == [None] * 3
    assert hub.ranges[3] == "bytes=1000-"
    hub.faults = [503] * 4
    with pytest.raises(OSError, match=r"503 .*tried 4 times"):
        arrowsmith.read_json("hf://datasets/ann/logs/x.jsonl")


def test_nothing_is_a_file(hub: Hub) -> None:
    hub.files["main/x.parquet"] = b""
    with pytest.raises(arrowsmith.FileError):
        arrowsmith.read_parquet("hf://datasets/ann/logs/x.parquet")


def test_tokens(hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hub.files["main/x.jsonl"] = b'{"a":1}'
    url = "hf://datasets/ann/logs/x.jsonl"
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(PermissionError, match="HF_TOKEN") as caught:
        arrowsmith.read_json(url)
    assert caught.value.filename == url
    (tmp_path / "token").write_text(TOKEN + "\n")
    assert arrowsmith.read_json(url).num_rows == 1
    monkeypatch.setenv("HF_TOKEN", "hf_WRONG")
    with pytest.raises(PermissionError) as caught:
        arrowsmith.read_json(url)
    assert "WRONG" not in str(caught.value)
    given = {"token": TOKEN, "endpoint": hub.endpoint}
    monkeypatch.setenv("HF_ENDPOINT", "http://localhost:1")
    assert arrowsmith.read_json(url, storage_options=given).num_rows == 1
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
    hub.faults = [403]
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with pytest.raises(PermissionError, match="403"):
        arrowsmith.read_json(url)


@pytest.mark.parametrize(
    "url",
    [
        "hf://",
        "hf://models/a/b/c",
        "hf://datasets/a/b",
        "hf://datasets/a/b/",
        "hf://datasets/a/b/*.json",
        "hf://datasets/../b/x.json",
        "hf://datasets/a/b@../x.json",
        "hf://datasets/a/b/../../x.json",
    ],
)
def test_what_is_no_file_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="OWNER/NAME/PATH"):
        arrowsmith.read_json(url)


def test_any_address_is_within_its_data_set(hub: Hub) -> None:
    pieces = ["hf://", "datasets", "/", "//", "..", ".", "@", "%2F", "%", "#", "?", "\\", "a", " "]
    pieces += ["b:c", "\n", "\0", "é", "\ud800", "user@host", "http://", "refs%2Fpr%2F1", "x.json"]
    random = Random(7)
    found = 0
    for _ in range(20_000):
        rest = "".join(random.choices(pieces, k=random.randrange(9)))
        url = random.choice(["hf://", "hf://datasets/", "hf://datasets/o/n/"]) + rest
        try:
            address = _hub._address(url, None)
        except ValueError:
            continue
        found += 1
        place = urlsplit(address)
        assert f"{place.scheme}://{place.netloc}" == hub.endpoint, url
        words = place.path.split("/")
        assert words[:2] == ["", "datasets"], url
        assert words[4] == "resolve", url
        assert not {".", ".."} & {unquote(word) for word in words}, url
        assert place.query + place.fragment == "", url
        assert not set(address) & set(" \n\0\\"), url
    assert found > 1_000


def test_any_answers_are_the_file_or_an_error(
    hub: Hub, lines: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_hub, "_PAUSE", 0)
    hub.files["main/x.jsonl"] = lines
    random = Random(11)
    refused = 0
    for _ in range(60):
        headers: dict[str, str] = {}
        for name in ["Content-Length", "Content-Range", "ETag"]:
            if random.random() < 0.2:
                numbers = ["-1", "0", "7", str(len(lines)), "9" * 5_000, "x", "bytes 3-9/10"]
                headers[name] = random.choice(numbers)
        hub.headers = headers
        hub.faults = [random.choice([0, 0, 304, 500, -5]) for _ in range(3)]
        file = _hub.HubFile("hf://datasets/ann/logs/x.jsonl")
        read = b""
        try:
            if random.random() < 0.5:
                assert file.seek(-9, io.SEEK_END) == len(lines) - 9
                read = lines[:-9]
            while piece := file.read(random.choice([1_000, 100_000])):
                read += piece
        except (OSError, AssertionError):
            refused += 1
            continue
        assert read == lines or "Content-Length" in headers
    assert 5 < refused < 55
    # Only of a part it says that there is nothing.
    hub.headers, hub.faults = {}, [416]
    with pytest.raises(OSError, match="416"):
        _hub.HubFile("hf://datasets/ann/logs/x.jsonl").read(9)


def test_a_file_that_is_replaced_is_an_error(hub: Hub) -> None:
    hub.files["main/x"] = b"abcdef"
    for text, tag in [(b"abcdefg", "1"), (b"ABCDEF", "2")]:
        hub.headers = {"ETag": "1"}
        file = _hub.HubFile("hf://datasets/ann/logs/x")
        file.seek(0)
        assert file.read(2) == b"ab"
        hub.files["main/x"], hub.headers = text, {"ETag": tag}
        with pytest.raises(OSError, match="replaced"):
            file.read(2)
        hub.files["main/x"] = b"abcdef"
