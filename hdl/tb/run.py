# SPDX-License-Identifier: Apache-2.0
"""Runs the cocotb benches of the components, each at several widths, under Verilator.

    tools/hdl run python hdl/tb/run.py [--netlist | --coverage [--add FOLDER]] [--sample] [MODULE...]

`--netlist` runs them under Icarus Verilog, on the plain Verilog that Yosys writes of what slang
reads (`hdl/syn/netlist.py`): two tools that read the language independently of each other, and two
simulators, then have the same results. `--sample` runs each at one width, the last in the list.

`--coverage` also prints for each file of `hdl/rtl` the percentage of its lines that the benches
ran: lines of procedures, as Verilator counts them (`--coverage-line`), over all sizes of all
benches together. `--add` adds the coverage of the circuit tests of `arrowsmith-engine-rtl`;
`hdl/coverage.sh` does all of it. As many benches run in parallel as there are processors; without
`--coverage`, a bench that has passed with the same sources is not run again (ARROWSMITH_AGAIN=1
runs all).
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from cocotb_tools.runner import get_results, get_runner

HERE = pathlib.Path(__file__).parent
NETLIST = HERE.parent / "syn/netlist.py"
sys.path.insert(0, str(HERE.parent))
import passed  # noqa: E402
import sources  # noqa: E402

# Buffers of each kind of a parser.
WRITERS = {"L": 2, "Bytes": 16, "DataBuffers": 2, "Counters": 3, "ValidBuffers": 1, "OuterBuffers": 1, "FlagBuffers": 2}
# The modules, and the parameters that each is tested with. The tests are in `test_<module>.py`; the
# top is `<module>_bench.sv` in this folder where that exists, else the module.
BENCHES = {
    "as_skid_buffer": [{"Width": 8}, {"Width": 40}],
    "as_fifo": [{"Width": 8, "Depth": 4}, {"Width": 33, "Depth": 16}],
    "as_fifo_block": [{"Width": 33, "Depth": 16}],
    "as_stream_window": [{"Bytes": 8}, {"Bytes": 16}],
    "as_stream_packer": [{"Bytes": 16}, {"Bytes": 32}],
    "as_arrow_values": [{"ElementBits": 1, "Lanes": 8, "Bytes": 16}, {"ElementBits": 16, "Lanes": 4, "Bytes": 16}],
    "as_arrow_offsets": [{"Lanes": 4, "Bytes": 16}, {"Lanes": 16, "Bytes": 64}],
    "as_parquet_delta": [{"Width": 64}, {"Width": 32}],
    "as_parquet_header": [{}],
    "as_parquet_levels": [{}],
    "as_parquet_pages": [{"Snappy": 0}, {"Snappy": 1, "HistoryBytes": 1024}],
    "as_parquet_snappy": [{"HistoryBytes": 1024}],
    "as_bit_unpack": [{"Width": 20, "Lanes": 8, "UserBits": 5}],
    "as_parquet_indices": [{"Bits": 16}, {"Bits": 32}],
    "as_parquet_dictionary": [{"Width": 64, "Entries": 64}, {"Width": 32, "Strings": 1, "Entries": 64, "EntryBytes": 4096}],
    "as_parquet_expand": [{"Width": 16, "Lanes": 4}, {"Width": 64, "Lanes": 8}],
    "as_json_float": [{}],
    "as_json_decimal": [{}],
    "as_json_time": [{}],
    "as_json_scan": [{"W": 8}, {"W": 32}],
    "as_json_integer": [{}],
    "as_json_pack": [{"Bytes": 16, "Buffers": 5}, {"Bytes": 16, "GranuleBits": 32, "PieceGranules": 1, "Buffers": 3, "Lead": 1}],
    "as_json_writers": [
        # The first buffer of each kind of each parser, from the right.
        {**WRITERS, "Parsers": 1, "First": "40'h0706050200"},
        {**WRITERS, "Parsers": 3, "First": "120'h272625222017161512100706050200"},
    ],
    "as_json_store": [{"Bytes": 16, "Buffers": 5, "BurstBeats": 4}],
    "as_json_literal": [{}],
    "as_graph_alloc": [{"Lanes": 4, "TypeBits": 3, "SizeBits": 7, "AlignBits": 3}],
    "as_axi_write_mux": [{"Streams": 3, "Bytes": 16, "AddressBits": 32, "BurstBeats": 4, "FifoBeats": 8}],
}


# A Verilator coverage point: its file, its lines, its count.
POINT = re.compile("\x01f\x02([^\x01]*).*\x01S\x02([^\x01']*).*' ([0-9]+)$")


def add_coverage(written, lines):
    """Merges a run's coverage into `lines`: for each file and line, whether it ran."""
    for text in written.read_text().splitlines():
        point = POINT.search(text)
        if not point:
            continue
        path, ranges, times = point.groups()
        # Circuit tests compile copies of the library.
        path = path[path.rfind("rtl/") + 4 :]
        of_file = lines.setdefault(path, {})
        for part in filter(None, ranges.split(",")):
            first, _, last = part.partition("-")
            for line in range(int(first), int(last or first) + 1):
                of_file[line] = of_file.get(line, False) or int(times) > 0


