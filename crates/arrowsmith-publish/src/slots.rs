// SPDX-License-Identifier: Apache-2.0
//! [`Slots`]: limits the number of open connections, so that silent ones cannot lock others out.
//!
//! A connection that has not authenticated yet has one of the unauthenticated slots. When these are
//! taken, the oldest connection in them is evicted for the newest: so a client that authenticates
//! at once gets in, however many silent sockets are open. Admitted connections are never evicted.
//! This only keeps count; the connections belong to the service and its publishers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Minimum number of unauthenticated slots: a burst of clients is not an attack.
const UNAUTHENTICATED_MIN: usize = 64;

/// Slots for connections.
#[derive(Debug)]
pub struct Slots {
    state: Mutex<State>,
    unauthenticated_max: usize,
    admitted_max: usize,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// By number: the first is the oldest.
    unauthenticated: BTreeMap<u64, Option<Waker>>,
    admitted: usize,
}

/// The slot of a connection, until it is dropped.
#[derive(Debug)]
pub struct Slot {
    slots: Arc<Slots>,
    number: u64,
    is_admitted: Mutex<bool>,
}

impl Slots {
    /// This many slots for admitted connections, and as many for unauthenticated ones, but at least
    /// 64 of these.
    #[must_use]
    pub fn new(connections_max: usize) -> Arc<Self> {
        Self::with_unauthenticated(connections_max, connections_max)
    }

    /// Slots for this many admitted and this many unauthenticated connections, but at least 64 of
    /// these.
    #[must_use]
    pub fn with_unauthenticated(admitted_max: usize, unauthenticated_max: usize) -> Arc<Self> {
        let unauthenticated_max = unauthenticated_max.max(UNAUTHENTICATED_MIN);
        Arc::new(Self { state: Mutex::default(), unauthenticated_max, admitted_max })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A slot for a new, unauthenticated connection. The oldest one is evicted if there are too
    /// many.
    #[must_use]
    pub fn enter(self: &Arc<Self>) -> Slot {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.unauthenticated.insert(number, None);
        let evicted = if state.unauthenticated.len() > self.unauthenticated_max {
            state.unauthenticated.pop_first()
        } else {
            None
        };
        drop(state);
        if let Some((_, Some(waker))) = evicted {
            waker.wake();
        }
        Slot { slots: Arc::clone(self), number, is_admitted: Mutex::new(false) }
    }

    /// Evicts the oldest unauthenticated connection, when the system cannot open another one.
    pub fn evict_oldest(&self) {
        let evicted = self.lock().unauthenticated.pop_first();
        if let Some((_, Some(waker))) = evicted {
            waker.wake();
        }
    }

    /// Numbers of admitted and of unauthenticated connections.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        (state.admitted, state.unauthenticated.len())
    }
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_admitted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits the connection. `false` if there is no slot for it, or it has been evicted.
    #[must_use]
    pub fn admit(&self) -> bool {
        let mut is_admitted = self.lock();
        if *is_admitted {
            return true;
        }
        let mut state = self.slots.lock();
        if state.admitted >= self.slots.admitted_max
            || state.unauthenticated.remove(&self.number).is_none()
        {
            return false;
        }
        state.admitted += 1;
        *is_admitted = true;
        true
    }

    /// Whether the connection is admitted.
    #[must_use]
    pub fn is_admitted(&self) -> bool {
        *self.lock()
    }

    /// Ready when the connection is evicted.
    pub fn poll_evicted(&self, context: &mut Context<'_>) -> Poll<()> {
        let is_admitted = self.lock();
        if *is_admitted {
            return Poll::Pending;
        }
        match self.slots.lock().unauthenticated.get_mut(&self.number) {
            None => Poll::Ready(()),
            Some(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Ends when the connection is evicted: never, once it is admitted.
    pub async fn evicted(&self) {
        std::future::poll_fn(|context| self.poll_evicted(context)).await;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let is_admitted = *self.lock();
        let mut state = self.slots.lock();
        if is_admitted {
            state.admitted -= 1;
        } else {
            state.unauthenticated.remove(&self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_evicted(slot: &Slot) -> bool {
        slot.poll_evicted(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn the_oldest_unauthenticated_connection_is_evicted_and_admitted_ones_stay() {
        let slots = Slots::new(3);
        let admitted = slots.enter();
        assert!(admitted.admit() && admitted.admit());
        let mut silent: Vec<Slot> = (0..UNAUTHENTICATED_MIN).map(|_| slots.enter()).collect();
        assert_eq!(slots.counts(), (1, UNAUTHENTICATED_MIN));
        assert!(!silent.iter().any(is_evicted));
        let newest = slots.enter();
        assert!(is_evicted(&silent[0]) && !silent[1..].iter().any(is_evicted));
        assert!(!silent[0].admit(), "it has been evicted");
        assert!(newest.admit() && !is_evicted(&admitted));
        let last = silent.pop().unwrap();
        assert!(last.admit());
        let none = slots.enter();
        assert!(!none.admit(), "three are admitted");
        drop(admitted);
        assert!(none.admit());
        assert!(!is_evicted(&silent[1]));
        slots.evict_oldest();
        assert!(is_evicted(&silent[1]) && !is_evicted(&silent[2]) && !is_evicted(&none));
        drop((silent, newest, last, none));
        assert_eq!(slots.counts(), (0, 0));
    }
}
