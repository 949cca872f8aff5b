# SPDX-License-Identifier: Apache-2.0
"""Proves the stream rules and the other properties of each module, unbounded or for a number of
cycles from reset.

    tools/hdl run python hdl/formal/prove.py [--deep] [MODULE...]

Yosys compiles a module and its proof to gates, and the ABC that comes with it proves it: `pdr`
finds an invariant, an unbounded proof; `bmc3` checks a number of cycles (bounded). Prints a line
for each proof and fails if one fails; then it names the assertion and writes a VCD of the
counterexample. `--deep` checks more cycles, which takes many minutes. A proof of unchanged sources
is not run again (ARROWSMITH_AGAIN=1 runs all).
"""

import concurrent.futures
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
RTL = HERE.parent / "rtl"
sys.path.insert(0, str(HERE.parent))
import passed  # noqa: E402

COMMON = [RTL / "stream/as_stream_pkg.sv", HERE / "as_stream_rules.sv", HERE / "as_stream_source.sv"]

# Name, top, parameters, files, cycles: UNBOUNDED if an invariant is found in seconds, else more
# cycles than it takes to reach every state of a queue and every position of a window; and the
# cycles for `--deep`, where more cycles prove more.
UNBOUNDED = 0
# Timeout of the search for an invariant, in seconds: many times what it takes.
PATIENCE = 600
QUEUES = ["prim/as_skid_buffer.sv", "prim/as_fifo.sv", "prim/as_ram.sv", "prim/as_fifo_block.sv"]
ARROW = ["arrow/as_arrow_pack.sv", "arrow/as_arrow_values.sv"]
INDICES = ["stream/as_funnel.sv", "parquet/as_parquet_pkg.sv", "parquet/as_bit_unpack.sv", "parquet/as_parquet_indices.sv"]
SNAPPY = ["stream/as_funnel.sv", "prim/as_ram_bytes.sv", "arrow/as_arrow_pack.sv", *(f"parquet/as_parquet_{name}.sv" for name in ("pkg", "history", "snappy"))]
PAGES = ["stream/as_funnel.sv", *(f"parquet/as_parquet_{name}.sv" for name in ("pkg", "header", "pages"))]
ENTRIES = ["prim/as_ram.sv", "stream/as_funnel.sv", "arrow/as_arrow_pack.sv", "parquet/as_parquet_entry_strings.sv"]
# The writer stub after it shows its input.
STRINGS = ["parquet/as_parquet_pkg.sv", "prim/as_skid_buffer.sv", "../formal/stub/as_arrow_values.sv", "parquet/as_parquet_strings.sv"]
ROWS = [
    *("prim/as_skid_buffer.sv", "prim/as_ram.sv", "prim/as_fifo_block.sv", "../formal/stub/as_parquet_expand.sv", "../formal/stub/as_arrow_values.sv"),
    "parquet/as_parquet_rows.sv",
]
# One piece in place of the running sums.
DELTA = ["stream/as_funnel.sv", "../formal/stub/as_prefix_sum.sv", *(f"parquet/as_{name}.sv" for name in ("parquet_pkg", "bit_unpack", "parquet_delta"))]
VALUES = ["parquet/as_parquet_pkg.sv", "../formal/stub/as_parquet_delta.sv", "parquet/as_parquet_values.sv"]
JSON = ("scan", "delay", "region", "values", "predict", "walk", "items", "fill", "account", "route", "kernel")
# The examples' parsers around the kernel, and delays in place of the converters.
KERNEL = [
    *("json/as_json_pkg.sv", "prim/as_fifo.sv", "../formal/stub/as_json_convert.sv"),
    *(f"json/as_json_{name}.sv" for name in JSON),
    *(f"../examples/{example}/{example}_{name}.sv" for example in ("battery", "trip") for name in ("match", "map", "parser")),
]
WRITERS = ["json/as_json_pkg.sv", "../formal/stub/as_json_pack.sv", "json/as_json_writers.sv"]
PORT = [
    *("prim/as_skid_buffer.sv", "../formal/stub/as_fifo.sv", "../formal/stub/as_json_fetch.sv"),
    *(f"json/as_json_{name}.sv" for name in ("feed", "merge", "store", "port")),
]
PROOFS = [
    ("as_skid_buffer", "as_queue_proof", "-G Queue=0", QUEUES, UNBOUNDED, UNBOUNDED),
    ("as_fifo", "as_queue_proof", "-G Queue=1", QUEUES, UNBOUNDED, UNBOUNDED),
    ("as_fifo_block", "as_queue_proof", "-G Queue=2", QUEUES, UNBOUNDED, UNBOUNDED),
    ("as_stream_window", "as_window_proof", "", ["stream/as_funnel.sv", "stream/as_stream_window.sv"], UNBOUNDED, UNBOUNDED),
    ("as_stream_packer", "as_pack_proof", "-G Stream=1", ["stream/as_stream_packer.sv", "arrow/as_arrow_pack.sv"], UNBOUNDED, UNBOUNDED),
    ("as_arrow_pack", "as_pack_proof", "-G Stream=0", ["stream/as_stream_packer.sv", "arrow/as_arrow_pack.sv"], UNBOUNDED, UNBOUNDED),
    ("as_prefix_sum", "as_prefix_proof", "", ["stream/as_prefix_sum.sv"], UNBOUNDED, UNBOUNDED),
    ("as_axil_slave", "as_axil_proof", "", ["../formal/as_axil_rules.sv", "axi/as_axil_slave.sv"], UNBOUNDED, UNBOUNDED),
    ("as_axi_reader", "as_reader_proof", "", ["axi/as_axi_reader.sv"], UNBOUNDED, UNBOUNDED),
    ("as_axi_writer", "as_writer_proof", "", ["prim/as_fifo.sv", "axi/as_axi_writer.sv"], 12, 16),
    ("as_axi_read_mux", "as_read_mux_proof", "", ["prim/as_fifo.sv", "axi/as_axi_read_mux.sv"], 12, 16),
    ("as_axi_write_mux", "as_write_mux_proof", "", ["prim/as_fifo.sv", "axi/as_axi_write_mux.sv"], 12, 16),
    ("as_arrow_values", "as_arrow_proof", "-G Offsets=0", ARROW, UNBOUNDED, UNBOUNDED),
    ("as_arrow_offsets", "as_arrow_proof", "-G Offsets=1", ["stream/as_prefix_sum.sv", *ARROW, "arrow/as_arrow_offsets.sv"], 12, 14),
    ("as_json_store", "as_json_store_proof", "", ["json/as_json_merge.sv", "json/as_json_store.sv"], UNBOUNDED, UNBOUNDED),
    ("as_json_fetch", "as_json_fetch_proof", "", ["prim/as_fifo.sv", "axi/as_axi_reader.sv", "json/as_json_fetch.sv"], 8, 12),
    ("as_parquet_levels", "as_levels_proof", "", ["parquet/as_parquet_pkg.sv", "parquet/as_parquet_levels.sv"], 7, 10),
    ("as_parquet_expand", "as_expand_proof", "", ["stream/as_funnel.sv", "arrow/as_arrow_pack.sv", "parquet/as_parquet_expand.sv"], 10, 12),
    ("as_json_pack", "as_json_pack_proof", "", ["json/as_json_pack.sv"], UNBOUNDED, UNBOUNDED),
    ("as_json_kernel", "as_json_kernel_proof", "-G Waits=0 -G Bound=36", KERNEL, 44, 56),
    ("as_json_kernel_waits", "as_json_kernel_proof", "-G Waits=1 -G Bound=24", KERNEL, 36, 44),
    ("as_json_kernel_trip", "as_json_kernel_proof", "-D PARSER=trip_parser -G Waits=1 -G Bound=32", KERNEL, 40, 48),
    ("as_json_writers", "as_json_writers_proof", "-G Shared=0", WRITERS, UNBOUNDED, UNBOUNDED),
    ("as_json_writers_shared", "as_json_writers_proof", "-G Shared=1", WRITERS, UNBOUNDED, UNBOUNDED),
    ("as_json_port", "as_json_port_proof", "", PORT, 14, 15),
    ("as_json_feed", "as_feed_proof", "", ["json/as_json_feed.sv"], UNBOUNDED, UNBOUNDED),
    ("as_bit_unpack", "as_unpack_proof", "", ["stream/as_funnel.sv", "parquet/as_bit_unpack.sv"], UNBOUNDED, UNBOUNDED),
    ("as_parquet_indices", "as_indices_proof", "", INDICES, 12, 14),
    ("as_parquet_snappy", "as_snappy_proof", "", SNAPPY, 9, 12),
    ("as_parquet_pages", "as_pages_proof", "", PAGES, 22, 30),
    ("as_parquet_entries", "as_entries_proof", "", ["prim/as_ram.sv", "parquet/as_parquet_entries.sv"], UNBOUNDED, UNBOUNDED),
    ("as_parquet_strings", "as_strings_proof", "", STRINGS, 11, 14),
    ("as_parquet_rows", "as_rows_proof", "-G Nullable=1", ROWS, UNBOUNDED, UNBOUNDED),
    ("as_parquet_rows_dense", "as_rows_proof", "-G Nullable=0", ROWS, UNBOUNDED, UNBOUNDED),
    ("as_parquet_delta", "as_delta_proof", "", DELTA, 26, 29),
    ("as_parquet_entry_strings", "as_entry_strings_proof", "", ENTRIES, 13, 15),
    ("as_parquet_values", "as_values_proof", "", VALUES, UNBOUNDED, UNBOUNDED),
    ("as_graph_alloc", "as_alloc_proof", "", ["graph/as_graph_pkg.sv", "graph/as_graph_alloc.sv"], UNBOUNDED, UNBOUNDED),
    ("as_graph_fill", "as_graph_fill_proof", "", ["graph/as_graph_pkg.sv", "graph/as_graph_fill.sv"], 13, 14),
    ("as_graph_regs", "as_graph_regs_proof", "", ["prim/as_fifo.sv", "prim/as_ram.sv", "graph/as_graph_regs.sv"], UNBOUNDED, UNBOUNDED),
]


