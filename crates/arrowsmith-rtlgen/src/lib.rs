// SPDX-License-Identifier: Apache-2.0
//! Generates a circuit that decodes data from a description of it: SystemVerilog of instances,
//! tables and wiring.
//!
//! The logic is in `hdl/rtl`, hand-written; generated code selects the modules and widths and adds
//! the parts for this data, with the library's names. Equal inputs give equal text. This crate
//! never runs a tool and writes no file: `arrowsmith-engine-rtl` compiles and runs its output.

#![forbid(unsafe_code)]

pub mod graph;
pub mod json;
pub mod library;
pub mod parquet;
mod project;
pub mod registers;
pub mod shell;

/// A generated source in which an undeclared name is an error and no implicit net (IEEE 1800,
/// 6.10), as in the library's own files.
pub(crate) fn without_implicit_nets(source: &str) -> String {
    let code = source.lines().take_while(|line| line.starts_with("//")).map(|line| line.len() + 1);
    let (comment, code) = source.split_at(code.sum());
    format!("{comment}\n`default_nettype none\n\n{code}\n`default_nettype wire\n")
}
