// SPDX-License-Identifier: Apache-2.0
//! The bench that is generated with a JSON circuit: it passes in its folder, with only the files
//! there and Verilator, and it fails where a buffer differs. Without a Verilator the test is
//! skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use arrowsmith_plan::Plan;
use arrowsmith_plan::text::parse_schema;
use arrowsmith_rtlgen::json::{Shape, Writers, generate, project};

use crate::support::there;

/// Every kind of column.
const SCHEMA: &str = "id: uint64 not null, name: utf8, small: int8, on: bool, none: null, ratio: float64, single: float32, \
     price: decimal128(12, 3), big: decimal128(20, -2), day: date32, noon: date64, clock: time64(us), at: timestamp(ns), zoned: timestamp(s, \"+01:00\"), \
     tags: list<utf8>, counts: list<int32 not null> not null, holes: list<uint16>, pair: fixed_size_list<int16, 2>, \
     where: struct<x: int64 not null, deep: struct<s: utf8 not null>>, points: list<struct<a: uint8, c: list<int64>>>";

fn run(bench: &Path) -> (bool, String) {
    let verilator = std::env::var_os("ARROWSMITH_VERILATOR").unwrap_or_else(|| "verilator".into());
    let program = PathBuf::from(verilator);
    let mut make = Command::new("make");
    // An unpacked Verilator that is not installed does not find its own files.
    let root = program.parent().and_then(Path::parent);
    if let Some(root) = root.filter(|root| root.join("include/verilated.h").exists()) {
        make.env("VERILATOR_ROOT", root);
    }
    let output = make
        .args(["--silent", "-C"])
        .arg(bench)
        .arg(format!("VERILATOR={}", program.display()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), said)
}

#[test]
fn the_bench_beside_a_circuit_passes_and_can_fail() {
    if !there() {
        return;
    }
    let plan = Plan::new(Arc::new(parse_schema(SCHEMA).unwrap())).unwrap();
    let shape = Shape { parsers: 2, writers: Writers::Shared, ..Shape::default() };
    let design = generate(&plan, "all", shape).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("json_bench");
    let _ = fs::remove_dir_all(&folder);
    for (path, text) in project(&design, &plan) {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let bench = folder.join("bench");
    let (passed, said) = run(&bench);
    assert!(passed && said.contains("PASS"), "{said}");

    let expected = fs::read_to_string(bench.join("expected.txt")).unwrap();
    let (at, digit) =
        expected.char_indices().filter(|(_, c)| c.is_ascii_digit()).nth(2000).unwrap();
    let other = if digit == '0' { "1" } else { "0" };
    let wrong = [&expected[..at], other, &expected[at + 1..]].concat();
    fs::write(bench.join("expected.txt"), wrong).unwrap();
    let (passed, said) = run(&bench);
    assert!(!passed && said.contains("FAIL") && said.contains("differs"), "{said}");
    fs::remove_dir_all(&folder).unwrap();
}
