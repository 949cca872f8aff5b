// SPDX-License-Identifier: Apache-2.0
//! The builder of a Parquet pipeline, and its start.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use arrow_schema::{FieldRef, SchemaRef};
use arrowsmith_core::{Error, Limits, Result};
use arrowsmith_engine::Chain;
use arrowsmith_parquet::{ColumnMapping, Pool, Predicate, ReadOptions, RowSelection, row_bytes};
use arrowsmith_source::DataFile;

use super::cursor::Cursor;
use super::late::{self, LateColumns};
use super::prepare::{Prepared, Request};
use super::run::{ParquetBatches, Parts};
use super::schedule::Schedule;
use crate::partition::Partitions;

/// Rows of a batch: a column of 8-byte values is then 1 MiB, which stays in the core's cache.
const BATCH_ROWS: usize = 128 << 10;

/// Minimum rows of a batch of a very wide table.
const BATCH_ROWS_MIN: usize = 1 << 10;

/// The builder of a Parquet pipeline: files, columns, a condition.
#[derive(Default)]
pub struct ParquetPipeline {
    files: Vec<DataFile>,
    options: ReadOptions,
    filter: Option<Predicate>,
    row_groups: Option<Vec<usize>>,
    rows: Option<RowSelection>,
    partition_types: Vec<FieldRef>,
    schema: Option<SchemaRef>,
    mapping: ColumnMapping,
    is_exact: bool,
    late: LateColumns,
    limit: Option<u64>,
    threads: usize,
    batch_rows: Option<usize>,
    engine: Chain,
    limits: Limits,
    cancel: Arc<AtomicBool>,
}

impl ParquetPipeline {
    /// A pipeline without files and an engine, with every option at its default.
    pub fn builder() -> Self {
        Self::default()
    }

    /// Adds files; they are read in the order in which they were added. The first gives the schema.
    #[must_use]
    pub fn files<I>(mut self, files: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<DataFile>,
    {
        self.files.extend(files.into_iter().map(Into::into));
        self
    }

    /// Columns and types. Partition columns may be among the columns; they come last.
    #[must_use]
    pub fn options(mut self, options: ReadOptions) -> Self {
        self.options = options;
        self
    }

    /// Only rows for which this holds. It may name columns that are not read otherwise.
    #[must_use]
    pub fn filter(mut self, filter: Option<Predicate>) -> Self {
        self.filter = filter;
        self
    }

    /// Only these row groups, in this order, of a single file.
    #[must_use]
    pub fn row_groups(mut self, row_groups: Option<Vec<usize>>) -> Self {
        self.row_groups = row_groups;
        self
    }

    /// Only these rows, counted from 0 over all row groups that are read, before any condition.
    #[must_use]
    pub fn rows(mut self, rows: Option<RowSelection>) -> Self {
        self.rows = rows;
        self
    }

    /// Types of partition columns; those of the others are inferred.
    #[must_use]
    pub fn partition_types(mut self, fields: Vec<FieldRef>) -> Self {
        self.partition_types = fields;
        self
    }

    /// All columns of the files, as a table has them, in their order: those that the first file
    /// lacks are columns of the batches, too. The types of the others are those of the first file,
    /// with the fields of structs that the schema has, and its types where they are wider.
    #[must_use]
    pub fn schema(mut self, schema: Option<SchemaRef>) -> Self {
        self.schema = schema;
        self
    }

    /// Whether the columns and types of the batches are exactly those of the
    /// [schema](Self::schema), whatever the first file has, as these files are a part of several.
    #[must_use]
    pub fn exact_schema(mut self, is_exact: bool) -> Self {
        self.is_exact = is_exact;
        self
    }

    /// How the columns of the [schema](Self::schema) are found in the files. Unless by their own
    /// names, columns that the schema does not have are not read.
    #[must_use]
    pub fn column_mapping(mut self, mapping: ColumnMapping) -> Self {
        self.mapping = mapping;
        self
    }

    /// What happens to columns that the first file lacks, unless there is a
    /// [schema](Self::schema).
    #[must_use]
    pub fn late_columns(mut self, late: LateColumns) -> Self {
        self.late = late;
        self
    }

    /// Maximum number of rows.
    #[must_use]
    pub fn limit(mut self, rows: Option<u64>) -> Self {
        self.limit = rows;
        self
    }

    /// Decoder threads; 0, the default, is one for each core. With 1 the caller's own thread
    /// decodes.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Maximum rows of a batch: batches end with row groups, and a condition makes them shorter.
    /// The default is 131072, or fewer for long rows.
    #[must_use]
    pub fn batch_rows(mut self, rows: Option<usize>) -> Self {
        self.batch_rows = rows;
        self
    }

    /// The engines: each column is decoded by the first one of the chain that does not decline it.
    #[must_use]
    pub fn engine(mut self, engine: impl Into<Chain>) -> Self {
        self.engine = engine.into();
        self
    }

    /// Limits on what files may require; `memory_bytes_max` limits the decoded data that waits,
    /// besides the next batch.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Stops everything with [`Error::Cancelled`] once it is true.
    #[must_use]
    pub fn cancel(mut self, cancel: Arc<AtomicBool>) -> Self {
        self.cancel = cancel;
        self
    }

    /// Opens the first file and starts decoding.
    ///
    /// # Errors
    /// [`Error::Config`] for invalid options or missing columns, and errors of the first file.
    /// Errors of the others are returned with the batches.
    pub fn start(self) -> Result<ParquetBatches> {
        if self.batch_rows == Some(0) {
            return Err(Error::Config("batch_rows must be at least 1".to_owned()));
        }
        let partitions = Partitions::new(&self.files, &self.partition_types)?;
        let count = self.files.len();
        let schema = match self.schema {
            None if self.late == LateColumns::Add && count > 1 => {
                let filter = self.filter.as_ref();
                Some(late::union(&self.files, &self.options, filter, &self.limits, &self.cancel)?)
            }
            given => given,
        };
        let fields = schema.iter().flat_map(|schema| schema.fields());
        let places = fields.zip(0..).map(|(field, place)| (field.name().clone(), place)).collect();
        let bytes_stored: Option<u64> =
            self.files.iter().map(|file| file.input.stored_bytes()).sum();
        let mut files = VecDeque::from(self.files);
        let first = files
            .pop_front()
            .ok_or_else(|| Error::Config("there is no file to read".to_owned()))?;
        let request = Arc::new(Request {
            options: self.options,
            filter: self.filter,
            row_groups: self.row_groups,
            rows: self.rows,
            engine: self.engine,
            limits: self.limits,
            partitions,
            mapping: self.mapping,
            is_exact: self.is_exact && schema.is_some(),
            places,
            schema,
            late: self.late,
            many: count > 1,
        });
        let first = Arc::new(Prepared::new(first, &request, None)?);
        Cursor::check(&request, &first)?;
        let threads = match self.threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            given => given,
        };
        let memory = request.limits.memory_bytes_max;
        let batch_rows = self.batch_rows.unwrap_or_else(|| batch_rows(&first, memory));
        let explanation = first.explain(&request, count)?;
        let cursor = Cursor::new(
            Arc::clone(&request),
            Arc::clone(&first),
            files,
            threads,
            batch_rows,
            self.limit,
        );
        ParquetBatches::start(Parts {
            schema: Arc::clone(&first.schema),
            schedule: Schedule::new(cursor, Pool::of(&request.limits), memory, threads),
            threads,
            bytes_total: bytes_total(&first, &request, count, bytes_stored),
            explanation,
            file: first.opened.file.clone(),
            limit: self.limit,
            cancel: self.cancel,
        })
    }
}

