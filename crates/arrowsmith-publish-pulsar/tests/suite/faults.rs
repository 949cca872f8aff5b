// SPDX-License-Identifier: Apache-2.0
//! A broker that is killed, hangs, is unreachable, or is not a broker; and clients that may not
//! publish.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use arrowsmith_publish_pulsar::{
    Auth, Batch, PulsarError, PulsarOptions, PulsarSink, SchemaMode, SendFuture, Tls,
};
use arrowsmith_testkit::pulsar::Broker;
use arrowsmith_testkit::tools;
use pulsar::message::proto::ServerError;
use serde_json::json;

use crate::support::{batch, outgoing, payload, schema, settings, start};

async fn send(sink: &PulsarSink, sequence: u64) -> SendFuture {
    let payload = payload(&batch(sequence, 1), SchemaMode::Each);
    sink.send(outgoing(sequence, payload)).await.unwrap()
}

/// Broker faults, one after another: they take the one broker down.
#[tokio::test(flavor = "multi_thread")]
async fn the_broker_is_killed_hangs_and_is_away() {
    let Some(broker) = start("test-faults", 16_750, false) else { return };
    let broker = Arc::new(broker);
    for batched in [false, true] {
        killed_and_restarted_in_mid_stream(&broker, batched).await;
    }
    a_broker_that_hangs_holds_the_sender_up_and_no_memory(&broker).await;
    what_is_given_up_is_taken_again_in_order_only(&broker).await;
}

