# SPDX-License-Identifier: Apache-2.0
"""Remembers which proofs and benches have passed, by their inputs, in target/passed/hdl: unchanged
ones are not run again.

ARROWSMITH_AGAIN=1 runs everything.
"""

import hashlib
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parent.parent
KEPT = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "passed/hdl"


def key(files, *texts):
    """A hash of the files' names and contents, without comments of SystemVerilog; other texts; and
    the tools' folder, which is named after their versions."""
    found = hashlib.sha256(repr((texts, sys.prefix)).encode())
    for file in files:
        contents = pathlib.Path(file).read_bytes()
        if pathlib.Path(file).suffix in (".sv", ".svh"):
            contents = re.sub(rb"[ \t]*//[^\n]*", b"", contents)
        found.update(repr((pathlib.Path(file).name, len(contents))).encode() + contents)
    return found.hexdigest()


def has(name, inputs):
    """The output of the run that passed with these inputs, or None."""
    file = KEPT / name
    if os.environ.get("ARROWSMITH_AGAIN", "0") != "0" or not file.exists():
        return None
    then, _, said = file.read_text().partition("\n")
    return said if then == inputs else None


def keep(name, inputs, said):
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / name).write_text(f"{inputs}\n{said}")


def forget(name):
    (KEPT / name).unlink(missing_ok=True)
