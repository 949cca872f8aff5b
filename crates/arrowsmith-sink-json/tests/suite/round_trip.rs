// SPDX-License-Identifier: Apache-2.0
//! What the sink writes, read by serde_json; what it cannot write, refused before the first byte.

use std::fs;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, Decimal128Array, DictionaryArray, Float64Array, Int64Array, ListArray,
    RecordBatch, StringArray, TimestampMicrosecondArray, new_null_array,
};
use arrow_schema::{DataType, Field, Schema, UnionFields, UnionMode};
use arrowsmith_core::sink::{Output, Sink};
use arrowsmith_sink_json::{JsonOptions, JsonSink};
use serde_json::{Value, json};

fn batch() -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from(vec![Some(1), None]))),
        ("text", Arc::new(StringArray::from(vec!["a\"\n\u{1}é", ""]))),
        ("ratio", Arc::new(Float64Array::from(vec![f64::NAN, -0.5]))),
        (
            "price",
            Arc::new(
                Decimal128Array::from(vec![12345, -1]).with_precision_and_scale(9, 2).unwrap(),
            ),
        ),
        (
            "at",
            Arc::new(
                TimestampMicrosecondArray::from(vec![0, 1_500_000]).with_timezone("Europe/Berlin"),
            ),
        ),
        ("raw", Arc::new(BinaryArray::from(vec![&b"\x00\xff"[..], b""]))),
        ("kind", Arc::new(DictionaryArray::<Int32Type>::from_iter(["x", "y"]))),
        (
            "list",
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([
                Some(vec![Some(1), None]),
                None,
            ])),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

fn write(batch: &RecordBatch, options: &JsonOptions, times: usize) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    let output = Output::create(&path).unwrap();
    let mut sink = Box::new(JsonSink::new(output, &batch.schema(), options).unwrap());
    for _ in 0..times {
        sink.write(batch).unwrap();
    }
    assert!(!path.exists(), "the file has its name only when it is whole");
    let summary = (sink as Box<dyn Sink>).finish().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(summary.bytes, text.len() as u64);
    assert_eq!(summary.rows, (batch.num_rows() * times) as u64);
    text
}

#[test]
fn lines_say_what_the_batch_says() {
    let text = write(&batch(), &JsonOptions::default(), 2);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(
        lines[0],
        json!({"id": 1, "text": "a\"\n\u{1}é", "ratio": null, "price": 123.45,
            "at": "1970-01-01T00:00:00Z", "raw": "00ff", "kind": "x", "list": [1, null]})
    );
    assert_eq!(lines[1]["id"], Value::Null);
    assert_eq!(lines[1]["at"], "1970-01-01T00:00:01.500Z");
    assert_eq!(lines[1]["list"], Value::Null);
    assert_eq!(lines[2..], lines[..2]);

    let text = write(&batch(), &JsonOptions { nulls: false }, 1);
    let second: Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    assert!(second.get("id").is_none());
}

#[test]
fn no_rows_are_an_empty_file() {
    assert_eq!(write(&batch().slice(0, 0), &JsonOptions::default(), 1), "");
    assert_eq!(write(&batch(), &JsonOptions::default(), 0), "");
}

#[test]
fn a_type_that_json_does_not_have_is_refused_before_the_first_byte() {
    let fields = UnionFields::try_new([0], [Field::new("a", DataType::Int32, true)]).unwrap();
    let data_type = DataType::Union(fields, UnionMode::Sparse);
    let schema = Schema::new(vec![Field::new("u", data_type.clone(), true)]);
    assert_eq!(new_null_array(&data_type, 1).len(), 1);
    let folder = tempfile::tempdir().unwrap();
    let output = Output::create(folder.path().join("x.jsonl")).unwrap();
    assert!(JsonSink::new(output, &schema, &JsonOptions::default()).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
