// SPDX-License-Identifier: Apache-2.0
//! Engines that take turns on one input: shared by all suites, independent of the format.
//!
//! Each engine first has a warm-up turn, whose result is compared with the expected one; then come
//! the rounds, in which the order rotates.

use crate::check::Check;
use crate::engine::{self, Keep, Prepared, Turn};
use crate::peer::Peer;
use crate::result::Row;
use crate::stats::Spread;

/// An engine that needs longer than this for one conversion takes part in only `SLOW_ROUNDS_MAX`
/// rounds: its times vary little, and the others' rounds stay close together.
const SLOW_SECONDS: f64 = 2.0;
const SLOW_ROUNDS_MAX: usize = 3;

/// A participating engine, with its measurements so far.
pub(crate) struct Contestant<'a> {
    name: String,
    kind: &'static str,
    about: String,
    runner: Runner<'a>,
    version: String,
    seconds: Vec<f64>,
    rounds_max: usize,
    peak_rss_mb: f64,
    rows: u64,
    difference: Option<String>,
}

/// Where an engine runs.
pub(crate) enum Runner<'a> {
    /// In this process.
    Here {
        engine: Box<dyn Prepared + 'a>,
        keep: Keep,
        /// Untimed preparation before each turn.
        before: Option<Box<dyn Fn() + 'a>>,
    },
    /// In a process of its own.
    There(Peer),
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
        runner: Runner<'a>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            about: about.to_owned(),
            runner,
            version,
            seconds: Vec::new(),
            rounds_max: usize::MAX,
            peak_rss_mb: 0.0,
            rows: 0,
            difference: None,
        }
    }

    fn turn(&mut self) -> Result<Turn, String> {
        match &mut self.runner {
            Runner::Here { engine, keep, before } => {
                if let Some(before) = before {
                    before();
                }
                engine::turn(engine.as_mut(), *keep)
            }
            Runner::There(peer) => peer.turn(),
        }
    }

    /// A warm-up conversion, whose result is compared with the expected one.
    pub(crate) fn warm_up(&mut self, expected: &Check) -> Result<(), String> {
        let turn = self.turn()?;
        if turn.seconds > SLOW_SECONDS {
            self.rounds_max = SLOW_ROUNDS_MAX;
        }
        let check = match (&mut self.runner, turn.check) {
            (_, Some(check)) => check,
            (Runner::Here { engine, .. }, None) => engine::check(engine.as_mut())?,
            (Runner::There(_), None) => return Err("gave no totals".to_owned()),
        };
        self.rows = turn.rows;
        self.difference = check.difference(expected);
        Ok(())
    }

    fn run_turn(&mut self, round: usize) -> Result<(), String> {
        if round < self.rounds_max {
            let turn = self.turn()?;
            if turn.rows != self.rows {
                return Err(format!("gave {} rows after {}", turn.rows, self.rows));
            }
            self.seconds.push(turn.seconds);
            self.peak_rss_mb = self.peak_rss_mb.max(turn.peak_rss_mb);
        }
        Ok(())
    }

    /// The figures; `None` without rounds.
    pub(crate) fn row(self, entry: &Entry<'_>) -> Option<Row> {
        let Spread { min, median, max } = Spread::of(&self.seconds)?;
        #[expect(clippy::cast_precision_loss, reason = "a speed has three digits")]
        let gb_per_s = entry.bytes as f64 / median / 1e9;
        Some(Row {
            workload: entry.workload.to_owned(),
            engine: self.name,
            kind: self.kind.to_owned(),
            about: self.about,
            version: self.version,
            threads: entry.threads,
            bytes: entry.bytes,
            records: entry.records,
            seconds_median: median,
            seconds_min: min,
            seconds_max: max,
            seconds: self.seconds,
            gb_per_s,
            peak_rss_mb: self.peak_rss_mb,
            valid: self.difference.is_none(),
            difference: self.difference,
            vs_fastest_peer: None,
            vs_fastest_reader: None,
            file: None,
        })
    }
}

/// Runs the rounds; an engine that fails is dropped, with its reason. A wrong result is measured
/// too, and marked.
pub(crate) fn compete<'a>(
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
