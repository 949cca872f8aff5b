// SPDX-License-Identifier: Apache-2.0
//! Parquet files read from stores: one in memory, one behind a web server of this test, and an S3
//! store if `ARROWSMITH_TEST_S3` names one.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrowsmith::parquet::{Predicate, ReaderBuilder};
use arrowsmith::store::object_store::memory::InMemory;
use arrowsmith::store::object_store::path::Path;
use arrowsmith::store::object_store::{ObjectStore, ObjectStoreExt, parse_url_opts};
use arrowsmith::store::{expand_url, install_tls, object, objects};
use arrowsmith::{DataFile, ParquetReadOptions};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

const ROWS: i64 = 100_000;

/// `a` counts from `first`; seven more columns make its range a small part of the file.
fn file(first: i64) -> Vec<u8> {
    let column =
        |by: i64| Arc::new(Int64Array::from_iter_values((first..first + ROWS).map(|row| row * by)));
    let columns = ["a", "b", "c", "d", "e", "f", "g", "h"].into_iter().zip(1..);
    let batch =
        RecordBatch::try_from_iter(columns.map(|(name, by)| (name, column(by) as ArrayRef)))
            .unwrap();
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_dictionary_enabled(false)
        .set_max_row_group_row_count(Some(10_000))
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// Rows and the sum of `a`, under a condition.
fn sum(files: Vec<DataFile>, condition: &str) -> (usize, i64) {
    let options = ParquetReadOptions {
        columns: Some(vec!["a".to_owned()]),
        filter: Some(Predicate::parse(condition).unwrap()),
        threads: Some(2),
        ..ParquetReadOptions::default()
    };
    let batches = ReaderBuilder::new().options(options).open(files).unwrap();
    let mut found = (0, 0);
    for batch in batches {
        let batch = batch.unwrap();
        let column = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
        found = (found.0 + batch.num_rows(), found.1 + column.values().iter().sum::<i64>());
    }
    found
}

async fn put(store: &dyn ObjectStore, path: &str, bytes: Vec<u8>) {
    store.put(&Path::from(path), bytes.into()).await.unwrap();
}

fn filled() -> Arc<dyn ObjectStore> {
    let store = InMemory::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        put(&store, "rides/year=2023/x.parquet", file(0)).await;
        put(&store, "rides/year=2024/x.parquet", file(ROWS)).await;
        put(&store, "rides/_temporary/x.parquet", b"no".to_vec()).await;
        put(&store, "rides/readme.txt", b"no".to_vec()).await;
    });
    Arc::new(store)
}

#[test]
fn an_object_and_a_prefix_are_read() {
    let store = filled();
    let path = Path::from("rides/year=2023/x.parquet");
    let one = || vec![object(Arc::clone(&store), &path, "x").unwrap().into()];
    assert_eq!(sum(one(), "a < 3"), (3, 3));
    let all = || objects(&store, &Path::from("rides"), &["parquet"], "memory://rides").unwrap();
    assert_eq!(all()[1].partitions, [("year".to_owned(), Some("2024".to_owned()))]);
    assert_eq!(all()[1].input.name().as_deref(), Some("memory://rides/year=2024/x.parquet"));
    assert_eq!(sum(all(), "a >= 0").0, 200_000);
    assert_eq!(sum(all(), "year = 2024 and a < 100002"), (2, 200_001));
    let missing = object(Arc::clone(&store), &Path::from("rides/y"), "rides/y").err().unwrap();
    assert!(missing.to_string().starts_with("rides/y: "), "{missing}");
    let none = objects(&store, &Path::from("walks"), &["parquet"], "walks").unwrap_err();
    assert!(none.to_string().contains("no object below this"), "{none}");
}

/// Answers HEAD and GET with ranges; counts the bytes that it sends.
fn serve(bytes: Vec<u8>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let sent = Arc::<AtomicUsize>::default();
    let (bytes, count) = (Arc::new(bytes), Arc::clone(&sent));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (bytes, count) = (Arc::clone(&bytes), Arc::clone(&count));
            thread::spawn(move || answer(stream, &bytes, &count));
        }
    });
    (format!("http://{address}"), sent)
}

