// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench spark`: Spark's own readers of JSON and Parquet, and ours inside Spark.
//!
//! Both are measured in one session of Spark, which is a process of an interpreter in which the
//! Python package and Spark are installed already; nothing is installed here. The session asserts
//! of every query that its plan has the reader that is measured.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

use arrowsmith_jvm::Jdk;
use arrowsmith_workload::{Generator, Workload};
use maud::html;
use serde_json::json;

use crate::BenchError;
use crate::check::Check;
use crate::contest::{self, Contestant, Entry, Runner};
use crate::definition::chosen;
use crate::engine::Turn;
use crate::goal::{self, Goal, Goals};
use crate::install::{Sources, sources};
use crate::page::{self, Cell, Chart, Form, Series, distinct, legend, maybe, row_table, section};
use crate::peer::Peer;
use crate::result::{self, Row};
use crate::stats::Spread;

const SCRIPT: Sources = sources!("peers/spark": "queries.py");
const SEED: u64 = 1;
const OURS: &str = "arrowsmith";
const OWN: &str = "spark";
const JSON: &str = "json";
const PARQUET: &str = "parquet";
/// The workload with nested columns.
const NESTED: &str = "logs";
/// The ratio of processor times, beside that of times.
const VS_OWN_CPU: &str = "vs_spark_cpu";

/// A query: its name in `queries.py`, and its description.
struct Query {
    name: &'static str,
    about: &'static str,
    /// Whether Parquet has it; a file has its schema and its number of records already.
    of_parquet: bool,
}

const QUERIES: [Query; 6] = [
    Query { name: "schema", about: "the schema of spark.read.json", of_parquet: false },
    Query {
        name: "script",
        about: "spark.read.json without a schema, all rows",
        of_parquet: false,
    },
    Query { name: "rows", about: "all columns, as rows", of_parquet: true },
    Query { name: "aggregates", about: "an aggregate of each column", of_parquet: true },
    Query { name: "one", about: "an aggregate of one column", of_parquet: true },
    Query { name: "count", about: "count(*)", of_parquet: false },
];

/// How many times as fast as Spark's own reader ours has to be.
fn wanted(data: &str, format: &str, query: &str) -> Option<f64> {
    Some(match (format, query) {
        (JSON, "schema") => 8.0,
        (JSON, "script") => 6.0,
        (JSON, "rows" | "aggregates") if data == NESTED => 5.0,
        (JSON, "rows" | "aggregates") => 8.0,
        (PARQUET, "rows") => 2.5,
        (PARQUET, "one") => 1.5,
        _ => return None,
    })
}

/// The options of the suite.
#[derive(Debug, Clone)]
pub struct Options {
    /// The interpreter with the package and Spark.
    pub python: PathBuf,
    /// Minimum bytes of JSON of each workload.
    pub size_bytes: u64,
    /// Timed runs of each reader.
    pub rounds: u32,
    /// `lineitem`, `logs`, `taxi`; empty for all.
    pub workloads: Vec<String>,
    /// `json`, `parquet`; empty for both.
    pub formats: Vec<String>,
    /// Names of queries; empty for all.
    pub queries: Vec<String>,
    /// Tasks that Spark runs at a time.
    pub threads: NonZeroUsize,
    /// Where inputs are made; the system's folder for temporary files if `None`.
    pub folder: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            python: PathBuf::from("python3"),
            size_bytes: 4 << 30,
            rounds: 3,
            workloads: Vec::new(),
            formats: Vec::new(),
            queries: Vec::new(),
            threads: NonZeroUsize::MIN,
            folder: None,
        }
    }
}

/// The result of the suite. Rows have, besides the usual facts, `data`, `format`, `query`,
/// `cpu_seconds` of Spark's process, and of ours `vs_spark_cpu`, how many times the processor time
/// of Spark's own reader is as long, round by round. `bytes` and speeds are of the JSON, or of the
/// Parquet files; `peak_rss_mb` is of the session, which both readers share.
pub type Report = result::Report<Goals>;

