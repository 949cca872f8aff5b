// SPDX-License-Identifier: Apache-2.0
//! Senders that die, are slow, or send invalid records.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use arrowsmith_workload::SplitMix64;

use crate::ingest::service::{PATIENCE, Service, assert_all, lines, times, wait_for};

#[test]
fn a_sender_that_dies_in_mid_record_costs_that_record_only() {
    let mut service = Service::start("", "", "");
    // One closes in order, one with a reset, in the middle of a number.
    for (from, reset) in [(0, false), (1000, true)] {
        let mut stream = TcpStream::connect(("127.0.0.1", service.tcp)).unwrap();
        stream.write_all(&lines(from..from + 1000)).unwrap();
        service.wait_received(from + 1000);
        stream.write_all(b"{\"id\":12").unwrap();
        if !reset {
            stream.shutdown(Shutdown::Write).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream.read_to_end(&mut Vec::new()).unwrap();
        }
    }
    wait_for("connections are closed", || service.status()["streams"][0]["connections"] == 0);
    service.assert_memory(64 << 20);
    let summary = service.end();
    assert_eq!(assert_all(&service.ids(), 0..2000), 0);
    assert_eq!(summary["published"], 2000);
    assert!(summary["rejected"] <= 2, "{summary:?}");
}

#[test]
fn garbage_is_rejected_and_what_is_good_around_it_arrives() {
    let mut service = Service::start("", "", "");
    let mut random = SplitMix64::new(0);
    let mut garbage = || {
        let byte = || u8::try_from(random.below(256)).unwrap();
        std::iter::repeat_with(byte)
            .map(|b| if b == b'\n' { 0 } else { b })
            .take(4096)
            .collect::<Vec<u8>>()
    };
    let mut text = Vec::new();
    for part in 0..200 {
        text.extend_from_slice(&garbage());
        text.push(b'\n');
        text.extend_from_slice(&lines(part * 10..part * 10 + 10));
    }
    service.send(&text);
    service.wait_received(2200);
    // Then everything at once, without a line end, from a sender that closes there.
    service.send(&garbage());
    wait_for("connections are closed", || service.status()["streams"][0]["connections"] == 0);
    wait_for("the last rejects are shown", || {
        service.status()["rejects"].as_array().unwrap().len() == 20
    });
    service.assert_memory(64 << 20);
    let summary = service.end();
    assert_eq!(summary["rejected"], 201);
    assert_eq!(assert_all(&service.ids(), 0..2000), 0);
    let kept = std::fs::read_to_string(service.path("rejects/s.rejects.jsonl")).unwrap();
    assert_eq!(kept.lines().count(), 201);
}

#[test]
fn a_line_of_a_gibibyte_takes_no_memory() {
    let mut service = Service::start("", "", "");
    let length = times("ARROWSMITH_LINE_BYTES", 1 << 30, 1 << 30);
    let address = ("127.0.0.1", service.tcp);
    let long = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let part = vec![b'7'; 1 << 20];
        let mut sent = stream.write_all(b"{\"id\":").is_ok();
        for _ in 0..length >> 20 {
            // The service may have closed the connection.
            sent = sent && stream.write_all(&part).is_ok();
        }
        let _ = stream.write_all(b"}\n");
    });
    service.send(&lines(0..1000));
    long.join().unwrap();
    service.send(&lines(1000..2000));
    service.wait_received(2000);
    wait_for("connections are closed", || service.status()["streams"][0]["connections"] == 0);
    service.assert_memory(64 << 20);
    let summary = service.end();
    assert_eq!(summary["rejected"], 1, "{summary:?}");
    assert_eq!(assert_all(&service.ids(), 0..2000), 0);
}

#[test]
fn slow_clients_are_disconnected_and_delay_no_others() {
    let mut service = Service::start("", "", "[limits]\nrecord_seconds = 1\nidle_seconds = 2\n");
    let (tcp, http) = (service.tcp, service.http);
    let dawdle = move |port: u16, text: &'static [u8]| {
        thread::spawn(move || {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            let started = Instant::now();
            for byte in text.iter().cycle() {
                assert!(started.elapsed() < PATIENCE, "was never disconnected");
                let closed = match stream.read(&mut [0; 64]) {
                    Ok(length) => length == 0,
                    Err(error) => !matches!(
                        error.kind(),
                        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                    ),
                };
                if closed || stream.write_all(&[*byte]).is_err() {
                    break;
                }
            }
        })
    };
    let mut slow: Vec<_> = (0..50).map(|_| dawdle(tcp, b"{\"id\":1111111111")).collect();
    slow.extend((0..10).map(|_| dawdle(http, b"GET / HTTP/1.1 xxxxxxxxxxxxxxxxxxxxxxx")));
    thread::sleep(Duration::from_millis(200));
    service.send(&lines(0..100_000));
    service.wait_received(100_000);
    for sender in slow {
        sender.join().unwrap();
    }
    service.assert_memory(64 << 20);
    service.end();
    assert_eq!(assert_all(&service.ids(), 0..100_000), 0);
}
