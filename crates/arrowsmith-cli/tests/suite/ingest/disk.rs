// SPDX-License-Identifier: Apache-2.0
//! A full disk: senders wait, nothing is lost, and the service continues when there is room.
//!
//! The disk is a small file system where this user may mount one; elsewhere a preloaded library
//! makes the calls fail as they would there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use arrowsmith_load::Options;
use arrowsmith_testkit::{tools, unsupported};

use crate::ingest::service::{Service, assert_all, go, parquet_files, parquet_ids, wait_for};

const DISK_BYTES: usize = 8 << 20;

/// A file system of its own.
struct Small(PathBuf);

impl Small {
    /// Of [`DISK_BYTES`], over a folder; `None` where this user may not mount.
    fn mount(path: &Path) -> Option<Self> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={DISK_BYTES}"), "tmpfs"]).arg(path);
        tools::answers(&mut mount).then(|| Self(path.to_owned()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // Lazily, because the service may still have files there when a test fails.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Starts the service with a preloaded library that makes a folder seem full while it contains a
/// file `filler`.
fn run_as_if_full(service: &mut Service, folder: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/ingest/full_disk.c");
    let library = service.path("full_disk.so");
    let mut compile = Command::new("cc");
    compile.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]);
    assert!(compile.arg(&library).arg(source).arg("-ldl").status().unwrap().success());
    let mut command = service.command();
    // The path as the system reports it.
    command.env("LD_PRELOAD", library).env("FULL_DISK", folder.canonicalize().unwrap());
    let child = command.spawn().unwrap();
    service.adopt(child);
}

/// With `room` bytes on the disk at first. `ids` finds what is stored.
fn full(
    stream: &str,
    rest: &str,
    (disk, room): (&str, usize),
    small: impl Fn(&Path) -> Option<Small>,
    ids: impl Fn(&Service) -> Vec<i64>,
) {
    let mut service = Service::new("", &format!("acknowledge = true\n{stream}"), rest);
    let path = service.path(disk);
    fs::create_dir_all(&path).unwrap();
    let small = small(&path);
    if small.is_none() && !cfg!(target_os = "linux") {
        return unsupported("this user may not mount a small file system");
    }
    if small.is_none() && !tools::answers(Command::new("cc").arg("--version")) {
        return tools::absent("a C compiler (cc)", tools::SETUP);
    }
    let filler = path.join("filler");
    fs::write(&filler, vec![0; DISK_BYTES - room]).unwrap();
    match small {
        Some(_) => service.run(),
        None => run_as_if_full(&mut service, &path),
    }
    // 5 MB as Arrow: more than the room that is left, less than the disk.
    let options = Options { acknowledge: true, ..service.load(0..600_000, 1000) };
    let sender = thread::spawn(move || go(&options));
    let mut before = (u64::MAX, Instant::now());
    wait_for("the service stalls", || {
        let now = service.total("received_records");
        if now != before.0 {
            before = (now, Instant::now());
        }
        before.1.elapsed() > Duration::from_secs(2)
    });
    assert!(!sender.is_finished(), "{}", service.log());
    assert_eq!(service.get("/healthz").unwrap().0, 200);
    service.assert_memory(64 << 20);
    fs::remove_file(&filler).unwrap();
    let report = sender.join().unwrap();
    assert_eq!(report.acknowledged_records, Some(600_000), "{report:?}");
    assert_eq!(report.incomplete_connections, 0);
    service.assert_memory(64 << 20);
    service.end();
    assert_eq!(assert_all(&ids(&service), 0..600_000) as u64, report.resent_records);
    drop(small);
}

#[test]
fn a_full_disk_of_the_files() {
    full("", "", ("out", 1 << 20), Small::mount, Service::ids);
}

#[test]
fn a_full_disk_of_the_spool() {
    let spool = "[stream.s.spool]\npath = 'spool'\nwhen = 'always'\n";
    full("", spool, ("spool", 1 << 20), Small::mount, Service::ids);
}

/// The substitute for systems where this user may not mount a file system.
#[test]
fn a_disk_that_only_seems_full() {
    full("", "", ("out", 1 << 20), |_| None, Service::ids);
}

/// Parts, and the files in folders that are made of them. These are much smaller, so that only a
/// disk that has no room for a part is certain to be full.
#[test]
fn a_full_disk_of_folders() {
    let sink = "[[stream.s.sink]]\ntype = 'directory'\npath = 'out'\nformat = 'parquet'\n\
                partition_by = ['_connection']\nroll_bytes = '300KB'\n";
    let ids = |service: &Service| {
        let files = parquet_files(&service.path("out")).into_values();
        files.flat_map(|bytes| parquet_ids(&bytes)).collect()
    };
    full("order = 'column'", sink, ("out", 200 << 10), Small::mount, ids);
}