/// Runs the suite. `progress` gets one line at a time for the user.
///
/// # Errors
/// An unknown name, or an input that cannot be made. A reader that fails is listed in
/// [`result::Report::not_measured`].
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Report, BenchError> {
    let workloads = chosen("workload", &options.workloads, &["lineitem", NESTED, "taxi"])?;
    let formats = chosen("format", &options.formats, &[JSON, PARQUET])?;
    let queries = chosen("query", &options.queries, &QUERIES.map(|query| query.name))?;
    let folder = match &options.folder {
        Some(folder) => tempfile::tempdir_in(folder).map_err(BenchError::io(folder))?,
        None => tempfile::tempdir().map_err(BenchError::io(std::env::temp_dir()))?,
    };
    for (name, text) in SCRIPT {
        let script = folder.path().join(name);
        fs::write(&script, text).map_err(BenchError::io(&script))?;
    }
    let mut report = Report::start("spark", Some(SEED), Goals::default());
    for workload in workloads {
        progress(&format!("{workload}: making the input"));
        let input = folder.path().join(format!("{workload}.json"));
        let records = make(workload, options.size_bytes, &input)?;
        progress(&format!("{workload}: starting Spark"));
        let place = folder.path().join(workload);
        fs::create_dir(&place).map_err(BenchError::io(&place))?;
        let session = match start(options, folder.path(), &input, &place) {
            Ok(session) => RefCell::new(session),
            Err(reason) => {
                report.missing("", workload, reason);
                continue;
            }
        };
        let bytes = |format: &str| match format {
            JSON => bytes(&input),
            _ => bytes(&place.join(PARQUET)),
        };
        for format in &formats {
            let of_format = |query: &&Query| *format == JSON || query.of_parquet;
            let queries = QUERIES.iter().filter(|query| queries.contains(&query.name));
            for query in queries.filter(of_format) {
                let case = Case { session: &session, data: workload, format, query };
                case.measure(&mut report, options, &bytes, records, progress)?;
            }
        }
        drop(session);
        // The next one may need its space.
        let _ = fs::remove_file(&input);
        let _ = fs::remove_dir_all(&place);
    }
    result::compare(&mut report.rows);
    report.extra.goals = goals(&report.rows);
    Ok(report)
}

/// Writes a file in parts; returns the number of records.
fn make(workload: &str, size_bytes: u64, path: &Path) -> Result<u64, BenchError> {
    let kind: Result<Workload, _> = workload.parse();
    let kind = kind.map_err(|error| BenchError::Definition(error.to_string()))?;
    let mut file = File::create(path).map_err(BenchError::io(path))?;
    let mut generator = Generator::new(kind, SEED, 8);
    let (mut written, mut records, mut part) = (0, 0, Vec::new());
    while written < size_bytes {
        let wanted = usize::try_from(size_bytes - written).unwrap_or(usize::MAX).min(8 << 20);
        part.clear();
        records += generator.fill(wanted, &mut part);
        file.write_all(&part).map_err(BenchError::io(path))?;
        written += part.len() as u64;
    }
    Ok(records)
}

/// Of a file, or of all files of a folder.
fn bytes(path: &Path) -> Result<u64, BenchError> {
    let sum = || {
        if path.is_file() {
            return Ok(fs::metadata(path)?.len());
        }
        fs::read_dir(path)?.map(|entry| Ok(entry?.metadata()?.len())).sum::<std::io::Result<u64>>()
    };
    sum().map_err(BenchError::io(path))
}

/// A session of Spark over an input, on the oldest JDK that is found and Spark runs on. `place` is
/// a folder for it.
fn start(options: &Options, folder: &Path, input: &Path, place: &Path) -> Result<Peer, String> {
    let mut command = Command::new(&options.python);
    command.arg(folder.join("queries.py")).arg("--input").arg(input).arg("--folder").arg(place);
    command.args(["--threads", &options.threads.to_string()]);
    let jdk = Jdk::all().into_iter().find(|jdk| jdk.feature >= 17);
    command.env("JAVA_HOME", jdk.ok_or("there is no JDK 17 or newer")?.home);
    Peer::start(command, OWN, folder)
}

/// A query of an input.
struct Case<'a> {
    session: &'a RefCell<Peer>,
    data: &'a str,
    format: &'a str,
    query: &'a Query,
}

