// SPDX-License-Identifier: Apache-2.0
//! The sink's output, read by serde_json; types that it cannot write are refused before the first
//! byte.

use std::fs;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, DictionaryArray, Float64Array,
    Int32Array, Int64Array, LargeStringArray, ListArray, MapArray, RecordBatch, RunArray,
    StringArray, StructArray, TimestampMicrosecondArray, new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema, UnionFields, UnionMode};
use arrowsmith_core::sink::{Output, Sink};
use arrowsmith_core::{Chunk, DecodeOptions, Framing};
use arrowsmith_engine::Engine;
use arrowsmith_plan::Plan;
use arrowsmith_sink::json::{JsonOptions, JsonSink};
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
            "at": "1970-01-01T00:00:00Z", "raw": "AP8=", "kind": "x", "list": [1, null]})
    );
    assert_eq!(lines[1]["id"], Value::Null);
    assert_eq!(lines[1]["at"], "1970-01-01T00:00:01.500Z");
    assert_eq!(lines[1]["list"], Value::Null);
    assert_eq!(lines[2..], lines[..2]);

    let text = write(&batch(), &JsonOptions { nulls: false, ..JsonOptions::default() }, 1);
    let second: Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    assert!(second.get("id").is_none());
}

#[test]
fn keys_of_maps_are_text() {
    let map = |keys: ArrayRef| -> ArrayRef {
        let fields = vec![
            Field::new("key", keys.data_type().clone(), false),
            Field::new("value", DataType::Int32, true),
        ];
        let values = Arc::new(Int32Array::from(vec![1, 2, 3]));
        let entries = StructArray::new(fields.into(), vec![keys, values], None);
        let field = Arc::new(Field::new("entries", entries.data_type().clone(), false));
        let ends = OffsetBuffer::from_lengths([2, 1]);
        Arc::new(MapArray::new(field, ends, entries, None, false))
    };
    let times = TimestampMicrosecondArray::from(vec![0, 1_500_000, 2]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("d", map(Arc::new(DictionaryArray::<Int32Type>::from_iter(["x", "y", "x"])))),
        ("l", map(Arc::new(LargeStringArray::from(vec!["x", "y", "x"])))),
        ("n", map(Arc::new(Int64Array::from(vec![-1, 20, 3])))),
        ("b", map(Arc::new(BooleanArray::from(vec![true, false, true])))),
        ("t", map(Arc::new(times))),
    ];
    let text = write(&RecordBatch::try_from_iter(columns).unwrap(), &JsonOptions::default(), 1);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = [
        json!({"d": {"x": 1, "y": 2}, "l": {"x": 1, "y": 2}, "n": {"-1": 1, "20": 2},
            "b": {"true": 1, "false": 2},
            "t": {"1970-01-01T00:00:00": 1, "1970-01-01T00:00:01.500": 2}}),
        json!({"d": {"x": 3}, "l": {"x": 3}, "n": {"3": 3}, "b": {"true": 3},
            "t": {"1970-01-01T00:00:00.000002": 3}}),
    ];
    assert_eq!(lines, expected);
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

/// Converts JSON text to Arrow, with a schema, and back.
fn through(schema: &str, text: &str) -> String {
    let schema = arrowsmith_plan::load::load_schema(schema).unwrap();
    let plan = Arc::new(Plan::new(schema.into()).unwrap());
    let engine = arrowsmith_engine_cpu::CpuEngine::default();
    let mut decoder = engine.decoder(&plan, &DecodeOptions::default()).unwrap();
    decoder.decode(&Chunk::new(text.as_bytes(), Framing::Lines)).unwrap();
    write(&decoder.flush().unwrap().unwrap(), &JsonOptions::default(), 1)
}

#[test]
fn json_columns_are_the_same_values_again_at_any_depth() {
    let values = [
        "1",
        "-1.50e400",
        "\"s\"",
        "\"\\\"\\u00e9\\n\"",
        "null",
        "true",
        "[]",
        "{}",
        "{\"b\":1}",
        "[1,[\"x\",{\"y\":null}]]",
        "{\"b\":{\"b\":[{}]},\"c\":\"{\\\"no\\\":1}\"}",
    ];
    let shapes = [
        ("a: TYPE", "{\"a\":VALUE}"),
        ("a: list<TYPE>", "{\"a\":[VALUE,VALUE]}"),
        ("a: large_list<TYPE>", "{\"a\":[VALUE]}"),
        ("a: fixed_size_list<TYPE, 2>", "{\"a\":[VALUE,VALUE]}"),
        ("a: struct<b: TYPE, c: utf8>", "{\"a\":{\"b\":VALUE,\"c\":\"1\"}}"),
        ("a: map<utf8, TYPE>", "{\"a\":{\"1\":VALUE,\"2\":VALUE}}"),
        (
            "a: map<utf8, list<struct<b: map<utf8, TYPE>>>>",
            "{\"a\":{\"k\":[{\"b\":{\"l\":VALUE}}]}}",
        ),
    ];
    for kind in ["json", "large_json", "json_view"] {
        for (schema, line) in shapes {
            let lines: Vec<String> =
                values.iter().map(|value| line.replace("VALUE", value) + "\n").collect();
            let text = lines.concat();
            assert_eq!(through(&schema.replace("TYPE", kind), &text), text, "{schema}: {kind}");
        }
    }
}

#[test]
fn binaries_are_written_as_they_are_read() {
    let types = [
        ("binary", "\"3q2+7w==\"", "\"\""),
        ("large_binary", "\"AA==\"", "\"////\""),
        ("binary_view", "\"AAAAAAAAAAAAAAAAAAAA\"", "\"AAAB\""),
        ("fixed_size_binary(3)", "\"AAEC\"", "\"++//\""),
        ("binary encoding hex", "\"deadbeef\"", "\"\""),
        ("large_binary encoding hex", "\"00ff\"", "\"0a\""),
        ("binary_view encoding hex", "\"00ff00ff00ff00ff00ff00ff00\"", "\"\""),
        ("fixed_size_binary(2) encoding hex", "\"00ff\"", "\"abcd\""),
        ("binary encoding base64", "\"deadbeef\"", "null"),
    ];
    let shapes = [
        ("a: TYPE", "{\"a\":ONE}"),
        ("a: list<TYPE>, h: binary encoding hex", "{\"a\":[ONE,TWO,null],\"h\":\"beef\"}"),
        ("a: large_list<TYPE>", "{\"a\":[TWO,TWO]}"),
        ("a: fixed_size_list<TYPE, 2>", "{\"a\":[ONE,TWO]}"),
        ("a: struct<b: TYPE, c: binary>", "{\"a\":{\"b\":ONE,\"c\":\"beef\"}}"),
        ("a: map<utf8, TYPE>", "{\"a\":{\"1\":ONE,\"2\":TWO}}"),
        ("a: struct<b: list<map<utf8, TYPE>>>", "{\"a\":{\"b\":[{\"k\":ONE},null]}}"),
    ];
    for (data_type, one, two) in types {
        for (schema, record) in shapes {
            let schema = schema.replace("TYPE", data_type);
            let record = record.replace("ONE", one).replace("TWO", two);
            let text = format!("{record}\n{}\n", record.replace(one, two));
            assert_eq!(through(&schema, &text), text, "{schema}");
        }
    }
}

#[test]
fn strings_and_binaries_stay_strings() {
    let text = "{\"a\":\"{}\",\"b\":\"3q0=\",\"c\":[\"1\"]}\n";
    for (text_type, binary) in
        [("utf8", "binary"), ("large_utf8", "large_binary"), ("utf8_view", "binary_view")]
    {
        let schema = format!("a: {text_type}, b: {binary}, c: list<{text_type}>");
        assert_eq!(through(&schema, text), text, "{schema}");
    }
}

#[test]
fn encoded_binaries_are_written_like_others() {
    let values: ArrayRef = Arc::new(BinaryArray::from(vec![&b"\x00\xff"[..], b"abc"]));
    let keys = Int32Array::from(vec![Some(1), None, Some(0)]);
    let dictionary: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::clone(&values)));
    let ends = Int32Array::from(vec![2, 3]);
    let runs: ArrayRef = Arc::new(RunArray::<Int32Type>::try_new(&ends, &values).unwrap());
    let hex = [("arrowsmith:encoding".to_owned(), "hex".to_owned())];
    assert_eq!(hex[0].0, arrowsmith_plan::plan::ENCODING_METADATA_KEY);
    let field = |name: &str, array: &ArrayRef| Field::new(name, array.data_type().clone(), true);
    let in_hex =
        |name: &str, array: &ArrayRef| field(name, array).with_metadata(hex.clone().into());
    let fields = vec![
        field("d", &dictionary),
        in_hex("e", &dictionary),
        field("r", &runs),
        in_hex("s", &runs),
    ];
    let columns = vec![Arc::clone(&dictionary), dictionary, Arc::clone(&runs), runs];
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    assert_eq!(
        write(&batch, &JsonOptions::default(), 1),
        "{\"d\":\"YWJj\",\"e\":\"616263\",\"r\":\"AP8=\",\"s\":\"00ff\"}\n\
         {\"d\":null,\"e\":null,\"r\":\"AP8=\",\"s\":\"00ff\"}\n\
         {\"d\":\"AP8=\",\"e\":\"00ff\",\"r\":\"YWJj\",\"s\":\"616263\"}\n"
    );
}

