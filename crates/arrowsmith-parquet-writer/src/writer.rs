// SPDX-License-Identifier: Apache-2.0
//! [`ParquetWriter`]: record batches → row groups → a file.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, FieldRef, SchemaRef};
use arrowsmith_core::{Error, Result};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema};
use parquet::basic::ColumnOrder;
use parquet::file::metadata::{
    FileMetaData, KeyValue, ParquetMetaDataBuilder, ParquetMetaDataWriter, RowGroupMetaData,
    SortingColumn,
};

use crate::levels::leaf_bytes;
use crate::number::signed;
use crate::options::{Options, PageVersion, SortedBy};
use crate::pool::{Group, Pool, Workers};
use crate::schema::{Plan, failed};

/// The first bytes of a file; they are its last as well.
const MAGIC: &[u8] = b"PAR1";
/// Row groups that are complete in the input and not yet in the file.
const GROUPS_MAX: usize = 1;

/// What has been written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// Rows of all batches.
    pub rows: u64,
    /// Row groups that they are in.
    pub row_groups: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Writes record batches as a Parquet file.
///
/// Batches are encoded by [`Options::threads`] threads while the next ones are made. A file is
/// complete once [`close`](Self::close) has returned; a writer that is dropped leaves a file that
/// nothing can read.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch};
/// use arrowsmith_parquet_writer::{Options, ParquetWriter};
///
/// let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1, 2])) as _)])?;
/// let options = Options { codec: "zstd:3".parse()?, ..Options::default() };
/// let mut writer = ParquetWriter::try_new(Vec::new(), batch.schema(), options)?;
/// writer.write(&batch)?;
/// let (summary, file) = writer.close()?;
/// assert_eq!((summary.rows, summary.bytes), (2, file.len() as u64));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ParquetWriter<W: Write> {
    sink: W,
    schema: SchemaRef,
    options: Arc<Options>,
    plan: Plan,
    pool: Pool,
    /// The row group that is being filled.
    group: Option<Group>,
    /// Size of its Arrow data.
    group_bytes: u64,
    /// Row groups that have all of their rows, oldest first.
    closed: VecDeque<Group>,
    written: Vec<Written>,
    offset: u64,
    rows: u64,
}

/// A row group in the file.
struct Written {
    metadata: RowGroupMetaData,
    column_indexes: Vec<Vec<u8>>,
    offset_indexes: Vec<Vec<u8>>,
}

impl<W: Write> ParquetWriter<W> {
    /// Starts a file.
    ///
    /// # Errors
    /// [`Error::Schema`] for a type that Parquet does not have, [`Error::Config`] for an option
    /// with an invalid value, [`Error::Io`] if the sink fails or no thread can be started.
    pub fn try_new(sink: W, schema: SchemaRef, options: Options) -> Result<Self> {
        Self::with_workers(sink, schema, Workers::new(options)?)
    }

    /// Starts a file that is encoded by threads that other files may use, too. If the writer of one
    /// fails, so do the others.
    ///
    /// # Errors
    /// As [`Self::try_new`].
    pub fn with_workers(mut sink: W, schema: SchemaRef, workers: Workers) -> Result<Self> {
        let options = Arc::clone(workers.options());
        let plan = Plan::new(&schema, &options)?;
        let pool = Pool::new(workers);
        sink.write_all(MAGIC)?;
        Ok(Self {
            sink,
            schema,
            options,
            plan,
            pool,
            group: None,
            group_bytes: 0,
            closed: VecDeque::new(),
            written: Vec::new(),
            offset: MAGIC.len() as u64,
            rows: 0,
        })
    }

