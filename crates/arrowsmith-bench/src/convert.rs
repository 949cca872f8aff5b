// SPDX-License-Identifier: Apache-2.0
//! The suite `convert`: the whole command, from a file of text to a file of columns, beside the
//! libraries that convert such files.
//!
//! Our side is a process of the command for each turn, measured from its start to its end. A peer
//! is a program that converts as often as it is told to, so that the start of its interpreter is
//! not measured. Each file is read back: one with other rows has no figure that counts.

use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

use arrow_ipc::reader::FileReader;
use arrowsmith_parquet_writer::Codec;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::BenchError;
use crate::check::{Check, Checker};
use crate::contest::{self, Contestant, Entry, Runner};
use crate::definition::{Definition, PeerKind, Strings, chosen};
use crate::engine::{self, InProcess as _, Source, Turn};
use crate::goal::{self, Goal, Goals};
use crate::input::Text;
use crate::install::{self, install};
use crate::json::{INPUT_FILE, SCHEMA_FILE, reference, work_folder, write_input};
use crate::machine;
use crate::parquet::reference::ParquetRs;
use crate::peer::Peer;
use crate::process::run_to_end;
use crate::report::{self, Words};
use crate::result::{self, Row};
use crate::stats::float;

const WORKLOADS: [&str; 4] = ["logs", "lineitem", "trip", "taxi"];
/// Those without nested columns, which CSV can have.
const FLAT: [&str; 2] = ["lineitem", "taxi"];
const CODECS: [&str; 4] = ["zstd:1", "zstd:3", "snappy", "none"];
const OURS: &str = "arrowsmith";

/// JSON to Parquet, with each codec.
const PARQUET: &str = "parquet";
/// JSON to Arrow IPC.
const ARROW: &str = "arrow";
/// CSV to Parquet, with the first codec.
const CSV: &str = "csv";

/// A participant.
struct Converter {
    name: &'static str,
    about: &'static str,
    /// Options of our command; `None` for a peer.
    ours: Option<&'static [&'static str]>,
}

const CONVERTERS: [Converter; 5] = [
    Converter { name: OURS, about: "arrowsmith convert --schema", ours: Some(&[]) },
    Converter {
        name: "arrowsmith-reference-writer",
        about: "the same with the writer of the parquet crate",
        ours: Some(&["--writer", "reference"]),
    },
    Converter { name: "duckdb", about: "copy (from read_json(columns)) to", ours: None },
    Converter { name: "polars", about: "scan_ndjson(schema).sink_parquet", ours: None },
    Converter { name: "pyarrow", about: "read_json(explicit_schema), write_table", ours: None },
];

/// The options of the suite.
#[derive(Debug, Clone)]
pub struct Options {
    /// The command `arrowsmith`.
    pub program: PathBuf,
    /// Minimum bytes of JSON of each workload.
    pub size_bytes: u64,
    /// Timed conversions of each engine.
    pub rounds: u32,
    /// `logs`, `lineitem`, `trip`, `taxi`; empty for all.
    pub workloads: Vec<String>,
    /// `parquet`, `arrow` (from JSON), `csv` (to Parquet); empty for all.
    pub tasks: Vec<String>,
    /// Codecs of Parquet, as the command names them; empty for `zstd:1`, `zstd:3`, `snappy`,
    /// `none`.
    pub codecs: Vec<String>,
    /// `arrowsmith`, `arrowsmith-reference-writer`, `duckdb`, `polars`, `pyarrow`; empty for all.
    pub engines: Vec<String>,
    /// Threads of each engine; one per core if `None`.
    pub threads: Option<NonZeroUsize>,
    /// Where peers are installed.
    pub peers_dir: PathBuf,
}

impl Options {
    /// The defaults, of this program.
    #[must_use]
    pub fn new(program: PathBuf) -> Self {
        Self {
            program,
            size_bytes: 256 << 20,
            rounds: 5,
            workloads: Vec::new(),
            tasks: Vec::new(),
            codecs: Vec::new(),
            engines: Vec::new(),
            threads: None,
            peers_dir: PathBuf::from(".bench"),
        }
    }
}

