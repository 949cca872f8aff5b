// SPDX-License-Identifier: Apache-2.0
//! The suite `ingest`: complete services, as processes, with records sent over loopback.
//!
//! It measures what a sender sees: from the first byte to the acknowledgement of the last record,
//! which a service sends when the record is in its files. Services take turns, and each run has a
//! process of its own; the records in the files are counted afterwards. It repeats the JSON paper's
//! Fig. 4 (time of the stages) and Fig. 8 and 9 (throughput by size and threads), and adds latency
//! at fixed rates, loss, processor time and energy.

mod connect;
mod files;
mod page;
mod process;
mod run;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use arrowsmith_load::{Amount, LatencyMs, Source};
use arrowsmith_workload::{Layout, VALUES_MAX_DEFAULT, Workload};
use serde::Serialize;

use self::process::joules;
use self::run::{Plan, Run, once};
use crate::BenchError;
use crate::install;
use crate::machine;
use crate::page::megabytes;
use crate::result::{self, Row};
use crate::stats::Spread;

pub use connect::NAME as REDPANDA_CONNECT;
pub use page::html;

/// Text that is generated before a run and sent repeatedly, so that the sender costs little.
const REPEATED_BYTES: u64 = 32 << 20;
/// Bytes per write to the socket.
const CHUNK_BYTES: usize = 256 << 10;
/// Connections of a run for throughput: enough for every thread of the service.
const CONNECTIONS: usize = 4;
/// Seed of all inputs.
const SEED: u64 = 42;
/// Maximum duration of a run: an engine that would take longer is not measured at that size.
const RUN_SECONDS_MAX: f64 = 15.0;
/// Shares of the maximum throughput at which latency is measured.
const SHARES: [f64; 3] = [0.25, 0.5, 0.8];

/// Engines of the service, and the peer.
pub const ENGINES: [&str; 3] = ["cpu", "reference", REDPANDA_CONNECT];

/// Options of the suite.
#[derive(Debug, Clone)]
pub struct Options {
    /// The `arrowsmith` command.
    pub program: PathBuf,
    /// Workloads: those of the paper unless said otherwise.
    pub workloads: Vec<Workload>,
    /// Some of [`ENGINES`].
    pub engines: Vec<String>,
    /// Bytes of text of a run.
    pub sizes_bytes: Vec<u64>,
    /// Parser threads.
    pub threads: Vec<usize>,
    /// Runs of each.
    pub rounds: usize,
    /// Duration of the latency measurement at each rate.
    pub latency_time: Duration,
    /// Where the peer is built.
    pub peers_dir: PathBuf,
}

impl Options {
    /// The paper's figures, in sizes that take minutes.
    #[must_use]
    pub fn new(program: PathBuf) -> Self {
        Self {
            program,
            workloads: vec![Workload::Battery, Workload::Trip],
            engines: ENGINES.map(str::to_owned).to_vec(),
            sizes_bytes: (20..=30).step_by(2).map(|power| 1 << power).collect(),
            threads: machine::thread_counts(),
            rounds: 5,
            latency_time: Duration::from_secs(5),
            peers_dir: PathBuf::from(".bench"),
        }
    }
}

/// The results of the suite. Rows: `workload`, `engine` of the service, parser `threads`, the
/// requested (`asked_bytes`) and the sent `bytes` and `records` of a run, `seconds` of every run
/// from the first byte sent to the last acknowledgement, processor time, energy and memory of the
/// service (`cpu_s_per_gb`, `joules_per_gb`, `peak_rss_mb`), seconds in each stage, all threads
/// together (`stage_s`), and records that were sent and are not in the files, or more than once,
/// all runs together (`lost_records`, `repeated_records`).
pub type Report = result::Report<Extra>;

/// What only this suite has.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Extra {
    /// The folder of the services' output: the folder for temporary files.
    pub folder: PathBuf,
    /// Latency at fixed rates.
    pub latencies: Vec<Latency>,
}

