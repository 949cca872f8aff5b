# SPDX-License-Identifier: Apache-2.0
"""The reference of the API is made without warnings."""

import subprocess
import sys
from pathlib import Path


def test_pdoc_has_no_warnings(tmp_path: Path) -> None:
    # The keys that a TypedDict inherits are in no class that pdoc knows.
    known = "ignore:Cannot determine where arrowsmith.JsonReadOptions"
    command = [sys.executable, "-W", "error", "-W", known, "-m", "pdoc", "arrowsmith"]
    command += ["!arrowsmith.dask", "!arrowsmith.daft", "!arrowsmith.ray"]
    command += ["-d", "google", "-o", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    page = (tmp_path / "arrowsmith.html").read_text()
    for name in ("read_json", "scan_parquet", "Scan.explain", "Table.rejects"):
        assert f'id="{name}"' in page