def print_coverage(lines):
    ran = known = 0
    for file in sources.library():
        name = file.relative_to(sources.RTL)
        of_file = lines.get(str(name))
        if of_file is None:
            print(f"{name}: no lines of procedures, or no bench ran it")
            continue
        missed = [str(line) for line in sorted(of_file) if not of_file[line]]
        ran, known = ran + len(of_file) - len(missed), known + len(of_file)
        percent = 100 * (len(of_file) - len(missed)) / len(of_file)
        print(f"{name}: {percent:.0f} % of {len(of_file)} lines" + (f", not {' '.join(missed)}" if missed else ""))
    percent = 100 * ran / max(known, 1)
    print(f"coverage: {percent:.1f} % of {known} lines")
    return percent


def sources_of_test(name):
    """The Python files of a bench: its own, and those of this folder that it imports."""
    found, left = [], [name]
    while left:
        file = HERE / f"{left.pop()}.py"
        if file.exists() and file not in found:
            found.append(file)
            left += re.findall(r"^(?:from|import) (\w+)", file.read_text(), re.MULTILINE)
    return sorted(found)


class Bench:
    """A module with parameters, and the tests that run it."""

    def __init__(self, module, parameters, netlist):
        self.test, self.parameters, self.netlist = f"test_{module}", parameters, netlist
        wrapper = HERE / f"{module}_bench.sv"
        top = wrapper if wrapper.exists() else next(file for file in sources.library() if file.stem == module)
        self.top = top.stem
        self.files = [*sources.needed([top]), top]
        self.name = "-".join([module, *(f"{name}{value}" for name, value in parameters.items())]).replace("'", "")
        self.name += "-netlist" * netlist

    def run(self, coverage):
        """Whether it passed; tests, functional coverage points, points hit; line coverage; text to
        print."""
        scripts = [*sources_of_test(self.test), *sources_of_test("run"), NETLIST]
        inputs = passed.key([*sources.headers(self.files), *self.files, *scripts], self.top, self.parameters)
        before = None if coverage else passed.has(self.name, inputs)
        if before:
            tests, points, hit = map(int, before.split())
            return True, tests, points, hit, None, f"{self.name}: {tests} passed, unchanged"
        passed.forget(self.name)
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            good, tests, failures, said = self.simulate(folder, coverage)
            counted = pathlib.Path(folder, "points.json")
            counts = json.loads(counted.read_text()).values() if counted.exists() else []
            points, hit = len(counts), sum(times > 0 for times in counts)
            written = pathlib.Path(folder, "coverage.dat")
            covered = {}
            if coverage and written.exists():
                add_coverage(written, covered)
        if good and not coverage:
            passed.keep(self.name, inputs, f"{tests} {points} {hit}")
        said = f"{self.name}: {tests - failures} passed, {failures} failed, {time.monotonic() - begin:.0f} s{said}"
        return good, tests - failures, points, hit, covered, said

    def add_parameters(self, netlist):
        """Gives the top of a netlist the module's parameters again, which benches read."""
        text = next(file.read_text() for file in self.files if file.stem == self.top)
        defaults = dict(re.findall(r"^ *parameter [^=]*?(\w+) += (\d+(?:'[bdh]\w+)?)", text, re.MULTILINE))
        lines = "".join(f"  localparam {name} = {value};\n" for name, value in (defaults | self.parameters).items())
        netlist.write_text(re.sub(rf"(?m)^module {self.top}\([^;]*\);\n", lambda head: head.group() + lines, netlist.read_text()))

    def simulate(self, folder, coverage):
        """Whether all passed; tests, failed tests, and reasons."""
        runner = get_runner("icarus" if self.netlist else "verilator")
        arguments = {"hdl_toplevel": self.top, "build_dir": folder}
        built = {"sources": self.files, "parameters": self.parameters, "includes": [sources.INCLUDE]}
        build_args = ["--assert", "--output-split", "0"]
        if coverage:
            build_args.append("--coverage-line")
        if self.netlist:
            written = pathlib.Path(folder, f"{self.top}.v")
            values = [word for name, value in self.parameters.items() for word in ("-G", f"{name}={value}")]
            made = subprocess.run(
                [sys.executable, NETLIST, self.top, written, "-I", sources.INCLUDE, *values, *self.files], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            if made.returncode:
                return False, 0, 0, "\n" + made.stdout[-4000:]
            self.add_parameters(written)
            built, build_args = {"sources": [written], "timescale": ("1ns", "1ps")}, []
        try:
            runner.build(
                always=True,
                build_args=build_args,
                **built,
                log_file=f"{folder}/build.log",
                **arguments,
            )
        except RuntimeError:
            return False, 0, 0, "\n" + pathlib.Path(folder, "build.log").read_text()[-4000:]
        log = pathlib.Path(folder, "test.log")
        try:
            results = runner.test(
                # Icarus knows X, which benches read beside a low valid.
                extra_env={"COCOTB_RESOLVE_X": "zeros"},
                test_module=self.test, test_dir=folder, results_xml=f"{folder}/results.xml", log_file=log, **arguments
            )
        except RuntimeError:
            # An assertion of a module ended the simulation.
            return False, 0, 0, "\n" + log.read_text()[-4000:]
        tests, failures = get_results(results)
        why = "\n" + log.read_text()[-4000:] if failures else ""
        # Zero tests is a failure.
        return tests > 0 and not failures, tests, failures, why


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--netlist", action="store_true", help="slang and Icarus Verilog in Verilator's place")
    parser.add_argument("--coverage", action="store_true", help="per cent of the lines of each file that ran")
    parser.add_argument("--add", type=pathlib.Path, metavar="FOLDER", help="what circuits wrote to ARROWSMITH_RTL_COVERAGE counts too")
    parser.add_argument("--at-least", type=float, default=0, metavar="PERCENT", help="fails if fewer lines ran")
    parser.add_argument("--sample", action="store_true", help="each module with the last of its parameters only")
    parser.add_argument("modules", nargs="*")
    options = parser.parse_args()
    lines = {}
    for written in sorted(options.add.glob("*.dat")) if options.add else []:
        add_coverage(written, lines)
    sys.path.insert(0, str(HERE))
    once = tempfile.TemporaryDirectory()
    # The simulators run for seconds, in which most is Python: optimising them takes longer.
    unoptimised = {"MAKEFLAGS": " -- OPT_FAST=-O0 OPT_SLOW=-O0"}
    os.environ |= {"OBJCACHE": f"{sys.executable} {HERE / 'once.py'}", "AS_ONCE": once.name, **unoptimised}
    benches = [
        Bench(module, parameters, options.netlist)
        for module, sizes in BENCHES.items()
        if not options.modules or module in options.modules
        for parameters in sizes[-1 if options.sample else 0 :]
    ]
    failed = tests = points = hit = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        for good, *counts, covered, said in workers.map(lambda bench: bench.run(options.coverage), benches):
            print(said, flush=True)
            failed += not good
            tests, points, hit = (total + more for total, more in zip((tests, points, hit), counts))
            for file, of_file in (covered or {}).items():
                merged = lines.setdefault(file, {})
                for line, ran in of_file.items():
                    merged[line] = merged.get(line, False) or ran
    enough = not options.coverage or print_coverage(lines) >= options.at_least
    print(f"{tests} tests passed, {failed} benches failed; {hit} of {points} points of functional coverage")
    sys.exit(0 if enough and benches and not failed else 1)


if __name__ == "__main__":
    main()
