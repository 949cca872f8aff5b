// SPDX-License-Identifier: Apache-2.0
//! Runs the JSON suite: makes each input, starts the engines, runs the rounds, compares.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_ipc::writer::StreamWriter;

use crate::check::Check;
use crate::contest::{self, Contestant, Entry, Runner};
use crate::definition::{Definition, EngineDefinition, PeerKind};
use crate::engine::{self, InProcess, Keep};
use crate::input::Input;
use crate::install::install;
use crate::peer::Peer;
use crate::reference::ArrowJson;
use crate::result::{self, NotMeasured, Report, Row};
use crate::{BenchError, machine};

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
        rows: Vec::new(),
        not_measured: Vec::new(),
    };
    suite.install(&options.peers_dir, progress);

    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs());
    for workload in &workloads {
        progress(&format!("{}: making the input", workload.name));
        let corpora = options.corpora_dir.as_deref();
        match Input::make(workload, definition.seed, size_bytes, corpora)? {
            Some(input) => suite.measure(&input, progress)?,
            None => {
                let file = workload.corpus.as_ref().map_or("", |corpus| &corpus.file);
                let reason = format!("the public file {file} is not here");
                suite.missing("", &workload.name, reason);
            }
        }
    }
    let Suite { mut rows, not_measured, .. } = suite;
    result::compare(&mut rows);
    Ok(Report {
        suite: definition.suite,
        machine: machine::describe(),
        commit: machine::commit(),
        command: std::env::args().collect::<Vec<_>>().join(" "),
        started_unix_s: started,
        seed: definition.seed,
        rows,
        not_measured,
    })
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
    rows: Vec<Row>,
    not_measured: Vec<NotMeasured>,
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
                Some(reason) => self.missing(&engine.name, "", reason),
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

    fn missing(&mut self, engine: &str, workload: &str, reason: String) {
        let (engine, workload) = (engine.to_owned(), workload.to_owned());
        let missing = NotMeasured { engine, workload, reason };
        if !self.not_measured.contains(&missing) {
            self.not_measured.push(missing);
        }
    }

    fn measure(&mut self, input: &Input, progress: &mut dyn FnMut(&str)) -> Result<(), BenchError> {
        let expected = reference(input)?;
        let folder = work_folder()?;
        if self.programs.values().any(Result::is_ok) {
            write_input(input, folder.path())?;
        }
        for threads in self.threads.clone() {
            let (rows, failures) = self.compete(input, threads, &expected, folder.path(), progress);
            self.rows.extend(rows);
            for (engine, reason) in failures {
                self.missing(&engine, &input.workload, reason);
            }
        }
        Ok(())
    }

    /// All engines on one input with one thread count.
    fn compete(
        &self,
        input: &Input,
        threads: NonZeroUsize,
        expected: &Check,
        folder: &Path,
        progress: &mut dyn FnMut(&str),
    ) -> (Vec<Row>, Vec<(String, String)>) {
        let mut contestants = Vec::new();
        let mut failures = Vec::new();
        for definition in &self.engines {
            progress(&format!("{} × {threads}: {}", input.workload, definition.name));
            let started =
                self.start(definition, input, threads, folder).and_then(|mut contestant| {
                    contestant.warm_up(expected)?;
                    Ok(contestant)
                });
            match started {
                Ok(contestant) => contestants.push(contestant),
                Err(reason) => failures.push((definition.name.clone(), reason)),
            }
        }

        let rounds = usize::try_from(self.rounds).unwrap_or(usize::MAX);
        let (contestants, left) = contest::compete(contestants, rounds, |round| {
            progress(&format!("{} × {threads}: round {}", input.workload, round + 1));
        });
        failures.extend(left);
        let position = |row: &Row| self.engines.iter().position(|engine| engine.name == row.engine);
        let entry = Entry {
            workload: &input.workload,
            threads: threads.get(),
            bytes: input.text.len() as u64,
            records: expected.rows,
        };
        let mut rows: Vec<Row> = contestants.into_iter().filter_map(|c| c.row(&entry)).collect();
        rows.sort_by_key(position);
        (rows, failures)
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
