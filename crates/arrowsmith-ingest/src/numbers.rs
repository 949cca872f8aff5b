// SPDX-License-Identifier: Apache-2.0
//! Numbers that grow, also from one run of the service to the next.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// Numbers from the microseconds since 1970 on, one after another.
#[derive(Debug)]
pub(crate) struct Numbers(AtomicU64);

impl Numbers {
    /// Numbers above those of any earlier run, as long as that made fewer than a million a second and
    /// the clock is not put back.
    pub(crate) fn begin() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self(AtomicU64::new(u64::try_from(since.as_micros()).unwrap_or(0)))
    }

    pub(crate) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}
