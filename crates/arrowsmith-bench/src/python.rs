// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench python`: queries of a notebook over JSON lines, by polars, DuckDB and pandas,
//! with our reader and with their own.
//!
//! Both sides of a task are processes of the same interpreter, in which the Python package and the
//! libraries are installed already; nothing is installed here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use arrowsmith_workload::{Generator, Workload};
use maud::html;

use crate::BenchError;
use crate::contest::{self, Contestant, Entry, Runner as _};
use crate::definition::chosen;
use crate::goal::{self, Goal, Goals};
use crate::install::{Sources, sources};
use crate::machine;
use crate::page::{self, Cell, Chart, Form, Series, distinct, legend, maybe, row_table, section};
use crate::peer::Peer;
use crate::result::{self, Row};

const SCRIPTS: Sources = sources!("peers/python": "peer.py", "queries.py");
const SEED: u64 = 1;
const OURS: &str = "arrowsmith";
const OWN: &str = "own";

/// A query: its name in `queries.py`, its description, and how many times as fast ours has to be.
struct Task {
    name: &'static str,
    about: &'static str,
    wanted: Option<f64>,
}

const TASKS: [Task; 4] = [
    Task { name: "polars", about: "filter, select and group_by of polars", wanted: Some(5.0) },
    Task { name: "duckdb", about: "the same query of DuckDB", wanted: Some(2.0) },
    Task { name: "pandas", about: "all rows as a frame of pandas", wanted: Some(30.0) },
    // In seconds.
    Task { name: "first", about: "ten rows of the file", wanted: None },
];

/// Time in which the first rows are wanted.
const FIRST_SECONDS: f64 = 0.05;

/// The options of the suite.
#[derive(Debug, Clone)]
pub struct Options {
    /// The interpreter with the package and the libraries.
    pub python: PathBuf,
    /// Bytes of JSON of each workload.
    pub size_bytes: u64,
    /// Timed runs of each side.
    pub rounds: u32,
    /// `lineitem`, `logs`, `taxi`; empty for all.
    pub workloads: Vec<String>,
    /// Names of tasks; empty for all.
    pub tasks: Vec<String>,
    /// Where inputs are made; the system's folder for temporary files if `None`.
    pub folder: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            python: PathBuf::from("python3"),
            size_bytes: 256 << 20,
            rounds: 5,
            workloads: Vec::new(),
            tasks: Vec::new(),
            folder: None,
        }
    }
}

/// The result of the suite.
pub type Report = result::Report<Goals>;

/// Runs the suite. `progress` gets one line at a time for the user.
///
/// # Errors
/// An unknown name, or an input that cannot be made. A side that fails is listed in
/// [`result::Report::not_measured`].
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Report, BenchError> {
    let workloads = chosen("workload", &options.workloads, &["lineitem", "logs", "taxi"])?;
    let names = TASKS.map(|task| task.name);
    let tasks = chosen("task", &options.tasks, &names)?;
    let folder = match &options.folder {
        Some(folder) => tempfile::tempdir_in(folder).map_err(BenchError::io(folder))?,
        None => tempfile::tempdir().map_err(BenchError::io(std::env::temp_dir()))?,
    };
    for (name, text) in SCRIPTS {
        let script = folder.path().join(name);
        fs::write(&script, text).map_err(BenchError::io(&script))?;
    }
    let script = folder.path().join("queries.py");
    let mut report = Report::start("python", Some(SEED), Goals::default());
    for workload in workloads {
        progress(&format!("{workload}: making the input"));
        let input = folder.path().join(format!("{workload}.jsonl"));
        let (bytes, records) = make(workload, options.size_bytes, &input)?;
        for task in TASKS.iter().filter(|task| tasks.contains(&task.name)) {
            let side = |side: &str| {
                let mut command = Command::new(&options.python);
                command.arg(&script).args(["--side", side, "--task", task.name]);
                command.args(["--workload", workload]).arg("--input").arg(&input);
                Peer::start(command, side, folder.path())
            };
            let label = format!("{workload}-{}", task.name);
            let entry = Entry { workload: &label, threads: machine::cores(), bytes, records };
            compete(&mut report, task, &entry, options.rounds, &side, progress);
        }
        // The next one may need its space.
        let _ = fs::remove_file(&input);
    }
    result::compare(&mut report.rows);
    report.extra.goals = goals(&report.rows);
    Ok(report)
}

fn make(workload: &str, size_bytes: u64, path: &Path) -> Result<(u64, u64), BenchError> {
    let bad = |message: String| BenchError::Definition(message);
    let kind: Workload = workload.parse().map_err(|error| bad(format!("{error}")))?;
    let size = usize::try_from(size_bytes).map_err(|error| bad(error.to_string()))?;
    let mut text = Vec::new();
    let records = Generator::new(kind, SEED, 8).fill(size, &mut text);
    fs::write(path, &text).map_err(BenchError::io(path))?;
    Ok((text.len() as u64, records))
}

/// Both sides take turns; the library's own gives the expected result, if it can read the file.
fn compete(
    report: &mut Report,
    task: &Task,
    entry: &Entry<'_>,
    rounds: u32,
    start: &dyn Fn(&str) -> Result<Peer, String>,
    progress: &mut dyn FnMut(&str),
) {
    let result = |side| start(side).and_then(|mut peer| peer.turn());
    let expected = result(OWN).or_else(|_| result(OURS));
    let expected = match expected.map(|turn| turn.check) {
        Ok(Some(check)) => check,
        Ok(None) => return report.missing("", entry.workload, "there are no totals"),
        Err(reason) => return report.missing("", entry.workload, reason),
    };
    let sides = [(OURS, &(OURS, "ours")), (OWN, &(OWN, "reader"))];
    let begin = |&(side, kind): &(&'static str, &'static str)| {
        let peer = start(side)?;
        let version = peer.version().to_owned();
        Ok(Contestant::new(side, kind, task.about, version, peer))
    };
    let (rows, failures) =
        contest::run(sides.into_iter(), begin, &expected, entry, rounds, progress);
    report.rows.extend(rows);
    for (side, reason) in failures {
        report.missing(&side, entry.workload, reason);
    }
}

