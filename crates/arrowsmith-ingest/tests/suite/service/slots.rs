// SPDX-License-Identifier: Apache-2.0
//! Silent sockets, and what is shown to which client.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use arrowsmith_ingest::Service;
use serde_json::Value;

use super::{config, lines, post, request, start, tcp, wait_for};

const TOKEN: &str = "Authorization: Bearer secret\r\n";

fn silent(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    (0..count).map(|_| TcpStream::connect(address).unwrap()).collect()
}

fn is_closed(socket: &mut TcpStream) -> bool {
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut rest = Vec::new();
    match socket.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

/// Connections with the beginning of a preface, of a head and of a token, which never end.
fn begun(service: &Service) -> Vec<TcpStream> {
    let texts =
        [("http", "PRI * HTTP/2.0"), ("http", "POST /v1/s HTTP/1.1\r\nHo"), ("tcp/s/0", "sec")];
    let begin = |(listener, text): (&str, &str)| {
        let mut socket = TcpStream::connect(service.addresses()[listener]).unwrap();
        socket.write_all(text.as_bytes()).unwrap();
        socket
    };
    texts.into_iter().map(begin).collect()
}

#[test]
fn silent_sockets_are_evicted_and_lock_no_client_out() {
    let folder = tempfile::tempdir().unwrap();
    let settings =
        ["limits.connections=3", "limits.greeting_seconds=3600", "stream.s.tokens=[\"secret\"]"];
    let service = start(folder.path(), &settings);
    let mut first: Vec<_> = ["http", "tcp/s/0"]
        .into_iter()
        .flat_map(|listener| silent(service.addresses()[listener], 100))
        .collect();
    let begun = begun(&service);
    for round in 0..5 {
        assert_eq!(post(&service, "/v1/s", TOKEN, &lines(round..round + 1)).0, 200);
    }
    let mut sender = tcp(&service);
    sender.write_all(b"secret\n").unwrap();
    sender.write_all(&lines(5..6)).unwrap();
    wait_for("all", || service.status()["totals"]["published_records"] == 6);
    assert!(is_closed(&mut first[0]), "the oldest one, for a newer one");
    drop((first, begun, sender));
    assert!(service.drain().is_complete());
}

#[test]
fn silent_sockets_are_closed_after_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["limits.greeting_seconds=0.5", "stream.s.tokens=[\"secret\"]"];
    let service = start(folder.path(), &settings);
    let mut all = begun(&service);
    for listener in ["http", "tcp/s/0"] {
        all.extend(silent(service.addresses()[listener], 3));
    }
    for socket in &mut all {
        assert!(is_closed(socket));
    }
    assert!(service.drain().is_complete());
}

#[test]
fn requests_without_a_token_lock_no_client_out_either() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["limits.connections=2", "stream.s.tokens=[\"secret\"]"];
    let service = start(folder.path(), &settings);
    let mut open = silent(service.addresses()["http"], 80);
    for socket in &mut open {
        // Kept alive, and some of them for events without end.
        socket.write_all(b"GET /v1/status/events HTTP/1.1\r\nHost: h\r\n\r\n").unwrap();
    }
    for round in 0..5 {
        assert_eq!(post(&service, "/v1/s", TOKEN, &lines(round..round + 1)).0, 200);
    }
    drop(open);
    assert!(service.drain().is_complete());
}

#[test]
fn connections_of_lines_and_requests_do_not_share_places() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &["limits.connections=2"]);
    let mut senders: Vec<TcpStream> = (0..2).map(|_| tcp(&service)).collect();
    for sender in &mut senders {
        sender.write_all(&lines(0..1)).unwrap();
    }
    wait_for("both", || service.status()["totals"]["published_records"] == 2);
    assert_eq!(post(&service, "/v1/s", "", &lines(1..2)).0, 200);
    drop(senders);
    assert!(service.drain().is_complete());
}

#[test]
fn a_head_that_announces_much_holds_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["service.memory=8MiB", "limits.body_bytes=4MiB", "limits.record_bytes=1MiB"];
    let service = start(folder.path(), &settings);
    let mut open = silent(service.addresses()["http"], 20);
    for socket in &mut open {
        socket
            .write_all(b"POST /v1/s HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000\r\n\r\n")
            .unwrap();
    }
    assert_eq!(post(&service, "/v1/s", "", &lines(0..100_000)).0, 200);
    drop(open);
    assert!(service.drain().is_complete());
}

/// The state as a client with these headers sees it.
fn status(settings: &[&str], headers: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let all = [&["stream.s.bad_requests=keep"], settings].concat();
    let service = start(folder.path(), &all);
    post(&service, "/v1/s", TOKEN, b"{\"n\":\"card 4111\",\"k4111\":1}\n{\"n\":1}\n");
    wait_for("the reject", || service.status()["totals"]["rejected_records"] == 1);
    let (code, body) = request(&service, "GET", "/v1/status.json", headers, b"");
    assert_eq!(code, 200);
    let state: Value = serde_json::from_str(&body).unwrap();
    let shown = &state["rejects"][0];
    assert_eq!((&shown["stream"], &shown["record"]), (&"s".into(), &0.into()));
    assert_eq!(service.status()["rejects"][0]["text"], "{\"n\":\"card 4111\",\"k4111\":1}");
    shown.to_string()
}

#[test]
fn records_are_shown_to_who_may_read_them() {
    let tokens = "stream.s.tokens=[\"secret\"]";
    let admin = "service.admin_token=admin";
    assert!(status(&[], "").contains("card 4111"), "a stream that is open, on this machine");
    let hidden = status(&[tokens], "");
    assert!(!hidden.contains("4111") && hidden.contains("wrong-type"), "{hidden}");
    let hidden = status(&[tokens], TOKEN);
    assert!(!hidden.contains("4111"), "who may send need not read what others sent: {hidden}");
    let everywhere = "service.http=\"0.0.0.0:0\"";
    assert!(!status(&[everywhere], "").contains("4111"));
    let known = "Authorization: Bearer admin\r\n";
    assert!(status(&[tokens, admin, everywhere], known).contains("card 4111"));
}

#[test]
fn an_empty_token_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    config(folder.path(), &["service.admin_token=x", "stream.s.tokens=[\"y\"]"]);
    for setting in ["service.admin_token=", "service.admin_token=\" \"", "stream.s.tokens=[\"\"]"] {
        let all = ["stream.s.schema=\"n: int64\"".to_owned(), setting.to_owned()];
        let error = arrowsmith_ingest::Config::load(None, &all).unwrap_err().to_string();
        assert!(error.contains("token"), "{setting}: {error}");
    }
}
