// SPDX-License-Identifier: Apache-2.0
//! Runs the rounds: every client queries every server, round by round, and every answer is checked
//! after the timing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::place::Place;
use super::{IPC_MAPPED, OURS, RAW, Report};
use crate::check::{Check, Column};
use crate::machine;
use crate::page::maybe;
use crate::process::{Process, Usage};
use crate::result::Row;
use crate::stats::float;

/// A running server or client.
#[derive(Debug)]
pub(super) struct Contestant {
    pub(super) name: String,
    pub(super) process: Process,
    pub(super) version: String,
    /// The address of a server.
    pub(super) uri: String,
}

#[derive(Deserialize)]
struct Ready {
    ready: bool,
    version: String,
    uri: String,
}

#[derive(Deserialize)]
pub(super) struct Got {
    pub(super) seconds: f64,
    rows: u64,
}

#[derive(Deserialize)]
struct Sums {
    rows: u64,
    check: BTreeMap<String, Column>,
}

impl Contestant {
    pub(super) fn server(place: &Place, name: &str, words: &[PathBuf]) -> Result<Self, String> {
        let process = place.start(place.command(words), &format!("{name}-server"))?;
        Self::ready(name, process)
    }

    pub(super) fn client(place: &Place, name: &str, words: &[PathBuf]) -> Result<Self, String> {
        let process = place.start(place.command(words), &format!("{name}-client"))?;
        Self::ready(name, process)
    }

    fn ready(name: &str, mut process: Process) -> Result<Self, String> {
        let ready: Ready = process.answer()?;
        if !ready.ready {
            return Err(format!("{name} reports that it is not ready"));
        }
        Ok(Self { name: name.to_owned(), process, version: ready.version, uri: ready.uri })
    }

    /// `arrowsmith serve`: its output for people contains the address.
    pub(super) fn ours(place: &Place, words: &[PathBuf]) -> Result<Self, String> {
        let mut process = place.start(place.command(words), &format!("{OURS}-server"))?;
        let line = process.line_with("grpc://")?;
        let uri = line.split_whitespace().find_map(|word| {
            let at = word.find("grpc://")?;
            Some(word[at..].trim_end_matches(['.', ',', '"', '\'']).to_owned())
        });
        let uri = uri.ok_or_else(|| format!("no address in {line:?}"))?;
        let version = format!("arrowsmith {}", env!("CARGO_PKG_VERSION"));
        Ok(Self { name: OURS.to_owned(), process, version, uri })
    }

    pub(super) fn get(&mut self, uri: &str) -> Result<Got, String> {
        self.process.request(&format!("get {uri}"))
    }

    /// Sums the received batches, and frees them.
    pub(super) fn check(&mut self) -> Result<Check, String> {
        let Sums { rows, check } = self.process.request("check")?;
        Ok(Check { rows, columns: check })
    }
}

/// A client and its server; a mapped file has no server.
pub(super) struct Pair {
    server: Option<usize>,
    client: usize,
    uri: String,
    turns: Vec<Turn>,
    first: Option<f64>,
    error: Option<String>,
    difference: Option<String>,
}

impl Pair {
    pub(super) fn new(server: Option<usize>, client: usize, uri: String) -> Self {
        Self { server, client, uri, turns: vec![], first: None, error: None, difference: None }
    }
}

/// One query.
#[derive(Debug, Clone, Copy)]
struct Turn {
    seconds: f64,
    server: Option<Usage>,
    client: Option<Usage>,
    network_bytes: Option<u64>,
}

/// The requested URI.
pub(super) struct Task<'a> {
    pub(super) workload: &'a str,
    /// Bytes of the arrays.
    pub(super) bytes: u64,
    pub(super) expected: &'a Check,
    pub(super) rounds: usize,
    pub(super) place: &'a Place,
    /// How long a server takes to account for the cost of a query.
    pub(super) settle: Duration,
}

/// All pairs, round by round; the first round is a warm-up.
pub(super) fn run(
    task: &Task<'_>,
    servers: &mut [Contestant],
    clients: &mut [Contestant],
    mut pairs: Vec<Pair>,
    report: &mut Report,
    progress: &mut dyn FnMut(&str),
) {
    for round in 0..=task.rounds.max(1) {
        progress(&format!("{}: round {round} of {}", task.workload, task.rounds.max(1)));
        for pair in pairs.iter_mut().filter(|pair| pair.error.is_none()) {
            let client = &mut clients[pair.client];
            let server = pair.server.map(|at| &servers[at]);
            match turn(task, server, client, &pair.uri) {
                Err(error) => pair.error = Some(error),
                Ok((turn, check)) => {
                    let difference = check.difference(task.expected);
                    pair.difference = pair.difference.take().or(difference);
                    if round == 0 {
                        pair.first = Some(turn.seconds);
                    } else {
                        pair.turns.push(turn);
                    }
                }
            }
        }
    }
    for pair in &pairs {
        let server = pair.server.map(|at| &servers[at]);
        let client = &clients[pair.client];
        let name = server.map_or(IPC_MAPPED, |server| server.name.as_str());
        if let Some(error) = &pair.error {
            report.missing(&format!("{name} with {}", client.name), task.workload, &**error);
            continue;
        }
        let row = row(task, pair, server, client);
        progress(&line(&row));
        report.rows.push(row);
    }
}