    /// Writes the rows of a batch, which has the schema that the writer was made with; metadata and
    /// names of inner fields may differ.
    ///
    /// # Errors
    /// [`Error::Schema`] for a batch of another schema, or a value that the column cannot hold;
    /// [`Error::Io`] if the sink fails. After an error the writer can only be dropped.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check(batch)?;
        let mut start = 0;
        while start < batch.num_rows() {
            let room = self.options.row_group_rows - self.group.as_ref().map_or(0, |g| g.rows);
            let rows = room.min(batch.num_rows() - start);
            self.push(batch, start..start + rows);
            start += rows;
            let full = self.group.as_ref().is_some_and(|g| g.rows == self.options.row_group_rows);
            if full || self.group_bytes >= self.options.row_group_bytes as u64 {
                self.end_group()?;
            }
            self.pool.relieve()?;
        }
        while self.closed.front().is_some_and(Group::is_complete) {
            self.write_group()?;
        }
        Ok(())
    }

    /// The sink, to look at.
    pub fn sink(&self) -> &W {
        &self.sink
    }

    /// Size of the Arrow data in the row group that is being filled, in bytes. What of it is in
    /// memory has been encoded, except the last batches.
    pub fn group_bytes(&self) -> u64 {
        self.group_bytes
    }

    /// Bytes of the file so far, with the row groups that have ended.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn bytes(&mut self) -> Result<u64> {
        while !self.closed.is_empty() {
            self.write_group()?;
        }
        Ok(self.offset)
    }

    /// Ends the row group with the rows that have been written.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn end_row_group(&mut self) -> Result<()> {
        self.end_group()
    }

    /// Writes what is left and the footer; returns the totals and the sink, flushed.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn close(mut self) -> Result<(Summary, W)> {
        self.end_group()?;
        self.bytes()?;
        self.write_footer()?;
        self.sink.flush()?;
        let summary =
            Summary { rows: self.rows, row_groups: self.written.len() as u64, bytes: self.offset };
        Ok((summary, self.sink))
    }

    fn check(&self, batch: &RecordBatch) -> Result<()> {
        let fields = self.schema.fields();
        if batch.num_columns() != fields.len() {
            let message =
                format!("a batch of {} columns, not {}", batch.num_columns(), fields.len());
            return Err(Error::schema("", message));
        }
        for (field, column) in fields.iter().zip(batch.columns()) {
            if !same_type(field.data_type(), column.data_type()) {
                let message =
                    format!("a batch of {}, not {}", column.data_type(), field.data_type());
                return Err(Error::schema(field.name(), message));
            }
        }
        Ok(())
    }

    fn push(&mut self, batch: &RecordBatch, rows: std::ops::Range<usize>) {
        let (leaves, options) = (&self.plan.leaves, &self.options);
        let group = self.group.get_or_insert_with(|| Group::new(leaves, options));
        group.rows += rows.len();
        self.rows += rows.len() as u64;
        for (leaf, column) in leaves.iter().zip(&group.columns) {
            let array = batch.column(leaf.column);
            let bytes = leaf_bytes(leaf, array, rows.clone());
            self.group_bytes += bytes;
            self.pool.push(column, Arc::clone(array), rows.clone(), bytes);
        }
    }

    fn end_group(&mut self) -> Result<()> {
        let Some(group) = self.group.take() else { return Ok(()) };
        self.group_bytes = 0;
        group.columns.iter().for_each(|column| self.pool.end(column));
        self.closed.push_back(group);
        while self.closed.len() > GROUPS_MAX {
            self.write_group()?;
        }
        Ok(())
    }

    /// Writes the oldest row group, once it is complete.
    fn write_group(&mut self) -> Result<()> {
        let Some(group) = self.closed.pop_front() else { return Ok(()) };
        self.pool.complete(&group)?;
        let start = self.offset;
        let mut metadata = RowGroupMetaData::builder(Arc::clone(&self.plan.descr))
            .set_num_rows(signed(group.rows))
            .set_file_offset(start.cast_signed());
        let sorting = self.sorting();
        if !sorting.is_empty() {
            metadata = metadata.set_sorting_columns(Some(sorting));
        }
        if let Ok(ordinal) = i16::try_from(self.written.len()) {
            metadata = metadata.set_ordinal(ordinal);
        }
        let (mut column_indexes, mut offset_indexes) = (Vec::new(), Vec::new());
        let mut plain_bytes = 0;
        let mut described_chunks = Vec::with_capacity(group.columns.len());
        for (leaf, column) in self.plan.leaves.iter().zip(&group.columns) {
            let chunk = column.take();
            let described = chunk.describe(leaf, &self.options, self.offset)?;
            for page in &chunk.pages {
                self.sink.write_all(&page.header)?;
                self.sink.write_all(&page.body)?;
                self.offset += page.bytes() as u64;
            }
            plain_bytes += described.metadata.uncompressed_size();
            described_chunks.push((described.metadata, chunk.bloom));
            column_indexes.push(described.column_index);
            offset_indexes.push(described.offset_index);
        }
        for (chunk, bloom) in described_chunks {
            let Some(bloom) = bloom else {
                metadata = metadata.add_column_metadata(chunk);
                continue;
            };
            let chunk = chunk
                .into_builder()
                .set_bloom_filter_offset(Some(self.offset.cast_signed()))
                .set_bloom_filter_length(i32::try_from(bloom.len()).ok());
            metadata = metadata.add_column_metadata(chunk.build().map_err(failed)?);
            self.sink.write_all(&bloom)?;
            self.offset += bloom.len() as u64;
        }
        let metadata = metadata.set_total_byte_size(plain_bytes).build().map_err(failed)?;
        self.written.push(Written { metadata, column_indexes, offset_indexes });
        Ok(())
    }

    /// The order of the rows, as far as it is by flat columns.
    fn sorting(&self) -> Vec<SortingColumn> {
        let columns = self.plan.descr.columns();
        let flat = |sorted: &SortedBy| {
            let is_it = |parts: &[String]| parts == std::slice::from_ref(&sorted.column);
            let at = columns.iter().position(|column| is_it(column.path().parts()))?;
            Some(SortingColumn {
                column_idx: i32::try_from(at).ok()?,
                descending: sorted.descending,
                nulls_first: sorted.nulls_first,
            })
        };
        self.options.sorted_by.iter().map_while(flat).collect()
    }

    /// Writes the indexes of all chunks; returns the metadata with where they are.
    fn write_indexes(&mut self) -> Result<Vec<RowGroupMetaData>> {
        let mut groups = Vec::with_capacity(self.written.len());
        let mut places: Vec<Vec<Place>> = Vec::with_capacity(self.written.len());
        let statistics = self.options.statistics;
        for written in &self.written {
            let mut group = Vec::with_capacity(written.column_indexes.len());
            for index in &written.column_indexes {
                let offset = self.offset;
                if statistics && !index.is_empty() {
                    self.sink.write_all(index)?;
                    self.offset += index.len() as u64;
                    group.push(Place { column: place(offset, index.len()), ..Place::default() });
                } else {
                    group.push(Place::default());
                }
            }
            places.push(group);
        }
        for (written, places) in self.written.iter().zip(places) {
            let mut columns = Vec::with_capacity(places.len());
            let chunks = written.metadata.columns().iter().zip(&written.offset_indexes).zip(places);
            for ((chunk, index), mut place_of) in chunks {
                let offset = self.offset;
                self.sink.write_all(index)?;
                self.offset += index.len() as u64;
                place_of.offset = place(offset, index.len());
                let chunk = chunk.clone().into_builder();
                let chunk = chunk
                    .set_column_index_offset(place_of.column.map(|(offset, _)| offset))
                    .set_column_index_length(place_of.column.map(|(_, bytes)| bytes))
                    .set_offset_index_offset(place_of.offset.map(|(offset, _)| offset))
                    .set_offset_index_length(place_of.offset.map(|(_, bytes)| bytes));
                columns.push(chunk.build().map_err(failed)?);
            }
            let group = written.metadata.clone().into_builder().set_column_metadata(columns);
            groups.push(group.build().map_err(failed)?);
        }
        Ok(groups)
    }

    fn write_footer(&mut self) -> Result<()> {
        let groups = self.write_indexes()?;
        let version = match self.options.page_version {
            PageVersion::V1 => 1,
            PageVersion::V2 => 2,
        };
        let stored = &self.plan.stored;
        let mut pairs: Vec<KeyValue> = stored
            .metadata()
            .iter()
            .map(|(key, value)| KeyValue::new(key.clone(), value.clone()))
            .collect();
        pairs.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        pairs.push(KeyValue::new(ARROW_SCHEMA_META_KEY.to_owned(), encode_arrow_schema(stored)));
        let orders = self.plan.descr.columns().iter().map(|column| {
            ColumnOrder::TYPE_DEFINED_ORDER(ColumnOrder::sort_order_for_type(
                column.logical_type_ref(),
                column.converted_type(),
                column.physical_type(),
            ))
        });
        let file = FileMetaData::new(
            version,
            self.rows.cast_signed(),
            Some(self.options.created_by.clone()),
            Some(pairs),
            Arc::clone(&self.plan.descr),
            Some(orders.collect()),
        );
        let metadata = ParquetMetaDataBuilder::new(file).set_row_groups(groups).build();
        let mut footer = Vec::new();
        ParquetMetaDataWriter::new(&mut footer, &metadata).finish().map_err(failed)?;
        self.sink.write_all(&footer)?;
        self.offset += footer.len() as u64;
        Ok(())
    }
}

/// Where the indexes of a chunk are: offset and length.
#[derive(Default)]
struct Place {
    column: Option<(i64, i32)>,
    offset: Option<(i64, i32)>,
}

fn place(offset: u64, bytes: usize) -> Option<(i64, i32)> {
    Some((offset.cast_signed(), i32::try_from(bytes).ok()?))
}

/// Whether two types have the same values in the same layout: names and metadata of inner fields
/// may differ.
fn same_type(a: &DataType, b: &DataType) -> bool {
    use DataType as T;
    let same = |a: &FieldRef, b: &FieldRef| same_type(a.data_type(), b.data_type());
    match (a, b) {
        (T::Struct(a), T::Struct(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (T::List(a), T::List(b))
        | (T::LargeList(a), T::LargeList(b))
        | (T::ListView(a), T::ListView(b))
        | (T::LargeListView(a), T::LargeListView(b)) => same(a, b),
        (T::FixedSizeList(a, size), T::FixedSizeList(b, other)) => size == other && same(a, b),
        (T::Map(a, _), T::Map(b, _)) => same(a, b),
        _ => a == b,
    }
}
