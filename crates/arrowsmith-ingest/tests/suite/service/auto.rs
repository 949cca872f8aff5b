// SPDX-License-Identifier: Apache-2.0
//! `schema = "auto"`: whatever appears, wherever it first appears, is stored, in order.

use std::fs;
use std::io::Write;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use arrowsmith_core::sink::{Output, Sink};
use arrowsmith_ingest::{Config, Service};
use arrowsmith_sink::json::{JsonOptions, JsonSink};
use arrowsmith_testkit::drift;
use serde_json::Value;

use super::{batches, config, post, start, tcp, wait_for};

const AUTO: &str = "stream.s.schema=auto";

/// The values of all batches, in order, read back from JSON.
fn stored(folder: &Path) -> Vec<Value> {
    let mut values = Vec::new();
    for batch in batches(&folder.join("out")) {
        values.extend(rows(folder, &batch));
    }
    values
}

fn rows(folder: &Path, batch: &RecordBatch) -> Vec<Value> {
    let path = folder.join("batch.jsonl");
    let output = Output::create(&path).unwrap();
    let mut sink = JsonSink::new(output, &batch.schema(), &JsonOptions::default()).unwrap();
    sink.write(batch).unwrap();
    Box::new(sink).finish().unwrap();
    let text = fs::read_to_string(&path).unwrap();
    text.lines().map(|line| plain(serde_json::from_str(line).unwrap())).collect()
}

/// A value without fields that are null, its numbers as floats if they are exact so.
fn plain(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| (key, plain(value)));
            Value::Object(fields.filter(|(_, value)| !value.is_null()).collect())
        }
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.abs() < 2_f64.powi(53) => float.into(),
            _ => Value::Number(number),
        },
        value => value,
    }
}

fn published(service: &Service) -> u64 {
    service.status()["totals"]["published_records"].as_u64().unwrap()
}

#[test]
fn keys_and_types_that_come_late_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &[AUTO]);
    let mut socket = tcp(&service);
    let mut text = Vec::new();
    let mut expected = Vec::new();
    for n in 0..60_000 {
        if n == 30_000 {
            // Parsers take what waits together.
            socket.write_all(&std::mem::take(&mut text)).unwrap();
            wait_for("the first version", || published(&service) == 30_000);
        }
        let line = match n {
            0..30_000 => format!("{{\"n\":{n},\"z\":null}}"),
            30_000..50_000 => format!("{{\"n\":{n}.5,\"b\":\"late {n}\"}}"),
            _ => format!("{{\"n\":\"{n}\",\"z\":[{{\"y\":{n}}}]}}"),
        };
        expected.push(plain(serde_json::from_str(&line).unwrap()));
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    socket.write_all(&text).unwrap();
    drop(socket);
    wait_for("all", || published(&service) == 60_000);
    let status = service.status();
    let stream = &status["streams"][0];
    let versions = stream["schema_versions"].as_u64().unwrap();
    assert!((2..10).contains(&versions), "{versions}");
    assert!(stream["schema"].as_str().unwrap().contains("b: utf8"), "{stream}");
    let summary = service.drain();
    assert!(summary.is_complete());
    assert_eq!(summary.streams["s"].rejected, 0);
    assert!(stored(folder.path()) == expected);
    let all = batches(&folder.path().join("out"));
    assert_eq!(all[0].schema().field_with_name("n").unwrap().data_type(), &DataType::Int64);
    // The last version need not be that of the last records: parsers add to it as they come.
    let schemas = all.iter().map(RecordBatch::schema);
    let last = schemas.max_by_key(|schema| schema.fields().len()).unwrap();
    assert_eq!(last.fields().len(), 3);
    assert_eq!(last.field_with_name("n").unwrap().metadata().len(), 1, "json: {last}");
}

#[test]
fn records_that_drift_are_stored_as_they_are() {
    for seed in 0..40 {
        let folder = tempfile::tempdir().unwrap();
        let service = start(folder.path(), &[AUTO, "service.threads=3"]);
        let (mut text, mut expected) = (String::new(), Vec::new());
        for record in drift::records(seed, false) {
            let mut line = String::new();
            record.write(&mut line);
            // Not all of its numbers are ones that the oracle represents.
            if let Ok(value) = serde_json::from_str(&line) {
                expected.push(plain(value));
                text.push_str(&line);
                text.push('\n');
            }
        }
        let mut socket = tcp(&service);
        // Some buffers, in one order.
        for part in text.as_bytes().chunks(1 + text.len() / 5) {
            socket.write_all(part).unwrap();
            socket.flush().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        drop(socket);
        wait_for("all", || published(&service) == expected.len() as u64);
        assert!(service.drain().is_complete());
        assert_eq!(stored(folder.path()), expected, "seed {seed}");
    }
}

#[test]
fn lines_that_are_no_records_are_rejects_and_teach_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &[AUTO, "stream.s.bad_requests=keep"]);
    let text = b"{\"a\":1}\n{\"b\":\n{\"c\":tru}\n5\nnull\n{\"a\":2,\"d\":true}\n";
    let (status, body) = post(&service, "/v1/s", "", text);
    assert_eq!(status, 400);
    assert!(body.starts_with(r#"{"records":6,"accepted":2,"rejected":4,"#), "{body}");
    assert!(service.drain().is_complete());
    let all = batches(&folder.path().join("out"));
    let schema = all.last().unwrap().schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["a", "d"]);
}

