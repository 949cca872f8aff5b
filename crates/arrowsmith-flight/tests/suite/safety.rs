// SPDX-License-Identifier: Apache-2.0
//! Unauthenticated clients and changing files must not lock others out, end the server, mix rows of
//! two states, or reveal paths; and a condition means the same for every format.

use std::fs::{self, OpenOptions};
use std::io::Read;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{
    ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch, TimestampMillisecondArray,
    new_null_array,
};
use arrow_schema::DataType;
use arrowsmith_flight::Access;
use arrowsmith_flight::client::Client;
use arrowsmith_flight::dataset::FileAccess;
use arrowsmith_flight::query::Query;
use futures_util::TryStreamExt;
use tonic::{Code, Status};

use crate::common::{client, ipc, options, parquet, read, serve, spec};

fn numbers(first: i64, count: i64) -> RecordBatch {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + count));
    RecordBatch::try_from_iter([("x", column)]).unwrap()
}

/// Waits until the other side has closed it.
fn closed(mut socket: &TcpStream) -> bool {
    let mut rest = Vec::new();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // The server sent its settings before; a reset is an end, too.
    match socket.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_sockets_lock_no_client_out_and_are_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    parquet(&path, &[numbers(0, 10)]);
    let access = Access { tokens: vec!["secret".to_owned()], ..Access::default() };
    let mut options = options();
    options.connections_max = 2;
    options.handshake_timeout = Duration::from_secs(30);
    options.access = access;
    let server = serve(vec![spec(&path)], options.clone()).await;
    let silent: Vec<_> = (0..100).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    let known = arrowsmith_flight::client::ClientOptions {
        token: Some("secret".to_owned()),
        ..Default::default()
    };
    let url = format!("grpc://{}", server.address());
    let client = Client::connect(&url, &known).await.unwrap();
    assert_eq!(client.list().await.unwrap().len(), 1);
    // There is room for 64; the oldest have made it.
    assert!(closed(&silent[0]));
    drop(silent);
    server.shutdown().await;
    options.handshake_timeout = Duration::from_millis(50);
    let server = serve(vec![spec(&path)], options).await;
    let silent = TcpStream::connect(server.address()).unwrap();
    assert!(closed(&silent));
    // A preface alone, and calls that are not let in, are not enough either.
    let mut begun = TcpStream::connect(server.address()).unwrap();
    std::io::Write::write_all(&mut begun, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .unwrap();
    assert!(closed(&begun));
    server.shutdown().await;
}

fn cut(path: &Path, bytes: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_shrinks_is_an_error_of_its_streams() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("i.arrow");
    for query in [
        Query::all("i"),
        Query { filter: Some("x > 5".to_owned()), ..Query::all("i") },
        Query { columns: Some(vec!["x".to_owned()]), limit: Some(7), ..Query::all("i") },
    ] {
        ipc(&path, &[numbers(0, 100_000), numbers(100_000, 100_000)]);
        let server = serve(vec![spec(&path)], options()).await;
        let client = client(&server).await;
        read(&client, &query).await.unwrap();
        let info = client.info(&query).await.unwrap();
        cut(&path, 4096);
        let rows: Result<Vec<_>, Status> = match client.read(info, 1).await {
            Ok(batches) => batches.try_collect().await,
            Err(status) => Err(status),
        };
        let status = rows.unwrap_err();
        assert!([Code::FailedPrecondition, Code::DataLoss].contains(&status.code()), "{status}");
        assert_eq!(client.list().await.unwrap().len(), 1);
        server.shutdown().await;
    }
}

/// A text is read while it is sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_shrinks_is_an_error_of_its_streams() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    let lines: String = (0..500_000).map(|n| format!("{{\"x\":{n},\"s\":\"v{n}\"}}\n")).collect();
    fs::write(&path, &lines).unwrap();
    let mut options = options();
    options.message_bytes = 64 << 10;
    let server = serve(vec![spec(&path)], options).await;
    let client = client(&server).await;
    let query = Query::all("t");
    let info = client.info(&query).await.unwrap();
    let mut batches = client.read(info, 1).await.unwrap();
    batches.try_next().await.unwrap().unwrap();
    cut(&path, lines.len() as u64 / 3);
    let rest: Result<Vec<_>, Status> = batches.try_collect().await;
    let status = rest.unwrap_err();
    assert!([Code::FailedPrecondition, Code::DataLoss].contains(&status.code()), "{status}");
    assert_eq!(client.list().await.unwrap().len(), 1);
    server.shutdown().await;
}

