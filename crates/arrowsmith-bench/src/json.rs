// SPDX-License-Identifier: Apache-2.0
//! The JSON suite: generated records, and those of public files, in memory.

use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::Command;

use arrow_ipc::writer::StreamWriter;

use crate::BenchError;
use crate::check::Check;
use crate::definition::{Definition, EngineDefinition};
use crate::engine::{self, InProcess, Source};
use crate::input::Text;
use crate::reference::ArrowJson;
use crate::result::Report;
use crate::suite::{Input, Options, Suite};

/// Runs the suite. `engines` are those in this process besides arrow-json, which always takes part.
/// `progress` gets one line at a time for the user.
///
/// # Errors
/// An unknown name, an input that cannot be made, or a reference that fails. A failing engine is
/// not an error: it is listed in [`Report::not_measured`].
pub fn run(
    options: &Options,
    mut engines: Vec<Box<dyn InProcess>>,
    progress: &mut dyn FnMut(&str),
) -> Result<Report, BenchError> {
    let definition = Definition::json()?;
    let (workloads, _) = definition.select(&options.workloads)?;
    let size_bytes = options.size_bytes.unwrap_or(definition.size_bytes);
    engines.push(Box::new(ArrowJson));
    let mut suite = Suite::start(&definition, options, engines, "peer.py", progress)?;
    for workload in &workloads {
        progress(&format!("{}: making the input", workload.name));
        let corpora = options.corpora_dir.as_deref();
        let Some(text) = Text::make(workload, definition.seed, size_bytes, corpora)? else {
            let file = workload.corpus.as_ref().map_or("", |corpus| &corpus.file);
            let reason = format!("the public file {file} is not here");
            suite.report.missing("", &workload.name, reason);
            continue;
        };
        let (expected, folder) = (reference(&text)?, work_folder()?);
        if suite.has_peers() {
            write_input(&text, folder.path())?;
        }
        let input = Lines { text, expected, folder };
        suite.measure(&input, suite.rounds, &suite.threads.clone(), progress);
    }
    Ok(suite.finish())
}

/// A text in memory, and as a file for the peers.
struct Lines {
    text: Text,
    expected: Check,
    folder: tempfile::TempDir,
}

impl Input for Lines {
    fn name(&self) -> &str {
        &self.text.workload
    }

    fn bytes(&self) -> u64 {
        self.text.text.len() as u64
    }

    fn expected(&self) -> &Check {
        &self.expected
    }

    fn source(&self, _engine: &EngineDefinition) -> Source<'_> {
        let schema = (!self.text.is_inferred).then_some(&self.text.schema);
        Source::Json { schema, text: &self.text.text }
    }

    fn arguments(&self, command: &mut Command) {
        command.args(["--shape", &self.text.shape]);
        command.arg("--schema").arg(self.folder().join(SCHEMA_FILE));
        command.arg("--input").arg(self.folder().join(INPUT_FILE));
        if self.text.is_inferred {
            command.arg("--infer");
        }
    }

    fn takes_part(&self, engine: &EngineDefinition) -> bool {
        engine.infers || !self.text.is_inferred
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// The expected totals.
pub(crate) fn reference(input: &Text) -> Result<Check, BenchError> {
    let wrap = |message| BenchError::Reference { workload: input.workload.clone(), message };
    let all = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let source = Source::Json { schema: Some(&input.schema), text: &input.text };
    let mut prepared = ArrowJson.prepare(source, all).map_err(wrap)?;
    engine::check(prepared.as_mut()).map_err(wrap)
}

pub(crate) const INPUT_FILE: &str = "input.jsonl";
pub(crate) const SCHEMA_FILE: &str = "schema.arrows";

/// Prefix of the inputs' folders, before the process id.
const WORK_PREFIX: &str = "arrowsmith-bench-";

/// In-memory files, if available: an engine that reads by path then reads from memory too.
pub(crate) fn work_folder() -> Result<tempfile::TempDir, BenchError> {
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
pub(crate) fn write_input(input: &Text, folder: &Path) -> Result<(), BenchError> {
    let path = folder.join(INPUT_FILE);
    fs::write(&path, &input.text).map_err(BenchError::io(&path))?;
    let path = folder.join(SCHEMA_FILE);
    let file = File::create(&path).map_err(BenchError::io(&path))?;
    let written = StreamWriter::try_new(file, &input.schema).and_then(|mut stream| stream.finish());
    written.map_err(|error| BenchError::io(path)(std::io::Error::other(error)))
}

#[cfg(test)]
mod tests;
