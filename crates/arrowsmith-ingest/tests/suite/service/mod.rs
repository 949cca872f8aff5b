// SPDX-License-Identifier: Apache-2.0
//! The service in this process, with real sockets and files: what goes in comes out, in order, and
//! is accounted for.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_ipc::reader::FileReader;
use arrowsmith_ingest::{Config, Service};

mod answers;
mod auto;
mod cut;
mod faults;
mod follow;
mod slots;
mod types;
mod unavailable;
mod widths;

/// The configuration of one stream `s` with the field `n`, and more settings.
fn config(folder: &Path, settings: &[&str]) -> Config {
    let mut all = vec![
        "service.http=\"127.0.0.1:0\"".to_owned(),
        "service.threads=2".to_owned(),
        "service.drain_seconds=10".to_owned(),
        "stream.s.schema=\"n: int64 not null\"".to_owned(),
        "stream.s.tcp=[\"127.0.0.1:0\"]".to_owned(),
        format!("stream.s.rejects={:?}", folder.join("rejects")),
        "stream.s.sink.0.type=directory".to_owned(),
        format!("stream.s.sink.0.path={:?}", folder.join("out")),
    ];
    all.extend(settings.iter().map(|setting| (*setting).to_owned()));
    Config::load(None, &all).unwrap()
}

fn start(folder: &Path, settings: &[&str]) -> Service {
    Service::start(config(folder, settings)).unwrap()
}

fn tcp(service: &Service) -> TcpStream {
    TcpStream::connect(service.addresses()["tcp/s/0"]).unwrap()
}

/// Lines of the field `n`.
fn lines(numbers: std::ops::Range<i64>) -> Vec<u8> {
    numbers.flat_map(|n| format!("{{\"n\":{n}}}\n").into_bytes()).collect()
}

/// All batches of a folder's files, in the order of their names.
fn batches(folder: &Path) -> Vec<RecordBatch> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|name| name.extension().is_some_and(|e| e == "arrow"));
    names.sort();
    let mut all = Vec::new();
    for name in names {
        for batch in FileReader::try_new(File::open(name).unwrap(), None).unwrap() {
            all.push(batch.unwrap());
        }
    }
    all
}

fn numbers(folder: &Path) -> Vec<i64> {
    let column =
        |batch: &RecordBatch| batch.column(0).as_primitive::<Int64Type>().values().to_vec();
    batches(folder).iter().flat_map(column).collect()
}

fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(120);
    while !condition() {
        assert!(Instant::now() < until, "{what} did not happen in time");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Status and body of a request.
fn post(service: &Service, path: &str, headers: &str, body: &[u8]) -> (u16, String) {
    request(service, "POST", path, headers, body)
}

fn request(
    service: &Service,
    method: &str,
    path: &str,
    headers: &str,
    body: &[u8],
) -> (u16, String) {
    let mut socket = TcpStream::connect(service.addresses()["http"]).unwrap();
    let len = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: {len}\r\n{headers}\r\n"
    );
    socket.write_all(head.as_bytes()).unwrap();
    // A request that is refused at once may be answered before all of it is sent.
    let _ = socket.write_all(body);
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status, body.to_owned())
}

#[test]
fn lines_become_files_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &["stream.s.sink.0.roll_bytes=100000"]);
    let mut socket = tcp(&service);
    let text = lines(0..50_000);
    for part in text.chunks(7919) {
        socket.write_all(part).unwrap();
    }
    drop(socket);
    wait_for("all", || service.status()["totals"]["published_records"] == 50_000);
    let summary = service.drain();
    let stream = summary.streams["s"];
    assert_eq!((stream.received, stream.published, stream.rejected), (50_000, 50_000, 0));
    assert!(summary.is_complete());
    assert_eq!(numbers(&folder.path().join("out")), (0..50_000).collect::<Vec<_>>());
}

