// SPDX-License-Identifier: Apache-2.0
//! The suite `objects`: C++ object graphs from bytes, in software, over a network, and as a
//! circuit.
//!
//! It repeats the object-structure paper (MSR-TR-2009-126): Table 5 and Figs. 14 to 17 (round trips
//! between two network namespaces that it creates), Fig. 18's tree, Figs. 19 and 20 (times and
//! speed-ups), Fig. 21 (processor load), Tables 2 and 3 (resources, by synthesis), and adds today's
//! libraries. All software takes turns in one C++ process; missing measurements are listed with the
//! reason.

mod build;
mod circuit;
mod network;
mod page;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::process::Command;

use serde::Serialize;

use crate::BenchError;
use crate::install;
use crate::page::distinct;
use crate::result::{self, Row};
use crate::stats::Spread;

pub use circuit::{Cycles, Resources};
pub use network::Trip;
pub use page::html;

/// Name of our own reader among the codecs.
pub const OURS: &str = "arrowsmith";
/// Name of the paper's software among the codecs.
pub const PAPER: &str = "paper-software";
/// Name of the copy of the finished objects among the codecs.
pub const COPY: &str = "memcpy";

/// Options of the suite.
#[derive(Debug, Clone)]
pub struct Options {
    /// Sizes of the tree of Fig. 18, in operations: it has 2 n + 1 objects.
    pub operations: Vec<u32>,
    /// Rounds of each measurement.
    pub rounds: u32,
    /// Approximate duration of one measurement.
    pub span_ms: u32,
    /// Round trips of each network measurement.
    pub trips: u32,
    /// Whether the network is measured: this requires root.
    pub network: bool,
    /// Whether the circuit is simulated and synthesized: this requires Verilator and Yosys.
    pub circuit: bool,
    /// The folder of the compiled contestants.
    pub peers_dir: PathBuf,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            operations: vec![1, 3, 7, 15, 31, 63, 127],
            rounds: 15,
            span_ms: 5,
            trips: 5_000,
            network: true,
            circuit: true,
            peers_dir: PathBuf::from(".bench"),
        }
    }
}

/// The results of the suite. Rows: `operations` of the tree, `codec` (the contestant), what it
/// `yields` (`objects` of the user's classes, `messages` of generated ones, `views` into the bytes,
/// `bytes`), `bytes` of the message in its format, `valid`, and nanoseconds per message to decode
/// and release (`decode_ns`), and with `evaluate()` of the tree in between (`use_ns`).
pub type Report = result::Report<Extra>;

/// What only this suite has.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Extra {
    /// Round trips over the network.
    pub trips: Vec<Trip>,
    /// The circuit, by size of the tree.
    pub cycles: Vec<Cycles>,
    /// The resources of the circuit on an FPGA.
    pub resources: Vec<Resources>,
}

impl Report {
    /// The row of a contestant at a size.
    #[must_use]
    pub fn row(&self, operations: u32, codec: &str) -> Option<&Row> {
        let operations = u64::from(operations);
        let mut rows = self.rows.iter();
        rows.find(|row| row.count("operations") == operations && row.text("codec") == codec)
    }

    /// The speed-up of `ours` over `theirs`, round by round: minimum, median, maximum.
    pub(crate) fn faster(&self, operations: u32, theirs: &str, ours: &str) -> Option<Spread> {
        let (theirs, ours) = (self.row(operations, theirs)?, self.row(operations, ours)?);
        Spread::of_ratios(&theirs.numbers("decode_ns"), &ours.numbers("decode_ns"))
    }

    /// The other contestants whose results are objects with methods, or equivalent messages and
    /// views.
    pub(crate) fn peers(&self) -> Vec<&str> {
        let mut names = distinct(self.rows.iter().map(|row| row.text("codec")));
        names.retain(|name| ![OURS, PAPER, COPY].contains(name));
        names
    }
}

/// Runs the suite.
///
/// # Errors
///
/// Our own reader does not compile or run. All other failures are listed as not measured.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Report, BenchError> {
    let mut report: Report = result::Report::start("objects", None, Extra::default());
    let service = |message: String| BenchError::Service { message };
    let built = build::contestants(&options.peers_dir, &mut report, progress).map_err(service)?;
    progress("timing the contestants, all in one process");
    let mut command = Command::new(&built.codecs);
    command.arg(options.rounds.to_string()).arg(options.span_ms.to_string());
    command.args(options.operations.iter().map(u32::to_string));
    report.rows = rows(&install::run(&mut command).map_err(service)?).map_err(service)?;
    if options.network {
        network::measure(options, &built.network, &mut report, progress);
    } else {
        report.missing("network", "", "it was not requested");
    }
    if options.circuit {
        circuit::measure(options, &mut report, progress);
    } else {
        report.missing("circuit", "", "it was not requested");
    }
    Ok(report)
}

/// The output of the C++ process, one row per line.
fn rows(printed: &[u8]) -> Result<Vec<Row>, String> {
    let text = String::from_utf8_lossy(printed);
    text.lines()
        .map(|line| {
            let row: Row =
                serde_json::from_str(line).map_err(|error| format!("{line}: {error}"))?;
            if ["operations", "codec", "decode_ns", "use_ns"].iter().any(|name| !row.has(name)) {
                return Err(format!("{line}: a field is missing"));
            }
            let (decode, used) = (row.numbers("decode_ns"), row.numbers("use_ns"));
            let row = row.samples("decode_ns", &decode, &["median"]);
            Ok(row.samples("use_ns", &used, &["median"]))
        })
        .collect()
}
