// SPDX-License-Identifier: Apache-2.0
//! What a producer reports of itself.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use crate::error::{PulsarError, Result};

/// What a producer has done so far, for metrics. Read at any time.
#[derive(Debug)]
pub struct ProducerState {
    /// Whether it is connected now.
    pub connected: AtomicBool,
    /// Connections made after the first.
    pub reconnects: AtomicU64,
    /// Messages sent again because a connection broke before they were confirmed.
    pub resent: AtomicU64,
    /// Messages that the broker had already.
    pub duplicates: AtomicU64,
    /// Bytes not confirmed yet.
    pub in_flight_bytes: AtomicU64,
    /// Maximum message size of the broker, payload and metadata, in bytes.
    pub message_bytes_max: AtomicU64,
    /// Last sequence number that the broker had when it was connected to; -1 for none, or where it
    /// does not deduplicate.
    pub(super) last_sequence: AtomicI64,
    pub(super) ready: tokio::sync::watch::Sender<Option<Result<()>>>,
}

impl ProducerState {
    pub(crate) fn new(message_bytes_max: usize) -> Self {
        Self {
            connected: AtomicBool::new(false),
            reconnects: AtomicU64::new(0),
            resent: AtomicU64::new(0),
            duplicates: AtomicU64::new(0),
            in_flight_bytes: AtomicU64::new(0),
            message_bytes_max: AtomicU64::new(message_bytes_max as u64),
            last_sequence: AtomicI64::new(-1),
            ready: tokio::sync::watch::Sender::new(None),
        }
    }

    /// Last sequence number of this producer that the broker had stored when it was connected to.
    /// `None` before that, and where it does not deduplicate.
    #[must_use]
    pub fn last_sequence(&self) -> Option<u64> {
        u64::try_from(self.last_sequence.load(Ordering::Acquire)).ok()
    }

    /// Waits for the first connection, or for a permanent error.
    pub(crate) async fn ready(&self) -> Result<()> {
        let mut changes = self.ready.subscribe();
        match changes.wait_for(Option::is_some).await {
            Ok(result) => result.clone().unwrap_or(Err(PulsarError::Closed)),
            Err(_) => Err(PulsarError::Closed),
        }
    }
}
