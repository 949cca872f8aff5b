// SPDX-License-Identifier: Apache-2.0
//! From what software knows of the data to a circuit that decodes it: SystemVerilog of instances, tables and wiring.
//!
//! The logic is in `hdl/rtl`, written by hand; what is generated says which of it is used, how wide, and what is particular
//! to the data, in names that come from there. Equal inputs give equal text. This crate never runs a tool and
//! writes no file: `arrowsmith-engine-rtl` compiles and runs what comes out.

#![forbid(unsafe_code)]

pub mod graph;
pub mod registers;

macro_rules! hdl {
    ($path:literal) => {
        ($path, include_str!(concat!("../../../hdl/rtl/", $path)))
    };
}

/// The hardware library, `hdl/rtl`: path below it and text of each file, packages first, users behind what they use.
pub const LIBRARY: &[(&str, &str)] = &[
    hdl!("stream/as_stream_pkg.sv"),
    hdl!("graph/as_graph_pkg.sv"),
    hdl!("prim/as_skid_buffer.sv"),
    hdl!("prim/as_fifo.sv"),
    hdl!("prim/as_ram.sv"),
    hdl!("stream/as_stream_window.sv"),
    hdl!("stream/as_stream_packer.sv"),
    hdl!("stream/as_prefix_sum.sv"),
    hdl!("axi/as_axil_slave.sv"),
    hdl!("axi/as_axi_reader.sv"),
    hdl!("axi/as_axi_writer.sv"),
    hdl!("axi/as_axi_read_mux.sv"),
    hdl!("axi/as_axi_write_mux.sv"),
    hdl!("arrow/as_arrow_pack.sv"),
    hdl!("arrow/as_arrow_values.sv"),
    hdl!("arrow/as_arrow_offsets.sv"),
    hdl!("graph/as_graph_alloc.sv"),
    hdl!("graph/as_graph_fill.sv"),
    hdl!("graph/as_graph_core.sv"),
    hdl!("graph/as_graph_regs.sv"),
    hdl!("graph/as_graph_device.sv"),
];
