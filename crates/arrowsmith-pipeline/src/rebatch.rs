// SPDX-License-Identifier: Apache-2.0
//! Batches of a given size out of batches of any size, in order.
//!
//! Slicing a batch does not copy; only a batch of several parts is copied.

use std::collections::VecDeque;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrowsmith_core::Result;

/// The requested sizes; without any, batches are passed unchanged.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BatchSize {
    /// Exactly this many rows per batch, except for the last one.
    pub(crate) rows: Option<usize>,
    /// About this many bytes of Arrow data per batch.
    pub(crate) bytes: Option<usize>,
}

/// Batches that wait until they have the requested size.
pub(crate) struct Rebatch {
    schema: SchemaRef,
    size: BatchSize,
    pending: VecDeque<RecordBatch>,
    rows: usize,
    /// Of the pending rows, roughly.
    bytes: usize,
}

impl Rebatch {
    pub(crate) fn new(schema: SchemaRef, size: BatchSize) -> Self {
        Self { schema, size, pending: VecDeque::new(), rows: 0, bytes: 0 }
    }

    pub(crate) fn push(&mut self, batch: RecordBatch) {
        self.rows += batch.num_rows();
        if self.size.bytes.is_some() {
            self.bytes += data_bytes(&batch);
        }
        self.pending.push_back(batch);
    }

    /// The next batch that is complete; at the end of the input also what is left.
    pub(crate) fn pop(&mut self, ended: bool) -> Result<Option<RecordBatch>> {
        let Some(goal) = self.goal() else {
            return Ok(self.pending.pop_front());
        };
        if self.rows == 0 || (self.rows < goal && !ended) {
            return Ok(None);
        }
        let rows = goal.min(self.rows);
        let mut parts = Vec::new();
        let mut missing = rows;
        while missing > 0 {
            let Some(front) = self.pending.pop_front() else { break };
            let count = front.num_rows().min(missing);
            if count < front.num_rows() {
                self.pending.push_front(front.slice(count, front.num_rows() - count));
            }
            parts.push(front.slice(0, count));
            missing -= count;
        }
        self.bytes -= self.bytes / self.rows * rows;
        self.rows -= rows;
        Ok(Some(match parts.as_slice() {
            [only] => only.clone(),
            several => concat_batches(&self.schema, several)?,
        }))
    }

    /// What waits.
    pub(crate) fn into_batches(self) -> VecDeque<RecordBatch> {
        self.pending
    }

    /// Rows of the next batch; `None` if batches are passed unchanged.
    fn goal(&self) -> Option<usize> {
        let by_bytes = self.size.bytes.map(|bytes| {
            let row_bytes = (self.bytes / self.rows.max(1)).max(1);
            (bytes / row_bytes).max(1)
        });
        match (self.size.rows, by_bytes) {
            (Some(rows), Some(by_bytes)) => Some(rows.min(by_bytes)),
            (rows, by_bytes) => rows.or(by_bytes),
        }
    }
}

/// Bytes that the rows take, without spare capacity.
fn data_bytes(batch: &RecordBatch) -> usize {
    let column_bytes = |column: &arrow_array::ArrayRef| {
        column.to_data().get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size())
    };
    batch.columns().iter().map(column_bytes).sum()
}