#[test]
fn many_connections_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &["stream.s.order=column"]);
    let address = service.addresses()["tcp/s/0"];
    let senders: Vec<_> = (0..8_i64)
        .map(|sender| {
            std::thread::spawn(move || {
                let mut socket = TcpStream::connect(address).unwrap();
                for part in lines(sender * 10_000..(sender + 1) * 10_000).chunks(3001) {
                    socket.write_all(part).unwrap();
                }
            })
        })
        .collect();
    for sender in senders {
        sender.join().unwrap();
    }
    wait_for("all", || service.status()["totals"]["published_records"] == 80_000);
    assert!(service.drain().is_complete());
    let mut last = std::collections::HashMap::new();
    let mut all = Vec::new();
    for batch in batches(&folder.path().join("out")) {
        let numbers = batch.column(0).as_primitive::<Int64Type>();
        let connections = batch.column_by_name("_connection").unwrap().as_primitive::<UInt64Type>();
        let sequences = batch.column_by_name("_sequence").unwrap().as_primitive::<UInt64Type>();
        for row in 0..batch.num_rows() {
            let (n, sequence) = (numbers.value(row), sequences.value(row));
            assert_eq!(u64::try_from(n % 10_000).unwrap(), sequence);
            if let Some(before) = last.insert(connections.value(row), n) {
                assert_eq!(n, before + 1);
            }
            all.push(n);
        }
    }
    all.sort_unstable();
    assert_eq!(all, (0..80_000).collect::<Vec<_>>());
}

#[test]
fn bad_records_are_told_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &[]);
    let mut socket = tcp(&service);
    socket.write_all(b"{\"n\":1}\n\n{\"n\":\"x\"}\n\xff\xfe\n{\"n\":2}\n{\"n\":3").unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    wait_for("all", || service.status()["totals"]["received_records"] == 5);
    let stream = service.drain().streams["s"];
    assert_eq!((stream.received, stream.published, stream.rejected), (5, 2, 3));
    let text = fs::read_to_string(folder.path().join("rejects/s.rejects.jsonl")).unwrap();
    let rejects: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let place = |at: usize| (rejects[at]["line"].as_u64(), rejects[at]["offset"].as_u64());
    assert_eq!(place(0), (Some(3), Some(14)));
    assert_eq!((&rejects[0]["kind"], &rejects[0]["path"]), (&"wrong-type".into(), &"n".into()));
    assert_eq!(rejects[0]["text"], "{\"n\":\"x\"}");
    assert_eq!(place(1).0, Some(4));
    assert_eq!(rejects[1]["text_base64"], "//4=");
    assert_eq!(place(2).0, Some(6));
}

#[test]
fn the_reference_engine_gives_the_same_account() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &["stream.s.engine=reference"]);
    let mut socket = tcp(&service);
    socket.write_all(&lines(0..1000)).unwrap();
    socket.write_all(b"{\"n\":\"x\"}\n\xff\xfe\n").unwrap();
    socket.write_all(&lines(1000..1010)).unwrap();
    drop(socket);
    wait_for("all", || service.status()["totals"]["received_records"] == 1012);
    let stream = service.drain().streams["s"];
    assert_eq!((stream.received, stream.published, stream.rejected), (1012, 1010, 2));
    assert_eq!(numbers(&folder.path().join("out")), (0..1010).collect::<Vec<_>>());
}

