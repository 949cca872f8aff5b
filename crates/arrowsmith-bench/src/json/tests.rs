// SPDX-License-Identifier: Apache-2.0
//! The suite from end to end, small, without peers: arrow-json and engines made for the test.

use arrow_array::RecordBatch;

use super::*;
use crate::engine::{Prepared, Sink};
use crate::{NotMeasured, Row};

fn options(workloads: &[&str], engines: &[&str]) -> Options {
    Options {
        size_bytes: Some(20_000),
        rounds: Some(2),
        workloads: workloads.iter().map(|&name| name.to_owned()).collect(),
        engines: engines.iter().map(|&name| name.to_owned()).collect(),
        threads: vec![NonZeroUsize::MIN],
        ..Options::default()
    }
}

/// arrow-json under our name; it drops every second record if told to be wrong.
struct Ours {
    wrong: bool,
}

struct Running<'a> {
    inner: Box<dyn Prepared + 'a>,
    wrong: bool,
}

impl InProcess for Ours {
    fn name(&self) -> &str {
        "arrowsmith-cpu"
    }

    fn version(&self) -> String {
        "0.0 test".into()
    }

    fn prepare<'a>(
        &'a self,
        source: Source<'a>,
        threads: NonZeroUsize,
    ) -> Result<Box<dyn Prepared + 'a>, String> {
        let inner = ArrowJson.prepare(source, threads)?;
        Ok(Box::new(Running { inner, wrong: self.wrong }))
    }
}

impl Prepared for Running<'_> {
    fn run(&mut self, sink: Sink<'_>) -> Result<(), String> {
        let wrong = self.wrong;
        self.inner.run(&mut |batch: RecordBatch| {
            let rows = if wrong { batch.num_rows() / 2 } else { batch.num_rows() };
            sink(batch.slice(0, rows))
        })
    }
}

#[test]
fn every_generated_workload_runs_on_the_reference_engine() {
    let mut lines = Vec::new();
    let mut asked = options(&[], &["arrow-json"]);
    asked.threads = vec![NonZeroUsize::MIN, NonZeroUsize::new(2).unwrap()];
    let report = run(&asked, Vec::new(), &mut |line| lines.push(line.to_owned())).unwrap();

    let definition = Definition::json().unwrap();
    let generated = definition.workloads.iter().filter(|w| w.generator.is_some()).count();
    assert_eq!(report.rows.len(), 2 * generated);
    for row in &report.rows {
        assert!(row.valid() && row.count("bytes") >= 20_000 && row.count("records") > 0, "{row:?}");
        assert_eq!(row.numbers("seconds").len(), 2);
        assert!(row.number("seconds_min") <= row.number("seconds_median"));
        assert!(row.number("seconds_median") <= row.number("seconds_max"));
        assert_eq!(row.text("vs_fastest_peer.engine"), "arrow-json");
    }
    // The public files are missing, and the report says so.
    let missing: Vec<&str> = report.not_measured.iter().map(|m| &m.workload[..]).collect();
    assert_eq!(missing, ["real-twitter", "real-citm", "real-canada"]);
    assert!(lines.iter().any(|line| line == "trip × 2: round 2"));
}

#[test]
fn our_engine_serves_both_of_its_names() {
    let asked = options(&["trip"], &["arrowsmith-cpu", "arrowsmith-cpu-collect", "arrow-json"]);
    let report = run(&asked, vec![Box::new(Ours { wrong: false })], &mut |_| ()).unwrap();
    let engines: Vec<&str> = report.rows.iter().map(Row::engine).collect();
    assert_eq!(engines, ["arrowsmith-cpu", "arrowsmith-cpu-collect", "arrow-json"]);
    assert!(report.rows.iter().all(Row::valid));
    assert_eq!(report.rows[0].text("version"), "0.0 test");
    assert_eq!(report.rows[0].text("kind"), "ours");
}

#[test]
fn a_wrong_result_is_marked_and_not_compared_with() {
    let asked = options(&["trip"], &["arrowsmith-cpu", "arrow-json"]);
    let report = run(&asked, vec![Box::new(Ours { wrong: true })], &mut |_| ()).unwrap();
    assert!(!report.rows[0].valid());
    assert!(report.rows[0].text("difference").contains(" rows instead of "));
}

#[test]
fn an_engine_that_is_not_here_is_not_measured() {
    let report = run(&options(&["trip"], &["arrowsmith-cpu"]), Vec::new(), &mut |_| ()).unwrap();
    assert!(report.rows.is_empty());
    let expected = NotMeasured {
        engine: "arrowsmith-cpu".into(),
        workload: String::new(),
        reason: "is not part of this command".into(),
    };
    assert_eq!(report.not_measured, [expected]);
}

#[test]
fn a_peer_that_cannot_be_installed_is_not_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    // A folder cannot be created in a file, so the installation fails before it starts.
    let asked = Options { peers_dir: file, ..options(&["trip"], &["pyarrow", "arrow-json"]) };
    let report = run(&asked, Vec::new(), &mut |_| ()).unwrap();
    assert_eq!(report.rows.len(), 1);
    assert_eq!(report.not_measured.len(), 1);
    assert_eq!(report.not_measured[0].engine, "pyarrow");
}

#[test]
fn the_json_object_has_the_documented_keys() {
    let report = run(&options(&["trip"], &["arrow-json"]), Vec::new(), &mut |_| ()).unwrap();
    let json = serde_json::to_value(&report).unwrap();
    for key in ["suite", "machine", "commit", "rows"] {
        assert!(json.get(key).is_some(), "{key}");
    }
    for key in [
        "workload",
        "engine",
        "threads",
        "bytes",
        "seconds_median",
        "seconds_min",
        "gb_per_s",
        "peak_rss_mb",
        "valid",
    ] {
        assert!(json["rows"][0].get(key).is_some(), "{key}");
    }
    assert_eq!(json["suite"], "json");
}

#[test]
fn unknown_names_are_refused_before_anything_runs() {
    assert!(run(&options(&["trips"], &[]), Vec::new(), &mut |_| ()).is_err());
    assert!(run(&options(&[], &["arrow"]), Vec::new(), &mut |_| ()).is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn only_the_inputs_of_dead_runs_are_removed() {
    let parent = tempfile::tempdir().unwrap();
    let dead = parent.path().join(format!("{WORK_PREFIX}4294967295-x"));
    let alive = parent.path().join(format!("{WORK_PREFIX}{}-x", std::process::id()));
    let other = parent.path().join("something-else");
    for folder in [&dead, &alive, &other] {
        fs::create_dir(folder).unwrap();
        fs::write(folder.join("file"), "x").unwrap();
    }
    remove_abandoned(parent.path());
    assert!(!dead.exists() && alive.exists() && other.exists());
}
