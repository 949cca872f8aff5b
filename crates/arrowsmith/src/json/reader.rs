// SPDX-License-Identifier: Apache-2.0
//! The reader: batches in the order of the input, as Arrow's own interface has it.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use arrowsmith_core::{Error, Result};
use arrowsmith_pipeline::{BatchIter, Progress};
use arrowsmith_plan::Plan;

use crate::json::BatchStream;

/// Reads JSON as record batches.
///
/// It is an [`Iterator`] and a [`RecordBatchReader`], so that everything that takes Arrow data takes it;
/// there errors are [`ArrowError::ExternalError`] around [`Error`]. [`JsonReader::next_batch`]
/// gives the errors as they are. After an error there is nothing more; the rows before it came first.
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
    /// The first record that does not fit, unless another [`OnError`](crate::OnError) was chosen; reading
    /// that fails; [`Error::Cancelled`].
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        self.batches.next().transpose()
    }

    /// The plan that is run.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// How far the reader is: bytes, rows, rejects. It may be kept and looked at from other threads.
    pub fn progress(&self) -> &Arc<Progress> {
        self.batches.progress()
    }

    /// The batches as an async stream for any runtime. A thread of its own reads ahead a few batches.
    ///
    /// # Errors
    /// When the system gives no thread.
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
