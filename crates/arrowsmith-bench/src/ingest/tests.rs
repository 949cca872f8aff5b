// SPDX-License-Identifier: Apache-2.0
//! The arithmetic and the page; runs of real services are tested with the command.

use super::*;

fn run_of(seconds: f64, stored: u64) -> Run {
    Run {
        seconds,
        bytes: 2_000_000_000,
        records: 10,
        latency: None,
        cpu_s: Some(seconds * 2.0),
        joules: None,
        peak_rss_mb: Some(seconds * 10.0),
        stage_s: vec![("parse".to_owned(), seconds), ("publish".to_owned(), 1.0)],
        sent: 11,
        stored,
    }
}

fn report() -> Report {
    let source = source(Workload::Trip);
    let task = Task { workload: Workload::Trip, source: &source, threads: 2, bytes: 1 << 20 };
    let row = row(&task, "cpu", &[run_of(1.0, 11), run_of(4.0, 8), run_of(2.0, 12)]);
    let ms = LatencyMs { count: 5, p50: 1.5, p90: 2.5, p99: 3.5, p999: 4.5, max: 5.5 };
    let latency = Latency {
        workload: "trip".to_owned(),
        engine: "cpu".to_owned(),
        share: 0.5,
        bytes_per_s: 5e8,
        latency: ms,
        lost_records: 0,
        repeated_records: 0,
    };
    let extra = Extra { folder: "somewhere".into(), latencies: vec![latency] };
    let mut report: Report = result::Report::start("ingest", Some(SEED), extra);
    report.command = "arrowsmith bench ingest <x>".to_owned();
    report.rows.push(row);
    report
}

#[test]
fn a_row_has_the_medians_and_every_loss() {
    let report = report();
    let row = &report.rows[0];
    assert_eq!((row.seconds_median(), row.gb_per_s()), (2.0, 1.0));
    // Duplicates do not make up for losses.
    assert_eq!((row.count("lost_records"), row.count("repeated_records")), (3, 1));
    let figures = ["cpu_s_per_gb", "joules_per_gb", "peak_rss_mb"].map(|name| row.number(name));
    assert_eq!(figures, [Some(2.0), None, Some(40.0)]);
    assert_eq!(page::stages_of(row), [("parse", 2.0), ("publish", 1.0)]);
}

#[test]
fn the_page_shows_what_was_measured_and_nothing_from_elsewhere() {
    let page = html(&report());
    for part in
        ["somewhere", "trip", "2.00", "publish", "3.50", "500", "bench ingest &lt;x&gt;", "<svg"]
    {
        assert!(page.contains(part), "{part}");
    }
    // The requested sizes, not the power of two above the sent size.
    assert!(page.contains("1.05 MB") && !page.contains("2.10 MB"));
    for part in ["NaN", "<script", "src=", "http://", "https://"] {
        assert!(!page.contains(part), "{part}");
    }
}

#[test]
fn a_service_that_cannot_be_started_is_an_error() {
    let engines = vec!["cpu".to_owned()];
    let options = Options { rounds: 1, engines, ..Options::new("no/such/program".into()) };
    assert!(matches!(run(&options, &mut |_| {}), Err(BenchError::Service { .. })));
}

#[test]
fn what_would_take_too_long_is_not_run() {
    let report = report();
    let source = source(Workload::Trip);
    let mut task = Task { workload: Workload::Trip, source: &source, threads: 2, bytes: 4 << 30 };
    // 2 s for 2 GB.
    assert_eq!(too_long(&report, "cpu", &task), None);
    task.bytes = 20_000_000_000;
    assert_eq!(too_long(&report, "cpu", &task), Some(20.0));
    assert_eq!(too_long(&report, "reference", &task), None);
}
