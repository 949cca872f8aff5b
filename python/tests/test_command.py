# SPDX-License-Identifier: Apache-2.0
"""The command in the module: its output, its exit status, its signals."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import arrowsmith

COMMAND = [sys.executable, "-m", "arrowsmith"]


def run(
    arguments: Sequence[str | os.PathLike[str]], stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *arguments], input=stdin, capture_output=True, check=False)


def test_the_command_converts_and_names_the_version(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_bytes(b'{"id":1}\n{"id":2}\n')
    target = tmp_path / "out.arrow"
    assert run(["convert", source, "-o", target]).returncode == 0
    assert arrowsmith.convert_json(source, tmp_path / "same.arrow").rows == 2
    assert target.read_bytes() == (tmp_path / "same.arrow").read_bytes()
    assert run(["--version"]).stdout.decode().split()[:2] == ["arrowsmith", arrowsmith.__version__]


def test_standard_streams_and_the_last_line_are_whole() -> None:
    converted = run(["convert", "-", "-o", "-", "--to", "ndjson"], b'{"id":1}\n' * 10_000)
    assert converted.returncode == 0, converted.stderr
    assert converted.stdout == b'{"id":1}\n' * 10_000


def test_arguments_of_any_bytes(tmp_path: Path) -> None:
    source = tmp_path / "größe.jsonl"
    source.write_bytes(b'{"id":1}\n')
    assert b"int64" in run(["infer", source]).stdout
    assert run(["infer", os.fsdecode(b"\xff.jsonl")]).returncode == 2


def test_exit_status() -> None:
    assert run(["convert", "/nowhere.jsonl", "-o", "-"]).returncode == 1
    wrong = run(["convert", "--no-such-option"])
    assert wrong.returncode == 2
    assert b"--no-such-option" in wrong.stderr


def test_an_interrupt_ends_the_command_and_leaves_no_file(tmp_path: Path) -> None:
    target = tmp_path / "out.arrow"
    arguments = [*COMMAND, "convert", "-", "--schema", "id: int64", "-o", str(target)]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b'{"id":1}\n')
    process.stdin.flush()
    while not list(tmp_path.iterdir()):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert errors.endswith(b"interrupted\n")
    assert not list(tmp_path.iterdir())
