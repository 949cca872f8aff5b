// SPDX-License-Identifier: Apache-2.0
//! The async interface: a thread reads, a short queue holds batches, a waker tells the task.
//!
//! No runtime is needed or known. The thread blocks while the queue is full, so that a slow task
//! holds up the reading and memory stays bounded.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrowsmith_core::Result;
use futures_core::Stream;

/// Batches that may wait for the task.
const BATCHES_MAX: usize = 2;

/// The batches of a reader as a [`Stream`]. Dropping it stops the reading.
pub struct BatchStream {
    schema: SchemaRef,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    room: Condvar,
}

#[derive(Default)]
struct State {
    batches: VecDeque<Result<RecordBatch>>,
    waker: Option<Waker>,
    /// The thread has ended, however it did.
    ended: bool,
    /// Whether the receiver was dropped.
    closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BatchStream {
    pub(crate) fn new(
        schema: SchemaRef,
        batches: impl Iterator<Item = Result<RecordBatch>> + Send + 'static,
    ) -> Result<Self> {
        let shared = Arc::<Shared>::default();
        let ending = Ending(Arc::clone(&shared));
        thread::Builder::new()
            .name("arrowsmith-stream".to_owned())
            .spawn(move || pump(batches, &ending.0))?;
        Ok(Self { schema, shared })
    }

    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

/// Moves batches from the reader to the queue.
fn pump(batches: impl Iterator<Item = Result<RecordBatch>>, shared: &Shared) {
    for batch in batches {
        let mut state = shared.lock();
        while state.batches.len() >= BATCHES_MAX && !state.closed {
            state = shared.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            return;
        }
        state.batches.push_back(batch);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Says that the thread has ended when it is dropped.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if thread::panicking() {
            // A callback of the user's; without this the stream would seem complete.
            let error = io::Error::other("the reading thread panicked");
            state.batches.push_back(Err(error.into()));
        }
        state.ended = true;
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Stream for BatchStream {
    type Item = Result<RecordBatch>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut state = self.shared.lock();
        if let Some(batch) = state.batches.pop_front() {
            drop(state);
            self.shared.room.notify_one();
            return Poll::Ready(Some(batch));
        }
        if state.ended {
            return Poll::Ready(None);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for BatchStream {
    /// Does not wait for the thread, since it may be in a read and this may be an executor's
    /// thread.
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.room.notify_one();
    }
}
