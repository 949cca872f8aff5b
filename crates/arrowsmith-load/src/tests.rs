// SPDX-License-Identifier: Apache-2.0
//! Runs against receivers implemented in this file.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use arrowsmith_workload::{Generator, VALUES_MAX_DEFAULT, Workload};

use crate::{Amount, Options, Rate, Report, Source, run};

fn options(target: &str) -> Options {
    Options {
        amount: Amount::Records(1000),
        chunk_bytes: 1000,
        timeout: Duration::from_secs(60),
        ..Options::new(target.parse().unwrap(), Source::new(Workload::Trip))
    }
}

fn go(options: &Options) -> Report {
    run(options, &AtomicBool::new(false)).unwrap()
}

/// The records of a connection.
fn text(seed: u64, records: u64) -> String {
    let mut text = Vec::new();
    let mut generator = Generator::new(Workload::Trip, seed, VALUES_MAX_DEFAULT);
    (0..records).for_each(|_| generator.next_record(&mut text));
    String::from_utf8(text).unwrap()
}

/// Accepts connections, one after another, each for `serve` with its number.
fn receiver<T: Send + 'static>(
    connections: usize,
    serve: impl Fn(usize, TcpStream) -> T + Send + Sync + Clone + 'static,
) -> (String, JoinHandle<Vec<T>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let thread = thread::spawn(move || {
        let one = |index| {
            let (stream, serve) = (listener.accept().unwrap().0, serve.clone());
            thread::spawn(move || serve(index, stream))
        };
        let all: Vec<_> = (0..connections).map(one).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    (address, thread)
}

/// Reads lines and acknowledges each `step`th and the last; closes after `most`.
fn acknowledge(mut stream: TcpStream, step: usize, most: usize) -> String {
    let mut text = String::new();
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    for records in 1..=most {
        if lines.read_line(&mut text).unwrap() == 0 {
            let _ = stream.write_all(format!("{}\n", records - 1).as_bytes());
            break;
        }
        if records % step == 0 {
            stream.write_all(format!("{records}\n").as_bytes()).unwrap();
        }
    }
    text
}

#[test]
fn every_connection_sends_its_own_records() {
    let (address, receiver) = receiver(3, |_, mut stream| {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    });
    let report = go(&Options { connections: 3, ..options(&format!("tcp://{address}")) });
    let mut received = receiver.join().unwrap();
    let mut expected = vec![text(0, 334), text(1, 333), text(2, 333)];
    received.sort();
    expected.sort();
    assert_eq!(received, expected);
    assert_eq!((report.sent_records, report.connections), (1000, 3));
    assert_eq!((report.acknowledged_records, report.incomplete_connections), (None, 0));
    assert_eq!(report.sent_bytes, expected.iter().map(|text| text.len() as u64).sum::<u64>());
}

#[test]
fn the_other_side_connects_where_one_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let reader = thread::spawn(move || {
        let until = Instant::now() + Duration::from_secs(60);
        let mut stream = loop {
            match TcpStream::connect(address) {
                Ok(stream) => break stream,
                Err(error) => assert!(Instant::now() < until, "{error}"),
            }
            thread::sleep(Duration::from_millis(5));
        };
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    });
    let report = go(&Options { listen: true, ..options(&format!("tcp://{address}")) });
    assert_eq!(report.sent_records, 1000);
    assert_eq!(reader.join().unwrap(), text(0, 1000));
}

#[test]
fn acknowledged_is_what_the_receiver_confirmed() {
    let delay = Duration::from_millis(30);
    let (address, receiver) = receiver(1, move |_, stream| {
        // Latency counts from when a chunk is sent, which may be long after the connection is made.
        assert_eq!(stream.peek(&mut [0]).unwrap(), 1);
        thread::sleep(delay);
        acknowledge(stream, 7, usize::MAX)
    });
    let report = go(&Options { acknowledge: true, ..options(&format!("tcp://{address}")) });
    assert_eq!(receiver.join().unwrap(), [text(0, 1000)]);
    assert_eq!(report.acknowledged_records, Some(1000));
    let latency = report.latency.unwrap();
    assert!(latency.count > 100 && latency.max >= 29.0, "{latency:?}");
    assert!(latency.p50 <= latency.p99 && latency.p99 <= latency.max);
}

#[test]
fn a_receiver_that_goes_away_gets_the_rest_again() {
    let (address, receiver) = receiver(3, |index, stream| {
        acknowledge(stream, 5, if index < 2 { 300 } else { usize::MAX })
    });
    let retry = Duration::from_secs(60);
    let report = go(&Options { acknowledge: true, retry, ..options(&format!("tcp://{address}")) });
    let received = receiver.join().unwrap();
    assert_eq!((report.acknowledged_records, report.connections), (Some(1000), 3));
    assert!(report.resent_records > 0 && !report.failures.is_empty());
    // The third receiver got everything that the others had not acknowledged.
    let everything = text(0, 1000);
    assert!(everything.starts_with(&received[0]) && everything.ends_with(&received[2]));
    assert!(received.iter().map(String::len).sum::<usize>() >= everything.len());
}

#[test]
fn without_a_second_try_a_failure_is_told() {
    let (address, receiver) = receiver(1, |_, stream| acknowledge(stream, 5, 100).len());
    let report = go(&Options { acknowledge: true, ..options(&format!("tcp://{address}")) });
    receiver.join().unwrap();
    assert_eq!(report.incomplete_connections, 1);
    assert!(report.acknowledged_records.is_some_and(|records| records <= 100));
    assert_eq!(report.failures.len(), 1);
}

#[test]
fn an_acknowledgement_of_what_was_not_sent_is_a_failure() {
    for answer in ["1000000\n", "abc\n", "99999999999999999999999\n"] {
        let (address, receiver) = receiver(1, move |_, mut stream| {
            stream.write_all(answer.as_bytes()).unwrap();
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let report = go(&Options { acknowledge: true, ..options(&format!("tcp://{address}")) });
        receiver.join().unwrap();
        assert_eq!(report.incomplete_connections, 1, "{answer:?}");
    }
}

/// Answers requests with these statuses, repeating the last; returns the bodies of those with 200.
fn answer(stream: TcpStream, statuses: &[&str]) -> String {
    let mut taken = String::new();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    for index in 0.. {
        let (mut line, mut length, mut token) = (String::new(), 0, false);
        while reader.read_line(&mut line).unwrap_or(0) > 2 {
            let lower = line.to_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            token |= line.trim_end().ends_with("Bearer secret");
            line.clear();
        }
        if length == 0 {
            break;
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let status = statuses[index.min(statuses.len() - 1)];
        if status == "200" && token {
            taken.push_str(&String::from_utf8(body).unwrap());
        }
        let answer =
            format!("HTTP/1.1 {status} x\r\nRetry-After: 0\r\nContent-Length: 2\r\n\r\nok");
        stream.write_all(answer.as_bytes()).unwrap();
    }
    taken
}

#[test]
fn requests_are_sent_again_when_the_receiver_is_busy() {
    let (address, receiver) =
        receiver(1, |_, stream| answer(stream, &["200", "503", "429", "503", "200"]));
    let report = go(&Options {
        retry: Duration::from_secs(60),
        token: Some("secret".to_owned()),
        ..options(&format!("http://{address}/v1/trip"))
    });
    assert_eq!(receiver.join().unwrap(), [text(0, 1000)]);
    assert_eq!((report.acknowledged_records, report.refused_records), (Some(1000), 0));
    assert_eq!(report.statuses.iter().filter(|(status, _)| *status != 200).count(), 2);
}

#[test]
fn what_is_refused_is_counted_and_not_sent_again() {
    let (address, receiver) = receiver(1, |_, stream| answer(stream, &["400", "200"]));
    let token = Some("secret".to_owned());
    let report = go(&Options { token, ..options(&format!("http://{address}/")) });
    let taken = receiver.join().unwrap().remove(0);
    assert!(text(0, 1000).ends_with(&taken));
    let records = taken.lines().count() as u64;
    assert_eq!(report.acknowledged_records, Some(records));
    assert_eq!(report.refused_records, 1000 - records);
    assert!(report.refused_records > 0);
}

#[test]
fn a_rate_is_kept() {
    let (address, receiver) =
        receiver(2, |_, mut stream| stream.read_to_end(&mut Vec::new()).unwrap());
    let report = go(&Options {
        connections: 2,
        rate: Some(Rate::RecordsPerSecond(2000.0)),
        ..options(&format!("tcp://{address}"))
    });
    receiver.join().unwrap();
    // A busy machine may be later, never earlier.
    assert!(report.seconds > 0.45, "{}", report.seconds);
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let stop = AtomicBool::new(false);
    let base = options("http://127.0.0.1:1/");
    for wrong in [
        Options { rate: Some(Rate::BytesPerSecond(0.0)), ..base.clone() },
        Options { rate: Some(Rate::RecordsPerSecond(f64::NAN)), ..base.clone() },
        Options { connections: 0, ..base.clone() },
        Options { listen: true, ..base.clone() },
        Options { ca: Some("no/such/file".into()), ..options("tls://127.0.0.1:1") },
    ] {
        assert!(run(&wrong, &stop).is_err(), "{wrong:?}");
    }
    let report = go(&base);
    assert_eq!((report.incomplete_connections, report.connections), (1, 0));
}
