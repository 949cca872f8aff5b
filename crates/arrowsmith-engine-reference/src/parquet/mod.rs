// SPDX-License-Identifier: Apache-2.0
//! The `parquet` crate as a decoder of columns: the `reference` engine, and the fallback for
//! columns that engine `cpu` declines.
//!
//! It decodes what a [`ReadPlan`](arrowsmith_parquet::ReadPlan) says, to the plan's types, where
//! the crate can: what it reads as another type is cast, and a value that does not fit is an error.
//! It does no I/O beyond the bytes that the file provides, and starts no threads.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{Array, ArrayRef, RecordBatch, new_empty_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::ArrowError;
use arrow_select::concat::concat;
use arrowsmith_core::{Error, FileErrorKind, Result};
use arrowsmith_engine::{ColumnDecoder, ColumnRequest};
use arrowsmith_parquet::footer::from_parquet;
use arrowsmith_parquet::{
    Column, File, ReadOptions, RowSelection, Share, corrected_chunk, row_bytes,
};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder, RowSelection as CrateSelection, RowSelector,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, Length};

mod months;
mod precheck;

/// Maximum rows that are decoded at once.
const ROWS_MAX: usize = 1 << 20;

/// Rows of strings or lists that are decoded at once: their size is unknown.
const ROWS_OF_ANY_SIZE: usize = 256;

/// Bytes of rows of one width that are decoded at once.
const ROWS_BYTES: usize = 64 << 20;

/// A file as the `parquet` crate understands it, made once for all its columns.
#[derive(Debug, Clone)]
pub struct Reader {
    metadata: ArrowReaderMetadata,
    /// The same with the months of intervals, which are omitted otherwise, if there are any.
    months: Option<ArrowReaderMetadata>,
}

impl Reader {
    /// Maps the schema.
    ///
    /// # Errors
    /// A schema that the crate rejects.
    pub fn new(file: &File, options: &ReadOptions) -> Result<Self> {
        // The crate panics on a schema that is not Arrow's.
        let follow = options.arrow_schema && file.has_arrow_schema();
        let ours = ArrowReaderOptions::new().with_skip_arrow_metadata(!follow);
        let made = |options| {
            let metadata = ArrowReaderMetadata::try_new(Arc::clone(file.metadata()), options);
            metadata.map_err(|error| named(file, from_parquet(error)))
        };
        let metadata = made(ours)?;
        let months = months::schema(metadata.schema())
            .map(|schema| made(ArrowReaderOptions::new().with_schema(Arc::new(schema))));
        Ok(Self { metadata, months: months.transpose()? })
    }

    /// Starts decoding one column of a row group of this file, from the bytes that are in memory.
    ///
    /// # Errors
    /// A column chunk that is encrypted or not where its metadata says, and what the crate refuses.
    pub(crate) fn field(&self, request: &ColumnRequest<'_>) -> Result<FieldDecoder> {
        let ColumnRequest { file, row_group, column, selection, budget, .. } = *request;
        let rows = file.row_group_rows(row_group)?;
        let mut ranges = Vec::new();
        for leaf in column.leaves() {
            ranges.push(file.chunk_range(row_group, leaf.index)?);
        }
        let place = Place { file: file.clone(), row_group, column: column.clone() };
        let width = row_bytes(column.data_type()).max(1);
        if width > budget.bytes_max() {
            return Err(place.name(budget.exceeded(width)));
        }
        let file = &file.loaded(&ranges)?;
        let (mut corrected, mut page_bytes) = (Vec::new(), 0_usize);
        for (leaf, range) in column.leaves().into_iter().zip(&ranges) {
            let bytes = precheck::check(file, row_group, leaf, budget)?;
            page_bytes = page_bytes.saturating_add(bytes);
            let bytes = corrected_chunk(file, row_group, leaf.index)?;
            corrected.extend(bytes.map(|bytes| (range.start, bytes)));
        }
        let mut share = budget.share();
        share.grow(page_bytes).map_err(|error| place.name(error))?;
        let any = column.leaves().iter().any(|leaf| {
            leaf.max_rep > 0 || leaf.physical == arrowsmith_parquet::Physical::BYTE_ARRAY
        });
        let most = if any { ROWS_OF_ANY_SIZE } else { ROWS_MAX };
        let most = most.min(ROWS_BYTES / width).max(1);
        let source = Chunks { file: file.clone(), ranges, corrected: corrected.into() };
        let rows_at_once = request.batch_rows.clamp(1, most);
        let made = |metadata| {
            let made = reader(request, rows, rows_at_once, source.clone(), metadata);
            made.map_err(|error| place.name(from_parquet(error)))
        };
        let reader = made(&self.metadata)?;
        let months = self.months.as_ref().filter(|_| months::omits_months(column.data_type()));
        let months = months.map(made).transpose()?;
        Ok(FieldDecoder {
            reader,
            months,
            place,
            rows_left: selection.map_or(rows, RowSelection::rows),
            pending: VecDeque::new(),
            rows_pending: 0,
            share,
            page_bytes,
        })
    }
}

