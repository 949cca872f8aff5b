# SPDX-License-Identifier: Apache-2.0
"""Proves the rules of the stream primitives, for all behaviour of so many cycles from reset.

    tools/hdl run python hdl/formal/prove.py

Uses Yosys alone (`sat`); prints a line for each proof and fails if one does.
"""

import contextlib
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
RTL = HERE.parent / "rtl"
COMMON = [RTL / "stream/as_stream_pkg.sv", HERE / "as_stream_rules.sv"]

# Name, top, parameters, files, cycles: more than it takes to reach every state of a queue and every position of a window.
PROOFS = [
    ("as_skid_buffer", "as_queue_proof", "-G Fifo=0", ["prim/as_skid_buffer.sv", "prim/as_fifo.sv"], 10),
    ("as_fifo", "as_queue_proof", "-G Fifo=1", ["prim/as_skid_buffer.sv", "prim/as_fifo.sv"], 12),
    ("as_stream_window", "as_window_proof", "", ["stream/as_stream_window.sv"], 12),
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


def main():
    from pyosys import libyosys as ys

    failed = 0
    for name, top, parameters, files, depth in PROOFS:
        log = pathlib.Path(tempfile.gettempdir()) / f"as_prove_{os.getpid()}_{name}.log"
        try:
            prove(ys, top, parameters, files, depth, log)
            print(f"{name}: proved for {depth} cycles from reset")
            log.unlink()
        except RuntimeError as error:
            failed += 1
            print(f"{name}: NOT proved ({error}); {log}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
