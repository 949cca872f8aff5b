// SPDX-License-Identifier: Apache-2.0
//! The service under test: its process, its folder, and queries on both.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_ipc::reader::FileReader;
use arrowsmith_load::{Amount, Chunk, Options, Report, Source};
use arrowsmith_testkit::scale;
use arrowsmith_testkit::tools::free_address;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

/// Timeout of every wait: a busy machine is slow.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Memory that the process may use above its configured limit: code, threads, allocator, and Arrow
/// data for the text.
const MEMORY_BESIDE: u64 = 256 << 20;

/// A folder with a configuration, and the process that runs on it.
pub struct Service {
    folder: tempfile::TempDir,
    process: Option<Child>,
    pub tcp: u16,
    pub http: u16,
    /// Variables of its environment.
    pub environment: Vec<(String, String)>,
}

/// The number of repetitions of `name`, which it prints: fewer in a usual run than in a full one.
pub fn times(name: &str, usual: u64, whole: u64) -> usize {
    scale::number(name, usual, whole).try_into().unwrap()
}

/// Waits until a condition holds.
#[track_caller]
pub fn wait_for(what: &str, mut so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < until, "{what}: not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

impl Service {
    /// A service with one stream `s` of records `{"id":N}` over TCP, into the directory `out`.
    /// `service` and `stream` are TOML added to the tables of these names, `rest` is TOML added
    /// after them.
    pub fn new(service: &str, stream: &str, rest: &str) -> Self {
        Self::of("id: int64 not null", service, stream, rest)
    }

    /// As [`Service::new`], with another schema.
    pub fn of(schema: &str, service: &str, stream: &str, rest: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (tcp, http) = (free_address().port(), free_address().port());
        let default_sink = match rest.contains("[[stream.s.sink]]") {
            true => "",
            false => "[[stream.s.sink]]\ntype = 'directory'\npath = 'out'\n",
        };
        let config = format!(
            "[service]\nhttp = '127.0.0.1:{http}'\n{service}\n\
             [stream.s]\nschema = '{schema}'\ntcp = ['127.0.0.1:{tcp}']\n{stream}\n\
             {default_sink}{rest}\n"
        );
        fs::write(folder.path().join("config.toml"), config).unwrap();
        Self { folder, process: None, tcp, http, environment: Vec::new() }
    }

    /// As [`Service::new`], running.
    pub fn start(service: &str, stream: &str, rest: &str) -> Self {
        let mut this = Self::new(service, stream, rest);
        this.run();
        this
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_arrowsmith"));
        let log = File::options().create(true).append(true).open(self.path("log")).unwrap();
        command.args(["ingest", "--config", "config.toml"]).current_dir(self.folder.path());
        command.envs(self.environment.iter().cloned());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        command
    }

    /// Starts the process and waits until it accepts records.
    pub fn run(&mut self) {
        let child = self.command().spawn().unwrap();
        self.adopt(child);
    }

    pub fn adopt(&mut self, child: Child) {
        self.process = Some(child);
        wait_for("the service is ready", || {
            let ended = self.process.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?}: {}", self.log());
            self.get("/readyz").is_some_and(|(status, _)| status == 200)
        });
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// Requests a page; `None` if there is no response.
    pub fn get(&self, path: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.http)).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, body.to_owned()))
    }

    /// The content of `/v1/status.json`.
    pub fn status(&self) -> Value {
        let (status, body) = self.get("/v1/status.json").unwrap();
        assert_eq!(status, 200);
        serde_json::from_str(&body).unwrap()
    }

    /// One of the `totals`.
    pub fn total(&self, name: &str) -> u64 {
        self.status()["totals"][name].as_u64().unwrap()
    }

    /// Waits until this many records are received.
    #[track_caller]
    pub fn wait_received(&self, records: u64) {
        wait_for(&format!("{records} records are received"), || {
            self.total("received_records") >= records
        });
    }

    /// Fails if the process has ever used more memory than `memory` plus [`MEMORY_BESIDE`].
    #[track_caller]
    pub fn assert_memory(&self, memory: u64) {
        let pid = self.process.as_ref().unwrap().id();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        let most = memory + MEMORY_BESIDE;
        assert!(kib * 1024 <= most, "{} of {} MiB at most", kib >> 10, most >> 20);
    }

    /// Ends the process without warning, as a power failure would.
    pub fn kill(&mut self) {
        let mut process = self.process.take().unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Sends SIGTERM and returns the summary of stream `s`; checks that its counts add up to
    /// `received` and that memory stayed bounded.
    #[track_caller]
    pub fn end(&mut self) -> BTreeMap<String, u64> {
        self.assert_memory(64 << 20);
        let mut process = self.process.take().unwrap();
        let told =
            Command::new("kill").args(["-TERM", &process.id().to_string()]).status().unwrap();
        assert!(told.success());
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = process.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > until {
                process.kill().unwrap();
                panic!("the service does not end: {}", self.log());
            }
            thread::sleep(Duration::from_millis(10));
        };
        let log = self.log();
        let last = log.lines().rfind(|line| line.starts_with("{\"streams\"")).unwrap_or_default();
        let summary: Value = serde_json::from_str(last).unwrap_or_else(|_| panic!("{log}"));
        let of: BTreeMap<String, u64> =
            serde_json::from_value(summary["streams"]["s"].clone()).unwrap();
        assert!(status.success(), "{status}: {log}");
        assert_eq!(of["received"], of["published"] + of["rejected"] + of["spooled"], "{of:?}");
        assert_eq!(of["unpublished"], 0, "{of:?}");
        of
    }

    /// The column `id` of all files, in the order of their names, rows in order.
    pub fn ids(&self) -> Vec<i64> {
        ids(&self.path("out"))
    }

    /// Sends text over TCP and closes in order.
    pub fn send(&self, text: &[u8]) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.tcp)).unwrap();
        stream.write_all(text).unwrap();
    }

    /// Records `ids` to this service; see [`load`].
    pub fn load(&self, ids: std::ops::Range<u64>, chunk: u64) -> Options {
        load(&format!("tcp://127.0.0.1:{}", self.tcp), ids, chunk)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            // It may have exited already.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// The column `id` of all Arrow files of a folder.
pub fn ids(folder: &Path) -> Vec<i64> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "arrow")).collect();
    files.sort();
    let mut ids = Vec::new();
    for file in files {
        for batch in FileReader::try_new(File::open(&file).unwrap(), None).unwrap() {
            let batch = batch.unwrap();
            ids.extend(batch.column_by_name("id").unwrap().as_primitive::<Int64Type>().values());
        }
    }
    ids
}

