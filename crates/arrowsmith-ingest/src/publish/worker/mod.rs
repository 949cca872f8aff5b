// SPDX-License-Identifier: Apache-2.0
//! The thread of a sink: publishes messages in order, tries again, and spools.
//!
//! What was taken is in one of three places: `waiting` to be published, `in_flight` without a
//! receipt, or in the spool. When the sink fails, what was in flight waits again, in its order.
//! With a spool, what comes while the sink is away, or while older messages are in the spool, goes
//! there and is settled; without one it stays in the queue, and everything before waits.

mod outage;
mod settle;
mod spooled;

use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arrow_schema::SchemaRef;
use arrowsmith_publish::{Message, Publish, PublishError, Receipt};
use tokio::sync::mpsc;

use self::outage::{Called, called, received};
use crate::clock::SharedClock;
use crate::config::{Fsync, SpoolConfig};
use crate::job::Settle;
use crate::observe::latency::Latency;
use crate::observe::metrics::SinkMetrics;
use crate::publish::sinks::SinkConfig;
use crate::rejects::Rejects;
use crate::spool::{Place, Spool};
use crate::stream::Stream;

/// Messages in the queue before a sink.
pub(crate) const QUEUE_MAX: usize = 4;

/// Wait after the first failure, and the maximum.
const RETRY: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(10)];

/// How often sinks are flushed and the spool is synced.
const TICK: Duration = Duration::from_millis(500);

/// Maximum number of messages in one commit of the spool.
const SPOOL_TOGETHER_MAX: usize = 64;

/// A message and who waits for it; without a message, it keeps the order of settling.
pub(crate) struct Parcel {
    pub(crate) message: Option<Arc<Message>>,
    pub(crate) settle: Arc<Settle>,
    pub(crate) queued: Instant,
}

/// A message that is to be published here.
struct Task {
    message: Option<Arc<Message>>,
    from: From,
    queued: Instant,
}

enum From {
    Queue(Arc<Settle>),
    Spool(Place),
}

/// How a sink ended.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct End {
    /// Records that are neither published nor spooled: the sink was away to the end.
    pub(crate) unpublished: u64,
}

/// A sink's thread.
pub(crate) struct Sink {
    pub(crate) stream: Arc<Stream>,
    pub(crate) config: SinkConfig,
    pub(crate) name: String,
    pub(crate) schema: SchemaRef,
    pub(crate) metrics: Arc<SinkMetrics>,
    pub(crate) rejects: Rejects,
    pub(crate) latency: Option<Latency>,
    pub(crate) clock: SharedClock,
    /// Set when the shutdown may not take longer.
    pub(crate) give_up: Arc<AtomicBool>,
    pub(crate) queue: mpsc::Receiver<Parcel>,
    pub(crate) open: Option<Box<dyn Publish>>,
    pub(crate) spool: Option<(SpoolConfig, Spool)>,
}

/// What changes while a sink's thread works.
struct Work {
    waiting: VecDeque<Task>,
    in_flight: VecDeque<(Task, Receipt, Instant)>,
    /// The end of the pause after a failure, and the length of the next pause.
    away: Option<Instant>,
    wait: Duration,
    ended: bool,
    ticked: Instant,
    /// No use of the spool before this time, after an error of its disk.
    spool_from: Instant,
    /// What kept the last messages from the spool: said once, not at every attempt.
    spool_fault: Option<io::ErrorKind>,
    /// Up to which number the sink had messages when it was opened.
    stored: Option<u64>,
    /// The message at which the sink panicked last.
    panicked: Option<Panicked>,
}

/// A message at which the sink panicked.
struct Panicked {
    sequence: u64,
    times: u32,
    why: String,
    /// Up to which number the sink had messages before.
    stored: Option<u64>,
}

