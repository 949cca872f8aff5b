// SPDX-License-Identifier: Apache-2.0
//! Resize and serialize: a batch to messages within the size limits of the sinks.
//!
//! Slices share the batch's memory. Sizes are estimated first, so that little is serialized twice;
//! the limit is checked against the serialized message.

pub(crate) mod runs;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{Array, ArrayRef, RecordBatch, UInt64Array};
use arrowsmith_publish::{Layout, Origin, encode};
use bytes::Bytes;

use self::runs::Runs;
use crate::compiled::Compiled;
use crate::config::{LayoutConfig, OrderConfig};
use crate::job::Draft;
use crate::publish::sinks::Needs;
use crate::stream::Stream;

/// A row that is too large for any message.
pub(crate) struct TooLarge {
    pub(crate) origin: Origin,
    pub(crate) bytes: usize,
    pub(crate) bytes_max: usize,
}

/// The messages of a batch.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) drafts: Vec<Draft>,
    pub(crate) too_large: Vec<TooLarge>,
    pub(crate) resize: Duration,
    pub(crate) serialize: Duration,
}

/// Bytes of a message beside its buffers, about, and for each of the buffers.
const HEADER_BYTES: usize = 1024;

/// Splits and serializes.
pub(crate) fn resize(
    stream: &Stream,
    compiled: &Compiled,
    batch: &RecordBatch,
    runs: &Runs,
    needs: Needs,
) -> Outcome {
    let started = Instant::now();
    let mut outcome = Outcome::default();
    let bytes_max = needs.message_bytes_max.min(stream.config.message_bytes.0);
    let rows_max =
        if stream.config.message_rows == 0 { usize::MAX } else { stream.config.message_rows };
    let batch = match stream.config.order {
        OrderConfig::Metadata => batch.clone(),
        OrderConfig::Column => with_order(compiled, batch, runs),
    };
    let parts = keyed(stream, batch, runs);
    for part in parts {
        let rows = part.batch.num_rows();
        let mut at = 0;
        while at < rows {
            let len = rows_max.min(rows - at);
            cut(stream, &part, at, len, bytes_max, needs, &mut outcome);
            at += len;
        }
    }
    outcome.resize = started.elapsed().saturating_sub(outcome.serialize);
    outcome
}

/// Rows of one key, or all.
struct Part {
    batch: RecordBatch,
    key: Option<Arc<str>>,
    /// Of these rows.
    runs: Runs,
}

impl Part {
    /// Origin of one row.
    fn origin(&self, row: usize) -> Origin {
        let origin = self.runs.origins(row, 1).first().copied();
        origin.unwrap_or(Origin { connection: 0, first: 0, last: 0, rows: 1 })
    }
}

#[cfg(not(feature = "pulsar"))]
fn keyed(_stream: &Stream, batch: RecordBatch, runs: &Runs) -> Vec<Part> {
    vec![Part { batch, key: None, runs: runs.clone() }]
}

#[cfg(feature = "pulsar")]
fn keyed(stream: &Stream, batch: RecordBatch, runs: &Runs) -> Vec<Part> {
    use arrowsmith_publish_pulsar::key::{Keyed, split};

    let whole = |batch| vec![Part { batch, key: None, runs: runs.clone() }];
    let Some(field) = &stream.config.key else { return whole(batch) };
    match split(&batch, field) {
        Ok(parts) => {
            let part = |Keyed { key, batch, rows }: Keyed| Part {
                batch,
                key,
                runs: runs.pick(rows.iter().map(|&row| row as usize)),
            };
            parts.into_iter().map(part).collect()
        }
        Err(error) => {
            tracing::warn!(stream = &*stream.name, %error, "no keys");
            whole(batch)
        }
    }
}

/// Adds the columns that tell the order.
fn with_order(compiled: &Compiled, batch: &RecordBatch, runs: &Runs) -> RecordBatch {
    let mut connections = Vec::with_capacity(batch.num_rows());
    let mut numbers = Vec::with_capacity(batch.num_rows());
    runs.for_each(|connection, number| {
        connections.push(connection);
        numbers.push(number);
    });
    let mut columns = batch.columns().to_vec();
    columns.push(Arc::new(UInt64Array::from(connections)) as ArrayRef);
    columns.push(Arc::new(UInt64Array::from(numbers)) as ArrayRef);
    // The rows of the runs are those of the batch, or the decoder's count of rows would have been
    // wrong, which is checked before.
    RecordBatch::try_new(Arc::clone(&compiled.schema), columns).unwrap_or_else(|error| {
        tracing::error!(%error, "columns of order");
        batch.clone()
    })
}

/// Serializes a slice, or its halves when it is too large.
fn cut(
    stream: &Stream,
    part: &Part,
    start: usize,
    rows: usize,
    bytes_max: usize,
    needs: Needs,
    outcome: &mut Outcome,
) {
    let slice = part.batch.slice(start, rows);
    let origins = || part.runs.origins(start, rows);
    let compressed = stream.config.compression != crate::config::CompressionConfig::None;
    if bytes_max < usize::MAX || needs.payload {
        // What is compressed may be smaller than the estimate; a single row is always tried.
        let estimate = if compressed && rows == 1 { 0 } else { estimate(&slice) };
        let payload = if rows > 1 && estimate > bytes_max {
            None
        } else {
            let started = Instant::now();
            let layout = match stream.config.layout {
                LayoutConfig::SelfContained => Layout::SelfContained,
                LayoutConfig::BatchOnly => Layout::BatchOnly,
            };
            let payload = encode(&slice, layout, stream.config.compression.into());
            outcome.serialize += started.elapsed();
            match payload {
                Ok(payload) => Some(payload),
                Err(error) => {
                    tracing::error!(stream = &*stream.name, %error, "a message cannot be serialized");
                    None
                }
            }
        };
        match payload {
            Some(payload) if payload.len() <= bytes_max => {
                let payload = if needs.payload { payload } else { Bytes::new() };
                let key = part.key.clone();
                outcome.drafts.push(Draft { batch: slice, payload, origins: origins(), key });
            }
            payload if rows == 1 => {
                let bytes = payload.map_or(0, |payload| payload.len());
                let origin = part.origin(start);
                outcome.too_large.push(TooLarge { origin, bytes, bytes_max });
            }
            _ => {
                let half = rows / 2;
                cut(stream, part, start, half, bytes_max, needs, outcome);
                cut(stream, part, start + half, rows - half, bytes_max, needs, outcome);
            }
        }
        return;
    }
    let key = part.key.clone();
    outcome.drafts.push(Draft { batch: slice, payload: Bytes::new(), origins: origins(), key });
}

/// Bytes of the serialized slice, about.
fn estimate(slice: &RecordBatch) -> usize {
    let size = |column: &ArrayRef| {
        column.to_data().get_slice_memory_size().unwrap_or_else(|_| column.get_buffer_memory_size())
    };
    HEADER_BYTES + slice.columns().iter().map(size).sum::<usize>()
}
