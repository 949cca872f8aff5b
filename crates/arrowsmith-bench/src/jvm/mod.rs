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
use std::time::{SystemTime, UNIX_EPOCH};

use arrowsmith_jvm::{
    APPROACHES, Jdk, Libraries, Mode, Outcome, Project, RunOptions, SingleOptions,
};
use serde::Serialize;

pub use self::goals::Goal;
pub use self::page::html;
use self::plan::{Figure, Point};
use crate::error::BenchError;
use crate::machine;
use crate::result::{Machine, NotMeasured};
use crate::stats::Spread;

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
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let cores = u32::try_from(cores).unwrap_or(1);
        let mut threads: Vec<u32> =
            std::iter::successors(Some(1), |n| Some(n * 2)).take_while(|n| *n < cores).collect();
        threads.push(cores);
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

/// The results of the suite.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// `jvm`.
    pub suite: String,
    /// Where it was measured.
    pub machine: Machine,
    /// What was measured.
    pub commit: String,
    /// The options of the run.
    pub command: String,
    /// Seconds since 1970 at the start.
    pub started_unix_s: u64,
    /// Seed of the random data.
    pub seed: u64,
    /// The measurements.
    pub rows: Vec<Row>,
    /// Missing measurements, with the reason.
    pub not_measured: Vec<NotMeasured>,
    /// The goals, and whether they are reached.
    pub goals: Vec<Goal>,
}

/// One point of a figure, JDK, approach and number of threads.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The figure.
    pub workload: String,
    /// The position on its x axis: primitives, elements, depth.
    pub x: u64,
    /// The approach; `copy-bandwidth` and `read-bandwidth` are the machine's limits.
    pub engine: String,
    /// Version of the JDK.
    pub jdk: u32,
    /// Version of the VM.
    pub version: String,
    /// Its collector.
    pub collector: String,
    /// Threads.
    pub threads: u32,
    /// Objects transferred.
    pub objects: u64,
    /// Bytes of their primitives.
    pub bytes: u64,
    /// Time of every round.
    pub seconds: Vec<f64>,
    /// Its median.
    pub seconds_median: f64,
    /// Its minimum.
    pub seconds_min: f64,
    /// 10^9 bytes of primitives per second, from the median.
    pub gb_per_s: f64,
    /// Time of every round in which native code did not read the data; empty if it reads the heap
    /// itself, and for single objects.
    pub handed_seconds: Vec<f64>,
    /// 10^9 bytes of primitives per second transferred, from its median.
    pub handed_gb_per_s: Option<f64>,
    /// Throughput of the transfer relative to copying, round by round; `None` for single objects.
    pub vs_copy: Option<f64>,
    /// Throughput relative to reading.
    pub vs_read: Option<f64>,
    /// Whether every sum was right.
    pub valid: bool,
}

/// Runs the suite.
///
/// # Errors
/// No JDK is found, a name is unknown, or the build fails.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Report, BenchError> {
    let figures = plan::figures(options)?;
    for name in &options.approaches {
        if !APPROACHES.contains(&name.as_str()) {
            return Err(BenchError::UnknownName {
                what: "approach",
                name: name.clone(),
                known: APPROACHES.map(str::to_owned).to_vec(),
            });
        }
    }
    let mut jdks = Jdk::all();
    if !options.jdks.is_empty() {
        jdks.retain(|jdk| options.jdks.contains(&jdk.feature));
    }
    let Some(first) = jdks.first() else {
        let message = "none of the requested JDKs was found; set JAVA_HOME".to_owned();
        return Err(BenchError::Service { message });
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut report = Report {
        suite: "jvm".to_owned(),
        machine: machine::describe(),
        commit: machine::commit(),
        command: std::env::args().collect::<Vec<_>>().join(" "),
        started_unix_s: now.as_secs(),
        seed: SEED,
        rows: Vec::new(),
        not_measured: Vec::new(),
        goals: Vec::new(),
    };
    progress("fetching libraries");
    let libraries = match Libraries::install(&options.peers_dir.join("jvm/libraries"), first) {
        Ok(libraries) => libraries,
        Err(error) => {
            report.add_missing("kryo, protobuf, arrow-java, columns, JMH", "", &error.to_string());
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
    report.goals = goals::goals(&report);
    Ok(report)
}

impl Report {
    /// Records a missing measurement, once.
    fn add_missing(&mut self, engine: &str, workload: &str, reason: &str) {
        let same = |other: &NotMeasured| {
            other.engine == engine && other.workload == workload && other.reason == reason
        };
        if !self.not_measured.iter().any(same) {
            let (engine, workload) = (engine.to_owned(), workload.to_owned());
            self.not_measured.push(NotMeasured { engine, workload, reason: reason.to_owned() });
        }
    }
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
                report.add_missing(
                    &what,
                    &format!("{} at {}", self.figure.name, point.x),
                    &error.to_string(),
                );
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
                    seconds.iter().map(|seconds| seconds / number(bytes)).collect()
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
            let row = Row {
                vs_copy: copy,
                vs_read: read,
                valid: one.valid,
                threads: one.threads,
                bytes: one.bytes,
                handed_seconds: one.handed_seconds.clone(),
                ..self.row(&outcome, jdk, point, &one.approach, one.seconds.clone())
            };
            report.rows.push(row.finish());
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
            let row = Row { valid, ..self.row(&outcome, jdk, point, &approach, seconds) };
            report.rows.push(row.finish());
        }
        Ok(())
    }

    fn note(&self, outcome: &Outcome, jdk: &Jdk, report: &mut Report) {
        for one in &outcome.not_run {
            let engine = format!("{} (JDK {})", one.approach, jdk.feature);
            report.add_missing(
                &engine,
                if one.failed { &self.figure.name } else { "" },
                &one.reason,
            );
        }
    }

    fn row(
        &self,
        outcome: &Outcome,
        jdk: &Jdk,
        point: &Point,
        approach: &str,
        seconds: Vec<f64>,
    ) -> Row {
        Row {
            workload: self.figure.name.clone(),
            x: point.x,
            engine: approach.to_owned(),
            jdk: jdk.feature,
            version: outcome.java.clone(),
            collector: outcome.collector.clone(),
            threads: 1,
            objects: outcome.objects,
            bytes: outcome.payload_bytes,
            seconds,
            seconds_median: 0.0,
            seconds_min: 0.0,
            gb_per_s: 0.0,
            handed_seconds: Vec::new(),
            handed_gb_per_s: None,
            vs_copy: None,
            vs_read: None,
            valid: false,
        }
    }
}

impl Row {
    /// With the values derived from its times.
    fn finish(mut self) -> Self {
        if let Some(spread) = Spread::of(&self.seconds) {
            self.seconds_median = spread.median;
            self.seconds_min = spread.min;
            if spread.median > 0.0 {
                self.gb_per_s = number(self.bytes) / spread.median / 1e9;
            }
        }
        self.handed_gb_per_s = Spread::of(&self.handed_seconds)
            .filter(|spread| spread.median > 0.0)
            .map(|spread| number(self.bytes) / spread.median / 1e9);
        self
    }

    /// Throughput of the transfer, without reading; if there is no transfer, with reading.
    fn transfer_gb_per_s(&self) -> f64 {
        self.handed_gb_per_s.unwrap_or(self.gb_per_s)
    }

    /// Whether it is one of the machine's limits.
    fn is_machine(&self) -> bool {
        self.engine.ends_with("-bandwidth")
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
fn number(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests;
