// SPDX-License-Identifier: Apache-2.0
//! The memory limit of one portion (the columns that are decoded together): pages, dictionaries,
//! values.
//!
//! A few bytes of a file can stand for gigabytes: a dictionary entry that every row repeats, a page
//! of zeros, a million nulls. That is legal, so no column alone is wrong; the limit applies to what
//! all columns of a portion hold at one time. A [`Share`] is one holder's part of it. Portions that
//! are decoded concurrently share the limit in `pool`.

mod pool;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_schema::DataType;
use arrowsmith_core::{Error, FileErrorKind, Limits, Result};

pub use self::pool::{Claim, Held, Pool};

/// Memory that may be taken for each byte in the file, whatever the limit is: no honest page or
/// dictionary is denser, but for those that repeat themselves.
const BYTES_PER_STORED: usize = 16;

/// Memory that may be taken whatever the limit is: a page and a dictionary of a few columns.
const BYTES_AT_LEAST: usize = 16 << 20;

/// Bytes that a share is rounded up to, so that growing column by column stays cheap.
const GRAIN_BYTES: usize = 64 << 10;

/// What the columns of a portion may hold, and what they do.
#[derive(Debug)]
pub struct Budget {
    used: AtomicUsize,
    bytes_max: usize,
    /// The limit as the user knows it.
    memory_bytes_max: usize,
    stored: usize,
    /// What the portion holds of the memory of all.
    claim: Arc<Claim>,
}

impl Budget {
    /// For column chunks of `stored_bytes` together: [`Limits::memory_bytes_max`], or 16 times as
    /// much as the file has, whichever is more. What is taken counts in `claim` too.
    pub fn new(limits: &Limits, stored_bytes: u64, claim: &Arc<Claim>) -> Arc<Self> {
        let memory_bytes_max = limits.memory_bytes_max;
        let stored = usize::try_from(stored_bytes).unwrap_or(usize::MAX);
        let usual = stored.saturating_mul(BYTES_PER_STORED).max(BYTES_AT_LEAST);
        let bytes_max = memory_bytes_max.max(usual);
        let (used, claim) = (AtomicUsize::new(0), Arc::clone(claim));
        Arc::new(Self { used, bytes_max, memory_bytes_max, stored, claim })
    }

    /// Unbounded, for callers that limit by other means what is read.
    pub fn unbounded() -> Arc<Self> {
        let (bytes_max, memory_bytes_max) = (usize::MAX, usize::MAX);
        let (used, claim) = (AtomicUsize::new(0), Claim::unbounded());
        Arc::new(Self { used, bytes_max, memory_bytes_max, stored: 0, claim })
    }

    /// The maximum for all columns together, in bytes.
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Bytes held beyond what any file needs; a reader that prefetches waits until it is 0.
    pub fn excess(&self) -> usize {
        let usual = self.stored.saturating_mul(8).saturating_add(2 * BYTES_AT_LEAST);
        self.used.load(Ordering::Relaxed).saturating_sub(usual)
    }

    /// An empty share.
    pub fn share(self: &Arc<Self>) -> Share {
        Share { budget: Arc::clone(self), bytes: 0 }
    }

    /// The error for `bytes` above the limit.
    pub fn exceeded(&self, bytes: usize) -> Error {
        let (limit, max) = (self.memory_bytes_max, self.bytes_max);
        let message = if limit == max {
            format!(
                "columns that need {bytes} bytes of memory at once, memory_bytes_max is {limit}"
            )
        } else {
            format!(
                "columns that need {bytes} bytes of memory at once, {max} at most (memory_bytes_max is \
                 {limit})"
            )
        };
        Error::file(FileErrorKind::Limit, message)
    }
}

/// What one holder has taken of a budget; returned on drop.
#[derive(Debug)]
pub struct Share {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Share {
    /// Ensures that the share is at least `bytes`.
    ///
    /// # Errors
    /// [`FileErrorKind::Limit`], which names the limit, if fewer are left; the same if the claim
    /// was revoked.
    #[inline]
    pub fn grow(&mut self, bytes: usize) -> Result<()> {
        if bytes <= self.bytes { Ok(()) } else { self.more(bytes) }
    }

