// SPDX-License-Identifier: Apache-2.0
//! A program under measurement: a process with a protocol of JSON lines, and its resource use.
//!
//! A program that dies, hangs or violates the protocol is an error of that program only.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

/// Timeout: only a failure takes longer.
const SILENCE_MAX: Duration = Duration::from_secs(600);
/// Ticks of `/proc/PID/stat` per second, on every known Linux architecture.
const TICKS_PER_SECOND: f64 = 100.0;
/// Time between two looks at the memory of a program that runs to its end.
const SAMPLE: Duration = Duration::from_millis(5);

/// A running program; dropping it kills it and its children.
#[derive(Debug)]
pub(crate) struct Process {
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
pub(crate) struct Usage {
    pub(crate) cpu_s: f64,
    /// Since [`Process::reset_peak`].
    pub(crate) peak_rss_mb: f64,
}

impl Usage {
    /// Of a process; `None` if the system does not report them.
    pub(crate) fn of(process: u32) -> Option<Self> {
        Some(Self { cpu_s: cpu_s(process)?, peak_rss_mb: peak_rss_mb(process)? })
    }
}

/// Processor time of a process, also of one that has ended and is not waited for yet.
fn cpu_s(process: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name may contain anything, including spaces and brackets: fields are counted after it.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    // Its own, and those of its children that have ended: a database answers in a process of its
    // own.
    Some((ticks()? + ticks()? + ticks()? + ticks()?) / TICKS_PER_SECOND)
}

/// The highest resident memory of a process that has not ended.
fn peak_rss_mb(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = peak.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}

/// A program from its start to its end.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) seconds: f64,
    /// In steps of 10 ms; `None` if the system does not report it.
    pub(crate) cpu_s: Option<f64>,
    /// As of the last sample before its end; 0 if the system does not report it.
    pub(crate) peak_rss_mb: f64,
}

/// Runs a program that needs no input to its end. Its error output goes to a file in `folder`,
/// whose last line explains a failure.
pub(crate) fn run_to_end(command: Command, name: &str, folder: &Path) -> Result<Ended, String> {
    let start = Instant::now();
    let mut process = Process::start(command, name, folder)?;
    process.stdin = None;
    let mut peak = 0.0;
    // Its output ends when it does; it stays known to the system until it is waited for.
    while process.lines.recv_timeout(SAMPLE) != Err(RecvTimeoutError::Disconnected) {
        peak = peak_rss_mb(process.id()).unwrap_or(peak);
    }
    let seconds = start.elapsed().as_secs_f64();
    let cpu_s = cpu_s(process.id());
    match process.child.wait() {
        Ok(status) if status.success() => Ok(Ended { seconds, cpu_s, peak_rss_mb: peak }),
        _ => Err(process.exit_error()),
    }
}

impl Process {
    /// Starts a program, without waiting for its first line.
    /// Its error output goes to a file in `folder`, whose last lines explain a failure.
    pub(crate) fn start(mut command: Command, name: &str, folder: &Path) -> Result<Self, String> {
        let errors = folder.join(format!("{name}.stderr"));
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

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its next line of the expected form; other lines are skipped.
    pub(crate) fn answer<T: DeserializeOwned>(&mut self) -> Result<T, String> {
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
    pub(crate) fn line_with(&mut self, mark: &str) -> Result<String, String> {
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
    pub(crate) fn request<T: DeserializeOwned>(&mut self, line: &str) -> Result<T, String> {
        if let Some(stdin) = &mut self.stdin {
            // If it has ended, the missing answer is reported with its last output.
            let _ = writeln!(stdin, "{line}").and_then(|()| stdin.flush());
        }
        self.answer()
    }

    fn exit_error(&mut self) -> String {
        let said = fs::read(&self.errors).unwrap_or_default();
        // A program ends shortly after its output.
        let mut status = None;
        for _ in 0..100 {
            status = self.child.try_wait().ok().flatten();
            if status.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let status = status.map_or_else(|| "does not answer".to_owned(), |s| format!("ended, {s}"));
        format!("{}: {status}: {}", self.name, last_line(&said))
    }

    /// Its resources; `None` if the system does not report them.
    pub(crate) fn usage(&self) -> Option<Usage> {
        Usage::of(self.id())
    }

    /// Resets the peak of memory use, if the kernel supports it.
    pub(crate) fn reset_peak(&self) {
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

/// The last non-empty line: where tools print the error.
pub(crate) fn last_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    line.map_or_else(
        || "it printed nothing".to_owned(),
        |line| line.trim().chars().take(300).collect(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn shell(folder: &Path, script: &str) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Process::start(command, "fake", folder).unwrap()
    }

    #[test]
    fn a_program_is_asked_and_its_use_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let mut process = shell(
            folder.path(),
            r#"echo noise; while read line; do echo "{\"x\":\"$line\"}"; done"#,
        );
        let answer: Value = process.request("one").unwrap();
        assert_eq!(answer["x"], "one");
        assert!(process.usage().unwrap().peak_rss_mb > 0.1);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_is_measured_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let run = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            run_to_end(command, "fake", folder.path())
        };
        let work = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done; sleep 0.05";
        let Ended { seconds, cpu_s, peak_rss_mb } = run(work).unwrap();
        assert!(
            seconds > 0.05 && cpu_s > Some(0.0) && peak_rss_mb > 0.1,
            "{cpu_s:?} {peak_rss_mb}"
        );
        let error = run("echo no such file >&2; exit 3").unwrap_err();
        assert_eq!(error, "fake: ended, exit status: 3: no such file");
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
