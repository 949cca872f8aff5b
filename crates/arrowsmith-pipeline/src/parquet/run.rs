// SPDX-License-Identifier: Apache-2.0
//! Threads that run the schedule's jobs, and the consumer that takes the batches.
//!
//! There is one lock, held for moments only. With one thread the consumer does the work itself.
//! Files may have thousands of columns, each of a few microseconds of work: who waits is woken only
//! by what it waits for.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrowsmith_core::{Error, Result};
use arrowsmith_parquet::File;

use super::Explanation;
use super::field::bytes_held;
use super::in_flight::{Pieces, Ready};
use super::portion::batch;
use super::schedule::{Done, Job, Schedule};
use crate::Progress;
use crate::work::guarded;

/// Interval at which a waiting consumer checks for cancellation.
const CANCEL_POLL: Duration = Duration::from_millis(20);

struct State {
    schedule: Schedule,
    stop: bool,
    alive: usize,
    /// Threads that wait for a job.
    idle: usize,
}

struct Shared {
    state: Mutex<State>,
    /// There may be a job.
    jobs: Condvar,
    /// The consumer may go on.
    taken: Condvar,
    /// Stored bytes that were decoded.
    bytes: Arc<AtomicU64>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes threads that wait for a job, if there are any.
    fn wake(&self, state: &State) {
        if state.idle > 0 {
            self.jobs.notify_all();
        }
    }

    /// Ends the threads.
    fn stop(&self) {
        self.lock().stop = true;
        self.jobs.notify_all();
    }
}

/// The batches of a Parquet pipeline, in the order of the files. An error is the last item, after
/// the rows before it. Dropping it stops the threads.
pub struct ParquetBatches {
    schema: SchemaRef,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    progress: Arc<Progress>,
    explanation: Explanation,
    file: File,
    rows_left: u64,
    cancel: Arc<AtomicBool>,
    done: bool,
}

/// The parts of [`ParquetBatches`].
pub(crate) struct Parts {
    pub(crate) schema: SchemaRef,
    pub(crate) schedule: Schedule,
    pub(crate) threads: usize,
    pub(crate) bytes_total: Option<u64>,
    pub(crate) explanation: Explanation,
    pub(crate) file: File,
    pub(crate) limit: Option<u64>,
    pub(crate) cancel: Arc<AtomicBool>,
}

