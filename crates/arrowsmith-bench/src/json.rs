// SPDX-License-Identifier: Apache-2.0
//! Runs the JSON suite: makes each input, starts the engines, runs the rounds, compares.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

use arrow_ipc::writer::StreamWriter;

use crate::BenchError;
use crate::check::Check;
use crate::contest::{self, Contestant, Entry, Runner};
use crate::definition::{Definition, EngineDefinition, PeerKind};
use crate::engine::{self, InProcess, Keep};
use crate::input::Input;
use crate::install::install;
use crate::peer::Peer;
use crate::reference::ArrowJson;
use crate::result::{self, Report};

/// The suffix of an engine that keeps its batches but is otherwise the same.
const COLLECT: &str = "-collect";

const NOT_HERE: &str = "is not part of this command";

/// Options of the suite. The definition supplies defaults.
#[derive(Debug, Clone)]
pub struct Options {
    /// Minimum bytes of text of each workload.
    pub size_bytes: Option<u64>,
    /// Timed conversions of each engine.
    pub rounds: Option<u32>,
    /// Names of workloads; empty for all.
    pub workloads: Vec<String>,
    /// Names of engines; empty for all.
    pub engines: Vec<String>,
    /// Thread counts; if empty, one, and all of the machine.
    pub threads: Vec<NonZeroUsize>,
    /// Where peers are installed.
    pub peers_dir: PathBuf,
    /// The folder of the public files of the `real-…` workloads.
    pub corpora_dir: Option<PathBuf>,
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
            corpora_dir: None,
        }
    }
}

/// Runs the suite. `engines` are those in this process besides arrow-json, which always takes part;
/// an engine `x` also serves the name `x-collect`. `progress` gets one line at a time for the user.
///
/// # Errors
/// An unknown name, an input that cannot be made, or a reference that fails. A failing engine is
/// not an error: it is listed in [`Report::not_measured`].
pub fn run(
    options: &Options,
    engines: Vec<Box<dyn InProcess>>,
    progress: &mut dyn FnMut(&str),
) -> Result<Report, BenchError> {
    let definition = Definition::json()?;
    let workloads = definition.select_workloads(&options.workloads)?;
    let size_bytes = options.size_bytes.unwrap_or(definition.size_bytes);
    let mut in_process = engines;
    in_process.push(Box::new(ArrowJson));

    let mut suite = Suite {
        rounds: options.rounds.unwrap_or(definition.rounds).max(1),
        threads: thread_counts(&options.threads),
        engines: definition.select_engines(&options.engines)?,
        in_process,
        programs: BTreeMap::new(),
        report: Report::start(&definition.suite, Some(definition.seed), ()),
    };
    suite.install(&options.peers_dir, progress);

    for workload in &workloads {
        progress(&format!("{}: making the input", workload.name));
        let corpora = options.corpora_dir.as_deref();
        match Input::make(workload, definition.seed, size_bytes, corpora)? {
            Some(input) => suite.measure(&input, progress)?,
            None => {
                let file = workload.corpus.as_ref().map_or("", |corpus| &corpus.file);
                let reason = format!("the public file {file} is not here");
                suite.report.missing("", &workload.name, reason);
            }
        }
    }
    let mut report = suite.report;
    result::compare(&mut report.rows);
    Ok(report)
}

/// As requested; else one thread, and all of them if there are more.
pub(crate) fn thread_counts(asked: &[NonZeroUsize]) -> Vec<NonZeroUsize> {
    if !asked.is_empty() {
        return asked.to_vec();
    }
    let all = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut counts = vec![NonZeroUsize::MIN, all];
    counts.dedup();
    counts
}

struct Suite {
    rounds: u32,
    threads: Vec<NonZeroUsize>,
    engines: Vec<EngineDefinition>,
    in_process: Vec<Box<dyn InProcess>>,
    /// The program and first arguments of each peer, or the reason there is none.
    programs: BTreeMap<PeerKind, Result<Vec<PathBuf>, String>>,
    report: Report,
}

impl Suite {
    /// Installs the requested peers, and removes the engines that cannot run.
    fn install(&mut self, peers: &Path, progress: &mut dyn FnMut(&str)) {
        for engine in std::mem::take(&mut self.engines) {
            let unusable = match engine.peer {
                Some(kind) => {
                    let program = self.programs.entry(kind);
                    program.or_insert_with(|| install(kind, peers, progress)).clone().err()
                }
                None => self.in_process(&engine.name).is_none().then(|| NOT_HERE.to_owned()),
            };
            match unusable {
                Some(reason) => self.report.missing(&engine.name, "", reason),
                None => self.engines.push(engine),
            }
        }
    }

