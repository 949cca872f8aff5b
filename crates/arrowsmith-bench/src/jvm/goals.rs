// SPDX-License-Identifier: Apache-2.0
//! The goals that the suite was written for, held to what one run measured. Ratios are of medians of the same number of threads on the same
//! JDK; nothing is measured here.

use serde::Serialize;

use super::{Report, Row};

/// A goal, and what came of it on one JDK with one number of threads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Goal {
    /// The figure that it is about.
    pub workload: String,
    /// What is divided by what.
    pub what: String,
    /// Version of the JDK.
    pub jdk: u32,
    /// Threads.
    pub threads: u32,
    /// What was to be reached.
    pub wanted: f64,
    /// What was.
    pub found: f64,
    /// Whether that is enough.
    pub met: bool,
}

/// What one goal compares.
struct Rule {
    workload: &'static str,
    what: &'static str,
    ours: &'static str,
    /// The best of these counts.
    others: &'static [&'static str],
    wanted: f64,
    /// Of another JDK too, where there is no row of the same: Spark runs on one only.
    any_jdk: bool,
}

const PORTABLE: [&str; 4] = ["bytebuffer", "bytebuffer-direct", "unsafe", "jni"];

const RULES: [Rule; 6] = [
    Rule {
        workload: "fig-4-small",
        what: "columns handed over, beside the best of ByteBuffer, Unsafe and JNI",
        ours: "columns",
        others: &PORTABLE,
        wanted: 3.0,
        any_jdk: false,
    },
    Rule {
        workload: "fig-4-small",
        what: "columns handed over, beside Arrow Java's setters",
        ours: "columns",
        others: &["arrow-java"],
        wanted: 10.0,
        any_jdk: false,
    },
    Rule {
        workload: "fig-4-medium",
        what: "columns handed over, beside copying memory",
        ours: "columns",
        others: &["copy-bandwidth"],
        wanted: 0.85,
        any_jdk: false,
    },
    Rule {
        workload: "fig-4-large",
        what: "columns handed over, beside copying memory",
        ours: "columns",
        others: &["copy-bandwidth"],
        wanted: 0.85,
        any_jdk: false,
    },
    Rule {
        workload: "json",
        what: "JSON read, beside Jackson and Arrow Java's setters",
        ours: "json-arrowsmith",
        others: &["json-jackson"],
        wanted: 5.0,
        any_jdk: false,
    },
    Rule {
        workload: "json",
        what: "JSON read, beside Spark's reader",
        ours: "json-arrowsmith",
        others: &["json-spark"],
        wanted: 10.0,
        any_jdk: true,
    },
];

/// All goals that this run has the figures for.
pub(super) fn goals(report: &Report) -> Vec<Goal> {
    let mut goals = Vec::new();
    for rule in &RULES {
        let of = |name: &str| {
            let rows = report.rows.iter().filter(|row| row.workload == rule.workload && row.valid);
            rows.filter(|row| row.engine == name).collect::<Vec<&Row>>()
        };
        for ours in of(rule.ours) {
            let beside =
                rule.others.iter().flat_map(|name| of(name)).filter(|row| {
                    row.threads == ours.threads && (row.jdk == ours.jdk || rule.any_jdk)
                });
            let best = beside.max_by(|a, b| a.handed().total_cmp(&b.handed()));
            let Some(best) = best.filter(|best| best.handed() > 0.0) else { continue };
            // Copying is measured in turns, so that the ratio of every round is known.
            let copied = ours.vs_copy.filter(|_| best.is_machine());
            let found = copied.unwrap_or(ours.handed() / best.handed());
            goals.push(Goal {
                workload: rule.workload.to_owned(),
                what: rule.what.to_owned(),
                jdk: ours.jdk,
                threads: ours.threads,
                wanted: rule.wanted,
                found,
                met: found >= rule.wanted,
            });
        }
    }
    goals
}