/// Polars writes no stream into a file: the schema in front has no length, and no other reader
/// needs it.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_without_a_stream_in_it_is_read_by_its_footer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("i.arrow");
    let batches = [numbers(0, 1000), numbers(1000, 1000)];
    ipc(&path, &batches);
    let mut bytes = fs::read(&path).unwrap();
    let start = bytes.windows(4).position(|bytes| bytes == [0xff; 4]).unwrap();
    let length = u32::from_le_bytes(bytes[start + 4..start + 8].try_into().unwrap()) as usize;
    bytes.copy_within(start + 8..start + 8 + length, start);
    bytes[start + length..start + length + 8].fill(0);
    fs::write(&path, bytes).unwrap();
    let server = serve(vec![spec(&path)], options()).await;
    let client = client(&server).await;
    assert_eq!(read(&client, &Query::all("i")).await.unwrap(), numbers(0, 2000));
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mapped_file_gives_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("i.arrow");
    ipc(&path, &[numbers(0, 1000), numbers(1000, 1000)]);
    let mut mapped = spec(&path);
    mapped.name = "mapped".to_owned();
    mapped.access = FileAccess::Map;
    let server = serve(vec![spec(&path), mapped], options()).await;
    let client = client(&server).await;
    for filter in [None, Some("x >= 990 and x < 1010".to_owned())] {
        let of = |name: &str| Query { filter: filter.clone(), ..Query::all(name) };
        let plain = read(&client, &of("i")).await.unwrap();
        assert_eq!(plain, read(&client, &of("mapped")).await.unwrap());
    }
}

async fn rows_of(client: &Client, ticket: arrow_flight::Ticket) -> Result<usize, Status> {
    let batches: Vec<RecordBatch> = client.get(ticket).await?.try_collect().await?;
    Ok(batches.iter().map(RecordBatch::num_rows).sum())
}

