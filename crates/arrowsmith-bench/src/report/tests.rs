// SPDX-License-Identifier: Apache-2.0
//! The page of a hand-made report.

use super::*;
use crate::result::tests::row;
use crate::result::{Machine, NotMeasured, compare};

fn report(rows: Vec<Row>) -> Report {
    let mut rows = rows;
    compare(&mut rows);
    Report {
        suite: "json".into(),
        machine: Machine {
            cpu: "Test & Co <9000>".into(),
            cores: 2,
            memory_mb: 1000,
            isa: "avx2".into(),
            os: "linux".into(),
        },
        commit: "abc123".into(),
        command: "arrowsmith bench json".into(),
        started_unix_s: 1_763_683_200,
        seed: Some(42),
        extra: (),
        rows,
        not_measured: vec![
            NotMeasured {
                engine: "polars".into(),
                workload: String::new(),
                reason: "pip failed: no network".into(),
            },
            NotMeasured {
                engine: String::new(),
                workload: "real-citm".into(),
                reason: "the public file is not here".into(),
            },
        ],
    }
}

fn rows() -> Vec<Row> {
    vec![
        row("battery-8", "arrowsmith-cpu", "ours", [0.2, 0.2]),
        row("battery-8", "pyarrow", "reader", [8.0, 12.0]),
        row("battery-8", "simdjson-ondemand", "hand-written", [1.0, 1.0]),
        row("trip", "arrowsmith-cpu", "ours", [0.25, 0.25]),
        row("trip", "pyarrow", "reader", [10.0, 10.0]),
    ]
}

/// Every tag is closed, in order.
fn assert_balanced(page: &str) {
    let mut open = Vec::new();
    for part in page.split('<').skip(1) {
        let tag = part.split('>').next().unwrap();
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        let void = ["!doctype", "meta", "br"].contains(&name) || tag.ends_with('/');
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "near {part:?}");
        } else if !void {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn the_page_is_whole_and_needs_nothing_else() {
    let page = html(&report(rows()));
    assert_balanced(&page);
    for forbidden in ["http://", "https://", "<script", "<img", "@import", "url(", "NaN", "inf"] {
        let body = page.replace("information", "");
        assert!(!body.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("Test &amp; Co &lt;9000&gt;") && page.contains("2025-11-21"));
}

#[test]
fn ratios_and_speeds_are_shown() {
    let page = html(&report(rows()));
    assert!(page.contains("<b>40.0×–50.0×</b><span>the fastest ready-made reader, 2 workloads"));
    assert!(page.contains("<b>50.0</b> (40.0–60.0) pyarrow"));
    assert!(page.contains("<b>5.00</b> (5.00–5.00) simdjson-ondemand"));
}

#[test]
fn what_was_not_measured_is_said_and_never_invented() {
    let page = html(&report(rows()));
    assert!(page.contains("not measured: pip failed: no network"));
    assert!(page.contains("real-citm: not measured: the public file is not here"));
    // simdjson has no figure for trip.
    assert!(
        page.contains("<td>trip</td><td><b>4.00</b></td><td>0.100</td><td><i>not measured</i>")
    );
    assert!(page.contains("Not measured: one thread count"));
}

#[test]
fn a_wrong_result_has_no_speed_in_the_summary() {
    let mut rows = rows();
    rows[1].set("valid", false);
    rows[1].set("difference", "1 rows instead of 2");
    let page = html(&report(rows));
    assert!(page.contains("<td class=\"bad\">wrong result</td>"));
    assert!(page.contains("<td class=\"bad\">1 rows instead of 2</td>"));
}

#[test]
fn thread_scaling_is_a_mean_over_workloads() {
    let mut rows = rows();
    for mut more in rows.clone() {
        more.set("threads", 2);
        more.set("seconds_median", more.seconds_median() / 1.8);
        rows.push(more);
    }
    let report = report(rows);
    let speed_up =
        figures::mean_speed_up(&View::of(&report, &JSON), "arrowsmith-cpu", 1, 2).unwrap();
    assert!((speed_up - 1.8).abs() < 1e-9);
    let page = html(&report);
    assert_balanced(&page);
    assert!(page.contains("Speed-up over the smallest thread count"));
}

#[test]
fn an_empty_report_is_a_page_too() {
    let page = html(&report(Vec::new()));
    assert_balanced(&page);
    assert!(page.contains("Nothing was measured."));
}

#[test]
fn points_of_figures_are_plotted_and_stay_out_of_the_tables() {
    let point = |name: &str, figure: &str, page_bytes| {
        let mut row = row(name, "arrowsmith-cpu", "ours", [0.2, 0.2]);
        row.set("file", serde_json::json!({"page_bytes": page_bytes, "figure": figure}));
        row
    };
    let mut report = report(vec![
        row("int64-plain", "arrowsmith-cpu", "ours", [0.2, 0.2]),
        point("output-size_int64-plain_1000_16384", "output-size", 1_000),
        point("output-size_int64-plain_1000_4194304", "output-size", 1_000),
        point("page-size_int64-delta_4000_4194304", "page-size", 4_000),
    ]);
    report.suite = "parquet".into();
    let page = html(&report);
    assert_balanced(&page);
    assert!(page.contains("<h1>Parquet to Arrow</h1>") && !page.contains("JSON text"));
    assert!(
        page.contains("int64-plain, pages of 1 kB") && page.contains("int64-delta, 4 MiB of Arrow")
    );
    assert!(!page.contains("output-size_int64"));
}
