// SPDX-License-Identifier: Apache-2.0
//! The service with the sinks that others read from: a real Pulsar broker, and Flight subscribers.

#![cfg(all(feature = "flight", feature = "pulsar"))]

use std::io::Write;
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrowsmith::Engine;
use arrowsmith_core::{Chunk, DecodeOptions, Framing};
use arrowsmith_ingest::{Config, Service};
use arrowsmith_plan::Plan;
use arrowsmith_testkit::pulsar::Broker;
use arrowsmith_testkit::tools;
use arrowsmith_workload::{Generator, VALUES_MAX_DEFAULT, Workload};

/// A broker; what the service logs is shown for a test that fails, with RUST_LOG=info.
fn broker(name: &'static str, port: u16) -> Option<Broker> {
    let filter = tracing_subscriber::EnvFilter::from_default_env();
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_test_writer().try_init();
    Broker::start(name, port, false)
}

fn start(settings: &[String]) -> Service {
    let mut all: Vec<String> = [
        "service.http=\"127.0.0.1:0\"",
        "service.drain_seconds=60",
        "stream.s.schema=\"id: uint64 not null\"",
        "stream.s.tcp=[\"127.0.0.1:0\"]",
    ]
    .map(str::to_owned)
    .to_vec();
    all.extend_from_slice(settings);
    Service::start(Config::load(None, &all).unwrap()).unwrap()
}

