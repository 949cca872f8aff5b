// SPDX-License-Identifier: Apache-2.0
//! Tests of a sink's thread: the order of what is published again.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrowsmith_message::{BoxFuture, Origin, StageTimes};

use super::*;
use crate::config::{Config, SpoolWhen, StreamConfig};
use crate::metrics::Metrics;
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
    let column: ArrayRef = Arc::new(Int64Array::from(vec![0]));
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    Arc::new(Message {
        stream: "s".into(),
        schema: batch.schema(),
        batch,
        payload: bytes::Bytes::new(),
        sequence,
        origins: vec![Origin { connection: 1, first: sequence, last: sequence, rows: 1 }],
        key: None,
        received_at: SystemTime::now(),
        times: StageTimes::begin(Instant::now()),
    })
}

/// Publishes 40 messages through a sink whose receipts of these numbers fail.
fn publish(failing: &[usize], spool: bool) -> Vec<u64> {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::default();
    store.0.lock().unwrap().failing.extend(failing);
    let metrics = Metrics::new().unwrap();
    let config = StreamConfig { schema: "n: int64".to_owned(), ..StreamConfig::default() };
    let queue = Arc::new(Queue::new(1));
    let (stream, _results) =
        Stream::new("s", &Config::default(), config, metrics.stream("s"), queue).unwrap();
    let (sender, queue) = mpsc::channel(40);
    for sequence in 1..=40 {
        let parcel = Parcel {
            message: Some(message(sequence)),
            settle: Settle::new(1, Vec::new()),
            queued: Instant::now(),
        };
        sender.try_send(parcel).ok().unwrap();
    }
    drop(sender);
    let spool = spool.then(|| {
        let config = SpoolConfig {
            path: folder.path().to_owned(),
            bytes: crate::config::Size(1 << 30),
            fsync: Fsync::Never,
            when: SpoolWhen::Away,
        };
        (config, Spool::open(crate::disk::system(), &folder.path().join("spool"), 1 << 30).unwrap())
    });
    let sink = Sink {
        config: SinkConfig::directory("never-opened"),
        name: "store".to_owned(),
        schema: stream.compiled().schema.clone(),
        metrics: Arc::new(metrics.sink("s", "store")),
        rejects: Rejects::new(crate::disk::system(), folder.path().to_owned(), "s.store", false),
        latency: None,
        clock: crate::clock::system(),
        give_up: Arc::default(),
        queue,
        open: Some(Box::new(store.clone())),
        spool,
        stream,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(sink.run()).unpublished, 0);
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
    // With a spool, what is left when the queue has ended may stay there for the next start: the store
    // has the first ones without a gap.
    for failing in [&[1][..], &[7], &[3, 20]] {
        let stored = publish(failing, true);
        assert!(stored.iter().copied().eq(1..=stored.len() as u64), "{failing:?}: {stored:?}");
    }
}
