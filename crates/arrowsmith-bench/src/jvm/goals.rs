// SPDX-License-Identifier: Apache-2.0
//! The goals of the suite, compared with the measurements of one run. Ratios are of medians with
//! the same number of threads on the same JDK; this module measures nothing itself.

use serde::Serialize;

use super::{Report, Row, is_machine, transfer_gb_per_s};

/// A goal, and its result on one JDK with one number of threads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Goal {
    /// The figure it refers to.
    pub workload: String,
    /// The numerator and the denominator.
    pub what: String,
    /// Version of the JDK.
    pub jdk: u64,
    /// Threads.
    pub threads: u64,
    /// The required ratio.
    pub wanted: f64,
    /// The measured ratio.
    pub found: f64,
    /// Whether it is reached.
    pub met: bool,
}

/// The two sides of one goal.
struct Rule {
    workload: &'static str,
    what: &'static str,
    ours: &'static str,
    /// The best of these counts.
    others: &'static [&'static str],
    wanted: f64,
    /// From another JDK if there is no row of the same: Spark runs on one only.
    any_jdk: bool,
}

const PORTABLE: [&str; 4] = ["bytebuffer", "bytebuffer-direct", "unsafe", "jni"];

const fn rule(
    workload: &'static str,
    what: &'static str,
    (ours, others): (&'static str, &'static [&'static str]),
    wanted: f64,
) -> Rule {
    Rule { workload, what, ours, others, wanted, any_jdk: false }
}

/// Columns relative to copying memory.
const COPY: &str = "columns transferred, relative to copying memory";

const RULES: [Rule; 6] = [
    rule(
        "fig-4-small",
        "columns transferred, relative to the best of ByteBuffer, Unsafe and JNI",
        ("columns", &PORTABLE),
        3.0,
    ),
    rule(
        "fig-4-small",
        "columns transferred, relative to Arrow Java's setters",
        ("columns", &["arrow-java"]),
        10.0,
    ),
    rule("fig-4-medium", COPY, ("columns", &["copy-bandwidth"]), 0.85),
    rule("fig-4-large", COPY, ("columns", &["copy-bandwidth"]), 0.85),
    rule(
        "json",
        "JSON read, relative to Jackson and Arrow Java's setters",
        ("json-arrowsmith", &["json-jackson"]),
        5.0,
    ),
    Rule {
        any_jdk: true,
        ..rule(
            "json",
            "JSON read, relative to Spark's reader",
            ("json-arrowsmith", &["json-spark"]),
            10.0,
        )
    },
];

/// All goals for which this run has the figures.
pub(super) fn goals(report: &Report) -> Vec<Goal> {
    let mut goals = Vec::new();
    for rule in &RULES {
        let of = |name: &str| {
            let rows =
                report.rows.iter().filter(|row| row.workload() == rule.workload && row.valid());
            rows.filter(|row| row.engine() == name).collect::<Vec<&Row>>()
        };
        for ours in of(rule.ours) {
            let others = rule.others.iter().flat_map(|name| of(name)).filter(|row| {
                row.threads() == ours.threads()
                    && (row.count("jdk") == ours.count("jdk") || rule.any_jdk)
            });
            let best = others.max_by(|a, b| transfer_gb_per_s(a).total_cmp(&transfer_gb_per_s(b)));
            let Some(best) = best.filter(|best| transfer_gb_per_s(best) > 0.0) else { continue };
            // Copying is measured in the same rounds, so that the ratio of every round is known.
            let copied = ours.number("vs_copy").filter(|_| is_machine(best));
            let found = copied.unwrap_or(transfer_gb_per_s(ours) / transfer_gb_per_s(best));
            goals.push(Goal {
                workload: rule.workload.to_owned(),
                what: rule.what.to_owned(),
                jdk: ours.count("jdk"),
                threads: ours.threads(),
                wanted: rule.wanted,
                found,
                met: found >= rule.wanted,
            });
        }
    }
    goals
}
