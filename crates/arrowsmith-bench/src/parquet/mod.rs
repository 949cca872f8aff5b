// SPDX-License-Identifier: Apache-2.0
//! Runs the Parquet suite: makes each file, starts the engines, runs the rounds, compares.
//!
//! All engines read the same file, which is in the system's page cache, into Arrow arrays. Our own
//! engine is called through [`InProcess`], as is the `parquet` crate.

pub(crate) mod data;
mod definition;
mod file;
pub(crate) mod made;
mod reference;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use definition::Strings;

use crate::BenchError;
use crate::contest::{self, Contestant, Entry, Runner};
use crate::definition::PeerKind;
use crate::engine::{Keep, Prepared};
use crate::install::install;
use crate::json::thread_counts;
use crate::peer::Peer;
use crate::result::{self, FileInfo, Report};

use definition::{Definition, EngineDefinition, FigureDefinition, WorkloadDefinition};
use file::File;
use reference::ParquetRs;

/// Outputs below this size are read in microseconds; they get more rounds.
const SMALL_BYTES: u64 = 8 << 20;
const SMALL_ROUNDS: u32 = 5;

/// Output of a workload in a quick run.
const QUICK_BYTES: u64 = 1 << 20;

/// The program of this suite's Python peers.
const PYTHON_PROGRAM: &str = "parquet_peer.py";

/// An engine that runs in this process.
pub trait InProcess {
    /// Its name in the definitions.
    fn name(&self) -> &str;

    /// Version, instruction set and other properties that determine its speed, for the report.
    fn version(&self) -> String;

    /// Untimed preparation. Opening the file belongs to each conversion, unless it is to be in
    /// `memory` beforehand.
    ///
    /// # Errors
    /// A message, which the report shows as the reason for a missing measurement.
    fn prepare<'a>(
        &'a self,
        file: &Path,
        threads: NonZeroUsize,
        strings: Strings,
        memory: bool,
    ) -> Result<Box<dyn Prepared + 'a>, String>;

    /// Returns all memory kept for later conversions to the system.
    fn release_memory(&self) {}
}

/// Options of the suite. The definition supplies defaults.
#[derive(Debug, Clone)]
pub struct Options {
    /// Bytes of Arrow arrays of each workload.
    pub size_bytes: Option<u64>,
    /// Timed conversions of each engine.
    pub rounds: Option<u32>,
    /// Names of workloads and figures; empty for all.
    pub workloads: Vec<String>,
    /// Names of engines; empty for all.
    pub engines: Vec<String>,
    /// Thread counts; if empty, one, and all of the machine. Figures are measured with the first.
    pub threads: Vec<NonZeroUsize>,
    /// Where peers are installed.
    pub peers_dir: PathBuf,
    /// The folder of the files; by default `parquet` among the peers.
    pub files_dir: Option<PathBuf>,
    /// Whether files are kept for the next run.
    pub keep_files: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            size_bytes: None,
            rounds: None,
            workloads: Vec::new(),
            engines: Vec::new(),
            threads: Vec::new(),
            peers_dir: PathBuf::from(".bench"),
            files_dir: None,
            keep_files: false,
        }
    }
}

impl Options {
    /// Options of a smoke test: small files, one round, one thread, and only the engines that need
    /// no installation, unless others are named.
    #[must_use]
    pub fn quick(self) -> Self {
        let mut engines = self.engines;
        if engines.is_empty() {
            let definition = Definition::parquet().map(|definition| definition.engines);
            let here = definition.into_iter().flatten().filter(|engine| engine.peer.is_none());
            engines = here.map(|engine| engine.name).collect();
        }
        Self {
            size_bytes: Some(QUICK_BYTES),
            rounds: Some(1),
            engines,
            threads: vec![NonZeroUsize::MIN],
            ..self
        }
    }
}

/// Runs the suite. `engines` are those in this process besides the `parquet` crate, which always
/// takes part. `progress` gets one line at a time for the user.
///
/// # Errors
/// An unknown name, or a file that cannot be made. A failing engine is not an error: it is listed
/// in [`Report::not_measured`].
pub fn run(
    options: &Options,
    engines: Vec<Box<dyn InProcess>>,
    progress: &mut dyn FnMut(&str),
) -> Result<Report, BenchError> {
    let definition = Definition::parquet()?;
    let (workloads, figures) = definition.select(&options.workloads)?;
    let size_bytes = options.size_bytes.unwrap_or(definition.size_bytes);
    let mut in_process = engines;
    in_process.push(Box::new(ParquetRs { name: "parquet-rs", batch_rows: 8_192 }));
    in_process.push(Box::new(ParquetRs { name: "parquet-rs-65536", batch_rows: 65_536 }));

    let files_dir = options.files_dir.clone().unwrap_or_else(|| options.peers_dir.join("parquet"));
    let mut suite = Suite {
        seed: definition.seed,
        group_bytes: definition.group_bytes,
        rounds: options.rounds.unwrap_or(definition.rounds).max(1),
        threads: thread_counts(&options.threads),
        engines: definition.select_engines(&options.engines)?,
        in_process,
        program: None,
        files_dir: std::path::absolute(&files_dir).map_err(BenchError::io(files_dir))?,
        keep_files: options.keep_files,
        report: Report::start(&definition.suite, Some(definition.seed), ()),
    };
    suite.install(&options.peers_dir, progress);

    for workload in &workloads {
        suite.measure(workload, size_bytes, None, progress)?;
    }
    for figure in &figures {
        for (workload, output) in points(&definition, figure, size_bytes) {
            suite.measure(&workload, output, Some(figure), progress)?;
        }
    }
    let mut report = suite.report;
    result::compare(&mut report.rows);
    Ok(report)
}

