# SPDX-License-Identifier: Apache-2.0
"""The notebook of the documentation runs, and prints what is stored in it."""

import copy
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorial.ipynb"


def shown(cell: Any) -> str:
    """What a cell prints, without pictures: a kernel may print a line in several parts."""
    texts = [output.get("text", output.get("data", {})) for output in cell.get("outputs", ())]
    return "".join(text if isinstance(text, str) else text.get("text/plain", "") for text in texts)


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What a kernel or matplotlib writes is not left in the home folder.
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    stored: Any = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(stored)
    code = [cell for cell in stored.cells if cell.cell_type == "code"]
    assert len(code) == 10
    assert NOTEBOOK.stat().st_size < 64 << 10
    executed = copy.deepcopy(stored)
    client = nbclient.NotebookClient(
        executed, timeout=60, resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    found = [cell for cell in executed.cells if cell.cell_type == "code"]
    assert [shown(cell) for cell in found] == [shown(cell) for cell in code]
    pictures = [out for cell in found for out in cell.outputs if "image/png" in out.get("data", {})]
    assert len(pictures) == 1