impl Case<'_> {
    /// Both readers take turns; Spark's own gives the expected result.
    fn measure(
        &self,
        report: &mut Report,
        options: &Options,
        bytes: &dyn Fn(&str) -> Result<u64, BenchError>,
        records: u64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), BenchError> {
        let label = format!("{}-{}-{}", self.data, self.format, self.query.name);
        progress(&format!("{label}: the expected result"));
        let expected = match self.reader(OWN).check() {
            Ok(expected) => expected,
            Err(reason) => {
                report.missing("", &label, reason);
                return Ok(());
            }
        };
        // The files of Parquet are there since the first of its queries.
        let bytes = bytes(self.format)?;
        let entry = Entry { workload: &label, threads: options.threads.get(), bytes, records };
        let readers = [(OURS, &(OURS, "ours")), (OWN, &(OWN, "reader"))];
        let begin = |&(reader, kind): &(&'static str, &'static str)| {
            let version = self.session.borrow().version().to_owned();
            Ok(Contestant::new(reader, kind, self.query.about, version, self.reader(reader)))
        };
        let (mut rows, failures) =
            contest::run(readers.into_iter(), begin, &expected, &entry, options.rounds, progress);
        let cpu = |rows: &[Row], reader| {
            let row = rows.iter().find(|row| row.engine() == reader);
            row.map(|row| row.numbers("cpu_seconds")).unwrap_or_default()
        };
        let ratio = Spread::of_ratios(&cpu(&rows, OWN), &cpu(&rows, OURS));
        for row in &mut rows {
            row.set("data", self.data);
            row.set("format", self.format);
            row.set("query", self.query.name);
            if let Some(ratio) = ratio.filter(|_| row.engine() == OURS) {
                row.set(VS_OWN_CPU, ratio.median);
            }
        }
        report.rows.extend(rows);
        for (reader, reason) in failures {
            report.missing(&reader, &label, reason);
        }
        Ok(())
    }

    fn reader(&self, reader: &str) -> Reader<'_> {
        let request = |check: bool| {
            let (format, query) = (self.format, self.query.name);
            json!({"reader": reader, "format": format, "query": query, "check": check}).to_string()
        };
        Reader { session: self.session, timed: request(false), totals: request(true) }
    }
}

/// One of the readers of the session, with its two requests.
struct Reader<'a> {
    session: &'a RefCell<Peer>,
    timed: String,
    totals: String,
}

impl Runner for Reader<'_> {
    fn turn(&mut self) -> Result<Turn, String> {
        self.session.borrow_mut().ask(&self.timed)
    }

    fn check(&mut self) -> Result<Check, String> {
        let turn = self.session.borrow_mut().ask(&self.totals)?;
        turn.check.ok_or_else(|| "gave no totals".to_owned())
    }
}

fn goals(rows: &[Row]) -> Vec<Goal> {
    let ours = rows.iter().filter(|row| row.engine() == OURS && row.valid());
    let goals = ours.filter_map(|row| {
        let wanted = wanted(row.text("data"), row.text("format"), row.text("query"))?;
        let found = row.number("vs_fastest_peer.median")?;
        Some(Goal::at_least(row, "times as fast as Spark's own reader", found, wanted))
    });
    goals.collect()
}

/// How many times as much Spark's own reader needs; a dash for its own rows.
fn ratio(row: &Row, name: &str) -> String {
    let ratio = row.number(name).filter(|_| row.engine() == OURS && row.valid());
    maybe(ratio, page::times)
}

/// Makes one self-contained page.
#[must_use]
pub fn html(report: &Report) -> String {
    let names = [(0, OURS), (1, OWN)];
    let steps = distinct(report.rows.iter().map(Row::workload));
    let chart = |unit, values: fn(&Row) -> Option<[f64; 3]>| {
        let series = names.map(|(index, name)| {
            let row = |step: &&str| {
                let mut rows = report.rows.iter();
                rows.find(|row| row.workload() == *step && row.engine() == name && row.valid())
            };
            Series { index, name, values: steps.iter().map(|step| values(row(step)?)).collect() }
        });
        let steps = steps.iter().map(|step| (*step).to_owned()).collect();
        let (form, series) = (Form::Dots, series.into());
        Chart { form, title: "", steps_are: "", unit, steps, series, ideal: Vec::new() }.draw()
    };
    let seconds = chart("seconds", |row| {
        Some([row.number("seconds_min")?, row.seconds_median(), row.number("seconds_max")?])
    });
    let cpu = chart("seconds of the processor", |row| Some([row.number("cpu_seconds_median")?; 3]));
    let all = [
        ("Reader", Cell::Plain("engine")),
        ("Data", Cell::Plain("data")),
        ("Format", Cell::Plain("format")),
        ("Query", Cell::Plain("about")),
        ("Median s", Cell::Number("seconds_median", 1.0)),
        ("min", Cell::Number("seconds_min", 1.0)),
        ("max", Cell::Number("seconds_max", 1.0)),
        ("GB/s", Cell::Number("gb_per_s", 1.0)),
        ("Beside Spark", Cell::With(|row| ratio(row, "vs_fastest_peer.median"))),
        ("CPU s", Cell::Number("cpu_seconds_median", 1.0)),
        ("Beside Spark", Cell::With(|row| ratio(row, VS_OWN_CPU))),
        ("Result", Cell::With(|row| if row.valid() { "equal" } else { "wrong" }.to_owned())),
    ];
    let how = "Both readers run in one session of Spark, which has the extension and switches it \
               by a setting; they take turns. Each query runs once before it is timed, the plan of \
               every run is looked at, and totals of the results are compared: of all columns, \
               hashes of every value. Parquet is what Spark writes of the same records. Processor \
               time is that of Spark's process, compilation and garbage collection included. \
               Ratios are medians of the rounds'.";
    let versions = distinct(report.rows.iter().map(|row| row.text("version"))).join(", ");
    let tasks = distinct(report.rows.iter().map(Row::threads));
    let tasks = tasks.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let more = [("Versions", versions), ("Tasks at a time", tasks)];
    let body = html! {
        (goal::section(&report.extra.goals))
        (section("Time", "Marks are medians, lines reach from the fastest to the slowest round. \
                          Further left is faster; the scale is logarithmic.",
            html! { (legend(names)) (seconds) }))
        (section("Processor time", "Further left is less; the scale is logarithmic.",
            html! { (legend(names)) (cpu) }))
        (section("All figures", "", row_table(&report.rows, &all)))
        (page::method(report, &more, how))
    };
    page::page(report, "Apache Spark", "Spark's own readers, and Arrowsmith in their place", body)
}

