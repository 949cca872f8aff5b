// SPDX-License-Identifier: Apache-2.0
//! Errors: bad tickets and names, unauthenticated clients, readers that are slow, many or dead, a
//! server that ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_flight::{FlightData, FlightDescriptor, Ticket};
use arrowsmith_flight::client::{Client, ClientOptions};
use arrowsmith_flight::query::Query;
use arrowsmith_flight::{Access, Options, Server, Tls};
use arrowsmith_testkit::tools;
use futures_util::{StreamExt, TryStreamExt, future, stream};
use tonic::Code;

use crate::common;
use crate::common::{client, connect, options, parquet, read, rows, serve, spec};

struct Data {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

/// A dataset `trips` of this many files of 1000 rows.
fn data(files: i64) -> Data {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trips");
    fs::create_dir(&path).unwrap();
    for number in 0..files {
        parquet(&path.join(format!("{number:04}.parquet")), &[rows(number * 1000, 1000)]);
    }
    Data { _folder: folder, path }
}

async fn server(data: &Data, options: Options) -> Server {
    serve(vec![spec(&data.path)], options).await
}

/// Waits until it holds; a test must not hang.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what}");
}

fn gauge(server: &Server, name: &str) -> f64 {
    let text = server.metrics().text();
    let line = text.lines().find(|line| line.starts_with(&format!("arrowsmith_flight_{name} ")));
    line.unwrap().rsplit(' ').next().unwrap().parse().unwrap()
}

