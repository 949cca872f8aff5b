// SPDX-License-Identifier: Apache-2.0
//! The goals of our server, compared with the measurements of this run. Ratios are taken round by
//! round.

use serde::Serialize;

use super::{IPC_TCP, MEMORY, OURS, PARQUET, Report};
use crate::result::Row;
use crate::stats::Spread;

/// One goal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Goal {
    /// In words.
    pub goal: String,
    /// The competitor.
    pub beside: String,
    /// The measured ratio.
    pub measured: f64,
    /// The required ratio.
    pub wanted: f64,
    /// Whether it is reached.
    pub reached: bool,
}

/// All goals for which there are figures.
pub(super) fn of(report: &Report) -> Vec<Goal> {
    // The client that all servers have in common and that is not ours, which favours none. Ours if
    // there is no other.
    let has = |client: &&str| report.row(PARQUET, OURS, client).is_some();
    let client = ["cpp", "rust", "python", "java", OURS].into_iter().find(has).unwrap_or("cpp");
    let row = |workload: &str, server: &str, client: &str| {
        report.row(workload, server, client).filter(|row| row.valid())
    };
    // The server with the least of something.
    let least = |value: &str| {
        let servers = ["cpp", "java", "python", "rust"].into_iter();
        let rows = servers.filter_map(|server| row(PARQUET, server, client));
        let values = rows.filter_map(|row| Some((row, row.number(value)?)));
        let least = values.filter(|(_, v)| *v > 0.0).min_by(|(_, a), (_, b)| a.total_cmp(b));
        least.map(|(row, _)| row)
    };
    let named = |row: &Row| format!("{}'s server, {client} client", row.engine());
    let mut goals = Vec::new();
    let mut judge = |goal: &str, beside: String, measured: Option<f64>, wanted: f64, more: bool| {
        let Some(measured) = measured else { return };
        let reached = if more { measured >= wanted } else { measured <= wanted };
        goals.push(Goal { goal: goal.to_owned(), beside, measured, wanted, reached });
    };
    let ours = row(PARQUET, OURS, client);
    if let (Some(ours), Some(best)) = (ours, least("seconds_median")) {
        let goal = "wall time of a query of the Parquet files";
        judge(goal, named(best), ratio(ours, best), 0.5, false);
    }
    if let (Some(ours), Some(least)) = (ours, least("server_cpu_s")) {
        let times = ours.number("server_cpu_s").zip(least.number("server_cpu_s"));
        let measured = times.map(|(ours, theirs)| ours / theirs);
        judge("processor time of the server for it", named(least), measured, 0.5, false);
    }
    let Some(ours) = row(MEMORY, OURS, client) else { return goals };
    if let Some(cpp) = report.row(MEMORY, "cpp", client) {
        let beside = format!("the C++ server, {client} client");
        judge("throughput of mapped Arrow files", beside, ratio(cpp, ours), 1.3, true);
    }
    if let Some(raw) = report.row(MEMORY, IPC_TCP, "cpp") {
        let beside = format!("Arrow over TCP without Flight, {client} client");
        judge("time for mapped Arrow files", beside, ratio(ours, raw), 1.5, false);
    }
    goals
}

/// How many times as long as another: the median of the rounds.
fn ratio(row: &Row, other: &Row) -> Option<f64> {
    let ratios = Spread::of_ratios(&row.numbers("seconds"), &other.numbers("seconds"));
    ratios.map(|ratios| ratios.median)
}