@contextlib.contextmanager
def logged(path):
    """Yosys writes to standard output unconditionally."""
    sys.stdout.flush()
    kept = os.dup(1)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(log)
        os.close(kept)


# Undriven nets become inputs, before anything is simplified: then they are free, and a
# counterexample shows their values.
FREE = ("setundef -undriven -anyseq", "rename -enumerate -pattern free_% t:$anyseq %co w:* %i", "delete t:$anyseq", "setundef -undriven -expose")
# What Yosys does to a proof: as a simulator shows it, then in gates.
PREPARE = ("proc", "flatten", *FREE, "opt", "memory", "async2sync", "chformal -lower", "opt -full", *FREE, "opt -fast", "rename -witness")
GATES = ("design -push-copy", "techmap", "opt -fast", "dffunmap", "aigmap", "opt_clean")


def abc(commands):
    from pyosys import libyosys

    program = pathlib.Path(libyosys.__file__).parent / "yosys-abc"
    return subprocess.run([program, "-c", commands], stdout=subprocess.PIPE, text=True, check=True).stdout


def prove(top, parameters, files, cycles, base):
    """None if it is proved, else the reason. Writes files that begin with `base`."""
    from pyosys import libyosys as ys

    design = ys.Design()
    sources = " ".join(str(file) for file in COMMON + [RTL / file for file in files])
    read = (f"read_slang --top {top} {parameters} {sources} {HERE / top}.sv", f"hierarchy -check -top {top}")
    written = (f"write_aiger -I -B -zinit -no-startoffset -map {base}.aim {base}.aig", "design -pop")
    with logged(f"{base}.log"):
        for command in read + PREPARE + GATES + written:
            ys.run_pass(command, design)
    how = f"bmc3 -F {cycles}" if cycles else f"pdr -T {PATIENCE}"
    said = abc(f"read_aiger {base}.aig; fold; strash; {how}; print_status; write_cex -a {base}.aiw")
    if "Status = 1 " in said or (cycles and f"No output asserted in {cycles} frames" in said):
        return ""
    if "Status = 0 " not in said:
        return f"no answer: {said[-300:]}"
    with logged(f"{base}.log"):
        ys.run_pass(f"sim -clock clk_i -a -r {base}.aiw -map {base}.aim -vcd {base}.vcd", design)
    places = re.findall(r"Failed assertion .* at\s+(\S+)", pathlib.Path(f"{base}.log").read_text())
    return f"{places[0] if places else 'an assertion'} fails, see {base}.vcd"


