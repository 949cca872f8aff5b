# SPDX-License-Identifier: Apache-2.0
"""Proves the rules of the stream primitives, for all behaviour of so many cycles from reset.

    tools/hdl run python hdl/formal/prove.py [--deep] [MODULE...]

Uses Yosys alone (`sat`); prints a line for each proof and fails if one does. `--deep` looks at more cycles, which takes many minutes.
"""

import concurrent.futures
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
RTL = HERE.parent / "rtl"
COMMON = [RTL / "stream/as_stream_pkg.sv", HERE / "as_stream_rules.sv", HERE / "as_stream_source.sv"]

# Name, top, parameters, files, cycles: more than it takes to reach every state of a queue and every position of a window; and the
# cycles that `--deep` looks at, where more means more.
QUEUES = ["prim/as_skid_buffer.sv", "prim/as_fifo.sv", "prim/as_ram.sv", "prim/as_fifo_block.sv"]
ARROW = ["arrow/as_arrow_pack.sv", "arrow/as_arrow_values.sv"]
PROOFS = [
    ("as_skid_buffer", "as_queue_proof", "-G Queue=0", QUEUES, 10, 16),
    ("as_fifo", "as_queue_proof", "-G Queue=1", QUEUES, 12, 20),
    ("as_fifo_block", "as_queue_proof", "-G Queue=2", QUEUES, 10, 18),
    ("as_stream_window", "as_window_proof", "", ["stream/as_funnel.sv", "stream/as_stream_window.sv"], 12, 16),
    ("as_stream_packer", "as_pack_proof", "-G Stream=1", ["stream/as_stream_packer.sv", "arrow/as_arrow_pack.sv"], 7, 14),
    ("as_arrow_pack", "as_pack_proof", "-G Stream=0", ["stream/as_stream_packer.sv", "arrow/as_arrow_pack.sv"], 8, 14),
    ("as_prefix_sum", "as_prefix_proof", "", ["stream/as_prefix_sum.sv"], 8, 12),
    ("as_axil_slave", "as_axil_proof", "", ["axi/as_axil_slave.sv"], 10, 20),
    ("as_axi_reader", "as_reader_proof", "", ["axi/as_axi_reader.sv"], 9, 16),
    ("as_axi_writer", "as_writer_proof", "", ["prim/as_fifo.sv", "axi/as_axi_writer.sv"], 9, 16),
    ("as_axi_read_mux", "as_read_mux_proof", "", ["prim/as_fifo.sv", "axi/as_axi_read_mux.sv"], 8, 12),
    ("as_axi_write_mux", "as_write_mux_proof", "", ["prim/as_fifo.sv", "axi/as_axi_write_mux.sv"], 7, 12),
    ("as_arrow_values", "as_arrow_proof", "-G Offsets=0", ARROW, 8, 14),
    ("as_arrow_offsets", "as_arrow_proof", "-G Offsets=1", ["stream/as_prefix_sum.sv", *ARROW, "arrow/as_arrow_offsets.sv"], 9, 14),
    ("as_json_store", "as_json_store_proof", "", ["json/as_json_merge.sv", "json/as_json_store.sv"], 10, 16),
    ("as_json_fetch", "as_json_fetch_proof", "", ["prim/as_fifo.sv", "axi/as_axi_reader.sv", "json/as_json_fetch.sv"], 8, 12),
    ("as_parquet_levels", "as_levels_proof", "", ["parquet/as_parquet_pkg.sv", "parquet/as_parquet_levels.sv"], 7, 10),
    ("as_parquet_expand", "as_expand_proof", "", ["stream/as_funnel.sv", "arrow/as_arrow_pack.sv", "parquet/as_parquet_expand.sv"], 9, 12),
    ("as_json_pack", "as_json_pack_proof", "", ["json/as_json_pack.sv"], 8, 12),
    ("as_json_feed", "as_feed_proof", "", ["json/as_json_feed.sv"], 9, 14),
]


@contextlib.contextmanager
def logged(path):
    """Yosys writes to standard output, whoever calls it."""
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


def prove(ys, top, parameters, files, depth, log):
    design = ys.Design()
    sources = " ".join(str(file) for file in COMMON + [RTL / file for file in files])
    proof = HERE / f"{top}.sv"
    sat = f"sat -verify -prove-asserts -set-def-inputs -set-init-undef -tempinduct -tempinduct-baseonly -maxsteps {depth}"
    with logged(log):
        for command in (
            f"read_slang --top {top} {parameters} {sources} {proof}",
            f"hierarchy -check -top {top}",
            "proc",
            "flatten",
            "opt",
            "memory",
            "async2sync",
            "chformal -lower",
            "opt -full",
            sat,
        ):
            ys.run_pass(command, design)


def alone(name, deep):
    """Proves one module in a process of its own: Yosys ends its process when a proof fails."""
    begin = time.monotonic()
    command = [sys.executable, __file__, "--alone", name] + ["--deep"] * deep
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = done.stderr.strip() if done.returncode else f"proved for {done.stdout.strip()} cycles from reset"
    print(f"{name}: {'NOT proved: ' if done.returncode else ''}{said}, {time.monotonic() - begin:.1f} s", flush=True)
    return done.returncode == 0


def main():
    asked = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    deep = "--deep" in sys.argv[1:]
    if "--alone" in sys.argv[1:]:
        from pyosys import libyosys as ys

        (proof,) = [proof for proof in PROOFS if proof[0] == asked[0]]
        name, top, parameters, files, cycles, cycles_deep = proof
        depth = cycles_deep if deep else cycles
        log = pathlib.Path(tempfile.gettempdir()) / f"as_prove_{name}.log"
        print(f"see {log}", file=sys.stderr, flush=True)
        prove(ys, top, parameters, files, depth, log)
        log.unlink()
        print(depth)
        return
    names = [name for name, *_ in PROOFS if not asked or name in asked]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        proved = list(workers.map(lambda name: alone(name, deep), names))
    sys.exit(0 if proved and all(proved) else 1)


if __name__ == "__main__":
    main()
