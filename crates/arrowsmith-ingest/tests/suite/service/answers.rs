// SPDX-License-Identifier: Apache-2.0
//! Answers to senders against what is stored, for every protocol and every setting that decides
//! about bad records: 200 means that each record is stored, 400 with `refuse` that none is.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrowsmith_ingest::Service;
use serde_json::Value;

use super::{batches, post, start, tcp, wait_for};

/// Maximum size of a message, in bytes.
const MESSAGE_BYTES: usize = 20_000;

/// A line, as it is and as it fits the schema `n: int8, m: int64 not null, s: utf8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Good,
    /// A value that does not match a nullable field.
    Misfit,
    /// A value that does not match a non-nullable field.
    Fatal,
    Garbage,
    /// No message holds the row.
    Large,
    Blank,
}

use Line::{Blank, Fatal, Garbage, Good, Large, Misfit};

const CASES: &[&[Line]] = &[
    &[],
    &[Blank],
    &[Good],
    &[Misfit],
    &[Fatal],
    &[Large],
    &[Garbage],
    &[Good, Misfit, Good],
    &[Good, Fatal, Good],
    &[Good, Large, Good],
    &[Large, Good, Large],
    &[Misfit, Large, Good],
    &[Misfit, Misfit, Fatal, Misfit],
    &[Good, Blank, Garbage, Blank, Good, Misfit],
    &[Good, Good, Good, Good],
];

impl Line {
    fn text(self, id: i64) -> String {
        match self {
            Good => format!("{{\"n\":1,\"m\":{id}}}"),
            Misfit => format!("{{\"n\":1000,\"m\":{id}}}"),
            Fatal => format!("{{\"n\":1,\"m\":\"{id}\"}}"),
            Garbage => format!("{{\"n\":1,\"m\":{id}"),
            Large => format!("{{\"n\":1,\"m\":{id},\"s\":\"{}\"}}", "x".repeat(MESSAGE_BYTES)),
            Blank => " ".to_owned(),
        }
    }

    /// Whether its row is stored, where that is decided line by line.
    fn is_stored(self, nulls: bool) -> bool {
        matches!((self, nulls), (Good, _) | (Misfit, true))
    }
}

/// What was sent so far, and what has to be there at the end.
#[derive(Default)]
struct Account {
    next: i64,
    stored: Vec<i64>,
    /// Records met, lines of the rejects, records that are none of both.
    received: u64,
    rejects: usize,
    refused: u64,
}

impl Account {
    /// The text of some lines, and which of them are stored one by one.
    fn lines(&mut self, lines: &[Line], nulls: bool, end: &str) -> (String, Vec<i64>) {
        let mut text = String::new();
        let mut stored = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            text.push_str(&line.text(self.next));
            // The last line needs no end.
            text.push_str(if at + 1 == lines.len() && at % 2 == 0 { "" } else { end });
            if line.is_stored(nulls) {
                stored.push(self.next);
            }
            self.next += 1;
        }
        (text, stored)
    }
}

fn chunked(service: &Service, body: &[u8]) -> (u16, String) {
    let mut socket = TcpStream::connect(service.addresses()["http"]).unwrap();
    let head =
        "POST /v1/s HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    socket.write_all(head.as_bytes()).unwrap();
    for part in body.chunks(1000) {
        write!(socket, "{:x}\r\n", part.len()).unwrap();
        socket.write_all(part).unwrap();
        socket.write_all(b"\r\n").unwrap();
    }
    socket.write_all(b"0\r\n\r\n").unwrap();
    // The answer comes to a client that sends no more, too.
    socket.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    // One chunk.
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    (status, body.trim_start_matches(|c| c != '{').split('\r').next().unwrap().to_owned())
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text).unwrap();
    packed.finish().unwrap()
}

