// SPDX-License-Identifier: Apache-2.0
//! A service under measurement: a process with a folder, its resource use, and its output.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::files::{Consumer, Format};
use crate::BenchError;
use crate::process::Usage;

/// Timeout of a start or an end.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Text in flight inside the service.
const MEMORY_MIB: u32 = 256;
/// Size of a file: small enough for a consumer to keep up, so that memory is reused.
const ROLL_MIB: u32 = 64;

/// A service that can be started: it writes its files to `out`, and all others to a folder of its
/// own.
pub(super) struct Launch {
    pub(super) program: PathBuf,
    /// Name and text of its configuration.
    pub(super) config: (&'static str, String),
    pub(super) arguments: &'static [&'static str],
    /// Its input address.
    pub(super) target: String,
    /// Its readiness endpoint: port and path.
    pub(super) ready: (u16, &'static str),
    pub(super) format: Format,
}

/// The process; dropping it kills it.
pub(super) struct Service {
    process: Child,
    folder: tempfile::TempDir,
    launch: Launch,
    consumer: Consumer,
}

fn failed(message: impl ToString) -> BenchError {
    BenchError::Service { message: message.to_string() }
}

pub(super) fn free_port() -> Result<u16, BenchError> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
    Ok(listener.local_addr().map_err(failed)?.port())
}

/// `arrowsmith ingest`, from TCP into Arrow files.
pub(super) fn ours(
    program: &Path,
    schema: &str,
    engine: &str,
    threads: usize,
) -> Result<Launch, BenchError> {
    let (tcp, http) = (free_port()?, free_port()?);
    let config = format!(
        "[service]\nhttp = '127.0.0.1:{http}'\nthreads = {threads}\nmemory = '{MEMORY_MIB}MiB'\n\
         [stream.s]\nschema = '{schema}'\nengine = '{engine}'\ntcp = ['127.0.0.1:{tcp}']\n\
         acknowledge = true\n[[stream.s.sink]]\ntype = 'directory'\npath = 'out'\n\
         roll_bytes = '{ROLL_MIB}MiB'\nfsync = 'never'\n"
    );
    Ok(Launch {
        program: program.to_owned(),
        config: ("config.toml", config),
        arguments: &["ingest", "--config", "config.toml", "--log", "warn"],
        target: format!("tcp://127.0.0.1:{tcp}"),
        ready: (http, "/readyz"),
        format: Format::Arrow,
    })
}

impl Service {
    /// Starts it and waits until it is ready.
    pub(super) fn start(launch: Launch) -> Result<Self, BenchError> {
        let folder = tempfile::tempdir().map_err(failed)?;
        let out = folder.path().join("out");
        fs::create_dir(&out).map_err(failed)?;
        fs::write(folder.path().join(launch.config.0), &launch.config.1).map_err(failed)?;
        let log = File::create(folder.path().join("log")).map_err(failed)?;
        let process = Command::new(&launch.program)
            .args(launch.arguments)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(failed)?)
            .stderr(log)
            .spawn()
            .map_err(failed)?;
        let consumer = Consumer::start(out, launch.format);
        let mut this = Self { process, folder, launch, consumer };
        let until = Instant::now() + TIMEOUT;
        while this.get(this.launch.ready.1).is_none() {
            if this.process.try_wait().map_err(failed)?.is_some() || Instant::now() > until {
                return Err(failed(format!("the service does not start: {}", this.log())));
            }
            thread::sleep(Duration::from_millis(5));
        }
        Ok(this)
    }

    pub(super) fn target(&self) -> &str {
        &self.launch.target
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// A page, if it is answered with 200.
    fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.launch.ready.0)).ok()?;
        stream.set_read_timeout(Some(TIMEOUT)).ok()?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        head.contains(" 200 ").then(|| body.to_owned())
    }

    /// Seconds in each stage so far, all threads together; empty for a service without stages.
    pub(super) fn stages(&self) -> Result<Vec<(String, f64)>, BenchError> {
        if self.launch.format == Format::Parquet {
            return Ok(Vec::new());
        }
        let text = self.get("/v1/status.json").ok_or_else(|| failed("there is no status"))?;
        let status: serde_json::Value = serde_json::from_str(&text).map_err(failed)?;
        let stages = status["stages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let one = |stage: &serde_json::Value| {
            Some((stage["name"].as_str()?.to_owned(), stage["clock_s"].as_f64()?))
        };
        Ok(stages.iter().filter_map(one).collect())
    }

    /// Its resources; `None` if the system does not report them.
    pub(super) fn usage(&self) -> Option<Usage> {
        Usage::of(self.process.id())
    }

    /// Stops it cleanly; returns the records in its files.
    pub(super) fn end(mut self) -> Result<u64, BenchError> {
        let id = self.process.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status().map_err(failed)?;
        let until = Instant::now() + TIMEOUT;
        let status = loop {
            if let Some(status) = self.process.try_wait().map_err(failed)? {
                break status;
            }
            if Instant::now() > until {
                return Err(failed("the service does not end"));
            }
            thread::sleep(Duration::from_millis(2));
        };
        if !status.success() {
            return Err(failed(format!("the service ended with {status}: {}", self.log())));
        }
        self.consumer.end().map_err(failed)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It has ended already unless something failed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Energy that the processors have used since some time, if the system counts it.
pub(super) fn joules() -> Option<f64> {
    let entries = fs::read_dir("/sys/class/powercap").ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    // One per package; the parts of a package have a second colon.
    let packages =
        names.filter(|name| name.starts_with("intel-rapl:") && name.matches(':').count() == 1);
    let mut sum = None;
    for name in packages {
        let text = fs::read_to_string(format!("/sys/class/powercap/{name}/energy_uj")).ok()?;
        *sum.get_or_insert(0.0) += text.trim().parse::<f64>().ok()? / 1e6;
    }
    sum
}
