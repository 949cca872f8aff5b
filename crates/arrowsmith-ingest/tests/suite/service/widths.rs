// SPDX-License-Identifier: Apache-2.0
//! Text that becomes much more than it is: bounded before it does.

use std::io::Write;
use std::net::Shutdown;
use std::path::Path;

use arrow_array::RecordBatch;
use arrowsmith_ingest::Service;

use super::{batches, post, start, tcp, wait_for};

const MEMORY: usize = 8 << 20;

/// A row of the columns below, whatever its record is.
const ROW_BYTES: usize = 40 * 8;

/// A service whose rows have 40 columns of eight bytes.
fn wide(folder: &Path, more: &[&str]) -> Service {
    let columns: Vec<String> = (0..40).map(|n| format!("c{n}: int64")).collect();
    let columns = columns.join(", ");
    let settings = [
        format!("stream.s.schema=\"{columns}, l: list<struct<{columns}>>\""),
        format!("service.memory={MEMORY}"),
        "limits.body_bytes=4MiB".to_owned(),
        "limits.record_bytes=2MiB".to_owned(),
    ];
    let all: Vec<&str> = settings.iter().map(String::as_str).chain(more.iter().copied()).collect();
    start(folder, &all)
}

/// The rows of all batches; none is larger than a part of memory, and what its text needs.
fn rows(folder: &Path) -> usize {
    let batches = batches(&folder.join("out"));
    for batch in &batches {
        assert!(batch.num_rows() * ROW_BYTES < MEMORY / 2, "{} rows", batch.num_rows());
    }
    batches.iter().map(RecordBatch::num_rows).sum()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text).unwrap();
    packed.finish().unwrap()
}

#[test]
fn a_request_that_would_become_too_much_is_refused_and_one_in_parts_is_taken() {
    let packed = gzip(&b"{}\n".repeat(40_000));
    let header = "Content-Encoding: gzip\r\n";
    let folder = tempfile::tempdir().unwrap();
    let service = wide(folder.path(), &[]);
    let (status, body) = post(&service, "/v1/s", header, &packed);
    assert_eq!(status, 413);
    assert!(body.contains("bytes of Arrow data"), "{body}");
    assert_eq!(post(&service, "/v1/s", "", &b"{}\n".repeat(5000)).0, 200);
    assert!(service.drain().is_complete());
    assert_eq!(rows(folder.path()), 5000);

    let folder = tempfile::tempdir().unwrap();
    let service = wide(folder.path(), &["stream.s.bad_requests=keep"]);
    let (status, body) = post(&service, "/v1/s", header, &packed);
    assert_eq!((status, &*body), (200, r#"{"records":40000,"accepted":40000,"rejected":0}"#));
    let text = [&b"{}\n".repeat(10_000)[..], b"nonsense\n", &b"{}\n".repeat(10_000)].concat();
    let (status, body) = post(&service, "/v1/s", "", &text);
    assert_eq!(status, 400);
    assert!(body.starts_with(r#"{"records":20001,"accepted":20000,"rejected":1,"#), "{body}");
    assert!(body.contains(r#""record":10000,"line":10001,"offset":30000,"#), "{body}");
    assert!(service.drain().is_complete());
    assert_eq!(rows(folder.path()), 60_000);
}

/// Items that are not objects become null ones, of the same width.
#[test]
fn items_that_become_null_are_refused_before_they_do() {
    let header = "Content-Encoding: gzip\r\n";
    for (setting, item) in [
        ("stream.s.on_error=null", "1"),
        ("stream.s.on_error=null", "\"\""),
        ("stream.s.coerce=nulls \"-\"", "\"-\""),
    ] {
        let packed = |count: usize| {
            gzip(format!("{{\"l\":[{}]}}\n", vec![item; count].join(",")).as_bytes())
        };
        let folder = tempfile::tempdir().unwrap();
        let service = wide(folder.path(), &[setting]);
        let (status, body) = post(&service, "/v1/s", header, &packed(200_000));
        assert_eq!(status, 413, "{setting}: {body}");
        assert!(body.contains("bytes of Arrow data"), "{body}");
        assert_eq!(post(&service, "/v1/s", header, &packed(1000)).0, 200);
        assert!(service.drain().is_complete());
        assert_eq!(rows(folder.path()), 1);
    }
}

#[test]
fn lines_of_a_connection_go_in_parts_and_one_that_no_memory_holds_is_a_reject() {
    let folder = tempfile::tempdir().unwrap();
    let service = wide(folder.path(), &["stream.s.acknowledge=true"]);
    let mut socket = tcp(&service);
    socket.write_all(&b"{}\n".repeat(20_000)).unwrap();
    // One of 160 bytes an item, and others around it that fit.
    let items = |count: usize| format!("{{\"l\":[{}]}}\n", vec!["{}"; count].join(","));
    for count in [1000, 100_000, 100_000, 1000] {
        socket.write_all(items(count).as_bytes()).unwrap();
    }
    socket.write_all(&b"{}\n".repeat(20_000)).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    let mut told = String::new();
    std::io::Read::read_to_string(&mut socket, &mut told).unwrap();
    assert_eq!(told.lines().last(), Some("40004"));
    wait_for("all", || service.status()["totals"]["received_records"] == 40_004);
    let stream = service.drain().streams["s"];
    assert_eq!((stream.published, stream.rejected), (40_002, 2));
    assert_eq!(rows(folder.path()), 40_002);
    let rejects = std::fs::read_to_string(folder.path().join("rejects/s.rejects.jsonl")).unwrap();
    let lines: Vec<u64> = rejects
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["line"].as_u64().unwrap()
        })
        .collect();
    assert_eq!(lines, [20_002, 20_003]);
}

#[test]
fn rejects_of_very_many_lines_are_counted_where_they_need_not_be_kept() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &[]);
    let (status, body) = post(&service, "/v1/s", "", &b"x\n".repeat(300_000));
    assert_eq!(status, 400);
    assert!(body.starts_with(r#"{"records":300000,"accepted":0,"rejected":300000,"#), "{body}");
    assert_eq!(body.matches("\"kind\"").count(), 20);
    let stream = service.drain().streams["s"];
    assert_eq!((stream.received, stream.rejected), (300_000, 300_000));
    assert!(!folder.path().join("rejects/s.rejects.jsonl").exists());
}

#[test]
fn a_row_that_memory_cannot_hold_is_no_schema() {
    let schema = "stream.s.schema=\"n: fixed_size_list<int8, 2147483647>\"".to_owned();
    let error = arrowsmith_ingest::Config::load(None, &[schema]).unwrap_err().to_string();
    assert!(error.contains("stream.s.schema: a row takes"), "{error}");
}