def alone(name, deep):
    """Proves one module in a process of its own: Yosys ends its process on a source error, and uses
    much memory."""
    begin = time.monotonic()
    (proof,) = [proof for proof in PROOFS if proof[0] == name]
    _, top, _, files, *_ = proof
    inputs = passed.key([__file__, *COMMON, *(RTL / file for file in files), HERE / f"{top}.sv"], proof, deep)
    kept = f"proof-{name}{'-deep' * deep}"
    before = passed.has(kept, inputs)
    if before:
        print(f"{name}: proved {before}, unchanged\n", end="", flush=True)
        return True
    passed.forget(kept)
    command = [sys.executable, __file__, "--alone", name] + ["--deep"] * deep
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    proved = done.returncode == 0
    if proved:
        passed.keep(kept, inputs, done.stdout.strip())
    how = "proved" if proved else "NOT proved:"
    # In one write: other processes print too.
    print(f"{name}: {how} {done.stdout.strip()}, {time.monotonic() - begin:.1f} s\n", end="", flush=True)
    return proved


def main():
    asked = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    deep = "--deep" in sys.argv[1:]
    if "--alone" in sys.argv[1:]:
        ((name, top, parameters, files, cycles, cycles_deep),) = [proof for proof in PROOFS if proof[0] == asked[0]]
        cycles = cycles_deep if deep else cycles
        base = pathlib.Path(tempfile.mkdtemp(prefix="as_prove_")) / name
        why = prove(top, parameters, files, cycles, base)
        print(why or (f"for {cycles} cycles from reset" if cycles else "unbounded"))
        if not why:
            shutil.rmtree(base.parent)
        sys.exit(bool(why))
    names = [name for name, *_ in PROOFS if not asked or name in asked]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        proved = list(workers.map(lambda name: alone(name, deep), names))
    sys.exit(0 if proved and all(proved) else 1)


if __name__ == "__main__":
    main()
