// SPDX-License-Identifier: Apache-2.0
//! Every type of the schema language through every sink that writes files, under every policy for
//! bad values: what is read back is what the oracle makes of what was sent.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::Schema;
use arrowsmith::Engine;
use arrowsmith_core::{Chunk, DecodeOptions, Framing, OnError};
use arrowsmith_ingest::{Config, Service};
use arrowsmith_plan::Plan;
use arrowsmith_publish::{Compression, Layout, decode, encode};
use arrowsmith_testkit::oracle::OracleEngine;
use arrowsmith_testkit::parquet::with_usual_names;
use arrowsmith_testkit::render;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

use super::post;

/// A type, values of it, and one that it does not take.
const TYPES: &[(&str, &[&str], &str)] = &[
    ("bool", &["true", "false", "null"], "1"),
    ("int8", &["-128", "127", "null"], "128"),
    ("int16", &["-32768", "7"], "1.5"),
    ("int32", &["-7", "2147483647"], "\"7\""),
    ("int64", &["9223372036854775807", "0"], "9223372036854775808"),
    ("uint8", &["255", "0"], "-1"),
    ("uint16", &["65535"], "65536"),
    ("uint32", &["4294967295"], "1e2"),
    ("uint64", &["18446744073709551615"], "-1"),
    ("float16", &["0.5", "-2"], "\"x\""),
    ("float32", &["0.1", "6.02e23"], "true"),
    ("float64", &["0.1", "-1e-300", "null"], "[]"),
    ("decimal128(10, 2)", &["12.50", "\"-0.01\""], "0.001"),
    ("decimal256(76, 0)", &["123456789012345678901234567890123456789012"], "0.5"),
    ("utf8", &["\"\"", "\"ü\\n\"", "null"], "1"),
    ("large_utf8", &["\"ü\"", "\"longer than what a view holds\""], "1"),
    ("utf8_view", &["\"ü\"", "\"longer than what a view holds\""], "1"),
    ("json", &["{\"any\":[1,{\"b\":null}]}", "1", "\"s\"", "[]"], "nul"),
    ("large_json", &["{\"any\":[1]}", "1"], "nul"),
    ("json_view", &["{\"any\":[1]}", "\"longer than what a view holds\""], "nul"),
    ("binary", &["\"3q2+7w==\"", "\"\""], "\"?\""),
    ("large_binary", &["\"3q2+7w==\""], "1"),
    ("binary_view", &["\"3q2+7w==\""], "1"),
    ("fixed_size_binary(4)", &["\"3q2+7w==\"", "null"], "\"3q2+\""),
    ("binary encoding hex", &["\"deadbeef\""], "\"dea\""),
    ("date32", &["\"2024-02-29\"", "19782"], "\"2023-02-29\""),
    ("date64", &["\"2024-02-29\""], "\"x\""),
    ("time32(s)", &["\"10:11:12\""], "\"25:00:00\""),
    ("time32(ms)", &["\"10:11:12.5\"", "36672"], "\"x\""),
    ("time64(us)", &["\"10:11:12.5\""], "-1"),
    ("time64(ns)", &["\"10:11:12.123456789\""], "true"),
    ("timestamp(s)", &["\"2024-02-29T10:11:12\""], "\"x\""),
    ("timestamp(ms)", &["\"2024-02-29T10:11:12.5\""], "\"2023-02-29T00:00:00\""),
    ("timestamp(us)", &["1709201472000000"], "1.5"),
    ("timestamp(ns)", &["\"2024-02-29T10:11:12.123456789\""], "\"9999-01-01T00:00:00\""),
    ("timestamp(us, \"UTC\")", &["\"2024-02-29T10:11:12+01:00\""], "\"x\""),
    ("timestamp(s, \"+02:00\")", &["\"2024-02-29T10:11:12Z\""], "\"x\""),
    ("duration(s)", &["90"], "\"x\""),
    ("duration(ms)", &["\"PT1M30S\"", "90000"], "\"x\""),
    ("duration(us)", &["-5"], "0.5"),
    ("duration(ns)", &["5"], "true"),
    ("list<int64>", &["[1,2]", "[]", "null", "[null]"], "[\"x\"]"),
    ("large_list<utf8>", &["[\"a\"]", "[]"], "1"),
    ("fixed_size_list<float32, 3>", &["[1,2,3]", "null"], "[1,2]"),
    ("struct<a: int64, b: utf8>", &["{\"a\":1}", "{\"b\":\"x\"}", "null"], "1"),
    ("map<utf8, int64>", &["{\"x\":1,\"y\":2}", "{}", "null"], "[1]"),
    ("map<utf8, list<struct<a: json>>>", &["{\"x\":[{\"a\":{\"b\":1}}]}"], "1"),
    ("dictionary<int8, utf8>", &["\"red#\"", "\"blue\"", "null"], "1"),
    ("dictionary<int32, utf8>", &["\"red#\"", "\"blue\""], "1"),
    ("dictionary<uint16, large_utf8>", &["\"red#\"", "\"blue\""], "1"),
    ("dictionary<int64, utf8_view>", &["\"red#\"", "\"blue\""], "1"),
    ("dictionary<int16, int64>", &["1#", "2", "null"], "\"x\""),
    ("dictionary<int16, binary>", &["\"3q2+7w==\""], "1"),
    ("dictionary<uint8, timestamp(us)>", &["\"2024-02-29T10:11:12\"", "#"], "\"x\""),
    ("dictionary<int16, binary_view>", &["\"3q2+7w==\""], "1"),
    ("dictionary<int16, fixed_size_binary(4)>", &["\"3q2+7w==\""], "1"),
    ("dictionary<int16, float64>", &["0.5", "#"], "\"x\""),
    ("dictionary<int16, decimal128(10, 2)>", &["12.50", "#"], "\"x\""),
    ("dictionary<int16, date32>", &["\"2024-02-29\"", "#"], "\"x\""),
    ("list<dictionary<int8, utf8_view>>", &["[\"red#\",\"blue\",null]", "[]"], "1"),
    ("list<dictionary<int8, utf8>>", &["[\"red#\",\"blue\",null]", "[]"], "1"),
    (
        "struct<a: dictionary<int8, utf8>, b: dictionary<int32, utf8>>",
        &["{\"a\":\"#\",\"b\":\"b#\"}"],
        "1",
    ),
    ("map<utf8, dictionary<int16, utf8>>", &["{\"x\":\"red#\"}"], "1"),
];

