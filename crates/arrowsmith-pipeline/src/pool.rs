// SPDX-License-Identifier: Apache-2.0
//! Decoder threads: each takes the next piece, decodes it, and stores the output under its number;
//! the consumer takes outputs in order.
//!
//! There is one lock, held for moments only. The cutter is passed from thread to thread, so that
//! reading and framing run concurrently with decoding without a thread of their own. Memory is
//! bounded by admission: no piece is split off while the bytes in flight, and those expected of the
//! next piece, exceed the budget; so a consumer that does not read stops all threads. A piece that
//! becomes much larger than expected is stored in parts, with the same limit; only the piece that
//! is next in order may always continue, and only then is a record decoded that takes more than a
//! batch by itself: one at a time.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use arrowsmith_core::{Error, Result};

use crate::cut::{Buffers, Cutter, Piece};
use crate::in_flight::{Budget, Load};
use crate::work::{Output, Worker, guarded};

/// How often a waiting consumer looks whether it was cancelled.
const CANCEL_POLL: Duration = Duration::from_millis(20);

struct State {
    /// `None` while a thread uses it.
    cutter: Option<Cutter>,
    /// Outputs with their bytes, by number: the parts of each that are complete.
    ready: BTreeMap<u64, VecDeque<(Output, usize)>>,
    /// Numbers of the next piece to be split off, and of the next to be consumed.
    next_cut: u64,
    next_out: u64,
    /// No output has this number or a higher one.
    end: Option<u64>,
    load: Load,
    stop: bool,
    alive: usize,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    budget: Budget,
    buffers: Buffers,
    waits: Arc<AtomicBool>,
}

impl State {
    fn lay_down(&mut self, number: u64, output: Output, bytes: usize) {
        self.ready.entry(number).or_default().push_back((output, bytes));
    }

    /// The next output in order, if it is complete.
    fn take_up(&mut self) -> Option<Output> {
        let parts = self.ready.get_mut(&self.next_out)?;
        let (output, bytes) = parts.pop_front()?;
        let last = output.next.is_none();
        if last {
            self.ready.remove(&self.next_out);
            self.next_out += 1;
        }
        self.load.finish(bytes, last);
        Some(output)
    }

    /// Whether the output of piece `number` is no longer needed.
    fn is_over(&self, number: u64) -> bool {
        self.stop || self.end.is_some_and(|end| end <= number)
    }

    /// Whether the consumer waits for piece `number`.
    fn is_waited_for(&self, number: u64) -> bool {
        number == self.next_out && self.ready.get(&number).is_none_or(VecDeque::is_empty)
    }

    /// Whether one more part of piece `number`, of about this many bytes, may be decoded now.
    fn may_go_on(&self, number: u64, budget: Budget, bytes: usize) -> bool {
        self.is_waited_for(number) || self.load.has_room(budget, bytes)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, limit: Duration) -> MutexGuard<'a, State> {
        match self.changed.wait_timeout(state, limit) {
            Ok((state, _)) => state,
            Err(poisoned) => poisoned.into_inner().0,
        }
    }
}

/// Running decoder threads. Dropping it stops them and waits for them, except for one that blocks
/// in a read.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    cancel: Arc<AtomicBool>,
}

