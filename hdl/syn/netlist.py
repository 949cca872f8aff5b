# SPDX-License-Identifier: Apache-2.0
"""Reads SystemVerilog with slang, elaborates it, checks it, and writes it as plain Verilog.

    tools/hdl run python hdl/syn/netlist.py TOP OUT.v [-G NAME=VALUE...] FILE...

`hdl/tb/run.py --netlist` simulates what this writes. `check -assert` fails on nets without a
driver, on nets with several, and on combinational loops.
"""

import sys

from pyosys import libyosys as ys

import report


def main(top, out, *words):
    design = ys.Design()
    with report.quiet():
        ys.run_pass(f"read_slang --keep-hierarchy --top {top} {' '.join(words)}", design)
        ys.run_pass("proc", design)
        ys.run_pass("check -assert", design)
        ys.run_pass("memory_collect", design)
        ys.run_pass("bwmuxmap", design)
        ys.run_pass(f"write_verilog -noattr {out}", design)


if __name__ == "__main__":
    main(*sys.argv[1:])
