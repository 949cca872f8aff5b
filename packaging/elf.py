# SPDX-License-Identifier: Apache-2.0
"""Lists the symbols that a module for musl needs, and fails if Python and musl do not have them."""

import re
import sys
from pathlib import Path

import ziglang
from elftools.elf.elffile import ELFFile

# What musl has, from the stubs that zig links with.
ASSEMBLY = Path(ziglang.__file__).parent / "lib/libc/musl/libc.S"


def main(module: str) -> None:
    """Compares the undefined symbols of a module with those available at run time."""
    musl = set(re.findall(r"^(?:\.globl|\.weak|WEAK\w+)\s+(\w+)", ASSEMBLY.read_text(), re.M))
    with open(module, "rb") as stream:
        elf = ELFFile(stream)
        needed = [tag.needed for tag in elf.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")]
        symbols = list(elf.get_section_by_name(".dynsym").iter_symbols())
    # Weak symbols may be absent: callers check.
    undefined = {
        s.name
        for s in symbols
        if s["st_shndx"] == "SHN_UNDEF" and s.name and s["st_info"]["bind"] != "STB_WEAK"
    }
    defined = {s.name for s in symbols if s["st_shndx"] != "SHN_UNDEF" and s.name}
    foreign = sorted(name for name in undefined - musl if not re.match("_?Py", name))
    if foreign or needed not in (["libc.so"], []) or "PyInit__lib" not in defined:
        sys.exit(f"{module}: needs {needed}, and of others {foreign}; has {sorted(defined)}")
    print(f"{len(undefined)} symbols of Python and musl, libraries {needed}")


if __name__ == "__main__":
    main(sys.argv[1])