impl Pool {
    /// Starts a thread for each worker.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(
        workers: Vec<Worker>,
        cutter: Cutter,
        budget: Budget,
        buffers: Buffers,
        cancel: Arc<AtomicBool>,
    ) -> Result<Self> {
        let waits = cutter.waits();
        let state = State {
            cutter: Some(cutter),
            ready: BTreeMap::new(),
            next_cut: 0,
            next_out: 0,
            end: None,
            load: Load::default(),
            stop: false,
            alive: 0,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            budget,
            buffers,
            waits,
        });
        let mut pool = Self { shared, threads: Vec::new(), cancel };
        for (number, worker) in workers.into_iter().enumerate() {
            let alive = Alive::new(&pool.shared);
            let thread = thread::Builder::new()
                .name(format!("arrowsmith-decode-{number}"))
                .spawn(move || decode_all(&alive.0, worker))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// The next output in order; `None` at the end.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub(crate) fn next(&mut self) -> Result<Option<Output>> {
        let mut state = self.shared.lock();
        loop {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            let number = state.next_out;
            if let Some(output) = state.take_up() {
                drop(state);
                self.shared.changed.notify_all();
                return Ok(Some(output));
            }
            if state.end.is_some_and(|end| end <= number) {
                return Ok(None);
            }
            if state.alive == 0 {
                return Err(io::Error::other("the decoder threads are gone").into());
            }
            state = self.shared.wait(state, CANCEL_POLL);
        }
    }

    /// Largest number of bytes that was ever in flight.
    #[cfg(test)]
    pub(crate) fn bytes_peak(&self) -> usize {
        self.shared.lock().load.bytes_peak()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.stop = true;
        self.shared.changed.notify_all();
        // A thread that waits for a pipe cannot be woken; it ends by itself when the read returns.
        while state.alive > usize::from(self.shared.waits.load(Ordering::SeqCst)) {
            state = self.shared.wait(state, CANCEL_POLL);
        }
        let all_ended = state.alive == 0;
        drop(state);
        for thread in self.threads.drain(..) {
            if all_ended || thread.is_finished() {
                // Panics were made errors before.
                let _ = thread.join();
            }
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
        self.0.changed.notify_all();
    }
}

/// What a decoder thread does until there is nothing more to cut.
fn decode_all(shared: &Shared, mut worker: Worker) {
    while let Some((mut cutter, target)) = take_cutter(shared) {
        let cut = guarded(|| cutter.next(target));
        let first = cutter.at_start();
        let mut state = shared.lock();
        state.cutter = Some(cutter);
        let number = state.next_cut;
        let piece = match cut {
            Ok(Some(piece)) => piece,
            Ok(None) => {
                state.end.get_or_insert(number);
                drop(state);
                shared.changed.notify_all();
                return;
            }
            Err(error) => {
                state.next_cut += 1;
                state.load.begin(0);
                state.lay_down(number, Output { first, ..Output::failed(error) }, 0);
                state.end.get_or_insert(number + 1);
                drop(state);
                shared.changed.notify_all();
                return;
            }
        };
        state.next_cut += 1;
        let text_bytes = piece.len;
        let expected = state.load.grown(text_bytes.max(piece.owned_bytes()));
        state.load.begin(expected);
        drop(state);
        shared.changed.notify_all();

        decode_parts(shared, &mut worker, &piece, number, expected);
        shared.buffers.recycle(piece);
    }
}

/// Decodes piece `number`, for which `expected` bytes are set aside, and lays down what comes of
/// it.
fn decode_parts(
    shared: &Shared,
    worker: &mut Worker,
    piece: &Piece,
    number: u64,
    mut expected: usize,
) {
    let mut from = Some(0);
    while let Some(start) = from {
        let mut output = worker.run(piece, start);
        if output.oversize {
            let mut state = shared.lock();
            while !state.is_over(number) && !state.is_waited_for(number) {
                state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.is_over(number) {
                return;
            }
            drop(state);
            output = worker.run_oversize(piece, start);
        }
        from = output.next;
        let bytes = output.bytes();
        let mut state = shared.lock();
        state.load.learn(from.unwrap_or(piece.len) - start, bytes, from.is_some());
        state.load.correct(std::mem::take(&mut expected), bytes);
        if output.error.is_some() {
            state.end = Some(state.end.map_or(number + 1, |end| end.min(number + 1)));
        }
        state.lay_down(number, output, bytes);
        shared.changed.notify_all();
        while from.is_some()
            && !state.is_over(number)
            && !state.may_go_on(number, shared.budget, bytes)
        {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_over(number) {
            return;
        }
    }
}

/// Waits for the cutter and for room; `None` when there is nothing more to do.
fn take_cutter(shared: &Shared) -> Option<(Cutter, usize)> {
    let mut state = shared.lock();
    loop {
        if state.stop || state.end.is_some() {
            return None;
        }
        if state.cutter.is_some()
            && let Some(target) = state.load.admit(shared.budget)
            && let Some(cutter) = state.cutter.take()
        {
            return Some((cutter, target));
        }
        state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}