#[test]
fn what_is_called_json_and_is_none_is_a_string() {
    let field = Field::new("a", DataType::Utf8, true)
        .with_metadata([("ARROW:extension:name".to_owned(), "arrow.json".to_owned())].into());
    let texts = StringArray::from(vec![Some("{\"b\": 1}\n"), Some("1}\n{\"x\":2"), Some(""), None]);
    let batch =
        RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![Arc::new(texts)]).unwrap();
    assert_eq!(
        write(&batch, &JsonOptions::default(), 1),
        "{\"a\":{\"b\": 1}}\n{\"a\":\"1}\\n{\\\"x\\\":2\"}\n{\"a\":\"\"}\n{\"a\":null}\n"
    );
}

#[test]
fn records_have_each_name_once() {
    let number = |name: &str| Field::new(name, DataType::Int64, true);
    let inner = |names: [&str; 2]| DataType::Struct(names.map(number).to_vec().into());
    let list = |item| DataType::List(Arc::new(Field::new_list_field(item, true)));
    for (second, expected) in [
        (number("a"), Some("field a: JSON has no two fields")),
        (Field::new("b", inner(["x", "x"]), true), Some("field b.x: JSON has no two fields")),
        (Field::new("b", list(inner(["x", "x"])), true), Some("field b.x: JSON has")),
        (Field::new("b", list(inner(["x", "a"])), true), None),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = Output::create(folder.path().join("x")).unwrap();
        let schema = Schema::new(vec![number("a"), second]);
        let error = JsonSink::new(output, &schema, &JsonOptions::default()).err();
        let error = error.map(|error| error.to_string());
        match expected {
            Some(expected) => assert!(error.as_ref().unwrap().contains(expected), "{error:?}"),
            None => assert_eq!(error, None),
        }
    }
}
