# SPDX-License-Identifier: Apache-2.0
"""Data that several tests read."""

import json
from pathlib import Path

import pytest

ROWS = 20_000


def record(number: int) -> dict[str, object]:
    return {
        "id": number,
        "ratio": number / 7,
        "ok": number % 3 == 0,
        "name": f'n\u00fcmber "{number}"',
        "tags": [f"t{tag}" for tag in range(number % 4)],
        "user": {"age": number % 90, "city": None if number % 5 else "Delft"},
    }


@pytest.fixture(scope="session")
def lines() -> bytes:
    text = "".join(json.dumps(record(number)) + "\n" for number in range(ROWS))
    return text.encode()


@pytest.fixture(scope="session")
def path(lines: bytes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "lines.jsonl"
    path.write_bytes(lines)
    return path
