// SPDX-License-Identifier: Apache-2.0
//! The memory of a whole reading, which the portions that threads decode at once share.
//!
//! Every byte that a portion holds is taken out of one [`Pool`] through its [`Claim`]. Portions are
//! handed out in order, so progress needs only that the oldest one makes progress:
//!
//! - A younger portion for which there is no memory is *revoked*: its request is refused, it
//!   releases all that it holds, and it is restarted later. It never waits.
//! - The oldest one waits until the younger ones have released what it needs. Once it is alone,
//!   every request is granted: its [`Budget`](crate::Budget) limits what one portion may hold.
//!
//! It is deadlock-free: only the oldest portion waits, and only for younger ones, which do not wait
//! for memory and so either finish or are refused. While it waits they are granted nothing, so what
//! they release goes to the oldest one. Each portion becomes the oldest at some time, so each
//! finishes.

use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use arrowsmith_core::Limits;

/// Interval at which a waiting portion requests memory again.
const PRESS_AGAIN: Duration = Duration::from_millis(20);

/// Called by the oldest portion before it waits: the owner of the younger ones drops an idle one,
/// and revokes those that are being decoded. Returns whether one was newly revoked.
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

    /// For portions that hold at most this many bytes together.
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

    /// Sets what frees memory; it may take any lock that no thread holds while it takes memory.
    pub fn on_press(&self, press: impl Fn() -> bool + Send + Sync + 'static) {
        let _ = self.press.set(Box::new(press));
    }

    /// Bytes that all portions may hold together.
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Bytes that all portions hold.
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
    /// At least its part of what the pool counts.
    used: AtomicUsize,
    state: AtomicU8,
}

/// States of a claim: a young one becomes one of the other two, once.
const YOUNG: u8 = 0;
const OLDEST: u8 = 1;
const REVOKED: u8 = 2;

impl Claim {
    /// The only claim of an unbounded pool.
    pub fn unbounded() -> Arc<Self> {
        let claim = Pool::new(usize::MAX).claim();
        claim.set_oldest();
        claim
    }

    /// Makes it the portion that is handed out next, unless it was revoked; returns whether it is.
    pub fn set_oldest(&self) -> bool {
        self.becomes(OLDEST)
    }

    /// Refuses all further requests: the portion has to be restarted with another claim. Returns
    /// whether it is revoked now, which the oldest one never is.
    pub fn revoke(&self) -> bool {
        self.becomes(REVOKED)
    }

    fn becomes(&self, state: u8) -> bool {
        let (before, now) = (Ordering::SeqCst, Ordering::SeqCst);
        let changed = self.state.compare_exchange(YOUNG, state, before, now);
        changed.map_or_else(|found| found == state, |_| true)
    }

    /// Whether it was revoked, by [`Claim::revoke`] or because there was no memory.
    pub fn is_revoked(&self) -> bool {
        self.state.load(Ordering::SeqCst) == REVOKED
    }

    /// Bytes that the portion holds.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::SeqCst)
    }

    /// Takes this many bytes; returns whether there were enough. The oldest portion may wait for
    /// them.
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
            // What was released before is seen here; a later release wakes this thread.
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

    /// Counts decoded data that waits to be handed out. It exists already: a younger portion may be
    /// revoked for it; the oldest one is not, and does not wait.
    pub fn hold(self: &Arc<Self>, bytes: usize) -> Held {
        let mut held = Held { claim: Arc::clone(self), bytes: 0 };
        held.set(bytes);
        held
    }
}

/// What waits to be handed out, as a part of a claim; returned on drop.
#[derive(Debug)]
pub struct Held {
    claim: Arc<Claim>,
    bytes: usize,
}

impl Held {
    /// Sets its size, in bytes.
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