/// The files of a figure, with the sizes of their outputs: none larger than requested, and exactly
/// that size if all are larger.
fn points(
    definition: &Definition,
    figure: &FigureDefinition,
    size_bytes: u64,
) -> Vec<(WorkloadDefinition, u64)> {
    let mut outputs: Vec<u64> = figure.output_bytes.iter().map(|o| (*o).min(size_bytes)).collect();
    outputs.dedup();
    let mut points = Vec::new();
    for workload in figure.workloads.iter().filter_map(|name| definition.workload(name)) {
        for &page_bytes in &figure.page_bytes {
            for &output in &outputs {
                let name = format!("{}_{}_{page_bytes}_{output}", figure.name, workload.name);
                points.push((WorkloadDefinition { name, page_bytes, ..workload.clone() }, output));
            }
        }
    }
    points
}

struct Suite {
    seed: u64,
    group_bytes: u64,
    rounds: u32,
    threads: Vec<NonZeroUsize>,
    engines: Vec<EngineDefinition>,
    in_process: Vec<Box<dyn InProcess>>,
    /// The program and first arguments of the Python peers, or the reason there is none.
    program: Option<Result<Vec<PathBuf>, String>>,
    files_dir: PathBuf,
    keep_files: bool,
    report: Report,
}

impl Suite {
    /// Installs the requested peers, and removes the engines that cannot run.
    fn install(&mut self, peers: &Path, progress: &mut dyn FnMut(&str)) {
        for engine in std::mem::take(&mut self.engines) {
            let unusable = match (engine.peer, &engine.base) {
                (Some(kind), _) => {
                    let program =
                        self.program.get_or_insert_with(|| program(kind, peers, progress));
                    program.clone().err()
                }
                (None, Some(base)) => self
                    .in_process(base)
                    .is_none()
                    .then(|| "is not part of this command".to_owned()),
                (None, None) => Some("has no program that runs it".to_owned()),
            };
            match unusable {
                Some(reason) => self.report.missing(&engine.name, "", reason),
                None => self.engines.push(engine),
            }
        }
    }

    fn in_process(&self, name: &str) -> Option<&dyn InProcess> {
        self.in_process.iter().find(|engine| engine.name() == name).map(AsRef::as_ref)
    }

    fn measure(
        &mut self,
        workload: &WorkloadDefinition,
        size_bytes: u64,
        figure: Option<&FigureDefinition>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), BenchError> {
        progress(&format!("{}: making the file", workload.name));
        let file = File::make(workload, self.seed, size_bytes, self.group_bytes, &self.files_dir)?;
        let count = if figure.is_some() { 1 } else { self.threads.len() };
        let is_strings = workload.data.is_strings();
        let takes_part = |engine: &&EngineDefinition| {
            (is_strings || !engine.only_strings)
                && figure.is_none_or(|figure| figure.engines.contains(&engine.name))
        };
        let small = file.arrow_bytes < SMALL_BYTES;
        let rounds = if small { self.rounds * SMALL_ROUNDS } else { self.rounds };
        for &threads in self.threads.iter().take(count) {
            let entry = Entry {
                workload: &workload.name,
                threads: threads.get(),
                bytes: file.arrow_bytes,
                records: file.expected.rows,
            };
            let engines = self.engines.iter().filter(takes_part).map(|one| (&*one.name, one));
            let start = |engine| self.start(engine, &file, threads);
            let (mut rows, failures) =
                contest::run(engines, start, &file.expected, &entry, rounds, progress);
            for row in &mut rows {
                let definition = self.engines.iter().find(|engine| engine.name == row.engine());
                let strings = definition.map(|e| e.strings).filter(|_| is_strings);
                let info = FileInfo {
                    bytes: file.file_bytes,
                    page_bytes: workload.page_bytes,
                    figure: figure.map(|figure| &*figure.name),
                    strings: strings.map(Strings::name),
                    memory: definition.is_some_and(|e| e.memory),
                };
                row.set("file", info);
            }
            self.report.rows.extend(rows);
            for (engine, reason) in failures {
                self.report.missing(&engine, &workload.name, reason);
            }
        }
        if self.keep_files { Ok(()) } else { file.remove() }
    }

    fn start<'a>(
        &'a self,
        definition: &'a EngineDefinition,
        file: &File,
        threads: NonZeroUsize,
    ) -> Result<Contestant<'a>, String> {
        let EngineDefinition { name, kind, about, base, collect, fresh, strings, .. } = definition;
        let (runner, version) = match base {
            None => {
                let program = self.program.clone().ok_or("was not installed")??;
                let mut words = program.into_iter();
                let mut command = Command::new(words.next().unwrap_or_default());
                command.args(words).args(["--engine", name, "--threads", &threads.to_string()]);
                command.arg("--input").arg(&file.path);
                let peer = Peer::start(command, name, &self.files_dir)?;
                let version = peer.version().to_owned();
                (Runner::There(peer), version)
            }
            Some(base) => {
                let found = self.in_process(base).ok_or("is not part of this command")?;
                let engine = found.prepare(&file.path, threads, *strings, definition.memory)?;
                let keep = if *collect { Keep::Everything } else { Keep::Nothing };
                let before: Option<Box<dyn Fn() + 'a>> =
                    if *fresh { Some(Box::new(|| found.release_memory())) } else { None };
                (Runner::Here { engine, keep, before }, found.version())
            }
        };
        Ok(Contestant::new(name, kind.name(), about, version, runner))
    }
}

/// Installs a peer; returns the program of this suite.
fn program(
    kind: PeerKind,
    peers: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<PathBuf>, String> {
    let mut words = install(kind, peers, progress)?;
    if let Some(script) = words.last_mut() {
        script.set_file_name(PYTHON_PROGRAM);
    }
    Ok(words)
}

#[cfg(test)]
mod tests;
