// SPDX-License-Identifier: Apache-2.0
//! [`Message`]: a batch with its number, its origin and its times.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;

/// Bytes of [`Message::origins_text`], at most.
const ORIGINS_BYTES_MAX: usize = 4 << 10;

/// A record batch on its way to a sink.
#[derive(Debug, Clone)]
pub struct Message {
    /// Name of the stream that it belongs to.
    pub stream: Arc<str>,
    /// Schema of the batch; it changes when the service reloads its configuration.
    pub schema: SchemaRef,
    /// The rows. For a sink that writes batches itself, as files do.
    pub batch: RecordBatch,
    /// The batch as Arrow IPC, in the layout of the stream's configuration. Empty unless a sink of
    /// the stream needs it ([`crate::Publish::needs_payload`]).
    pub payload: Bytes,
    /// Number of the message in its stream: greater than that of any message before it, also of
    /// earlier runs of the service, and the same when it is published again.
    pub sequence: u64,
    /// Where the rows come from, in the order of the rows.
    pub origins: Vec<Origin>,
    /// Key of all rows, where the stream is divided by a field.
    pub key: Option<Arc<str>>,
    /// When the first byte of its first record was received.
    pub received_at: SystemTime,
    /// Time that it spent in each stage.
    pub times: StageTimes,
}

impl Message {
    /// A message of a batch that was received just now, without payload, origins and key.
    #[must_use]
    pub fn new(stream: impl Into<Arc<str>>, sequence: u64, batch: RecordBatch) -> Self {
        Self {
            stream: stream.into(),
            schema: batch.schema(),
            batch,
            payload: Bytes::new(),
            sequence,
            origins: Vec::new(),
            key: None,
            received_at: SystemTime::now(),
            times: StageTimes::begin(Instant::now()),
        }
    }

    /// Rows of the batch.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// Which rows come from which sender, in order, for the metadata of a message:
    /// `connection:first-last`, several with commas between. It ends with `…` where it would be
    /// longer than 4 KiB, because brokers limit it.
    #[must_use]
    pub fn origins_text(&self) -> String {
        let mut text = String::new();
        for Origin { connection, first, last, .. } in &self.origins {
            if text.len() > ORIGINS_BYTES_MAX - 72 {
                text.push_str(",…");
                break;
            }
            let comma = if text.is_empty() { "" } else { "," };
            // Writing to a string does not fail.
            let _ = write!(text, "{comma}{connection}:{first}-{last}");
        }
        text
    }
}

/// A run of rows of one sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// Number of the connection, request or file, greater than that of any before it, also of
    /// earlier runs of the service.
    pub connection: u64,
    /// Sequence number of the first row: a record's number in its connection, or more where lines
    /// were empty; it grows from record to record.
    pub first: u64,
    /// Sequence number of the last row.
    pub last: u64,
    /// Rows of the run.
    pub rows: usize,
}

/// Time that a message spent in each stage.
#[derive(Debug, Clone, Copy)]
pub struct StageTimes {
    /// When its first byte was received.
    pub start: Instant,
    /// Reading it.
    pub receive: Duration,
    /// Waiting for a parser.
    pub parse_queue: Duration,
    /// Text to Arrow.
    pub parse: Duration,
    /// Splitting to the maximum size.
    pub resize: Duration,
    /// Arrow to IPC.
    pub serialize: Duration,
}

impl StageTimes {
    /// All zero, starting at `start`.
    #[must_use]
    pub fn begin(start: Instant) -> Self {
        let zero = Duration::ZERO;
        Self { start, receive: zero, parse_queue: zero, parse: zero, resize: zero, serialize: zero }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_told_in_order_and_in_bounded_length() {
        let origin = |connection| Origin { connection, first: 5, last: 9, rows: 4 };
        let schema = SchemaRef::new(arrow_schema::Schema::empty());
        let mut message = Message::new("s", 0, RecordBatch::new_empty(schema));
        let mut text = |origins: Vec<Origin>| {
            message.origins = origins;
            message.origins_text()
        };
        assert_eq!(text(vec![]), "");
        assert_eq!(text(vec![origin(7), origin(2)]), "7:5-9,2:5-9");
        let most = Origin { connection: u64::MAX, first: u64::MAX, last: u64::MAX, rows: 1 };
        let many = text(vec![most; 10_000]);
        assert!(many.len() <= ORIGINS_BYTES_MAX && many.ends_with(",…"), "{}", many.len());
    }
}
