// SPDX-License-Identifier: Apache-2.0
//! [`CommitLock`]: a commit of several files that another thread may stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Held during a commit of several files; clones share it. Who stops the commit waits until it has
/// been undone.
#[derive(Debug, Clone, Default)]
pub struct CommitLock(Arc<(Mutex<()>, AtomicBool)>);

impl CommitLock {
    /// Starts the commit.
    pub fn hold(&self) -> MutexGuard<'_, ()> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the commit has to end: it looks before each file.
    pub fn is_stopped(&self) -> bool {
        self.0.1.load(Ordering::SeqCst)
    }

    /// Stops the commit. Returns when it has been undone or has ended, and prevents a later one.
    pub fn stop(&self) {
        self.0.1.store(true, Ordering::SeqCst);
        drop(self.hold());
    }
}
