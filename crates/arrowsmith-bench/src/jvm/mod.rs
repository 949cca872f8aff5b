// SPDX-License-Identifier: Apache-2.0
//! The suite `jvm`: the figures of the paper "Pushing Big Data into Accelerators: Can the JVM
//! Saturate Our Hardware?", on every JDK of this machine.
//!
//! Each point of a figure is a layout of its own, generated, built and run by arrowsmith-jvm. For
//! every collection the machine's own copy and read bandwidth is measured too, in rotation with the
//! approaches, so that the answer to the paper's question is a ratio. The product never uses it.

mod goals;
mod json;
mod page;
mod plan;

use std::path::PathBuf;

use arrowsmith_jvm::{
    APPROACHES, Jdk, Libraries, Mode, Outcome, Project, RunOptions, SingleOptions,
};
use serde::Serialize;

pub use self::goals::Goal;
pub use self::page::html;
use self::plan::{Figure, Point};
use crate::error::BenchError;
use crate::machine;
use crate::result::{self, Row, gb_per_s};
use crate::stats::{Spread, float};

/// Seed of all random data.
const SEED: u64 = 2018;

/// Options of the suite.
#[derive(Debug, Clone)]
pub struct Options {
    /// Figures by name: `fig-3a` to `fig-3f`, `fig-4-small`, `fig-4-medium`, `fig-4-large`, `json`;
    /// empty for all.
    pub figures: Vec<String>,
    /// Approaches by name; if empty, all in Fig. 4, and the paper's and ours in Fig. 3.
    pub approaches: Vec<String>,
    /// Versions of JDKs; empty for all that are found.
    pub jdks: Vec<u32>,
    /// Thread counts of Fig. 4; the other collections use the largest.
    pub threads: Vec<u32>,
    /// Measured rounds.
    pub rounds: u32,
    /// Warm-up rounds.
    pub warmup: u32,
    /// Maximum bytes of the primitives of a collection: the paper's object counts are reduced to
    /// it. Text of JSON is half as long.
    pub size_bytes: u64,
    /// Duration of an iteration of single calls.
    pub iteration_ms: u32,
    /// The folder of libraries and generated sources.
    pub peers_dir: PathBuf,
}

impl Default for Options {
    fn default() -> Self {
        let threads = machine::thread_counts().into_iter();
        let threads = threads.map(|count| u32::try_from(count).unwrap_or(1)).collect();
        Self {
            figures: Vec::new(),
            approaches: Vec::new(),
            jdks: Vec::new(),
            threads,
            rounds: 5,
            warmup: 3,
            // More than the caches hold.
            size_bytes: 64 << 20,
            iteration_ms: 60,
            peers_dir: PathBuf::from(".bench"),
        }
    }
}

impl Options {
    /// A smoke test.
    #[must_use]
    pub fn quick(self) -> Self {
        let figures = ["fig-3d", "fig-4-small"].map(str::to_owned).to_vec();
        Self { figures, rounds: 1, warmup: 1, size_bytes: 1 << 20, iteration_ms: 20, ..self }
    }
}

/// The results of the suite. Rows: the figure (`workload`) and the position on its x axis (`x`:
/// primitives, elements, depth), the approach (`engine`; `copy-bandwidth` and `read-bandwidth` are
/// the machine's limits), version of the `jdk`, `version` of the VM and its `collector`, `threads`,
/// `objects` transferred and `bytes` of their primitives, `seconds` of every round, and
/// `handed_seconds` of the rounds in which native code did not read the data (none if it reads the
/// heap itself, and for single objects) with `handed_gb_per_s`, the throughput of the transfer
/// relative to copying, round by round (`vs_copy`) and of all relative to reading (`vs_read`), and
/// whether every sum was right (`valid`).
pub type Report = result::Report<Extra>;

/// What only this suite has.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Extra {
    /// The goals, and whether they are reached.
    pub goals: Vec<Goal>,
}

