// SPDX-License-Identifier: Apache-2.0
//! What the model puts in place of the world: chance from a seed, a clock that is moved, a sink
//! that is away at times.

use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Instant;

use arrowsmith_publish::{BoxFuture, Message, Publish, PublishError, Receipt};

use crate::clock::Clock;

/// Numbers that look random and come from a seed (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
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