#[test]
fn types_can_be_given_for_some_columns() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &[AUTO, "stream.s.types=\"n: utf8_view, m: int8\""]);
    assert_eq!(post(&service, "/v1/s", "", b"{\"n\":\"1\"}\n{\"n\":\"2\",\"o\":3}\n").0, 200);
    let (status, body) = post(&service, "/v1/s", "", b"{\"n\":\"1\",\"m\":300}\n");
    assert_eq!(status, 400, "{body}");
    assert!(service.drain().is_complete());
    let all = batches(&folder.path().join("out"));
    let schema = all.last().unwrap().schema();
    assert_eq!(schema.field_with_name("n").unwrap().data_type(), &DataType::Utf8View);
    assert_eq!(schema.field_with_name("m").unwrap().data_type(), &DataType::Int8);
    assert_eq!(schema.field_with_name("o").unwrap().data_type(), &DataType::Int64);
}

#[test]
fn what_outgrows_its_memory_is_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &[AUTO, "service.memory=64MiB"]);
    let keys: Vec<String> = (0..200).map(|key| format!("\"k{key}\":{key}")).collect();
    let wide = format!("{{{}}}\n", keys.join(","));
    let text = ["{}\n".repeat(25_000), wide.clone()].concat().into_bytes();
    // Granted for rows without columns, of which 200 are found: nothing of it is stored.
    let (status, body) = post(&service, "/v1/s", "", &text);
    assert!(status >= 500, "{status} {body}");
    assert_eq!(published(&service), 0);
    // The same again is granted what it needs, or told that it will never be.
    let (status, _) = post(&service, "/v1/s", "", &text);
    assert_eq!(status, 413);
    let some = ["{}\n".repeat(2000), wide].concat().into_bytes();
    assert_eq!(post(&service, "/v1/s", "", &some).0, 200);
    assert!(service.drain().is_complete());
    let rows: usize = batches(&folder.path().join("out")).iter().map(RecordBatch::num_rows).sum();
    assert_eq!(rows, 2001);
}

/// Records that are all different make a schema far wider than their text, before anything is
/// known of it and after; the sender does not wait for an answer.
#[test]
fn what_outgrows_what_was_granted_gets_more() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &[AUTO]);
    let mut expected = Vec::new();
    for keys in [100, 200] {
        let mut text = Vec::new();
        for n in 0..5_000 {
            let line = format!("{{\"k{}\":{n}}}", n % keys);
            expected.push(plain(serde_json::from_str(&line).unwrap()));
            text.extend_from_slice(line.as_bytes());
            text.push(b'\n');
        }
        tcp(&service).write_all(&text).unwrap();
        wait_for("all", || published(&service) == expected.len() as u64);
    }
    assert!(service.drain().is_complete());
    assert_eq!(stored(folder.path()), expected);
    assert!(!folder.path().join("rejects").exists());
}

#[test]
fn what_cannot_grow_is_refused_at_the_start() {
    let directory = ["stream.s.sink.0.type=directory", "stream.s.sink.0.path=out"];
    for (setting, why) in [
        ("stream.s.columns=[\"a\"]", "columns"),
        ("stream.s.layout=batch-only", "layout"),
        ("stream.s.sink.1.type=stdout", "stdout has one schema"),
    ] {
        let settings = [AUTO, directory[0], directory[1], setting].map(str::to_owned);
        let error = Config::load(None, &settings).err().unwrap().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn a_schema_that_grows_can_be_given_instead() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = start(folder.path(), &[AUTO]);
    assert_eq!(post(&service, "/v1/s", "", b"{\"n\":1,\"m\":2}\n").0, 200);
    // What is known stays.
    service.reload(config(folder.path(), &[AUTO])).unwrap();
    assert_eq!(post(&service, "/v1/s", "", b"{\"n\":2}\n").0, 200);
    service.reload(config(folder.path(), &["stream.s.schema=\"n: int64\""])).unwrap();
    assert_eq!(post(&service, "/v1/s", "", b"{\"n\":3,\"x\":1}\n").0, 200);
    assert!(service.drain().is_complete());
    let columns: Vec<usize> =
        batches(&folder.path().join("out")).iter().map(RecordBatch::num_columns).collect();
    assert_eq!(columns, [2, 2, 1]);
}
