// SPDX-License-Identifier: Apache-2.0
//! The endpoint against arrow-flight's client and against pyarrow.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Int64Array, RecordBatch};
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::{FlightClient, Ticket};
use arrowsmith_publish::{
    Compression, Layout, Message, Origin, Publish, PublishError, StageTimes, encode,
};
use arrowsmith_publish_flight::{Delivery, FlightOptions, FlightPublish, Tls};
use arrowsmith_testkit::tools;
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::transport::Channel;

/// A message with these rows, told apart by its number.
fn message(sequence: u64, rows: i64) -> Message {
    let first = i64::try_from(sequence).unwrap() * 1_000;
    let column = Int64Array::from_iter_values(first..first + rows);
    let batch = RecordBatch::try_from_iter([("n", Arc::new(column) as _)]).unwrap();
    Message {
        stream: "cars".into(),
        schema: batch.schema(),
        payload: encode(&batch, Layout::SelfContained, Compression::None).unwrap(),
        batch,
        sequence,
        origins: vec![Origin { connection: 5, first: sequence, last: sequence, rows: 1 }],
        key: None,
        received_at: SystemTime::UNIX_EPOCH,
        times: StageTimes::begin(Instant::now()),
    }
}

fn options() -> FlightOptions {
    FlightOptions { listen: ([127, 0, 0, 1], 0).into(), ..FlightOptions::default() }
}

async fn start(options: FlightOptions) -> FlightPublish {
    FlightPublish::start(options, "cars", message(0, 0).schema).await.unwrap()
}

async fn client(address: SocketAddr) -> FlightClient {
    let channel = Channel::from_shared(format!("http://{address}")).unwrap();
    FlightClient::new(channel.connect().await.unwrap())
}

async fn subscribe(address: SocketAddr, ticket: &str) -> FlightRecordBatchStream {
    client(address).await.do_get(Ticket::new(ticket.to_owned())).await.unwrap()
}

