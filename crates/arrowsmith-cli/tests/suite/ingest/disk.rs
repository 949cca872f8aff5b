// SPDX-License-Identifier: Apache-2.0
//! A disk that is full: senders wait, nothing is lost, and it goes on when there is room.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use arrowsmith_load::Options;

use crate::ingest::service::{Service, assert_all, go, wait_for};

/// A file system of its own.
struct Small(PathBuf);

impl Small {
    /// `None` where this user may not mount.
    fn mount(path: &Path, bytes: usize) -> Option<Self> {
        fs::create_dir_all(path).unwrap();
        let size = format!("size={bytes}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(path).stderr(Stdio::null());
        mount.status().is_ok_and(|status| status.success()).then(|| Self(path.to_owned()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // Lazily, because the service may still have files there when a test fails.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn full(stream: &str, rest: &str, disk: &str) {
    let mut service = Service::new("", &format!("acknowledge = true\n{stream}"), rest);
    let path = service.path(disk);
    let Some(small) = Small::mount(&path, 8 << 20) else {
        eprintln!("skipped: this user may not mount a small file system");
        return;
    };
    let filler = path.join("filler");
    fs::write(&filler, vec![0; 7 << 20]).unwrap();
    service.run();
    // 5 MB as Arrow: more than the room that is left, less than the disk.
    let options = Options { acknowledge: true, ..service.load(0..600_000, 1000) };
    let sender = thread::spawn(move || go(&options));
    let mut before = (u64::MAX, Instant::now());
    wait_for("the service stands still", || {
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
    assert_eq!(assert_all(&service.ids(), 0..600_000) as u64, report.resent_records);
    drop(small);
}

#[test]
fn a_full_disk_of_the_files() {
    full("", "", "out");
}

#[test]
fn a_full_disk_of_the_spool() {
    full("", "[stream.s.spool]\npath = 'spool'\nwhen = 'always'\n", "spool");
}
