// SPDX-License-Identifier: Apache-2.0
//! Goals of a suite, compared with the measurements of one run. It measures nothing itself.

use maud::{Markup, html};
use serde::Serialize;

use crate::page;
use crate::result::Row;

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

/// What a report of such a suite has besides rows.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Goals {
    /// The goals for which there are figures.
    pub goals: Vec<Goal>,
}

impl Goal {
    pub(crate) fn at_least(row: &Row, goal: &str, found: f64, wanted: f64) -> Self {
        let (workload, goal) = (row.workload().to_owned(), goal.to_owned());
        Self { workload, goal, wanted, found, met: found >= wanted }
    }

    pub(crate) fn at_most(row: &Row, goal: &str, found: f64, wanted: f64) -> Self {
        let (workload, goal) = (row.workload().to_owned(), format!("{goal}, at most"));
        Self { workload, goal, wanted, found, met: found <= wanted }
    }
}

/// A line for each goal.
pub(crate) fn section(goals: &[Goal]) -> Markup {
    if goals.is_empty() {
        return html! {};
    }
    let rows = goals.iter().map(|goal| {
        let met = if goal.met { "yes" } else { "no" };
        let (found, wanted) = (page::number(goal.found), page::number(goal.wanted));
        vec![goal.workload.clone(), goal.goal.clone(), found, wanted, met.to_owned()]
    });
    let head = ["Measurement", "Goal", "Found", "Wanted", "Reached"];
    let intro = "For two idle cores and full sizes; found are medians of this run.";
    page::section("Goals", intro, page::text_table(&head, rows))
}