/// Runs the suite.
///
/// # Errors
/// No JDK is found, a name is unknown, or the build fails.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Report, BenchError> {
    let figures = plan::figures(options)?;
    BenchError::unless_known("approach", &options.approaches, &APPROACHES)?;
    let mut jdks = Jdk::all();
    if !options.jdks.is_empty() {
        jdks.retain(|jdk| options.jdks.contains(&jdk.feature));
    }
    let Some(first) = jdks.first() else {
        let message = "none of the requested JDKs was found; set JAVA_HOME".to_owned();
        return Err(BenchError::Service { message });
    };
    let mut report: Report = result::Report::start("jvm", Some(SEED), Extra::default());
    progress("fetching libraries");
    let libraries = match Libraries::install(&options.peers_dir.join("jvm/libraries"), first) {
        Ok(libraries) => libraries,
        Err(error) => {
            report.missing("kryo, protobuf, arrow-java, columns, JMH", "", error.to_string());
            Libraries::default()
        }
    };
    for figure in &figures {
        for point in &figure.points {
            let suite = Suite { options, jdks: &jdks, libraries: &libraries, figure };
            suite.point(point, &mut report, progress)?;
        }
    }
    if options.figures.is_empty() || options.figures.iter().any(|name| name == "json") {
        json::run(options, &jdks, &libraries, &mut report, progress);
    }
    report.extra.goals = goals::goals(&report);
    Ok(report)
}

struct Suite<'a> {
    options: &'a Options,
    jdks: &'a [Jdk],
    libraries: &'a Libraries,
    figure: &'a Figure,
}

