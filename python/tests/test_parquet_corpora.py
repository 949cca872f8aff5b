# SPDX-License-Identifier: Apache-2.0
"""Third-party Parquet files, read as pyarrow reads them.

``parquet_decisions.txt`` lists the files that the two read differently, with the reason; a file
that is neither equal nor listed fails, and so does a line that is not needed. Files that have to be
refused are the business of the Rust tests: pyarrow does not survive all of them.
"""

import csv
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import arrowsmith

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent


def corpora() -> Path | None:
    named = os.environ.get("ARROWSMITH_CORPORA")
    places = [Path(named)] if named else [above / "shared/corpora" for above in REPOSITORY.parents]
    return next((place for place in places if place.is_dir()), None)


def files(folder: Path) -> list[str]:
    with (folder / "MANIFEST.tsv").open(newline="") as listed:
        rows = list(csv.reader(listed, delimiter="\t"))
    head = rows[0]
    path, expected = head.index("path"), head.index("expected")
    return [
        row[path]
        for row in rows[1:]
        if row[path].startswith("parquet-")
        and row[path].endswith((".parquet", ".parq"))
        and row[expected] == "accept"
    ]


def decisions() -> dict[str, str]:
    lines = (HERE / "parquet_decisions.txt").read_text().splitlines()
    pairs = (line.split("\t", 1) for line in lines if line and not line.startswith("#"))
    return {pair[0]: pair[1] for pair in pairs}


def plain(column: pa.ChunkedArray) -> pa.Array:
    """Return a column without dictionaries and extension types, whose forms may differ."""
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array


def difference(path: Path) -> str | None:
    try:
        expected = pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        return f"pyarrow refuses it: {str(error)[:200]}"
    try:
        found: Any = pa.table(arrowsmith.read_parquet(path))
    except arrowsmith.ArrowsmithError as error:
        return f"arrowsmith refuses it: {str(error)[:200]}"
    if found.column_names != expected.column_names:
        return f"columns {found.column_names}, not {expected.column_names}"
    for at, name in enumerate(found.column_names):
        ours, theirs = plain(found.column(at)), plain(expected.column(at))
        if ours.type != theirs.type:
            return f"{name}: {ours.type}, not {theirs.type}"
        if ours.equals(theirs):
            continue
        # NaN is not equal to itself.
        if repr(ours.to_pylist()) != repr(theirs.to_pylist()):
            return f"{name}: other values"
    return None


def test_files_of_others() -> None:
    folder = corpora()
    if folder is None:
        pytest.skip("the folder of third-party files is not here; ARROWSMITH_CORPORA names one")
    decided = decisions()
    wrong = []
    equal = 0
    for name in files(folder):
        text = difference(folder / name)
        equal += text is None
        if text is None and name in decided:
            wrong.append(f"{name}: listed, but it is equal")
        elif text is not None and name not in decided:
            wrong.append(f"{name}: {text}")
        decided.pop(name, None)
    wrong.extend(f"{name}: listed, but there is no such file" for name in decided)
    if wrong:
        pytest.fail(f"{equal} files equal\n" + "\n".join(wrong))
    assert equal > 300
