// SPDX-License-Identifier: Apache-2.0
//! Work that is cut short: by `kill -9` at any time, and by a disk that takes no more. What is
//! visible afterwards is complete, and what was there before is unchanged.
#![cfg(unix)]

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use arrowsmith_testkit::random::Rng;
use arrowsmith_testkit::scale;

use crate::cli::run::{Folder, Ran, finish};

/// Rows of the input, and of the table that the jobs add to.
const ROWS: u64 = 4_000;
const BEFORE: u64 = 100;

/// Something that is written, and what to read of it.
struct Job {
    target: &'static str,
    words: &'static [&'static str],
    is_stream: bool,
}

impl Job {
    /// The format of the table that it adds to.
    fn table(&self) -> Option<&str> {
        TABLES.iter().find(|(target, _)| *target == self.target).map(|(_, format)| *format)
    }

    fn args(&self) -> Vec<&str> {
        let from = if self.is_stream { "-" } else { "in.jsonl" };
        [&["convert", "-q", from, "-o", self.target], self.words].concat()
    }
}

/// Tables that are there, and their formats.
const TABLES: [(&str, &str); 2] = [("table", "delta"), ("lake", "iceberg")];

const JOBS: &[Job] = &[
    Job { target: "out.parquet", words: &[], is_stream: false },
    Job {
        target: "sorted.arrow",
        words: &["--sort-by", "level,id desc", "--sort-memory", "16KiB"],
        is_stream: false,
    },
    // Its schema grows at the end, so that all of it is kept.
    Job { target: "late.jsonl", words: &["--infer-records", "10"], is_stream: true },
    Job {
        target: "folder/",
        words: &["--to", "parquet", "--partition-by", "level", "--rows-per-file", "300"],
        is_stream: false,
    },
    Job {
        target: "table",
        words: &["--to", "delta", "--append", "--partition-by", "level", "--columns", "id,level"],
        is_stream: false,
    },
    Job {
        target: "table",
        words: &[
            "--to",
            "delta",
            "--append",
            "--columns",
            "id,level",
            "--sort-by",
            "id",
            "--sort-memory",
            "16KiB",
            "--rows-per-file",
            "900",
        ],
        is_stream: true,
    },
    Job {
        target: "lake",
        words: &["--to", "iceberg", "--append", "--columns", "id,level", "--rows-per-file", "900"],
        is_stream: true,
    },
];

fn lines(rows: std::ops::Range<u64>) -> String {
    let mut text = String::new();
    for n in rows {
        let level = ["info", "warn", "error"][usize::try_from(n % 3).unwrap()];
        let late = if n + 10 > ROWS { ",\"late\":1" } else { "" };
        let _ = writeln!(text, "{{\"id\":{n},\"level\":\"{level}\",\"text\":\"{n:040}\"{late}}}");
    }
    text
}

/// A folder with the input and the tables.
fn prepare() -> Folder {
    let folder = Folder::new();
    folder.write("first.jsonl", lines(0..BEFORE));
    for (target, format) in TABLES {
        let create = ["convert", "-q", "first.jsonl", "-o", target, "--to", format];
        let some = ["--columns", "id,level", "--partition-by", "level"];
        folder.run(&[&create[..], &some].concat()).assert_status(0);
    }
    folder.write("in.jsonl", lines(0..ROWS));
    folder
}

fn start(folder: &Folder, command: &mut Command, job: &Job) -> std::process::Child {
    let stdin = if job.is_stream { Stdio::piped() } else { Stdio::null() };
    let mut child = command.env("TMPDIR", folder.path("tmp")).stdin(stdin).spawn().unwrap();
    if let Some(mut pipe) = child.stdin.take() {
        let text = folder.read("in.jsonl");
        // It may end early.
        std::thread::spawn(move || drop(pipe.write_all(&text)));
    }
    child
}

