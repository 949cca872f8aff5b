// SPDX-License-Identifier: Apache-2.0
//! A sink that is away: senders wait, or the spool takes over; a restart goes on with what is in it.

use std::fs;
use std::io::Write;

use super::{lines, numbers, post, start, tcp, wait_for};

/// Makes the directory of the sink impossible: a file has its name.
fn block(folder: &std::path::Path) -> std::path::PathBuf {
    let out = folder.join("out");
    fs::write(&out, "in the way").unwrap();
    out
}

#[test]
fn without_a_spool_senders_wait_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let out = block(folder.path());
    let settings = ["service.memory=4MiB", "limits.record_bytes=1MiB", "limits.body_bytes=2MiB"];
    let service = start(folder.path(), &settings);
    assert_eq!(super::request(&service, "GET", "/readyz", "", b"").0, 503);
    let mut socket = tcp(&service);
    let all = lines(0..2_000_000);
    let sender = std::thread::spawn(move || socket.write_all(&all));
    wait_for("pressure", || {
        let status = service.status();
        let most = status["memory_bytes_max"].as_u64().unwrap();
        status["memory_bytes"].as_u64().unwrap() > most / 2
    });
    assert!(!sender.is_finished(), "back-pressure reaches the sender");
    fs::remove_file(&out).unwrap();
    sender.join().unwrap().unwrap();
    wait_for("all", || service.status()["totals"]["published_records"] == 2_000_000);
    assert!(service.drain().is_complete());
    assert_eq!(numbers(&out), (0..2_000_000).collect::<Vec<_>>());
}

#[test]
fn with_a_spool_they_are_answered_and_it_drains_in_order() {
    for when in ["away", "always"] {
        let folder = tempfile::tempdir().unwrap();
        let out = block(folder.path());
        let spool = format!("stream.s.spool.path={:?}", folder.path().join("spool"));
        let settings = [&*spool, &format!("stream.s.spool.when={when}")];
        let service = start(folder.path(), &settings);
        for at in 0..10 {
            assert_eq!(post(&service, "/v1/s", "", &lines(at * 100..(at + 1) * 100)).0, 200);
        }
        assert_eq!(super::request(&service, "GET", "/readyz", "", b"").0, 200);
        let stream = service.drain().streams["s"];
        assert_eq!((stream.received, stream.published, stream.spooled), (1000, 0, 1000));
        assert_eq!(stream.unpublished, 0);
        // The next start goes on with the spool, while the sink is still away for a moment.
        let service = start(folder.path(), &settings);
        assert_eq!(post(&service, "/v1/s", "", &lines(1000..1100)).0, 200);
        fs::remove_file(&out).unwrap();
        assert_eq!(post(&service, "/v1/s", "", &lines(1100..1200)).0, 200);
        wait_for("the spool", || service.status()["streams"][0]["sinks"][0]["spool_records"] == 0);
        wait_for("all", || service.status()["streams"][0]["sinks"][0]["published_records"] == 1200);
        assert_eq!(post(&service, "/v1/s", "", &lines(1200..1300)).0, 200);
        wait_for("all of this run", || service.status()["totals"]["published_records"] == 300);
        let stream = service.drain().streams["s"];
        assert_eq!((stream.received, stream.published, stream.spooled), (300, 300, 0));
        assert_eq!(numbers(&out), (0..1300).collect::<Vec<_>>());
    }
}

#[test]
fn a_full_spool_makes_senders_wait() {
    let folder = tempfile::tempdir().unwrap();
    let out = block(folder.path());
    let spool = format!("stream.s.spool.path={:?}", folder.path().join("spool"));
    let settings = [
        &*spool,
        "stream.s.spool.bytes=200000",
        "service.memory=4MiB",
        "limits.record_bytes=1MiB",
        "limits.body_bytes=2MiB",
    ];
    let service = start(folder.path(), &settings);
    let mut socket = tcp(&service);
    let all = lines(0..1_000_000);
    let sender = std::thread::spawn(move || socket.write_all(&all));
    wait_for("a full spool", || {
        service.status()["streams"][0]["sinks"][0]["spool_bytes"].as_u64().unwrap() >= 200_000
    });
    std::thread::sleep(std::time::Duration::from_millis(300));
    let bytes = service.status()["streams"][0]["sinks"][0]["spool_bytes"].as_u64().unwrap();
    assert!(bytes < 40_000_000, "{bytes}");
    assert!(!sender.is_finished());
    fs::remove_file(&out).unwrap();
    sender.join().unwrap().unwrap();
    wait_for("all", || service.status()["totals"]["published_records"] == 1_000_000);
    assert!(service.drain().is_complete());
    assert_eq!(numbers(&out), (0..1_000_000).collect::<Vec<_>>());
}

#[test]
fn two_sinks_both_get_everything() {
    let folder = tempfile::tempdir().unwrap();
    let second = folder.path().join("second");
    let path = format!("stream.s.sink.1.path={second:?}");
    let settings = ["stream.s.sink.1.type=directory", &*path, "stream.s.sink.1.format=parquet"];
    let service = start(folder.path(), &settings);
    assert_eq!(post(&service, "/v1/s", "", &lines(0..1000)).0, 200);
    let summary = service.drain();
    assert_eq!(summary.streams["s"].published, 1000);
    assert_eq!(numbers(&folder.path().join("out")), (0..1000).collect::<Vec<_>>());
    let files = fs::read_dir(&second).unwrap();
    let whole =
        files.filter(|f| f.as_ref().unwrap().path().extension().is_some_and(|e| e == "parquet"));
    assert_eq!(whole.count(), 1);
}