#[test]
fn requests_are_answered_when_they_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &["limits.body_bytes=100000"]);
    let (status, body) = post(&service, "/v1/s", "", &lines(0..1000));
    assert_eq!((status, &*body), (200, r#"{"records":1000,"accepted":1000,"rejected":0}"#));
    let (status, body) = post(&service, "/v1/s", "", b"{\"n\":1}\n{\"n\":true}\n");
    assert_eq!(status, 400);
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&body["accepted"], &body["rejects"][0]["line"]), (&0.into(), &2.into()));
    assert_eq!(post(&service, "/v1/other", "", b"").0, 404);
    assert_eq!(post(&service, "/v1/s", "", &lines(0..20_000)).0, 413);
    assert_eq!(post(&service, "/v1/s", "Content-Encoding: br\r\n", b"x").0, 415);
    assert_eq!(post(&service, "/v1/s", "Content-Encoding: gzip\r\n", b"x").0, 400);
    let packed = zstd::encode_all(&lines(1000..2000)[..], 1).unwrap();
    assert_eq!(post(&service, "/v1/s", "Content-Encoding: zstd\r\n", &packed).0, 200);
    let bomb = zstd::encode_all(&vec![b' '; 10_000_000][..], 1).unwrap();
    assert_eq!(post(&service, "/v1/s", "Content-Encoding: zstd\r\n", &bomb).0, 413);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&lines(2000..3000)).unwrap();
    let packed = packed.finish().unwrap();
    assert_eq!(post(&service, "/v1/s", "Content-Encoding: gzip\r\n", &packed).0, 200);
    assert_eq!(post(&service, "/v1/s", "", b"").1, r#"{"records":0,"accepted":0,"rejected":0}"#);
    let stream = service.drain().streams["s"];
    assert_eq!((stream.received, stream.published, stream.rejected), (3002, 3000, 2));
    assert_eq!(numbers(&folder.path().join("out")), (0..3000).collect::<Vec<_>>());
}

#[test]
fn the_good_records_of_a_request_are_kept_by_option() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &["stream.s.bad_requests=keep"]);
    let (status, body) = post(&service, "/v1/s", "", b"{\"n\":1}\nnonsense\n{\"n\":2}");
    assert_eq!(status, 400);
    assert!(body.starts_with(r#"{"records":3,"accepted":2,"rejected":1,"#), "{body}");
    let stream = service.drain().streams["s"];
    assert_eq!((stream.received, stream.published, stream.rejected), (3, 2, 1));
    assert_eq!(numbers(&folder.path().join("out")), [1, 2]);
}

#[test]
fn what_is_seen_from_outside() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &["service.admin_token=secret"]);
    post(&service, "/v1/s", "", &lines(0..10));
    assert_eq!(request(&service, "GET", "/healthz", "", b"").0, 200);
    assert_eq!(request(&service, "GET", "/readyz", "", b"").0, 200);
    assert_eq!(request(&service, "GET", "/metrics", "", b"").0, 401);
    assert_eq!(request(&service, "GET", "/v1/status.json?token=wrong", "", b"").0, 401);
    let (status, text) =
        request(&service, "GET", "/metrics", "Authorization: Bearer secret\r\n", b"");
    assert_eq!(status, 200);
    let line = r#"arrowsmith_ingest_published_records_total{sink="directory",stream="s"} 10"#;
    assert!(text.contains(line), "{text}");
    let (_, status) = request(&service, "GET", "/v1/status.json?token=secret", "", b"");
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["totals"]["published_records"], 10);
    assert!(status["streams"][0]["latency_ms"]["p99"].as_f64().unwrap() > 0.0);
    assert!(service.drain().is_complete());
}

#[test]
fn connections_are_told_what_is_settled() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["stream.s.acknowledge=true", "stream.s.tokens=[\"t1\",\"t2\"]"];
    let service = start(folder.path(), &settings);
    let mut socket = tcp(&service);
    socket.write_all(b"t2\n").unwrap();
    socket.write_all(&lines(0..1000)).unwrap();
    socket.write_all(b"bad\n").unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    let mut told = String::new();
    socket.read_to_string(&mut told).unwrap();
    assert_eq!(told.lines().last(), Some("1001"), "{told}");
    let mut wrong = tcp(&service);
    wrong.write_all(b"t3\n{\"n\":1}\n").unwrap();
    let _ = wrong.read_to_string(&mut told);
    let stream = service.drain().streams["s"];
    assert_eq!((stream.received, stream.published, stream.rejected), (1001, 1000, 1));
}