/// Rows whose columns take a small part of the memory limit.
fn batch_rows(first: &Prepared, memory: usize) -> usize {
    let file = &first.opened.file;
    let mut rows = 0_usize;
    let mut bytes = 0_usize;
    for group in file.metadata().row_groups() {
        rows = rows.saturating_add(usize::try_from(group.num_rows()).unwrap_or(0));
        for leaf in first.plan().leaves() {
            let chunk = group.columns().get(leaf);
            let uncompressed = chunk.map_or(0, |chunk| chunk.uncompressed_size());
            bytes = bytes.saturating_add(usize::try_from(uncompressed).unwrap_or(0));
        }
    }
    // The stored size may be tiny: a column of nulls still takes its width in memory.
    let fields = first.schema.fields().iter();
    let width = fields.fold(0_usize, |sum, field| sum.saturating_add(row_bytes(field.data_type())));
    let row_bytes = (bytes / rows.max(1)).max(width).max(1);
    (memory / 4 / row_bytes).clamp(BATCH_ROWS_MIN, BATCH_ROWS)
}

/// Stored bytes that will be read; unknown with a condition or a limit.
fn bytes_total(
    first: &Prepared,
    request: &Request,
    files: usize,
    bytes_stored: Option<u64>,
) -> Option<u64> {
    if request.filter.is_some() || request.rows.is_some() {
        return None;
    }
    if files > 1 {
        return bytes_stored.filter(|_| request.options.columns.is_none());
    }
    let file = &first.opened.file;
    let groups = match &request.row_groups {
        Some(groups) => groups.clone(),
        None => (0..file.row_groups()).collect(),
    };
    let mut bytes = 0;
    for group in groups {
        for range in first.plan().ranges(file, group).ok()? {
            bytes += range.end - range.start;
        }
    }
    Some(bytes)
}
