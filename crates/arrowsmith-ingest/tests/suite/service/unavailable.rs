// SPDX-License-Identifier: Apache-2.0
//! A sink that is away: senders wait, or the spool takes over; a restart goes on with what is in
//! it.

use std::cell::Cell;
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arrowsmith_ingest::Service;

use super::{config, lines, numbers, post, start, tcp, wait_for};

const LITTLE_MEMORY: [&str; 3] =
    ["service.memory=4MiB", "limits.record_bytes=1MiB", "limits.body_bytes=2MiB"];

/// Makes the directory of the sink impossible: a file has its name.
fn block(folder: &std::path::Path) -> std::path::PathBuf {
    let out = folder.join("out");
    fs::write(&out, "in the way").unwrap();
    out
}

/// Sends lines until it is stopped: more than the socket buffers of any system hold.
struct Sender {
    sent: Arc<AtomicI64>,
    end: Arc<AtomicBool>,
    thread: JoinHandle<std::io::Result<()>>,
}

impl Sender {
    fn start(mut socket: TcpStream) -> Self {
        const LINES: i64 = 10_000;
        let (sent, end) = (Arc::<AtomicI64>::default(), Arc::<AtomicBool>::default());
        let (count, told) = (Arc::clone(&sent), Arc::clone(&end));
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::Acquire) {
                let at = count.load(Ordering::Relaxed);
                socket.write_all(&lines(at..at + LINES))?;
                count.store(at + LINES, Ordering::Release);
            }
            Ok(())
        });
        Self { sent, end, thread }
    }

    /// Waits until nothing was taken for a while.
    fn wait_until_it_waits(&self) {
        let last = Cell::new((-1, Instant::now()));
        wait_for("a sender that waits", || {
            let sent = self.sent.load(Ordering::Acquire);
            if sent != last.get().0 {
                last.set((sent, Instant::now()));
            }
            last.get().1.elapsed() > Duration::from_millis(500)
        });
    }

    /// Ends it, and returns how many lines it has sent.
    fn end(self) -> i64 {
        self.end.store(true, Ordering::Release);
        self.thread.join().unwrap().unwrap();
        self.sent.load(Ordering::Acquire)
    }
}

/// Lets the sink come back, and checks that everything is in it.
fn come_back(service: Service, sender: Sender, out: &std::path::Path) {
    fs::remove_file(out).unwrap();
    let sent = sender.end();
    wait_for("all", || service.status()["totals"]["published_records"] == sent);
    assert!(service.drain().is_complete());
    assert_eq!(numbers(out), (0..sent).collect::<Vec<_>>());
}

#[test]
fn without_a_spool_senders_wait_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let out = block(folder.path());
    let service = start(folder.path(), &LITTLE_MEMORY);
    assert_eq!(super::request(&service, "GET", "/readyz", "", b"").0, 503);
    let sender = Sender::start(tcp(&service));
    sender.wait_until_it_waits();
    let status = service.status();
    let most = status["memory_bytes_max"].as_u64().unwrap();
    assert!(status["memory_bytes"].as_u64().unwrap() > most / 2, "{status}");
    come_back(service, sender, &out);
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
    let settings = [&LITTLE_MEMORY[..], &[&*spool, "stream.s.spool.bytes=200000"]].concat();
    let service = start(folder.path(), &settings);
    let sender = Sender::start(tcp(&service));
    sender.wait_until_it_waits();
    let bytes = service.status()["streams"][0]["sinks"][0]["spool_bytes"].as_u64().unwrap();
    assert!((200_000..40_000_000).contains(&bytes), "{bytes}");
    come_back(service, sender, &out);
}

/// Settings of another stream, so that its threads have names that no other test's have.
fn another(folder: &std::path::Path, name: &str) -> [String; 3] {
    [
        format!("stream.{name}.schema=\"n: int64 not null\""),
        format!("stream.{name}.sink.0.type=directory"),
        format!("stream.{name}.sink.0.path={:?}", folder.join(name)),
    ]
}

/// Whether the thread of a stream runs.
fn runs(stream: &str) -> bool {
    let comm = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).ok();
    let mut threads = fs::read_dir("/proc/self/task").unwrap().filter_map(|task| comm(task.ok()?));
    threads.any(|name| name.trim() == format!("order-{stream}"))
}

