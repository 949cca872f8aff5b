// SPDX-License-Identifier: Apache-2.0
//! Memory for text: reused buffers, and grants that limit the number of bytes.
//!
//! A sender waits for a grant before it reads; a grant returns when the records of its text are
//! settled. So memory is bounded from the first byte to the receipt, and waiting for it is the
//! backpressure.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrowsmith_core::PADDING_BYTES;
use prometheus::IntGauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Text that is read at once, in bytes: large enough that handing it over costs nothing beside
/// parsing it, small enough that it stays in a core's cache on the way.
pub(crate) const CHUNK_BYTES: usize = 512 << 10;

/// Granularity of grants, in bytes: permits of a semaphore are counted in 32 bits.
const UNIT_BYTES: usize = 1 << 10;

/// The memory of the process for text.
pub(crate) struct Memory {
    grants: Arc<Semaphore>,
    units: u32,
    spare: Mutex<Vec<Vec<u8>>>,
    spare_max: usize,
    used: IntGauge,
}

/// The right to hold some bytes.
pub(crate) struct Grant {
    permit: Option<OwnedSemaphorePermit>,
    used: IntGauge,
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.used.sub(self.bytes());
    }
}

impl Grant {
    /// Bytes that may be held.
    pub(crate) fn bytes_max(&self) -> usize {
        let permits = self.permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        permits.saturating_mul(UNIT_BYTES)
    }

    fn bytes(&self) -> i64 {
        i64::try_from(self.bytes_max()).unwrap_or(i64::MAX)
    }

    /// Releases what is above `bytes`.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let before = self.bytes();
        if let Some(permit) = &mut self.permit {
            let units = bytes.div_ceil(UNIT_BYTES).max(1);
            drop(permit.split(permit.num_permits().saturating_sub(units)));
        }
        self.used.sub(before - self.bytes());
    }

    /// A part of it, for a part of what it is held for; less where less is left.
    pub(crate) fn split(&mut self, bytes: usize) -> Self {
        let units = bytes.div_ceil(UNIT_BYTES);
        let split = self.permit.as_mut().and_then(|permit| {
            let most = units.min(permit.num_permits());
            permit.split(most)
        });
        // What is counted as used moves with it.
        Self { permit: split, used: self.used.clone() }
    }

    /// Takes over what another has.
    pub(crate) fn merge(&mut self, mut other: Self) {
        match (&mut self.permit, other.permit.take()) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine @ None, theirs) => *mine = theirs,
            (Some(_), None) => {}
        }
        // What `other` counted stays: it has nothing any more when it is dropped.
    }
}

/// Text, with padding for a decoder's loads.
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    /// Length of the text; the rest is room.
    pub(crate) len: usize,
    pub(crate) grant: Grant,
    home: Option<Arc<Memory>>,
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            home.take_back(std::mem::take(&mut self.bytes));
        }
    }
}

impl Buffer {
    /// A buffer of its own, for text that came whole.
    pub(crate) fn of(mut bytes: Vec<u8>, grant: Grant) -> Self {
        let len = bytes.len();
        bytes.reserve_exact(PADDING_BYTES);
        // Bounded: by the text that is here.
        bytes.resize(len + PADDING_BYTES, 0);
        Self { bytes, len, grant, home: None }
    }

    /// The text.
    pub(crate) fn text(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// The text and the padding.
    pub(crate) fn padded(&self) -> &[u8] {
        &self.bytes
    }

    /// Room for more text.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        let end = self.bytes.len().saturating_sub(PADDING_BYTES);
        self.bytes.get_mut(self.len..end).unwrap_or_default()
    }

    /// Adds text as far as there is room.
    pub(crate) fn append(&mut self, text: &[u8]) -> usize {
        let room = self.room();
        let most = room.len().min(text.len());
        room[..most].copy_from_slice(&text[..most]);
        self.len += most;
        most
    }

    /// Truncates the text to `at` bytes, and returns the rest.
    pub(crate) fn split_off(&mut self, at: usize) -> Vec<u8> {
        let rest = self.text().get(at..).unwrap_or_default().to_vec();
        self.len = self.len.min(at);
        rest
    }

    /// Moves the text to memory of its size, if it is much smaller than the buffer.
    pub(crate) fn compact(&mut self) {
        if self.len < self.bytes.len() / 8 {
            // Bounded: by the text that is here.
            let mut small = Vec::with_capacity(self.len + PADDING_BYTES);
            small.extend_from_slice(self.text());
            small.resize(self.len + PADDING_BYTES, 0);
            let large = std::mem::replace(&mut self.bytes, small);
            self.grant.shrink(self.bytes.len());
            if let Some(home) = self.home.take() {
                home.take_back(large);
            }
        }
    }

    /// An empty buffer with room for this many bytes.
    pub(crate) fn with_room(bytes: usize, grant: Grant) -> Self {
        // Bounded: by the grant.
        Self { bytes: vec![0; bytes + PADDING_BYTES], len: 0, grant, home: None }
    }

    /// A copy of a part of the text, which takes its share of the grant along.
    pub(crate) fn part(&mut self, range: Range<usize>) -> Self {
        let grant = self.grant.split(range.len());
        Self::of(self.text().get(range).unwrap_or_default().to_vec(), grant)
    }

    /// The grant, which outlives the text.
    pub(crate) fn into_grant(mut self) -> Grant {
        let used = self.grant.used.clone();
        std::mem::replace(&mut self.grant, Grant { permit: None, used })
    }
}

impl Memory {
    pub(crate) fn new(bytes: usize, used: IntGauge) -> Arc<Self> {
        let units = u32::try_from(bytes / UNIT_BYTES).unwrap_or(u32::MAX);
        Arc::new(Self {
            grants: Arc::new(Semaphore::new(units as usize)),
            units,
            spare: Mutex::new(Vec::new()),
            spare_max: bytes / CHUNK_BYTES,
            used,
        })
    }

    /// Waits for the right to hold `bytes`; `None` when the process ends, or for more than there
    /// is.
    pub(crate) async fn grant(&self, bytes: usize) -> Option<Grant> {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES).max(1)).ok()?;
        if units > self.units {
            return None;
        }
        let permit = Arc::clone(&self.grants).acquire_many_owned(units).await.ok()?;
        Some(self.granted(permit))
    }

    /// The right to hold `bytes`, if as much is free.
    pub(crate) fn try_grant(&self, bytes: usize) -> Option<Grant> {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES).max(1)).ok()?;
        let permit = Arc::clone(&self.grants).try_acquire_many_owned(units).ok()?;
        Some(self.granted(permit))
    }

    /// All that there is, in bytes.
    pub(crate) fn bytes_max(&self) -> usize {
        (self.units as usize).saturating_mul(UNIT_BYTES)
    }

    fn granted(&self, permit: OwnedSemaphorePermit) -> Grant {
        let grant = Grant { permit: Some(permit), used: self.used.clone() };
        self.used.add(grant.bytes());
        grant
    }

    /// Waits for a buffer of the common size.
    pub(crate) async fn buffer(self: &Arc<Self>) -> Option<Buffer> {
        let grant = self.grant(CHUNK_BYTES).await?;
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let bytes = spare.unwrap_or_else(|| vec![0; CHUNK_BYTES + PADDING_BYTES]);
        Some(Buffer { bytes, len: 0, grant, home: Some(Arc::clone(self)) })
    }

    fn take_back(&self, bytes: Vec<u8>) {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes.len() == CHUNK_BYTES + PADDING_BYTES && spare.len() < self.spare_max {
            spare.push(bytes);
        }
    }
}
