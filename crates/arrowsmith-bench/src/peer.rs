// SPDX-License-Identifier: Apache-2.0
//! Controls a peer: another program that converts the same bytes on request.
//!
//! The protocol is one JSON object per line. The peer loads the input and writes
//! `{"ready":true,"engine":…,"version":…}`; for each line `run` it converts once and writes
//! `{"seconds":…,"rows":…,"check":{…},"peak_rss_mb":…}`. It ends with its standard input. A peer
//! that dies, hangs or violates the protocol is an error of that peer only.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use serde::Deserialize;

use crate::check::{Check, Column};
use crate::engine::Turn;

/// Timeout: only a failure takes longer.
const TIMEOUT: Duration = Duration::from_secs(600);

/// A running peer.
#[derive(Debug)]
pub(crate) struct Peer {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    errors: PathBuf,
    version: String,
}

#[derive(Deserialize)]
struct Ready {
    ready: bool,
    version: String,
}

#[derive(Deserialize)]
struct Answer {
    seconds: f64,
    rows: u64,
    check: BTreeMap<String, Column>,
    peak_rss_mb: f64,
}

impl Peer {
    /// Starts a peer and waits until it has loaded its input. Its standard error goes to a file in
    /// `folder`, whose last lines explain a failure.
    pub(crate) fn start(mut command: Command, name: &str, folder: &Path) -> Result<Self, String> {
        let errors = folder.join(format!("{name}.stderr"));
        let file = File::create(&errors).map_err(|e| format!("{}: {e}", errors.display()))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(file);
        let mut child = command.spawn().map_err(|error| format!("cannot be started: {error}"))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("cannot be started: no pipes".to_owned());
        };

        // A thread reads, so that a hanging peer can be given up.
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let mut peer = Self { child, stdin, lines, errors, version: String::new() };
        let ready: Ready = peer.answer()?;
        if !ready.ready {
            return Err("reported that it is not ready".to_owned());
        }
        peer.version = ready.version;
        Ok(peer)
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// One conversion.
    pub(crate) fn turn(&mut self) -> Result<Turn, String> {
        // If the peer has ended, the missing answer is reported with its last output.
        let _ = self.stdin.write_all(b"run\n").and_then(|()| self.stdin.flush());
        let Answer { seconds, rows, check, peak_rss_mb } = self.answer()?;
        if !(seconds.is_finite() && seconds > 0.0) {
            return Err(format!("measured {seconds} seconds"));
        }
        let check = Check { rows, columns: check };
        Ok(Turn { seconds, rows, check: Some(check), peak_rss_mb })
    }

    fn answer<T: for<'de> Deserialize<'de>>(&mut self) -> Result<T, String> {
        match self.lines.recv_timeout(TIMEOUT) {
            Ok(line) => serde_json::from_str(&line)
                .map_err(|error| format!("gave a malformed answer ({error}): {}", start_of(&line))),
            Err(RecvTimeoutError::Timeout) => Err("gave no answer in time".to_owned()),
            Err(RecvTimeoutError::Disconnected) => {
                let status = self.child.wait().map_or_else(|e| e.to_string(), |s| s.to_string());
                let words = fs::read(&self.errors).unwrap_or_default();
                Err(format!("ended with {status}: {}", last_line(&words)))
            }
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may be in the middle of a conversion, so closing its input would not end it
        // immediately.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start_of(line: &str) -> String {
    line.chars().take(80).collect()
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// A peer as a shell script, with the output that the test needs.
    fn shell(folder: &Path, script: &str) -> Result<Peer, String> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script);
        Peer::start(command, "fake", folder)
    }

    const READY: &str = r#"echo '{"ready":true,"engine":"fake","version":"7.1"}'"#;

    #[test]
    fn a_peer_answers_every_run() {
        let folder = tempfile::tempdir().unwrap();
        let mut peer = shell(folder.path(), &format!(
            r#"{READY}; i=0; while read line; do i=$((i+1));
            echo "{{\"seconds\":0.$i,\"rows\":$i,\"check\":{{\"x\":{{\"n\":2,\"sum\":\"$i\"}}}},\"peak_rss_mb\":1.5}}";
            done"#
        ))
        .unwrap();
        assert_eq!(peer.version(), "7.1");
        for round in 1..4 {
            let turn = peer.turn().unwrap();
            let check = turn.check.unwrap();
            assert_eq!((turn.rows, check.rows, turn.peak_rss_mb), (round, round, 1.5));
            assert_eq!(check.columns["x"].sum, Some(round.to_string()));
            assert!((turn.seconds - 0.1 * f64::from(u32::try_from(round).unwrap())).abs() < 1e-9);
        }
    }

    #[test]
    fn a_peer_that_dies_is_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let error =
            shell(folder.path(), "echo trouble >&2; echo 'no such file' >&2; exit 3").unwrap_err();
        assert_eq!(error, "ended with exit status: 3: no such file");
        let mut peer =
            shell(folder.path(), &format!("{READY}; exec 0<&-; echo 'bad type' >&2; exit 1"))
                .unwrap();
        assert_eq!(peer.turn().unwrap_err(), "ended with exit status: 1: bad type");
    }

    #[test]
    fn nonsense_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(
            shell(folder.path(), "echo hello").unwrap_err().starts_with("gave a malformed answer")
        );
        let unready = r#"echo '{"ready":false,"version":""}'"#;
        assert_eq!(shell(folder.path(), unready).unwrap_err(), "reported that it is not ready");
        let mut peer = shell(folder.path(), &format!(
            "{READY}; read line; echo '{{\"seconds\":0,\"rows\":1,\"check\":{{}},\"peak_rss_mb\":0}}'"
        ))
        .unwrap();
        assert_eq!(peer.turn().unwrap_err(), "measured 0 seconds");
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let command = Command::new("/nowhere/at/all");
        assert!(
            Peer::start(command, "x", folder.path()).unwrap_err().contains("cannot be started")
        );
    }
}
