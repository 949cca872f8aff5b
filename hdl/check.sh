#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is checked of the hardware library without Rust: lint of every module and of the generated example, proofs, synthesis, cocotb benches.
set -euo pipefail
cd "$(dirname "$0")"
../tools/hdl install
packages=(rtl/stream/as_stream_pkg.sv rtl/graph/as_graph_pkg.sv rtl/json/as_json_pkg.sv rtl/parquet/as_parquet_pkg.sv)
mapfile -t modules < <(ls rtl/*/*.sv | grep -v _pkg.sv)
# A part uses some of a package's constants; the whole device uses all.
for top in as_graph_device as_skid_buffer as_stream_packer as_stream_window as_arrow_offsets as_axi_write_mux as_axi_read_mux \
    as_parquet_column as_parquet_dictionary as_parquet_snappy as_parquet_expand as_parquet_control \
    as_json_float as_json_time as_json_decimal; do
    ../tools/hdl run verilator --lint-only -Wall -Wno-MULTITOP -Wno-UNUSEDPARAM --top-module "$top" "${packages[@]}" "${modules[@]}" >/dev/null
done
../tools/hdl run verilator --lint-only -Wall --top-module expression_top \
    rtl/{stream/as_stream,graph/as_graph}_pkg.sv $(ls rtl/{prim,stream,axi,graph}/*.sv | grep -v _pkg.sv) examples/expression/*_map.sv examples/expression/*_top.sv >/dev/null
# Tables, numbers of nodes and of buffers are as wide as the largest plan needs: a small one leaves bits unused.
for name in battery trip; do
    ../tools/hdl run verilator --lint-only -Wall -Wno-UNUSEDSIGNAL -Wno-UNUSEDPARAM --top-module "${name}_top" \
        rtl/stream/as_stream_pkg.sv rtl/json/as_json_pkg.sv $(ls rtl/{prim,axi,json}/*.sv | grep -v _pkg.sv) \
        examples/$name/${name}_*.sv >/dev/null
done
../tools/hdl run verilator --lint-only -Wall -Wno-UNUSEDSIGNAL -Wno-UNUSEDPARAM --top-module orders_top \
    rtl/stream/as_stream_pkg.sv rtl/parquet/as_parquet_pkg.sv $(ls rtl/{prim,stream,axi,arrow,parquet}/*.sv | grep -v _pkg.sv) \
    examples/orders/orders_*.sv >/dev/null
# Verible's own rules, which follow the style guide that the sources follow; lines as long as those of the other languages here.
../tools/hdl run verible-verilog-lint --rules=line-length=length:160 "${packages[@]}" "${modules[@]}" {tb,formal,formal/stub}/*.sv examples/*/*.sv
echo "lint: ${#modules[@]} modules and the examples, by Verilator and Verible"
../tools/hdl run python formal/prove.py
../tools/hdl run python syn/test_syn.py
../tools/hdl run python tb/run.py
