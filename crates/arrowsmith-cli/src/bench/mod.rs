// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench`: arrowsmith-bench with this command's own engines among the others.
//!
//! The engine is measured through the library's reader, as a user calls it: with threads, ordering
//! and batching.

mod args;
pub mod convert;
pub mod flight;
pub mod gpu;
pub mod jvm;
pub mod objects;
pub mod python;
pub mod spark;
pub mod write;

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::SchemaRef;
use arrowsmith::options::Format;
use arrowsmith::parquet::{Columns, StringForm};
use arrowsmith::{Input, JsonReadOptions, ParquetReadOptions, SharedBytes, json};
use arrowsmith_bench::{
    BenchError, Goal, Goals, InProcess, NotMeasured, Options, Prepared, Report, Row, Sink, Source,
    Strings,
};
use arrowsmith_core::Error;
use arrowsmith_core::sink::Output;

pub use self::args::{BenchArgs, Outputs};
use self::args::{
    BenchSuite, IngestBenchArgs, JsonBenchArgs, ParquetBenchArgs, RunArgs, requested,
};
use crate::failure::{Failure, Outcome};
use crate::size::display;

pub fn run(args: &BenchArgs) -> Outcome {
    match &args.suite {
        BenchSuite::Json(args) => json(args),
        BenchSuite::Ingest(args) => ingest(args),
        BenchSuite::Parquet(args) => parquet(args),
        BenchSuite::Convert(args) => convert::run(args),
        BenchSuite::Write(args) => write::run(args),
        BenchSuite::Objects(args) => objects::run(args),
        BenchSuite::Jvm(args) => jvm::run(args),
        BenchSuite::Gpu(args) => gpu::run(args),
        BenchSuite::Flight(args) => flight::run(args),
        BenchSuite::Python(args) => python::run(args),
        BenchSuite::Spark(args) => spark::run(args),
    }
}

fn json(args: &JsonBenchArgs) -> Outcome {
    let corpora_dir = args.corpora_dir.clone().or_else(corpora);
    let options = Options { corpora_dir, ..args.common.options() };
    let mut progress = |line: &str| eprintln!("{line}");
    let report = arrowsmith_bench::json::run(&options, vec![Box::new(Cpu)], &mut progress);
    finish(&report.map_err(failure)?, &args.common.run.outputs)
}

fn parquet(args: &ParquetBenchArgs) -> Outcome {
    let (files_dir, keep_files) = (args.files_dir.clone(), args.keep_files);
    let mut options = Options { files_dir, keep_files, ..args.common.options() };
    if args.quick {
        options = arrowsmith_bench::parquet::quick(options);
    }
    let mut progress = |line: &str| eprintln!("{line}");
    let report = arrowsmith_bench::parquet::run(&options, vec![Box::new(Cpu)], &mut progress);
    finish(&report.map_err(failure)?, &args.common.run.outputs)
}

/// Writes the requested reports; a wrong result of our engine is a failure.
fn finish(report: &Report, outputs: &Outputs) -> Outcome {
    write_report(outputs, report, || arrowsmith_bench::html(report))?;
    print_rows(report);
    ours_right(report)
}

/// As [`finish`], of a suite with goals.
fn finish_with_goals(
    report: &Report<Goals>,
    outputs: &Outputs,
    page: impl Fn() -> String,
) -> Outcome {
    write_report(outputs, report, page)?;
    print_rows(report);
    print_goals(&report.extra.goals);
    ours_right(report)
}

fn ours_right<E>(report: &Report<E>) -> Outcome {
    let ours = report.rows.iter().find(|row| !row.valid() && row.text("kind") == "ours");
    all_right(ours, |row| {
        format!("{} on {}: the result is not the expected one", row.engine(), row.workload())
    })
}

