// SPDX-License-Identifier: Apache-2.0
//! The memory of a whole reading, which the portions that threads decode at once share.
//!
//! Every byte that a portion holds is taken out of one [`Pool`] through its [`Claim`]. Portions are handed
//! out in order, so that only the oldest one has to go on for the reading to go on:
//!
//! - A younger portion that there is no room for is *revoked*: what it asked for is refused, it gives
//!   back all that it holds, and is begun again later. It never waits.
//! - The oldest one waits until the younger ones have given back what it needs. Once it is alone it is given
//!   what it asks for: what one portion may hold is its [`Budget`](crate::Budget)'s to bound.
//!
//! There is no deadlock: only the oldest portion waits, and only for younger ones, which do not wait for
//! memory and so either end what they do or are refused. While it waits they get nothing more, so that what
//! they give back is the oldest one's. And as each portion is the oldest one at some time, each gets done.

use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use arrowsmith_core::Limits;

/// How often who waits asks again for room to be made.
const PRESS_AGAIN: Duration = Duration::from_millis(20);

/// Called by the oldest portion before it waits: whoever owns the younger ones drops one that idles, and
/// revokes those that are being decoded. Says whether there was one that was not revoked before.
type Press = Box<dyn Fn() -> bool + Send + Sync>;

/// What all portions may hold together, and what they do.
pub struct Pool {
    used: AtomicUsize,
    bytes_max: usize,
    /// How many threads of the oldest portion wait.
    waiting: AtomicUsize,
    lock: Mutex<()>,
    freed: Condvar,
    press: OnceLock<Press>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (used, bytes_max) = (self.used(), self.bytes_max);
        f.debug_struct("Pool").field("used", &used).field("bytes_max", &bytes_max).finish()
    }
}

impl Pool {
    /// For a reading: [`Limits::memory_bytes_max`], or what some columns need, whichever is more.
    pub fn of(limits: &Limits) -> Arc<Self> {
        Self::new(limits.memory_bytes_max.max(super::BYTES_AT_LEAST))
    }

    /// For portions that hold so many bytes together.
    pub fn new(bytes_max: usize) -> Arc<Self> {
        Arc::new(Self {
            used: AtomicUsize::new(0),
            bytes_max,
            waiting: AtomicUsize::new(0),
            lock: Mutex::new(()),
            freed: Condvar::new(),
            press: OnceLock::new(),
        })
    }

    /// Says who makes room; it may take any lock that nobody holds who asks for memory.
    pub fn on_press(&self, press: impl Fn() -> bool + Send + Sync + 'static) {
        let _ = self.press.set(Box::new(press));
    }

    /// Bytes that all portions may hold together.
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Bytes that they hold.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::SeqCst)
    }

    /// The claim of a portion, which is not the oldest one.
    pub fn claim(self: &Arc<Self>) -> Arc<Claim> {
        Arc::new(Claim {
            pool: Arc::clone(self),
            used: AtomicUsize::new(0),
            state: AtomicU8::new(YOUNG),
        })
    }

    fn press(&self) -> bool {
        self.press.get().is_some_and(|press| press())
    }
}

/// What one portion holds of a [`Pool`].
#[derive(Debug)]
pub struct Claim {
    pool: Arc<Pool>,
    /// Never less than its part of what the pool counts.
    used: AtomicUsize,
    state: AtomicU8,
}

/// What a claim may be: a young one becomes one of the two others, once.
const YOUNG: u8 = 0;
const OLDEST: u8 = 1;
const REVOKED: u8 = 2;

impl Claim {
    /// The only one of a pool without an end.
    pub fn unbounded() -> Arc<Self> {
        let claim = Pool::new(usize::MAX).claim();
        claim.set_oldest();
        claim
    }

    /// From now on it is the portion that is handed out next, unless it was revoked; says whether it is.
    pub fn set_oldest(&self) -> bool {
        self.becomes(OLDEST)
    }

