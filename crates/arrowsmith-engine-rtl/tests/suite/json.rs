// SPDX-License-Identifier: Apache-2.0
//! Circuits of JSON parsers against the engine `cpu`: rows, errors, rejects, to the bit, over a
//! memory that pauses.
//!
//! Each schema costs a compilation, so one schema with every feature carries most of the tests:
//! `kitchen`. Without a Verilator the tests are skipped.

use std::sync::Arc;

use arrowsmith_core::{DecodeOptions, DuplicateKeys, OnError, UnknownKeys};
use arrowsmith_engine::Engine;
use arrowsmith_engine_rtl::MemoryProfile;
use arrowsmith_engine_rtl::RtlEngine;
use arrowsmith_plan::Plan;
use arrowsmith_rtlgen::json::{Shape, Writers};
use arrowsmith_testkit::case::{Failed, load, run_case};
use arrowsmith_testkit::engines::Helped;
use arrowsmith_testkit::random::{Rng, mutate};
use arrowsmith_testkit::scale;
use arrowsmith_workload::{Generator, Workload};

use crate::json_support::{check, memory, one, plan};
use crate::support::there;

const KITCHEN: &str = "id: uint64 not null, name: utf8, small: int8, flag: bool, n: null, \
     tags: list<utf8>, counts: list<int32 not null> not null, holes: list<uint16>, \
     pair: fixed_size_list<int16, 2>, where: struct<x: int64 not null, y: int64, deep: struct<on: bool, s: large_utf8 not null> not null>, \
     points: list<struct<a: uint8, b: utf8 not null, c: list<int64>>>, grid: fixed_size_list<fixed_size_list<bool, 2>, 2>, \
     rows: list<list<uint32>>, last: utf8_view not null";

/// Mostly a valid value for the field; spelled in one of many ways.
fn value(rng: &mut Rng, kind: &str, out: &mut String) {
    // A mark that null is an error.
    let (kind, sure) = kind.strip_suffix('!').map_or((kind, false), |kind| (kind, true));
    if rng.one_in(if sure { 400 } else { 12 }) {
        out.push_str("null");
        return;
    }
    if rng.one_in(250) {
        out.push_str(one(
            rng,
            &[
                "true",
                "-1",
                "1.5",
                "\"x\"",
                "[]",
                "{}",
                "01",
                "tru",
                "1e3",
                "99999999999999999999",
                "-0",
            ],
        ));
        return;
    }
    let list = |rng: &mut Rng, out: &mut String, kind: &str, len: usize| {
        out.push('[');
        for at in 0..len {
            if at > 0 {
                out.push(',');
            }
            space(rng, out);
            value(rng, kind, out);
            space(rng, out);
        }
        out.push(']');
    };
    match kind {
        "bool" => out.push_str(one(rng, &["true", "false"])),
        "text" => {
            out.push('"');
            for _ in 0..rng.below(20) {
                let plain = [
                    "a",
                    "bc",
                    " ",
                    "{",
                    "}",
                    "]",
                    ",",
                    ":",
                    "é",
                    "漢",
                    "😀",
                    "0",
                    "null",
                    "\\\\",
                    "\\n",
                    "\\\"",
                    "\\u00e9",
                    "\\u6F22",
                    "\\ud83d\\uDE00",
                    "\\/",
                    "\\ud83d",
                ];
                let last = if rng.one_in(6) {
                    plain.len() - usize::from(!rng.one_in(20))
                } else {
                    plain.len() - 7
                };
                out.push_str(plain[rng.below(last)]);
            }
            out.push('"');
        }
        "texts" => {
            let len = rng.below(4);
            list(rng, out, "text", len)
        }
        "sure" => {
            let len = rng.below(12);
            list(rng, out, "8!", len);
        }
        "ints" => {
            let len = rng.below(12);
            list(rng, out, "8", len)
        }
        "pair" => {
            let len = if rng.one_in(20) { rng.below(4) } else { 2 };
            list(rng, out, "8", len)
        }
        "grid" => list(rng, out, "row", 2),
        "row" => list(rng, out, "bool", 2),
        "rows" => {
            let len = rng.below(4);
            list(rng, out, "ints", len)
        }
        "points" => {
            let len = rng.below(4);
            list(rng, out, "point", len)
        }
        "point" => object(rng, &[("a", "8"), ("b", "text!"), ("c", "ints")], out),
        "deep" => object(rng, &[("on", "bool"), ("s", "text!")], out),
        "where" => object(rng, &[("x", "64!"), ("y", "64"), ("deep", "deep!")], out),
        "any" => {
            let kinds = ["bool", "text", "64", "rows", "points", "where"];
            let kind = *rng.pick(&kinds);
            value(rng, kind, out);
        }
        "n" => out.push_str("null"),
        "8" => out.push_str(&rng.range(0, 127).to_string()),
        _ => {
            let most = *rng.pick(&[9_i128, 1000, 1 << 31, 1 << 62]);
            let least = if rng.one_in(4) { 0 } else { -most };
            out.push_str(&rng.range(if kind == "u" { 0 } else { least }, most).to_string());
        }
    }
}

