// SPDX-License-Identifier: Apache-2.0
//! Ctrl-C while the work goes on, and while it waits.
#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::cli::data::{everyday, write_schema};
use crate::cli::run::{Folder, finish};

/// Waits until the temporary output is there: then the work has begun.
fn wait_for_output(folder: &Folder) {
    let started = Instant::now();
    while !folder.names().iter().any(|name| name.ends_with(".tmp")) {
        assert!(started.elapsed() < Duration::from_secs(120), "no output after 120 s");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn interrupt(child: &Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

fn start(folder: &Folder) -> Child {
    write_schema(folder, "schema", everyday());
    let args = ["convert", "-", "-o", "out.arrow", "--schema", "schema", "--format", "ndjson"];
    let args = [&args[..], &["--on-error", "skip", "--rejects", "bad.jsonl"]].concat();
    folder.command(&args).stdin(Stdio::piped()).spawn().unwrap()
}

#[test]
fn work_that_waits_is_ended_and_cleaned_up() {
    let folder = Folder::new();
    let mut child = start(&folder);
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"{\"id\":1}\n{\"id\":\"x\"}\n").unwrap();
    wait_for_output(&folder);
    interrupt(&child);
    let ran = finish(child);
    assert_eq!((ran.status, ran.stderr.as_str()), (130, "interrupted\n"));
    assert_eq!(folder.names(), ["bad.jsonl", "schema"]);
    drop(pipe);
}

#[test]
fn work_that_goes_on_stops_and_keeps_its_rejects() {
    let folder = Folder::new();
    let mut child = start(&folder);
    let mut pipe = child.stdin.take().unwrap();
    let chunk = "{\"id\":1}\n{\"id\":\"x\"}\n{\"id\":3}\n".repeat(1000);
    let feeder = std::thread::spawn(move || while pipe.write_all(chunk.as_bytes()).is_ok() {});
    wait_for_output(&folder);
    let started = Instant::now();
    while !fs::metadata(folder.path("bad.jsonl")).is_ok_and(|file| file.len() > 0) {
        assert!(started.elapsed() < Duration::from_secs(120), "no rejects after 120 s");
        std::thread::sleep(Duration::from_millis(10));
    }
    interrupt(&child);
    let ran = finish(child);
    assert_eq!((ran.status, ran.stderr.as_str()), (130, "interrupted\n"));
    assert_eq!(folder.names(), ["bad.jsonl", "schema"]);
    feeder.join().unwrap();
    let rejects = folder.read("bad.jsonl");
    assert!(rejects.ends_with(b"}\n"), "the last line is whole");
}
