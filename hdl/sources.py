# SPDX-License-Identifier: Apache-2.0
"""The files of the hardware library, in the order of its list, `rtl/Bender.yml`.

    python hdl/sources.py [FILE...]

Prints all of them, or those that the named files use, one per line.
"""

import pathlib
import re
import sys

HDL = pathlib.Path(__file__).resolve().parent
RTL = HDL / "rtl"
# Folder of the macros that modules include.
INCLUDE = RTL / "include"


def library():
    """Every module and package, dependencies first."""
    return [RTL / path for path in re.findall(r"^  - (\S+\.sv)$", (RTL / "Bender.yml").read_text(), re.MULTILINE)]


def names(file):
    """What a file may refer to: its words with the library's prefix, without comments."""
    return set(re.findall(r"\bas_\w+", re.sub(r"//.*", "", file.read_text())))


def needed(files, stubs=(), helpers=()):
    """The library files that these files use, directly or through others, in order. `stubs` take
    the place of the modules with their names; `helpers` are modules beside the library."""
    known = {file.stem: file for file in library()}
    assert all(file.stem in known for file in stubs), stubs
    known |= {file.stem: file for file in [*stubs, *helpers]}
    found, left = set(), set().union(*map(names, files))
    while left:
        name = left.pop()
        if name in known and name not in found:
            found.add(name)
            left |= names(known[name])
    return [file for name, file in known.items() if name in found and file not in files]


def headers(files):
    """The files of macros that these files include."""
    used = set().union(*map(names, files))
    return [file for file in sorted(INCLUDE.glob("*.svh")) if file.stem in used]


if __name__ == "__main__":
    named = [pathlib.Path(name) for name in sys.argv[1:]]
    print(*(needed(named) if named else library()), sep="\n")