/// Requests of a stream: other values of a dictionary in each.
const REQUESTS: usize = 3;

fn name(number: usize) -> String {
    format!("t{number}")
}

/// What a request says; `bad` adds a record that does not match the schema.
fn text(values: &[&str], bad: &str, request: usize) -> String {
    let mut all: Vec<String> =
        values.iter().map(|value| value.replace('#', &request.to_string())).collect();
    all.insert(all.len() / 2, bad.to_owned());
    all.iter().map(|value| format!("{{\"v\":{value}}}\n")).collect()
}

/// What the oracle makes of it.
fn wanted(schema: &str, on_error: OnError, texts: &[String]) -> Vec<String> {
    let schema = arrowsmith_plan::load::load_schema(schema).unwrap();
    let plan = Arc::new(Plan::new(schema.into()).unwrap());
    let mut options = DecodeOptions::default();
    options.on_error = on_error;
    let mut rows = Vec::new();
    for text in texts {
        let mut decoder = OracleEngine.decoder(&plan, &options).unwrap();
        decoder.decode(&Chunk::new(text.as_bytes(), Framing::Lines)).unwrap();
        rows.extend(decoder.flush().unwrap().map(|batch| render::rows(&batch)).unwrap_or_default());
    }
    rows
}

/// The batches of a folder, of files of both kinds, in the order of their names; Parquet as the
/// types that Arrow wrote, or as its own.
fn stored(folder: &Path, typed: bool) -> Vec<RecordBatch> {
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let file = || File::open(&path).unwrap();
        match path.extension().and_then(|kind| kind.to_str()) {
            Some("arrow") => {
                all.extend(FileReader::try_new(file(), None).unwrap().map(Result::unwrap));
            }
            Some("parquet") => {
                let options = ArrowReaderOptions::new().with_skip_arrow_metadata(!typed);
                let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file(), options);
                all.extend(reader.unwrap().build().unwrap().map(Result::unwrap));
            }
            _ => {}
        }
    }
    all
}

/// The batch with its column as the type of the schema.
fn as_asked(batch: &RecordBatch, asked: &Schema) -> RecordBatch {
    let column = arrow_cast::cast(batch.column(0), asked.field(0).data_type()).unwrap();
    assert_ne!(column.data_type(), batch.column(0).data_type());
    RecordBatch::try_new(Arc::new(asked.clone()), vec![column]).unwrap()
}

/// The same batches as Pulsar and Flight carry them, each by itself, and as standard output does,
/// one after another.
fn as_messages(batches: &[RecordBatch], wanted: &[String], schema: &str) {
    let mut alone = Vec::new();
    let mut stream = StreamWriter::try_new(Vec::new(), &batches[0].schema()).unwrap();
    for batch in batches {
        let payload = encode(batch, Layout::SelfContained, Compression::Zstd).unwrap();
        alone.extend(decode(&payload).unwrap().iter().flat_map(render::rows));
        stream.write(batch).unwrap();
    }
    assert_eq!(alone, wanted, "{schema} as messages");
    let stream = stream.into_inner().unwrap();
    let together = StreamReader::try_new(&stream[..], None).unwrap();
    let together: Vec<String> = together.flat_map(|batch| render::rows(&batch.unwrap())).collect();
    assert_eq!(together, wanted, "{schema} as a stream");
}

