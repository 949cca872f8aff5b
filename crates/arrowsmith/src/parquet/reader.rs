// SPDX-License-Identifier: Apache-2.0
//! The Parquet reader and its builder.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use arrowsmith_core::{Error, Limits, Result};
use arrowsmith_engine::Chain;
use arrowsmith_pipeline::Progress;
use arrowsmith_pipeline::parquet::{ParquetBatches, ParquetPipeline};
use arrowsmith_source::DataFile;

use super::{ColumnMapping, Explanation, File, ReadOptions, RowSelection};
use crate::engines;
use crate::options::ParquetReadOptions;
use crate::stream::BatchStream;

/// The builder of a reader. Every option has a default: every column of every row, the
/// engine is `cpu`, every core decodes.
#[derive(Default)]
pub struct ReaderBuilder {
    options: ParquetReadOptions,
    rows: Option<RowSelection>,
    engine: Option<Chain>,
    schema: Option<SchemaRef>,
    is_exact: bool,
    mapping: ColumnMapping,
    cancel: Arc<AtomicBool>,
}

impl ReaderBuilder {
    /// Every option at its default.
    pub fn new() -> Self {
        Self::default()
    }

    /// The options, all of them.
    #[must_use]
    pub fn options(mut self, options: ParquetReadOptions) -> Self {
        self.options = options;
        self
    }

    /// Only these rows, counted from 0 over all row groups that are read, before any condition;
    /// those that a table has deleted count as well.
    #[must_use]
    pub fn rows(mut self, rows: Option<RowSelection>) -> Self {
        self.rows = rows;
        self
    }

    /// All columns of the files, where the first may lack some: the schema of a table. Those that a
    /// file lacks are null in its rows; the types of the others are those of the first file, with
    /// the fields of structs that the schema has, and its types where they are wider.
    #[must_use]
    pub fn schema(mut self, schema: SchemaRef) -> Self {
        (self.schema, self.is_exact) = (Some(schema), false);
        self
    }

    /// All columns of the batches, and their types, whatever the first file has: the schema of a
    /// reader of several files, of which this one reads a part.
    #[must_use]
    pub fn exact_schema(mut self, schema: SchemaRef) -> Self {
        (self.schema, self.is_exact) = (Some(schema), true);
        self
    }

    /// How the columns of the [schema](Self::schema) are found in the files. Unless by their own
    /// names, columns that the schema does not have are not read.
    #[must_use]
    pub fn column_mapping(mut self, mapping: ColumnMapping) -> Self {
        self.mapping = mapping;
        self
    }

    /// Takes the types of partition columns, for a table that has no file with values of them.
    #[cfg(feature = "tables")]
    pub(super) fn take_partitions(&mut self) -> Option<SchemaRef> {
        self.options.partitions.take()
    }

    /// An engine that is already open, instead of the one that the options name. The first of a
    /// chain that does not decline a column decodes it.
    #[must_use]
    pub fn engine(mut self, engine: impl Into<Chain>) -> Self {
        self.engine = Some(engine.into());
        self
    }

    /// Stops everything with [`Error::Cancelled`] once it is true.
    #[must_use]
    pub fn cancel(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.cancel = cancel;
        self
    }

    /// Opens the first of `files`, whose columns are those of all unless
    /// [`late_columns`](ParquetReadOptions::late_columns) says otherwise, and starts decoding.
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
        let options = self.options;
        let engine = match self.engine {
            Some(engine) => engine,
            None => engines::named(&options.engine, options.gpu_memory_bytes_max)?,
        };
        let partitions = options.partitions.iter();
        let partition_types = partitions.flat_map(|types| types.fields().iter().cloned()).collect();
        let batches = ParquetPipeline::builder()
            .options(options.read())
            .limits(options.limits())
            .filter(options.filter)
            .row_groups(options.row_groups)
            .rows(self.rows)
            .partition_types(partition_types)
            .schema(self.schema)
            .exact_schema(self.is_exact)
            .column_mapping(self.mapping)
            .late_columns(options.late_columns)
            .limit(options.limit)
            .threads(options.threads.unwrap_or(0))
            .batch_rows(options.batch_rows)
            .engine(engine)
            .cancel(self.cancel)
            .files(files)
            .start()?;
        Ok(ParquetReader { batches })
    }
}

/// Where the options act: what each step of reading takes of them.
impl ParquetReadOptions {
    /// Which columns of a file are read, and as which types.
    #[must_use]
    pub fn read(&self) -> ReadOptions {
        let mut read = ReadOptions::default();
        read.columns.clone_from(&self.columns);
        read.arrow_schema = self.arrow_schema;
        read.dictionary = self.dictionary.clone();
        read.strings = self.strings;
        read.lists = self.lists;
        read.timestamp_unit = self.timestamp_unit;
        read.verify_checksums = self.verify_checksums;
        read
    }

    /// Limits on sizes that files determine, and on memory.
    #[must_use]
    pub fn limits(&self) -> Limits {
        Limits::default()
            .with_depth_max(self.depth_max)
            .with_memory_bytes_max(self.memory_bytes_max)
            .with_metadata_bytes_max(self.metadata_bytes_max)
            .with_page_bytes_max(self.page_bytes_max)
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
    /// A file that is malformed or cannot be read; [`Error::Cancelled`].
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