/// The ingest service of this command, measured as a process from outside.
fn ingest(args: &IngestBenchArgs) -> Outcome {
    let program = std::env::current_exe().map_err(|error| Failure::Work(Error::from(error)))?;
    let peer = arrowsmith_bench::ingest::REDPANDA_CONNECT;
    let mut options = arrowsmith_bench::ingest::Options::new(program);
    options.rounds = args.run.rounds(options.rounds);
    options.latency_time = args.seconds;
    options.peers_dir = args.run.peers_dir(options.peers_dir);
    if args.quick {
        options.engines.retain(|engine| engine != peer);
        options.sizes_bytes = vec![1 << 20, 4 << 20];
        options.rounds = 1;
        options.latency_time = std::time::Duration::from_secs(1);
    }
    options.engines = requested(&args.engines, options.engines);
    options.sizes_bytes = requested(&args.sizes, options.sizes_bytes);
    options.workloads = requested(&args.workloads, options.workloads);
    let threads: Vec<usize> = args.threads.iter().map(|count| count.get()).collect();
    options.threads = requested(&threads, options.threads);
    let mut progress = |line: &str| eprintln!("{line}");
    let report = arrowsmith_bench::ingest::run(&options, &mut progress).map_err(failure)?;
    let page = || arrowsmith_bench::ingest::html(&report);
    write_report(&args.run.outputs, &report, page)?;
    let runs = report.rows.iter();
    let wrong = |row: &Row| row.count("lost_records") + row.count("repeated_records");
    let runs = runs.map(|row| (row.engine(), wrong(row)));
    let rates = report.extra.latencies.iter();
    let rates = rates.map(|one| (&*one.engine, one.lost_records + one.repeated_records));
    match runs.chain(rates).filter(|(engine, wrong)| *engine != peer && *wrong != 0).count() {
        0 => Ok(()),
        count => Err(Failure::Work(Error::Config(format!(
            "in {count} measurements the files do not hold what was sent"
        )))),
    }
}

/// Writes the result to the requested files, or to standard output if there are none.
pub fn write_report(
    outputs: &Outputs,
    report: &impl serde::Serialize,
    page: impl Fn() -> String,
) -> Outcome {
    let Outputs { json, csv, report: html } = outputs;
    if let Some(path) = json {
        write(path, &(to_json(report)? + "\n"))?;
    }
    if let Some(path) = csv {
        let report = serde_json::to_value(report)
            .map_err(|error| Failure::Work(Error::from(std::io::Error::from(error))))?;
        write(path, &arrowsmith_bench::csv(&report))?;
    }
    if let Some(path) = html {
        write(path, &page())?;
    }
    if json.is_none() && csv.is_none() && html.is_none() {
        write(Path::new("-"), &(to_json(report)? + "\n"))?;
    }
    Ok(())
}

pub fn to_json(report: &impl serde::Serialize) -> Outcome<String> {
    serde_json::to_string_pretty(report)
        .map_err(|error| Failure::Work(Error::from(std::io::Error::from(error))))
}

pub fn write(path: &Path, text: &str) -> Outcome {
    let mut output = Output::create(path).map_err(Failure::output)?;
    output.write_all(text.as_bytes()).map_err(|error| Failure::output(output.error(error)))?;
    output.commit().map_err(Failure::output)?;
    Ok(())
}

/// The figures for people, on standard error.
fn print_rows<E>(report: &Report<E>) {
    for row in &report.rows {
        let ratio = row.number("vs_fastest_peer.median").filter(|_| row.valid());
        let ratio = ratio.map(|ratio| format!(", {ratio:.1} x the fastest peer"));
        let wrong = (!row.valid()).then(|| format!(", wrong: {}", row.text("difference")));
        eprintln!(
            "{:<24} {:<24} {:>2} threads {:>8.3} GB/s of {}{}",
            row.workload(),
            row.engine(),
            row.threads(),
            row.gb_per_s(),
            display(row.count("bytes")),
            ratio.or(wrong).unwrap_or_default()
        );
    }
    print_missing(&report.not_measured);
}

/// What was reached, for people.
pub fn print_goals(goals: &[Goal]) {
    for goal in goals {
        let (name, what, met) =
            (&goal.workload, &goal.goal, if goal.met { "met" } else { "not met" });
        eprintln!("{name}: {what}: {:.3}, wanted {}: {met}", goal.found, goal.wanted);
    }
}

/// What was not measured, for people.
pub fn print_missing(missing: &[NotMeasured]) {
    for NotMeasured { engine, workload, reason } in missing {
        eprintln!("{workload:<24} {engine:<24} not measured: {reason}");
    }
}