fn numbers(batch: &RecordBatch) -> Vec<i64> {
    batch.column(0).as_primitive::<Int64Type>().values().to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn subscribers_get_everything_in_order_and_then_it_counts_as_published() {
    let mut sink = start(options()).await;
    let address = sink.address();
    let mut early = subscribe(address, "cars").await;
    let mut receipts = Vec::new();
    for sequence in 0..200 {
        receipts.push(sink.publish(&message(sequence, 100)).await.unwrap());
    }
    let mut late = subscribe(address, "cars@150").await;
    for sequence in 0..200_i64 {
        let expected: Vec<i64> = (sequence * 1_000..sequence * 1_000 + 100).collect();
        assert_eq!(numbers(&early.next().await.unwrap().unwrap()), expected);
        if sequence > 150 {
            assert_eq!(numbers(&late.next().await.unwrap().unwrap()), expected);
        }
    }
    for receipt in receipts {
        receipt.await.unwrap();
    }
    Box::new(sink).close().await.unwrap();
    assert!(early.next().await.is_none());
}

/// Connections that say nothing, or begin a preface that never ends.
async fn silent(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    let mut all = Vec::new();
    for number in 0..count {
        let mut socket = TcpStream::connect(address).await.unwrap();
        if number % 2 == 0 {
            socket.write_all(b"PRI * HTTP/2").await.unwrap();
        }
        all.push(socket);
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_sockets_lock_no_client_out() {
    let limits = FlightOptions {
        connections_max: 2,
        greeting_timeout_ms: 3_600_000,
        tokens: vec!["secret".to_owned()],
        ..options()
    };
    let mut sink = start(limits).await;
    let address = sink.address();
    let silent = silent(address, 200).await;
    let mut known = client(address).await;
    known.add_header("authorization", "Bearer secret").unwrap();
    let mut subscriber = known.do_get(Ticket::new("cars")).await.unwrap();
    let receipt = sink.publish(&message(0, 3)).await.unwrap();
    assert_eq!(numbers(&subscriber.next().await.unwrap().unwrap()), [0, 1, 2]);
    receipt.await.unwrap();
    let mut stranger = client(address).await;
    assert!(stranger.do_get(Ticket::new("cars")).await.is_err());
    drop((silent, subscriber));
    Box::new(sink).close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_sockets_are_closed_and_clients_with_a_token_stay() {
    let limits =
        FlightOptions { greeting_timeout_ms: 500, tokens: vec!["secret".to_owned()], ..options() };
    let mut sink = start(limits).await;
    let address = sink.address();
    let mut subscriber = loop {
        // On a busy machine the time may be over before the first request.
        let channel = Channel::from_shared(format!("http://{address}")).unwrap();
        let Ok(channel) = channel.connect().await else { continue };
        let mut known = FlightClient::new(channel);
        known.add_header("authorization", "Bearer secret").unwrap();
        if let Ok(stream) = known.do_get(Ticket::new("cars")).await {
            break stream;
        }
    };
    for mut socket in silent(address, 20).await {
        // An end or a reset.
        let mut rest = Vec::new();
        let end = socket.read_to_end(&mut rest);
        drop(tokio::time::timeout(Duration::from_secs(60), end).await.expect("is cut off"));
    }
    let receipt = sink.publish(&message(1, 1)).await.unwrap();
    assert_eq!(numbers(&subscriber.next().await.unwrap().unwrap()), [1_000]);
    receipt.await.unwrap();
    drop(subscriber);
    Box::new(sink).close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_subscribers_the_buffer_fills_and_then_the_service_waits() {
    let mut sink =
        start(FlightOptions { buffer_bytes_max: 1 << 20, drain_timeout_ms: 200, ..options() })
            .await;
    let address = sink.address();
    let large = |sequence| message(sequence, 30_000);
    let mut receipts = Vec::new();
    for sequence in 0..4 {
        receipts.push(sink.publish(&large(sequence)).await.unwrap());
    }
    let fifth = large(4);
    let waiting = tokio::time::timeout(Duration::from_millis(200), sink.publish(&fifth)).await;
    assert!(waiting.is_err(), "there is room for four");
    let mut subscriber = subscribe(address, "cars").await;
    let receipt = sink.publish(&fifth).await.unwrap();
    for sequence in 0..5 {
        assert_eq!(numbers(&subscriber.next().await.unwrap().unwrap())[0], sequence * 1_000);
    }
    receipt.await.unwrap();
    for receipt in receipts {
        receipt.await.unwrap();
    }
    // Receipts of what no subscriber takes fail at the end.
    drop(subscriber);
    while sink.subscribers() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let receipt = sink.publish(&message(5, 1)).await.unwrap();
    Box::new(sink).close().await.unwrap();
    assert!(matches!(receipt.await, Err(PublishError::Retry { .. })));
}

/// The error that ends a subscriber's stream, after a pause.
async fn end(mut stream: FlightRecordBatchStream) -> String {
    while let Some(next) = stream.next().await {
        if let Err(error) = next {
            return error.to_string();
        }
    }
    "the end".to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_hangs_is_cut_off_and_the_others_go_on() {
    let mut sink =
        start(FlightOptions { buffer_bytes_max: 4 << 20, stall_timeout_ms: 3_000, ..options() })
            .await;
    let hangs = subscribe(sink.address(), "cars").await;
    let mut reads = subscribe(sink.address(), "cars").await;
    let reader = tokio::spawn(async move {
        for sequence in 0..60 {
            let batch = reads.next().await.unwrap().unwrap();
            assert_eq!(numbers(&batch)[0], sequence * 1_000);
        }
        reads
    });
    let begin = Instant::now();
    let mut receipts = Vec::new();
    for sequence in 0..60 {
        receipts.push(sink.publish(&message(sequence, 125_000)).await.unwrap());
    }
    let _reads = reader.await.unwrap();
    for receipt in receipts {
        receipt.await.unwrap();
    }
    // 60 MB went through 4 MB, after the wait for the one that takes nothing.
    assert!(begin.elapsed() > Duration::from_millis(2_900), "{:?}", begin.elapsed());
    let end = end(hangs).await;
    assert!(end.contains("cut off"), "{end}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_waiting_one_that_is_too_slow_is_told_that_it_lost_some() {
    let drop = Delivery::Drop;
    let mut sink =
        start(FlightOptions { delivery: drop, buffer_bytes_max: 4 << 20, ..options() }).await;
    let slow = subscribe(sink.address(), "cars").await;
    for sequence in 0..60 {
        sink.publish(&message(sequence, 125_000)).await.unwrap().await.unwrap();
    }
    let end = end(slow).await;
    assert!(end.contains("messages are lost"), "{end}");
}

/// pyarrow, from the environment of the tests.
struct Python {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Python {
    fn subscribe(ask: &Value) -> Option<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap();
        let mut command = Command::new(tools::python("pyarrow.flight")?);
        command.arg(folder.join("tests/suite/subscribe.py")).arg(ask.to_string());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Some(Self { child, lines })
    }

    fn line(&mut self) -> String {
        self.lines.next().unwrap_or_else(|| Ok(String::new())).unwrap()
    }

    fn json(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pyarrow_reads_it_live() {
    let mut sink = start(options()).await;
    let url = format!("grpc://{}", sink.address());
    let ask = json!({"url": url, "through_info": "cars", "list": true});
    let Some(mut python) = Python::subscribe(&ask) else { return };
    let listed = python.json();
    assert_eq!((&listed["path"], &listed["schema"]), (&json!("cars"), &json!("n: int64 not null")));
    assert_eq!(python.line(), "subscribed");
    for sequence in 0..3_u64 {
        let receipt = sink.publish(&message(sequence, 3)).await.unwrap();
        let batch = python.json();
        let first = sequence * 1_000;
        assert_eq!(batch["n"], json!([first, first + 1, first + 2]));
        assert_eq!(batch["sequence"], json!(sequence));
        assert_eq!((&batch["stream"], &batch["rows"]), (&json!("cars"), &json!(3)));
        assert_eq!(batch["origins"], json!(format!("5:{sequence}-{sequence}")));
        receipt.await.unwrap();
    }
    // Another schema ends it; a new subscriber sees the new one.
    let mut other = message(3, 1);
    let column = arrow_array::Float64Array::from(vec![0.5]);
    other.batch = RecordBatch::try_from_iter([("n", Arc::new(column) as _)]).unwrap();
    other.schema = other.batch.schema();
    other.payload = encode(&other.batch, Layout::BatchOnly, Compression::Zstd).unwrap();
    let receipt = sink.publish(&other).await.unwrap();
    assert_eq!(python.line(), "end");
    let ask = json!({"url": url, "ticket": "cars@2", "count": 1});
    let mut python = Python::subscribe(&ask).unwrap();
    assert_eq!(python.line(), "subscribed");
    assert_eq!(python.json()["n"], json!([0.5]));
    Box::new(sink).close().await.unwrap();
    receipt.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_or_asks_for_nothing_that_is_there_is_told() {
    let secure =
        FlightOptions { tokens: vec!["right".to_owned()], subscribers_max: 1, ..options() };
    let sink = start(secure).await;
    let url = format!("grpc://{}", sink.address());
    for (ask, expected) in [
        (json!({"url": url, "ticket": "cars"}), "FlightUnauthenticatedError"),
        (json!({"url": url, "ticket": "cars", "token": "wrong"}), "FlightUnauthenticatedError"),
        (json!({"url": url, "ticket": "trucks", "token": "right"}), "no stream"),
        (json!({"url": url, "ticket": "cars@x", "token": "right"}), "STREAM@NUMBER"),
    ] {
        let Some(mut python) = Python::subscribe(&ask) else { return };
        let line = python.line();
        assert!(line.contains(expected), "{ask}: {line}");
    }
    let ask = json!({"url": url, "ticket": "cars", "token": "right"});
    let mut first = Python::subscribe(&ask).unwrap();
    assert_eq!(first.line(), "subscribed");
    assert!(Python::subscribe(&ask).unwrap().line().contains("too many subscribers"));
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_is_spoken_and_certificates_are_checked() {
    if !tools::openssl() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("arrowsmith-flight-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj"]);
    openssl.args(["/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]);
    openssl.args(["-keyout", "key.pem", "-out", "ca.pem"]).current_dir(&folder);
    assert!(openssl.stderr(Stdio::null()).status().unwrap().success());
    let tls = Tls {
        certificate_file: Some(folder.join("ca.pem")),
        key_file: Some(folder.join("key.pem")),
        client_ca_file: None,
    };
    let mut sink = start(FlightOptions { tls, ..options() }).await;
    let url = format!("grpc+tls://localhost:{}", sink.address().port());
    let receipt = sink.publish(&message(1, 1)).await.unwrap();
    let ask = json!({"url": url, "ticket": "cars", "count": 1, "ca_file": folder.join("ca.pem")});
    let Some(mut python) = Python::subscribe(&ask) else { return };
    assert_eq!(python.line(), "subscribed");
    assert_eq!(python.json()["n"], json!([1_000]));
    let mut stranger = Python::subscribe(&json!({"url": url, "ticket": "cars"})).unwrap();
    assert!(stranger.line().contains("Unavailable"));
    drop(python);
    Box::new(sink).close().await.unwrap();
    let _ = receipt.await;
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_share_an_address_and_leave_it_when_they_end() {
    let free = tools::free_address();
    let options = FlightOptions { listen: free, drain_timeout_ms: 50, ..options() };
    let schema = message(0, 0).schema;
    let open = async |stream: &str, options: &FlightOptions| {
        FlightPublish::start(options.clone(), stream, Arc::clone(&schema)).await
    };
    let cars = open("cars", &options).await.unwrap();
    let mut ships = open("ships", &options).await.unwrap();
    assert_eq!(cars.address(), ships.address());
    let other = FlightOptions { tokens: vec!["t".to_owned()], ..options.clone() };
    assert!(matches!(open("planes", &other).await, Err(PublishError::Fatal(_))));
    let mut subscriber = subscribe(free, "ships").await;
    drop(cars);
    let receipt = ships.publish(&message(3, 1)).await.unwrap();
    assert_eq!(numbers(&subscriber.next().await.unwrap().unwrap()), [3_000]);
    receipt.await.unwrap();
    let mut client = client(free).await;
    let gone = client.do_get(Ticket::new("cars")).await.err().unwrap();
    assert!(gone.to_string().contains("no stream"), "{gone}");
    // An address in use may be free later.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let other = FlightOptions { listen: taken.local_addr().unwrap(), ..options.clone() };
    assert!(matches!(open("cars", &other).await, Err(PublishError::Retry { .. })));
    Box::new(ships).close().await.unwrap();
    drop((subscriber, client));
    // Free again, soon.
    let begin = Instant::now();
    while let Err(error) = open("cars", &options).await {
        assert!(begin.elapsed() < Duration::from_secs(120), "{error}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
