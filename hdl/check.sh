#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks of the hardware library that need no Rust: lint of every module and of the generated
# examples, proofs, synthesis, cocotb benches.
#
#   hdl/check.sh [lint|proofs|synthesis|benches|netlists|every-bench|every-netlist...]
#
# All but the last two if none is named. `benches` runs each module at one width, `every-bench` at
# all. `netlists` and `every-netlist` run benches under Icarus Verilog on what slang reads: that of
# page headers, and all of them.
#
# A proof or bench that has passed with the same sources is not run again; ARROWSMITH_AGAIN=1 runs
# all.
set -euo pipefail
cd "$(dirname "$0")"
../tools/hdl install
mapfile -t library < <(python3 sources.py)

# Verilator's lint targets, one set of arguments per line: files, and the library's that they use.
lints() {
    local top files
    # A part uses some of a package's constants; the whole device uses all.
    for top in as_graph_device as_skid_buffer as_stream_packer as_stream_window as_arrow_offsets as_axi_write_mux as_axi_read_mux \
        as_parquet_column as_parquet_dictionary as_parquet_snappy as_parquet_expand as_parquet_control \
        as_json_float as_json_time as_json_decimal; do
        echo -Wno-MULTITOP -Wno-UNUSEDPARAM --top-module "$top" "${library[@]}"
    done
    example expression
    # Tables, node numbers and buffer numbers have the width of the largest plan: a small plan
    # leaves bits unused.
    for top in battery trip orders; do
        example $top -Wno-UNUSEDSIGNAL -Wno-UNUSEDPARAM
    done
    # In the wrappers of boards' shells.
    for top in battery_xrt battery_axi orders_xrt; do
        files="examples/${top%_*}/*.sv examples/${top%_*}/$top.v"
        echo -Wno-UNUSEDSIGNAL -Wno-UNUSEDPARAM --top-module $top $(python3 sources.py $files) $files
    done
}

# The arguments for an example, and more.
example() {
    echo "${@:2}" --top-module "$1_top" $(python3 sources.py examples/"$1"/*.sv) examples/"$1"/*.sv
}

lint() {
    lints | ../tools/hdl run xargs -P "$(nproc)" -L 1 verilator --lint-only -Wall -Irtl/include >/dev/null
    # Verible's default rules, which follow the sources' style guide; the line length of the other
    # languages here.
    ../tools/hdl run verible-verilog-lint --rules=line-length=length:160 "${library[@]}" rtl/include/*.svh {tb,formal,formal/stub}/*.sv \
        examples/*/*.sv
    echo "lint: ${#library[@]} files and the examples, by Verilator and Verible"
}

proofs() { ../tools/hdl run python formal/prove.py; }

synthesis() { ../tools/hdl run python syn/test_syn.py; }

benches() { ../tools/hdl run python tb/run.py --sample; }

every-bench() { ../tools/hdl run python tb/run.py; }

# It uses much of the language that tools read differently, and takes seconds.
netlists() { ../tools/hdl run python tb/run.py --netlist as_parquet_header; }

every-netlist() { ../tools/hdl run python tb/run.py --netlist; }

[ $# -gt 0 ] || set -- lint proofs synthesis benches netlists
for part; do
    case "$part" in
        lint | proofs | synthesis | benches | netlists | every-bench | every-netlist) "$part" ;;
        *) sed -n '3,13p' "$0" | cut -c3- >&2; exit 2 ;;
    esac
done
