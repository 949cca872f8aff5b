// SPDX-License-Identifier: Apache-2.0
//! The plan of the suite and its page; no measurements.

use super::*;

#[test]
fn the_figures_are_the_papers() {
    let all = plan::figures(&Options { size_bytes: 256 << 20, ..Options::default() }).unwrap();
    assert_eq!(all.len(), plan::NAMES.len());
    let small = all.iter().find(|figure| figure.name == "fig-4-small").unwrap();
    assert_eq!((small.points[0].layout.class_bytes(0), small.points[0].objects), (72, 1 << 20));
    let large = all.iter().find(|figure| figure.name == "fig-4-large").unwrap();
    assert_eq!(large.points[0].layout.class_bytes(0), 4 * (64 + 800 * 600));
    assert!(
        all.iter().filter(|figure| figure.single).all(|f| f.points.iter().all(|p| p.objects == 1))
    );
    let small = Options { size_bytes: 7_200, ..Options::default() };
    let small = plan::figures(&small).unwrap();
    let figure = small.iter().find(|figure| figure.name == "fig-4-small").unwrap();
    assert_eq!(figure.points[0].objects, 100);
}

#[test]
fn unknown_names_are_refused() {
    let figures = vec!["fig-9".to_owned()];
    let error = plan::figures(&Options { figures, ..Options::default() }).unwrap_err();
    assert!(error.to_string().contains("fig-4-large"));
    let approaches = vec!["magic".to_owned()];
    let error = run(&Options { approaches, ..Options::default() }, &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("unknown approach \"magic\""));
}

fn row(workload: &str, engine: &str, jdk: u32, threads: u32, seconds: &[f64]) -> Row {
    let row = Row::new(workload, engine)
        .with("x", 16)
        .with("jdk", jdk)
        .with("version", format!("{jdk}.0 <vm>"))
        .with("collector", "G1")
        .with("threads", threads)
        .with("objects", 2)
        .with("vs_copy", 0.5)
        .with("valid", true)
        .speed(1_000_000, seconds, &["median", "min"]);
    let handed: Vec<f64> = seconds.iter().map(|seconds| seconds / 2.0).collect();
    handed_over(row, 1_000_000, &handed)
}

fn report(rows: Vec<Row>) -> Report {
    let mut report: Report = result::Report::start("jvm", Some(1), Extra::default());
    report.rows = rows;
    report.extra.goals = goals::goals(&report);
    report
}

#[test]
fn a_row_is_its_median() {
    let row = row("fig-4-small", "columns", 17, 1, &[0.004, 0.001, 0.002]);
    assert!((row.gb_per_s() - 0.5).abs() < 1e-9);
    assert!((transfer_gb_per_s(&row) - 1.0).abs() < 1e-9);
    assert!((row.number("seconds_min").unwrap() - 0.001).abs() < 1e-12);
}

#[test]
fn the_page_has_what_was_measured_and_says_what_was_not() {
    let mut rows = Vec::new();
    for jdk in [17, 25] {
        for threads in [1, 2] {
            rows.push(row("fig-4-small", "columns", jdk, threads, &[0.001]));
            rows.push(row("fig-4-small", "copy-bandwidth", jdk, threads, &[0.001]));
            rows.push(row("json", "json-arrowsmith", jdk, threads, &[0.001]));
            rows.push(row("json", "json-jackson", jdk, threads, &[0.004]));
        }
    }
    let mut report = report(rows);
    report.missing("ffm (JDK 17)", "", "needs JDK 22");
    report.missing("ffm (JDK 17)", "", "needs JDK 22");
    let page = html(&report);
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert_eq!(page.matches("<h3>JDK 17</h3>").count(), 1);
    assert!(page.contains("2.00 (1), 50 %") && page.contains("4.00 ×"));
    assert_eq!(page.matches("needs JDK 22").count(), 1);
    assert!(page.contains("Goal: JSON read, relative to Jackson and Arrow Java's setters, 5.0 × or more. 4.0 × on JDK 17 with 1 thread: not met;"), "{page}");
    assert!(page.contains("17.0 &lt;vm&gt;") && !page.contains("NaN"));
}

#[test]
fn goals_are_held_to_the_same_threads_and_jdk() {
    let report = report(vec![
        row("fig-4-small", "columns", 17, 1, &[0.001]),
        row("fig-4-small", "unsafe", 17, 1, &[0.002]),
        row("fig-4-small", "jni", 17, 1, &[0.004]),
        // Another number of threads, another JDK, and a wrong sum: none of them counts.
        row("fig-4-small", "unsafe", 17, 2, &[0.0001]),
        row("fig-4-small", "unsafe", 25, 1, &[0.0001]),
        row("fig-4-small", "bytebuffer", 17, 1, &[0.0001]).with("valid", false),
        row("fig-4-small", "arrow-java", 17, 1, &[0.0101]),
        row("fig-4-large", "columns", 17, 1, &[0.001]).with("vs_copy", 0.9),
        row("fig-4-large", "copy-bandwidth", 17, 1, &[0.0001]),
        row("json", "json-arrowsmith", 25, 2, &[0.001]),
        row("json", "json-spark", 17, 2, &[0.0101]),
    ]);
    let found: Vec<(&str, bool)> =
        report.extra.goals.iter().map(|goal| (goal.workload.as_str(), goal.met)).collect();
    let expected =
        [("fig-4-small", false), ("fig-4-small", true), ("fig-4-large", true), ("json", true)];
    assert_eq!(found, expected);
    assert!((report.extra.goals[0].found - 2.0).abs() < 1e-9);
    assert!((report.extra.goals[2].found - 0.9).abs() < 1e-9);
    assert!(html(&report).contains("Goal: columns transferred, relative to copying memory, 85 % or more. 90 % on JDK 17 with 1 thread: met."));
}
