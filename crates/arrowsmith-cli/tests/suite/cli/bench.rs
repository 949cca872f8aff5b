// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench json`, small: that it runs, compares and reports, not what it measures.

use crate::cli::run::Folder;

#[test]
fn a_small_run_is_valid_and_reported() {
    let folder = Folder::new();
    let args = ["bench", "json", "--size", "64KiB", "--rounds", "1", "--workloads", "trip,logs"];
    let engines = ["--engines", "arrowsmith-cpu,arrow-json", "--threads", "1,2"];
    let outputs = ["--json", "j.json", "--report", "r.html"];
    let ran = folder.run(&[&args[..], &engines, &outputs].concat());
    ran.assert_status(0);
    assert!(ran.stdout.is_empty());
    let report: serde_json::Value = serde_json::from_slice(&folder.read("j.json")).unwrap();
    let rows = report["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["valid"] == true), "{report:#}");
    let ours = rows.iter().filter(|row| row["engine"] == "arrowsmith-cpu").count();
    assert_eq!(ours, 4, "two workloads, two thread counts: {report:#}");
    assert!(folder.read("r.html").starts_with(b"<!doctype html>"));

    let ran = folder.run(&["bench", "json", "--workloads", "dance"]);
    ran.assert_status(2);
}