#[cfg(all(test, unix))]
mod tests {
    use std::error::Error;

    use super::*;

    /// An interpreter that answers as `queries.py` does; ours takes half the time, and has another
    /// sum in one of the queries.
    const SESSION: &str = r#"#!/bin/sh
        folder=$5
        echo '{"ready":true,"version":"1"}'
        while read line; do
        seconds=0.2; sum=7
        case $line in *'"parquet"'*) mkdir -p $folder/parquet; echo 1234 >$folder/parquet/a ;; esac
        case $line in *'"reader":"arrowsmith"'*) seconds=0.1
            case $line in *'"count"'*) sum=8 ;; *'"one"'*) echo '{"error":"another plan"}'; continue
            esac
        esac
        check=
        case $line in *'"check":true'*) check=',"check":{"0":{"n":1,"sum":"'$sum'"}}' ;; esac
        echo '{"seconds":'$seconds',"cpu_seconds":'$seconds',"rows":0,"peak_rss_mb":1'$check'}'
        done"#;

    fn measured(folder: &Path, queries: &[&str]) -> Result<(Report, Options), Box<dyn Error>> {
        let python = folder.join("python");
        fs::write(&python, SESSION)?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&python, mode)?;
        let options = Options {
            python,
            size_bytes: 1000,
            rounds: 2,
            workloads: vec![NESTED.to_owned()],
            queries: queries.iter().map(|&query| query.to_owned()).collect(),
            folder: Some(folder.to_owned()),
            ..Options::default()
        };
        Ok((run(&options, &mut |_| {})?, options))
    }

    #[test]
    fn both_readers_take_turns_in_a_session() {
        let folder = tempfile::tempdir().unwrap();
        let (report, options) = measured(folder.path(), &["rows"]).unwrap();
        assert_eq!(report.rows.len(), 4, "{:?}", report.not_measured);
        let ours = &report.rows[2];
        let facts = ["data", "format", "query", "engine"].map(|name| ours.text(name));
        assert_eq!(facts, [NESTED, PARQUET, "rows", OURS]);
        assert_eq!((ours.number(VS_OWN_CPU), ours.count("bytes")), (Some(2.0), 5));
        let goals = &report.extra.goals;
        let goals: Vec<_> = goals.iter().map(|goal| (goal.found, goal.wanted, goal.met)).collect();
        assert_eq!(goals, [(2.0, 5.0, false), (2.0, 2.5, false)]);
        let page = html(&report);
        assert!(
            page.contains("logs-parquet-rows") && page.contains("2.00 ×") && !page.contains("NaN")
        );
        let wrong = Options { queries: vec!["sql".to_owned()], ..options };
        assert!(run(&wrong, &mut |_| {}).unwrap_err().to_string().contains("schema, script"));
    }

    #[test]
    fn another_result_is_wrong_and_another_plan_is_not_measured() {
        let folder = tempfile::tempdir().unwrap();
        let (report, _) = measured(folder.path(), &["one", "count"]).unwrap();
        let valid: Vec<_> =
            report.rows.iter().map(|row| (row.engine(), row.text("query"), row.valid())).collect();
        let one = (OWN, "one", true);
        assert_eq!(valid, [one, (OURS, "count", false), (OWN, "count", true), one]);
        assert_eq!(report.not_measured.len(), 2);
        assert!(report.not_measured.iter().all(|one| one.reason == "another plan"));
    }
}