/// Allocates as much memory as a query takes, and frees it.
///
/// A virtual machine's host reclaims free pages after seconds, and getting them back page by page
/// costs several times the query: the first query after a pause would pay for it.
fn fault_in(bytes: u64) {
    const PAGE_BYTES: usize = 4096;
    let mut memory = vec![0_u8; usize::try_from(bytes).unwrap_or(0)];
    memory.iter_mut().step_by(PAGE_BYTES).for_each(|byte| *byte = 1);
    std::hint::black_box(&memory);
}

fn turn(
    task: &Task<'_>,
    server: Option<&Contestant>,
    client: &mut Contestant,
    uri: &str,
) -> Result<(Turn, Check), String> {
    // The arrays, and the data in transit.
    if !task.place.keep_memory {
        fault_in(task.bytes + task.bytes / 2);
    }
    if let Some(server) = server {
        server.process.reset_peak();
    }
    client.process.reset_peak();
    let server_usage = || server.and_then(|server| server.process.usage());
    let before = (server_usage(), client.process.usage(), task.place.network_bytes());
    let got = client.get(uri)?;
    std::thread::sleep(task.settle);
    let after = (server_usage(), client.process.usage(), task.place.network_bytes());
    let check = client.check()?;
    if got.rows != check.rows {
        return Err(format!("{} rows, and then {}", got.rows, check.rows));
    }
    if !(got.seconds.is_finite() && got.seconds > 0.0) {
        return Err(format!("measured {} seconds", got.seconds));
    }
    let used = |before: Option<Usage>, after: Option<Usage>| {
        let (before, after) = (before?, after?);
        Some(Usage { cpu_s: after.cpu_s - before.cpu_s, peak_rss_mb: after.peak_rss_mb })
    };
    let turn = Turn {
        seconds: got.seconds,
        server: used(before.0, after.0),
        client: used(before.1, after.1),
        network_bytes: before.2.zip(after.2).map(|(before, after)| after.saturating_sub(before)),
    };
    Ok((turn, check))
}

fn row(task: &Task<'_>, pair: &Pair, server: Option<&Contestant>, client: &Contestant) -> Row {
    let seconds: Vec<f64> = pair.turns.iter().map(|turn| turn.seconds).collect();
    let usage = |of: fn(&Turn) -> Option<Usage>| -> Option<(f64, f64)> {
        let all: Option<Vec<Usage>> = pair.turns.iter().map(of).collect();
        let all = all.filter(|all| !all.is_empty())?;
        // The mean, because the system counts in hundredths of a second.
        let cpu_s = all.iter().map(|usage| usage.cpu_s).sum::<f64>() / float(all.len() as u64);
        Some((cpu_s, all.iter().map(|usage| usage.peak_rss_mb).fold(0.0, f64::max)))
    };
    let (of_server, of_client) = (usage(|turn| turn.server), usage(|turn| turn.client));
    let total: f64 = seconds.iter().sum();
    let cores = float(machine::cores() as u64);
    let both = of_server.zip(of_client).map(|(server, client)| server.0 + client.0);
    let mut network: Vec<u64> = pair.turns.iter().filter_map(|turn| turn.network_bytes).collect();
    network.sort_unstable();
    let clients = if client.name == RAW { "cpp" } else { &client.name };
    let versions = server.map(|server| server.version.clone());
    let versions: Vec<String> = versions.into_iter().chain([client.version.clone()]).collect();
    let share = |cpu: f64| cpu * float(seconds.len() as u64) / total / cores;
    let engine = server.map_or(IPC_MAPPED, |server| &server.name);
    Row::new(task.workload, engine)
        .with("client", clients)
        .with("version", versions.join(" → "))
        .with("threads", 1)
        .with("records", task.expected.rows)
        .with("seconds_first", pair.first.unwrap_or(0.0))
        .speed(task.bytes, &seconds, &["median", "min", "max", "p5", "p95"])
        .with("server_cpu_s", of_server.map(|(cpu, _)| cpu))
        .with("client_cpu_s", of_client.map(|(cpu, _)| cpu))
        .with("cpu_share", both.filter(|_| total > 0.0).map(share))
        .with("peak_rss_mb", of_server.map(|(_, peak)| peak))
        .with("client_peak_rss_mb", of_client.map(|(_, peak)| peak))
        .with("network_bytes", network.get(network.len() / 2))
        .with("valid", pair.difference.is_none() && !seconds.is_empty())
        .with_some("difference", pair.difference.as_ref())
}

fn line(row: &Row) -> String {
    let seconds = |name: &str| row.number(name).unwrap_or_default();
    let cpu = |name: &str| maybe(row.number(name), |v| format!("{v:.2}"));
    let wrong = row.has("difference").then(|| format!(", WRONG: {}", row.text("difference")));
    format!(
        "{:<12} {:>10} → {:<10} {:>8.3} s ({:.3} to {:.3}), {:>6.3} GB/s, CPU {} s + {} s{}",
        row.workload(),
        row.engine(),
        row.text("client"),
        row.seconds_median(),
        seconds("seconds_p5"),
        seconds("seconds_p95"),
        row.gb_per_s(),
        cpu("server_cpu_s"),
        cpu("client_cpu_s"),
        wrong.unwrap_or_default()
    )
}

/// Whether a row is a lower bound rather than a realistic server.
pub(super) fn is_bound(row: &Row) -> bool {
    row.engine().starts_with("ipc-")
}
