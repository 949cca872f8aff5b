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
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::BenchError;
use crate::install;
use crate::machine;
use crate::result::{Machine, NotMeasured};
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

/// The results of the suite.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// `objects`.
    pub suite: String,
    /// Where it was measured.
    pub machine: Machine,
    /// What was measured.
    pub commit: String,
    /// The options of the run.
    pub command: String,
    /// Seconds since 1970 at the start.
    pub started_unix_s: u64,
    /// Software, by size of the tree.
    pub rows: Vec<Row>,
    /// Round trips over the network.
    pub trips: Vec<Trip>,
    /// The circuit, by size of the tree.
    pub cycles: Vec<Cycles>,
    /// The resources of the circuit on an FPGA.
    pub resources: Vec<Resources>,
    /// What was not measured, with the reason.
    pub not_measured: Vec<NotMeasured>,
}

/// One contestant at one size of the tree.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// Operations of the tree.
    pub operations: u32,
    /// Name of the contestant.
    pub codec: String,
    /// Its result: `objects` of the user's classes, `messages` of generated ones, `views` into the
    /// bytes, `bytes`.
    pub yields: String,
    /// Bytes of the message in its format.
    pub bytes: u64,
    /// Whether the tree had the right value.
    pub valid: bool,
    /// Nanoseconds per message to decode and release, round by round.
    pub decode_ns: Vec<f64>,
    /// The same with `evaluate()` of the tree in between.
    pub use_ns: Vec<f64>,
    /// Median of `decode_ns`.
    #[serde(default)]
    pub decode_ns_median: f64,
    /// Median of `use_ns`.
    #[serde(default)]
    pub use_ns_median: f64,
}

impl Report {
    /// The row of a contestant at a size.
    #[must_use]
    pub fn row(&self, operations: u32, codec: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.operations == operations && row.codec == codec)
    }

    /// The speed-up of `ours` over `theirs`, round by round: minimum, median, maximum.
    pub(crate) fn faster(&self, operations: u32, theirs: &str, ours: &str) -> Option<Spread> {
        let (theirs, ours) = (self.row(operations, theirs)?, self.row(operations, ours)?);
        Spread::of_ratios(&theirs.decode_ns, &ours.decode_ns)
    }

    /// The other contestants whose results are objects with methods, or equivalent messages and
    /// views.
    pub(crate) fn peers(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for row in &self.rows {
            let name = row.codec.as_str();
            if ![OURS, PAPER, COPY].contains(&name) && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// Runs the suite.
///
/// # Errors
///
/// Our own reader does not compile or run. All other failures are listed as not measured.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Report, BenchError> {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let mut report = Report {
        suite: "objects".into(),
        machine: machine::describe(),
        commit: machine::commit(),
        command: std::env::args().collect::<Vec<_>>().join(" "),
        started_unix_s: started,
        rows: Vec::new(),
        trips: Vec::new(),
        cycles: Vec::new(),
        resources: Vec::new(),
        not_measured: Vec::new(),
    };
    let service = |message: String| BenchError::Service { message };
    let built = build::contestants(&options.peers_dir, progress).map_err(service)?;
    report.not_measured.extend(built.not_measured.clone());
    progress("timing the contestants, all in one process");
    let mut command = Command::new(&built.codecs);
    command.arg(options.rounds.to_string()).arg(options.span_ms.to_string());
    command.args(options.operations.iter().map(u32::to_string));
    report.rows = rows(&install::run(&mut command).map_err(service)?).map_err(service)?;
    if options.network {
        network::measure(options, &built.network, &mut report, progress);
    } else {
        report.not_measured.push(missing("network", "it was not requested"));
    }
    if options.circuit {
        circuit::measure(options, &mut report, progress);
    } else {
        report.not_measured.push(missing("circuit", "it was not requested"));
    }
    Ok(report)
}

/// The output of the C++ process, one row per line.
fn rows(printed: &[u8]) -> Result<Vec<Row>, String> {
    let text = String::from_utf8_lossy(printed);
    text.lines()
        .map(|line| {
            let mut row: Row =
                serde_json::from_str(line).map_err(|error| format!("{line}: {error}"))?;
            let median = |values: &[f64]| Spread::of(values).map_or(0.0, |spread| spread.median);
            row.decode_ns_median = median(&row.decode_ns);
            row.use_ns_median = median(&row.use_ns);
            Ok(row)
        })
        .collect()
}

fn missing(engine: &str, reason: impl Into<String>) -> NotMeasured {
    NotMeasured { engine: engine.into(), workload: String::new(), reason: reason.into() }
}