fn by_http(service: &Service, nulls: bool, refuse: bool, account: &mut Account) {
    for (number, lines) in CASES.iter().enumerate() {
        let (text, stored) = account.lines(lines, nulls, ["\n", "\r\n"][number % 2]);
        let text = text.as_bytes();
        let (status, body) = match number % 4 {
            0 => post(service, "/v1/s", "", text),
            1 => chunked(service, text),
            2 => post(service, "/v1/s", "Content-Encoding: gzip\r\n", &gzip(text)),
            _ => {
                let packed = zstd::encode_all(text, 1).unwrap();
                post(service, "/v1/s", "Content-Encoding: zstd\r\n", &packed)
            }
        };
        let told: Value = serde_json::from_str(&body).unwrap();
        let count = |name: &str| told[name].as_u64().unwrap_or(0);
        let records = lines.iter().filter(|line| **line != Blank).count() as u64;
        let mut bad = records - stored.len() as u64;
        let large = lines.iter().filter(|line| **line == Large).count() as u64;
        if refuse && bad > large {
            // No messages are made of a request that is refused before.
            bad -= large;
        }
        let nulled = lines.iter().filter(|line| nulls && **line == Misfit).count();
        let (accepted, fate) = match (bad, refuse) {
            (0, _) => (records, 200),
            (_, true) => (0, 400),
            (_, false) => (records - bad, 400),
        };
        let case = format!("{lines:?} {nulls} {refuse}: {status} {body}");
        assert_eq!(status, fate, "{case}");
        let counts = (count("records"), count("accepted"), count("rejected"));
        assert_eq!(counts, (records, accepted, bad), "{case}");
        // A good one among the reasons would lead a client astray.
        let reasons = told["rejects"]
            .as_array()
            .map_or(0, |all| all.iter().filter(|reject| reject["kept_as_null"] == false).count());
        assert_eq!(reasons as u64, bad, "{case}");
        account.received += records;
        if fate == 200 || !refuse {
            account.stored.extend(stored);
            account.rejects += usize::try_from(bad).unwrap() + nulled;
            assert_eq!(count("nulled"), nulled as u64, "{case}");
        } else {
            account.refused += records;
            assert_eq!(count("nulled"), 0, "{case}");
        }
    }
}

fn by_tcp(service: &Service, nulls: bool, acknowledge: bool, account: &mut Account) {
    for lines in CASES {
        let (text, stored) = account.lines(lines, nulls, "\n");
        let records = lines.iter().filter(|line| **line != Blank).count() as u64;
        let mut socket = tcp(service);
        socket.write_all(text.as_bytes()).unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        let mut told = String::new();
        socket.read_to_string(&mut told).unwrap();
        if acknowledge {
            assert_eq!(told.lines().last(), Some(&*records.to_string()), "{lines:?}");
        }
        let nulled = lines.iter().filter(|line| nulls && **line == Misfit).count();
        account.received += records;
        account.rejects += usize::try_from(records).unwrap() - stored.len() + nulled;
        account.stored.extend(stored);
    }
}

#[test]
fn two_hundred_means_stored_and_four_hundred_that_nothing_is_kept() {
    for nulls in [false, true] {
        for refuse in [true, false] {
            for acknowledge in [true, false] {
                let folder = tempfile::tempdir().unwrap();
                let settings = [
                    "stream.s.schema=\"n: int8, m: int64 not null, s: utf8\"".to_owned(),
                    format!("stream.s.on_error={}", if nulls { "null" } else { "reject" }),
                    format!("stream.s.bad_requests={}", if refuse { "refuse" } else { "keep" }),
                    format!("stream.s.acknowledge={acknowledge}"),
                    format!("stream.s.message_bytes={MESSAGE_BYTES}"),
                ];
                let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
                let service = start(folder.path(), &settings);
                let mut account = Account::default();
                by_http(&service, nulls, refuse, &mut account);
                by_tcp(&service, nulls, acknowledge, &mut account);
                wait_for("all", || {
                    service.status()["totals"]["received_records"] == account.received
                });
                check(folder.path(), service, &account);
            }
        }
    }
}

fn check(folder: &std::path::Path, service: Service, account: &Account) {
    let summary = service.drain();
    assert!(summary.is_complete(), "{summary:?}");
    let stream = summary.streams["s"];
    assert_eq!(stream.published, account.stored.len() as u64);
    assert_eq!(stream.received, account.received);
    let ids = |batch: &RecordBatch| {
        batch.column_by_name("m").unwrap().as_primitive::<Int64Type>().values().to_vec()
    };
    let mut found: Vec<i64> = batches(&folder.join("out")).iter().flat_map(ids).collect();
    found.sort_unstable();
    assert_eq!(found, account.stored);
    let rejects = fs::read_to_string(folder.join("rejects/s.rejects.jsonl")).unwrap_or_default();
    assert_eq!(rejects.lines().count(), account.rejects, "what is refused is in no file");
    assert_eq!(stream.rejected, stream.received - stream.published);
    let places = rejects.lines().fold(BTreeMap::<String, usize>::new(), |mut all, line| {
        let reject: Value = serde_json::from_str(line).unwrap();
        *all.entry(reject["kind"].as_str().unwrap().to_owned()).or_default() += 1;
        all
    });
    assert!(places.contains_key("record-too-long"), "{places:?}");
}