#[test]
fn what_is_dropped_ends_without_draining() {
    let folder = tempfile::tempdir().unwrap();
    block(folder.path());
    let gone = another(folder.path(), "gone");
    let gone = gone.each_ref().map(String::as_str);
    let service = start(folder.path(), &[&LITTLE_MEMORY[..], &gone].concat());
    let http = service.addresses()["http"];
    let sender = Sender::start(tcp(&service));
    sender.wait_until_it_waits();
    assert!(runs("gone"));
    drop(service);
    assert!(!runs("gone"));
    assert!(sender.thread.join().unwrap().is_err());
    assert!(TcpStream::connect(http).is_err());
}

#[test]
fn a_start_that_fails_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("service.admin=\"{}\"", taken.local_addr().unwrap());
    let left = another(folder.path(), "left");
    let left = left.each_ref().map(String::as_str);
    let failed = Service::start(config(folder.path(), &[&[&*address], &left[..]].concat()));
    assert!(failed.is_err_and(|error| error.to_string().contains("Address already in use")));
    assert!(!runs("left"));
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

#[test]
fn who_cannot_write_is_not_ready() {
    let ready = |service: &Service| super::request(service, "GET", "/readyz", "", b"");
    let folder = tempfile::tempdir().unwrap();
    let rejects = folder.path().join("rejects/s.rejects.jsonl");
    let service = start(folder.path(), &[]);
    wait_for("a start", || ready(&service).0 == 200);
    fs::create_dir_all(&rejects).unwrap();
    let mut socket = tcp(&service);
    socket.write_all(b"{\"n\":1}\nbad\n").unwrap();
    wait_for("rejects that wait", || ready(&service).0 == 503);
    assert_eq!(ready(&service).1, "stream s: rejects cannot be written\n");
    fs::remove_dir(&rejects).unwrap();
    wait_for("rejects that are written", || ready(&service).0 == 200);
    drop(socket);
    let stream = service.drain().streams["s"];
    assert_eq!((stream.published, stream.rejected), (1, 1));

    let folder = tempfile::tempdir().unwrap();
    let (spool, away) = (folder.path().join("spool"), folder.path().join("away"));
    let out = block(folder.path());
    let service = start(folder.path(), &[&format!("stream.s.spool.path={spool:?}")]);
    wait_for("a start", || ready(&service).0 == 200);
    fs::rename(&spool, &away).unwrap();
    let mut socket = tcp(&service);
    socket.write_all(&lines(0..10)).unwrap();
    wait_for("a spool that cannot be written", || ready(&service).0 == 503);
    let why = ready(&service).1;
    assert!(why.starts_with("stream s: the spool of ") && why.ends_with(" cannot be written\n"));
    fs::rename(&away, &spool).unwrap();
    wait_for("a spool that is written", || ready(&service).0 == 200);
    fs::remove_file(&out).unwrap();
    wait_for("all", || service.status()["totals"]["published_records"] == 10);
    assert!(service.drain().is_complete());
}

/// What is answered with 200 is in a file that has its name: also after another program has removed
/// the one that was written to, or has removed or moved its folder.
#[test]
#[cfg(unix)]
fn what_follows_a_removed_file_is_stored_or_not_acknowledged() {
    for fsync in ["never", "always"] {
        for what in ["file", "folder", "moved folder"] {
            let folder = tempfile::tempdir().unwrap();
            let fsync = format!("stream.s.sink.0.fsync={fsync}");
            let service = start(folder.path(), &[&fsync]);
            let out = folder.path().join("out");
            let send = |n: i64| post(&service, "/v1/s", "", &lines(n..n + 1)).0;
            assert_eq!(send(0), 200);
            let parts = || {
                let names = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
                names.filter(|name| name.to_string_lossy().ends_with(".part")).collect::<Vec<_>>()
            };
            assert_eq!(parts().len(), 1);
            match what {
                "file" => fs::remove_file(&parts()[0]).unwrap(),
                "folder" => fs::remove_dir_all(&out).unwrap(),
                _ => fs::rename(&out, folder.path().join("moved")).unwrap(),
            }
            fs::create_dir_all(&out).unwrap();
            let acknowledged: Vec<i64> = (1..4).filter(|n| send(*n) == 200).collect();
            let _ = service.drain();
            let stored = numbers(&out);
            let lost: Vec<_> = acknowledged.iter().filter(|n| !stored.contains(n)).collect();
            assert!(lost.is_empty(), "{fsync}, {what}: {lost:?} of {acknowledged:?}");
        }
    }
}
