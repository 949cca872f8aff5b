// SPDX-License-Identifier: Apache-2.0
//! What the model puts in place of the world: chance from a seed, a clock that is moved, a sink
//! that is away at times.

use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Instant;

use arrowsmith_publish::{BoxFuture, Message, Publish, PublishError, Receipt};
use arrowsmith_workload::SplitMix64;

use crate::clock::Clock;

/// Numbers that look random and come from a seed.
#[derive(Debug, Clone)]
pub(crate) struct Chance(SplitMix64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
    }

    pub(super) fn one_of(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// A clock that only a test moves.
#[derive(Debug, Clone)]
pub(super) struct SimulatedClock(pub(super) Arc<Mutex<Instant>>);

impl Clock for SimulatedClock {
    fn now(&self) -> Instant {
        *self.0.lock().unwrap()
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        // Whoever waits is polled again and again: a time that has come is found then.
        let clock = self.clone();
        Box::pin(std::future::poll_fn(move |_| {
            if at <= clock.now() { Poll::Ready(()) } else { Poll::Pending }
        }))
    }
}

/// A directory that is away at times.
pub(super) struct Flaky {
    pub(super) inner: Box<dyn Publish>,
    pub(super) chance: Chance,
    /// One call of this many fails; 0 for none.
    pub(super) away: u64,
}

impl Publish for Flaky {
    fn publish<'a>(
        &'a mut self,
        message: &'a Message,
    ) -> BoxFuture<'a, Result<Receipt, PublishError>> {
        if self.away > 0 && self.chance.one_of(self.away) {
            return Box::pin(std::future::ready(Err(PublishError::retry("away"))));
        }
        self.inner.publish(message)
    }

    fn flush(&mut self) -> BoxFuture<'_, Result<(), PublishError>> {
        if self.away > 0 && self.chance.one_of(self.away) {
            return Box::pin(std::future::ready(Err(PublishError::retry("away"))));
        }
        self.inner.flush()
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), PublishError>> {
        self.inner.close()
    }

    fn stored(&self) -> Option<u64> {
        self.inner.stored()
    }

    fn needs_payload(&self) -> bool {
        false
    }

    fn in_flight_max(&self) -> usize {
        self.inner.in_flight_max()
    }
}