fn space(rng: &mut Rng, out: &mut String) {
    if rng.one_in(25) {
        out.push_str(one(rng, &[" ", "  ", "\t", " \r "]));
    }
}

fn object(rng: &mut Rng, fields: &[(&str, &str)], out: &mut String) {
    let mut fields = fields.to_vec();
    if rng.one_in(3) {
        fields.swap(0, 1);
    }
    if rng.one_in(6) {
        let last = fields.len() - 1;
        fields.swap(1, last);
    }
    if rng.one_in(8) {
        fields.insert(rng.below(fields.len()), ("other", "any"));
    }
    if rng.one_in(8) {
        let at = rng.below(fields.len());
        if !fields[at].1.ends_with('!') || rng.one_in(20) {
            fields.remove(at);
        }
    }
    if rng.one_in(100) {
        fields.push(fields[0]);
    }
    out.push('{');
    for (at, (key, kind)) in fields.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        space(rng, out);
        out.push_str(&format!("\"{key}\""));
        space(rng, out);
        out.push(':');
        space(rng, out);
        value(rng, kind, out);
        space(rng, out);
    }
    out.push('}');
}

fn kitchen_text(rng: &mut Rng) -> Vec<u8> {
    let fields = [
        ("id", "u!"),
        ("name", "text"),
        ("small", "8"),
        ("flag", "bool"),
        ("n", "n"),
        ("tags", "texts"),
        ("counts", "sure!"),
        ("holes", "ints"),
        ("pair", "pair"),
        ("where", "where"),
        ("points", "points"),
        ("grid", "grid"),
        ("rows", "rows"),
        ("last", "text!"),
    ];
    let mut out = String::new();
    for _ in 0..1 + rng.below(6) {
        object(rng, &fields, &mut out);
        out.push_str(one(rng, &["\n", "\n", "\n", "\r\n", " \n", "\n\n"]));
    }
    if rng.one_in(5) {
        out.truncate(out.trim_end().len());
    }
    out.into_bytes()
}

fn options(rng: &mut Rng) -> DecodeOptions {
    let mut options = DecodeOptions::default();
    options.on_error = *rng.pick(&[OnError::Skip, OnError::Fail, OnError::Null]);
    if rng.one_in(8) {
        options.duplicate_keys = DuplicateKeys::Error;
    }
    if rng.one_in(8) {
        options.unknown_keys = UnknownKeys::Error;
    }
    if rng.one_in(8) {
        options.limits = options.limits.with_depth_max(4 + rng.below(4));
    }
    if rng.one_in(8) {
        options.limits = options.limits.with_record_bytes_max(150 + rng.below(400));
    }
    options
}

/// Number of random texts; `ARROWSMITH_SEEDS` overrides it.
fn seeds() -> u64 {
    scale::number("ARROWSMITH_SEEDS", 150, 5_000)
}

#[test]
fn everything_at_once() {
    if !there() {
        return;
    }
    let plan = plan(KITCHEN);
    let engines: Vec<RtlEngine> = [(0, 1), (30, 2), (80, 3)]
        .into_iter()
        .map(|(stalls, seed)| RtlEngine::default().with_memory(memory(stalls, seed)))
        .collect();
    for seed in 0..seeds() {
        let rng = &mut Rng::new(seed);
        let mut text = kitchen_text(rng);
        let options = options(rng);
        if seed % 3 == 2 {
            for _ in 0..=rng.below(3) {
                mutate(rng, &mut text);
            }
        }
        check(&engines[rng.below(3)], &plan, &options, &text, &format!("seed {seed}"));
    }
    // Bytes after a truncated escape are taken as the string until the escape is known to be
    // invalid.
    for text in ["{\"id\":1,\"name\":\"\\u12", "{\"id\":1,\"name\":\"\\ud83d\\u"] {
        check(&engines[0], &plan, &DecodeOptions::default(), text.as_bytes(), "a cut escape");
    }
    let counts = engines.iter().map(|engine| engine.statistics().counts());
    let (rows, back) = counts.fold((0, 0), |(rows, back), c| (rows + c.rows, back + c.handed_back));
    // Most records must be the circuit's, or this test tests software.
    assert!(rows > back, "{rows} rows, {back} handed back");
}

