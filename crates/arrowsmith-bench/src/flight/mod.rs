// SPDX-License-Identifier: Apache-2.0
//! The suite `flight`: servers and clients of Arrow Flight in five languages, all pairs, as
//! processes.
//!
//! It repeats the paper "Benchmarking the Flight Transport Protocol in Different Languages" (Figs.
//! 3 and 5, processor and network use) and its future work: Rust, Arrow streams without Flight over
//! TCP and a Unix socket, mapped files, the row protocol that Flight replaces, and flame graphs.
//! The servers are written with the official libraries, ours is `arrowsmith serve`; all of them
//! read the same files in one thread, all clients keep every batch, and all take turns.
//!
//! The product never uses it.

mod build;
mod client;
mod contest;
mod data;
mod flame;
mod goals;
mod lines;
mod page;
mod place;
mod rows;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::Serialize;

use self::build::Programs;
use self::contest::{Contestant, Pair};
use self::data::DataSet;
use self::place::Place;
use crate::BenchError;
use crate::result::{self, Row};

pub use client::serve_commands;
pub use flame::Flame;
pub use goals::Goal;
pub use lines::Lines;
pub use page::html;

/// Name of our own server and client.
pub const OURS: &str = "arrowsmith";
/// All servers and clients.
pub const NAMES: [&str; 5] = [OURS, "cpp", "java", "python", "rust"];
/// The server reads Parquet files for every query.
pub const PARQUET: &str = "taxi-parquet";
/// The server has Arrow in memory, mapped where its library can.
pub const MEMORY: &str = "taxi-memory";
/// Rows from a database: the first file of the data set.
pub const ROWS: &str = "taxi-rows";

/// Options of the suite.
#[derive(Debug, Clone)]
pub struct Options {
    /// The `arrowsmith` command.
    pub program: PathBuf,
    /// Servers, of [`NAMES`].
    pub servers: Vec<String>,
    /// Clients, of [`NAMES`].
    pub clients: Vec<String>,
    /// [`PARQUET`], [`MEMORY`], [`ROWS`].
    pub workloads: Vec<String>,
    /// Approximate total bytes of all Parquet files.
    pub size_bytes: u64,
    /// Approximate bytes of a Parquet file.
    pub file_bytes: u64,
    /// Rows of a batch.
    pub batch_rows: u64,
    /// Measured queries, of each server by each client.
    pub rounds: usize,
    /// Whether Arrow streams without Flight take part.
    pub raw: bool,
    /// Whether there are flame graphs.
    pub flames: bool,
    /// Where peers are built.
    pub peers_dir: PathBuf,
    /// Where the files are generated; by default among the peers.
    pub files_dir: Option<PathBuf>,
}

impl Options {
    /// The paper's: about 1.5 GB in 100 files, 15 times.
    #[must_use]
    pub fn new(program: PathBuf) -> Self {
        Self {
            program,
            servers: NAMES.map(str::to_owned).to_vec(),
            clients: NAMES.map(str::to_owned).to_vec(),
            workloads: [PARQUET, MEMORY, ROWS].map(str::to_owned).to_vec(),
            size_bytes: 1_600_000_000,
            file_bytes: 16_000_000,
            batch_rows: 65_536,
            rounds: 15,
            raw: true,
            flames: true,
            peers_dir: PathBuf::from(".bench"),
            files_dir: None,
        }
    }

    /// A smoke test of a few seconds that installs no peers.
    #[must_use]
    pub fn quick(self) -> Self {
        Self {
            servers: vec![OURS.to_owned()],
            clients: vec![OURS.to_owned()],
            workloads: [PARQUET, MEMORY].map(str::to_owned).to_vec(),
            size_bytes: 4_000_000,
            file_bytes: 1_000_000,
            rounds: 2,
            raw: false,
            flames: false,
            ..self
        }
    }
}

/// The results of the suite. Rows: the `workload` ([`PARQUET`], [`MEMORY`] or [`ROWS`]), the server
/// (`engine`), the `client`, what both report about themselves (`version`), parallel streams
/// (`threads`), `bytes` of the arrays, rows of the table (`records`), `seconds` of every measured
/// query from before the connection to the last batch, and of the first, which is a warm-up: a JVM
/// compiles then (`seconds_first`). Per query: processor time, user and system, mean
/// (`server_cpu_s`, `client_cpu_s`), both as a share of all processors (`cpu_share`), bytes over
/// the loopback device, headers included, median (`network_bytes`). Highest resident memory in 10^6
/// bytes, mapped files included (`peak_rss_mb`, `client_peak_rss_mb`). `valid` if rows and totals
/// of all columns were right, every time.
pub type Report = result::Report<Extra>;

