// SPDX-License-Identifier: Apache-2.0
//! The goals of our server, compared with the measurements of this run. Ratios are taken round by
//! round.

use serde::Serialize;

use super::{IPC_TCP, MEMORY, OURS, PARQUET, Report, Row};
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
    let mut goals = Vec::new();
    // The client that all servers have in common and that is not ours, which favours none. Ours if
    // there is no other.
    let has = |client: &&str| report.row(PARQUET, OURS, client).is_some();
    let client = ["cpp", "rust", "python", "java", OURS].into_iter().find(has).unwrap_or("cpp");
    let others = ["cpp", "java", "python", "rust"];
    let rows = |workload: &str| -> Vec<&Row> {
        let rows = others.iter().filter_map(|server| report.row(workload, server, client));
        rows.filter(|row| row.valid).collect()
    };
    let ours = report.row(PARQUET, OURS, client).filter(|row| row.valid);
    let best =
        rows(PARQUET).into_iter().min_by(|a, b| a.seconds_median.total_cmp(&b.seconds_median));
    if let (Some(ours), Some(best)) = (ours, best) {
        at_most(&mut goals, "wall time of a query of the Parquet files", ours, best, client, 0.5);
    }
    let cpu = |row: &&Row| row.server_cpu_s.is_some_and(|cpu| cpu > 0.0);
    let least = rows(PARQUET).into_iter().filter(cpu).min_by(|a, b| {
        let of = |row: &Row| row.server_cpu_s.unwrap_or(f64::MAX);
        of(a).total_cmp(&of(b))
    });
    if let (Some(ours), Some(least)) = (ours, least) {
        let ratio = ours.server_cpu_s.zip(least.server_cpu_s).map(|(ours, least)| ours / least);
        if let Some(measured) = ratio {
            goals.push(Goal {
                goal: "processor time of the server for it".to_owned(),
                beside: format!("{}'s server, {client} client", least.engine),
                measured,
                wanted: 0.5,
                reached: measured <= 0.5,
            });
        }
    }
    let ours = report.row(MEMORY, OURS, client).filter(|row| row.valid);
    if let (Some(ours), Some(cpp)) = (ours, report.row(MEMORY, "cpp", client))
        && let Some(ratio) = Spread::of_ratios(&cpp.seconds, &ours.seconds)
    {
        goals.push(Goal {
            goal: "throughput of mapped Arrow files".to_owned(),
            beside: format!("the C++ server, {client} client"),
            measured: ratio.median,
            wanted: 1.3,
            reached: ratio.median >= 1.3,
        });
    }
    if let (Some(ours), Some(raw)) = (ours, report.row(MEMORY, IPC_TCP, "cpp")) {
        at_most(&mut goals, "time for mapped Arrow files", ours, raw, client, 1.5);
    }
    goals
}

fn at_most(goals: &mut Vec<Goal>, goal: &str, ours: &Row, other: &Row, client: &str, wanted: f64) {
    if let Some(ratio) = Spread::of_ratios(&ours.seconds, &other.seconds) {
        let beside = match other.engine.as_str() {
            IPC_TCP => format!("Arrow over TCP without Flight, {client} client"),
            engine => format!("{engine}'s server, {client} client"),
        };
        let reached = ratio.median <= wanted;
        goals.push(Goal { goal: goal.to_owned(), beside, measured: ratio.median, wanted, reached });
    }
}
