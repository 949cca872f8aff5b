# SPDX-License-Identifier: Apache-2.0
"""Synthesizes a design with Yosys and prints what it takes of an FPGA, as JSON.

    tools/hdl run python hdl/syn/report.py FILES.f TOP [--family xc5v|xc7|xcup]

FILES.f lists SystemVerilog files, one a line, relative to its own folder, packages first. Figures are those of technology mapping, before
placement; nothing here says how fast a circuit could be clocked. It writes nothing.
"""

import argparse
import contextlib
import json
import os
import pathlib
import sys
import tempfile


@contextlib.contextmanager
def quiet():
    """Yosys writes a log to standard output, whoever calls it."""
    sys.stdout.flush()
    kept = os.dup(1)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(null)
        os.close(kept)


def cells(design, ys, files, top, family):
    """Cells by type after technology mapping."""
    stat = pathlib.Path(tempfile.gettempdir()) / f"as_syn_{os.getpid()}.json"
    with quiet():
        for command in (
            f"read_slang --top {top} " + " ".join(str(file) for file in files),
            f"synth_xilinx -family {family} -top {top} -flatten -noiopad",
            f"tee -q -o {stat} stat -json",
        ):
            ys.run_pass(command, design)
    counted = json.loads(stat.read_text())
    stat.unlink()
    return counted["design"]["num_cells_by_type"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("top")
    parser.add_argument("--family", default="xc5v", choices=["xc5v", "xc7", "xcup"])
    options = parser.parse_args()

    from pyosys import libyosys as ys

    folder = options.list.parent
    files = [folder / line for line in options.list.read_text().split() if line]
    kinds = cells(ys.Design(), ys, files, options.top, options.family)

    def total(*names):
        return sum(count for kind, count in kinds.items() if kind.startswith(names))

    json.dump(
        {
            "top": options.top,
            "family": options.family,
            "flip_flops": total("FD"),
            "luts": total("LUT"),
            "lutram": total("RAM32", "RAM64", "RAM128", "RAM256"),
            "block_ram": total("RAMB"),
            "dsp": total("DSP48"),
            "carry": total("CARRY"),
            "latches": total("LD"),
            "cells": kinds,
        },
        sys.stdout,
        indent=1,
    )
    print()


if __name__ == "__main__":
    main()
