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
EXAMPLES = HERE.parent / "examples"
sys.path.insert(0, str(HERE.parent))
import passed  # noqa: E402
import sources  # noqa: E402

# Modules that proofs share.
HELPERS = [file for file in sorted(HERE.glob("*.sv")) if not file.stem.endswith("_proof")]

# Cycles: UNBOUNDED if an invariant is found in seconds, else more cycles than it takes to reach
# every state of a queue and every position of a window; and the cycles for `--deep`, where more
# cycles prove more.
UNBOUNDED = (0, 0)
# Timeout of the search for an invariant, in seconds: many times what it takes.
PATIENCE = 600
# The examples' parsers around the kernel.
PARSERS = [EXAMPLES / f"{example}/{example}_{part}.sv" for example in ("battery", "trip") for part in ("match", "map", "parser")]


class Proof:
    """A module and its proof, `<module>_proof.sv`; with a variant, one of several of its proofs.
    `stubs` names the modules that `stub/` has in their place, `files` are more files."""

    def __init__(self, module, cycles, variant="", parameters="", stubs=(), files=()):
        self.module, self.name, self.top, self.cycles, self.parameters = module, module + variant, f"{module}_proof", cycles, parameters
        files = [*files, HERE / f"{self.top}.sv"]
        self.files = sources.needed(files, [HERE / f"stub/{stub}.sv" for stub in stubs], HELPERS) + files

    def stable_elsewhere(self, cells):
        """Of the assertions of as_assertions.svh, those of modules inside the one that is proved:
        these have proofs of their own. Cells are named by their path of instances."""
        own = "AS_STREAM_STABLE" in next(file for file in sources.library() if file.stem == self.module).read_text()
        depth = min(cell.count(".") for cell in cells) if own else 0
        return [cell for cell in cells if cell.count(".") > depth]


PROOF_LIST = [
    Proof("as_skid_buffer", UNBOUNDED),
    Proof("as_fifo", UNBOUNDED),
    Proof("as_fifo_block", UNBOUNDED),
    Proof("as_stream_window", UNBOUNDED),
    Proof("as_stream_packer", UNBOUNDED),
    Proof("as_arrow_pack", UNBOUNDED),
    Proof("as_prefix_sum", UNBOUNDED),
    Proof("as_axil_slave", UNBOUNDED),
    Proof("as_ap_control", UNBOUNDED),
    Proof("as_axi_reader", UNBOUNDED),
    Proof("as_axi_writer", (12, 16)),
    Proof("as_axi_read_mux", (12, 16)),
    Proof("as_axi_write_mux", (12, 16)),
    Proof("as_arrow_values", UNBOUNDED),
    Proof("as_arrow_offsets", (12, 14)),
    Proof("as_json_store", (16, 20)),
    Proof("as_json_fetch", (8, 12)),
    Proof("as_parquet_levels", (7, 10)),
    Proof("as_parquet_expand", (10, 12)),
    Proof("as_json_pack", UNBOUNDED),
    # Delays in place of the converters.
    Proof("as_json_kernel", (44, 56), "", "-G Waits=0 -G Bound=36", ["as_json_convert"], PARSERS),
    Proof("as_json_kernel", (36, 44), "_waits", "-G Waits=1 -G Bound=24", ["as_json_convert"], PARSERS),
    Proof("as_json_kernel", (40, 48), "_trip", "-D PARSER=trip_parser -G Waits=1 -G Bound=32", ["as_json_convert"], PARSERS),
    Proof("as_json_writers", UNBOUNDED, "", "-G Shared=0", ["as_json_pack"]),
    Proof("as_json_writers", UNBOUNDED, "_shared", "-G Shared=1", ["as_json_pack"]),
    Proof("as_json_port", (11, 13), stubs=["as_fifo", "as_json_fetch", "as_json_store"]),
    Proof("as_json_feed", UNBOUNDED),
    Proof("as_bit_unpack", UNBOUNDED),
    Proof("as_parquet_indices", (12, 14)),
    Proof("as_parquet_snappy", (9, 12)),
    Proof("as_parquet_pages", (22, 30)),
    Proof("as_parquet_entries", UNBOUNDED),
    # The stub of the writer after it shows its input.
    Proof("as_parquet_strings", (11, 14), stubs=["as_arrow_values"]),
    Proof("as_parquet_rows", UNBOUNDED, "", "-G Nullable=1", ["as_parquet_expand", "as_arrow_values"]),
    Proof("as_parquet_rows", UNBOUNDED, "_dense", "-G Nullable=0", ["as_parquet_expand", "as_arrow_values"]),
    # One piece in place of the running sums.
    Proof("as_parquet_delta", (26, 29), stubs=["as_prefix_sum"]),
    Proof("as_parquet_entry_strings", (13, 15)),
    Proof("as_parquet_values", UNBOUNDED, stubs=["as_parquet_delta"]),
    Proof("as_graph_alloc", UNBOUNDED),
    Proof("as_graph_fill", (13, 14)),
    Proof("as_graph_regs", UNBOUNDED),
]
PROOFS = {proof.name: proof for proof in PROOF_LIST}


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
# What Yosys does to a proof, after its processes: as a simulator shows it, then in gates.
PREPARE = ("flatten", *FREE, "opt", "memory", "async2sync", "chformal -lower", "opt -full", *FREE, "opt -fast", "rename -witness")
GATES = ("design -push-copy", "techmap", "opt -fast", "dffunmap", "aigmap", "opt_clean")


def abc(commands):
    from pyosys import libyosys

    program = pathlib.Path(libyosys.__file__).parent / "yosys-abc"
    return subprocess.run([program, "-c", commands], stdout=subprocess.PIPE, text=True, check=True).stdout


def prove(proof, cycles, base):
    """An empty text if it is proved, else the reason. Writes files that begin with `base`."""
    from pyosys import libyosys as ys

    design = ys.Design()
    files = " ".join(map(str, proof.files))
    read = (f"read_slang --top {proof.top} -D FORMAL -I {sources.INCLUDE} {proof.parameters} {files}", f"hierarchy -check -top {proof.top}")
    written = (f"write_aiger -I -B -zinit -map {base}.aim {base}.aig", "design -pop")
    with logged(f"{base}.log"):
        for command in (*read, "proc", f"select -write {base}.stable */*.stable"):
            ys.run_pass(command, design)
        others = proof.stable_elsewhere(pathlib.Path(f"{base}.stable").read_text().split())
        for command in (*(f"chformal -assert -remove {cell}" for cell in others), *PREPARE, *GATES, *written):
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
    proof = PROOFS[name]
    files = [__file__, *sources.headers(proof.files), *proof.files]
    inputs = passed.key(files, proof.top, proof.parameters, proof.cycles, deep)
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
        (name,) = asked
        cycles = PROOFS[name].cycles[deep]
        base = pathlib.Path(tempfile.mkdtemp(prefix="as_prove_")) / name
        why = prove(PROOFS[name], cycles, base)
        print(why or (f"for {cycles} cycles from reset" if cycles else "unbounded"))
        if not why:
            shutil.rmtree(base.parent)
        sys.exit(bool(why))
    names = [name for name in PROOFS if not asked or name in asked]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        proved = list(workers.map(lambda name: alone(name, deep), names))
    sys.exit(0 if proved and all(proved) else 1)


if __name__ == "__main__":
    main()
