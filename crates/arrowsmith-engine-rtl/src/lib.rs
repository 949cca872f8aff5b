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

use std::fmt;
use std::path::PathBuf;

use arrowsmith_core::Error;

pub use compile::{Verilator, cache_folder};
pub use engine::RtlEngine;
pub use memory::{Interface, MemoryProfile};

/// The C++ that is compiled with every circuit: its memory model, and the pipes of its process.
const MEMORY_MODEL: (&str, &str) =
    ("as_memory_model.hpp", include_str!("../cpp/as_memory_model.hpp"));
const PIPES: (&str, &str) = ("as_pipes.hpp", include_str!("../cpp/as_pipes.hpp"));

/// Why a circuit does not run.
#[derive(Debug)]
#[non_exhaustive]
pub enum RtlError {
    /// There is no working Verilator.
    NoVerilator(String),
    /// Verilator or the C++ compiler failed; the end of its output.
    Compile(String),
    /// A file or the process failed.
    Io(PathBuf, std::io::Error),
    /// The circuit violated AXI, accessed memory it was not lent, or hung. The process's message.
    Broken(String),
    /// An invalid request: its index, and the reason.
    Request(usize, &'static str),
}

/// The error of a reader whose circuit does not run.
fn config(error: RtlError) -> Error {
    Error::Config(error.to_string())
}

impl fmt::Display for RtlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoVerilator(why) => write!(
                f,
                "no Verilator: {why}; `tools/hdl install` gets one, ARROWSMITH_VERILATOR names one"
            ),
            Self::Compile(said) => write!(f, "the circuit does not compile:\n{said}"),
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Broken(said) => write!(f, "the circuit broke a rule: {said}"),
            Self::Request(index, why) => write!(f, "request {index}: {why}"),
        }
    }
}

impl std::error::Error for RtlError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(_, error) => Some(error),
            _ => None,
        }
    }
}