/// The Parquet files below a folder by their paths, without hidden ones.
pub fn parquet_files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let inner = parquet_files(&path).into_iter();
            files.extend(inner.map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
        } else if !name.starts_with('.') && name.ends_with(".parquet") {
            files.insert(name, fs::read(path).unwrap());
        }
    }
    files
}

/// The column `id` of a Parquet file.
pub fn parquet_ids(bytes: &[u8]) -> Vec<i64> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let ids = reader.flat_map(|batch| {
        let batch = batch.unwrap();
        let column = batch.column_by_name("id").unwrap();
        column.as_primitive::<Int64Type>().values().to_vec()
    });
    ids.collect()
}

/// Lines `{"id":N}`.
pub fn lines(ids: std::ops::Range<u64>) -> Vec<u8> {
    ids.flat_map(|id| format!("{{\"id\":{id}}}\n").into_bytes()).collect()
}

/// Sends each of these records once, on one connection, `chunk` at a time.
pub fn load(target: &str, ids: std::ops::Range<u64>, chunk: u64) -> Options {
    let amount = Amount::Records(ids.end - ids.start);
    let starts = ids.clone().step_by(usize::try_from(chunk).unwrap());
    let chunks: Arc<[Chunk]> = starts
        .map(|start| {
            let end = (start + chunk).min(ids.end);
            Chunk { text: lines(start..end).into(), records: end - start }
        })
        .collect();
    Options {
        amount,
        timeout: PATIENCE,
        ..Options::new(target.parse().unwrap(), Source::Repeated(chunks))
    }
}

pub fn go(options: &Options) -> Report {
    arrowsmith_load::run(options, &AtomicBool::new(false)).unwrap()
}

/// Checks that all of these have arrived; returns the number of duplicates.
#[track_caller]
pub fn assert_all(found: &[i64], ids: std::ops::Range<u64>) -> usize {
    let mut sorted = found.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let expected: Vec<i64> = ids.map(|id| i64::try_from(id).unwrap()).collect();
    let missing = expected.iter().filter(|id| sorted.binary_search(id).is_err());
    let missing: Vec<_> = missing.take(10).collect();
    assert!(missing.is_empty(), "missing: {missing:?} … of {} found", sorted.len());
    assert_eq!(sorted.len(), expected.len(), "records that were never sent");
    found.len() - sorted.len()
}
