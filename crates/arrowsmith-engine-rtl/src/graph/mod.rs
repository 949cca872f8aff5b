// SPDX-License-Identifier: Apache-2.0
//! The object-graph circuit as a decoder: messages in, regions or errors out, with the number of
//! cycles.
//!
//! The same messages give the same regions and the same errors as in the software readers, as
//! docs/design/0004-object-graphs.md requires.

mod process;

use std::path::PathBuf;

use arrowsmith_graph::{Layout, WireError};
use arrowsmith_rtlgen::graph::Design;
use arrowsmith_rtlgen::library::with_library;

use crate::compile::Sources;
use crate::{MEMORY_MODEL, PIPES, RtlError, Verilator};

pub use process::{Circuit, Session};

/// The C++ of the simulation, for programs that link the model themselves.
pub const HEADERS: [(&str, &str); 2] =
    [("as_graph_driver.hpp", include_str!("../../cpp/as_graph_driver.hpp")), MEMORY_MODEL];

const SERVE: [(&str, &str); 2] =
    [PIPES, ("as_graph_serve.cpp", include_str!("../../cpp/as_graph_serve.cpp"))];

/// A message for the circuit, and the region to make its objects for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    /// The message.
    pub message: &'a [u8],
    /// Whether it begins with a header.
    pub header: bool,
    /// The message's address, modulo a beat: 0 to 63.
    pub misalignment: u32,
    /// The region's address, which pointers are made for: a multiple of a beat.
    pub region: u64,
    /// The region's capacity in bytes; at most 256 MiB. Regions of one run must not overlap.
    pub capacity: u32,
}

/// The circuit's answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The objects, as they would be at the region's address; or the error.
    pub region: Result<Vec<u8>, WireError>,
    /// The number of objects in the message, as far as it was read.
    pub objects: u32,
    /// Cycles from accepting the request to the response of the last write.
    pub cycles: u32,
}

/// The result of requests that were submitted back to back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Answers, in the order of the requests.
    pub answers: Vec<Answer>,
    /// Total cycles, from writing the first request's registers to reading the last answer's.
    pub cycles: u64,
}

impl Verilator {
    /// Compiles a design into a circuit that can be started; returns immediately if it is in the
    /// cache.
    ///
    /// # Errors
    ///
    /// Errors of Verilator, the C++ compiler or the file system.
    pub fn circuit(&self, design: &Design, layout: &Layout) -> Result<Circuit, RtlError> {
        let program = self.program(design, &SERVE, &[])?;
        Ok(Circuit::new(program, layout))
    }

    /// Compiles a program of the caller's that contains the circuit and the memory of
    /// `as_memory_model.hpp`: C++ files by name and text, one of them with a `main`; flags for
    /// compiler and linker.
    ///
    /// # Errors
    ///
    /// Errors of Verilator, the C++ compiler or the file system.
    pub fn program(
        &self,
        design: &Design,
        files: &[(&str, &str)],
        flags: &[&str],
    ) -> Result<PathBuf, RtlError> {
        let owned = |(name, text): (&str, &str)| (name.to_owned(), text.to_owned());
        self.compile(&Sources {
            top: design.top.clone(),
            rtl: with_library(&design.files),
            cpp: HEADERS.iter().chain(files).copied().map(owned).collect(),
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            ..Sources::default()
        })
    }
}