/// The rows of a target; none if it is not there.
fn rows(folder: &Folder, job: &Job) -> Option<u64> {
    if !folder.path(job.target).exists() {
        return None;
    }
    let mut read = vec!["convert", "-q", job.target, "-o", "read.jsonl", "--columns", "id"];
    if let Some(format) = job.table() {
        read.extend(["--format", format]);
    }
    folder.run(&read).assert_status(0);
    Some(folder.read("read.jsonl").iter().filter(|byte| **byte == b'\n').count() as u64)
}

/// Whether what is visible is complete: before the job or after it; then it is removed.
fn is_after(folder: &Folder, job: &Job, before: Option<u64>, about: &str) -> bool {
    let found = rows(folder, job);
    let after = Some(before.unwrap_or(0) + ROWS);
    assert!(found == before || found == after, "{about}: {found:?} rows, before {before:?}");
    if job.table().is_none() && found.is_some() {
        let path = folder.path(job.target);
        let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path));
    }
    found == after
}

#[test]
fn what_is_killed_leaves_nothing_half_visible() {
    let kills = scale::number("ARROWSMITH_KILLS", 3, 50);
    let seed = scale::number("ARROWSMITH_SEED", 1, 1);
    let rng = &mut Rng::new(seed);
    for job in JOBS {
        let folder = prepare();
        std::fs::create_dir(folder.path("tmp")).unwrap();
        let (mut before, mut micros) = (rows(&folder, job), 60_000);
        for _ in 0..kills {
            let mut child = start(&folder, &mut folder.command(&job.args()), job);
            std::thread::sleep(Duration::from_micros(rng.below(micros) as u64));
            child.kill().unwrap();
            let ran = finish(child);
            let about = format!("{:?}: {}", job.args(), ran.text());
            let done = is_after(&folder, job, before, &about);
            assert!(ran.status != 0 || done, "{about}");
            if done {
                // Earlier the next time.
                micros = (micros / 2).max(2_000);
                before = rows(&folder, job);
            } else {
                micros += micros / 2;
            }
        }
        // Nothing is in the way of the next run, and files of runs have no name.
        let ran = finish(start(&folder, &mut folder.command(&job.args()), job));
        ran.assert_status(0);
        assert!(is_after(&folder, job, before, "at last"));
        assert_eq!(std::fs::read_dir(folder.path("tmp")).unwrap().count(), 0, "{:?}", job.args());
    }
}

/// Files of at most this many blocks of 512 bytes, by the system's limit: writing fails beyond, as
/// on a full disk.
fn limited(folder: &Folder, job: &Job, blocks: u64) -> Ran {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f \"$0\"; exec \"$@\""]).arg(blocks.to_string());
    command.arg(env!("CARGO_BIN_EXE_arrowsmith")).args(job.args()).current_dir(folder.path(""));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(start(folder, &mut command, job))
}

#[test]
fn a_full_disk_leaves_nothing_half_visible() {
    let blocks = [0, 1, 2, 4, 8, 16, 40, 100, 300, 1000];
    let step = if scale::full() { 1 } else { 2 };
    let mut failed = 0;
    for job in JOBS {
        let folder = prepare();
        std::fs::create_dir(folder.path("tmp")).unwrap();
        let mut before = rows(&folder, job);
        for blocks in blocks.into_iter().step_by(step) {
            let names = folder.names();
            let ran = limited(&folder, job, blocks);
            let about = format!("{:?} with {blocks} blocks: {}", job.args(), ran.text());
            assert!(!ran.stderr.contains("panicked") && [0, 1].contains(&ran.status), "{about}");
            assert_eq!(is_after(&folder, job, before, &about), ran.status == 0, "{about}");
            failed += usize::from(ran.status == 1);
            before = job.table().and_then(|_| rows(&folder, job));
            let mut left = folder.names();
            left.retain(|name| !names.contains(name) && name != "read.jsonl");
            assert!(left.is_empty(), "{left:?}: {about}");
        }
    }
    assert!(failed > JOBS.len(), "{failed} runs met the limit");
}