#[tokio::test(flavor = "multi_thread")]
async fn endpoints_of_one_flight_see_one_state() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, first: i64| {
        let path = folder.path().join(name);
        let batches = [numbers(first, 1000), numbers(first + 1000, 1000)];
        match name.rsplit('.').next().unwrap() {
            "arrow" => ipc(&path, &batches),
            "jsonl" => {
                let mut writer =
                    arrow_json::LineDelimitedWriter::new(fs::File::create(&path).unwrap());
                writer.write_batches(&batches.each_ref()).unwrap();
                writer.finish().unwrap();
            }
            _ => parquet(&path, &batches),
        }
        path
    };
    for name in ["t.parquet", "t.arrow", "t.jsonl"] {
        let path = write(name, 0);
        let server = serve(vec![spec(&path)], options()).await;
        let client = client(&server).await;
        let info = client.info(&Query::all("t")).await.unwrap();
        let tickets: Vec<_> = info.endpoint.iter().map(|e| e.ticket.clone().unwrap()).collect();
        assert!(rows_of(&client, tickets[0].clone()).await.unwrap() >= 1000);
        let other = write(&format!("other.{name}"), 5000);
        fs::rename(other, &path).unwrap();
        let last = tickets.last().unwrap().clone();
        let status = rows_of(&client, last).await.unwrap_err();
        assert_eq!(status.code(), Code::FailedPrecondition, "{name}: {status}");
        // The next request gets the new state, without a `refresh`.
        let mut found = None;
        for _ in 0..1000 {
            if let Ok(batch) = read(&client, &Query::all("t")).await {
                found = Some(batch);
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let found = found.unwrap();
        let first = found.column(0).as_any().downcast_ref::<Int64Array>().unwrap().value(0);
        assert_eq!((found.num_rows(), first), (2000, 5000), "{name}");
        server.shutdown().await;
        fs::remove_file(path).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_an_inferred_schema_lacks_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.jsonl");
    let text = "{\"a\":1,\"b\":1}\n".repeat(20_000) + "{\"a\":2,\"late\":true}\n";
    fs::write(&path, text).unwrap();
    let server = serve(vec![spec(&path)], options()).await;
    let client = client(&server).await;
    let status = read(&client, &Query::all("t")).await.unwrap_err();
    let message = status.message();
    assert!(message.contains("line 20001") && message.contains("late"), "{message}");
    assert!(message.contains("--schema"), "{message}");
    // Whoever selects columns does without the others.
    let some = Query { columns: Some(vec!["a".to_owned()]), ..Query::all("t") };
    assert_eq!(read(&client, &some).await.unwrap().num_rows(), 20_001);
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_condition_means_the_same_for_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let nan = f64::NAN;
    let f = vec![Some(1.0), Some(nan), Some(-0.0), Some(0.0), Some(20.0), None, Some(-nan)];
    let g: Vec<Option<f32>> = vec![
        Some(0.1),
        None,
        Some(f32::INFINITY),
        Some(-0.0),
        Some(1.5),
        Some(f32::NAN),
        Some(3.0),
    ];
    let t = (0..7).map(|n| (n != 3).then_some(n));
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("f", Arc::new(Float64Array::from(f)) as ArrayRef, true),
        ("g", Arc::new(Float32Array::from(g)) as ArrayRef, true),
        ("t", Arc::new(TimestampMillisecondArray::from_iter(t)) as ArrayRef, true),
        ("n", Arc::new(Int64Array::from_iter_values(0..7)) as ArrayRef, false),
    ])
    .unwrap();
    let (one, two) = (folder.path().join("p.parquet"), folder.path().join("i.arrow"));
    parquet(&one, std::slice::from_ref(&batch));
    ipc(&two, &[batch]);
    let mut memory = spec(&one);
    memory.name = "m".to_owned();
    memory.access = FileAccess::Preload;
    let server = serve(vec![spec(&one), spec(&two), memory], options()).await;
    let client = client(&server).await;
    let rows = async |name: &str, filter: &str| {
        let query = Query {
            columns: Some(vec!["n".to_owned()]),
            filter: Some(filter.to_owned()),
            ..Query::all(name)
        };
        let batch = read(&client, &query).await.map_err(|status| status.code())?;
        Ok::<_, Code>(
            batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap().values().to_vec(),
        )
    };
    for (filter, expected) in [
        ("f > 10", Some(vec![4])),
        ("f = 0", Some(vec![2, 3])),
        ("f < 0", Some(vec![])),
        ("f >= 0", Some(vec![0, 2, 3, 4])),
        ("not f > 10", None),
        ("f != 1", None),
        ("f in (0, 20)", None),
        ("f is null", Some(vec![5])),
        ("g = 0.1", None),
        ("g > 1e39", None),
        ("g < 2 and f < 100", None),
        ("t = '1970-01-01T00:00:00.0005'", None),
        ("t < '1970-01-01T00:00:00.0005'", None),
        ("t >= '1970-01-01T00:00:00.0025' or f > 3", None),
        ("n < 2.5", Some(vec![0, 1, 2])),
        ("n = 'x'", None),
        ("nowhere = 1", None),
    ] {
        let found = rows("p", filter).await;
        for name in ["i", "m"] {
            assert_eq!(rows(name, filter).await, found, "{name}: {filter}");
        }
        if let Some(expected) = expected {
            assert_eq!(found, Ok(expected), "{filter}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_status_tells_where_files_lie() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    ipc(&data.join("0.arrow"), &[numbers(0, 10)]);
    let server = serve(vec![spec(&data)], options()).await;
    let client = client(&server).await;
    let info = client.info(&Query::all("data")).await.unwrap();
    let mut said = Vec::new();
    // A file whose column is of another kind, an invalid one, a missing one.
    let name = numbers(0, 1).schema().field(0).name().clone();
    let other = new_null_array(&DataType::new_list(DataType::Int64, true), 1);
    ipc(&data.join("1.arrow"), &[RecordBatch::try_from_iter([(name, other)]).unwrap()]);
    said.push(client.action("refresh", "").await.unwrap_err());
    fs::write(data.join("1.arrow"), "no file at all").unwrap();
    said.push(client.action("refresh", r#"{"dataset":"data"}"#).await.unwrap_err());
    fs::remove_dir_all(&data).unwrap();
    said.push(client.action("refresh", "").await.unwrap_err());
    said.push(rows_of(&client, info.endpoint[0].ticket.clone().unwrap()).await.unwrap_err());
    for status in said {
        let text = format!("{status} {:?}", status.details());
        let path = folder.path().to_str().unwrap();
        assert!(!text.contains(path) && !text.contains(".arrow"), "{text}");
    }
}
