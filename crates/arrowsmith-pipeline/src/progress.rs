// SPDX-License-Identifier: Apache-2.0
//! How far a pipeline is: counters that any thread may look at.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Counters of one pipeline. They only grow, and are exact when the pipeline has ended.
#[derive(Debug, Default)]
pub struct Progress {
    /// Shared with the sources, which count what they read.
    pub(crate) bytes: Arc<AtomicU64>,
    pub(crate) bytes_total: Option<u64>,
    pub(crate) rows: AtomicU64,
    pub(crate) rejects: AtomicU64,
    pub(crate) filtered: AtomicU64,
    pub(crate) left_out: AtomicU64,
    pub(crate) left_out_key: OnceLock<String>,
}

impl Progress {
    /// Bytes read so far, as stored: compressed bytes of compressed input.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The final value of [`Progress::bytes`], if known: not for standard input.
    pub fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }

    /// Rows decoded and put in order so far.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Counts rows of a reader that is not a pipeline.
    pub fn add_rows(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// Records so far that were skipped, or in which a value became null.
    pub fn rejects(&self) -> u64 {
        self.rejects.load(Ordering::Relaxed)
    }

    /// Rows of JSON so far for which the condition is not true.
    pub fn filtered(&self) -> u64 {
        self.filtered.load(Ordering::Relaxed)
    }

    /// Values so far that were skipped because the schema has no such key, and the first of these
    /// keys; 0 for engines that do not count them.
    pub fn left_out(&self) -> (u64, Option<&str>) {
        let key = self.left_out_key.get().map(String::as_str);
        (self.left_out.load(Ordering::Relaxed), key)
    }
}