/// The result of the suite. Rows have, besides the usual facts, `codec`, `cpu_seconds` and
/// `file_bytes`; `bytes` and speeds are of the input.
pub type Report = result::Report<Goals>;

/// Runs the suite. `progress` gets one line at a time for the user.
///
/// # Errors
/// An unknown name, or an input that cannot be made. An engine that fails is listed in
/// [`result::Report::not_measured`].
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Report, BenchError> {
    let definition = Definition::json()?;
    let workloads = chosen("workload", &options.workloads, &WORKLOADS)?;
    let tasks = chosen("task", &options.tasks, &[PARQUET, ARROW, CSV])?;
    let engines = chosen("engine", &options.engines, &CONVERTERS.map(|engine| engine.name))?;
    let mut engines: Vec<Converter> =
        CONVERTERS.into_iter().filter(|engine| engines.contains(&engine.name)).collect();
    let codecs = codecs(&options.codecs)?;
    let mut report = Report::start("convert", Some(definition.seed), Goals::default());
    let version = install::run(Command::new(&options.program).arg("--version"));
    let version = version.map_err(|message| BenchError::Service { message })?;
    let version = String::from_utf8_lossy(&version).lines().next().unwrap_or_default().to_owned();
    let peers = if engines.iter().any(|engine| engine.ours.is_none()) {
        install(PeerKind::Python, &options.peers_dir, progress)
    } else {
        Ok(Vec::new())
    };
    let mut peers = peers.unwrap_or_else(|reason| {
        for engine in engines.iter().filter(|engine| engine.ours.is_none()) {
            report.missing(engine.name, "", reason.clone());
        }
        engines.retain(|engine| engine.ours.is_some());
        Vec::new()
    });
    if let Some(script) = peers.last_mut() {
        script.set_file_name("convert_peer.py");
    }
    let threads = options.threads.map_or_else(machine::cores, NonZeroUsize::get);
    for workload in workloads {
        progress(&format!("{workload}: making the input"));
        let text = definition
            .workload(workload)
            .map(|workload| Text::make(workload, definition.seed, options.size_bytes, None));
        let Some(text) = text.transpose()?.flatten() else { continue };
        let folder = work_folder()?;
        write_input(&text, folder.path())?;
        let expected = reference(&text)?;
        let json = folder.path().join(INPUT_FILE);
        let places = Places { program: &options.program, peers: &peers, folder: folder.path() };
        let case = |name, input: &Path, to, codec| {
            let (name, input) = (format!("{workload}-{name}"), input.to_owned());
            Case { name, workload, input, to, codec, threads }
        };
        let mut cases = Vec::new();
        for &task in &tasks {
            match task {
                ARROW => cases.push(case(ARROW.to_owned(), &json, ARROW, Codec::None)),
                CSV if FLAT.contains(&workload) => {
                    let input = csv(&places, workload, &json)?;
                    cases.push(case(format!("{CSV}-{}", codecs[0]), &input, PARQUET, codecs[0]));
                }
                CSV => {}
                _ => cases.extend(
                    codecs.iter().map(|&codec| case(codec.to_string(), &json, PARQUET, codec)),
                ),
            }
        }
        for case in &cases {
            measure(
                &mut report,
                case,
                &places,
                (&engines, &version),
                &expected,
                options,
                progress,
            )?;
        }
    }
    result::compare(&mut report.rows);
    report.extra.goals = goals(&report.rows);
    Ok(report)
}

fn codecs(names: &[String]) -> Result<Vec<Codec>, BenchError> {
    let known = CODECS.map(str::to_owned);
    let names = if names.is_empty() { &known } else { names };
    let parse = |name: &String| {
        name.parse().map_err(|_| BenchError::UnknownName {
            what: "codec",
            name: name.clone(),
            known: known.to_vec(),
        })
    };
    names.iter().map(parse).collect()
}