fn send(service: &Service, ids: std::ops::Range<u64>) {
    let mut socket = TcpStream::connect(service.addresses()["tcp/s/0"]).unwrap();
    for id in ids {
        socket.write_all(format!("{{\"id\":{id}}}\n").as_bytes()).unwrap();
        if id % 100 == 0 {
            // So that there are many messages.
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(120);
    while !condition() {
        assert!(Instant::now() < until, "{what} did not happen in time");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sent while the broker is there, killed, away and back, and by a service that was restarted:
/// every record is in the topic once, in order.
#[test]
fn pulsar_has_everything_once_and_in_order_whatever_happens_to_it() {
    let Some(broker) = broker("test-ingest", 16_950) else { return };
    let folder = tempfile::tempdir().unwrap();
    let settings = [
        "stream.s.sink.0.type=pulsar".to_owned(),
        format!("stream.s.sink.0.url=\"pulsar://127.0.0.1:{}\"", broker.port),
        "stream.s.sink.0.topic=service".to_owned(),
        "stream.s.sink.0.send_timeout_ms=2000".to_owned(),
        "stream.s.sink.0.backoff_max_ms=1000".to_owned(),
        format!("stream.s.spool.path={:?}", folder.path().join("spool")),
        format!("stream.s.rejects={:?}", folder.path().join("rejects")),
    ];
    let service = start(&settings);
    send(&service, 0..2_000);
    broker.tool("kill");
    send(&service, 2_000..4_000);
    // Long enough for messages to be given up, and to go to the spool.
    std::thread::sleep(Duration::from_millis(2_500));
    send(&service, 4_000..5_000);
    wait_for("the spool", || service.status()["totals"]["received_records"] == 5_000);
    let first = service.drain().streams["s"];
    assert_eq!((first.received, first.rejected, first.unpublished), (5_000, 0, 0));
    assert_eq!(first.published + first.spooled, 5_000);
    broker.tool("start");
    let service = start(&settings);
    send(&service, 5_000..6_000);
    let sink = || service.status()["streams"][0]["sinks"][0].clone();
    wait_for("the spool", || sink()["spool_records"] == 0);
    wait_for("all", || service.status()["totals"]["published_records"] == 1_000);
    assert!(service.drain().is_complete());
    let found = broker.read_back("service", 1);
    let all = broker.read_back_with(serde_json::json!({
        "topic": "service", "count": found.messages.len(), "subscription": "again",
    }));
    assert!(all.ids() == (0..6_000).collect::<Vec<_>>(), "{} records", all.ids().len());
}

/// Both of the paper's schemas and a nested one: what Pulsar has, as its own client and pyarrow
/// read it, is what arrow-json makes of the text where it can, row by row, and no message is larger
/// than allowed.
#[test]
fn what_was_sent_is_what_is_read_for_every_schema() {
    const BYTES_MAX: usize = 128 << 10;
    let Some(broker) = broker("test-schemas", 16_980) else { return };
    let folder = tempfile::tempdir().unwrap();
    for workload in [Workload::Battery, Workload::Trip, Workload::Logs] {
        let name = workload.name();
        let mut generator = Generator::new(workload, 7, VALUES_MAX_DEFAULT);
        let (mut text, mut records) = (Vec::new(), 0_u64);
        while text.len() < 2 << 20 {
            generator.next_record(&mut text);
            records += 1;
        }
        let service = start(&[
            format!("stream.s.schema={name}"),
            "stream.s.sink.0.type=pulsar".to_owned(),
            format!("stream.s.sink.0.url=\"pulsar://127.0.0.1:{}\"", broker.port),
            format!("stream.s.sink.0.topic={name}"),
            format!("stream.s.sink.0.message_bytes_max={BYTES_MAX}"),
            format!("stream.s.rejects={:?}", folder.path().join("rejects")),
        ]);
        let mut socket = TcpStream::connect(service.addresses()["tcp/s/0"]).unwrap();
        socket.write_all(&text).unwrap();
        drop(socket);
        wait_for("all", || service.status()["totals"]["published_records"] == records);
        let messages = service.status()["streams"][0]["messages"].as_u64().unwrap();
        assert!(service.drain().is_complete());

        let count = usize::try_from(messages).unwrap();
        assert!(count > text.len() / BYTES_MAX / 2, "{count} messages");
        let found = broker.read_back(name, count);
        assert_eq!(found.messages.len(), count);
        let plan = Arc::new(Plan::new(workload.schema().into()).unwrap());
        let options = DecodeOptions::default();
        let mut decoder = match workload {
            // arrow-json knows no time zone by name.
            Workload::Logs => arrowsmith::engine("cpu").unwrap().decoder(&plan, &options).unwrap(),
            _ => arrowsmith::engine("reference").unwrap().decoder(&plan, &options).unwrap(),
        };
        decoder.decode(&Chunk::new(&text, Framing::Lines)).unwrap();
        let expected = decoder.flush().unwrap().unwrap();
        let rows = found.rows();
        assert_eq!(rows.num_rows(), expected.num_rows());
        for (column, field) in rows.columns().iter().zip(expected.schema().fields()) {
            let of = expected.column_by_name(field.name()).unwrap();
            assert!(column == of, "{name}.{}", field.name());
        }
        for message in &found.messages {
            let bytes = message["bytes"].as_u64().unwrap();
            assert!(bytes <= BYTES_MAX as u64, "{bytes}");
        }
    }
}

/// Messages that are made before the sink was ever open, without a spool: they wait, whole and
/// within the limit.
#[test]
fn a_broker_that_comes_later_gets_everything() {
    let Some(broker) = broker("test-later", 16_970) else { return };
    broker.tool("kill");
    let folder = tempfile::tempdir().unwrap();
    let service = start(&[
        "stream.s.sink.0.type=pulsar".to_owned(),
        format!("stream.s.sink.0.url=\"pulsar://127.0.0.1:{}\"", broker.port),
        "stream.s.sink.0.topic=later".to_owned(),
        "stream.s.sink.0.message_bytes_max=16384".to_owned(),
        "stream.s.sink.0.backoff_max_ms=1000".to_owned(),
        format!("stream.s.rejects={:?}", folder.path().join("rejects")),
    ]);
    send(&service, 0..3_000);
    assert_eq!(service.status()["totals"]["published_records"], 0);
    broker.tool("start");
    wait_for("all", || service.status()["totals"]["published_records"] == 3_000);
    assert!(service.drain().is_complete());
    let found = broker.read_back("later", 1);
    let all = broker.read_back_with(serde_json::json!({
        "topic": "later", "count": found.messages.len(), "subscription": "again",
    }));
    assert!(all.ids() == (0..3_000).collect::<Vec<_>>(), "{} records", all.ids().len());
}

#[test]
fn flight_subscribers_get_what_comes() {
    let Some(python) = tools::python("pyarrow.flight") else { return };
    let listen = tools::free_address();
    let folder = tempfile::tempdir().unwrap();
    let service = start(&[
        "stream.s.sink.0.type=flight".to_owned(),
        format!("stream.s.sink.0.listen=\"{listen}\""),
        format!("stream.s.rejects={:?}", folder.path().join("rejects")),
    ]);
    let script = "import sys, pyarrow.flight as f\n\
        n = 0\n\
        for chunk in f.connect(sys.argv[1]).do_get(f.Ticket('s')):\n\
        \x20   ids = chunk.data.column('id').to_pylist()\n\
        \x20   assert ids == list(range(n, n + len(ids))), (n, ids)\n\
        \x20   n += len(ids)\n\
        \x20   if n == 3000: break\n";
    let mut python =
        Command::new(python).args(["-c", script, &format!("grpc://{listen}")]).spawn().unwrap();
    send(&service, 0..3_000);
    assert!(python.wait().unwrap().success());
    wait_for("all", || service.status()["totals"]["published_records"] == 3_000);
    assert!(service.drain().is_complete());
}
