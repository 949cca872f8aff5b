// SPDX-License-Identifier: Apache-2.0
//! The time that sinks and the order of a stream wait by: the system's, and in tests one that a
//! test sets.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrowsmith_publish::BoxFuture;

/// A clock that several hold.
pub(crate) type SharedClock = Arc<dyn Clock>;

/// The time, and waiting for it.
pub(crate) trait Clock: fmt::Debug + Send + Sync {
    fn now(&self) -> Instant;
    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()>;
}

/// Waits for a while.
pub(crate) async fn sleep(clock: &dyn Clock, time: Duration) {
    clock.sleep_until(clock.now() + time).await;
}

/// The clock of the system; it waits on a Tokio runtime.
#[derive(Debug)]
pub(crate) struct System;

/// The clock of the system, to be held.
pub(crate) fn system() -> SharedClock {
    Arc::new(System)
}

impl Clock for System {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep_until(tokio::time::Instant::from_std(at)))
    }
}
