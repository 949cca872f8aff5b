// SPDX-License-Identifier: Apache-2.0
//! A real Pulsar broker for tests, from `tools/pulsar`, and a real consumer in Python.

#![allow(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test that cannot go on fails"
)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_ipc::reader::StreamReader;
use serde_json::{Value, json};

use crate::tools;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A broker started by this test program, with which it ends.
pub struct Broker {
    /// Its port on this machine.
    pub port: u16,
    name: &'static str,
    secure: bool,
    python: PathBuf,
}

impl Broker {
    /// Starts it with empty storage, or reports why it cannot. A second call in one program returns
    /// the same broker.
    pub fn start(name: &'static str, port: u16, secure: bool) -> Option<Self> {
        static LOCK: std::sync::Mutex<Vec<&str>> = std::sync::Mutex::new(Vec::new());
        let mut started = LOCK.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !tools::answers(Command::new(root().join("tools/pulsar")).arg("installed")) {
            tools::absent("Pulsar", tools::SETUP);
            return None;
        }
        let python = tools::python("pulsar, pyarrow")?;
        let broker = Self { port, name, secure, python };
        if !started.contains(&name) {
            started.push(name);
            broker.tool("wipe");
            broker.tool("start");
        }
        Some(broker)
    }

    /// `tools/pulsar COMMAND` for this broker.
    pub fn tool(&self, command: &str) {
        let mut tool = Command::new(root().join("tools/pulsar"));
        tool.args([command, "--name", self.name, "--port", &self.port.to_string()]);
        tool.args(["--web-port", &(self.port + 1_500).to_string()]);
        tool.args(["--while", &std::process::id().to_string()]);
        tool.args(["--partitioned", "three", "3", "--partitioned", "by-producer", "2"]);
        tool.args(["--partitioned", "first-three", "3", "--partitioned", "keys", "5"]);
        if self.secure {
            tool.arg("--secure");
        }
        assert!(tool.status().unwrap().success(), "tools/pulsar {command}");
    }

    /// Stops or continues the broker's process, to simulate an overloaded machine. After a stop
    /// returns, all its threads are stopped.
    pub fn signal(&self, signal: &str) {
        let pid = std::fs::read_to_string(self.folder().join("pid")).unwrap();
        let status = Command::new("kill").args([&format!("-{signal}"), pid.trim()]).status();
        assert!(status.unwrap().success());
        // The signal reaches threads one after another, and a thread may respond until then.
        while signal == "STOP" && !stands(pid.trim()) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    /// Publishes an empty message with a key, with the Java client that the broker includes.
    pub fn java_produce(&self, topic: &str, key: &str) {
        let home = self.folder().join("../..");
        let program = std::fs::read_dir(home).unwrap().map(|entry| entry.unwrap().path());
        let program = program.filter(|path| path.join("bin/pulsar-client").exists()).max().unwrap();
        let mut client = Command::new(program.join("bin/pulsar-client"));
        client.args(["--url", &format!("pulsar://127.0.0.1:{}", self.port), "produce"]);
        client.args(["--key", key, "--messages", " ", topic]).stdout(Stdio::null());
        // It does not report its work, but logs much about Java on standard error.
        let done = client.env("PULSAR_MEM", "-Xmx128m").stderr(Stdio::null()).status();
        assert!(done.unwrap().success());
    }

    /// The folder of its data, its log, and the files of `--secure`.
    pub fn folder(&self) -> PathBuf {
        let home = std::env::var_os("ARROWSMITH_PULSAR").map(PathBuf::from).unwrap_or_else(|| {
            let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
            let cache = cache
                .unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"));
            cache.join("arrowsmith/pulsar")
        });
        home.join("instances").join(self.name)
    }

    /// Reads the topic with Pulsar's own client: `count` messages, and any further ones.
    pub fn read_back(&self, topic: &str, count: usize) -> ReadBack {
        self.read_back_with(json!({"topic": topic, "count": count}))
    }

    /// Reads with these parameters, see `read_back.py`.
    pub fn read_back_with(&self, mut ask: Value) -> ReadBack {
        static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let out = std::env::temp_dir()
            .join(format!("arrowsmith-pulsar-{}-{number}.arrows", std::process::id()));
        if ask["url"].is_null() {
            ask["url"] = json!(format!("pulsar://127.0.0.1:{}", self.port));
        }
        ask["out"] = json!(out);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/pulsar/read_back.py");
        let read = Command::new(&self.python).arg(script).arg(ask.to_string()).output().unwrap();
        let errors = String::from_utf8_lossy(&read.stderr);
        assert!(read.status.success(), "{errors}");
        let lines = String::from_utf8(read.stdout).unwrap();
        let messages = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let batches = match File::open(&out) {
            Ok(file) => StreamReader::try_new(file, None).unwrap().map(Result::unwrap).collect(),
            Err(_) => Vec::new(),
        };
        let _ = std::fs::remove_file(out);
        ReadBack { messages, batches }
    }
}

/// The messages of a consumer.
pub struct ReadBack {
    /// One object per message, see `read_back.py`.
    pub messages: Vec<Value>,
    /// The rows of all of them.
    pub batches: Vec<RecordBatch>,
}

impl ReadBack {
    /// All rows as one batch.
    pub fn rows(&self) -> RecordBatch {
        let schema = self.batches[0].schema();
        arrow_select::concat::concat_batches(&schema, &self.batches).unwrap()
    }

    /// The numbers in column `id`, in the order of arrival.
    pub fn ids(&self) -> Vec<u64> {
        let ids = |batch: &RecordBatch| {
            batch.column_by_name("id").unwrap().as_primitive::<UInt64Type>().values().to_vec()
        };
        self.batches.iter().flat_map(ids).collect()
    }
}

/// Whether every thread of a process is stopped.
fn stands(pid: &str) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    threads.flatten().all(|thread| {
        let Ok(stat) = std::fs::read_to_string(thread.path().join("stat")) else { return true };
        // The state follows the name, which is in parentheses and may contain anything.
        stat.rsplit_once(") ").is_none_or(|(_, rest)| !rest.starts_with(['R', 'S', 'D']))
    })
}
