// SPDX-License-Identifier: Apache-2.0
//! Senders that are wrong, slow or too large.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::{lines, numbers, start, tcp, wait_for};

#[test]
fn a_line_that_is_too_long_is_one_reject() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &["limits.record_bytes=1MiB"]);
    let mut socket = tcp(&service);
    socket.write_all(&lines(0..1)).unwrap();
    let block = vec![b'x'; 1 << 20];
    for _ in 0..50 {
        socket.write_all(&block).unwrap();
    }
    socket.write_all(b"\n").unwrap();
    socket.write_all(&lines(1..3)).unwrap();
    drop(socket);
    wait_for("all", || service.status()["totals"]["received_records"] == 4);
    let stream = service.drain().streams["s"];
    assert_eq!((stream.published, stream.rejected), (3, 1));
    assert_eq!(numbers(&folder.path().join("out")), [0, 1, 2]);
}

#[test]
fn long_records_in_small_portions_are_whole() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &["stream.s.schema=\"n: int64 not null, t: utf8\""]);
    let mut socket = tcp(&service);
    let mut text = Vec::new();
    for n in 0..6 {
        writeln!(text, "{{\"n\":{n},\"t\":\"{}\"}}", "z".repeat(n * 600_000)).unwrap();
    }
    for part in text.chunks(100_003) {
        socket.write_all(part).unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
    drop(socket);
    wait_for("all", || service.status()["totals"]["published_records"] == 6);
    assert!(service.drain().is_complete());
    assert_eq!(numbers(&folder.path().join("out")), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn slow_and_idle_connections_are_closed() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &["limits.idle_seconds=1", "limits.record_seconds=0.5"]);
    let mut slow = tcp(&service);
    slow.write_all(b"{\"n\":").unwrap();
    let mut idle = tcp(&service);
    let mut nothing = Vec::new();
    let _ = slow.read_to_end(&mut nothing);
    let _ = idle.read_to_end(&mut nothing);
    let stream = service.drain().streams["s"];
    // The line that was begun and not ended is not a record: its value is unknown.
    assert_eq!((stream.received, stream.rejected), (0, 0));
}

#[test]
fn connections_above_the_limit_are_closed_and_the_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &["limits.connections=2"]);
    let mut first: Vec<TcpStream> = (0..2).map(|_| tcp(&service)).collect();
    for (n, socket) in (0..).zip(&mut first) {
        socket.write_all(&lines(n..n + 1)).unwrap();
    }
    wait_for("both", || service.status()["totals"]["published_records"] == 2);
    let mut third = tcp(&service);
    third.write_all(&lines(7..8)).unwrap();
    assert_eq!(third.read(&mut [0]).unwrap_or(0), 0, "it is closed");
    for (n, socket) in (2..).zip(&mut first) {
        socket.write_all(&lines(n..n + 1)).unwrap();
    }
    drop(first);
    wait_for("all", || service.status()["totals"]["published_records"] == 4);
    assert!(service.drain().is_complete());
}

#[test]
fn garbage_is_rejected_line_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &[]);
    let mut socket = tcp(&service);
    let mut state = 1_u64;
    let mut text = Vec::new();
    for _ in 0..300_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text.push(u8::try_from(state >> 56).unwrap());
    }
    text.push(b'\n');
    socket.write_all(&text).unwrap();
    socket.write_all(&lines(0..10)).unwrap();
    drop(socket);
    wait_for("the good ones", || service.status()["totals"]["published_records"] == 10);
    let stream = service.drain().streams["s"];
    assert_eq!(stream.received, stream.published + stream.rejected);
    assert!(stream.rejected > 500);
}