/// Killed twice while messages are sent; each arrives once, and in order.
async fn killed_and_restarted_in_mid_stream(broker: &Arc<Broker>, batched: bool) {
    let topic = format!("killed-{batched}");
    let mut options = settings(broker, &topic);
    options.in_flight_messages_max = 50;
    options.send_timeout_ms = 120_000;
    options.batch = Batch { enabled: batched, messages_max: 4, ..Batch::default() };
    let begin = Instant::now();
    let sink = PulsarSink::open(options, &schema()).await.unwrap();
    let state = Arc::clone(sink.states().next().unwrap());
    let killer = {
        let (broker, state) = (Arc::clone(broker), Arc::clone(&state));
        std::thread::spawn(move || {
            for _ in 0..2 {
                while !state.connected.load(Ordering::Acquire) {
                    std::thread::sleep(Duration::from_millis(10));
                }
                std::thread::sleep(Duration::from_millis(300));
                broker.tool("kill");
                broker.tool("start");
            }
        })
    };
    let mut waiting = Vec::new();
    while !killer.is_finished() {
        waiting.push(send(&sink, waiting.len() as u64).await);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    killer.join().unwrap();
    let count = waiting.len();
    for (sequence, receipt) in waiting.into_iter().enumerate() {
        receipt.await.unwrap_or_else(|error| panic!("{sequence}: {error}"));
    }
    sink.close().await;
    eprintln!("{topic}: {count} messages in {:?}, {state:?}", begin.elapsed());
    assert_eq!(state.reconnects.load(Ordering::Relaxed), 2);
    assert_eq!(state.in_flight_bytes.load(Ordering::Relaxed), 0);
    assert_eq!(broker.read_back(&topic, count).ids(), (0..count as u64).collect::<Vec<_>>());
}

/// A stopped process keeps its connections open and sends nothing.
async fn a_broker_that_hangs_holds_the_sender_up_and_no_memory(broker: &Arc<Broker>) {
    let mut options = settings(broker, "hangs");
    options.in_flight_bytes_max = 1 << 20;
    options.send_timeout_ms = 3_000;
    let sink = Arc::new(PulsarSink::open(options.clone(), &schema()).await.unwrap());
    send(&sink, 0).await.await.unwrap();
    broker.signal("STOP");
    let rows = batch(0, 4_000);
    let large = payload(&rows, SchemaMode::Each);
    let begin = Instant::now();
    let mut waiting = Vec::new();
    for sequence in 1..40 {
        waiting.push(sink.send(outgoing(sequence, large.clone())).await.unwrap());
        let bytes = sink.states().next().unwrap().in_flight_bytes.load(Ordering::Relaxed);
        assert!(bytes <= (1 << 20) + large.len() as u64, "{bytes}");
    }
    // There was room only because the first ones timed out.
    assert!(begin.elapsed() >= Duration::from_millis(2_500), "{:?}", begin.elapsed());
    for receipt in waiting {
        match receipt.await {
            Err(PulsarError::Timeout { .. } | PulsarError::OutOfOrder { expected: 1, .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    broker.signal("CONT");
    let sink = Arc::into_inner(sink).unwrap();
    sink.close().await;
}

/// With the broker unreachable for longer than the time limit, and another outage in between.
async fn what_is_given_up_is_taken_again_in_order_only(broker: &Arc<Broker>) {
    let mut options = settings(broker, "given-up");
    options.send_timeout_ms = 1_000;
    let sink = PulsarSink::open(options, &schema()).await.unwrap();
    for sequence in 0..10 {
        send(&sink, sequence).await.await.unwrap();
    }
    broker.tool("stop");
    let mut waiting = Vec::new();
    for sequence in 10..20 {
        waiting.push(send(&sink, sequence).await);
    }
    for receipt in waiting {
        assert!(matches!(receipt.await, Err(PulsarError::Timeout { .. })));
    }
    // Not 10: refused at once, also while there is no broker.
    match send(&sink, 20).await.await {
        Err(PulsarError::OutOfOrder { expected: 10, found: 20 }) => {}
        other => panic!("{other:?}"),
    }
    broker.tool("start");
    // As a spool does it: from the first on, until all is well.
    let mut next = 10;
    let begin = Instant::now();
    while next < 30 {
        assert!(begin.elapsed() < Duration::from_secs(240), "stuck at {next}");
        match send(&sink, next).await.await {
            Ok(_) => next += 1,
            Err(PulsarError::Timeout { .. }) => {}
            Err(PulsarError::OutOfOrder { expected, .. }) => next = expected,
            Err(error) => panic!("{next}: {error}"),
        }
    }
    sink.close().await;
    assert_eq!(broker.read_back("given-up", 30).ids(), (0..30).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_and_tokens_are_required_and_checked() {
    let Some(broker) = start("test-secure", 16_850, true) else { return };
    let secure = broker.folder().join("secure");
    let token = std::fs::read_to_string(secure.join("token")).unwrap();
    let options = PulsarOptions {
        url: format!("pulsar+ssl://localhost:{}", broker.port + 1),
        tls: Tls { ca_file: Some(secure.join("ca.pem")), ..Tls::default() },
        auth: Auth { token: Some(token.clone()), token_file: None },
        ..settings(&broker, "secure")
    };
    let sink = PulsarSink::open(options.clone(), &schema()).await.unwrap();
    let large = payload(&batch(10, 100_000), SchemaMode::Each);
    for sequence in 0..5 {
        sink.send(outgoing(sequence, large.clone())).await.unwrap().await.unwrap();
    }
    sink.close().await;
    let found = broker.read_back_with(json!({
        "topic": "secure", "count": 5, "url": options.url, "token": token,
        "ca_file": secure.join("ca.pem"),
    }));
    assert_eq!(found.messages.len(), 5);
    assert_eq!(found.rows().num_rows(), 500_000);

    let refused = async |change: &dyn Fn(&mut PulsarOptions)| {
        let mut options = options.clone();
        change(&mut options);
        PulsarSink::open(options, &schema()).await.err().expect("the broker let it in")
    };
    let denied = |error: &PulsarError| {
        error.is_permanent()
            && matches!(
                error,
                PulsarError::Refused { code: Some(ServerError::AuthenticationError), .. }
            )
    };
    let error = refused(&|options| options.auth.token = None).await;
    assert!(denied(&error), "{error:?}");
    let error = refused(&|options| options.auth.token = Some("nonsense".to_owned())).await;
    assert!(denied(&error), "{error:?}");
    let wrong = Auth { token: None, token_file: Some(secure.join("token.wrong")) };
    let error = refused(&|options| options.auth = wrong.clone()).await;
    assert!(denied(&error), "{error:?}");
    // Without the authority that signed the broker's certificate, and by a name that is not in it.
    let error = refused(&|options| options.tls = Tls::default()).await;
    assert!(error.to_string().to_lowercase().contains("certificate"), "{error}");
    let port = broker.port + 1;
    let error = refused(&|options| options.url = format!("pulsar+ssl://127.0.0.2:{port}")).await;
    assert!(matches!(error, PulsarError::Connection { .. }), "{error}");
    // TLS where none is spoken, and the other way round.
    let port = broker.port;
    let error = refused(&|options| options.url = format!("pulsar+ssl://localhost:{port}")).await;
    assert!(matches!(error, PulsarError::Connection { .. }), "{error}");
    let plain = |options: &mut PulsarOptions| {
        options.url = format!("pulsar://localhost:{}", port + 1);
        options.tls = Tls::default();
    };
    let error = refused(&plain).await;
    assert!(matches!(error, PulsarError::Connection { .. }), "{error}");

    a_token_that_is_replaced_is_used(&broker, &options, &secure).await;
}

/// The file is read at each connection.
async fn a_token_that_is_replaced_is_used(broker: &Broker, options: &PulsarOptions, secure: &Path) {
    let file = secure.join("token.now");
    std::fs::copy(secure.join("token.wrong"), &file).unwrap();
    let mut options = options.clone();
    options.auth = Auth { token: None, token_file: Some(file.clone()) };
    options.topic = "replaced".to_owned();
    assert!(PulsarSink::open(options.clone(), &schema()).await.is_err());
    std::fs::copy(secure.join("token"), &file).unwrap();
    let sink = PulsarSink::open(options, &schema()).await.unwrap();
    send(&sink, 0).await.await.unwrap();
    // Taken away while the connection breaks: what is sent is given back, with the reason.
    std::fs::copy(secure.join("token.wrong"), &file).unwrap();
    broker.tool("kill");
    broker.tool("start");
    match send(&sink, 1).await.await {
        Err(error) => assert!(error.is_permanent(), "{error}"),
        Ok(receipt) => panic!("{receipt:?}"),
    }
    std::fs::copy(secure.join("token"), &file).unwrap();
    let begin = Instant::now();
    while let Err(error) = send(&sink, 1).await.await {
        assert!(begin.elapsed() < Duration::from_secs(120), "{error}");
    }
    sink.close().await;
}

#[tokio::test]
async fn where_no_broker_is_it_says_so_and_soon() {
    let port = tools::free_address().port();
    let options = |port| PulsarOptions {
        url: format!("pulsar://127.0.0.1:{port}"),
        connect_timeout_ms: 500,
        ..PulsarOptions::default()
    };
    let begin = Instant::now();
    let error = PulsarSink::open(options(port), &schema()).await.err().unwrap();
    assert!(!error.is_permanent(), "{error}");
    assert!(error.to_string().contains(&port.to_string()), "{error}");

    // Answers: nothing at all, at once an end, a web server's, and a length of 4 GiB.
    for answer in
        [None, Some(&b""[..]), Some(b"HTTP/1.1 400 Bad Request\r\n\r\n"), Some(&[0xff; 64])]
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut greeting = [0; 64];
            let _ = stream.read(&mut greeting);
            match answer {
                Some(answer) => {
                    let _ = stream.write_all(answer);
                }
                None => std::thread::sleep(Duration::from_millis(1_000)),
            }
        });
        let error = PulsarSink::open(options(port), &schema()).await.err().unwrap();
        assert!(matches!(error, PulsarError::Connection { .. }), "{answer:?}: {error}");
        assert!(!error.is_permanent());
        server.join().unwrap();
    }
    assert!(begin.elapsed() < Duration::from_secs(240));
}
