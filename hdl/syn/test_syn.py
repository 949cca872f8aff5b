# SPDX-License-Identifier: Apache-2.0
"""Tests of the scripts in this folder: paths on hand-made netlists, and one small module
synthesized with Yosys. Also checks that every module of the library synthesizes without a latch.

    tools/hdl run python hdl/syn/test_syn.py
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import paths
import report

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import sources  # noqa: E402


def cell(kind, ins, outs):
    ways = {port: "input" for port in ins} | {port: "output" for port in outs}
    return {"type": kind, "port_directions": ways, "connections": {port: [bit] for port, bit in (ins | outs).items()}}


def module(**cells):
    bits = {bit for one in cells.values() for wires in one["connections"].values() for bit in wires if isinstance(bit, int)}
    return {"cells": cells, "netnames": {f"n{bit}": {"bits": [bit], "hide_name": 0} for bit in bits}}


class Paths(unittest.TestCase):
    def test_levels_and_time_add_up_between_registers(self):
        found = paths.longest(
            module(
                a=cell("FDRE", {"D": "0"}, {"Q": 2}),
                l1=cell("LUT2", {"I0": 2, "I1": "1"}, {"O": 3}),
                l2=cell("LUT6", {"I0": 3}, {"O": 4}),
                m=cell("MUXF7", {"I0": 4, "S": 2}, {"O": 5}),
                b=cell("FDCE", {"D": 5}, {"Q": 6}),
            )
        )
        self.assertEqual((found["levels"], found["ns"], found["in_loops"]), (2, 1.2, 0))
        self.assertEqual((found["from"], found["to"]), ("n2[0]", "n6[0]"))
        self.assertEqual(found["through"], ["LUT2", "LUT6", "MUXF7"])

    def test_a_ram_of_luts_is_read_in_the_cycle_and_written_at_its_end(self):
        ram = {
            "type": "RAM32M16",
            "port_directions": {"ADDRA": "input", "ADDRH": "input", "DIA": "input", "DOA": "output"},
            "connections": {"ADDRA": [3], "ADDRH": [4], "DIA": [4], "DOA": [5]},
        }
        found = paths.longest(
            module(
                a=cell("FDRE", {"D": "0"}, {"Q": 2}),
                read=cell("LUT1", {"I0": 2}, {"O": 3}),
                w1=cell("LUT1", {"I0": 2}, {"O": 6}),
                w2=cell("LUT1", {"I0": 6}, {"O": 4}),
                ram=ram,
                b=cell("FDRE", {"D": 5}, {"Q": 7}),
            )
        )
        # Through the read: a LUT and the RAM. The two LUTs of the write end there.
        self.assertEqual((found["levels"], found["ns"], found["to"]), (2, 1.2, "n7[0]"))

    def test_a_block_ram_is_late_and_loops_are_counted(self):
        found = paths.longest(
            module(
                ram=cell("RAMB36E2", {"ADDRARDADDR": 2}, {"DOUTADOUT": 3}),
                l=cell("LUT1", {"I0": 3}, {"O": 2}),
                x=cell("LUT2", {"I0": 9, "I1": 3}, {"O": 8}),
                y=cell("LUT1", {"I0": 8}, {"O": 9}),
            )
        )
        self.assertEqual((found["levels"], found["ns"], found["in_loops"]), (1, 1.8, 2))

    def test_nothing_is_no_path(self):
        self.assertEqual(paths.longest(module())["levels"], 0)


class Counts(unittest.TestCase):
    def test_cells_become_what_a_device_has(self):
        found = report.count({"LUT6": 7, "RAM32M16": 2, "RAM64X1D": 1, "SRL16E": 3, "RAMB18E2": 3, "RAMB36E2": 1, "FDRE": 5, "FDCE": 1})
        self.assertEqual((found["luts"], found["luts_as_memory"], found["luts_all"]), (7, 21, 28))
        self.assertEqual((found["flip_flops"], found["block_ram_36"], found["latches"]), (6, 3, 0))

    def test_copies_of_modules_multiply(self):
        def inner(kind, attributes=None, **cells):
            return module(**{name: cell(*what) for name, what in cells.items()}) | {"attributes": {"src": f"{kind}.sv:1"} | (attributes or {})}

        found = report.by_module(
            {
                "top": inner("top", a=("mid", {}, {"o": 2}), b=("mid", {"i": 2}, {})),
                "mid": inner("mid", a=("leaf", {}, {"o": 2}), b=("leaf", {"i": 3}, {}), c=("LUT2", {"I0": 2}, {"O": 3})),
                "leaf": inner("leaf", a=("FDRE", {"D": 2}, {}), b=("LUT6", {}, {"O": 2})),
                "LUT6": inner("cells_sim", {"blackbox": "1"}),
            }
        )
        self.assertEqual({name: part["copies"] for name, part in found.items()}, {"leaf": 4, "mid": 2, "top": 1})
        self.assertEqual(found["leaf"]["luts_all"], 1)
        # From one inner module to the other; no path goes through them.
        self.assertEqual([found[name]["levels"] for name in ("leaf", "mid", "top")], [1, 1, 0])
        self.assertEqual(list(found), ["leaf", "mid", "top"])


class Tools(unittest.TestCase):
    def files(self, folder):
        """The list of files of a skid buffer."""
        module = sources.RTL / "prim/as_skid_buffer.sv"
        lines = [f"+incdir+{sources.INCLUDE}", *sources.needed([module]), module]
        files = pathlib.Path(folder) / "files.f"
        files.write_text("".join(f"{line}\n" for line in lines))
        return files

    def test_a_skid_buffer_is_synthesized(self):
        with tempfile.TemporaryDirectory() as folder:
            files = self.files(folder)
            command = [sys.executable, str(HERE / "report.py"), str(files), "as_skid_buffer", "--family", "xcup", "--set", "Width=9"]
            found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        # Two registers of nine bits, and whether each is full.
        self.assertEqual(found["flip_flops"], 20)
        self.assertEqual((found["latches"], found["path"]["in_loops"]), (0, 0))
        self.assertIn(found["path"]["levels"], (1, 2))
        self.assertLess(found["luts_all"], 40)

    def test_a_skid_buffer_is_placed_and_routed(self):
        with tempfile.TemporaryDirectory() as folder:
            files = self.files(folder)
            command = [sys.executable, str(HERE / "place.py"), str(files), "as_skid_buffer", "--set", "Width=9"]
            found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        # Around it: registers of 13 inputs and one more, two for each of 11 outputs and one more.
        self.assertEqual(found["harness"], {"luts": 11, "flip_flops": 37})
        self.assertGreaterEqual(found["flip_flops"], 20 + 33)
        self.assertGreater(found["megahertz"], 150)
        self.assertLess(found["path"]["routing_ns"], found["path"]["ns"])


# Elaborates a design with the full library available, by slang as the standard is written (nothing
# is used before its declaration), converts its processes to registers, where a latch would show,
# checks that every net has one driver and that there is no combinational loop, and prints its
# modules.
LATCHES = """
import sys
from pyosys import libyosys as ys
import report
design = ys.Design()
with report.quiet():
    ys.run_pass("read_slang --keep-hierarchy --top " + " ".join(sys.argv[1:]), design)
    ys.run_pass("proc -noopt", design)
    ys.run_pass("select -assert-none t:$dlatch t:$adlatch t:$dlatchsr", design)
    ys.run_pass("check -assert", design)