impl Suite<'_> {
    /// Builds a layout once and runs it on every JDK.
    fn point(
        &self,
        point: &Point,
        report: &mut Report,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), BenchError> {
        let failed = |error: arrowsmith_jvm::JvmError| BenchError::Service {
            message: format!("{} at {}: {error}", self.figure.name, point.x),
        };
        let approaches = self.figure.approaches(self.options);
        let folder = self.options.peers_dir.join("jvm/generated");
        let mut wanted: Vec<&str> = approaches.iter().map(String::as_str).collect();
        if self.figure.single {
            wanted.push("jmh");
        }
        let project = Project::generate(&point.layout, &folder).map_err(failed)?;
        let built = project.build(self.jdks, self.libraries, &wanted).map_err(failed)?;
        for jdk in self.jdks {
            progress(&format!("{} at {}, JDK {}", self.figure.name, point.x, jdk.feature));
            let result = if self.figure.single {
                self.single(&built, jdk, point, &approaches, report)
            } else {
                self.collection(&built, jdk, point, &approaches, report)
            };
            if let Err(error) = result {
                let what = format!("JDK {}", jdk.feature);
                let at = format!("{} at {}", self.figure.name, point.x);
                report.missing(&what, &at, error.to_string());
            }
        }
        Ok(())
    }

    fn collection(
        &self,
        built: &arrowsmith_jvm::Built,
        jdk: &Jdk,
        point: &Point,
        approaches: &[String],
        report: &mut Report,
    ) -> Result<(), arrowsmith_jvm::JvmError> {
        let threads = if self.figure.by_threads {
            self.options.threads.clone()
        } else {
            self.options.threads.iter().max().copied().into_iter().collect()
        };
        let options = RunOptions {
            approaches: approaches.to_vec(),
            mode: Mode::All { objects: point.objects },
            threads,
            rounds: self.options.rounds,
            warmup: self.options.warmup,
            seed: SEED,
            jvm: vec![format!("-Xmx{}m", 1024 + 5 * (self.options.size_bytes >> 20))],
        };
        let outcome = built.run(jdk, &options)?;
        self.note(&outcome, jdk, report);
        let find = |name: &str, threads: u32| {
            let same =
                |one: &&arrowsmith_jvm::Measured| one.approach == name && one.threads == threads;
            outcome.measured.iter().find(same)
        };
        for one in &outcome.measured {
            let ratio_to = |name: &str, seconds: &[f64]| {
                let machine = find(name, one.threads)?;
                // Seconds per byte, so that both have the same unit.
                let per = |seconds: &[f64], bytes: u64| -> Vec<f64> {
                    seconds.iter().map(|seconds| seconds / float(bytes)).collect()
                };
                let machine = per(&machine.seconds, machine.bytes);
                Spread::of_ratios(&machine, &per(seconds, one.bytes)).map(|spread| spread.median)
            };
            // Copying does not read its output; approaches without a transfer are compared with
            // reading only.
            let handed =
                if one.handed_seconds.is_empty() { &one.seconds } else { &one.handed_seconds };
            let copy = ratio_to("copy-bandwidth", handed);
            let read = ratio_to("read-bandwidth", &one.seconds);
            let row = self.row(&outcome, jdk, point, &one.approach, one.bytes, &one.seconds);
            let row = row.with("vs_copy", copy).with("vs_read", read).with("valid", one.valid);
            let row = row.with("threads", one.threads);
            report.rows.push(handed_over(row, one.bytes, &one.handed_seconds));
        }
        Ok(())
    }

    fn single(
        &self,
        built: &arrowsmith_jvm::Built,
        jdk: &Jdk,
        point: &Point,
        approaches: &[String],
        report: &mut Report,
    ) -> Result<(), arrowsmith_jvm::JvmError> {
        // The participants, and whether their sums are right, before JMH measures.
        let options = RunOptions {
            approaches: approaches.to_vec(),
            mode: Mode::One { calls: 1 },
            rounds: 1,
            warmup: 0,
            seed: SEED,
            ..RunOptions::default()
        };
        let outcome = built.run(jdk, &options)?;
        self.note(&outcome, jdk, report);
        let able: Vec<String> = outcome.measured.iter().map(|one| one.approach.clone()).collect();
        let options = SingleOptions {
            approaches: able,
            iterations: self.options.rounds,
            iteration_ms: self.options.iteration_ms,
            seed: SEED,
            jvm: Vec::new(),
        };
        for (approach, seconds) in built.single(jdk, &options)? {
            let valid = outcome.measured.iter().any(|one| one.approach == approach && one.valid);
            let bytes = outcome.payload_bytes;
            let row = self.row(&outcome, jdk, point, &approach, bytes, &seconds);
            report.rows.push(handed_over(row.with("valid", valid), bytes, &[]));
        }
        Ok(())
    }

    fn note(&self, outcome: &Outcome, jdk: &Jdk, report: &mut Report) {
        for one in &outcome.not_run {
            let engine = format!("{} (JDK {})", one.approach, jdk.feature);
            let workload = if one.failed { &*self.figure.name } else { "" };
            report.missing(&engine, workload, &*one.reason);
        }
    }

    fn row(
        &self,
        outcome: &Outcome,
        jdk: &Jdk,
        point: &Point,
        approach: &str,
        bytes: u64,
        seconds: &[f64],
    ) -> Row {
        Row::new(&self.figure.name, approach)
            .with("x", point.x)
            .with("jdk", jdk.feature)
            .with("version", &outcome.java)
            .with("collector", &outcome.collector)
            .with("threads", 1)
            .with("objects", outcome.objects)
            .with("vs_copy", None::<f64>)
            .with("vs_read", None::<f64>)
            .speed(bytes, seconds, &["median", "min"])
    }
}

/// Adds the times of the transfer alone.
fn handed_over(row: Row, bytes: u64, seconds: &[f64]) -> Row {
    let row = row.with("handed_seconds", seconds);
    row.with("handed_gb_per_s", gb_per_s(bytes, seconds))
}

/// Throughput of the transfer, without reading; if there is no transfer, with reading.
fn transfer_gb_per_s(row: &Row) -> f64 {
    row.number("handed_gb_per_s").unwrap_or(row.gb_per_s())
}

/// Whether it is one of the machine's limits.
fn is_machine(row: &Row) -> bool {
    row.engine().ends_with("-bandwidth")
}

#[cfg(test)]
mod tests;