fn goals(rows: &[Row]) -> Vec<Goal> {
    let mut goals = Vec::new();
    for ours in rows.iter().filter(|row| row.engine() == OURS && row.valid()) {
        let workload = ours.workload();
        let Some(task) = TASKS.iter().find(|task| workload.ends_with(task.name)) else { continue };
        match (task.wanted, ours.number("vs_fastest_peer.median")) {
            (Some(wanted), Some(found)) => {
                let goal = "times as fast as the library's own reader";
                goals.push(Goal::at_least(ours, goal, found, wanted));
            }
            (None, _) => {
                let (goal, found) = ("seconds to the first rows", ours.seconds_median());
                goals.push(Goal::at_most(ours, goal, found, FIRST_SECONDS));
            }
            _ => {}
        }
        let own = rows.iter().find(|row| row.engine() == OWN && row.workload() == workload);
        let memory = |row: &Row| row.number("peak_rss_mb").filter(|peak| *peak > 0.0);
        if let Some((found, own)) = memory(ours).zip(own.and_then(memory)) {
            let goal = "peak memory over that of its own reader";
            goals.push(Goal::at_most(ours, goal, found / own, 1.0));
        }
    }
    goals
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
    let memory = chart("MB of resident memory", |row| Some([row.number("peak_rss_mb")?; 3]));
    let ratio: fn(&Row) -> String = |row| {
        let ratio = row.number("vs_fastest_peer.median");
        maybe(ratio.filter(|_| row.engine() == OURS && row.valid()), page::times)
    };
    let all = [
        ("Reader", Cell::Plain("engine")),
        ("Measurement", Cell::Plain("workload")),
        ("Version", Cell::Plain("version")),
        ("Median s", Cell::Number("seconds_median", 1.0)),
        ("min", Cell::Number("seconds_min", 1.0)),
        ("max", Cell::Number("seconds_max", 1.0)),
        ("Beside own", Cell::With(ratio)),
        ("Peak MB", Cell::Number("peak_rss_mb", 1.0)),
        ("Result", Cell::With(|row| if row.valid() { "equal" } else { "wrong" }.to_owned())),
    ];
    let how = "Each side is a process that infers the schema and runs the query, once for each \
               round; the sides take turns. Totals of the results are compared. Seconds are \
               medians; peak memory is the highest of the process in all rounds.";
    let body = html! {
        (goal::section(&report.extra.goals))
        (section("Time", "Marks are medians, lines reach from the fastest to the slowest round. \
                          Further left is faster; the scale is logarithmic.",
            html! { (legend(names)) (seconds) }))
        (section("Peak memory", "Of a process, the interpreter included. Further left is less; \
                                 the scale is logarithmic.",
            html! { (legend(names)) (memory) }))
        (section("All figures", "", row_table(&report.rows, &all)))
        (page::method(report, &[], how))
    };
    page::page(report, "JSON in notebooks", "polars, DuckDB and pandas over two readers", body)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::result::tests::row;

    #[test]
    fn goals_are_judged_by_medians() {
        let mut rows = vec![
            row("taxi-duckdb", OURS, "ours", [1.0, 1.0]),
            row("taxi-duckdb", OWN, "reader", [3.0, 3.0]),
            row("taxi-first", OURS, "ours", [0.1, 0.1]),
        ];
        rows[1].set("peak_rss_mb", 2.5);
        result::compare(&mut rows);
        let goals = goals(&rows);
        let found: Vec<_> = goals.iter().map(|goal| (goal.found, goal.met)).collect();
        assert_eq!(found, [(3.0, true), (2.0, false), (0.1, false)]);
    }

    /// An interpreter that answers as `queries.py` does; ours is twice as fast.
    #[test]
    fn both_sides_take_turns() {
        let folder = tempfile::tempdir().unwrap();
        let python = folder.path().join("python");
        let script = r#"#!/bin/sh
            echo '{"ready":true,"version":"1"}'
            seconds=0.2; [ "$3" = arrowsmith ] && seconds=0.1
            while read line; do
            echo '{"seconds":'$seconds',"rows":3,"check":{"sum":{"n":1,"sum":"7"}},"peak_rss_mb":1}'
            done"#;
        fs::write(&python, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&python, mode).unwrap();
        let options = Options {
            python,
            size_bytes: 1000,
            rounds: 2,
            workloads: vec!["logs".to_owned()],
            tasks: vec!["polars".to_owned()],
            folder: Some(folder.path().to_owned()),
        };
        let report = run(&options, &mut |_| {}).unwrap();
        assert_eq!(report.rows.len(), 2, "{:?}", report.not_measured);
        assert_eq!(report.rows[0].number("vs_fastest_peer.median"), Some(2.0));
        assert!(!report.extra.goals[0].met && report.extra.goals[1].met);
        assert!(html(&report).starts_with("<!doctype html>"));
        let wrong = Options { tasks: vec!["sql".to_owned()], ..options };
        assert!(run(&wrong, &mut |_| {}).unwrap_err().to_string().contains("polars, duckdb"));
    }
}
