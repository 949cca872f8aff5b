// SPDX-License-Identifier: Apache-2.0
//! The runner of the suites that a definition describes (`json`, `parquet`): installs the peers,
//! starts the engines on each input, runs the rounds, compares. A format says only how its inputs
//! are made and what an engine is given ([`Input`]).

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::BenchError;
use crate::check::Check;
use crate::contest::{self, Contestant, Entry};
use crate::definition::{Definition, EngineDefinition, Named, PeerKind};
use crate::engine::{Here, InProcess, Keep, Source};
use crate::install::install;
use crate::peer::Peer;
use crate::result::{self, Report, Row};

const NOT_HERE: &str = "is not part of this command";

/// Options of the suite. The definition supplies defaults.
#[derive(Debug, Clone)]
pub struct Options {
    /// Minimum bytes of text of each workload, or bytes of the Arrow arrays of a Parquet file.
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
    /// JSON: the folder of the public files of the `real-…` workloads.
    pub corpora_dir: Option<PathBuf>,
    /// Parquet: the folder of the files; by default `parquet` among the peers.
    pub files_dir: Option<PathBuf>,
    /// Parquet: whether files are kept for the next run.
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
            corpora_dir: None,
            files_dir: None,
            keep_files: false,
        }
    }
}

/// As requested; else one thread, and all of them if there are more.
fn thread_counts(requested: &[NonZeroUsize]) -> Vec<NonZeroUsize> {
    if !requested.is_empty() {
        return requested.to_vec();
    }
    let all = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let mut counts = vec![NonZeroUsize::MIN, all];
    counts.dedup();
    counts
}

/// One input, as its format sees it.
pub(crate) trait Input {
    /// The name of its workload, or of its point in a figure.
    fn name(&self) -> &str;

    /// The bytes that speeds refer to.
    fn bytes(&self) -> u64;

    fn expected(&self) -> &Check;

    /// What an engine in this process converts.
    fn source(&self, engine: &EngineDefinition) -> Source<'_>;

    /// Adds the arguments that tell a peer where the input is.
    fn arguments(&self, command: &mut Command);

    /// For the error output of peers.
    fn folder(&self) -> &Path;

    fn takes_part(&self, _engine: &EngineDefinition) -> bool {
        true
    }

    /// Adds facts of the format to the row of an engine.
    fn mark(&self, _engine: &EngineDefinition, _row: &mut Row) {}
}

/// A running suite.
pub(crate) struct Suite {
    pub(crate) rounds: u32,
    pub(crate) threads: Vec<NonZeroUsize>,
    pub(crate) report: Report,
    engines: Vec<EngineDefinition>,
    in_process: Vec<Box<dyn InProcess>>,
    /// The program and first arguments of each peer, or the reason there is none.
    programs: BTreeMap<PeerKind, Result<Vec<PathBuf>, String>>,
}

impl Suite {
    /// Installs the requested peers; `python` is the suite's program among the Python peers.
    /// Engines that cannot run are listed as not measured.
    pub(crate) fn start<W: Named + serde::de::DeserializeOwned>(
        definition: &Definition<W>,
        options: &Options,
        in_process: Vec<Box<dyn InProcess>>,
        python: &str,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Self, BenchError> {
        let mut suite = Self {
            rounds: options.rounds.unwrap_or(definition.rounds).max(1),
            threads: thread_counts(&options.threads),
            report: Report::start(&definition.suite, Some(definition.seed), ()),
            engines: Vec::new(),
            in_process,
            programs: BTreeMap::new(),
        };
        for engine in definition.select_engines(&options.engines)? {
            let unusable = match engine.peer {
                Some(kind) => {
                    let program = suite.programs.entry(kind).or_insert_with(|| {
                        let mut words = install(kind, &options.peers_dir, progress)?;
                        if let (PeerKind::Python, Some(script)) = (kind, words.last_mut()) {
                            script.set_file_name(python);
                        }
                        Ok(words)
                    });
                    program.clone().err()
                }
                None => suite.in_process(&engine).err(),
            };
            match unusable {
                Some(reason) => suite.report.missing(&engine.name, "", reason),
                None => suite.engines.push(engine),
            }
        }
        Ok(suite)
    }

    /// Whether any peer takes part: only they need files.
    pub(crate) fn has_peers(&self) -> bool {
        self.programs.values().any(Result::is_ok)
    }

    fn in_process(&self, engine: &EngineDefinition) -> Result<&dyn InProcess, String> {
        let base = engine.base.as_deref().unwrap_or_default();
        let found = self.in_process.iter().find(|one| one.name() == base);
        found.map(AsRef::as_ref).ok_or_else(|| NOT_HERE.to_owned())
    }

    /// All engines on an input, with each of these thread counts.
    pub(crate) fn measure(
        &mut self,
        input: &dyn Input,
        rounds: u32,
        threads: &[NonZeroUsize],
        progress: &mut dyn FnMut(&str),
    ) {
        for &threads in threads {
            let entry = Entry {
                workload: input.name(),
                threads: threads.get(),
                bytes: input.bytes(),
                records: input.expected().rows,
            };
            let engines = self.engines.iter().filter(|engine| input.takes_part(engine));
            let engines = engines.map(|engine| (&*engine.name, engine));
            let start = |engine| self.contestant(engine, input, threads);
            let (mut rows, failures) =
                contest::run(engines, start, input.expected(), &entry, rounds, progress);
            for row in &mut rows {
                if let Some(engine) = self.engines.iter().find(|one| one.name == row.engine()) {
                    input.mark(engine, row);
                }
            }
            self.report.rows.extend(rows);
            for (engine, reason) in failures {
                self.report.missing(&engine, input.name(), reason);
            }
        }
    }

    fn contestant<'a>(
        &'a self,
        engine: &'a EngineDefinition,
        input: &'a dyn Input,
        threads: NonZeroUsize,
    ) -> Result<Contestant<'a>, String> {
        let EngineDefinition { name, kind, about, .. } = engine;
        match engine.peer {
            Some(peer) => {
                let program = self.programs.get(&peer).ok_or("was not installed")?.clone()?;
                let mut words = program.into_iter();
                let mut command = Command::new(words.next().unwrap_or_default());
                command.args(words).args(["--engine", name, "--threads", &threads.to_string()]);
                input.arguments(&mut command);
                let peer = Peer::start(command, name, input.folder())?;
                let version = peer.version().to_owned();
                Ok(Contestant::new(name, kind.name(), about, version, peer))
            }
            None => {
                let found = self.in_process(engine)?;
                let prepared = found.prepare(input.source(engine), threads)?;
                let keep = if engine.collect { Keep::Everything } else { Keep::Nothing };
                let before: Option<Box<dyn Fn() + 'a>> = match engine.fresh {
                    true => Some(Box::new(|| found.release_memory())),
                    false => None,
                };
                let runner = Here { engine: prepared, keep, before };
                Ok(Contestant::new(name, kind.name(), about, found.version(), runner))
            }
        }
    }

    /// The report, with ratios.
    pub(crate) fn finish(mut self) -> Report {
        result::compare(&mut self.report.rows);
        self.report
    }
}