#[test]
fn another_schema_is_taken_without_dropping_a_connection() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = start(folder.path(), &[]);
    let mut socket = tcp(&service);
    socket.write_all(b"{\"n\":1,\"m\":7}\n").unwrap();
    wait_for("the first", || service.status()["totals"]["published_records"] == 1);
    service
        .reload(config(folder.path(), &["stream.s.schema=\"n: int64 not null, m: int64\""]))
        .unwrap();
    socket.write_all(b"{\"n\":2,\"m\":8}\n").unwrap();
    wait_for("the second", || service.status()["totals"]["published_records"] == 2);
    assert!(service.drain().is_complete());
    let columns: Vec<usize> =
        batches(&folder.path().join("out")).iter().map(RecordBatch::num_columns).collect();
    assert_eq!(columns, [1, 2]);
}

#[test]
fn messages_are_cut_and_a_row_that_fits_in_none_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let settings =
        ["stream.s.schema=\"n: int64 not null, t: utf8\"", "stream.s.message_bytes=20000"];
    let service = start(folder.path(), &settings);
    let mut socket = tcp(&service);
    let large = format!("{{\"n\":-1,\"t\":\"{}\"}}\n", "x".repeat(30_000));
    let mut text = Vec::new();
    for n in 0..2000 {
        writeln!(text, "{{\"n\":{n},\"t\":\"{}\"}}", "y".repeat(n % 50)).unwrap();
        if n == 1000 {
            text.extend_from_slice(b"\n");
            text.extend_from_slice(large.as_bytes());
        }
    }
    socket.write_all(&text).unwrap();
    drop(socket);
    wait_for("all", || service.status()["totals"]["received_records"] == 2001);
    let stream = service.drain().streams["s"];
    assert_eq!((stream.received, stream.published, stream.rejected), (2001, 2000, 1));
    let out = batches(&folder.path().join("out"));
    assert!(out.len() > 3);
    assert_eq!(numbers(&folder.path().join("out")), (0..2000).collect::<Vec<_>>());
    let reject = fs::read_to_string(folder.path().join("rejects/s.rejects.jsonl")).unwrap();
    let reject: serde_json::Value = serde_json::from_str(&reject).unwrap();
    assert_eq!(reject["text"].as_str().map(str::len), Some(large.len() - 1));
    assert_eq!(reject["line"], 1003);
}

#[test]
fn one_to_one_and_all_to_one_give_the_same() {
    for parsing in ["one-to-one", "all-to-one"] {
        let folder = tempfile::tempdir().unwrap();
        let service = start(folder.path(), &[&format!("service.parsing={parsing}")]);
        tcp(&service).write_all(&lines(0..100_000)).unwrap();
        wait_for("all", || service.status()["totals"]["published_records"] == 100_000);
        assert!(service.drain().is_complete());
        assert_eq!(numbers(&folder.path().join("out")), (0..100_000).collect::<Vec<_>>());
    }
}

#[test]
fn files_are_followed_over_a_restart_and_a_rotation() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("a.log");
    fs::write(&log, lines(0..10)).unwrap();
    let pattern = folder.path().join("*.log");
    let settings = [
        format!("stream.s.follow=[{pattern:?}]"),
        format!("stream.s.follow_state={:?}", folder.path().join("places")),
    ];
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let append = |path: &Path, text: &[u8]| {
        File::options().create(true).append(true).open(path).unwrap().write_all(text).unwrap();
    };
    let service = start(folder.path(), &settings);
    wait_for("the first", || service.status()["totals"]["published_records"] == 10);
    append(&log, b"{\"n\":");
    append(&log, b"10}\n");
    wait_for("the next", || service.status()["totals"]["published_records"] == 11);
    assert!(service.drain().is_complete());
    append(&log, &lines(11..15));
    fs::rename(&log, folder.path().join("a.1.log")).unwrap();
    append(&log, &lines(15..20));
    let service = start(folder.path(), &settings);
    wait_for("the rest", || service.status()["totals"]["published_records"] == 9);
    assert!(service.drain().is_complete());
    let mut all = numbers(&folder.path().join("out"));
    all.sort_unstable();
    assert_eq!(all, (0..20).collect::<Vec<_>>());
}
