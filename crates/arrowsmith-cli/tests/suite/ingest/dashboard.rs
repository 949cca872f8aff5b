// SPDX-License-Identifier: Apache-2.0
//! The dashboard in a headless browser: with invented states, and of a running service.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use arrowsmith_load::{Amount, Options, Rate};
use arrowsmith_testkit::tools;

use crate::ingest::service::{Service, go};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of the browser's driver.
fn browser() -> Option<PathBuf> {
    let got = Command::new(root().join("tools/browser")).output().unwrap();
    if !got.status.success() {
        let why = String::from_utf8_lossy(&got.stderr).trim().to_owned();
        tools::absent(&format!("a browser that node drives ({why})"), tools::SETUP);
        return None;
    }
    Some(PathBuf::from(String::from_utf8(got.stdout).unwrap().trim()))
}

fn check(modules: &Path, args: &[&str]) -> Output {
    let script = root().join("crates/arrowsmith-ingest/tests/dashboard/check.mjs");
    let done = Command::new("node").arg(script).arg(modules).args(args).output().unwrap();
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{text}");
    done
}

#[test]
fn the_page_shows_what_the_state_says() {
    let Some(modules) = browser() else { return };
    let page = root().join("crates/arrowsmith-ingest/dashboard");
    check(&modules, &["recorded", page.to_str().unwrap()]);
}

#[test]
fn the_page_of_a_service_at_work() {
    let Some(modules) = browser() else { return };
    let mut service = Service::start("", "", "");
    let picture = std::env::var("ARROWSMITH_PICTURE").unwrap_or_default();
    // Longer than a browser takes to start on a busy machine.
    let load = Options {
        connections: 4,
        amount: Amount::Time(Duration::from_secs(20)),
        rate: Some(Rate::RecordsPerSecond(200_000.0)),
        ..service.load(0..100_000, 500)
    };
    service.send(b"{\"id\":\"<b>bold</b>\"}\n{\"id\":}\n");
    let sender = thread::spawn(move || go(&load));
    let url = format!("http://127.0.0.1:{}/", service.http);
    let shown = check(&modules, &["live", &url, &picture]);
    let shown: u64 = String::from_utf8(shown.stdout).unwrap().trim().parse().unwrap();
    let report = sender.join().unwrap();
    let summary = service.end();
    assert_eq!(summary["published"], report.sent_records);
    assert_eq!(summary["rejected"], 2);
    assert!(shown > 0 && shown <= summary["received"]);
}
