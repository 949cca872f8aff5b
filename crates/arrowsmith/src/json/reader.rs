// SPDX-License-Identifier: Apache-2.0
//! The reader: batches in the order of the input, through Arrow's own interface.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use arrowsmith_core::{Error, Result};
use arrowsmith_pipeline::{BatchIter, Progress, Turn};
use arrowsmith_plan::Plan;

use crate::json::BatchStream;

/// Reads JSON as record batches.
///
/// It is an [`Iterator`] and a [`RecordBatchReader`], so it works with everything that takes Arrow
/// data; there errors are [`ArrowError::ExternalError`] around [`Error`].
/// [`JsonReader::next_batch`] returns the errors unwrapped. An error is the last item, after the
/// rows before it.
pub struct JsonReader {
    plan: Arc<Plan>,
    batches: BatchIter,
}

impl JsonReader {
    pub(crate) fn new(plan: Arc<Plan>, batches: BatchIter) -> Self {
        Self { plan, batches }
    }

    /// The next batch; `None` at the end.
    ///
    /// # Errors
    /// The first record that does not match the schema, unless another [`OnError`](crate::OnError)
    /// was chosen; I/O errors; [`Error::Cancelled`].
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        self.batches.next().transpose()
    }

    /// The next batch, or a pause where `pause` says so, after a piece of text without one: so that
    /// a caller can take its rejects before there are too many.
    ///
    /// # Errors
    /// As [`JsonReader::next_batch`].
    pub fn turn(&mut self, pause: &dyn Fn() -> bool) -> Result<Turn> {
        self.batches.turn(pause)
    }

    /// The plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// The progress of the reader: bytes, rows, rejects. It may be kept and read by other threads.
    pub fn progress(&self) -> &Arc<Progress> {
        self.batches.progress()
    }

    /// The batches as an async stream for any runtime. A separate thread reads a few batches ahead.
    ///
    /// # Errors
    /// If the system cannot create a thread.
    pub fn into_stream(self) -> Result<BatchStream> {
        BatchStream::new(self.schema(), self.batches)
    }
}

impl Iterator for JsonReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.next().map(|batch| {
            batch.map_err(|error| match error {
                Error::Arrow(error) => error,
                other => ArrowError::ExternalError(Box::new(other)),
            })
        })
    }
}

impl RecordBatchReader for JsonReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.batches.schema())
    }
}