#[test]
fn every_type_comes_back_from_every_sink_under_every_policy() {
    for (policy, on_error) in [("reject", OnError::Skip), ("null", OnError::Null)] {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = vec![
            "service.http=\"127.0.0.1:0\"".to_owned(),
            "service.threads=2".to_owned(),
            "service.drain_seconds=60".to_owned(),
        ];
        let out = |number: usize, format: &str| folder.path().join(name(number)).join(format);
        for (number, (schema, ..)) in TYPES.iter().enumerate() {
            let mut set = |key: &str, value: &str| {
                settings.push(format!("stream.{}.{key}={value:?}", name(number)));
            };
            set("schema", &format!("v: {schema}"));
            set("on_error", policy);
            set("bad_requests", "keep");
            set("rejects", folder.path().join("rejects").to_str().unwrap());
            for (sink, format) in ["arrow", "parquet"].iter().enumerate() {
                set(&format!("sink.{sink}.type"), "directory");
                set(&format!("sink.{sink}.path"), out(number, format).to_str().unwrap());
                set(&format!("sink.{sink}.format"), format);
                set(&format!("sink.{sink}.fsync"), "never");
            }
        }
        let service = Service::start(Config::load(None, &settings).unwrap()).unwrap();
        let mut texts = Vec::new();
        for (number, (schema, values, bad)) in TYPES.iter().enumerate() {
            let mut sent = Vec::new();
            for request in 0..REQUESTS {
                let text = text(values, bad, request);
                let path = format!("/v1/{}", name(number));
                let (status, answer) = post(&service, &path, "", text.as_bytes());
                assert!(
                    [200, 207].contains(&status) || status == 422 || status == 400,
                    "{schema}: {status} {answer}"
                );
                sent.push(text);
            }
            texts.push(sent);
        }
        assert!(service.drain().is_complete());
        for (number, (schema, ..)) in TYPES.iter().enumerate() {
            let wanted = wanted(&format!("v: {schema}"), on_error, &texts[number]);
            assert!(!wanted.is_empty());
            for format in ["arrow", "parquet"] {
                let batches = stored(&out(number, format), true);
                let asked = arrowsmith_plan::load::load_schema(&format!("v: {schema}")).unwrap();
                // Parquet has no seconds, and dates of days only.
                let is_cast = format == "parquet"
                    && ["(s", "date64"].iter().any(|name| schema.contains(name))
                    && !schema.contains("duration");
                let batches: Vec<RecordBatch> = match is_cast {
                    true => batches.iter().map(|batch| as_asked(batch, &asked)).collect(),
                    false => batches,
                };
                let rows: Vec<String> = batches.iter().flat_map(render::rows).collect();
                assert_eq!(rows, wanted, "{schema} as {format}, {policy}");
                let kept = batches[0].schema();
                // In Parquet other readers fail at dictionaries of views and of fixed-size binary.
                let plain = ["view", "fixed_size_binary"].iter().any(|name| schema.contains(name));
                if format == "arrow" || !(schema.contains("dictionary") && plain) {
                    let (kept, asked) = (with_usual_names(kept.field(0)), asked.field(0));
                    assert_eq!(kept, with_usual_names(asked), "{schema} as {format}");
                }
                as_messages(&batches, &wanted, schema);
            }
        }
        let refused: BTreeSet<_> = fs::read_dir(folder.path().join("rejects"))
            .map(|entries| entries.map(|entry| entry.unwrap().file_name()).collect())
            .unwrap_or_default();
        let of_sinks = |name: &&std::ffi::OsString| name.to_str().unwrap().contains(".directory");
        assert_eq!(refused.iter().filter(of_sinks).count(), 0, "a sink refused messages");
    }
}

#[test]
fn dictionaries_with_too_many_values_are_cut_and_nothing_of_them_is_lost() {
    for format in ["arrow", "parquet"] {
        let folder = tempfile::tempdir().unwrap();
        let settings = [
            "service.http=\"127.0.0.1:0\"".to_owned(),
            "stream.s.schema=\"v: dictionary<int8, utf8>, n: int64\"".to_owned(),
            format!("stream.s.rejects={:?}", folder.path().join("rejects")),
            "stream.s.sink.0.type=directory".to_owned(),
            format!("stream.s.sink.0.format={format}"),
            format!("stream.s.sink.0.path={:?}", folder.path().join("out")),
        ];
        let service = Service::start(Config::load(None, &settings).unwrap()).unwrap();
        let mut wanted = Vec::new();
        for request in 0..4 {
            let line = |n: usize| format!("{{\"v\":\"v{}\",\"n\":{n}}}\n", (n * 7) % 300);
            let text: String = (request * 500..(request + 1) * 500).map(line).collect();
            let (status, answer) = post(&service, "/v1/s", "", text.as_bytes());
            assert_eq!(status, 200, "{answer}");
            wanted.extend((request * 500..(request + 1) * 500).map(|n| ((n * 7) % 300, n)));
        }
        assert!(service.drain().is_complete());
        let mut found = Vec::new();
        // The reader of the `parquet` crate has no room for as many values as an int8 can number.
        for batch in stored(&folder.path().join("out"), false) {
            for row in render::rows(&batch) {
                let digits = row.split(|c: char| !c.is_ascii_digit()).filter(|t| !t.is_empty());
                let numbers: Vec<usize> = digits.map(|text| text.parse().unwrap()).collect();
                found.push((numbers[0], numbers[numbers.len() - 1]));
            }
        }
        assert_eq!(found, wanted, "{format}");
        assert!(!folder.path().join("rejects").exists());
    }
}
