# SPDX-License-Identifier: Apache-2.0
"""Synthesizes a design with Yosys and prints the FPGA resources it uses, as JSON.

    tools/hdl run python hdl/syn/report.py FILES.f TOP [--family xc5v|xc7|xcup] [--set
    NAME=VALUE...] [--modules] [--html FILE]

FILES.f lists SystemVerilog files, one per line, relative to its own folder, packages first, and
folders of included files as `+incdir+FOLDER`. Figures are those of technology mapping, before
placement; `path` is the longest path between registers in the mapped netlist, its time that of the
model in paths.py. Shares of the papers' devices use the devices' published sizes; the papers' Arria
10 cannot be synthesized here. Writes no file but the requested page.
"""

import argparse
import contextlib
import html
import json
import os
import pathlib
import sys
import tempfile

import paths

# LUTs, flip-flops, block RAMs of 36 Kb, DSP blocks, as AMD's data sheets have them (DS890, DS100).
DEVICES = {
    "VU37P": (1303680, 2607360, 2016, 9024),
    "VU9P": (1182240, 2364480, 2160, 6840),
    "Virtex-5 LX110T": (69120, 69120, 148, 64),
}

# LUTs of a distributed RAM, from the libraries guides; one bit per LUT where no figure is given.
RAM_LUTS = {
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32M16": 8,
    "RAM64M8": 8,
    "RAM32X16DR8": 8,
    "RAM64X8SW": 8,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1D": 4,
    "RAM256X1D": 8,
    "RAM128X1S": 2,
    "RAM256X1S": 4,
    "RAM512X1S": 8,
}


@contextlib.contextmanager
def quiet():
    """Yosys writes a log to standard output unconditionally."""
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


def netlist(ys, files, top, family, modules, parameters=()):
    """The mapped netlist: of the full design, or of each module separately."""
    keep, flatten = ("--keep-hierarchy", "") if modules else ("", "-flatten")
    design = ys.Design()
    with tempfile.NamedTemporaryFile(suffix=".json") as written, quiet():
        for command in (
            # Mapping should count levels, as paths.py does: the library's delays of single pins, of
            # another family, are small compared with this wire delay.
            "scratchpad -set synth_xilinx.abc9.W 2000",
            f"read_slang {keep} --top {top} "
            + " ".join([f"-G {parameter}" for parameter in parameters] + ["-F", str(files)]),
            f"synth_xilinx -family {family} -top {top} {flatten} -noiopad",
            f"write_json {written.name}",
        ):
            ys.run_pass(command, design)
        return json.load(written)["modules"]


def count(kinds):
    """Totals of cells."""

    def total(*starts):
        return sum(number for kind, number in kinds.items() if kind.startswith(starts))

    rams = {kind: number for kind, number in kinds.items() if kind.startswith(("RAM32", "RAM64", "RAM128", "RAM256", "RAM512"))}
    memory = sum(number * RAM_LUTS.get(kind, 1) for kind, number in rams.items()) + total("SRL")
    return {
        "luts": total("LUT"),
        # LUTs that are memory or shift registers are LUTs of the device too.
        "luts_as_memory": memory,
        "luts_all": total("LUT") + memory,
        "flip_flops": total("FD"),
        "lutram": sum(rams.values()),
        "block_ram": total("RAMB"),
        # Two of 18 Kb are one of 36.
        "block_ram_36": total("RAMB") - total("RAMB18") // 2,
        "dsp": total("DSP48"),
        "carry": total("CARRY"),
        "latches": total("LD"),
    }


def kinds_of(module, known):
    """A module's cells by type, and its instances of the design's modules separately."""
    kinds, inner = {}, {}
    for cell in module["cells"].values():
        into = inner if cell["type"] in known else kinds
        into[cell["type"]] = into.get(cell["type"], 0) + 1
    return kinds, inner


def by_module(modules):
    """For each module of the design: its number of instances, and the resources of one without its
    submodules."""
    known = {name for name, module in modules.items() if not module["attributes"].get("blackbox")}
    known = {name for name in known if not module_is_library(modules[name])}
    parts = {name: kinds_of(modules[name], known) for name in known}
    copies = {name: 0 for name in known}

    def walk(name, times):
        copies[name] += times
        for inner, number in parts[name][1].items():
            walk(inner, times * number)

    inside = {inner for _, inners in parts.values() for inner in inners}
    for name in known - inside:
        walk(name, 1)

    def depth(name):
        path = paths.longest(modules[name], known)
        return {"levels": path["levels"], "ns": path["ns"]}

    return {
        name: {"copies": copies[name], **count(kinds), **depth(name)}
        for name, (kinds, _) in sorted(parts.items(), key=lambda part: -copies[part[0]] * count(part[1][0])["luts_all"])
        if copies[name]
    }


def module_is_library(module):
    """Cells that Yosys supplies have no source of ours."""
    return "cells_" in module["attributes"].get("src", "") or bool(module["attributes"].get("whitebox"))


def shares(report):
    """Per cent of the papers' devices."""
    names = {"luts": "luts_all", "flip_flops": "flip_flops", "block_ram_36": "block_ram_36", "dsp": "dsp"}
    return {
        device: {name: round(100 * report[key] / size, 2) for (name, key), size in zip(names.items(), sizes)}
        for device, sizes in DEVICES.items()
    }


def page(report):
    """The report as a page, with a bar for each share."""
    rows = []
    for device, parts in report["per_cent"].items():
        for name, value in parts.items():
            bar = f'<svg width="300" height="10"><rect width="{min(300, value * 3):.1f}" height="10" fill="steelblue"/></svg>'
            used = report["luts_all" if name == "luts" else name]
            rows.append(f"<tr><td>{device}</td><td>{name}</td><td>{used}</td><td>{value} %</td><td>{bar}</td></tr>")
    return (
        f"<!doctype html><meta charset=utf-8><title>{html.escape(report['top'])}</title>"
        f"<h1>{html.escape(report['top'])}, {report['family']}</h1>"
        f"<p>Technology mapping by Yosys; at most {report['path']['levels']} LUTs between registers. Not placed, not routed.</p>"
        f"<table><tr><th>device<th>what<th>used<th>share<th></tr>{''.join(rows)}</table>\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("top")
    parser.add_argument("--family", default="xc5v", choices=["xc5v", "xc7", "xcup"])
    parser.add_argument("--modules", action="store_true", help="each module for itself, in place of the whole")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the top module")
    parser.add_argument("--html", type=pathlib.Path, help="also writes a page")
    options = parser.parse_args()

    from pyosys import libyosys as ys

    modules = netlist(ys, options.list, options.top, options.family, options.modules, options.set)
    report = {"top": options.top, "family": options.family}
    if options.modules:
        report["modules"] = by_module(modules)
    else:
        kinds, _ = kinds_of(modules[options.top], {})
        report |= count(kinds)
        report["path"] = paths.longest(modules[options.top])
        report["cells"] = kinds
        report["per_cent"] = shares(report)
        if options.html:
            options.html.write_text(page(report))
    json.dump(report, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
