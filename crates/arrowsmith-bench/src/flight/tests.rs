// SPDX-License-Identifier: Apache-2.0
//! The arithmetic and the page; runs of real servers are tested with the command.

use std::io::BufReader;

use super::*;
use crate::parquet::data::{Data, Rows};

fn row(workload: &str, engine: &str, client: &str, seconds: [f64; 3]) -> Row {
    let row = Row::new(workload, engine)
        .with("client", client)
        .with("version", "one 1.0 → two 2.0")
        .with("threads", 1)
        .with("records", 10_000_000)
        .with("seconds_first", 9.0)
        .speed(2_000_000_000, &seconds, &["median", "min", "max", "p5", "p95"]);
    let cpu = row.seconds_median() * 0.8;
    row.with("server_cpu_s", cpu)
        .with("client_cpu_s", 0.5)
        .with("cpu_share", 0.77)
        .with("peak_rss_mb", 300.0)
        .with("client_peak_rss_mb", 2_100.0)
        .with("network_bytes", 2_050_000_000_u64)
        .with("valid", true)
}

fn report() -> Report {
    let extra = Extra {
        files: 3,
        parquet_bytes: 48_000_000,
        batch_rows: 65_536,
        keep_memory: true,
        lines: lines::count(),
        ..Extra::default()
    };
    let mut report: Report = result::Report::start("flight", Some(42), extra);
    report.command = "arrowsmith bench flight <x>".into();
    report.rows = vec![
        row(PARQUET, OURS, OURS, [1.0, 1.2, 0.9]),
        row(PARQUET, OURS, "cpp", [1.0, 1.0, 1.0]),
        row(PARQUET, "cpp", "cpp", [3.0, 4.0, 2.0]),
        row(PARQUET, "java", "java", [8.0, 8.0, 8.0]),
        row(MEMORY, OURS, "cpp", [0.5, 0.5, 0.5]),
        row(MEMORY, "cpp", "cpp", [0.6, 0.6, 0.6]),
        row(MEMORY, IPC_TCP, "cpp", [0.4, 0.4, 0.4]),
        row(ROWS, "postgresql", "psycopg", [20.0, 20.0, 20.0]),
    ];
    report.missing("rust", "", "no <compiler>");
    report
}

#[test]
fn goals_are_judged_round_by_round() {
    let goals = goals::of(&report());
    let found: Vec<(f64, bool)> = goals.iter().map(|goal| (goal.measured, goal.reached)).collect();
    let third = 1.0 / 3.0;
    assert_eq!(found.len(), 4);
    assert!((found[0].0 - third).abs() < 1e-9 && found[0].1, "{goals:?}");
    assert!((found[1].0 - third).abs() < 1e-9 && found[1].1, "{goals:?}");
    assert!((found[2].0 - 1.2).abs() < 1e-9 && !found[2].1, "{goals:?}");
    assert!((found[3].0 - 1.25).abs() < 1e-9 && found[3].1, "{goals:?}");
}

#[test]
fn a_wrong_result_is_not_a_goal() {
    let mut report = report();
    for row in &mut report.rows {
        row.set("valid", row.engine() != "cpp" && row.engine() != "java");
    }
    let goals = goals::of(&report);
    assert!(goals.iter().all(|goal| goal.goal.contains("mapped")), "{goals:?}");
}

#[test]
fn the_page_shows_what_was_measured_and_nothing_from_elsewhere() {
    let mut report = report();
    report.extra.goals = goals::of(&report);
    let page = html(&report);
    for part in [
        "as in Fig. 3",
        "as in Fig. 5",
        "58.20 ± 1.15 s",
        "not measured",
        "no &lt;compiler&gt;",
        "psycopg",
        "bench flight &lt;x&gt;",
        "Missed",
        "Reached",
        "77 %",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for part in ["NaN", "<script", "src=", "http://", "https://"] {
        assert!(!page.contains(part), "{part}");
    }
}

#[test]
fn our_client_answers_what_it_is_asked() {
    let batch = Rows::new(Data::Taxi, 1, 100).batch(100).unwrap();
    let mut input = BufReader::new("get grpc://1.2.3.4:5\ncheck\n".as_bytes());
    let mut output = Vec::new();
    serve_commands("x 1", &mut input, &mut output, &mut |uri| {
        assert_eq!(uri, "grpc://1.2.3.4:5");
        Ok(vec![batch.clone(), batch.clone()])
    })
    .unwrap();
    let lines: Vec<serde_json::Value> = String::from_utf8(output)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((&lines[0]["ready"], &lines[0]["version"]), (&true.into(), &"x 1".into()));
    assert_eq!(lines[1]["rows"], 200);
    assert_eq!(
        (&lines[2]["rows"], &lines[2]["check"]["fare_amount"]["n"]),
        (&200.into(), &200.into())
    );
    let mut input = BufReader::new("get x\n".as_bytes());
    let mut output = Vec::new();
    serve_commands("", &mut input, &mut output, &mut |_| Err("no".into())).unwrap();
    assert!(String::from_utf8(output).unwrap().ends_with("{\"error\":\"no\"}\n"));
}

#[test]
fn a_name_that_is_not_known_is_an_error() {
    let options = Options { servers: vec!["cobol".into()], ..Options::new("x".into()) };
    assert!(matches!(run(&options, &mut |_| {}), Err(BenchError::UnknownName { .. })));
}
