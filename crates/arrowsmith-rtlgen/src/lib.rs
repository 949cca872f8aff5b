// SPDX-License-Identifier: Apache-2.0
//! Generates a circuit that decodes data from a description of it: SystemVerilog of instances,
//! tables and wiring.
//!
//! The logic is in `hdl/rtl`, hand-written; generated code selects the modules and widths and adds
//! the parts for this data, with the library's names. Equal inputs give equal text. This crate
//! never runs a tool and writes no file: `arrowsmith-engine-rtl` compiles and runs its output.

#![forbid(unsafe_code)]

macro_rules! hdl {
    ($path:literal) => {
        ($path, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/hdl/", $path)))
    };
}

pub mod graph;
pub mod json;
pub mod parquet;
mod project;
pub mod registers;

/// The hardware library, `hdl/rtl`: path below it and text of each file, packages first,
/// dependencies first.
pub const LIBRARY: [(&str, &str); 16] = library();

const fn library() -> [(&'static str, &'static str); 16] {
    [
        hdl!("stream/as_stream_pkg.sv"),
        hdl!("graph/as_graph_pkg.sv"),
        hdl!("prim/as_skid_buffer.sv"),
        hdl!("prim/as_fifo.sv"),
        hdl!("prim/as_ram.sv"),
        hdl!("stream/as_funnel.sv"),
        hdl!("stream/as_stream_window.sv"),
        hdl!("stream/as_stream_packer.sv"),
        hdl!("axi/as_axil_slave.sv"),
        hdl!("axi/as_axi_reader.sv"),
        hdl!("axi/as_axi_writer.sv"),
        hdl!("graph/as_graph_alloc.sv"),
        hdl!("graph/as_graph_fill.sv"),
        hdl!("graph/as_graph_core.sv"),
        hdl!("graph/as_graph_regs.sv"),
        hdl!("graph/as_graph_device.sv"),
    ]
}

/// The library of the JSON parsers, in the same order.
pub const LIBRARY_JSON: [(&str, &str); 33] = [
    hdl!("stream/as_stream_pkg.sv"),
    hdl!("json/as_json_pkg.sv"),
    hdl!("prim/as_skid_buffer.sv"),
    hdl!("prim/as_fifo.sv"),
    hdl!("axi/as_axil_slave.sv"),
    hdl!("axi/as_axi_reader.sv"),
    hdl!("json/as_json_scan.sv"),
    hdl!("json/as_json_delay.sv"),
    hdl!("json/as_json_region.sv"),
    hdl!("json/as_json_values.sv"),
    hdl!("json/as_json_predict.sv"),
    hdl!("json/as_json_walk.sv"),
    hdl!("json/as_json_items.sv"),
    hdl!("json/as_json_fill.sv"),
    hdl!("json/as_json_account.sv"),
    hdl!("json/as_json_route.sv"),
    hdl!("json/as_json_integer.sv"),
    hdl!("json/as_json_literal.sv"),
    hdl!("json/as_json_number.sv"),
    hdl!("json/as_json_powers.sv"),
    hdl!("json/as_json_float.sv"),
    hdl!("json/as_json_time.sv"),
    hdl!("json/as_json_decimal.sv"),
    hdl!("json/as_json_convert.sv"),
    hdl!("json/as_json_pack.sv"),
    hdl!("json/as_json_kernel.sv"),
    hdl!("json/as_json_writers.sv"),
    hdl!("json/as_json_feed.sv"),
    hdl!("json/as_json_fetch.sv"),
    hdl!("json/as_json_store.sv"),
    hdl!("json/as_json_merge.sv"),
    hdl!("json/as_json_port.sv"),
    hdl!("json/as_json_device.sv"),
];

/// A generated source in which an undeclared name is an error and no implicit net (IEEE 1800,
/// 6.10), as in the library's own files.
pub(crate) fn without_implicit_nets(source: &str) -> String {
    let code = source.lines().take_while(|line| line.starts_with("//")).map(|line| line.len() + 1);
    let (comment, code) = source.split_at(code.sum());
    format!("{comment}\n`default_nettype none\n\n{code}\n`default_nettype wire\n")
}