impl Sink {
    /// Its work, until the queue ends and everything is published or spooled.
    pub(crate) async fn run(mut self) -> End {
        let now = self.clock.now();
        let mut work = Work {
            waiting: VecDeque::new(),
            in_flight: VecDeque::new(),
            away: if self.open.is_some() { None } else { Some(now) },
            wait: RETRY[0],
            ended: false,
            ticked: now,
            spool_from: now,
            spool_fault: None,
            stored: self.open.as_ref().and_then(|sink| sink.stored()),
            panicked: None,
        };
        if let Some((_, spool)) = &self.spool {
            self.metrics.recovered.inc_by(spool.rows());
        }
        loop {
            self.show(&work);
            if self.give_up.load(Ordering::Acquire) || (work.ended && self.is_done(&work)) {
                return self.end(work).await;
            }
            self.tick(&mut work).await;
            if self.spools(&work) {
                self.spool_waiting(&mut work);
            }
            if work.away.is_none() {
                self.fill_from_spool(&mut work);
                self.publish_waiting(&mut work).await;
            }
            self.step(&mut work).await;
        }
    }

    fn is_done(&self, work: &Work) -> bool {
        let held = work.waiting.is_empty() && work.in_flight.is_empty();
        let spooled = self.spool.as_ref().is_none_or(|(_, spool)| spool.is_empty());
        // With a spool, what is in it may wait for the next start.
        let gone = work.away.is_some() || self.give_up.load(Ordering::Acquire);
        let only_spooled = work.waiting.iter().all(|task| matches!(task.from, From::Spool(_)))
            && work.in_flight.iter().all(|(task, ..)| matches!(task.from, From::Spool(_)));
        (held && spooled)
            || (self.spool.is_some() && gone && only_spooled)
            || self.give_up.load(Ordering::Acquire)
    }

    fn show(&self, work: &Work) {
        let held = self.queue.len() + work.waiting.len() + work.in_flight.len();
        self.metrics.queue.set(i64::try_from(held).unwrap_or(i64::MAX));
        self.metrics.up.set(i64::from(work.away.is_none()));
        let blocked = work.spool_fault.is_some() && self.spools(work);
        self.metrics.spool_writable.set(i64::from(!blocked));
        let gauge = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        self.metrics.upload_files.set(gauge(self.metrics.uploads.files()));
        self.metrics.upload_bytes.set(gauge(self.metrics.uploads.bytes()));
        if let Some((_, spool)) = &self.spool {
            self.metrics.spool_records.set(i64::try_from(spool.rows()).unwrap_or(i64::MAX));
            self.metrics.spool_bytes.set(i64::try_from(spool.bytes()).unwrap_or(i64::MAX));
            let damaged = i64::try_from(spool.damaged_bytes()).unwrap_or(i64::MAX);
            self.metrics.spool_damaged_bytes.set(damaged);
        }
    }

    /// Waits for the next thing that happens, and does it.
    async fn step(&mut self, work: &mut Work) {
        let now = self.clock.now();
        let tick = if work.spool_from > now { work.spool_from } else { work.ticked + TICK };
        let tick = self.clock.sleep_until(tick);
        let again = work.away.map(|at| self.clock.sleep_until(at));
        let room = !work.ended && self.has_room(work);
        let spooling = self.spool.is_some();
        tokio::select! {
            biased;
            result = async {
                match work.in_flight.front_mut() {
                    Some((_, receipt, _)) => received(receipt).await,
                    None => pending().await,
                }
            } => {
                if let Some((task, _, started)) = work.in_flight.pop_front() {
                    self.settle(work, task, started, result);
                }
            }
            parcel = self.queue.recv(), if room => match parcel {
                Some(parcel) => {
                    self.take(work, parcel);
                    // One wait for the disk serves all that are there.
                    let mut taken = 1;
                    while spooling && taken < SPOOL_TOGETHER_MAX && self.has_room(work) {
                        let Ok(parcel) = self.queue.try_recv() else { break };
                        self.take(work, parcel);
                        taken += 1;
                    }
                }
                None => work.ended = true,
            },
            () = async { match again { Some(again) => again.await, None => pending().await } } => {
                self.reopen(work).await;
            }
            () = tick => {}
        }
    }

    /// Whether a message more may be taken from the queue.
    fn has_room(&self, work: &Work) -> bool {
        match &self.spool {
            // What the disk did not take waits, too.
            Some((_, spool)) if self.spools(work) => {
                !spool.is_full() && work.waiting.len() < SPOOL_TOGETHER_MAX
            }
            _ => {
                let most = self.open.as_ref().map_or(0, |sink| sink.in_flight_max());
                work.away.is_none() && work.waiting.len() + work.in_flight.len() < most.max(1)
            }
        }
    }