print(*(str(name).split("$")[0].lstrip(chr(92)) for name in design.modules_))
"""


class Latches(unittest.TestCase):
    def elaborate(self, top, files):
        """Fails where there is a latch; the modules that the design has."""
        command = [sys.executable, "-c", LATCHES, top, "-I", str(sources.INCLUDE), *map(str, files)]
        done = subprocess.run(command, cwd=HERE, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, f"{top}: {done.stderr}")
        return set(done.stdout.split())

    def test_no_module_has_a_latch(self):
        hdl = HERE.parent
        library = sources.library()
        # The list of files is complete.
        self.assertEqual(set(library), set(sources.RTL.glob("*/*.sv")))
        left = {path.stem for path in library if not path.stem.endswith("_pkg")}
        examples = sorted(path for path in (hdl / "examples").iterdir() if path.is_dir())
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
            tops = [(f"{example.name}_top", library + sorted(example.glob("*.sv"))) for example in examples]
            # In the wrappers of boards' shells.
            for wrapper in sorted(hdl.glob("examples/*/*.v")):
                tops.append((wrapper.stem, [*library, *sorted(wrapper.parent.glob("*.sv")), wrapper]))
            left -= set().union(*workers.map(lambda top: self.elaborate(*top), tops))
            # Modules that no example has, each alone with its default parameters.
            left -= set().union(*workers.map(lambda module: self.elaborate(module, library), sorted(left)))
        self.assertEqual(left, set())

    def test_a_latch_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "held.sv"
            source.write_text("module held(input logic a_i, input logic b_i, output logic c_o);\n  always @* if (a_i) c_o = b_i;\nendmodule\n")
            with self.assertRaises(AssertionError):
                self.elaborate("held", [source])

    def test_what_is_used_before_its_declaration_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "late.sv"
            # Without the directive, slang would make a net here that nothing drives.
            for directive in ("", "`default_nettype none\n"):
                source.write_text(
                    f"{directive}module leaf(input logic a_i, output logic b_o);\n  assign b_o = a_i;\nendmodule\n"
                    "module late(input logic a_i, output logic b_o);\n  leaf i_leaf (.a_i(later && a_i), .b_o);\n"
                    "  logic later;\n  assign later = 1'b1;\nendmodule\n"
                )
                with self.assertRaises(AssertionError):
                    self.elaborate("late", [source])


# Prints a module's cells and nets, as Yosys keeps them after its processes have become registers.
NETLIST = """
import sys
from pyosys import libyosys as ys
import report
design = ys.Design()
with report.quiet():
    ys.run_pass("read_slang --top " + " ".join(sys.argv[2:]), design)
    ys.run_pass("proc", design)
    ys.run_pass("write_json " + sys.argv[1], design)
