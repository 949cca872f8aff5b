// SPDX-License-Identifier: Apache-2.0
//! The text of plans, compared with files byte by byte.
//!
//! After an intended change, `ARROWSMITH_UPDATE_SNAPSHOTS=1` rewrites the files; review the diff.

use std::path::Path;
use std::sync::Arc;

use arrowsmith_plan::Plan;
use arrowsmith_plan::text::parse_schema;

fn plan(schema: &str) -> Plan {
    Plan::new(Arc::new(parse_schema(schema).unwrap())).unwrap()
}

fn check(name: &str, schema: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/snapshots/{name}.txt"));
    let plan = plan(schema);
    let text = format!("{plan}hash: {:016x}\n", plan.hash());
    if std::env::var_os("ARROWSMITH_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{}", path.display());
}

#[test]
fn battery() {
    check("battery", "voltage: list<uint64 not null> not null");
}

#[test]
fn every_type() {
    check(
        "every_type",
        r#"
        a: null, b: bool not null, c: int8, d: int16, e: int32, f: int64, g: uint8, h: uint16, i: uint32, j: uint64
        k: float16, l: float32, m: float64, n: decimal128(10, 2), o: decimal256(70, 3)
        p: utf8, q: large_utf8, r: utf8_view, s: json, t: binary, u: fixed_size_binary(16) encoding hex
        v: date32, w: date64, x: time32(s), y: time64(ns), z: timestamp(us, "UTC"), aa: timestamp(ms)
        ab: duration(s), ac: list<utf8>, ad: large_list<list<int8 not null>>
        ae: fixed_size_list<float32, 3>, af: map<utf8, struct<a: int64, "b\n\"c": list<utf8>>>
        ag: dictionary<int16, utf8>, ah: struct<> not null, ai: struct<x: struct<y: bool>>, aj: bool
        "#,
    );
}

#[test]
fn values() {
    check("value", "root value, value: list<map<utf8, int64 not null>> not null");
    check("scalar", "root value, value: float64");
    check("empty", "# no columns");
}

#[test]
fn hashes_tell_plans_apart() {
    let schemas = [
        "a: int64",
        "a: int64 not null",
        "b: int64",
        "a: int32",
        "a: list<int64>",
        "a: list<element: int64>",
        "root value, a: int64",
        "a: struct<a: int64>",
        "a: timestamp(us)",
        "a: timestamp(us, \"UTC\")",
        "a: binary",
        "a: binary encoding hex",
        "a: int64 metadata {\"k\" = \"v\"}",
    ];
    let mut hashes: Vec<u64> = schemas.iter().map(|schema| plan(schema).hash()).collect();
    assert_eq!(hashes[0], plan("a: int64 # the same").hash());
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), schemas.len());
}