    fn take(&mut self, work: &mut Work, parcel: Parcel) {
        work.waiting.push_back(Task {
            message: parcel.message,
            from: From::Queue(parcel.settle),
            queued: parcel.queued,
        });
    }

    async fn publish_waiting(&mut self, work: &mut Work) {
        while work.away.is_none()
            && let Some(task) = self.next(work)
        {
            let Some(sink) = &mut self.open else {
                work.waiting.push_front(task);
                return self.fail(work, None);
            };
            let started = Instant::now();
            let Some(message) = task.message.clone() else {
                work.in_flight.push_back((task, arrowsmith_publish::done(), started));
                continue;
            };
            if let Some(result) =
                work.panicked.as_ref().and_then(|it| it.fate(&message, work.stored))
            {
                work.in_flight.push_back((task, Box::pin(std::future::ready(result)), started));
                continue;
            }
            let publishing = async { sink.publish(&message).await };
            match called(publishing, &self.give_up, &*self.clock).await {
                Called::Done(Ok(receipt)) => work.in_flight.push_back((task, receipt, started)),
                Called::Done(Err(PublishError::Refused(why))) => {
                    let receipt = std::future::ready(Err(PublishError::Refused(why)));
                    work.in_flight.push_back((task, Box::pin(receipt), started));
                }
                Called::Done(Err(error)) => {
                    work.waiting.push_front(task);
                    // Those before it are still in flight; they keep their receipts.
                    if self.finish_in_flight(work) {
                        self.failed(work, &error);
                    }
                }
                Called::Panicked(why) => {
                    work.waiting.push_front(task);
                    self.panicked(work, message.sequence, why);
                }
                Called::GivenUp => return work.waiting.push_front(task),
            }
        }
    }

    async fn tick(&mut self, work: &mut Work) {
        if self.clock.now().saturating_duration_since(work.ticked) < TICK {
            return;
        }
        work.ticked = self.clock.now();
        if work.away.is_none()
            && let Some(sink) = &mut self.open
        {
            let flushing = async { sink.flush().await };
            match called(flushing, &self.give_up, &*self.clock).await {
                Called::Done(Ok(())) | Called::GivenUp => {}
                // What is stored by now is not published again.
                Called::Done(Err(error)) if self.finish_in_flight(work) => {
                    self.failed(work, &error)
                }
                Called::Done(Err(_)) => {}
                Called::Panicked(why) => self.replace(work, &why),
            }
        }
        if let Some((config, spool)) = &mut self.spool
            && config.fsync == Fsync::Second
            && let Err(error) = spool.sync()
        {
            tracing::error!(stream = &*self.stream.name, %error, "the spool cannot be synced");
        }
        if let Some(latency) = &mut self.latency {
            latency.flush();
        }
    }

    async fn end(mut self, work: Work) -> End {
        let queued = work.waiting.iter().chain(work.in_flight.iter().map(|(task, ..)| task));
        let unpublished = queued
            .filter(|task| matches!(task.from, From::Queue(_)))
            .map(|task| task.message.as_ref().map_or(0, |message| message.rows() as u64))
            .sum();
        if let Some(sink) = self.open.take() {
            let error = match called(sink.close(), &self.give_up, &*self.clock).await {
                Called::Done(Ok(())) => None,
                Called::Done(Err(error)) => Some(error.to_string()),
                Called::Panicked(why) => Some(why),
                Called::GivenUp => Some("it takes too long".to_owned()),
            };
            if let Some(error) = error {
                let (stream, sink) = (&*self.stream.name, &*self.name);
                tracing::error!(stream, sink, error, "closing failed");
            }
        }
        if let Some((_, spool)) = &mut self.spool
            && let Err(error) = spool.sync()
        {
            tracing::error!(stream = &*self.stream.name, %error, "the spool cannot be synced");
        }
        if let Some(latency) = &mut self.latency {
            latency.flush();
        }
        if let Err(error) = self.rejects.sync() {
            tracing::error!(stream = &*self.stream.name, %error, "rejects cannot be synced");
        }
        self.metrics.queue.set(0);
        End { unpublished }
    }
}

#[cfg(test)]
mod tests;