/// What only this suite has. The seed is that of the first file; every file has the next.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Extra {
    /// Parquet files.
    pub files: u64,
    /// Bytes of all of them.
    pub parquet_bytes: u64,
    /// Rows of a batch.
    pub batch_rows: u64,
    /// Whether all processes kept memory between queries, because there was enough for all.
    pub keep_memory: bool,
    /// The goals of issue 5, and the results.
    pub goals: Vec<Goal>,
    /// Lines of code.
    pub lines: Vec<Lines>,
    /// The flame graphs of the servers.
    pub flames: Vec<Flame>,
}

impl Report {
    /// The row of a pair.
    #[must_use]
    pub fn row(&self, workload: &str, server: &str, client: &str) -> Option<&Row> {
        let names = (workload, server, client);
        let mut rows = self.rows.iter();
        rows.find(|row| (row.workload(), row.engine(), row.text("client")) == names)
    }
}

/// Runs the suite.
///
/// # Errors
/// An unknown name, files that cannot be written, or our own server does not start. Other failures
/// are listed as not measured.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Report, BenchError> {
    BenchError::unless_known("server", &options.servers, &NAMES)?;
    BenchError::unless_known("client", &options.clients, &NAMES)?;
    BenchError::unless_known("workload", &options.workloads, &[PARQUET, MEMORY, ROWS])?;
    let peers = options.peers_dir.join("flight");
    let peers = std::path::absolute(&peers).map_err(BenchError::io(&peers))?;
    std::fs::create_dir_all(&peers).map_err(BenchError::io(&peers))?;
    let files = options.files_dir.clone().unwrap_or_else(|| peers.join("files"));
    let files = std::path::absolute(&files).map_err(BenchError::io(&files))?;
    let set =
        data::make(&files, options.size_bytes, options.file_bytes, options.batch_rows, progress)?;
    let extra = Extra {
        files: set.files,
        parquet_bytes: set.parquet_bytes,
        batch_rows: options.batch_rows,
        ..Extra::default()
    };
    let mut report: Report = result::Report::start("flight", Some(data::SEED), extra);
    // The memory that every client, and every server that has loaded the arrays, would hold in the
    // end.
    let held = set.arrow_bytes * 2 * (options.clients.len() + options.servers.len()) as u64;
    report.extra.keep_memory = held / 1_000_000 < report.machine.memory_mb;
    let mut place =
        Place { keep_memory: report.extra.keep_memory, namespace: None, folder: peers.clone() };
    match place::loopback() {
        Ok(namespace) => place.namespace = Some(namespace),
        Err(reason) => report.missing("network", "", format!("bytes are not counted: {reason}")),
    }
    let suite = Suite {
        options,
        set: &set,
        place: &place,
        programs: programs(options, &peers, &mut report, progress),
    };
    for workload in &options.workloads {
        if workload == ROWS {
            if let Err(reason) = rows::measure(&suite, &peers, &mut report, progress) {
                report.missing("postgresql", ROWS, reason);
            }
        } else {
            suite.flights(workload, &mut report, progress)?;
        }
    }
    report.extra.goals = goals::of(&report);
    report.extra.lines = lines::count();
    report.missing("development time (the paper's Figs. 4 and 6)", "", "not recorded");
    Ok(report)
}

/// The participants, built.
fn programs(
    options: &Options,
    peers: &Path,
    report: &mut Report,
    progress: &mut dyn FnMut(&str),
) -> Vec<(&'static str, Programs)> {
    let mut all = Vec::new();
    for name in NAMES {
        let wanted = |names: &[String]| names.iter().any(|one| one == name);
        if !wanted(&options.servers) && !wanted(&options.clients) {
            continue;
        }
        if name == OURS {
            // The same command for both sides; each adds its own arguments.
            let client = ["bench", "flight", "--as-client"].map(PathBuf::from);
            let client = [options.program.clone()].into_iter().chain(client).collect();
            all.push((name, Programs { server: vec![options.program.clone()], client }));
            continue;
        }
        match build::language(name, peers, progress) {
            Ok(programs) => all.push((name, programs)),
            Err(reason) => report.missing(name, "", reason),
        }
    }
    if options.raw {
        match build::raw(peers, progress) {
            Ok(programs) => all.push((RAW, programs)),
            Err(reason) => report.missing("Arrow without Flight", "", reason),
        }
    }
    all
}

