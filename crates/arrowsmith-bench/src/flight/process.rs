// SPDX-License-Identifier: Apache-2.0
//! A server or a client under measurement: a process with a protocol of JSON lines, and its
//! resource use.
//!
//! All of them run in a network namespace that is created for the run, if possible (it requires
//! root): its loopback device counts only their bytes. The machine's own network is not changed.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use crate::install::run;
use crate::peer::last_line;

/// Timeout: only a failure takes longer.
const SILENCE_MAX: Duration = Duration::from_secs(300);
/// Ticks of `/proc/PID/stat` per second, on every known Linux architecture.
const TICKS_PER_SECOND: f64 = 100.0;

/// A network namespace with only a loopback device; removed in the end.
#[derive(Debug)]
pub(super) struct Namespace(String);

impl Namespace {
    pub(super) fn make() -> Result<Self, String> {
        let name = format!("arrowsmith-flight-{}", std::process::id());
        run(Command::new("ip").args(["netns", "add", &name]))?;
        let this = Self(name);
        run(Command::new("ip").args(["-n", &this.0, "link", "set", "lo", "up"]))?;
        Ok(this)
    }

    /// Bytes that went over its loopback device so far.
    fn bytes(&self) -> Option<u64> {
        let name = &self.0;
        let printed =
            run(Command::new("ip").args(["-s", "-j", "-n", name, "link", "show", "lo"])).ok()?;
        let links: serde_json::Value = serde_json::from_slice(&printed).ok()?;
        links[0]["stats64"]["tx"]["bytes"].as_u64()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).stderr(Stdio::null()).status();
    }
}

/// Tells the allocators of C and of Arrow to keep freed memory.
///
/// Whether glibc trims its heap after a query depends on the allocation at its end: without this a
/// client takes 0.16 s or 0.32 s for the same query of the same server, for 2,000 or 130,000 page
/// faults.
const KEEP_MEMORY: [(&str, &str); 3] = [
    ("MALLOC_TRIM_THRESHOLD_", "1099511627776"),
    ("MALLOC_MMAP_THRESHOLD_", "33554432"),
    ("MIMALLOC_PURGE_DELAY", "-1"),
];

/// Where processes are started.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// Whether processes keep memory between queries; the same for all of them.
    pub(super) keep_memory: bool,
    pub(super) namespace: Option<Namespace>,
    /// For their error output.
    pub(super) folder: PathBuf,
}

impl Place {
    /// A command inside of the namespace.
    pub(super) fn command(&self, words: &[PathBuf]) -> Command {
        let mut all: Vec<&Path> = words.iter().map(PathBuf::as_path).collect();
        if let Some(Namespace(name)) = &self.namespace {
            let prefix = ["ip", "netns", "exec", name].map(Path::new);
            all.splice(0..0, prefix);
        }
        let mut all = all.into_iter();
        let mut command = Command::new(all.next().unwrap_or(Path::new("false")));
        command.args(all);
        if self.keep_memory {
            command.envs(KEEP_MEMORY);
        }
        command
    }

    /// Bytes over the network so far, with all protocol overhead; `None` without a namespace.
    pub(super) fn network_bytes(&self) -> Option<u64> {
        self.namespace.as_ref()?.bytes()
    }
}

/// A running program; dropping it kills it and its children.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: PathBuf,
    name: String,
}

/// A client's error for a failed query; it can be queried again.
#[derive(serde::Deserialize)]
struct Trouble {
    error: String,
}

/// The resources a process has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Usage {
    pub(super) cpu_s: f64,
    /// Since [`Process::reset_peak`].
    pub(super) peak_rss_mb: f64,
}