/// Latency of one workload and engine at a rate.
#[derive(Debug, Clone, Serialize)]
pub struct Latency {
    /// Name of the workload.
    pub workload: String,
    /// Engine of the service.
    pub engine: String,
    /// Share of the maximum throughput measured before.
    pub share: f64,
    /// Bytes of text per second.
    pub bytes_per_s: f64,
    /// From the time at which a chunk was due to the acknowledgement of its last record.
    pub latency: LatencyMs,
    /// Records sent and not found in the files.
    pub lost_records: u64,
    /// Records in the files more often than sent.
    pub repeated_records: u64,
}

/// A participant, and its program.
struct Candidate<'a> {
    name: &'a str,
    program: PathBuf,
}

/// The runs in rotation, for all engines.
struct Task<'a> {
    workload: Workload,
    source: &'a Source,
    threads: usize,
    bytes: u64,
}

/// Runs the suite.
///
/// # Errors
/// If the service does not start, or cannot be sent to.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Report, BenchError> {
    let extra = Extra { folder: std::env::temp_dir(), latencies: Vec::new() };
    let mut report: Report = result::Report::start("ingest", Some(SEED), extra);
    if joules().is_none() {
        report.missing("energy", "", "this machine shows no counters of energy (RAPL)");
    }
    let mut engines = Vec::new();
    for name in options.engines.iter().map(String::as_str) {
        let program = match name {
            REDPANDA_CONNECT => install::redpanda_connect(&options.peers_dir, progress),
            _ => Ok(options.program.clone()),
        };
        match program {
            Ok(program) => engines.push(Candidate { name, program }),
            Err(reason) => report.missing(name, "", reason),
        }
    }
    for &workload in &options.workloads {
        let source = source(workload);
        for &threads in &options.threads {
            for &bytes in &options.sizes_bytes {
                let task = Task { workload, source: &source, threads, bytes };
                throughput(options, &engines, &task, &mut report, progress)?;
            }
        }
        for engine in &engines {
            latency(options, workload, &source, engine, &mut report, progress)?;
        }
    }
    Ok(report)
}

fn source(workload: Workload) -> Source {
    let values_max = VALUES_MAX_DEFAULT;
    let made = Source::Generated { workload, seed: SEED, values_max, layout: Layout::default() };
    made.repeated(REPEATED_BYTES, CHUNK_BYTES)
}