/// Arrow streams without Flight, among the programs.
const RAW: &str = "raw";
/// Their names as servers; their client is C++.
pub(crate) const IPC_TCP: &str = "ipc-tcp";
pub(crate) const IPC_UNIX: &str = "ipc-unix";
pub(crate) const IPC_MAPPED: &str = "ipc-mapped";

struct Suite<'a> {
    options: &'a Options,
    set: &'a DataSet,
    place: &'a Place,
    programs: Vec<(&'static str, Programs)>,
}

impl Suite<'_> {
    /// Every server with every client, in rotation.
    fn flights(
        &self,
        workload: &str,
        report: &mut Report,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), BenchError> {
        progress(&format!("starting the servers of {workload}"));
        let memory = workload == MEMORY;
        let mut servers = Vec::new();
        let mut clients = Vec::new();
        for (name, programs) in &self.programs {
            let failed = |reason: String| -> Result<String, BenchError> {
                if *name == OURS {
                    Err(BenchError::Service { message: reason })
                } else {
                    Ok(reason)
                }
            };
            if *name == RAW {
                for (engine, transport) in [(IPC_TCP, "tcp"), (IPC_UNIX, "unix")] {
                    let more = ["--transport", transport].map(PathBuf::from);
                    match self.server(engine, programs, memory, &more) {
                        Ok(server) => servers.push(server),
                        Err(reason) => report.missing(engine, workload, reason),
                    }
                }
            } else if self.options.servers.iter().any(|one| one == name) {
                match self.server(name, programs, memory, &[]) {
                    Ok(server) => servers.push(server),
                    Err(reason) => report.missing(name, workload, failed(reason)?),
                }
            }
            if *name == RAW || self.options.clients.iter().any(|one| one == name) {
                match Contestant::client(self.place, name, &programs.client) {
                    Ok(client) => clients.push(client),
                    Err(reason) => report.missing(name, workload, failed(reason)?),
                }
            }
        }
        let mut pairs = Vec::new();
        for (server, one) in servers.iter().enumerate() {
            for (client, other) in clients.iter().enumerate() {
                if one.name.starts_with("ipc-") == (other.name == RAW) {
                    pairs.push(Pair::new(Some(server), client, one.uri.clone()));
                }
            }
        }
        if let Some(client) = clients.iter().position(|one| memory && one.name == RAW) {
            let uri = format!("file://{}", self.set.arrow.display());
            pairs.push(Pair::new(None, client, uri));
        }
        let task = contest::Task {
            workload,
            bytes: self.set.arrow_bytes,
            expected: &self.set.expected,
            rounds: self.options.rounds,
            place: self.place,
            settle: std::time::Duration::ZERO,
        };
        contest::run(&task, &mut servers, &mut clients, pairs, report, progress);
        if self.options.flames && !memory {
            flame::draw(&mut servers, &mut clients, report, progress);
        }
        Ok(())
    }

    fn server(
        &self,
        name: &str,
        programs: &Programs,
        memory: bool,
        more: &[PathBuf],
    ) -> Result<Contestant, String> {
        let folder = if memory { &self.set.arrow } else { &self.set.parquet };
        let mut words = programs.server.clone();
        if name == OURS {
            words.extend(["serve".into(), folder.clone()]);
            words.extend(["--listen", "127.0.0.1:0", "--threads", "1"].map(PathBuf::from));
            return Contestant::ours(self.place, &words);
        }
        words.extend(["--data".into(), folder.clone()]);
        let mode = if memory { "memory" } else { "parquet" };
        let rows = self.options.batch_rows.to_string();
        words.extend(["--mode", mode, "--batch-rows", &rows].map(PathBuf::from));
        words.extend_from_slice(more);
        Contestant::server(self.place, name, &words)
    }
}