"""


class Registered(unittest.TestCase):
    """AXI: a ready must not wait for a valid through logic, nor the other way round."""

    def inputs_before(self, top, files, outputs):
        """The inputs from which a path without a register leads to one of these outputs."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "netlist.json"
            command = [sys.executable, "-c", NETLIST, path, top, "-I", str(sources.INCLUDE), *map(str, files)]
            subprocess.run(command, cwd=HERE, check=True)
            module = json.loads(path.read_text())["modules"][top]
        drivers = {}
        for one in module["cells"].values():
            ways, nets = one["port_directions"], one["connections"]
            before = [bit for port, bits in nets.items() if ways[port] == "input" for bit in bits]
            for port, bits in nets.items():
                if ways[port] == "output":
                    drivers |= {bit: [] if "dff" in one["type"] else before for bit in bits}
        seen, left = set(), [bit for port in outputs for bit in module["ports"][port]["bits"]]
        while left:
            bit = left.pop()
            if bit not in seen:
                seen.add(bit)
                left += drivers.get(bit, [])
        ports = module["ports"].items()
        return {name for name, port in ports if port["direction"] == "input" and not seen.isdisjoint(port["bits"])}

    def test_no_path_leads_from_the_registers_port_to_itself(self):
        outputs = [f"{channel}_ready_o" for channel in ("aw", "w", "ar")]
        outputs += ["b_valid_o", "b_resp_o", "r_valid_o", "r_data_o", "r_resp_o"]
        slave = [HERE.parent / "rtl/axi/as_axil_slave.sv"]
        self.assertEqual(self.inputs_before("as_axil_slave", slave, outputs), set())
        # The test finds a path where there is one.
        self.assertEqual(self.inputs_before("as_axil_slave", slave, ["write_o"]), {"write_known_i"})


if __name__ == "__main__":
    unittest.main()
