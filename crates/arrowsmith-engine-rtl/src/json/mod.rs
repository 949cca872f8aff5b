// SPDX-License-Identifier: Apache-2.0
//! JSON: a plan's circuit, generated, compiled and simulated on the actual bytes, as a decoder.
//!
//! The circuit decodes records and stops at the first one that it does not take: an error, or one
//! of the few valid forms that it leaves to software (escaped and repeated keys, text beyond its
//! window, numbers of more than 19 digits). The driver then reads that record with the next engine
//! of the chain, on the host, which returns the row or the error that every engine returns,
//! including the policy for bad records, and lets the circuit continue after it. That engine reads
//! all records that are not one per line: a circuit finds records by their line feeds.
//! [`Statistics`] counts the host's records, so that software's work is not taken for the
//! circuit's.

mod assemble;
mod decoder;
mod process;

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use arrowsmith_rtlgen::json::{Design, simulation};
use arrowsmith_rtlgen::library::with_library;
use arrowsmith_rtlgen::shell::Shell;

use crate::compile::Sources;
use crate::{MEMORY_MODEL, PIPES, RtlError, Verilator};
pub(crate) use decoder::RtlDecoder;
pub(crate) use process::Session;

/// The driver and the model, as they are compiled with a circuit.
pub const HEADERS: [(&str, &str); 3] = [
    ("as_json_registers.hpp", include_str!("../../cpp/as_json_registers.hpp")),
    ("as_json_driver.hpp", include_str!("../../cpp/as_json_driver.hpp")),
    MEMORY_MODEL,
];

const SERVE: [(&str, &str); 2] =
    [PIPES, ("as_json_serve.cpp", include_str!("../../cpp/as_json_serve.cpp"))];

/// Between the driver and a kernel that speaks the block protocol of Vitis.
const BLOCK_BUS: (&str, &str) = ("as_block_bus.hpp", include_str!("../../cpp/as_block_bus.hpp"));

/// Counters of the circuits, over all decoders of an engine.
#[derive(Debug, Default)]
pub struct Statistics {
    cycles: AtomicU64,
    bytes: AtomicU64,
    written: AtomicU64,
    write_bursts: AtomicU64,
    starved: AtomicU64,
    blocked: AtomicU64,
    rows: AtomicU64,
    runs: AtomicU64,
    handed_back: AtomicU64,
}

/// A snapshot of the counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Clock cycles, over all runs.
    pub cycles: u64,
    /// Bytes of JSON in these runs that the circuits took.
    pub bytes: u64,
    /// Bytes of Arrow buffers that they wrote, in full beats.
    pub written: u64,
    /// Bursts of memory in which they wrote them.
    pub write_bursts: u64,
    /// Cycles in which a parser had no input.
    pub starved: u64,
    /// Cycles in which a parser had no room for values.
    pub blocked: u64,
    /// Rows that the circuits made.
    pub rows: u64,
    /// Number of runs.
    pub runs: u64,
    /// Records read by another engine, on the host, instead.
    pub handed_back: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
        let [rate, written] = [(self.bytes, self.cycles), (self.written, self.write_bursts)]
            .map(|(bytes, of)| bytes as f64 / of.max(1) as f64);
        write!(
            f,
            "circuit: {} cycles, {rate:.2} bytes a cycle; no input in {}, no room in {}; {written:.0} bytes per write; {} rows, {} records handed back to software",
            self.cycles, self.starved, self.blocked, self.rows, self.handed_back
        )
    }
}

impl Statistics {
    fn add(&self, counts: Counts) {
        for (counter, value) in [
            (&self.cycles, counts.cycles),
            (&self.bytes, counts.bytes),
            (&self.written, counts.written),
            (&self.write_bursts, counts.write_bursts),
            (&self.starved, counts.starved),
            (&self.blocked, counts.blocked),
            (&self.rows, counts.rows),
            (&self.runs, counts.runs),
            (&self.handed_back, counts.handed_back),
        ] {
            counter.fetch_add(value, Ordering::Relaxed);
        }
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        let [cycles, bytes, written, write_bursts, starved, blocked, rows, runs, handed_back] = [
            &self.cycles,
            &self.bytes,
            &self.written,
            &self.write_bursts,
            &self.starved,
            &self.blocked,
            &self.rows,
            &self.runs,
            &self.handed_back,
        ]
        .map(|counter| counter.load(Ordering::Relaxed));
        Counts { cycles, bytes, written, write_bursts, starved, blocked, rows, runs, handed_back }
    }
}

impl Verilator {
    /// Compiles a JSON circuit into a program that serves it; at once if that was done before. With
    /// a shell, its wrapper is around the circuit, and its protocol is spoken.
    ///
    /// # Errors
    ///
    /// Errors of Verilator, the C++ compiler or the file system; a circuit that the shell does not
    /// take.
    pub fn json(&self, design: &Design, shell: Option<Shell>) -> Result<PathBuf, RtlError> {
        let owned = |(name, text): (&str, &str)| (name.to_owned(), text.to_owned());
        let (mut top, mut rtl) = (design.top.clone(), with_library(&design.files));
        let mut cpp: Vec<_> = HEADERS.into_iter().chain(SERVE).map(owned).collect();
        let mut flags = vec![format!("-DARROWSMITH_PORTS={}", design.shape.ports)];
        if let Some(shell) = shell {
            let inside = simulation(design, shell);
            let inside = inside.map_err(|error| RtlError::Shell(error.to_string()))?;
            (top, rtl) = (inside.top, inside.rtl);
            cpp.push(("settings.hpp".to_owned(), inside.settings));
            cpp.push(owned(BLOCK_BUS));
            if inside.block_protocol {
                flags.push("-DARROWSMITH_BLOCK_PROTOCOL".to_owned());
            }
        }
        self.compile(&Sources {
            top,
            rtl,
            cpp,
            flags,
            // For few modules, one translation unit is faster than what splitting saves.
            blocks: if design.shape.parsers > 3 { vec![design.parser.clone()] } else { Vec::new() },
        })
    }
}