/// Fails if one of our results was wrong.
pub fn all_right(wrong: Option<&Row>, what: impl Fn(&Row) -> String) -> Outcome {
    let Some(row) = wrong else { return Ok(()) };
    let reason = match row.text("difference") {
        "" => String::new(),
        difference => format!(": {difference}"),
    };
    Err(Failure::Work(Error::Config(what(row) + &reason)))
}

fn failure(error: BenchError) -> Failure {
    match error {
        BenchError::UnknownName { .. } => Failure::Usage(error.to_string()),
        BenchError::Io { path, source } => Failure::Work(Error::io(path, source)),
        other => Failure::Work(Error::Config(other.to_string())),
    }
}

/// The engine `cpu`, called through the library's reader.
struct Cpu;

impl InProcess for Cpu {
    fn name(&self) -> &str {
        "arrowsmith-cpu"
    }

    fn version(&self) -> String {
        let level = arrowsmith_engine_cpu::CpuEngine::default().level_name();
        format!("arrowsmith {} ({level})", env!("CARGO_PKG_VERSION"))
    }

    fn prepare<'a>(
        &'a self,
        source: Source<'a>,
        threads: NonZeroUsize,
    ) -> Result<Box<dyn Prepared + 'a>, String> {
        let threads = threads.get();
        match source {
            // The reader's threads share the bytes.
            Source::Json { schema, text } => {
                let input: SharedBytes = Arc::new(text.to_vec());
                Ok(Box::new(CpuJson { schema: schema.cloned(), input, threads }))
            }
            Source::Parquet { file, strings, memory } => {
                let mut options =
                    ParquetReadOptions { threads: Some(threads), ..ParquetReadOptions::default() };
                match strings {
                    Strings::Plain => {}
                    Strings::View => options.strings = StringForm::View,
                    Strings::Dictionary => options.dictionary = Columns::All,
                }
                let read = || std::fs::read(file).map_err(|error| error.to_string());
                let bytes = memory.then(read).transpose()?;
                let bytes = bytes.map(|bytes| Arc::new(bytes) as SharedBytes);
                Ok(Box::new(CpuParquet { path: file.to_owned(), bytes, options }))
            }
        }
    }

    fn release_memory(&self) {
        arrowsmith::release_memory();
    }
}

struct CpuParquet {
    path: PathBuf,
    /// The file, if it is in memory.
    bytes: Option<SharedBytes>,
    options: ParquetReadOptions,
}

impl Prepared for CpuParquet {
    fn run(&mut self, sink: Sink<'_>) -> Result<(), String> {
        let input = match &self.bytes {
            Some(bytes) => Input::Bytes { name: None, bytes: Arc::clone(bytes) },
            None => Input::Path(self.path.clone()),
        };
        let reader =
            arrowsmith::parquet::ReaderBuilder::new().options(self.options.clone()).open([input]);
        let mut reader = reader.map_err(|error| error.to_string())?;
        while let Some(batch) = reader.next_batch().map_err(|error| error.to_string())? {
            sink(batch)?;
        }
        Ok(())
    }
}

struct CpuJson {
    /// `None` if it has to be inferred.
    schema: Option<SchemaRef>,
    input: SharedBytes,
    threads: usize,
}

impl Prepared for CpuJson {
    fn run(&mut self, sink: Sink<'_>) -> Result<(), String> {
        let input = Input::Bytes { name: None, bytes: Arc::clone(&self.input) };
        let options = JsonReadOptions {
            schema: self.schema.clone(),
            threads: Some(self.threads),
            format: Format::Ndjson,
            ..JsonReadOptions::default()
        };
        let reader = json::ReaderBuilder::new().options(options);
        if self.schema.is_none() {
            let (_, batches) = reader.read_all([input]).map_err(|error| error.to_string())?;
            return batches.into_iter().try_for_each(sink);
        }
        let mut reader = reader.open([input]).map_err(|error| error.to_string())?;
        while let Some(batch) = reader.next_batch().map_err(|error| error.to_string())? {
            sink(batch)?;
        }
        Ok(())
    }
}

/// The default folder of public files: `ARROWSMITH_CORPORA`, or a folder beside the repository.
fn corpora() -> Option<PathBuf> {
    let named =
        std::env::var_os("ARROWSMITH_CORPORA").unwrap_or_else(|| "../shared/corpora".into());
    Some(PathBuf::from(named)).filter(|folder| folder.is_dir())
}