/// Without a length the body of HTTP/1.0 would be read as none, and answered by 200.
#[test]
fn a_body_without_a_length_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &[]);
    for (length, expected) in [("", "411"), ("Content-Length: 8\r\n", "200")] {
        let mut socket = TcpStream::connect(service.addresses()["http"]).unwrap();
        let request = format!("POST /v1/s HTTP/1.0\r\nHost: h\r\n{length}\r\n{{\"n\":1}}\n");
        socket.write_all(request.as_bytes()).unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        assert_eq!(answer.split(' ').nth(1), Some(expected), "{answer}");
    }
    assert!(service.drain().is_complete());
    assert_eq!(super::numbers(&folder.path().join("out")), [1]);
}

#[test]
fn rows_keep_their_numbers_in_a_buffer_of_more_values_than_keys() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [
        "stream.s.schema=\"m: int64 not null, a: dictionary<int8, utf8>\"",
        "stream.s.order=column",
        "stream.s.sink.0.fsync=never",
    ];
    let service = start(folder.path(), &settings);
    // Halved seven times, until 128 values are enough for each part.
    let count = 10_000;
    let line = |n: i64| format!("{{\"m\":{n},\"a\":\"v{n}\"}}\n");
    let text: String = (0..count).map(line).collect();
    let (status, body) = post(&service, "/v1/s", "", text.as_bytes());
    assert_eq!(status, 200, "{body}");
    assert!(service.drain().is_complete());
    let mut next = 0_i64;
    for batch in batches(&folder.path().join("out")) {
        let values = batch.column(0).as_primitive::<Int64Type>().values();
        let numbers = batch.column_by_name("_sequence").unwrap().as_primitive::<UInt64Type>();
        for (value, number) in values.iter().zip(numbers.values()) {
            assert_eq!((*value, i64::try_from(*number)), (next, Ok(next)));
            next += 1;
        }
    }
    assert_eq!(next, count);
}

#[cfg(feature = "pulsar")]
#[test]
fn the_row_that_is_too_large_is_the_one_in_the_rejects_of_a_keyed_stream() {
    let folder = tempfile::tempdir().unwrap();
    let message_bytes = format!("stream.s.message_bytes={MESSAGE_BYTES}");
    let settings = [
        "stream.s.schema=\"k: utf8, m: int64 not null, s: utf8\"",
        "stream.s.key=k",
        "stream.s.bad_requests=keep",
        &message_bytes,
    ];
    let service = start(folder.path(), &settings);
    let large = "x".repeat(MESSAGE_BYTES);
    let line = |(m, k): (i64, &str)| {
        let s = if m == 3 { &*large } else { "" };
        format!("{{\"k\":\"{k}\",\"m\":{m},\"s\":\"{s}\"}}\n")
    };
    let text: String = [(0, "a"), (1, "b"), (2, "a"), (3, "b"), (4, "a")].map(line).concat();
    let (status, body) = post(&service, "/v1/s", "", text.as_bytes());
    assert_eq!(status, 400, "{body}");
    assert!(service.drain().is_complete());
    let rejects = fs::read_to_string(folder.path().join("rejects/s.rejects.jsonl")).unwrap();
    let reject: Value = serde_json::from_str(&rejects).unwrap();
    assert_eq!((&reject["line"], &reject["record"]), (&4.into(), &3.into()));
    assert!(reject["text"].as_str().unwrap().starts_with("{\"k\":\"b\",\"m\":3"));
}

#[test]
fn more_values_than_a_dictionary_has_keys_are_several_batches() {
    for refuse in ["refuse", "keep"] {
        let folder = tempfile::tempdir().unwrap();
        let settings = [
            "stream.s.schema=\"m: int64 not null, a: dictionary<int8, utf8>\"".to_owned(),
            format!("stream.s.bad_requests={refuse}"),
            // No file holds two dictionaries of a column.
            "stream.s.sink.0.roll_bytes=1".to_owned(),
        ];
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let service = start(folder.path(), &settings);
        let line = |n: i64| format!("{{\"m\":{n},\"a\":\"v{n}\"}}\n");
        let mut text: String = (0..300).map(line).collect();
        let (status, body) = post(&service, "/v1/s", "", text.as_bytes());
        assert_eq!(status, 200, "{body}");
        text.push_str("{\"m\":true}\n");
        let (status, body) = post(&service, "/v1/s", "", text.as_bytes());
        let told: Value = serde_json::from_str(&body).unwrap();
        let accepted = if refuse == "keep" { 300 } else { 0 };
        assert_eq!((status, &told["accepted"]), (400, &accepted.into()), "{body}");
        assert_eq!(told["rejects"][0]["line"], 301);
        let summary = service.drain();
        assert_eq!(summary.streams["s"].published, 300 + accepted);
    }
}