/// The crate's reader of one column.
fn reader(
    request: &ColumnRequest<'_>,
    rows: usize,
    rows_at_once: usize,
    source: Chunks,
    metadata: &ArrowReaderMetadata,
) -> parquet::errors::Result<ParquetRecordBatchReader> {
    let leaves = request.column.leaves().into_iter().map(|leaf| leaf.index);
    let schema = metadata.metadata().file_metadata().schema_descr();
    let mask = ProjectionMask::leaves(schema, leaves);
    let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(source, metadata.clone())
        .with_projection(mask)
        .with_row_groups(vec![request.row_group])
        .with_batch_size(rows_at_once);
    if let Some(selection) = request.selection {
        builder = builder.with_row_selection(crate_selection(selection, rows));
    }
    builder.build()
}

/// The crate's view of the last file, for all its columns.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    last: Mutex<Option<(Arc<ParquetMetaData>, bool, Reader)>>,
}

impl Readers {
    /// The view of a file, rebuilt if the last one was of another file.
    pub(crate) fn of(&self, file: &File, options: &ReadOptions) -> Result<Reader> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((metadata, schema, reader)) = last.as_ref()
            && Arc::ptr_eq(metadata, file.metadata())
            && *schema == options.arrow_schema
        {
            return Ok(reader.clone());
        }
        let reader = Reader::new(file, options)?;
        *last = Some((Arc::clone(file.metadata()), options.arrow_schema, reader.clone()));
        Ok(reader)
    }
}

impl ColumnDecoder for FieldDecoder {
    fn next(&mut self, rows: usize) -> Result<ArrayRef> {
        Self::next(self, rows)
    }

    fn next_within(&mut self, rows: usize, bytes_max: usize) -> Result<ArrayRef> {
        Self::next_within(self, rows, bytes_max)
    }
}

/// One column of one row group, decoded piece by piece.
pub struct FieldDecoder {
    reader: ParquetRecordBatchReader,
    /// The same rows with the months that `reader` omits from intervals.
    months: Option<ParquetRecordBatchReader>,
    place: Place,
    /// Rows that were not handed out yet.
    rows_left: usize,
    /// What is decoded and was not handed out yet.
    pending: VecDeque<ArrayRef>,
    rows_pending: usize,
    /// The share of the columns' budget that pages and pending arrays have taken.
    share: Share,
    page_bytes: usize,
}

impl FieldDecoder {
    /// The next `rows` rows, or as many as are left.
    ///
    /// # Errors
    /// A file that is malformed, or holds what the crate does not read.
    pub fn next(&mut self, rows: usize) -> Result<ArrayRef> {
        self.next_within(rows, usize::MAX)
    }

    /// As [`FieldDecoder::next`], but fewer rows where `rows` would take up much more than
    /// `bytes_max` bytes.
    ///
    /// # Errors
    /// As [`FieldDecoder::next`].
    pub fn next_within(&mut self, rows: usize, bytes_max: usize) -> Result<ArrayRef> {
        let mut rows = rows.min(self.rows_left);
        let mut bytes = 0_usize;
        while self.rows_pending < rows {
            let array = self.decode()?;
            bytes = bytes.saturating_add(array.get_array_memory_size());
            self.share.set(self.page_bytes.saturating_add(bytes))?;
            self.rows_pending += array.len();
            self.pending.push_back(array);
            if bytes >= bytes_max {
                rows = rows.min(self.rows_pending);
            }
        }
        self.rows_left -= rows;
        self.rows_pending -= rows;
        self.share.set(self.page_bytes)?;
        let mut parts = Vec::new();
        let mut missing = rows;
        while missing > 0 {
            let Some(array) = self.pending.pop_front() else { break };
            let taken = missing.min(array.len());
            if taken < array.len() {
                self.pending.push_front(array.slice(taken, array.len() - taken));
            }
            parts.push(array.slice(0, taken));
            missing -= taken;
        }
        match parts.len() {
            0 => Ok(new_empty_array(self.place.column.data_type())),
            1 => Ok(parts.remove(0)),
            _ => {
                let parts: Vec<&dyn Array> = parts.iter().map(|part| &**part).collect();
                Ok(concat(&parts)?)
            }
        }
    }