/// All engines in rotation, round by round.
fn throughput(
    options: &Options,
    engines: &[Candidate<'_>],
    task: &Task<'_>,
    report: &mut Report,
    progress: &mut dyn FnMut(&str),
) -> Result<(), BenchError> {
    let &Task { workload, source, threads, bytes } = task;
    let mut all: Vec<(&Candidate<'_>, Vec<Run>)> = Vec::new();
    for engine in engines {
        match too_long(report, engine.name, task) {
            None => all.push((engine, Vec::new())),
            Some(seconds) => {
                let megabytes = megabytes(bytes);
                let reason = format!(
                    "{megabytes:.0} MB with {threads} threads: a run would take {seconds:.0} s"
                );
                report.missing(engine.name, workload.name(), reason);
            }
        }
    }
    for _ in 0..options.rounds.max(1) {
        for (engine, runs) in &mut all {
            let amount = Amount::Bytes(bytes);
            let (program, name) = (&engine.program, engine.name);
            let plan =
                Plan { program, workload, engine: name, threads, source, amount, rate: None };
            runs.push(once(&plan)?);
        }
    }
    for (engine, runs) in &all {
        let row = row(task, engine.name, runs);
        progress(&format!(
            "{:<8} {:<16} {threads} threads {:>7.1} MB {:>7.3} GB/s, {} lost",
            row.workload(),
            row.engine(),
            megabytes(row.count("bytes")),
            row.gb_per_s(),
            row.count("lost_records")
        ));
        report.rows.push(row);
    }
    Ok(())
}

/// The estimated duration of a run, from earlier runs, if it is too long.
fn too_long(report: &Report, engine: &str, task: &Task<'_>) -> Option<f64> {
    let same = |row: &&Row| {
        row.engine() == engine
            && row.workload() == task.workload.name()
            && row.threads() == task.threads as u64
            && row.count("bytes") < task.bytes
    };
    let before = report.rows.iter().filter(same).max_by_key(|row| row.count("bytes"))?;
    let before_mb = megabytes(before.count("bytes"));
    let seconds = before.seconds_median() * megabytes(task.bytes) / before_mb;
    (seconds > RUN_SECONDS_MAX).then_some(seconds)
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    Spread::of(&values.collect::<Vec<_>>()).map(|spread| spread.median)
}

fn row(task: &Task<'_>, engine: &str, runs: &[Run]) -> Row {
    let bytes = runs.first().map_or(0, |run| run.bytes);
    let gigabytes = megabytes(bytes) / 1e3;
    let seconds: Vec<f64> = runs.iter().map(|run| run.seconds).collect();
    let per_gb = |value: fn(&Run) -> Option<f64>| {
        median(runs.iter().filter_map(value)).map(|value| value / gigabytes)
    };
    let names = runs.first().map(|run| &run.stage_s[..]).unwrap_or_default();
    let stage_s: Vec<(String, f64)> = names
        .iter()
        .enumerate()
        .filter_map(|(at, (name, _))| {
            let all = runs.iter().filter_map(|run| run.stage_s.get(at).map(|(_, s)| *s));
            Some((name.clone(), median(all)?))
        })
        .collect();
    Row::new(task.workload.name(), engine)
        .with("threads", task.threads)
        .with("asked_bytes", task.bytes)
        .with("records", runs.first().map_or(0, |run| run.records))
        .speed(bytes, &seconds, &["median"])
        .with("cpu_s_per_gb", per_gb(|run| run.cpu_s))
        .with("joules_per_gb", per_gb(|run| run.joules))
        .with("peak_rss_mb", runs.iter().filter_map(|run| run.peak_rss_mb).reduce(f64::max))
        .with("stage_s", stage_s)
        .with("lost_records", runs.iter().map(Run::lost).sum::<u64>())
        .with("repeated_records", runs.iter().map(Run::repeated).sum::<u64>())
}

/// Latency at shares of the measured throughput.
fn latency(
    options: &Options,
    workload: Workload,
    source: &Source,
    engine: &Candidate<'_>,
    report: &mut Report,
    progress: &mut dyn FnMut(&str),
) -> Result<(), BenchError> {
    let (program, engine) = (&engine.program, engine.name);
    let rows = report.rows.iter();
    let same = rows.filter(|row| row.workload() == workload.name() && row.engine() == engine);
    let Some(best) = same.max_by(|a, b| a.gb_per_s().total_cmp(&b.gb_per_s())) else {
        return Ok(());
    };
    let most = best.gb_per_s() * 1e9;
    let threads = usize::try_from(best.threads()).unwrap_or(1);
    for share in SHARES {
        let rate = most * share;
        let amount = Amount::Time(options.latency_time);
        let plan = Plan { program, workload, engine, threads, source, amount, rate: Some(rate) };
        let run = once(&plan)?;
        let Some(latency) = run.latency else { continue };
        progress(&format!(
            "{:<8} {engine:<16} {:>7.1} MB/s: {:.2} ms half, {:.2} ms 99 %, {} lost",
            workload.name(),
            rate / 1e6,
            latency.p50,
            latency.p99,
            run.lost()
        ));
        report.extra.latencies.push(Latency {
            workload: workload.name().to_owned(),
            engine: engine.to_owned(),
            share,
            bytes_per_s: rate,
            latency,
            lost_records: run.lost(),
            repeated_records: run.repeated(),
        });
    }
    Ok(())
}
