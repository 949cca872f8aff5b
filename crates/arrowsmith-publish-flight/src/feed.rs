// SPDX-License-Identifier: Apache-2.0
//! The messages of one stream on their way to its subscribers: a bounded queue that all of them
//! read.
//!
//! Each subscriber has a place in the queue. A message is *taken* by a subscriber when its
//! connection requests the next one, which it does when there is room to send. [`Delivery`] decides
//! what stays in the queue, and when a message counts as published. This module does no I/O and
//! reads no clock.
//!
//! ```text
//!   first                      first + entries.len()
//!     │ taken by all │  taken by some │ by none │
//!     └ makes room   └ subscribers stand here   └ the next message comes here
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arrow_flight::FlightData;
use arrow_schema::SchemaRef;
use arrowsmith_publish::PublishError;
use tokio::sync::{Notify, oneshot};

use crate::options::Delivery;

/// A schema, and its Flight data.
#[derive(Debug)]
pub(crate) struct FeedSchema {
    pub(crate) schema: SchemaRef,
    pub(crate) frame: FlightData,
}

/// Where a subscriber starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// At the oldest message that is held.
    Oldest,
    /// At the next message that comes.
    Now,
    /// After the message of this number.
    After(u64),
}

/// What a subscriber does next.
#[derive(Debug)]
pub(crate) enum Next {
    /// Sends this.
    Message(Vec<FlightData>),
    /// Waits for a change.
    Wait,
    /// Ends without an error: the sink was closed, or the next message has another schema.
    End,
    /// Ends: it has lost this many messages.
    Lost(u64),
    /// Ends: what came after this number is no longer held, or came in an earlier run.
    Gone(u64),
    /// Ends: it was cut off, because it took nothing for too long.
    Stalled,
}

/// Reports whether a message was stored.
pub(crate) type Confirmation = oneshot::Receiver<Result<(), PublishError>>;

struct Entry {
    sequence: u64,
    frames: Vec<FlightData>,
    bytes: usize,
    schema: Arc<FeedSchema>,
    /// Whether a subscriber has taken it.
    taken: bool,
    confirm: Option<oneshot::Sender<Result<(), PublishError>>>,
}

struct Subscriber {
    /// Number of the next entry that it gets; those before it are taken when it requests the next.
    next: u64,
    schema: Arc<FeedSchema>,
    /// When it last requested more.
    asked: Instant,
    /// Whether it waits for a message: it does not stall then.
    waits: bool,
    /// The number that it requested to continue after, until that is checked.
    after: Option<u64>,
}

struct State {
    entries: VecDeque<Entry>,
    /// Number of the first entry, counted from the start of the feed.
    first: u64,
    bytes: usize,
    /// The first message's number that came, and the last one's that is no longer held.
    begun: Option<u64>,
    forgotten: Option<u64>,
    schema: Arc<FeedSchema>,
    subscribers: BTreeMap<u64, Subscriber>,
    subscribers_total: u64,
    closed: bool,
}

/// The queue of a stream.
pub(crate) struct Feed {
    delivery: Delivery,
    bytes_max: usize,
    subscribers_max: usize,
    state: Mutex<State>,
    /// A message came, or the end: subscribers check again.
    pub(crate) arrival: Notify,
    /// A message left: the publisher checks again.
    pub(crate) room: Notify,
}

impl Feed {
    pub(crate) fn new(
        delivery: Delivery,
        bytes_max: usize,
        subscribers_max: usize,
        schema: FeedSchema,
    ) -> Self {
        let state = State {
            entries: VecDeque::new(),
            first: 0,
            bytes: 0,
            begun: None,
            forgotten: None,
            schema: Arc::new(schema),
            subscribers: BTreeMap::new(),
            subscribers_total: 0,
            closed: false,
        };
        let (arrival, room) = (Notify::new(), Notify::new());
        Self { delivery, bytes_max, subscribers_max, state: Mutex::new(state), arrival, room }
    }

    /// No code that holds it panics, and the queue would stay consistent if one did.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The schema of the newest message.
    pub(crate) fn schema(&self) -> Arc<FeedSchema> {
        Arc::clone(&self.state().schema)
    }

    /// Messages after this one have another schema.
    pub(crate) fn set_schema(&self, schema: FeedSchema) {
        self.state().schema = Arc::new(schema);
    }

    /// Takes a message, or returns it while there is no room. A message larger than the whole queue
    /// is taken when the queue is empty.
    pub(crate) fn push(
        &self,
        sequence: u64,
        frames: Vec<FlightData>,
    ) -> Result<Confirmation, Vec<FlightData>> {
        let bytes = frames.iter().map(|f| f.data_header.len() + f.data_body.len()).sum();
        let (confirm, confirmation) = oneshot::channel();
        let mut state = self.state();
        while !state.entries.is_empty() && state.bytes + bytes > self.bytes_max {
            let unconfirmed = state.entries.front().is_some_and(|entry| entry.confirm.is_some());
            let first = state.first;
            let wanted = state.subscribers.values().any(|subscriber| subscriber.next <= first);
            if self.delivery == Delivery::Wait && (unconfirmed || wanted) {
                return Err(frames);
            }
            if let Some(oldest) = state.entries.pop_front() {
                state.bytes -= oldest.bytes;
                state.first += 1;
                state.forgotten = state.forgotten.max(Some(oldest.sequence));
            }
        }
        let confirm = match self.delivery {
            Delivery::Wait => Some(confirm),
            Delivery::Drop => {
                // The receiver may have been dropped; so everywhere below.
                let _ = confirm.send(Ok(()));
                None
            }
        };
        let schema = Arc::clone(&state.schema);
        state.bytes += bytes;
        state.begun.get_or_insert(sequence);
        state.entries.push_back(Entry { sequence, frames, bytes, schema, taken: false, confirm });
        drop(state);
        self.arrival.notify_waiters();
        Ok(confirmation)
    }