/// Where programs and files are.
struct Places<'a> {
    program: &'a Path,
    /// The interpreter and the script of the peers.
    peers: &'a [PathBuf],
    folder: &'a Path,
}

/// What all engines convert.
struct Case<'a> {
    name: String,
    workload: &'a str,
    input: PathBuf,
    /// The format, which is the extension of the file.
    to: &'static str,
    codec: Codec,
    threads: usize,
}

/// The workload as CSV, made by the command.
fn csv(places: &Places<'_>, workload: &str, json: &Path) -> Result<PathBuf, BenchError> {
    let path = json.with_extension(CSV);
    let mut command = Command::new(places.program);
    command.args(["convert", "-q", "--schema", workload, "-o"]).arg(&path).arg(json);
    install::run(&mut command).map_err(|message| BenchError::Service { message })?;
    Ok(path)
}

fn measure(
    report: &mut Report,
    case: &Case<'_>,
    places: &Places<'_>,
    (engines, version): (&[Converter], &str),
    expected: &Check,
    options: &Options,
    progress: &mut dyn FnMut(&str),
) -> Result<(), BenchError> {
    let bytes = fs::metadata(&case.input).map_err(BenchError::io(&case.input))?.len();
    let threads = case.threads;
    let entry = Entry { workload: &case.name, threads, bytes, records: expected.rows };
    let start = |engine: &Converter| {
        let output = places.folder.join(format!("{}.{}", engine.name, case.to));
        let (kind, version, with) = match engine.ours {
            Some(words) => ("ours", version.to_owned(), With::Command { places, case, words }),
            None => {
                let peer = peer(places, case, engine.name, &output)?;
                ("library", peer.version().to_owned(), With::Peer(peer))
            }
        };
        let runner = Conversion { with, output };
        Ok(Contestant::new(engine.name, kind, engine.about, version, runner))
    };
    let (engines, others): (Vec<&Converter>, Vec<&Converter>) = engines
        .iter()
        .partition(|engine| case.to == PARQUET || engine.ours.is_none_or(<[_]>::is_empty));
    for engine in others {
        report.missing(engine.name, &case.name, "it is a writer of Parquet only");
    }
    let engines = engines.into_iter().map(|engine| (engine.name, engine));
    let (rows, failures) = contest::run(engines, start, expected, &entry, options.rounds, progress);
    let codec = (case.to == PARQUET).then(|| case.codec.to_string());
    report.rows.extend(rows.into_iter().map(|row| row.with_some("codec", codec.as_ref())));
    for (engine, reason) in failures {
        report.missing(&engine, &case.name, reason);
    }
    Ok(())
}

fn peer(places: &Places<'_>, case: &Case<'_>, engine: &str, output: &Path) -> Result<Peer, String> {
    let mut words = places.peers.iter();
    let mut command = Command::new(words.next().ok_or("was not installed")?);
    command.args(words).args(["--engine", engine, "--codec", &case.codec.to_string()]);
    command.arg("--schema").arg(places.folder.join(SCHEMA_FILE));
    command.arg("--input").arg(&case.input).arg("--output").arg(output);
    command.args(["--threads", &case.threads.to_string()]);
    Peer::start(command, engine, places.folder)
}

/// What converts.
enum With<'a> {
    Command { places: &'a Places<'a>, case: &'a Case<'a>, words: &'static [&'static str] },
    Peer(Peer),
}

/// An engine with its input and output.
struct Conversion<'a> {
    with: With<'a>,
    output: PathBuf,
}

