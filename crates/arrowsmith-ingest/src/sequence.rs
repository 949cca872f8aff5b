// SPDX-License-Identifier: Apache-2.0
//! Numbers that grow, also from one run of the service to the next.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// Numbers from the microseconds since 1970 on, one after another.
#[derive(Debug)]
pub(crate) struct Sequence(AtomicU64);

impl Sequence {
    /// Numbers above those of any earlier run, as long as that made fewer than a million a second
    /// and the clock is not put back.
    pub(crate) fn begin() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self(AtomicU64::new(u64::try_from(since.as_micros()).unwrap_or(0)))
    }

    /// Numbers from this one on.
    #[cfg(test)]
    pub(crate) fn starting_at(first: u64) -> Self {
        Self(AtomicU64::new(first))
    }

    /// From now on, numbers above this one: a clock may have been put back.
    pub(crate) fn above(&self, known: u64) {
        self.0.fetch_max(known.saturating_add(1), Ordering::Relaxed);
    }

    pub(crate) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}
