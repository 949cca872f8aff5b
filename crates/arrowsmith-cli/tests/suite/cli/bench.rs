// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench`, small and without peers: that it runs, compares and reports, not what it
//! measures.

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

#[test]
fn files_are_converted_and_compared() {
    let folder = Folder::new();
    let args = ["bench", "convert", "--size", "64KiB", "--rounds", "1", "--codecs", "zstd:1,none"];
    let engines = ["--engines", "arrowsmith,arrowsmith-reference-writer", "--threads", "2"];
    let outputs = ["--json", "j.json", "--report", "r.html"];
    let ran = folder.run(&[&args[..], &engines, &outputs].concat());
    ran.assert_status(0);
    let report: serde_json::Value = serde_json::from_slice(&folder.read("j.json")).unwrap();
    let rows = report["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["valid"] == true), "{report:#}");
    // Four workloads with two codecs and as Arrow, two of them from CSV.
    let files = |engine: &str| rows.iter().filter(|row| row["engine"] == engine).count();
    assert_eq!((files("arrowsmith"), files("arrowsmith-reference-writer")), (14, 10), "{report:#}");
    let read = |row: &serde_json::Value| row["file_bytes"].as_u64() > Some(1000);
    assert!(rows.iter().all(read), "{report:#}");
    assert!(folder.read("r.html").starts_with(b"<!doctype html>"));

    folder.run(&["bench", "convert", "--codecs", "zip"]).assert_status(2);
}

#[test]
fn files_are_encoded_and_compared() {
    let folder = Folder::new();
    let args = ["bench", "write", "--size", "64KiB", "--rounds", "1", "--workloads", "lists,logs"];
    let ran = folder.run(&[&args[..], &["--json", "j.json", "--report", "r.html"]].concat());
    ran.assert_status(0);
    let report: serde_json::Value = serde_json::from_slice(&folder.read("j.json")).unwrap();
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 15, "three writers of one column, and of a table with four codecs");
    assert!(rows.iter().all(|row| row["valid"] == true), "{report:#}");
    assert!(folder.read("r.html").starts_with(b"<!doctype html>"));

    folder.run(&["bench", "write", "--workloads", "dance"]).assert_status(2);
}