async fn refused(client: &Client, ticket: Vec<u8>) -> Code {
    match client.get(Ticket::new(ticket)).await {
        Ok(_) => Code::Ok,
        Err(status) => status.code(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tickets_that_are_not_ours_open_nothing() {
    let data = data(1);
    let mut options = options();
    options.ticket_key = Some(b"a key of two servers".to_vec());
    let server = server(&data, options.clone()).await;
    let client = client(&server).await;
    let info = client.info(&Query::all("trips")).await.unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap().ticket.to_vec();
    assert_eq!(refused(&client, ticket.clone()).await, Code::Ok);
    for at in [0, 3, 5, ticket.len() / 2, ticket.len() - 1] {
        let mut changed = ticket.clone();
        changed[at] ^= 1;
        assert_eq!(refused(&client, changed).await, Code::InvalidArgument, "byte {at}");
    }
    for bad in
        [b"".to_vec(), b"trips".to_vec(), b"{\"dataset\":\"trips\"}".to_vec(), vec![0; 1 << 20]]
    {
        assert_eq!(refused(&client, bad).await, Code::InvalidArgument);
    }
    // One of a server with the same key, whose tickets expire as they are made.
    options.ticket_lifetime = Duration::ZERO;
    let brief = serve(vec![spec(&data.path)], options.clone()).await;
    let info = common::client(&brief).await.info(&Query::all("trips")).await.unwrap();
    let late = info.endpoint[0].ticket.clone().unwrap().ticket.to_vec();
    assert_eq!(refused(&client, late).await, Code::FailedPrecondition);
    // A server with another key.
    options.ticket_key = Some(b"another key".to_vec());
    let other = serve(vec![spec(&data.path)], options).await;
    assert_eq!(refused(&common::client(&other).await, ticket).await, Code::InvalidArgument);
    for server in [brief, other, server] {
        server.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_not_paths() {
    let data = data(1);
    let server = server(&data, options()).await;
    let client = client(&server).await;
    let absolute = data.path.to_str().unwrap();
    for name in
        ["../trips", "/etc/passwd", absolute, "trips/../trips", "trips/", ".", "..", "", "Trips\0"]
    {
        let error = client.info(&Query::all(name)).await.unwrap_err();
        assert_eq!(error.code(), Code::NotFound, "{name}");
        let put = client.put(name, rows(0, 1).schema(), stream::iter([rows(0, 1)])).await;
        assert_eq!(put.unwrap_err().code(), Code::NotFound, "{name}");
    }
    for parts in [vec![], vec!["trips".to_owned(), "0000.parquet".to_owned()]] {
        let error = client.inner().get_flight_info(FlightDescriptor::new_path(parts)).await;
        assert_eq!(error.unwrap_err().code(), Code::InvalidArgument);
    }
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_file_is_said_to_be_one_and_the_server_goes_on() {
    let data = data(3);
    let server = server(&data, options()).await;
    let client = client(&server).await;
    let path = data.path.join("0001.parquet");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 3;
    bytes[4..middle].fill(0xff);
    fs::write(&path, bytes).unwrap();
    // At first that it has changed; for the next request, its error.
    let error = loop {
        match read(&client, &Query::all("trips")).await.unwrap_err() {
            error if error.code() == Code::FailedPrecondition => {
                client.action("refresh", "").await.unwrap();
            }
            error => break error,
        }
    };
    assert_eq!(error.code(), Code::DataLoss, "{error}");
    assert!(!error.message().contains(data.path.to_str().unwrap()), "{error}");
    fs::remove_file(path).unwrap();
    let error = read(&client, &Query::all("trips")).await.unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition, "{error}");
    client.action("refresh", "").await.unwrap();
    assert_eq!(read(&client, &Query::all("trips")).await.unwrap().num_rows(), 2000);
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_those_who_may_come_in() {
    let data = data(1);
    let mut options = options();
    options.access = Access {
        tokens: vec!["secret".to_owned()],
        users: vec![("ada".to_owned(), "love".to_owned())],
    };
    let mut brief = options.clone();
    brief.token_lifetime = Duration::ZERO;
    let brief = server(&data, brief).await;
    let server = server(&data, options).await;
    let with = |token: Option<&str>, user: Option<(&str, &str)>| ClientOptions {
        token: token.map(str::to_owned),
        user: user.map(|(a, b)| (a.to_owned(), b.to_owned())),
        ..ClientOptions::default()
    };
    let query = Query::all("trips");
    for options in [with(None, None), with(Some("wrong"), None), with(Some(""), None)] {
        let client = connect(&server, &options).await.unwrap();
        assert_eq!(client.info(&query).await.unwrap_err().code(), Code::Unauthenticated);
        assert_eq!(client.list().await.unwrap_err().code(), Code::Unauthenticated);
        assert_eq!(refused(&client, b"x".to_vec()).await, Code::Unauthenticated);
    }
    let wrong = connect(&server, &with(None, Some(("ada", "hate")))).await;
    assert_eq!(wrong.err().unwrap().code(), Code::Unauthenticated);
    let token = connect(&server, &with(Some("secret"), None)).await.unwrap();
    assert_eq!(read(&token, &query).await.unwrap().num_rows(), 1000);
    let user = connect(&server, &with(None, Some(("ada", "love")))).await.unwrap();
    assert_eq!(read(&user, &query).await.unwrap().num_rows(), 1000);
    // The other server's tokens expire as they are made.
    let late = connect(&brief, &with(None, Some(("ada", "love")))).await.unwrap();
    let late = late.info(&query).await.unwrap_err();
    assert_eq!(late.code(), Code::Unauthenticated);
    assert!(late.message().contains("expired"), "{late}");
    assert!(gauge(&server, "refused_total") + gauge(&brief, "refused_total") >= 10.0);
    brief.shutdown().await;
    server.shutdown().await;
}

/// A certificate and its key in a folder, signed by the authority there; whether openssl could.
fn certificates(folder: &Path) -> bool {
    let openssl = |args: &[&str]| {
        let done =
            Command::new("openssl").args(args).current_dir(folder).stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success())
    };
    let made = openssl(&[
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=ca",
        "-addext",
        "basicConstraints=critical,CA:TRUE",
        "-keyout",
        "ca.key",
        "-out",
        "ca.pem",
    ]);
    let names = "subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n";
    fs::write(folder.join("names"), names).unwrap();
    made && ["server", "client"].iter().all(|name| {
        let (key, request, pem) =
            (format!("{name}.key"), format!("{name}.csr"), format!("{name}.pem"));
        openssl(&[
            "req",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            "/CN=localhost",
            "-keyout",
            &key,
            "-out",
            &request,
        ]) && openssl(&[
            "x509",
            "-req",
            "-in",
            &request,
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            "names",
            "-out",
            &pem,
        ])
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_with_and_without_certificates_of_clients() {
    let folder = tempfile::tempdir().unwrap();
    if !tools::openssl() {
        return;
    }
    assert!(certificates(folder.path()));
    let at = |name: &str| Some(folder.path().join(name));
    let data = data(20);
    let mut options = options();
    options.tls = Tls {
        certificate_file: at("server.pem"),
        key_file: at("server.key"),
        client_ca_file: None,
    };
    let tls = server(&data, options.clone()).await;
    options.tls.client_ca_file = at("ca.pem");
    let mutual = server(&data, options).await;
    let plain = ClientOptions { ca_file: at("ca.pem"), ..ClientOptions::default() };
    let mut known = plain.clone();
    known.identity = at("client.pem").zip(at("client.key"));
    let rows = |server: &Server, options: ClientOptions| {
        let url = format!("grpc+tls://localhost:{}", server.address().port());
        async move {
            let client = Client::connect(&url, &options).await?;
            read(&client, &Query::all("trips")).await.map(|batch| batch.num_rows())
        }
    };
    assert_eq!(rows(&tls, plain.clone()).await.unwrap(), 20_000);
    assert_eq!(rows(&mutual, known).await.unwrap(), 20_000);
    rows(&mutual, plain).await.unwrap_err();
    rows(&tls, ClientOptions::default()).await.unwrap_err();
    // And in plain text: nothing is answered.
    assert!(match connect(&tls, &ClientOptions::default()).await {
        Ok(client) => client.list().await.is_err(),
        Err(_) => true,
    });
    tls.shutdown().await;
    mutual.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_readers_hold_little_and_stalled_ones_are_cut_off() {
    let data = data(300);
    let mut options = options();
    options.endpoints_max = 1;
    options.message_bytes = 16 << 10;
    options.stall_timeout = Duration::from_secs(3);
    let server = server(&data, options).await;
    let client = client(&server).await;
    let info = client.info(&Query::all("trips")).await.unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap();
    // Small windows, so that they are soon full.
    let url = format!("http://{}", server.address());
    let channel = tonic::transport::Endpoint::from_shared(url).unwrap();
    let channel = channel.initial_stream_window_size(64 << 10).connect().await.unwrap();
    let mut raw = arrow_flight::flight_service_client::FlightServiceClient::new(channel);
    let mut stalled = raw.do_get(ticket.clone()).await.unwrap().into_inner();
    stalled.message().await.unwrap();
    let sent = gauge(&server, "sent_bytes_total");
    until("the stalled reader was cut off", || gauge(&server, "stalled_total") >= 1.0).await;
    let held = gauge(&server, "sent_bytes_total") - sent;
    assert!(held < 600e3, "{held} bytes were made for a reader that took nothing");
    until("its memory is given back", || gauge(&server, "memory_bytes") == 0.0).await;
    let error = stalled.try_for_each(|_| future::ready(Ok(()))).await.unwrap_err();
    assert_eq!(error.code(), Code::Aborted, "{error}");
    // One that is slow, but takes something now and then, gets everything.
    let mut slow = client.get(ticket).await.unwrap();
    let mut rows = 0;
    while let Some(batch) = slow.next().await {
        rows += batch.unwrap().num_rows();
        if rows < 20_000 {
            tokio::time::sleep(Duration::from_millis(60)).await;
        }
    }
    assert_eq!(rows, 300_000);
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_readers_at_the_same_time() {
    let data = data(4);
    let mut options = options();
    // Too little for all of them at once: they take turns.
    options.memory_bytes_max = 8 << 20;
    let server = server(&data, options).await;
    let clients = future::join_all((0..20).map(|_| client(&server))).await;
    let expected = read(&clients[0], &Query::all("trips")).await.unwrap();
    let readers = (0..1000).map(|number: usize| {
        let (client, expected) = (clients[number % clients.len()].clone(), expected.clone());
        tokio::spawn(async move {
            let found = read(&client, &Query::all("trips")).await.unwrap();
            assert_eq!(found, expected);
        })
    });
    for reader in readers.collect::<Vec<_>>() {
        reader.await.unwrap();
    }
    until("all streams are over", || gauge(&server, "streams") == 0.0).await;
    assert_eq!(gauge(&server, "memory_bytes"), 0.0);
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_die_leave_nothing_behind() {
    let data = data(200);
    let mut options = options();
    options.message_bytes = 16 << 10;
    let server = serve(
        vec![{
            let mut spec = spec(&data.path);
            spec.writable = true;
            spec
        }],
        options,
    )
    .await;
    for _ in 0..20 {
        let client = client(&server).await;
        let info = client.info(&Query::all("trips")).await.unwrap();
        let mut batches = client.read(info, 3).await.unwrap();
        batches.next().await.unwrap().unwrap();
        // A put that never ends either.
        let batch = rows(0, 100);
        let endless = stream::unfold(0, move |n| {
            let batch = batch.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                Some((batch, n + 1))
            }
        });
        let putting = client.clone();
        let schema = rows(0, 1).schema();
        let put = tokio::spawn(async move { putting.put("trips", schema, endless).await });
        tokio::time::sleep(Duration::from_millis(10)).await;
        put.abort();
        let _ = put.await;
        drop((batches, client));
    }
    until("all streams are over", || gauge(&server, "streams") == 0.0).await;
    until("all connections are closed", || gauge(&server, "connections") == 0.0).await;
    let names = || fs::read_dir(&data.path).unwrap().count();
    until("no half of a file is left", || names() == 200).await;
    assert_eq!(gauge(&server, "memory_bytes"), 0.0);
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_lets_streams_end_and_takes_no_more() {
    let data = data(100);
    let server = server(&data, options()).await;
    let address = server.address();
    let client = client(&server).await;
    let info = client.info(&Query::all("trips")).await.unwrap();
    let mut batches = client.read(info, 1).await.unwrap();
    batches.next().await.unwrap().unwrap();
    let ending = tokio::spawn(server.shutdown());
    until("it listens no more", || std::net::TcpStream::connect(address).is_err()).await;
    // The running stream continues; its other endpoints are new calls, which are refused in time.
    let rest: Result<Vec<RecordBatch>, _> = batches.try_collect().await;
    assert!(rest.is_err() || rest.unwrap().iter().map(RecordBatch::num_rows).sum::<usize>() > 0);
    drop(client);
    tokio::time::timeout(Duration::from_secs(20), ending).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_is_an_error_and_not_the_end() {
    let data = data(300);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let path = data.path.clone();
    let server = runtime.spawn(async move {
        let mut options = options();
        options.message_bytes = 16 << 10;
        serve(vec![spec(&path)], options).await
    });
    let server = Arc::new(server.await.unwrap());
    let client = client(&server).await;
    let info = client.info(&Query::all("trips")).await.unwrap();
    let mut batches = client.read(info, 1).await.unwrap();
    batches.next().await.unwrap().unwrap();
    runtime.shutdown_background();
    let rest: Result<Vec<RecordBatch>, _> = batches.try_collect().await;
    rest.unwrap_err();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_refused() {
    let data = data(1);
    let mut options = options();
    options.request_bytes_max = 64 << 10;
    options.put_bytes_max = 200 << 10;
    // A refusal does not wait for the reader of what came before.
    options.stall_timeout = Duration::from_secs(3600);
    options.exchange_bytes_max = 100 << 10;
    let mut spec = spec(&data.path);
    spec.writable = true;
    let server = serve(vec![spec], options).await;
    let client = client(&server).await;
    let put = FlightDescriptor::new_cmd("{\"dataset\":\"trips\",\"put\":\"json\"}");
    let piece = |bytes: usize| FlightData::new().with_app_metadata(vec![b' '; bytes]);
    // One message.
    let large = piece(1 << 20).with_descriptor(put.clone());
    let error = client.inner().do_put(stream::iter([large])).await.map(|_| ()).unwrap_err();
    assert_eq!(error.code(), Code::OutOfRange, "{error}");
    // Many of them.
    let first = FlightData::new().with_descriptor(put);
    let many = std::iter::once(first).chain((0..10).map(|_| piece(50 << 10)));
    let error = client
        .inner()
        .do_put(stream::iter(many.collect::<Vec<_>>()))
        .await
        .map(|_| ())
        .unwrap_err();
    assert_eq!(error.code(), Code::ResourceExhausted, "{error}");
    let command = FlightDescriptor::new_cmd("{\"from\":\"parquet\"}");
    let first = FlightData::new().with_descriptor(command);
    let many = std::iter::once(first).chain((0..10).map(|_| piece(50 << 10)));
    let error = client
        .inner()
        .do_exchange(stream::iter(many.collect::<Vec<_>>()))
        .await
        .map(|_| ())
        .unwrap_err();
    assert_eq!(error.code(), Code::ResourceExhausted, "{error}");
    // And a command.
    let long = FlightDescriptor::new_cmd(vec![b'a'; 70 << 10]);
    assert!(client.inner().get_flight_info(long).await.is_err());
    // The reason is a header, of which clients take a few KiB.
    let text = "y".repeat(40_000);
    for filter in [format!("n = '{text}'"), format!("n = {text}"), format!("\"{text}\" = 1")] {
        let query = Query { filter: Some(filter), ..Query::all("trips") };
        let error = client.info(&query).await.unwrap_err();
        let bytes = error.message().len();
        assert!(error.code() == Code::InvalidArgument && (20..3000).contains(&bytes), "{error}");
    }
    server.shutdown().await;
}