impl Runner for Conversion<'_> {
    fn turn(&mut self) -> Result<Turn, String> {
        install::remove(&self.output)?;
        let mut turn = match &mut self.with {
            With::Command { places, case, words } => {
                let mut command = Command::new(places.program);
                command.args(["convert", "-q", "--schema", case.workload]).args(*words);
                command.args(["--threads", &case.threads.to_string()]);
                if case.to == PARQUET {
                    command.args(["--codec", &case.codec.to_string()]);
                }
                command.arg("-o").arg(&self.output).arg(&case.input);
                let ended = run_to_end(command, OURS, places.folder)?;
                let (seconds, peak_rss_mb) = (ended.seconds, ended.peak_rss_mb);
                Turn { seconds, peak_rss_mb, cpu_seconds: ended.cpu_s, ..Turn::default() }
            }
            With::Peer(peer) => peer.turn()?,
        };
        let file = fs::metadata(&self.output).map_err(|e| format!("wrote no file: {e}"))?;
        turn.file_bytes = Some(file.len());
        turn.rows = rows(&self.output)?;
        Ok(turn)
    }

    fn check(&mut self) -> Result<Check, String> {
        check(&self.output)
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == PARQUET)
}

/// The number of rows of a file.
fn rows(path: &Path) -> Result<u64, String> {
    let file = File::open(path).map_err(text)?;
    if is_parquet(path) {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(text)?;
        let rows = builder.metadata().file_metadata().num_rows();
        return rows.try_into().map_err(text);
    }
    let mut rows = 0;
    for batch in FileReader::try_new(file, None).map_err(text)? {
        rows += batch.map_err(text)?.num_rows() as u64;
    }
    Ok(rows)
}

/// The totals of a file, by the crates `parquet` and `arrow-ipc`.
fn check(path: &Path) -> Result<Check, String> {
    if is_parquet(path) {
        let reader = ParquetRs { name: "", batch_rows: 65_536 };
        let source = Source::Parquet { file: path, strings: Strings::Plain, memory: false };
        return engine::check(reader.prepare(source, NonZeroUsize::MIN)?.as_mut());
    }
    let mut checker = Checker::default();
    for batch in FileReader::try_new(File::open(path).map_err(text)?, None).map_err(text)? {
        checker.add(&batch.map_err(text)?)?;
    }
    Ok(checker.finish())
}

/// JSON to Parquet: four times as fast as the fastest peer with Zstandard, six times with other
/// codecs, and no file larger than that of all peers.
fn goals(rows: &[Row]) -> Vec<Goal> {
    let mut goals = Vec::new();
    let mut ours: Vec<&Row> = rows.iter().filter(|row| row.engine() == OURS).collect();
    ours.retain(|row| row.valid() && row.has("codec") && !row.workload().contains("-csv-"));
    for row in ours {
        let wanted = if row.text("codec").starts_with("zstd") { 4.0 } else { 6.0 };
        if let Some(found) = row.number("vs_fastest_peer.median") {
            goals.push(Goal::at_least(row, "times as fast as the fastest peer", found, wanted));
        }
        let peers = rows.iter().filter(|peer| peer.workload() == row.workload() && peer.valid());
        let peers = peers.filter(|peer| peer.text("kind") != "ours");
        if let Some(least) = peers.map(|peer| peer.count("file_bytes")).min() {
            let found = float(row.count("file_bytes")) / float(least.max(1));
            goals.push(Goal::at_most(row, "size over that of the smallest peer", found, 1.0));
        }
    }
    goals
}

const WORDS: Words = Words {
    title: "Files of text to files of columns",
    subtitle: "The whole command: JSON and CSV to Parquet and Arrow IPC, files in memory",
    unit: "GB/s of input text",
    input: "input",
    method: "All are given the schema. Each file is read back by the crates parquet and arrow-ipc, \
             and its totals, column by column, are compared with those of the input by arrow-json. \
             Ours is timed from the start of the process to its end, a process for each round; the \
             others are timed without the start of their interpreter, in a process that converts \
             repeatedly. Processor time of ours is counted in steps of 10 ms. Speeds are bytes of \
             the input over the median time. A name without a format is JSON to Parquet with that \
             codec. Peak memory is that of the whole process.",
};

/// Makes one self-contained page.
#[must_use]
pub fn html(report: &Report) -> String {
    report::page(report, &WORDS, &goal::section(&report.extra.goals))
}

#[cfg(test)]
mod tests;