    /// Nothing more is given: the portion has to be begun again, with another claim. Says whether that is
    /// so: never of the oldest one.
    pub fn revoke(&self) -> bool {
        self.becomes(REVOKED)
    }

    fn becomes(&self, state: u8) -> bool {
        let (before, now) = (Ordering::SeqCst, Ordering::SeqCst);
        let changed = self.state.compare_exchange(YOUNG, state, before, now);
        changed.map_or_else(|found| found == state, |_| true)
    }

    /// Whether it was revoked, by [`Claim::revoke`] or because there was no room.
    pub fn is_revoked(&self) -> bool {
        self.state.load(Ordering::SeqCst) == REVOKED
    }

    /// Bytes that the portion holds.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::SeqCst)
    }

    /// Takes so many bytes; whether there are so many. The oldest portion may have to wait for them.
    pub(super) fn take(&self, bytes: usize) -> bool {
        if self.try_take(bytes) {
            return true;
        }
        if self.revoke() {
            return false;
        }
        let pool = &self.pool;
        pool.waiting.fetch_add(1, Ordering::SeqCst);
        while !self.try_take(bytes) {
            if pool.used() <= self.used() {
                self.force(bytes);
                break;
            }
            if pool.press() {
                continue;
            }
            let guard = pool.lock.lock().unwrap_or_else(PoisonError::into_inner);
            // What was given back before is seen here, and what is after wakes.
            if pool.used() > self.used() && !self.fits(bytes) {
                drop(pool.freed.wait_timeout(guard, PRESS_AGAIN));
            }
        }
        pool.waiting.fetch_sub(1, Ordering::SeqCst);
        true
    }

    fn fits(&self, bytes: usize) -> bool {
        self.pool.used().checked_add(bytes).is_some_and(|after| after <= self.pool.bytes_max)
    }

    fn try_take(&self, bytes: usize) -> bool {
        let (pool, max) = (&self.pool, self.pool.bytes_max);
        let waited_for = pool.waiting.load(Ordering::SeqCst) > 0;
        match self.state.load(Ordering::SeqCst) {
            YOUNG if waited_for => return false,
            REVOKED => return false,
            _ => {}
        }
        self.used.fetch_add(bytes, Ordering::SeqCst);
        let with = |used: usize| used.checked_add(bytes).filter(|after| *after <= max);
        let taken = pool.used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, with).is_ok();
        if !taken {
            self.used.fetch_sub(bytes, Ordering::SeqCst);
        }
        taken
    }

    fn force(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::SeqCst);
        self.pool.used.fetch_add(bytes, Ordering::SeqCst);
    }

    pub(super) fn give_back(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        self.pool.used.fetch_sub(bytes, Ordering::SeqCst);
        self.used.fetch_sub(bytes, Ordering::SeqCst);
        if self.pool.waiting.load(Ordering::SeqCst) > 0 {
            drop(self.pool.lock.lock());
            self.pool.freed.notify_all();
        }
    }

    /// Counts what is decoded and waits to be handed out, which is there already: a younger portion may be
    /// revoked for it, the oldest one is not, and does not wait.
    pub fn hold(self: &Arc<Self>, bytes: usize) -> Held {
        let mut held = Held { claim: Arc::clone(self), bytes: 0 };
        held.set(bytes);
        held
    }
}

/// What waits to be handed out, as a part of a claim. Dropping it gives it back.
#[derive(Debug)]
pub struct Held {
    claim: Arc<Claim>,
    bytes: usize,
}

impl Held {
    /// It is so many bytes now.
    pub fn set(&mut self, bytes: usize) {
        let before = std::mem::replace(&mut self.bytes, bytes);
        let claim = &self.claim;
        if bytes <= before {
            return claim.give_back(before - bytes);
        }
        if claim.try_take(bytes - before) {
            return;
        }
        claim.force(bytes - before);
        if !claim.revoke() {
            claim.pool.press();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.claim.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests;
