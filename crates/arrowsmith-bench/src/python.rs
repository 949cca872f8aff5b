// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench python`: what a notebook asks of JSON lines, of polars, DuckDB and pandas,
//! over our reader and over their own.
//!
//! Both sides of a task are processes of the same interpreter, in which the Python package and the
//! libraries are installed already; nothing is installed here.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

use arrowsmith_workload::{Generator, Workload};
use maud::html;
use serde::Serialize;

use crate::contest::{self, Contestant, Entry, Runner};
use crate::install::{Sources, sources};
use crate::page;
use crate::peer::Peer;
use crate::result::{self, Row};
use crate::{BenchError, Report as Generic};

const SCRIPTS: Sources = sources!("peers/python": "peer.py", "queries.py");
const SEED: u64 = 1;
const OURS: &str = "arrowsmith";
const OWN: &str = "own";

/// What is asked: the task's name in `queries.py`, in words, and how many times as fast ours has to
/// be.
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

/// A goal, and its result on one workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Goal {
    /// Of which measurement.
    pub workload: String,
    /// In words.
    pub goal: String,
    /// The required figure.
    pub wanted: f64,
    /// The measured one.
    pub found: f64,
    /// Whether it is reached.
    pub met: bool,
}

/// What only this suite has.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Extra {
    /// The goals for which there are figures.
    pub goals: Vec<Goal>,
}

/// The result of the suite.
pub type Report = Generic<Extra>;

/// Runs the suite. `progress` gets one line at a time for the user.
///
/// # Errors
/// An unknown name, or an input that cannot be made. A side that fails is listed in
/// [`Generic::not_measured`].
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
    let mut report = Report::start("python", Some(SEED), Extra::default());
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
            let entry = Entry { workload: &label, threads: threads(), bytes, records };
            compete(&mut report, task, &entry, options.rounds, &side, progress);
        }
        // The next one may need its space.
        let _ = fs::remove_file(&input);
    }
    result::compare(&mut report.rows);
    report.extra.goals = goals(&report.rows);
    Ok(report)
}

/// The chosen names; all of them if there is no choice.
fn chosen<'a>(
    what: &'static str,
    names: &[String],
    known: &[&'a str],
) -> Result<Vec<&'a str>, BenchError> {
    if names.is_empty() {
        return Ok(known.to_vec());
    }
    let find = |name: &String| {
        let found = known.iter().find(|known| *known == name).copied();
        found.ok_or_else(|| BenchError::UnknownName {
            what,
            name: name.clone(),
            known: known.iter().map(|&name| name.to_owned()).collect(),
        })
    };
    names.iter().map(find).collect()
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
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
        Ok(Contestant::new(side, kind, task.about, version, Runner::There(peer)))
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
        let workload = ours.workload().to_owned();
        let Some(task) = TASKS.iter().find(|task| workload.ends_with(task.name)) else { continue };
        let ratio = ours.number("vs_fastest_peer.median");
        match (task.wanted, ratio) {
            (Some(wanted), Some(found)) => goals.push(Goal {
                workload: workload.clone(),
                goal: "times as fast as the library's own reader".to_owned(),
                wanted,
                found,
                met: found >= wanted,
            }),
            (None, _) => goals.push(Goal {
                workload: workload.clone(),
                goal: "seconds to the first rows, at most".to_owned(),
                wanted: FIRST_SECONDS,
                found: ours.seconds_median(),
                met: ours.seconds_median() <= FIRST_SECONDS,
            }),
            _ => {}
        }
        let own = rows.iter().find(|row| row.engine() == OWN && row.workload() == workload);
        let memory = |row: &Row| row.number("peak_rss_mb").filter(|peak| *peak > 0.0);
        if let Some((ours, own)) = memory(ours).zip(own.and_then(memory)) {
            let goal = "of the library's own peak of memory, at most".to_owned();
            let found = ours / own;
            goals.push(Goal { workload, goal, wanted: 1.0, found, met: found <= 1.0 });
        }
    }
    goals
}

/// Makes one self-contained page.
#[must_use]
pub fn html(report: &Report) -> String {
    let goals = report.extra.goals.iter().map(|goal| {
        let met = if goal.met { "yes" } else { "no" };
        let (found, wanted) = (page::number(goal.found), page::number(goal.wanted));
        vec![goal.workload.clone(), goal.goal.clone(), found, wanted, met.to_owned()]
    });
    let head = ["Measurement", "Goal", "Found", "Wanted", "Reached"];
    let rows = report.rows.iter().map(|row| {
        let ratio = row.number("vs_fastest_peer.median").filter(|_| row.engine() == OURS);
        vec![
            row.workload().to_owned(),
            row.engine().to_owned(),
            row.text("version").to_owned(),
            page::number(row.seconds_median()),
            page::maybe(ratio, page::times),
            page::maybe(row.number("peak_rss_mb"), page::number),
            if row.valid() { "yes" } else { "no" }.to_owned(),
        ]
    });
    let all = ["Measurement", "Reader", "Version", "s", "Beside own", "Peak MB", "Right"];
    let how = "Each side is a process that infers the schema and runs the query; the sides take \
               turns. Seconds are medians.";
    let body = html! {
        (page::section("Goals", "", page::text_table(&head, goals)))
        (page::section("Measurements", how, page::text_table(&all, rows)))
        (page::method(report, &[], ""))
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
