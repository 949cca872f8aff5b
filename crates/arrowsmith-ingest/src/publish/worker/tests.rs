// SPDX-License-Identifier: Apache-2.0
//! Tests of a sink's thread: the order of what is published again.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrowsmith_publish::{BoxFuture, Origin};

use super::*;
use crate::config::{Config, SpoolWhen, StreamConfig};
use crate::disk;
use crate::observe::metrics::{Metrics, Waiting};
use crate::publish::sinks::directory::{Directory, DirectoryOptions, Storage};
use crate::stream::Queue;

/// A store that drops what is not newer than the newest it has, as a broker that deduplicates, and
/// fails at some receipts.
#[derive(Clone, Default)]
struct Store(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    receipts: usize,
    failing: BTreeSet<usize>,
    stored: Vec<u64>,
}

impl Publish for Store {
    fn publish<'a>(
        &'a mut self,
        message: &'a Message,
    ) -> BoxFuture<'a, Result<Receipt, PublishError>> {
        let (store, sequence) = (Arc::clone(&self.0), message.sequence);
        let receipt: Receipt = Box::pin(async move {
            let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
            store.receipts += 1;
            let number = store.receipts;
            if store.failing.remove(&number) {
                return Err(PublishError::retry("away"));
            }
            if store.stored.last().is_none_or(|&last| last < sequence) {
                store.stored.push(sequence);
            }
            Ok(())
        });
        Box::pin(std::future::ready(Ok(receipt)))
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), PublishError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn needs_payload(&self) -> bool {
        false
    }
}

fn message(sequence: u64) -> Arc<Message> {
    let column: ArrayRef = Arc::new(Int64Array::from(vec![i64::try_from(sequence).unwrap()]));
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    let origins = vec![Origin { connection: 1, first: sequence, last: sequence, rows: 1 }];
    Arc::new(Message { origins, ..Message::new("s", sequence, batch) })
}

/// A sink with this many messages in its queue.
struct Made {
    sink: Sink,
    metrics: Arc<SinkMetrics>,
    /// The end of the queue comes with its drop.
    sender: mpsc::Sender<Parcel>,
}

impl Made {
    fn new(folder: &Path, messages: u64, open: Option<Box<dyn Publish>>) -> Self {
        let metrics = Metrics::new().unwrap();
        let config = StreamConfig { schema: "n: int64".to_owned(), ..StreamConfig::default() };
        let queue = Arc::new(Queue::new(1));
        let (stream, _results) =
            Stream::new("s", &Config::default(), config, metrics.stream("s"), queue).unwrap();
        let (sender, queue) = mpsc::channel(40);
        for sequence in 1..=messages {
            let parcel = Parcel {
                message: Some(message(sequence)),
                settle: Settle::new(1, Vec::new()),
                queued: Instant::now(),
            };
            sender.try_send(parcel).ok().unwrap();
        }
        let metrics = Arc::new(metrics.sink("s", "store"));
        let sink = Sink {
            config: SinkConfig::directory(folder.join("out").to_str().unwrap()),
            name: "store".to_owned(),
            schema: stream.compiled().schema.clone(),
            metrics: Arc::clone(&metrics),
            rejects: Rejects::new(disk::system(), folder.to_owned(), "s.store", false),
            latency: None,
            clock: crate::clock::system(),
            give_up: Arc::default(),
            queue,
            open,
            spool: None,
            stream,
        };
        Self { sink, metrics, sender }
    }

    fn with_spool(mut self, folder: &Path) -> Self {
        let config = SpoolConfig {
            path: folder.to_owned(),
            bytes: crate::config::Size(1 << 30),
            fsync: Fsync::Never,
            when: SpoolWhen::Away,
        };
        self.sink.spool = Some((config, spool(folder)));
        self
    }

    fn run(self) -> End {
        drop(self.sender);
        run(self.sink)
    }