    /// The crate's next array, in the plan's type.
    fn decode(&mut self) -> Result<ArrayRef> {
        let batch: RecordBatch = match self.reader.next() {
            Some(batch) => batch.map_err(|error| self.place.name(from_arrow(error)))?,
            None => {
                let message = "fewer rows than the row group says";
                return Err(self.place.name(Error::file(FileErrorKind::Corrupt, message)));
            }
        };
        let months = self.months.as_mut().and_then(Iterator::next).transpose();
        if let Some(months) = months.map_err(|error| self.place.name(from_arrow(error)))? {
            months::check(&months).map_err(|error| self.place.name(error))?;
        }
        let found = batch.num_columns();
        let array = batch.columns().first().ok_or_else(|| {
            let message = format!("{found} columns where one was expected");
            self.place.name(Error::file(FileErrorKind::Corrupt, message))
        })?;
        let target = self.place.column.data_type();
        if array.data_type() == target {
            return Ok(Arc::clone(array));
        }
        let options = CastOptions { safe: false, ..CastOptions::default() };
        cast_with_options(array, target, &options).map_err(|error| {
            let message = format!("cannot be read as {target}: {error}");
            self.place.name(Error::file(FileErrorKind::Unsupported, message))
        })
    }
}

/// The position of a decoder, for errors.
struct Place {
    file: File,
    row_group: usize,
    column: Column,
}

impl Place {
    fn name(&self, error: Error) -> Error {
        match self.column.leaves().first() {
            Some(leaf) => self.file.place(error, self.row_group, leaf.index),
            None => error,
        }
    }
}

fn named(file: &File, error: Error) -> Error {
    error.at(|place| place.source = file.name().cloned())
}

fn crate_selection(selection: &RowSelection, rows: usize) -> CrateSelection {
    let mut selectors = Vec::with_capacity(2 * selection.ranges().len() + 1);
    let mut at = 0;
    for range in selection.ranges() {
        if range.start > at {
            selectors.push(RowSelector::skip(range.start - at));
        }
        selectors.push(RowSelector::select(range.len()));
        at = range.end;
    }
    if at < rows {
        selectors.push(RowSelector::skip(rows - at));
    }
    CrateSelection::from(selectors)
}

/// The column chunks of one field, as the crate reads them.
#[derive(Clone)]
struct Chunks {
    file: File,
    ranges: Vec<Range<u64>>,
    /// Chunks that are read with other bytes than the file has, and where they begin.
    corrected: Arc<[(u64, Bytes)]>,
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.file.file_bytes()
    }
}

impl Chunks {
    fn slice(&self, range: Range<u64>) -> parquet::errors::Result<Bytes> {
        for (start, bytes) in self.corrected.iter() {
            let part = range.start.checked_sub(*start).zip(range.end.checked_sub(*start));
            if let Some((from, to)) = part.filter(|(from, to)| from <= to)
                && let (Ok(from), Ok(to)) = (usize::try_from(from), usize::try_from(to))
                && to <= bytes.len()
            {
                return Ok(bytes.slice(from..to));
            }
        }
        self.file.slice(range).map_err(|error| ParquetError::EOF(error.to_string()))
    }
}

impl ChunkReader for Chunks {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        let chunk = self.ranges.iter().find(|range| range.contains(&start));
        let end = chunk.map_or(start, |range| range.end);
        Ok(Box::new(io::Cursor::new(self.slice(start..end)?)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        self.slice(start..start.saturating_add(length as u64))
    }
}

fn from_arrow(error: ArrowError) -> Error {
    match error {
        ArrowError::ParquetError(message) => Error::file(FileErrorKind::Corrupt, message),
        other => Error::file(FileErrorKind::Corrupt, other.to_string()),
    }
}
