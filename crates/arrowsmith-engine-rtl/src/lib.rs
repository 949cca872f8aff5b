// SPDX-License-Identifier: Apache-2.0
//! Runs what `arrowsmith-rtlgen` generates: compiled by Verilator into a process of its own,
//! cached, and spoken to over pipes.
//!
//! A circuit under simulation reads and writes real memory of that process through a strict AXI
//! model, under the driver code a board would use (`cpp/`), so that hardware is tested by the tests
//! of the software. This crate needs a `verilator` when it is used ([`Verilator::find`]), not when
//! it is built. It never decodes anything itself.

#![forbid(unsafe_code)]

mod compile;
pub mod converter;
mod engine;
pub mod graph;
pub mod json;
mod memory;
pub mod parquet;
mod process;

use std::path::PathBuf;

use arrowsmith_core::Error;

pub use compile::{Verilator, cache_folder};
pub use engine::RtlEngine;
pub use memory::{Interface, MemoryProfile, Packet};

/// The C++ that is compiled with every circuit: its memory model, and the pipes of its process.
const MEMORY_MODEL: (&str, &str) =
    ("as_memory_model.hpp", include_str!("../cpp/as_memory_model.hpp"));
const PIPES: (&str, &str) = ("as_pipes.hpp", include_str!("../cpp/as_pipes.hpp"));

/// Why a circuit does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RtlError {
    /// There is no working Verilator.
    #[error("no Verilator: {0}; `tools/hdl install` gets one, ARROWSMITH_VERILATOR names one")]
    NoVerilator(String),
    /// Verilator or the C++ compiler failed; the end of its output.
    #[error("the circuit does not compile:\n{0}")]
    Compile(String),
    /// The shell does not take the circuit; why.
    #[error("{0}")]
    Shell(String),
    /// A file or the process failed.
    #[error("{path}: {1}", path = .0.display())]
    Io(PathBuf, #[source] std::io::Error),
    /// The circuit violated AXI, accessed memory it was not lent, or hung. The process's message.
    #[error("the circuit broke a rule: {0}")]
    Broken(String),
    /// An invalid request: its index, and the reason.
    #[error("request {0}: {1}")]
    Request(usize, &'static str),
}

/// The error of a reader whose circuit does not run.
fn config(error: RtlError) -> Error {
    Error::Config(error.to_string())
}
