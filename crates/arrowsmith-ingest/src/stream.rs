// SPDX-License-Identifier: Apache-2.0
//! A stream as the stages see it, and the queue between receivers and parsers.
//!
//! A job is put into two queues at once: one from which any parser takes it, and one in which its
//! results are awaited. So parsers work side by side and the order of the jobs is kept.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};

use arrowsmith_core::{Error, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::auto::Auto;
use crate::compiled::Compiled;
use crate::config::{Config, Parsing, StreamConfig};
use crate::job::{Job, Parsed};
use crate::memory::CHUNK_BYTES;
use crate::observe::metrics::StreamMetrics;
use crate::publish::sinks::Needs;
use crate::width::LINES_MAX;

/// Jobs of a stream that are with parsers or wait, at most.
pub(crate) const ORDER_MAX: usize = 1024;

/// Text that waits for a parser, at most, in bytes for each parser thread: a stream's receivers run
/// ahead only so far that parsers find the text in the processor's cache, and what is late is so by
/// little.
const AHEAD_BYTES_MAX: usize = 4 * CHUNK_BYTES;

/// Granularity of that bound, in bytes: permits of a semaphore are counted in 32 bits.
const UNIT_BYTES: usize = 1 << 10;

/// One stream.
pub(crate) struct Stream {
    pub(crate) name: Arc<str>,
    pub(crate) config: StreamConfig,
    pub(crate) metrics: StreamMetrics,
    /// What the sinks require of messages; known when they are open.
    pub(crate) needs: RwLock<Needs>,
    compiled: RwLock<Arc<Compiled>>,
    /// Where the schema is inferred.
    pub(crate) auto: Auto,
    /// Gone when nothing is taken any more.
    order: RwLock<Option<mpsc::Sender<oneshot::Receiver<Parsed>>>>,
    queue: Arc<Queue>,
    /// Its place in the queue.
    lane: usize,
    /// For text that waits there.
    room: Arc<Semaphore>,
}

impl Stream {
    pub(crate) fn new(
        name: &str,
        config: &Config,
        stream: StreamConfig,
        metrics: StreamMetrics,
        queue: Arc<Queue>,
    ) -> Result<(Arc<Self>, mpsc::Receiver<oneshot::Receiver<Parsed>>)> {
        let compiled = Compiled::new(&stream, &config.limits)
            .map_err(|error| Error::Config(format!("stream.{name}: {error}")))?;
        let (order, results) = mpsc::channel(ORDER_MAX);
        let this = Self {
            name: name.into(),
            auto: Auto::new(&stream, config, metrics.arrow_memory_bytes.clone()),
            config: stream,
            metrics,
            needs: RwLock::new(Needs::default()),
            compiled: RwLock::new(Arc::new(compiled)),
            order: RwLock::new(Some(order)),
            lane: queue.add(),
            room: Arc::new(Semaphore::new(queue.threads * AHEAD_BYTES_MAX / UNIT_BYTES)),
            queue,
        };
        Ok((Arc::new(this), results))
    }

    /// The current schema.
    pub(crate) fn compiled(&self) -> Arc<Compiled> {
        Arc::clone(&self.compiled.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Uses another schema for what is received from now on.
    pub(crate) fn replace(&self, compiled: Compiled) {
        *self.compiled.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(compiled);
    }

    /// Uses a wider schema, unless another was set since `before`.
    pub(crate) fn widen(&self, before: &Compiled, compiled: Arc<Compiled>) {
        let mut current = self.compiled.write().unwrap_or_else(PoisonError::into_inner);
        if current.number == before.number {
            *current = compiled;
        }
    }

    /// Hands a job over, waiting for room. `false` when the stream takes nothing any more.
    pub(crate) async fn submit(self: &Arc<Self>, job: Job) -> bool {
        let order = self.order.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(order) = order else { return false };
        // A job larger than the limit goes alone.
        let most = self.queue.threads * AHEAD_BYTES_MAX / UNIT_BYTES;
        let units = u32::try_from((job.buffer.len / UNIT_BYTES).min(most)).unwrap_or(u32::MAX);
        let Ok(room) = Arc::clone(&self.room).acquire_many_owned(units).await else { return false };
        let Ok(place) = order.reserve().await else { return false };
        self.metrics.received_bytes.inc_by(job.buffer.len as u64);
        self.metrics.received_lines.inc_by(job.lines);
        self.metrics.parse_queue.inc();
        let (reply, result) = oneshot::channel();
        let mut queue = self.queue.lock();
        if queue.closed {
            // No parser would take it.
            return false;
        }
        // Both under one lock, so that both queues have one order.
        place.send(result);
        if let Some(lane) = queue.lanes.get_mut(self.lane) {
            lane.jobs.push_back(Entry { stream: Arc::clone(self), job, reply, _room: room });
        }
        drop(queue);
        self.queue.filled.notify_one();
        true
    }

    /// Notes that the results of some jobs were passed on.
    pub(crate) fn passed(&self) {
        self.queue.passed(self);
    }

    /// Accepts no more jobs; those in the queue are still processed.
    pub(crate) fn close(&self) {
        self.order.write().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// A job and where its result goes.
pub(crate) struct Entry {
    pub(crate) stream: Arc<Stream>,
    pub(crate) job: Job,
    pub(crate) reply: oneshot::Sender<Parsed>,
    _room: OwnedSemaphorePermit,
}

/// The jobs that wait for a parser, by stream. Bounded by the order queues of the streams and by
/// memory.
///
/// Streams take turns. A stream whose results are not passed on waits, so that parsers do not fill
/// memory with batches ahead of its sinks, and the other streams go on.
pub(crate) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    threads: usize,
    /// Results of a stream that are not passed on, at most.
    ahead_max: usize,
}

#[derive(Default)]
struct State {
    lanes: Vec<Lane>,
    /// The lane whose turn it is.
    next: usize,
    closed: bool,
}

/// The jobs of one stream.
#[derive(Default)]
struct Lane {
    jobs: VecDeque<Entry>,
    ahead: usize,
}

impl State {
    /// The next lane that has jobs and may go on.
    fn turn(&mut self, ahead_max: usize) -> Option<&mut Lane> {
        let count = self.lanes.len();
        let ready = |lane: &Lane| !lane.jobs.is_empty() && lane.ahead < ahead_max;
        let found =
            (0..count).map(|step| (self.next + step) % count).find(|&at| ready(&self.lanes[at]))?;
        self.next = found + 1;
        self.lanes.get_mut(found)
    }
}

impl Queue {
    pub(crate) fn new(threads: usize) -> Self {
        let threads = threads.max(1);
        Self { state: Mutex::default(), filled: Condvar::new(), threads, ahead_max: threads + 2 }
    }

    /// A place for the jobs of another stream.
    fn add(&self) -> usize {
        let mut state = self.lock();
        state.lanes.push(Lane::default());
        state.lanes.len() - 1
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next jobs, one after another in their stream, `bytes_max` of text together if there is
    /// more than one; waits for the first. `None` at the end.
    pub(crate) fn take(&self, bytes_max: usize) -> Option<Vec<Entry>> {
        let mut state = self.lock();
        loop {
            if let Some(lane) = state.turn(self.ahead_max) {
                lane.ahead += 1;
                return Some(lane.group(bytes_max));
            }
            if state.closed && state.lanes.iter().all(|lane| lane.jobs.is_empty()) {
                return None;
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Notes that the results of some jobs were passed on.
    pub(crate) fn passed(&self, stream: &Stream) {
        if let Some(lane) = self.lock().lanes.get_mut(stream.lane) {
            lane.ahead = lane.ahead.saturating_sub(1);
        }
        self.filled.notify_one();
    }

    /// Ends the parsers when they have taken everything.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_all();
    }
}

impl Lane {
    fn group(&mut self, bytes_max: usize) -> Vec<Entry> {
        let mut group: Vec<Entry> = self.jobs.pop_front().into_iter().collect();
        let mut bytes = group.first().map_or(0, |first| first.job.bytes());
        let mut lines = group.first().map_or(0, |first| first.job.lines);
        while let (Some(next), Some(first)) = (self.jobs.front(), group.first()) {
            bytes = bytes.saturating_add(next.job.bytes());
            lines = lines.saturating_add(next.job.lines);
            let alike = Arc::ptr_eq(&first.job.compiled, &next.job.compiled)
                && !first.job.whole
                && !next.job.whole;
            if !alike || bytes > bytes_max || lines > LINES_MAX {
                break;
            }
            group.extend(self.jobs.pop_front());
        }
        group
    }
}

/// Text that one parser takes at once, in bytes, see [`Parsing`].
pub(crate) fn group_bytes(parsing: Parsing) -> usize {
    match parsing {
        Parsing::Shared => 2 * CHUNK_BYTES,
        Parsing::OneToOne => 0,
        Parsing::AllToOne => usize::MAX,
    }
}
