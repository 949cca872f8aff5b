// SPDX-License-Identifier: Apache-2.0
//! Settled batches are those that the wider schema would have given; where that is not known, there
//! are none.

use arrow_schema::Schema;
use arrowsmith_core::{Chunk, DecodeOptions, Decoder, Framing};
use arrowsmith_plan::Plan;
use arrowsmith_plan::text::parse_schema;

use super::*;

fn decode(schema: &Schema, text: &str) -> RecordBatch {
    let plan = Arc::new(Plan::new(Arc::new(schema.clone())).unwrap());
    let engine = arrowsmith_testkit::engines::cpu();
    let mut decoder: Box<dyn Decoder> = engine.decoder(&plan, &DecodeOptions::default()).unwrap();
    decoder.decode(&Chunk::new(text.as_bytes(), Framing::Lines)).unwrap();
    decoder.flush().unwrap().unwrap()
}

/// Settles `text`, decoded with schema `from`, for schema `to`.
fn check(from: &str, to: &str, text: &str, settles: bool) {
    let (from, to) = (parse_schema(from).unwrap(), Arc::new(parse_schema(to).unwrap()));
    let settled = settle(&decode(&from, text), &to).unwrap();
    assert_eq!(settled.is_some(), settles, "{from} to {to}: {text}");
    if let Some(settled) = settled {
        assert_eq!(settled, decode(&to, text), "{from} to {to}: {text}");
    }
}

#[test]
fn what_the_values_tell_is_not_read_again() {
    let same = |from, to, text| check(from, to, text, true);
    same("a: int64", "b: utf8, a: int64", "{\"a\":1}\n{}\n");
    same("a: json", "a: struct<x: list<int64>>", "{\"a\":null}\n{}\n");
    same("a: json", "a: struct<x: int64, y: utf8>", "{\"a\":{}}\n{\"a\":{ }}\n{}\n");
    same("a: json", "a: map<utf8, int64>", "{\"a\":{}}\n{\"a\":null}\n");
    same("a: int64", "a: float64", "{\"a\":9007199254740992}\n{\"a\":-3}\n{}\n");
    same("a: int64", "a: uint64", "{\"a\":9007199254740993}\n{}\n");
    same("a: int64", "a: json", "{\"a\":-12}\n{\"a\":null}\n");
    same("a: bool", "a: json", "{\"a\":true}\n{\"a\":false}\n");
    same("a: date32", "a: utf8", "{\"a\":\"0001-01-01\"}\n{\"a\":\"9999-12-31\"}\n");
    same("a: date32", "a: timestamp(us)", "{\"a\":\"0001-01-01\"}\n{\"a\":\"9999-12-31\"}\n");
    let deep = "{\"a\":[{\"x\":1},null,{}]}\n{\"a\":[]}\n{\"a\":null}\n";
    same("a: list<struct<x: int64>>", "a: list<struct<y: json, x: float64>>", deep);
    same("a: list<json>", "a: list<int64>", "{\"a\":[null]}\n{\"a\":[]}\n");
    let maps = "{\"a\":{\"1\":2,\"1\":null}}\n{\"a\":{}}\n{}\n";
    same("a: map<utf8, int64>", "a: map<utf8, float64>", maps);
}

#[test]
fn what_they_do_not_tell_is() {
    let other = |from, to, text| check(from, to, text, false);
    other("a: int64", "a: float64", "{\"a\":9007199254740993}\n");
    other("a: uint64", "a: float64", "{\"a\":9007199254740993}\n");
    other("a: utf8", "a: json", "{\"a\":\"x\"}\n");
    other("a: float64", "a: json", "{\"a\":1.50}\n");
    other("a: list<int64>", "a: json", "{\"a\":[1, 2]}\n");
    other("a: timestamp(us)", "a: utf8", "{\"a\":\"2024-02-29 10:11\"}\n");
    other("a: map<utf8, int64>", "a: struct<\"1\": int64>", "{\"a\":{\"1\":2}}\n");
    other("a: int64", "root value\nvalue: json", "{\"a\":1}\n");
}
