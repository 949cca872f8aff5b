// SPDX-License-Identifier: Apache-2.0
//! Engines that take turns on one input: shared by all suites, independent of the format.
//!
//! Each engine first has a warm-up turn, whose result is compared with the expected one; then come
//! the rounds, in which the order rotates.

use crate::check::Check;
use crate::engine::Turn;
use crate::result::Row;

/// An engine that needs longer than this for one conversion takes part in only `SLOW_ROUNDS_MAX`
/// rounds: its times vary little, and the others' rounds stay close together.
const SLOW_SECONDS: f64 = 2.0;
const SLOW_ROUNDS_MAX: usize = 3;

/// A participating engine, with its measurements so far.
pub(crate) struct Contestant<'a> {
    name: String,
    kind: &'static str,
    about: String,
    runner: Box<dyn Runner + 'a>,
    version: String,
    seconds: Vec<f64>,
    cpu_seconds: Vec<f64>,
    file_bytes: Option<u64>,
    rounds_max: usize,
    peak_rss_mb: f64,
    rows: u64,
    difference: Option<String>,
}

/// An engine that is ready, in this process or in one of its own.
pub(crate) trait Runner {
    /// One conversion.
    fn turn(&mut self) -> Result<Turn, String>;

    /// The totals of the result, if a turn does not give them.
    fn check(&mut self) -> Result<Check, String> {
        Err("gave no totals".to_owned())
    }
}

/// The measurements, for the rows of the report.
#[derive(Debug, Clone)]
pub(crate) struct Entry<'a> {
    pub(crate) workload: &'a str,
    pub(crate) threads: usize,
    /// The bytes that the suite's speeds refer to.
    pub(crate) bytes: u64,
    pub(crate) records: u64,
}

impl<'a> Contestant<'a> {
    pub(crate) fn new(
        name: &str,
        kind: &'static str,
        about: &str,
        version: String,
        runner: impl Runner + 'a,
    ) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            about: about.to_owned(),
            runner: Box::new(runner),
            version,
            seconds: Vec::new(),
            cpu_seconds: Vec::new(),
            file_bytes: None,
            rounds_max: usize::MAX,
            peak_rss_mb: 0.0,
            rows: 0,
            difference: None,
        }
    }

    /// A warm-up conversion, whose result is compared with the expected one.
    fn warm_up(&mut self, expected: &Check) -> Result<(), String> {
        let turn = self.runner.turn()?;
        if turn.seconds > SLOW_SECONDS {
            self.rounds_max = SLOW_ROUNDS_MAX;
        }
        let check = turn.check.map_or_else(|| self.runner.check(), Ok)?;
        self.rows = turn.rows;
        self.difference = check.difference(expected);
        Ok(())
    }

    fn run_turn(&mut self, round: usize) -> Result<(), String> {
        if round < self.rounds_max {
            let turn = self.runner.turn()?;
            if turn.rows != self.rows {
                return Err(format!("gave {} rows after {}", turn.rows, self.rows));
            }
            self.seconds.push(turn.seconds);
            self.cpu_seconds.extend(turn.cpu_seconds);
            self.file_bytes = turn.file_bytes;
            self.peak_rss_mb = self.peak_rss_mb.max(turn.peak_rss_mb);
        }
        Ok(())
    }

    /// The figures; `None` without rounds.
    fn row(self, entry: &Entry<'_>) -> Option<Row> {
        if self.seconds.is_empty() {
            return None;
        }
        let row = Row::new(entry.workload, &self.name).with("kind", self.kind);
        let row = row.with("about", self.about).with("version", self.version);
        let row = row.with("threads", entry.threads).with("records", entry.records);
        let row = row.speed(entry.bytes, &self.seconds, &["median", "min", "max"]);
        let mut row = row.with("peak_rss_mb", self.peak_rss_mb);
        if !self.cpu_seconds.is_empty() {
            row = row.samples("cpu_seconds", &self.cpu_seconds, &["median"]);
        }
        let row = row.with_some("file_bytes", self.file_bytes);
        Some(row.with("valid", self.difference.is_none()).with_some("difference", self.difference))
    }
}

/// All engines on one input: starts and warms up each, runs the rounds, and returns the rows in the
/// order of the engines, and the failures.
pub(crate) fn run<'a, D>(
    engines: impl Iterator<Item = (&'a str, &'a D)>,
    start: impl Fn(&'a D) -> Result<Contestant<'a>, String>,
    expected: &Check,
    entry: &Entry<'_>,
    rounds: u32,
    progress: &mut dyn FnMut(&str),
) -> (Vec<Row>, Vec<(String, String)>)
where
    D: 'a,
{
    let label = format!("{} × {}", entry.workload, entry.threads);
    let (mut contestants, mut failures, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for (name, engine) in engines {
        progress(&format!("{label}: {name}"));
        names.push(name);
        let started = start(engine).and_then(|mut contestant| {
            contestant.warm_up(expected)?;
            Ok(contestant)
        });
        match started {
            Ok(contestant) => contestants.push(contestant),
            Err(reason) => failures.push((name.to_owned(), reason)),
        }
    }
    let rounds = usize::try_from(rounds).unwrap_or(usize::MAX);
    let (contestants, left) = compete(contestants, rounds, |round| {
        progress(&format!("{label}: round {}", round + 1));
    });
    failures.extend(left);
    let mut rows: Vec<Row> = contestants.into_iter().filter_map(|one| one.row(entry)).collect();
    rows.sort_by_key(|row| names.iter().position(|name| *name == row.engine()));
    (rows, failures)
}

/// Runs the rounds; an engine that fails is dropped, with its reason. A wrong result is measured
/// too, and marked.
fn compete<'a>(
    mut contestants: Vec<Contestant<'a>>,
    rounds: usize,
    mut progress: impl FnMut(usize),
) -> (Vec<Contestant<'a>>, Vec<(String, String)>) {
    let mut failures = Vec::new();
    for round in 0..rounds {
        progress(round);
        // So that no engine always follows the same neighbour with its warm or cold caches.
        let first = if contestants.is_empty() { 0 } else { round % contestants.len() };
        contestants.rotate_left(first);
        contestants.retain_mut(|contestant| match contestant.run_turn(round) {
            Ok(()) => true,
            Err(reason) => {
                failures.push((contestant.name.clone(), reason));
                false
            }
        });
        let back = first.min(contestants.len());
        contestants.rotate_right(back);
    }
    (contestants, failures)
}
