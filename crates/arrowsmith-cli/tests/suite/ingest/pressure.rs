// SPDX-License-Identifier: Apache-2.0
//! Overload: many connections, bursts, and a consumer that sleeps.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_ipc::reader::StreamReader;
use arrowsmith_load::Options;

use crate::ingest::service::{Service, assert_all, go, times};

#[test]
fn many_connections_at_a_time() {
    let connections = times("ARROWSMITH_CONNECTIONS", 500, 10_000);
    let records = connections as u64 * 20;
    let mut service = Service::start("", "acknowledge = true", "");
    // Every connection sends the same records: each arrives once per connection.
    let one = service.load(0..20, 5);
    let amount = arrowsmith_load::Amount::Records(records);
    let rate = Some(arrowsmith_load::Rate::RecordsPerSecond(records as f64 / 2.0));
    let report = go(&Options {
        connections,
        amount,
        rate,
        acknowledge: true,
        retry: Duration::from_secs(30),
        ..one
    });
    assert_eq!(report.acknowledged_records, Some(records), "{report:?}");
    assert_eq!(report.incomplete_connections, 0);
    service.assert_memory(64 << 20);
    let summary = service.end();
    assert_eq!(summary["rejected"], 0);
    let ids = service.ids();
    assert!(ids.len() as u64 >= records && ids.len() as u64 <= records + report.resent_records);
    for id in 0..20 {
        assert!(ids.iter().filter(|found| **found == id).count() >= connections);
    }
}

#[test]
fn a_connection_above_the_limit_is_closed_and_the_others_go_on() {
    let mut service = Service::start("", "acknowledge = true", "[limits]\nconnections = 10\n");
    let report = go(&Options {
        connections: 30,
        acknowledge: true,
        retry: Duration::from_secs(60),
        amount: arrowsmith_load::Amount::Records(3000),
        ..service.load(0..100, 10)
    });
    assert_eq!(report.acknowledged_records, Some(3000), "{report:?}");
    let summary = service.end();
    // Records sent over a refused connection were not accepted: there are no duplicates.
    assert_eq!(summary["received"], 3000);
    assert_eq!(assert_all(&service.ids(), 0..100) + 100, 3000);
}

#[test]
fn a_burst_over_http_is_taken_or_put_off_and_never_lost() {
    let mut service = Service::start(
        "memory = '8MiB'\nthreads = 1",
        "",
        "[limits]\nbody_bytes = '2MiB'\nrecord_bytes = '1MiB'\n",
    );
    let target = format!("http://127.0.0.1:{}/v1/s", service.http);
    let senders: Vec<_> = (0..32u64)
        .map(|sender| {
            let ids = sender * 200_000..(sender + 1) * 200_000;
            let load = crate::ingest::service::load(&target, ids, 50_000);
            let options = Options { retry: Duration::from_secs(60), ..load };
            thread::spawn(move || go(&options))
        })
        .collect();
    let reports: Vec<_> = senders.into_iter().map(|sender| sender.join().unwrap()).collect();
    for report in &reports {
        assert_eq!(report.acknowledged_records, Some(200_000), "{report:?}");
        let known = |status: u16| [200, 429, 503].contains(&status);
        assert!(report.statuses.iter().all(|(status, _)| known(*status)), "{report:?}");
    }
    service.assert_memory(8 << 20);
    let summary = service.end();
    assert_eq!(summary["rejected"], 0, "{summary:?}");
    // Deferred records were not accepted: there are no duplicates.
    assert_eq!(assert_all(&service.ids(), 0..6_400_000), 0);
}

#[test]
fn a_few_bytes_that_would_become_many_rows_take_no_memory() {
    let columns: Vec<String> = (0..80).map(|n| format!("c{n}: int64")).collect();
    let wide = format!(
        "[stream.w]\nschema = '{}'\n[[stream.w.sink]]\ntype = 'directory'\npath = 'w'\n\
         [limits]\nbody_bytes = '4MiB'\nrecord_bytes = '1MiB'\n",
        columns.join(", ")
    );
    let mut service = Service::new("memory = '8MiB'", "", &wide);
    service.run();
    // 800 MB of Arrow data, and a small request that fits.
    let post = |records: usize| {
        let body = "{}\n".repeat(records);
        let mut stream = TcpStream::connect(("127.0.0.1", service.http)).unwrap();
        let length = body.len();
        let head = "POST /v1/w HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length:";
        write!(stream, "{head} {length}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer[..12].to_owned()
    };
    assert_eq!(post(1_300_000), "HTTP/1.1 413");
    assert_eq!(post(1000), "HTTP/1.1 200");
    service.assert_memory(8 << 20);
    service.end();
}

#[test]
fn a_consumer_that_sleeps_stops_the_sender_and_not_the_clock() {
    let sink = "[[stream.s.sink]]\ntype = 'stdout'\n";
    let mut service = Service::new(
        "memory = '8MiB'",
        "",
        &format!("{sink}[limits]\nrecord_bytes = '1MiB'\nbody_bytes = '1MiB'\n"),
    );
    let mut child = service.command().stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdout.take().unwrap();
    service.adopt(child);
    let (wake, sleeping) = mpsc::channel::<()>();
    let consumer = thread::spawn(move || {
        // Sleeps until woken, then reads everything.
        let _ = sleeping.recv();
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let options = service.load(0..4_000_000, 10_000);
    let sender = thread::spawn(move || go(&options));
    let mut received = (0, Instant::now());
    // The service accepts what its buffers hold, then nothing: 50 MB of text exceed them many
    // times.
    while received.1.elapsed() < Duration::from_secs(2) {
        let now = service.total("received_records");
        if now != received.0 {
            received = (now, Instant::now());
        }
        thread::sleep(Duration::from_millis(50));
    }
    assert!(received.0 < 4_000_000, "nothing stopped the sender");
    assert!(!sender.is_finished());
    assert_eq!(service.get("/healthz").unwrap().0, 200);
    service.assert_memory(8 << 20);
    wake.send(()).unwrap();
    let report = sender.join().unwrap();
    assert_eq!((report.sent_records, report.incomplete_connections), (4_000_000, 0));
    service.wait_received(4_000_000);
    service.assert_memory(8 << 20);
    service.end();
    let bytes = consumer.join().unwrap();
    let mut ids = Vec::new();
    let mut rest = &bytes[..];
    // One stream, or one stream per message.
    while !rest.is_empty() {
        for batch in StreamReader::try_new(&mut rest, None).unwrap() {
            ids.extend(batch.unwrap().column(0).as_primitive::<Int64Type>().values());
        }
    }
    assert_eq!(assert_all(&ids, 0..4_000_000), 0);
    assert!(ids.is_sorted(), "one connection's records keep their order");
}
