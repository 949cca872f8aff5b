// SPDX-License-Identifier: Apache-2.0
//! The predecessor of Flight: rows from a PostgreSQL server of its own, as Python tuples and
//! through ADBC as Arrow.
//!
//! The table is the first file of the data set only, because rows are slow. The report shows the
//! same rows over Flight next to it, in rows per second.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::contest::{self, Contestant, Pair};
use super::data;
use super::{ROWS, Report, Suite, build};
use crate::install::run;

/// Its port inside the namespace; on a machine without namespaces it must be free.
const PORT: u16 = 54_329;
/// The backend of a query is counted when it has ended.
const ACCOUNTING_DELAY: Duration = Duration::from_millis(300);

/// Starts a database, fills it, reads it and removes it.
pub(super) fn measure(
    suite: &Suite<'_>,
    peers: &Path,
    report: &mut Report,
    progress: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let programs = postgres()?;
    let clients = build::rows(peers, progress)?;
    progress("starting PostgreSQL");
    let folder = tempfile::Builder::new().prefix("arrowsmith-pg").tempdir().map_err(text)?;
    let cluster = folder.path().join("cluster");
    // The server refuses to run as root.
    let root = run(Command::new("id").arg("-u"))?.starts_with(b"0\n");
    let user: Vec<PathBuf> = if root {
        run(Command::new("chown").arg("postgres").arg(folder.path()))?;
        ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            .map(PathBuf::from)
            .to_vec()
    } else {
        vec!["env".into()]
    };
    let init = [programs.join("initdb"), "-D".into(), cluster.clone()];
    let more = ["-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"];
    run(Command::new(&user[0]).args(&user[1..]).args(init).args(more).current_dir(folder.path()))?;
    let mut words = user;
    words.extend([programs.join("postgres"), "-D".into(), cluster]);
    let port = PORT.to_string();
    for setting in
        ["listen_addresses=127.0.0.1", "fsync=off", "shared_buffers=512MB", "max_wal_size=2GB"]
    {
        words.extend(["-c".into(), setting.into()]);
    }
    let socket = format!("unix_socket_directories={}", folder.path().display());
    words.extend(["-p".into(), port.into(), "-c".into(), socket.into()]);
    let mut command = suite.place.command(&words);
    command.current_dir(folder.path());
    let mut process = suite.place.start(command, "postgresql-server")?;
    process.line_with("ready to accept connections")?;

    let uri = format!("postgresql://postgres@127.0.0.1:{PORT}/postgres");
    let file = suite.set.arrow.join("part-00000.arrow");
    progress("filling it");
    let mut load = clients.clone();
    load.extend(["load".into(), uri.clone().into(), file.clone()]);
    run(&mut suite.place.command(&load))?;
    let version = run(Command::new(programs.join("postgres")).arg("--version"))?;
    let version = String::from_utf8_lossy(&version).trim().to_owned();
    let mut servers =
        [Contestant { name: "postgresql".into(), process, version, uri: uri.clone() }];
    let mut readers = Vec::new();
    for name in ["psycopg", "adbc"] {
        let mut words = clients.clone();
        words.push(name.into());
        readers.push(Contestant::client(suite.place, name, &words)?);
    }
    let (expected, bytes) = data::of_file(&file)?;
    let pairs = (0..readers.len()).map(|at| Pair::new(Some(0), at, uri.clone())).collect();
    let task = contest::Task {
        workload: ROWS,
        bytes,
        expected: &expected,
        rounds: suite.options.rounds.min(5),
        place: suite.place,
        settle: ACCOUNTING_DELAY,
    };
    contest::run(&task, &mut servers, &mut readers, pairs, report, progress);
    // This is the postmaster's time, without the process that answered.
    for row in report.rows.iter_mut().filter(|row| row.workload() == ROWS) {
        row.set("peak_rss_mb", None::<f64>);
    }
    Ok(())
}

/// Debian's newest, or the one in the path.
fn postgres() -> Result<PathBuf, String> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let folders = versions.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
    let found = folders.filter(|folder| folder.join("postgres").is_file()).max();
    found.ok_or_else(|| "PostgreSQL is not installed; Debian's package is postgresql-15".to_owned())
}

fn text(error: impl ToString) -> String {
    error.to_string()
}
