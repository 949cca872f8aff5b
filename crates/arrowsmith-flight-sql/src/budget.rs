// SPDX-License-Identifier: Apache-2.0
//! The memory of one query: what its operators reserve and what its functions allocate, under one
//! limit, within the pool of all queries.
//!
//! DataFusion's operators reserve memory in its pool before they grow; its scalar functions do not.
//! The guard around those (`growth`) reserves it here, and large arrays keep their reservation
//! until they are dropped.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::Buffer;
use bytes::Bytes;
use datafusion::common::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation, UnboundedMemoryPool,
};

use crate::clock::Ends;

/// Smaller arrays come and go with their batch, and are not worth the bookkeeping.
const HELD_BYTES_MIN: usize = 1 << 20;

/// Limit of an expression that is folded outside any query.
const FOLDED_BYTES_MAX: usize = 64 << 20;

/// A part of a pool that many queries share: no more than `limit` of it.
#[derive(Debug)]
pub(crate) struct QueryPool {
    shared: Arc<dyn MemoryPool>,
    limit: usize,
    used: AtomicUsize,
}

impl QueryPool {
    pub(crate) fn new(shared: Arc<dyn MemoryPool>, limit: usize) -> Self {
        Self { shared, limit, used: AtomicUsize::new(0) }
    }
}

impl fmt::Display for QueryPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "query({} of {} bytes)", self.reserved(), self.limit)
    }
}

impl MemoryPool for QueryPool {
    fn name(&self) -> &str {
        "query"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.shared.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.shared.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.used.fetch_add(additional, Ordering::Relaxed);
        self.shared.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.used.fetch_sub(shrink, Ordering::Relaxed);
        self.shared.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let fits = |used: usize| used.checked_add(additional).filter(|sum| *sum <= self.limit);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).map_err(|used| {
            exhausted(reservation.consumer().name(), additional, used, self.limit)
        })?;
        self.shared.try_grow(reservation, additional).inspect_err(|_| {
            self.used.fetch_sub(additional, Ordering::Relaxed);
        })
    }

    fn reserved(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.limit)
    }
}

fn exhausted(who: &str, bytes: usize, used: usize, limit: usize) -> DataFusionError {
    DataFusionError::ResourcesExhausted(format!(
        "{who} needs {bytes} bytes; the query has {used} of the {limit} that it may have"
    ))
}

/// The budget of functions, and the time that they have. It is part of the configuration, which is
/// passed to them.
#[derive(Clone)]
pub(crate) struct Budget(Arc<dyn MemoryPool>, Ends);

impl Budget {
    pub(crate) fn new(pool: Arc<dyn MemoryPool>, ends: Ends) -> Self {
        Self(pool, ends)
    }

    /// The budget of the query that has this configuration.
    pub(crate) fn of(options: &ConfigOptions) -> Self {
        options.extensions.get::<Self>().cloned().unwrap_or_else(|| {
            let all: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
            Self(Arc::new(QueryPool::new(all, FOLDED_BYTES_MAX)), Ends::default())
        })
    }

    /// An error once the query has to end.
    pub(crate) fn check_time(&self) -> Result<()> {
        self.1.check()
    }

    /// Reserves memory for the result of a function.
    pub(crate) fn reserve(&self, who: &str, bytes: u64) -> Result<MemoryReservation> {
        let reservation = MemoryConsumer::new(who).register(&self.0);
        reservation.try_grow(usize::try_from(bytes).unwrap_or(usize::MAX))?;
        Ok(reservation)
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Budget({})", self.0)
    }
}

impl ConfigExtension for Budget {
    const PREFIX: &'static str = "arrowsmith_budget";
}

impl ExtensionOptions for Budget {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, _: &str) -> Result<()> {
        Err(DataFusionError::Configuration(format!("{key} cannot be set")))
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        Vec::new()
    }
}

/// A buffer, and the reservation for its array.
struct Held {
    buffer: Buffer,
    _reservation: MemoryReservation,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        self.buffer.as_slice()
    }
}

/// The same array, whose memory stays reserved until the last of its owners is gone.
pub(crate) fn hold(array: ArrayRef, reservation: MemoryReservation) -> Result<ArrayRef> {
    let bytes = array.get_array_memory_size();
    if bytes < HELD_BYTES_MIN {
        return Ok(array);
    }
    // Replaces the upper bound by the actual size.
    reservation.try_resize(bytes)?;
    let data = array.to_data();
    let mut buffers = data.buffers().to_vec();
    let Some(first) = buffers.iter_mut().max_by_key(|buffer| buffer.len()) else {
        return Ok(array);
    };
    let held = Held { buffer: first.clone(), _reservation: reservation };
    *first = Buffer::from(Bytes::from_owner(held));
    Ok(make_array(data.into_builder().buffers(buffers).build()?))
}

#[cfg(test)]
mod tests {
    use arrow_array::StringArray;

    use super::*;

    fn pool(limit: usize) -> (Arc<dyn MemoryPool>, Budget) {
        let all: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
        let pool: Arc<dyn MemoryPool> = Arc::new(QueryPool::new(all, limit));
        (Arc::clone(&pool), Budget::new(pool, Ends::default()))
    }

    #[test]
    fn a_query_gets_what_it_may_have_and_no_more() {
        let (pool, budget) = pool(1000);
        let first = budget.reserve("a", 600).unwrap();
        assert!(budget.reserve("b", 401).is_err());
        assert!(budget.reserve("b", u64::MAX).is_err());
        let second = budget.reserve("b", 400).unwrap();
        assert_eq!(pool.reserved(), 1000);
        drop((first, second));
        assert_eq!(pool.reserved(), 0);
    }

    #[test]
    fn a_large_array_keeps_its_reservation_while_it_lives() {
        let (pool, budget) = pool(1 << 30);
        let text = "x".repeat(1 << 20);
        let array: ArrayRef = Arc::new(StringArray::from(vec![text.as_str(), "y"]));
        let reservation = budget.reserve("f", 16 << 20).unwrap();
        let held = hold(Arc::clone(&array), reservation).unwrap();
        assert_eq!(&held, &array);
        let slice = held.slice(1, 1);
        drop(held);
        assert!((1 << 20..4 << 20).contains(&pool.reserved()), "{}", pool.reserved());
        drop(slice);
        assert_eq!(pool.reserved(), 0);
    }

    #[test]
    fn a_small_array_keeps_none() {
        let (pool, budget) = pool(1 << 30);
        let array: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
        let held = hold(array, budget.reserve("f", 1 << 20).unwrap()).unwrap();
        assert_eq!(pool.reserved(), 0);
        drop(held);
    }
}
