// SPDX-License-Identifier: Apache-2.0
//! Controls a peer: another program that converts the same bytes on request.
//!
//! The protocol is one JSON object per line. The peer loads the input and writes
//! `{"ready":true,"engine":…,"version":…}`; for each line `run` it converts once and writes
//! `{"seconds":…,"rows":…,"check":{…},"peak_rss_mb":…}`, with `cpu_seconds` if it knows them, and
//! without `check` if its result is a file. It ends with its standard input. A peer that dies,
//! hangs or violates the protocol is an error of that peer only.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use crate::check::{Check, Column};
use crate::contest::Runner;
use crate::engine::Turn;
use crate::process::Process;

/// A running peer.
#[derive(Debug)]
pub(crate) struct Peer {
    process: Process,
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
    check: Option<BTreeMap<String, Column>>,
    peak_rss_mb: f64,
    cpu_seconds: Option<f64>,
}

impl Peer {
    /// Starts a peer and waits until it has loaded its input. Its standard error goes to a file in
    /// `folder`.
    pub(crate) fn start(command: Command, name: &str, folder: &Path) -> Result<Self, String> {
        let mut process = Process::start(command, name, folder)?;
        let Ready { ready, version } = process.answer()?;
        if !ready {
            return Err("reported that it is not ready".to_owned());
        }
        Ok(Self { process, version })
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Sends a line; for peers with several tasks, which the line names.
    pub(crate) fn ask(&mut self, line: &str) -> Result<Turn, String> {
        let Answer { seconds, rows, check, peak_rss_mb, cpu_seconds } =
            self.process.request(line)?;
        if !(seconds.is_finite() && seconds > 0.0) {
            return Err(format!("measured {seconds} seconds"));
        }
        let check = check.map(|columns| Check { rows, columns });
        Ok(Turn { seconds, rows, check, peak_rss_mb, cpu_seconds, file_bytes: None })
    }
}

impl Runner for Peer {
    fn turn(&mut self) -> Result<Turn, String> {
        self.ask("run")
    }
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
        assert_eq!(error, "fake: ended, exit status: 3: no such file");
        let mut peer =
            shell(folder.path(), &format!("{READY}; exec 0<&-; echo 'bad type' >&2; exit 1"))
                .unwrap();
        assert_eq!(peer.turn().unwrap_err(), "fake: ended, exit status: 1: bad type");
    }

    #[test]
    fn nonsense_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(shell(folder.path(), "echo hello").unwrap_err().ends_with("it printed nothing"));
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