impl Process {
    /// Starts a program, without waiting for its first line.
    pub(super) fn start(place: &Place, mut command: Command, name: &str) -> Result<Self, String> {
        let errors = place.folder.join(format!("{name}.stderr"));
        let file = File::create(&errors).map_err(|e| format!("{}: {e}", errors.display()))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(file);
        own_group(&mut command);
        let mut child =
            command.spawn().map_err(|error| format!("{name} cannot be started: {error}"))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or("no pipe")?;
        // A thread reads, so that a hanging program can be given up.
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, stdin, lines, errors, name: name.to_owned() })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its next line of the expected form; other lines are skipped.
    pub(super) fn answer<T: DeserializeOwned>(&mut self) -> Result<T, String> {
        let until = Instant::now() + SILENCE_MAX;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    if let Ok(Trouble { error }) = serde_json::from_str(&line) {
                        return Err(error);
                    }
                    if let Ok(answer) = serde_json::from_str(&line) {
                        return Ok(answer);
                    }
                }
                Err(_) => return Err(self.exit_error()),
            }
        }
    }

    /// The first line that contains this, on either output; for programs without JSON output.
    pub(super) fn line_with(&mut self, mark: &str) -> Result<String, String> {
        let until = Instant::now() + Duration::from_secs(60);
        while Instant::now() < until {
            let said = fs::read_to_string(&self.errors).unwrap_or_default();
            let printed: Vec<String> = self.lines.try_iter().collect();
            let mut all = said.lines().chain(printed.iter().map(String::as_str));
            if let Some(line) = all.find(|line| line.contains(mark)) {
                return Ok(line.to_owned());
            }
            if self.child.try_wait().is_ok_and(|status| status.is_some()) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(self.exit_error())
    }

    /// Sends it a line and waits for the answer.
    pub(super) fn ask<T: DeserializeOwned>(&mut self, line: &str) -> Result<T, String> {
        if let Some(stdin) = &mut self.stdin {
            // If it has ended, the missing answer is reported with its last output.
            let _ = writeln!(stdin, "{line}").and_then(|()| stdin.flush());
        }
        self.answer()
    }

    fn exit_error(&mut self) -> String {
        let said = fs::read(&self.errors).unwrap_or_default();
        // The library's log output precedes the error that ends the program.
        let status = self.child.try_wait().ok().flatten();
        let status = status.map_or_else(|| "does not answer".to_owned(), |s| format!("ended, {s}"));
        format!("{}: {status}: {}", self.name, last_line(&said))
    }

    /// Its resources; `None` if the system does not report them.
    pub(super) fn usage(&self) -> Option<Usage> {
        let folder = format!("/proc/{}", self.child.id());
        let stat = fs::read_to_string(format!("{folder}/stat")).ok()?;
        // The name may contain anything, including spaces and brackets: fields are counted after
        // it.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let mut ticks = || fields.next()?.parse::<f64>().ok();
        // Its own, and those of its children that have ended: a database answers in a process of
        // its own.
        let cpu_s = (ticks()? + ticks()? + ticks()? + ticks()?) / TICKS_PER_SECOND;
        let status = fs::read_to_string(format!("{folder}/status")).ok()?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: f64 = peak.split_whitespace().next()?.parse().ok()?;
        Some(Usage { cpu_s, peak_rss_mb: kib * 1024.0 / 1e6 })
    }

    /// Resets the peak of memory use, if the kernel supports it.
    pub(super) fn reset_peak(&self) {
        let _ = fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5");
    }
}

/// Gives a program a process group of its own, which is killed as one. Windows has none: there only
/// the program itself is killed.
fn own_group(command: &mut Command) {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        command.process_group(0);
    }
    #[cfg(not(unix))]
    let _ = command;
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stdin = None;
        // Its group: killing a wrapper alone would leave the program running.
        let group = format!("-{}", self.child.id());
        let mut kill = Command::new("kill");
        let _ = kill.args(["-TERM", "--", &group]).stderr(Stdio::null()).status();
        let until = Instant::now() + Duration::from_secs(3);
        while Instant::now() < until {
            if self.child.try_wait().is_ok_and(|status| status.is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn shell(folder: &Path, script: &str) -> Process {
        let place = Place { folder: folder.to_owned(), ..Place::default() };
        let words = ["sh", "-c", script].map(PathBuf::from);
        Process::start(&place, place.command(&words), "fake").unwrap()
    }

    #[test]
    fn a_program_is_asked_and_its_use_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = shell(
            folder.path(),
            r#"echo noise; while read line; do echo "{\"x\":\"$line\"}"; done"#,
        );
        let answer: Value = process.ask("one").unwrap();
        assert_eq!(answer["x"], "one");
        assert!(process.usage().unwrap().peak_rss_mb > 0.1);
    }

    #[test]
    fn the_last_words_of_a_program_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = shell(folder.path(), "echo trouble >&2; exit 3");
        let error = process.answer::<Value>().unwrap_err();
        assert!(error.starts_with("fake: ") && error.ends_with("trouble"), "{error}");
        let mut process = shell(folder.path(), "echo on 1.2.3.4:5 >&2; sleep 9");
        assert_eq!(process.line_with("on ").unwrap(), "on 1.2.3.4:5");
    }
}