    /// A new subscriber, and the schema that its messages will have. `None` when there are too
    /// many.
    pub(crate) fn subscribe(&self, start: Start, now: Instant) -> Option<(u64, Arc<FeedSchema>)> {
        let mut state = self.state();
        if state.subscribers.len() >= self.subscribers_max {
            return None;
        }
        let end = state.first + state.entries.len() as u64;
        let next = match start {
            Start::Oldest => state.first,
            Start::Now => end,
            Start::After(last) => {
                let before = state.entries.iter().take_while(|entry| entry.sequence <= last);
                state.first + before.count() as u64
            }
        };
        let at = usize::try_from(next - state.first).ok();
        let entry = at.and_then(|at| state.entries.get(at));
        let schema = Arc::clone(entry.map_or(&state.schema, |entry| &entry.schema));
        state.subscribers_total += 1;
        let id = state.subscribers_total;
        let after = match start {
            Start::After(last) => Some(last),
            Start::Oldest | Start::Now => None,
        };
        let schema_of = Arc::clone(&schema);
        let subscriber = Subscriber { next, schema: schema_of, asked: now, waits: false, after };
        state.subscribers.insert(id, subscriber);
        Some((id, schema))
    }

    /// What a subscriber does next. By calling this it acknowledges what it got before.
    pub(crate) fn next(&self, id: u64, now: Instant) -> Next {
        let mut guard = self.state();
        let state = &mut *guard;
        let (first, closed) = (state.first, state.closed);
        let Some(subscriber) = state.subscribers.get_mut(&id) else {
            return if closed { Next::End } else { Next::Stalled };
        };
        subscriber.asked = now;
        subscriber.waits = false;
        // Without any message yet, the first one will tell.
        if let Some(begun) = state.begun
            && let Some(last) = subscriber.after.take()
            && (state.forgotten.is_some_and(|gone| gone > last) || begun > last.saturating_add(1))
        {
            state.subscribers.remove(&id);
            self.confirm(guard);
            return Next::Gone(last);
        }
        let place = subscriber.next;
        let Some(index) = place.checked_sub(first) else {
            state.subscribers.remove(&id);
            return Next::Lost(first - place);
        };
        let next = match usize::try_from(index).ok().and_then(|at| state.entries.get(at)) {
            Some(entry) if Arc::ptr_eq(&entry.schema, &subscriber.schema) => {
                subscriber.next += 1;
                Next::Message(entry.frames.clone())
            }
            Some(_) => Next::End,
            None if closed || !Arc::ptr_eq(&state.schema, &subscriber.schema) => Next::End,
            None => {
                subscriber.waits = true;
                Next::Wait
            }
        };
        // The one before is taken now.
        if let Some(before) = index.checked_sub(1).and_then(|at| usize::try_from(at).ok())
            && let Some(entry) = state.entries.get_mut(before)
        {
            entry.taken = true;
        }
        if let Next::End = next {
            state.subscribers.remove(&id);
        }
        self.confirm(guard);
        next
    }

    /// A subscriber is gone.
    pub(crate) fn unsubscribe(&self, id: u64) {
        let mut state = self.state();
        state.subscribers.remove(&id);
        self.confirm(state);
    }

    /// Disconnects subscribers that have not requested data for this long, though there is some for
    /// them. Returns their number.
    pub(crate) fn cut_stalled(&self, now: Instant, timeout: Duration) -> usize {
        let mut state = self.state();
        let end = state.first + state.entries.len() as u64;
        let before = state.subscribers.len();
        state.subscribers.retain(|_, subscriber| {
            let behind = subscriber.next < end || !subscriber.waits;
            !behind || now.duration_since(subscriber.asked) < timeout
        });
        let cut = before - state.subscribers.len();
        self.confirm(state);
        cut
    }

    /// Confirms, from the front, what all subscribers have taken and at least one.
    fn confirm(&self, mut guard: MutexGuard<'_, State>) {
        if self.delivery == Delivery::Drop {
            return;
        }
        let state = &mut *guard;
        // Every subscriber has all entries before the minimum place; the last of them may still be
        // on its way, which `waits` or a later place excludes.
        let taken = state
            .subscribers
            .values()
            .map(|s| if s.waits { s.next } else { s.next.saturating_sub(1) });
        let taken = taken.min().unwrap_or(u64::MAX);
        for (_, entry) in (state.first..taken).zip(&mut state.entries) {
            if !entry.taken {
                break;
            }
            if let Some(confirm) = entry.confirm.take() {
                let _ = confirm.send(Ok(()));
            }
        }
        drop(guard);
        self.room.notify_waiters();
    }

    /// No more messages: subscribers end when they have taken what there is.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.arrival.notify_waiters();
    }

    /// Fails the receipts of messages that no subscriber took.
    pub(crate) fn give_up(&self) {
        let mut state = self.state();
        for entry in &mut state.entries {
            if let Some(confirm) = entry.confirm.take() {
                let _ = confirm.send(Err(PublishError::retry("flight: no subscriber took it")));
            }
        }
        state.entries.clear();
        state.bytes = 0;
        state.subscribers.clear();
        drop(state);
        self.arrival.notify_waiters();
        self.room.notify_waiters();
    }

    /// Whether every message is confirmed.
    pub(crate) fn is_idle(&self) -> bool {
        self.state().entries.iter().all(|entry| entry.confirm.is_none())
    }

    /// Subscribers now.
    pub(crate) fn subscribers(&self) -> usize {
        self.state().subscribers.len()
    }
}

#[cfg(test)]
pub(crate) mod tests;
