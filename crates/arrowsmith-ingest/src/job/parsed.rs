// SPDX-License-Identifier: Apache-2.0
//! Results of the parsers: the batches of some jobs, and what to settle when they are stored.

use std::sync::Arc;
use std::time::SystemTime;

use arrow_array::RecordBatch;
use arrowsmith_core::Reject;
use arrowsmith_publish::{Message, Origin, StageTimes};
use bytes::Bytes;

use super::Pending;

/// The results of some jobs.
#[derive(Default)]
pub(crate) struct Parsed {
    pub(crate) drafts: Vec<Draft>,
    pub(crate) rejects: Vec<Reject>,
    pub(crate) pending: Vec<Pending>,
    /// Of the job that came first.
    pub(crate) received: Option<Received>,
}

/// When the first byte of some jobs was received, and the time of each stage since.
#[derive(Clone, Copy)]
pub(crate) struct Received {
    pub(crate) at: SystemTime,
    pub(crate) times: StageTimes,
}

/// A message without its number.
#[derive(Clone)]
pub(crate) struct Draft {
    pub(crate) batch: RecordBatch,
    pub(crate) payload: Bytes,
    pub(crate) origins: Vec<Origin>,
    pub(crate) key: Option<Arc<str>>,
}

impl Draft {
    /// The message of this number.
    pub(crate) fn message(
        self,
        stream: &Arc<str>,
        sequence: u64,
        received: Option<Received>,
    ) -> Message {
        let message = Message::new(Arc::clone(stream), sequence, self.batch);
        Message {
            payload: self.payload,
            origins: self.origins,
            key: self.key,
            received_at: received.map_or(message.received_at, |received| received.at),
            times: received.map_or(message.times, |received| received.times),
            ..message
        }
    }
}
