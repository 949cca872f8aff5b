// SPDX-License-Identifier: Apache-2.0
//! Records that are cut off in the middle: the received part is not a value.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::time::Duration;

use arrowsmith_ingest::Service;

use super::{numbers, start, tcp, wait_for};

const VALUES: [&str; 2] = ["stream.s.schema=\"root value, v: int64\"", "stream.s.acknowledge=true"];

/// A connection on which two values were sent and acknowledged, and then half of one.
fn half(service: &Service) -> TcpStream {
    let before = service.status()["streams"][0]["received_bytes"].as_u64().unwrap();
    let mut socket = tcp(service);
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket.write_all(b"1\n2\n").unwrap();
    wait_for("two", || service.status()["streams"][0]["received_bytes"] == before + 4);
    // Acknowledgements are sent, and are not read.
    socket.peek(&mut [0]).unwrap();
    socket.write_all(b"12").unwrap();
    socket
}

fn stored(service: Service, folder: &Path) -> Vec<i64> {
    let summary = service.drain();
    assert!(summary.is_complete());
    assert_eq!(summary.streams["s"].rejected, 0);
    numbers(&folder.join("out"))
}

#[test]
fn a_sender_that_ends_in_order_has_sent_its_last_line() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &VALUES);
    let mut socket = half(&service);
    socket.shutdown(Shutdown::Write).unwrap();
    let mut told = String::new();
    socket.read_to_string(&mut told).unwrap();
    assert_eq!(told.lines().last(), Some("3"));
    assert_eq!(stored(service, folder.path()), [1, 2, 12]);
}

#[test]
fn a_reset_makes_no_value_of_half_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &VALUES);
    for _ in 0..10 {
        // A socket that is closed before all was read that came is reset.
        drop(half(&service));
    }
    wait_for("all are closed", || service.status()["streams"][0]["connections"] == 0);
    assert_eq!(stored(service, folder.path()), [1, 2].repeat(10));
}

#[test]
fn the_end_of_the_service_makes_no_value_of_half_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let service = start(folder.path(), &VALUES);
    let mut socket = half(&service);
    assert_eq!(stored(service, folder.path()), [1, 2]);
    let mut told = String::new();
    socket.read_to_string(&mut told).unwrap();
    assert_eq!(told.lines().last(), Some("2"), "half a record is not acknowledged");
}

#[test]
fn a_sender_that_dawdles_has_not_sent_what_it_began() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [VALUES[0], VALUES[1], "limits.record_seconds=0.3"];
    let service = start(folder.path(), &settings);
    let mut socket = half(&service);
    let mut told = String::new();
    socket.read_to_string(&mut told).unwrap();
    assert_eq!(told.lines().last(), Some("2"));
    assert_eq!(stored(service, folder.path()), [1, 2]);
}
