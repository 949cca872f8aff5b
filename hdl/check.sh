#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is checked of the hardware library without Rust: lint of every module and of the generated example, proofs, cocotb benches.
set -euo pipefail
cd "$(dirname "$0")"
../tools/hdl install
packages=(rtl/stream/as_stream_pkg.sv rtl/graph/as_graph_pkg.sv rtl/parquet/as_parquet_pkg.sv)
mapfile -t modules < <(ls rtl/*/*.sv | grep -v _pkg.sv)
# A part uses some of a package's constants; the whole device uses all.
for top in as_graph_device as_skid_buffer as_stream_packer as_stream_window as_arrow_offsets as_axi_write_mux as_axi_read_mux \
    as_parquet_column as_parquet_dictionary as_parquet_snappy as_parquet_expand as_parquet_control; do
    ../tools/hdl run verilator --lint-only -Wall -Wno-MULTITOP -Wno-UNUSEDPARAM --top-module "$top" "${packages[@]}" "${modules[@]}" >/dev/null
done
../tools/hdl run verilator --lint-only -Wall --top-module expression_top \
    "${packages[@]}" "${modules[@]}" examples/expression/*_map.sv examples/expression/*_top.sv >/dev/null
echo "lint: ${#modules[@]} modules and the example"
../tools/hdl run python formal/prove.py
../tools/hdl run python tb/run.py