fn answer(stream: TcpStream, bytes: &[u8], sent: &AtomicUsize) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let mut request = String::new();
        let mut range = None;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let lower = line.to_lowercase();
            if let Some(asked) = lower.trim().strip_prefix("range: bytes=") {
                let (from, to) = asked.split_once('-')?;
                range = Some(from.parse().ok()?..to.parse::<usize>().ok()? + 1);
            }
            if request.is_empty() {
                request = line;
            } else if line == "\r\n" {
                break;
            }
        }
        let total = bytes.len();
        let range = range.unwrap_or(0..total);
        let part = &bytes[range.clone()];
        let head = if request.contains("/missing") {
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned()
        } else {
            let (status, about) = if part.len() == total {
                ("200 OK", String::new())
            } else {
                let end = range.end - 1;
                (
                    "206 Partial Content",
                    format!("Content-Range: bytes {}-{end}/{total}\r\n", range.start),
                )
            };
            let date = "Last-Modified: Wed, 01 May 2024 00:00:00 GMT\r\nETag: \"1\"\r\n";
            format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{about}{date}\r\n", part.len())
        };
        let lies = match () {
            () if !request.starts_with("GET") => None,
            () if request.contains("/endless") => Some(1_u64 << 40),
            () if request.contains("/short") => Some(4),
            () => None,
        };
        if let Some(bytes) = lies {
            // The announced range, but another number of bytes.
            let length = format!("Content-Length: {}", part.len());
            let lie = head.replace(&length, &format!("Content-Length: {bytes}"));
            stream.write_all(lie.as_bytes()).ok()?;
            for _ in 0..bytes / 4 {
                stream.write_all(b"PAR1").ok()?;
            }
            continue;
        }
        stream.write_all(head.as_bytes()).ok()?;
        if request.starts_with("GET") && !request.contains("/missing") {
            stream.write_all(part).ok()?;
            sent.fetch_add(part.len(), Ordering::Relaxed);
        }
    }
}

#[test]
fn only_what_is_needed_comes_over_the_network() {
    let bytes = file(0);
    let total = bytes.len();
    let (address, sent) = serve(bytes);
    let files = || expand_url(&format!("{address}/x.parquet"), &["parquet"]).unwrap();
    assert_eq!(sum(files(), "a < 5"), (5, 10));
    assert!(
        sent.load(Ordering::Relaxed) < total / 8,
        "{} of {total}",
        sent.load(Ordering::Relaxed)
    );
    assert_eq!(sum(files(), "a >= 0").0, 100_000);
    let error = expand_url(&format!("{address}/missing"), &["parquet"]).err().unwrap();
    assert!(error.to_string().contains("/missing: "), "{error}");
}

/// A server that sends other than what it announced is an error: it takes no more memory than what
/// was requested.
#[test]
fn a_server_sends_neither_more_nor_less_than_requested() {
    let (address, _) = serve(file(0));
    for (name, expected) in [("endless", "more bytes"), ("short", "fewer bytes")] {
        let files = expand_url(&format!("{address}/{name}"), &["parquet"]).unwrap();
        let error = ReaderBuilder::new().open(files).map(drop).unwrap_err().to_string();
        assert!(error.contains(&format!("{expected} than requested")), "{error}");
    }
}

#[test]
#[ignore = "takes a bucket to write to, which ARROWSMITH_TEST_S3 names"]
fn an_s3_server_is_read() {
    let bucket = std::env::var("ARROWSMITH_TEST_S3").unwrap();
    install_tls();
    let url = parse_url_opts(
        &format!("{bucket}/").parse().unwrap(),
        std::env::vars().map(|(name, value)| (name.to_lowercase(), value)),
    );
    let (store, _) = url.unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        put(&*store, "rides/year=2023/x.parquet", file(0)).await;
        put(&*store, "rides/year=2024/x.parquet", file(ROWS)).await;
    });
    let all = expand_url(&format!("{bucket}/rides/"), &["parquet"]).unwrap();
    assert_eq!(sum(all, "year = 2024 and a < 100002"), (2, 200_001));
    let one = expand_url(&format!("{bucket}/rides/year=2023/x.parquet"), &["parquet"]).unwrap();
    assert_eq!(sum(one, "a < 5"), (5, 10));
}
