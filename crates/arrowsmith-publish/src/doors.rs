// SPDX-License-Identifier: Apache-2.0
//! [`Doors`]: how many connections may be open, and that nobody can keep others out by saying nothing.
//!
//! Who has not shown yet that it may be here is a stranger. Strangers have places of their own, and
//! when these are taken the oldest has to go for the newest: so one that says what it wants at once
//! gets in, however many sockets stand there silent. Those that are known are never sent away. It
//! decides only; the connections are those of the service and of its sinks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Places for strangers, at least: a burst of clients is no attack.
const STRANGERS_MIN: usize = 64;

/// Places for connections.
#[derive(Debug)]
pub struct Doors {
    inside: Mutex<Inside>,
    strangers_max: usize,
    known_max: usize,
}

#[derive(Debug, Default)]
struct Inside {
    next: u64,
    /// By their numbers: the first is the oldest.
    strangers: BTreeMap<u64, Option<Waker>>,
    known: usize,
}

/// A connection that has a place, until it is dropped.
#[derive(Debug)]
pub struct Visitor {
    doors: Arc<Doors>,
    number: u64,
    known: Mutex<bool>,
}

impl Doors {
    /// Places for so many that are known, and as many strangers, though not fewer than some.
    #[must_use]
    pub fn new(connections_max: usize) -> Arc<Self> {
        Self::with_strangers(connections_max, connections_max)
    }

    /// Places for so many that are known, and for so many strangers, though not fewer than some.
    #[must_use]
    pub fn with_strangers(known_max: usize, strangers_max: usize) -> Arc<Self> {
        let strangers_max = strangers_max.max(STRANGERS_MIN);
        Arc::new(Self { inside: Mutex::default(), strangers_max, known_max })
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a stranger in. The oldest one has to go when there are too many.
    #[must_use]
    pub fn enter(self: &Arc<Self>) -> Visitor {
        let mut inside = self.lock();
        let number = inside.next;
        inside.next += 1;
        inside.strangers.insert(number, None);
        let gone = if inside.strangers.len() > self.strangers_max {
            inside.strangers.pop_first()
        } else {
            None
        };
        drop(inside);
        if let Some((_, Some(waker))) = gone {
            waker.wake();
        }
        Visitor { doors: Arc::clone(self), number, known: Mutex::new(false) }
    }

    /// Sends the oldest stranger away, where the system has no place for another connection.
    pub fn make_room(&self) {
        let gone = self.lock().strangers.pop_first();
        if let Some((_, Some(waker))) = gone {
            waker.wake();
        }
    }

    /// How many are there that are known, and how many strangers.
    #[must_use]
    pub fn inside(&self) -> (usize, usize) {
        let inside = self.lock();
        (inside.known, inside.strangers.len())
    }
}

impl Visitor {
    fn known(&self) -> MutexGuard<'_, bool> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes it known. `false` when there is no place, or it has been sent away.
    #[must_use]
    pub fn admit(&self) -> bool {
        let mut known = self.known();
        if *known {
            return true;
        }
        let mut inside = self.doors.lock();
        if inside.known >= self.doors.known_max || inside.strangers.remove(&self.number).is_none() {
            return false;
        }
        inside.known += 1;
        *known = true;
        true
    }

    /// Whether it is known.
    #[must_use]
    pub fn is_known(&self) -> bool {
        *self.known()
    }

    /// Ready when it has to go for another.
    pub fn poll_sent_away(&self, context: &mut Context<'_>) -> Poll<()> {
        let known = self.known();
        if *known {
            return Poll::Pending;
        }
        match self.doors.lock().strangers.get_mut(&self.number) {
            None => Poll::Ready(()),
            Some(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Ends when it has to go for another: never, once it is known.
    pub async fn sent_away(&self) {
        std::future::poll_fn(|context| self.poll_sent_away(context)).await;
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        let known = *self.known();
        let mut inside = self.doors.lock();
        if known {
            inside.known -= 1;
        } else {
            inside.strangers.remove(&self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_sent_away(visitor: &Visitor) -> bool {
        visitor.poll_sent_away(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn the_oldest_stranger_goes_for_the_newest_and_who_is_known_stays() {
        let doors = Doors::new(3);
        let known = doors.enter();
        assert!(known.admit() && known.admit());
        let mut silent: Vec<Visitor> = (0..STRANGERS_MIN).map(|_| doors.enter()).collect();
        assert_eq!(doors.inside(), (1, STRANGERS_MIN));
        assert!(!silent.iter().any(is_sent_away));
        let newest = doors.enter();
        assert!(is_sent_away(&silent[0]) && !silent[1..].iter().any(is_sent_away));
        assert!(!silent[0].admit(), "it has been sent away");
        assert!(newest.admit() && !is_sent_away(&known));
        let last = silent.pop().unwrap();
        assert!(last.admit());
        let none = doors.enter();
        assert!(!none.admit(), "three are known");
        drop(known);
        assert!(none.admit());
        assert!(!is_sent_away(&silent[1]));
        doors.make_room();
        assert!(is_sent_away(&silent[1]) && !is_sent_away(&silent[2]) && !is_sent_away(&none));
        drop((silent, newest, last, none));
        assert_eq!(doors.inside(), (0, 0));
    }
}