#[test]
fn workloads() {
    if !there() {
        return;
    }
    for workload in [Workload::Battery, Workload::Trip] {
        let mut text = Vec::new();
        Generator::new(workload, 3, 64).fill(60_000, &mut text);
        let plan = Arc::new(Plan::new(Arc::new(workload.schema())).unwrap());
        for memory in [MemoryProfile::IDEAL, memory(40, 9)] {
            let rtl = RtlEngine::default().with_memory(memory);
            check(&rtl, &plan, &DecodeOptions::default(), &text, workload.name());
            let counts = rtl.statistics().counts();
            assert_eq!(counts.handed_back, 0);
            if memory == MemoryProfile::IDEAL {
                // A count of cycles, not of time: the goals of the JSON circuits at 8 bytes.
                assert!(counts.bytes * 10 >= counts.cycles * 75, "{workload}: {counts}");
                // Bursts of 256 bytes, but for a buffer's last one.
                assert!(counts.written >= 200 * counts.write_bursts, "{workload}: {counts}");
            }
        }
    }
}

#[test]
fn several_parsers_keep_the_order() {
    if !there() {
        return;
    }
    let workload = Workload::Battery;
    let mut text = Vec::new();
    Generator::new(workload, 5, 8).fill(20_000, &mut text);
    for _ in 0..4 {
        text.extend(b"{\"voltage\":[1,-1]}\n{\"voltage\":[]}\n");
    }
    let plan = Arc::new(Plan::new(Arc::new(workload.schema())).unwrap());
    let rtl = RtlEngine::default()
        .with_shape(Shape { parsers: 3, ..Shape::default() })
        .with_memory(memory(20, 4));
    let mut options = DecodeOptions::default();
    options.on_error = OnError::Skip;
    check(&rtl, &plan, &options, &text, "three parsers");
    assert_eq!(rtl.statistics().counts().handed_back, 4);
}

/// Two parsers at each of two ports share the writers; some stop at a record before the others are
/// at their end.
#[test]
fn parsers_that_share_writers() {
    if !there() {
        return;
    }
    // Some of the kitchen's keys: a buffer of each kind for each parser, and rows of them in one
    // RAM.
    let plan = plan(
        "id: uint64 not null, name: utf8, flag: bool, tags: list<utf8>, counts: list<int32 not null> not null, holes: list<uint16>, \
         where: struct<x: int64 not null, y: int64>, last: utf8 not null",
    );
    let shape = Shape { parsers: 4, ports: 2, writers: Writers::Shared, ..Shape::default() };
    let engines: Vec<RtlEngine> = [MemoryProfile::IDEAL, memory(40, 5)]
        .into_iter()
        .map(|memory| RtlEngine::default().with_shape(shape).with_memory(memory))
        .collect();
    for seed in 0..seeds() / 3 {
        let rng = &mut Rng::new(seed ^ 0x5a5a);
        let mut text = Vec::new();
        for _ in 0..6 + rng.below(10) {
            text.extend(kitchen_text(rng));
            if !text.ends_with(b"\n") {
                text.push(b'\n');
            }
        }
        let options = options(rng);
        if seed % 3 == 2 {
            mutate(rng, &mut text);
        }
        check(&engines[rng.below(2)], &plan, &options, &text, &format!("seed {seed}, shared"));
    }
    let counts = engines.iter().map(|engine| engine.statistics().counts());
    let (rows, back) = counts.fold((0, 0), |(rows, back), c| (rows + c.rows, back + c.handed_back));
    assert!(rows > back && back > 0, "{rows} rows, {back} handed back");
}

/// Regression: its circuit has a buffer without a column, and it hung.
#[test]
fn no_columns() {
    if !there() {
        return;
    }
    let rtl = RtlEngine::default();
    let text = b"{}\n{\"a\":[1,{}]}\n \n{\"b\":\"\\n\"}";
    check(&rtl, &plan(""), &DecodeOptions::default(), text, "no columns");
    assert_eq!(rtl.statistics().counts().handed_back, 0);
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    let rtl = RtlEngine::default();
    for (schema, field) in [("a: int8, b: struct<c: binary>", "b.c"), ("m: map<utf8, int8>", "m")] {
        let error = rtl.decoder(&plan(schema), &DecodeOptions::default()).err().unwrap();
        assert!(error.to_string().contains(field), "{error}");
    }
}

/// The most common schema of the conformance suite; the example `json_schemas` covers the others,
/// because each is a compilation.
#[test]
fn conformance_suite() {
    if !there() {
        return;
    }
    let schemas = ["a: int64"];
    let rtl = RtlEngine::default();
    let (mut cases, mut runs) = (0, 0);
    for (file, group) in load().unwrap() {
        for case in group.case.iter().filter(|case| schemas.contains(&case.schema.as_str())) {
            match run_case(&Helped(rtl.clone()), case, &mut runs) {
                Ok(()) => cases += 1,
                // A limit that is less than the schema's own depth is refused.
                Err(Failed::Unsupported) => {
                    assert!(case.options.depth_max.is_some(), "{}", case.name)
                }
                Err(Failed::Wrong(what)) => panic!("{file}/{}: {what}", case.name),
            }
        }
    }
    assert!(cases > 100, "{cases} cases");
    assert!(rtl.statistics().counts().rows > 500);
}
