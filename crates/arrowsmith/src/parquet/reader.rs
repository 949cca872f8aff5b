// SPDX-License-Identifier: Apache-2.0
//! The Parquet reader and how it is made.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, FieldRef, SchemaRef};
use arrowsmith_core::{Error, Limits, Result};
use arrowsmith_engine::Chain;
use arrowsmith_pipeline::Progress;
use arrowsmith_pipeline::parquet::{ParquetBatches, ParquetPipeline};
use arrowsmith_source::DataFile;

use super::{Explanation, File, Predicate, ReadOptions, RowSelection};
use crate::stream::BatchStream;

/// Options of a reader, all with defaults: every column of every row, the engine is `cpu`, every
/// core decodes.
#[derive(Default)]
pub struct ReaderBuilder {
    pipeline: ParquetPipeline,
    engine: Option<Chain>,
}

impl ReaderBuilder {
    /// Every option at its default.
    pub fn new() -> Self {
        Self::default()
    }

    /// Columns and the Arrow types that they are read as. Partition columns may be among the
    /// columns; they come last.
    #[must_use]
    pub fn options(mut self, options: ReadOptions) -> Self {
        self.pipeline = self.pipeline.options(options);
        self
    }

    /// Only rows for which this holds. It may name columns that are not read otherwise. Row groups
    /// and pages that cannot match are not decoded.
    #[must_use]
    pub fn filter(mut self, filter: Option<Predicate>) -> Self {
        self.pipeline = self.pipeline.filter(filter);
        self
    }

    /// Only these row groups, in this order, of a single file.
    #[must_use]
    pub fn row_groups(mut self, row_groups: Option<Vec<usize>>) -> Self {
        self.pipeline = self.pipeline.row_groups(row_groups);
        self
    }

    /// Only these rows, counted from 0 over all row groups that are read, before any condition.
    #[must_use]
    pub fn rows(mut self, rows: Option<RowSelection>) -> Self {
        self.pipeline = self.pipeline.rows(rows);
        self
    }

    /// Types of partition columns; those of the others are inferred.
    #[must_use]
    pub fn partition_types(mut self, fields: Vec<FieldRef>) -> Self {
        self.pipeline = self.pipeline.partition_types(fields);
        self
    }

    /// Rows, at most.
    #[must_use]
    pub fn limit(mut self, rows: Option<u64>) -> Self {
        self.pipeline = self.pipeline.limit(rows);
        self
    }

    /// Decoder threads; 0, the default, is one for each core. With 1 the caller's own thread
    /// decodes.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.pipeline = self.pipeline.threads(threads);
        self
    }

    /// Rows of a batch, at most: batches end with row groups, and a condition makes them shorter.
    /// Without it 131072, or fewer where rows are long.
    #[must_use]
    pub fn batch_rows(mut self, rows: Option<usize>) -> Self {
        self.pipeline = self.pipeline.batch_rows(rows);
        self
    }

    /// The engine; see [`engine()`](crate::engine()). Of a chain the first decodes a column that
    /// does not decline it.
    #[must_use]
    pub fn engine(mut self, engine: impl Into<Chain>) -> Self {
        self.engine = Some(engine.into());
        self
    }

    /// Bounds on what files may ask for, and on memory.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.pipeline = self.pipeline.limits(limits);
        self
    }

    /// Stops everything with [`Error::Cancelled`] once it is true.
    #[must_use]
    pub fn cancel(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.pipeline = self.pipeline.cancel(cancel);
        self
    }

    /// Opens the first of `files`, whose columns are those of all, and starts decoding.
    ///
    /// # Errors
    /// Options that make no sense, columns that are not there, and whatever opening the first file
    /// gives. The others are opened when it is their turn, so that their errors come with the
    /// batches.
    pub fn open<I>(self, files: I) -> Result<ParquetReader>
    where
        I: IntoIterator,
        I::Item: Into<DataFile>,
    {
        let engine = match self.engine {
            Some(engine) => engine,
            None => crate::engines::default()?,
        };
        Ok(ParquetReader { batches: self.pipeline.engine(engine).files(files).start()? })
    }
}

/// Reads Parquet as record batches.
///
/// It is an [`Iterator`] and a [`RecordBatchReader`], so that everything that takes Arrow data
/// takes it; there errors are [`ArrowError::ExternalError`] around [`Error`].
/// [`ParquetReader::next_batch`] gives the errors as they are. After an error there is nothing
/// more; the rows before it came first.
pub struct ParquetReader {
    batches: ParquetBatches,
}

impl ParquetReader {
    /// The next batch; `None` at the end.
    ///
    /// # Errors
    /// A file that is not sound or cannot be read; [`Error::Cancelled`].
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        self.batches.next().transpose()
    }

    /// Who decodes which column, and what the condition leaves.
    pub fn explanation(&self) -> &Explanation {
        self.batches.explanation()
    }

    /// The first file.
    pub fn file(&self) -> &File {
        self.batches.file()
    }

    /// How far the reader is. It may be kept and looked at from other threads.
    pub fn progress(&self) -> &Arc<Progress> {
        self.batches.progress()
    }

    /// The batches as an async stream for any runtime. A thread of its own reads ahead a few
    /// batches.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn into_stream(self) -> Result<BatchStream> {
        BatchStream::new(self.schema(), self.batches)
    }
}

impl Iterator for ParquetReader {
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

impl RecordBatchReader for ParquetReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.batches.schema())
    }
}