impl ParquetBatches {
    pub(crate) fn start(parts: Parts) -> Result<Self> {
        let bytes = Arc::<AtomicU64>::default();
        let state = State { schedule: parts.schedule, stop: false, alive: 0, idle: 0 };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            jobs: Condvar::new(),
            taken: Condvar::new(),
            bytes: Arc::clone(&bytes),
        });
        let weak = Arc::downgrade(&shared);
        let pool = Arc::clone(shared.lock().schedule.pool());
        pool.on_press(move || {
            let Some(shared) = weak.upgrade() else { return false };
            let mut state = shared.lock();
            let pressed = state.schedule.press();
            shared.wake(&state);
            pressed
        });
        let progress = Progress { bytes, bytes_total: parts.bytes_total, ..Progress::default() };
        let mut batches = Self {
            schema: parts.schema,
            shared,
            threads: Vec::new(),
            progress: Arc::new(progress),
            explanation: parts.explanation,
            file: parts.file,
            rows_left: parts.limit.unwrap_or(u64::MAX),
            cancel: parts.cancel,
            done: parts.limit == Some(0),
        };
        if parts.threads > 1 && !batches.done {
            for number in 0..parts.threads {
                let alive = Alive::new(&batches.shared);
                let thread = thread::Builder::new()
                    .name(format!("arrowsmith-parquet-{number}"))
                    .spawn(move || work(&alive.0))?;
                batches.threads.push(thread);
            }
        }
        Ok(batches)
    }

    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The progress of the pipeline; bytes are those of the decoded column chunks.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Which engine decodes what.
    pub fn explanation(&self) -> &Explanation {
        &self.explanation
    }

    /// The first file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Maximum bytes of batches that were in flight.
    #[cfg(test)]
    pub(crate) fn bytes_peak(&self) -> usize {
        self.shared.lock().schedule.bytes_peak()
    }

    fn pieces(&mut self) -> Result<Option<Pieces>> {
        let mut state = self.shared.lock();
        loop {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            let before = state.schedule.moves();
            let taken = state.schedule.take();
            if taken.is_none() && state.schedule.moves() != before {
                // A portion without rows has freed memory, even if there is no batch.
                self.shared.wake(&state);
            }
            if let Some(pieces) = taken {
                self.shared.wake(&state);
                return pieces.map(Some);
            }
            if state.schedule.ended() {
                return Ok(None);
            }
            if self.threads.is_empty() {
                let Some(job) = state.schedule.job() else {
                    return Err(io::Error::other("the reader waits for itself").into());
                };
                drop(state);
                let done = run(job, &self.shared.bytes);
                state = self.shared.lock();
                state.schedule.done(done);
                continue;
            }
            if state.alive == 0 {
                return Err(io::Error::other("the decoder threads are gone").into());
            }
            state = match self.shared.taken.wait_timeout(state, CANCEL_POLL) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some(pieces) = self.pieces()? else { return Ok(None) };
        let mut batch = batch(&self.schema, pieces.columns, pieces.rows)?;
        let rows = batch.num_rows() as u64;
        if rows > self.rows_left {
            batch = batch.slice(0, usize::try_from(self.rows_left).unwrap_or(usize::MAX));
        }
        let rows = batch.num_rows() as u64;
        self.rows_left -= rows;
        self.done = self.rows_left == 0;
        self.progress.rows.fetch_add(rows, Ordering::Relaxed);
        Ok(Some(batch))
    }
}

impl Iterator for ParquetBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.next_batch().transpose();
        self.done |= !matches!(next, Some(Ok(_)));
        if self.done {
            // The threads have to stop.
            self.shared.stop();
        }
        next
    }
}

impl std::iter::FusedIterator for ParquetBatches {}

impl Drop for ParquetBatches {
    fn drop(&mut self) {
        self.shared.stop();
        for thread in self.threads.drain(..) {
            // Panics became errors before.
            let _ = thread.join();
        }
    }
}

/// Counts a thread as alive until it is dropped, however the thread ends.
struct Alive(Arc<Shared>);

impl Alive {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.lock().alive += 1;
        Self(Arc::clone(shared))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.lock().alive -= 1;
        self.0.taken.notify_all();
    }
}

/// Runs jobs until there are none left.
fn work(shared: &Shared) {
    let mut state = shared.lock();
    while !state.stop && !state.schedule.ended() {
        let Some(job) = state.schedule.job() else {
            state.idle += 1;
            state = shared.jobs.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
            continue;
        };
        drop(state);
        let done = run(job, &shared.bytes);
        state = shared.lock();
        state.schedule.done(done);
        shared.wake(&state);
        if state.schedule.can_take() {
            shared.taken.notify_one();
        }
    }
    // The others see the end, too.
    shared.jobs.notify_all();
    shared.taken.notify_all();
}

/// Does one job; a panic becomes an error.
fn run(job: Job, bytes_read: &AtomicU64) -> Done {
    match job {
        Job::Advance(mut cursor) => {
            let next = guarded(|| cursor.next());
            Done::Advanced(cursor, next)
        }
        Job::Start(turn, portion) => {
            let started = guarded(|| portion.start(&turn.claim));
            Done::Started(turn, started)
        }
        Job::Decode { portion, field, rows, bytes_max, mut task } => {
            let array = guarded(|| task.next(rows, bytes_max));
            bytes_read.fetch_add(std::mem::take(&mut task.bytes_stored), Ordering::Relaxed);
            let array = array.map(|(array, rows)| {
                let bytes = bytes_held(&array);
                Ready { array, rows, bytes, held: portion.claim.hold(bytes) }
            });
            Done::Decoded { portion, field, task, array }
        }
    }
}