    #[cold]
    fn more(&mut self, bytes: usize) -> Result<()> {
        let wanted = bytes.checked_next_multiple_of(GRAIN_BYTES).unwrap_or(bytes);
        let more = wanted - self.bytes;
        let (used, max) = (&self.budget.used, self.budget.bytes_max);
        let with = |used: usize| used.checked_add(more).filter(|after| *after <= max);
        if let Err(used) = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, with) {
            return Err(self.budget.exceeded(used.saturating_add(more)));
        }
        if !self.budget.claim.take(more) {
            self.budget.used.fetch_sub(more, Ordering::Relaxed);
            return Err(self.budget.exceeded(max));
        }
        self.bytes = wanted;
        Ok(())
    }

    /// Sets the share to `bytes`, which grows or shrinks it.
    ///
    /// # Errors
    /// As [`Share::grow`].
    pub fn set(&mut self, bytes: usize) -> Result<()> {
        let wanted = bytes.checked_next_multiple_of(GRAIN_BYTES).unwrap_or(bytes);
        let less = self.bytes.saturating_sub(wanted);
        self.give_back(less);
        self.grow(bytes)
    }

    fn give_back(&mut self, bytes: usize) {
        self.bytes -= bytes;
        self.budget.used.fetch_sub(bytes, Ordering::Relaxed);
        self.budget.claim.give_back(bytes);
    }

    /// Returns it to the budget.
    pub fn clear(&mut self) {
        self.give_back(self.bytes);
    }

    /// The budget it is taken from.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Bytes that a row takes up at least, whatever is in it.
pub fn row_bytes(data_type: &DataType) -> usize {
    use DataType as D;
    match data_type {
        D::Null => 0,
        D::Boolean => 1,
        D::FixedSizeBinary(bytes) => usize::try_from(*bytes).unwrap_or(0),
        D::FixedSizeList(item, size) => {
            usize::try_from(*size).unwrap_or(0).saturating_mul(row_bytes(item.data_type()).max(1))
        }
        D::Struct(fields) => fields
            .iter()
            .fold(0_usize, |sum, field| sum.saturating_add(row_bytes(field.data_type()))),
        D::Dictionary(keys, _) => keys.primitive_width().unwrap_or(4),
        D::Utf8View | D::BinaryView => 16,
        D::LargeUtf8 | D::LargeBinary | D::LargeList(_) | D::ListView(_) => 8,
        D::LargeListView(_) => 16,
        other => other.primitive_width().unwrap_or(4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_bounded_together_and_given_back() {
        let limits = Limits::default().with_memory_bytes_max(20 << 20);
        let claim = Claim::unbounded();
        let budget = Budget::new(&limits, 1000, &claim);
        let (mut a, mut b) = (budget.share(), budget.share());
        a.grow(12 << 20).unwrap();
        b.grow(8 << 20).unwrap();
        let error = b.grow((8 << 20) + 1).unwrap_err();
        assert_eq!(error.as_file().unwrap().kind, FileErrorKind::Limit);
        assert!(error.to_string().contains("memory_bytes_max is 20971520"), "{error}");
        a.clear();
        b.grow(20 << 20).unwrap();
        b.clear();
        assert_eq!((budget.used.load(Ordering::Relaxed), claim.used()), (0, 0));
        a = budget.share();
        a.set(9 << 20).unwrap();
        a.set(1).unwrap();
        assert_eq!((budget.used.load(Ordering::Relaxed), claim.used()), (GRAIN_BYTES, GRAIN_BYTES));
        // A file's own size overrides a smaller limit.
        assert_eq!(Budget::new(&limits, 4 << 20, &claim).bytes_max(), 64 << 20);
        assert!(budget.share().grow(usize::MAX).is_err());
    }
}
