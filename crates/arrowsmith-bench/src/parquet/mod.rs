// SPDX-License-Identifier: Apache-2.0
//! The Parquet suite: files in the system's page cache, read into Arrow arrays.

pub(crate) mod data;
mod definition;
pub(crate) mod file;
pub(crate) mod made;
pub(crate) mod reference;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::BenchError;
use crate::check::Check;
use crate::definition::{Definition, EngineDefinition, FigureDefinition};
use crate::engine::{InProcess, Source};
use crate::result::{FileInfo, Report, Row};
use crate::suite::{Input, Options, Suite};

use definition::WorkloadDefinition;
use file::File;
use reference::ParquetRs;

/// Outputs below this size are read in microseconds; they get more rounds.
const SMALL_BYTES: u64 = 8 << 20;
const SMALL_ROUNDS: u32 = 5;

/// Output of a workload in a quick run.
const QUICK_BYTES: u64 = 1 << 20;

/// Options of a smoke test: small files, one round, one thread, and only the engines that need no
/// installation, unless others are named.
#[must_use]
pub fn quick(options: Options) -> Options {
    let mut engines = options.engines;
    if engines.is_empty() {
        let definition = Definition::parquet().map(|definition| definition.engines);
        let here = definition.into_iter().flatten().filter(|engine| engine.peer.is_none());
        engines = here.map(|engine| engine.name).collect();
    }
    let (size_bytes, threads) = (Some(QUICK_BYTES), vec![NonZeroUsize::MIN]);
    Options { size_bytes, rounds: Some(1), engines, threads, ..options }
}

/// Runs the suite. `engines` are those in this process besides the `parquet` crate, which always
/// takes part. `progress` gets one line at a time for the user.
///
/// # Errors
/// An unknown name, or a file that cannot be made. A failing engine is not an error: it is listed
/// in [`Report::not_measured`].
pub fn run(
    options: &Options,
    mut engines: Vec<Box<dyn InProcess>>,
    progress: &mut dyn FnMut(&str),
) -> Result<Report, BenchError> {
    let definition = Definition::parquet()?;
    let (workloads, figures) = definition.select(&options.workloads)?;
    let size_bytes = options.size_bytes.unwrap_or(definition.size_bytes);
    engines.push(Box::new(ParquetRs { name: "parquet-rs", batch_rows: 8_192 }));
    engines.push(Box::new(ParquetRs { name: "parquet-rs-65536", batch_rows: 65_536 }));
    let folder = options.files_dir.clone().unwrap_or_else(|| options.peers_dir.join("parquet"));
    let folder = std::path::absolute(&folder).map_err(BenchError::io(folder))?;
    let mut suite = Suite::start(&definition, options, engines, "parquet_peer.py", progress)?;

    let plain = workloads.iter().map(|workload| (None, workload.clone(), size_bytes));
    let of_figures = figures.iter().flat_map(|figure| {
        let points = points(&definition, figure, size_bytes).into_iter();
        points.map(move |(workload, bytes)| (Some(figure), workload, bytes))
    });
    for (figure, workload, bytes) in plain.chain(of_figures) {
        progress(&format!("{}: making the file", workload.name));
        let (seed, group_bytes) = (definition.seed, definition.group_bytes);
        let file = File::make(&workload, seed, bytes, group_bytes, &folder)?;
        let small = file.arrow_bytes < SMALL_BYTES;
        let rounds = if small { suite.rounds * SMALL_ROUNDS } else { suite.rounds };
        let count = if figure.is_some() { 1 } else { suite.threads.len() };
        let threads = suite.threads[..count].to_vec();
        let input = OneFile { file, workload, figure, folder: &folder };
        suite.measure(&input, rounds, &threads, progress);
        if !options.keep_files {
            input.file.remove()?;
        }
    }
    Ok(suite.finish())
}

/// The files of a figure, with the sizes of their outputs: none larger than requested, and exactly
/// that size if all are larger.
fn points(
    definition: &Definition<WorkloadDefinition>,
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

/// A file, and the figure that it is a point of.
struct OneFile<'a> {
    file: File,
    workload: WorkloadDefinition,
    figure: Option<&'a FigureDefinition>,
    folder: &'a PathBuf,
}

impl Input for OneFile<'_> {
    fn name(&self) -> &str {
        &self.workload.name
    }

    fn bytes(&self) -> u64 {
        self.file.arrow_bytes
    }

    fn expected(&self) -> &Check {
        &self.file.expected
    }

    fn source(&self, engine: &EngineDefinition) -> Source<'_> {
        let &EngineDefinition { strings, memory, .. } = engine;
        Source::Parquet { file: &self.file.path, strings, memory }
    }

    fn arguments(&self, command: &mut Command) {
        command.arg("--input").arg(&self.file.path);
    }

    fn folder(&self) -> &Path {
        self.folder
    }

    fn takes_part(&self, engine: &EngineDefinition) -> bool {
        (self.workload.data.is_strings() || !engine.only_strings)
            && self.figure.is_none_or(|figure| figure.engines.contains(&engine.name))
    }

    fn mark(&self, engine: &EngineDefinition, row: &mut Row) {
        let info = FileInfo {
            bytes: self.file.file_bytes,
            page_bytes: self.workload.page_bytes,
            figure: self.figure.map(|figure| &*figure.name),
            strings: self.workload.data.is_strings().then(|| engine.strings.name()),
            memory: engine.memory,
        };
        row.set("file", info);
    }
}

#[cfg(test)]
mod tests;