    /// The engine in this process for a name, and the treatment of its batches.
    fn in_process(&self, name: &str) -> Option<(&dyn InProcess, Keep)> {
        let (name, keep) = match name.strip_suffix(COLLECT) {
            Some(name) => (name, Keep::Everything),
            None => (name, Keep::Nothing),
        };
        let found = self.in_process.iter().find(|engine| engine.name() == name)?;
        Some((found.as_ref(), keep))
    }

    fn measure(&mut self, input: &Input, progress: &mut dyn FnMut(&str)) -> Result<(), BenchError> {
        let expected = reference(input)?;
        let folder = work_folder()?;
        if self.programs.values().any(Result::is_ok) {
            write_input(input, folder.path())?;
        }
        for &threads in &self.threads {
            let entry = Entry {
                workload: &input.workload,
                threads: threads.get(),
                bytes: input.text.len() as u64,
                records: expected.rows,
            };
            let engines = self.engines.iter().map(|engine| (&*engine.name, engine));
            let start = |engine| self.start(engine, input, threads, folder.path());
            let (rows, failures) =
                contest::run(engines, start, &expected, &entry, self.rounds, progress);
            self.report.rows.extend(rows);
            for (engine, reason) in failures {
                self.report.missing(&engine, &input.workload, reason);
            }
        }
        Ok(())
    }

    fn start<'a>(
        &'a self,
        definition: &'a EngineDefinition,
        input: &'a Input,
        threads: NonZeroUsize,
        folder: &Path,
    ) -> Result<Contestant<'a>, String> {
        let (runner, version) = match definition.peer {
            Some(kind) => {
                let program = self.programs.get(&kind).ok_or("was not installed")?.clone()?;
                let mut words = program.into_iter();
                let mut command = Command::new(words.next().unwrap_or_default());
                command.args(words).args(["--engine", &definition.name, "--shape", &input.shape]);
                command.arg("--schema").arg(folder.join(SCHEMA_FILE));
                command.arg("--input").arg(folder.join(INPUT_FILE));
                command.args(["--threads", &threads.to_string()]);
                let peer = Peer::start(command, &definition.name, folder)?;
                let version = peer.version().to_owned();
                (Runner::There(peer), version)
            }
            None => {
                let (found, keep) = self.in_process(&definition.name).ok_or(NOT_HERE)?;
                let engine = found.prepare(&input.schema, &input.text, threads)?;
                (Runner::Here { engine, keep, before: None }, found.version())
            }
        };
        let EngineDefinition { name, kind, about, .. } = definition;
        Ok(Contestant::new(name, kind.name(), about, version, runner))
    }
}

/// The expected totals.
fn reference(input: &Input) -> Result<Check, BenchError> {
    let wrap = |message| BenchError::Reference { workload: input.workload.clone(), message };
    let all = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut prepared = ArrowJson.prepare(&input.schema, &input.text, all).map_err(wrap)?;
    engine::check(prepared.as_mut()).map_err(wrap)
}

const INPUT_FILE: &str = "input.jsonl";
const SCHEMA_FILE: &str = "schema.arrows";

/// Prefix of the inputs' folders, before the process id.
const WORK_PREFIX: &str = "arrowsmith-bench-";

/// In-memory files, if available: an engine that reads by path then reads from memory too.
fn work_folder() -> Result<tempfile::TempDir, BenchError> {
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    remove_abandoned(&parent);
    let prefix = format!("{WORK_PREFIX}{}-", std::process::id());
    let made = tempfile::Builder::new().prefix(&prefix).tempdir_in(&parent);
    made.map_err(BenchError::io(parent))
}

/// Removes the inputs of interrupted runs, which would stay in memory forever. Only if the system
/// lists its processes, so that no running benchmark loses its input.
fn remove_abandoned(parent: &Path) {
    let processes = Path::new("/proc");
    if !processes.join("self").exists() {
        return;
    }
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner =
            name.to_str().and_then(|name| name.strip_prefix(WORK_PREFIX)?.split('-').next());
        let number = owner.and_then(|owner| owner.parse::<u32>().ok());
        if number.is_some_and(|number| !processes.join(number.to_string()).exists()) {
            // Another user's, who must remove it.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// The text unchanged, and the schema as an Arrow stream without batches.
fn write_input(input: &Input, folder: &Path) -> Result<(), BenchError> {
    let path = folder.join(INPUT_FILE);
    fs::write(&path, &input.text).map_err(BenchError::io(&path))?;
    let path = folder.join(SCHEMA_FILE);
    let file = File::create(&path).map_err(BenchError::io(&path))?;
    let written = StreamWriter::try_new(file, &input.schema).and_then(|mut stream| stream.finish());
    written.map_err(|error| BenchError::io(path)(std::io::Error::other(error)))
}

#[cfg(test)]
mod tests;