    /// Closes the queue when this many rows are published.
    fn run_until(self, rows: u64) {
        let sink = std::thread::spawn(move || run(self.sink));
        let until = Instant::now() + Duration::from_secs(120);
        while self.metrics.published.get() < rows {
            assert!(Instant::now() < until, "{rows} rows are not published in time");
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(self.sender);
        assert_eq!(sink.join().unwrap().unpublished, 0);
    }
}

fn run(sink: Sink) -> End {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(sink.run())
}

fn spool(folder: &Path) -> Spool {
    Spool::open(disk::system(), &folder.join("spool"), 1 << 30).unwrap()
}

fn storage() -> Storage {
    let (disk, stores) = (disk::system(), crate::store::system());
    Storage { disk, stores, waiting: Waiting::default() }
}

fn directory(folder: &Path) -> Directory {
    let options = DirectoryOptions::new(folder.join("out"));
    Directory::open(storage(), options, "s").unwrap()
}

/// Numbers of the messages in the directory's files.
fn in_directory(folder: &Path) -> Vec<i64> {
    let names = std::fs::read_dir(folder.join("out")).unwrap();
    let mut names: Vec<_> = names.map(|name| name.unwrap().path()).collect();
    names.retain(|name| name.extension().is_some_and(|end| end == "arrow"));
    names.sort();
    let batches = names.into_iter().flat_map(|name| {
        arrow_ipc::reader::FileReader::try_new(std::fs::File::open(name).unwrap(), None).unwrap()
    });
    let numbers =
        |batch: RecordBatch| batch.column(0).as_primitive::<Int64Type>().values().to_vec();
    batches.flat_map(|batch| numbers(batch.unwrap())).collect()
}

/// Publishes 40 messages through a sink whose receipts of these numbers fail.
fn publish(failing: &[usize], spool: bool) -> Vec<u64> {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::default();
    store.0.lock().unwrap().failing.extend(failing);
    let mut made = Made::new(folder.path(), 40, Some(Box::new(store.clone())));
    if spool {
        made = made.with_spool(folder.path());
    }
    assert_eq!(made.run().unpublished, 0);
    std::mem::take(&mut store.0.lock().unwrap().stored)
}

#[test]
fn what_is_published_again_keeps_its_order() {
    let all: Vec<u64> = (1..=40).collect();
    for failing in [&[][..], &[1], &[7], &[7, 8, 9], &[3, 20, 21]] {
        assert_eq!(publish(failing, false), all, "{failing:?}");
    }
}

#[test]
fn with_a_spool_nothing_is_lost_that_was_in_flight() {
    // With a spool, what is left when the queue has ended may stay there for the next start: the
    // store has the first ones without a gap.
    for failing in [&[1][..], &[7], &[3, 20]] {
        let stored = publish(failing, true);
        assert!(stored.iter().copied().eq(1..=stored.len() as u64), "{failing:?}: {stored:?}");
    }
}

/// A directory that panics at a message, before or after it is stored; or whose last call never
/// returns.
struct Broken {
    inner: Directory,
    at: u64,
    before: bool,
    waits: bool,
}

impl Publish for Broken {
    fn publish<'a>(
        &'a mut self,
        message: &'a Message,
    ) -> BoxFuture<'a, Result<Receipt, PublishError>> {
        Box::pin(async move {
            let is_the_one = message.sequence == self.at;
            if is_the_one && self.waits {
                pending::<()>().await;
            }
            if is_the_one && self.before {
                resume_unwind(Box::new("broken"));
            }
            let receipt = self.inner.publish(message).await;
            if is_the_one {
                resume_unwind(Box::new("broken"));
            }
            receipt
        })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), PublishError>> {
        Box::new(self.inner).close()
    }

    fn in_flight_max(&self) -> usize {
        1
    }
}

#[test]
fn a_sink_that_panics_is_replaced_and_nothing_is_lost_or_doubled() {
    for spool in [false, true] {
        for before in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let inner = directory(folder.path());
            let broken = Broken { inner, at: 7, before, waits: false };
            let mut made = Made::new(folder.path(), 20, Some(Box::new(broken)));
            if spool {
                made = made.with_spool(folder.path());
            }
            made.run_until(20);
            let stored = in_directory(folder.path());
            assert!(stored.iter().copied().eq(1..=20), "{spool} {before}: {stored:?}");
        }
    }
}

#[test]
fn a_message_at_which_every_sink_panics_is_refused_in_the_end() {
    let known = |times, before, after| {
        let known = Panicked { sequence: 7, times, why: "broken".to_owned(), stored: before };
        known.fate(&message(7), after)
    };
    assert!(known(1, None, None).is_none());
    assert!(known(1, Some(6), Some(6)).is_none());
    assert!(matches!(known(1, Some(6), Some(7)), Some(Ok(()))));
    // Numbers that start again prove nothing.
    assert!(known(1, Some(9), Some(9)).is_none());
    assert!(matches!(known(3, Some(6), Some(6)), Some(Err(PublishError::Refused(_)))));
    let other = Panicked { sequence: 8, times: 3, why: String::new(), stored: None };
    assert!(other.fate(&message(7), None).is_none());
}

#[test]
fn a_sink_that_does_not_return_does_not_hold_up_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let broken = Broken { inner: directory(folder.path()), at: 3, before: true, waits: true };
    let made = Made::new(folder.path(), 5, Some(Box::new(broken)));
    let give_up = Arc::clone(&made.sink.give_up);
    let ending = std::thread::spawn(move || made.run());
    give_up.store(true, Ordering::Release);
    assert!(ending.join().unwrap().unpublished <= 5);
}

#[test]
fn what_a_sink_has_is_known_also_when_it_is_opened_late() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut left = spool(folder.path());
    let mut before = Box::new(directory(folder.path()));
    for sequence in 1..=5 {
        left.append(&message(sequence)).unwrap();
        if sequence <= 3 {
            drop(runtime.block_on(before.publish(&message(sequence))).unwrap());
        }
    }
    left.commit(false).unwrap();
    drop(left);
    runtime.block_on(before.close()).unwrap();
    let made = Made::new(folder.path(), 0, None).with_spool(folder.path());
    let metrics = Arc::clone(&made.metrics);
    // Those that it had count, or the account would not come out even.
    made.run_until(5);
    assert_eq!(in_directory(folder.path()), [1, 2, 3, 4, 5]);
    assert_eq!((metrics.unspooled.get(), metrics.recovered.get()), (5, 5));
}
