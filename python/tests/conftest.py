# SPDX-License-Identifier: Apache-2.0
"""Data shared by tests, and the handling of skipped tests."""

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest

ROWS = 20_000

STRICT = os.environ.get("ARROWSMITH_STRICT", "") not in ("", "0")


def strictly(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure: a test must not be skipped because a tool is missing."""
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{why}; ARROWSMITH_STRICT=1 lets no test pass so"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    strictly(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    strictly(report)
    return report


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
