// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench parquet --quick`: that it runs, compares and reports, not what it measures.

use crate::cli::run::Folder;

#[test]
fn a_quick_run_is_valid_and_reported() {
    let folder = Folder::new();
    let what = ["bench", "parquet", "--quick", "--workloads", "int64-delta,string-dictionary"];
    let outputs = ["--files-dir", "files", "--json", "j.json", "--report", "r.html"];
    let ran = folder.run(&[&what[..], &outputs].concat());
    ran.assert_status(0);
    assert!(ran.stdout.is_empty());
    let report: serde_json::Value = serde_json::from_slice(&folder.read("j.json")).unwrap();
    let rows = report["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["valid"] == true), "{report:#}");
    let of = |engine: &str| rows.iter().filter(|row| row["engine"] == engine).count();
    assert_eq!((of("parquet-rs"), of("parquet-rs-view")), (2, 1), "{report:#}");
    assert_eq!((of("arrowsmith-cpu"), of("arrowsmith-cpu-view")), (2, 1), "{report:#}");
    assert!(folder.read("r.html").starts_with(b"<!doctype html>"));

    let ran = folder.run(&["bench", "parquet", "--quick", "--size", "1MiB"]);
    ran.assert_status(2);
}
