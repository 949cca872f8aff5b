# SPDX-License-Identifier: Apache-2.0
"""Synthesizes a design with Yosys and prints what it takes of an FPGA, as JSON.

    tools/hdl run python hdl/syn/report.py FILES.f TOP [--family xc5v|xc7|xcup] [--html FILE]

FILES.f lists SystemVerilog files, one a line, relative to its own folder, packages first. Figures are those of technology mapping, before
placement; `depth` is the longest path between registers in cells of the mapped netlist, not a time. Shares of the papers' devices
are of the devices' published sizes; the papers' Arria 10 cannot be synthesized here. It writes nothing but the page that is asked for.
"""

import argparse
import contextlib
import html
import json
import os
import pathlib
import re
import sys
import tempfile


# LUTs, flip-flops, block RAMs of 36 Kb, DSP blocks, as AMD's data sheets have them (DS890, DS100).
DEVICES = {
    "VU37P": (1303680, 2607360, 2016, 9024),
    "VU9P": (1182240, 2364480, 2160, 6840),
    "Virtex-5 LX110T": (69120, 69120, 148, 64),
}


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
    """Cells by type after technology mapping, and the length of the longest path in cells."""
    ltp = pathlib.Path(tempfile.gettempdir()) / f"as_syn_{os.getpid()}.ltp"
    stat = pathlib.Path(tempfile.gettempdir()) / f"as_syn_{os.getpid()}.json"
    with quiet():
        for command in (
            f"read_slang --top {top} " + " ".join(str(file) for file in files),
            f"synth_xilinx -family {family} -top {top} -flatten -noiopad",
            f"tee -q -o {stat} stat -json",
            f"tee -q -o {ltp} ltp -noff",
        ):
            ys.run_pass(command, design)
    counted = json.loads(stat.read_text())
    found = re.search(r"length=(\d+)", ltp.read_text())
    stat.unlink()
    ltp.unlink()
    return counted["design"]["num_cells_by_type"], int(found.group(1)) if found else None


def shares(report):
    """Per cent of the papers' devices."""
    names = ("luts", "flip_flops", "block_ram_36", "dsp")
    used = [report[name] for name in names]
    return {
        device: {name: round(100 * value / size, 2) for name, value, size in zip(names, used, sizes)}
        for device, sizes in DEVICES.items()
    }


def page(report):
    """The report as a page, with a bar for each share."""
    rows = []
    for device, parts in report["per_cent"].items():
        for name, value in parts.items():
            bar = f'<svg width="300" height="10"><rect width="{min(300, value * 3):.1f}" height="10" fill="steelblue"/></svg>'
            rows.append(f"<tr><td>{device}</td><td>{name}</td><td>{report[name]}</td><td>{value} %</td><td>{bar}</td></tr>")
    return (
        f"<!doctype html><meta charset=utf-8><title>{html.escape(report['top'])}</title>"
        f"<h1>{html.escape(report['top'])}, {report['family']}</h1>"
        f"<p>Technology mapping by Yosys; logic depth {report['depth']} cells. Not placed, not routed.</p>"
        f"<table><tr><th>device<th>what<th>used<th>share<th></tr>{''.join(rows)}</table>\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("top")
    parser.add_argument("--family", default="xc5v", choices=["xc5v", "xc7", "xcup"])
    parser.add_argument("--html", type=pathlib.Path, help="also writes a page")
    options = parser.parse_args()

    from pyosys import libyosys as ys

    folder = options.list.parent
    files = [folder / line for line in options.list.read_text().split() if line]
    kinds, depth = cells(ys.Design(), ys, files, options.top, options.family)

    def total(*names):
        return sum(count for kind, count in kinds.items() if kind.startswith(names))

    report = {
        "top": options.top,
        "family": options.family,
        "depth": depth,
        "flip_flops": total("FD"),
        "luts": total("LUT"),
        "lutram": total("RAM32", "RAM64", "RAM128", "RAM256"),
        "block_ram": total("RAMB"),
        # Two of 18 Kb are one of 36.
        "block_ram_36": total("RAMB") - total("RAMB18") // 2,
        "dsp": total("DSP48"),
        "carry": total("CARRY"),
        "latches": total("LD"),
        "cells": kinds,
    }
    report["per_cent"] = shares(report)
    if options.html:
        options.html.write_text(page(report))
    json.dump(report, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
