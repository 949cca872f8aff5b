// SPDX-License-Identifier: Apache-2.0
//! [`ParquetWriter`]: record batches → row groups → a file.

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, new_null_array};
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use arrowsmith_core::{Error, Result};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema};
use parquet::basic::ColumnOrder;
use parquet::file::metadata::{
    FileMetaData, KeyValue, ParquetMetaDataBuilder, ParquetMetaDataWriter, RowGroupMetaData,
    SortingColumn,
};

use crate::chunk::{Chunk, Described};
use crate::levels::leaf_bytes;
use crate::number::signed;
use crate::options::{Options, PageVersion, SortedBy};
use crate::pool::{Column, Group, Pool, Workers};
use crate::schema::{Leaf, Plan, failed, with_keys_for};

/// The first bytes of a file; they are its last as well.
const MAGIC: &[u8] = b"PAR1";
/// Row groups that are complete in the input and not yet in the file.
const GROUPS_MAX: usize = 1;
const COPY_BYTES: usize = 1 << 20;
/// Rows of nulls at a time: an array of them takes as much memory as one of values.
const NULLS: usize = 1 << 12;

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
    /// Whether the columns have had any value.
    has_values: Vec<bool>,
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
    rows: usize,
    start: u64,
    /// By leaf; `None` for columns that have become known since.
    chunks: Vec<Option<Placed>>,
}

/// A column chunk in the file.
struct Placed {
    described: Described,
    start: u64,
    /// Where its bloom filter is: offset and length.
    bloom: Option<(u64, usize)>,
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
            has_values: vec![false; schema.fields().len()],
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

    /// Goes on with a wider schema: it has all columns so far, in any order, and others that are
    /// nullable, and null in the rows so far. A column that has had nulls only may have another
    /// type. The file is the same as if all batches had had the schema. Returns whether it goes on;
    /// if not, nothing has changed.
    ///
    /// After the first row group that needs [`Self::complete`], and without `completable` it is
    /// `false`.
    ///
    /// # Errors
    /// As [`Self::try_new`].
    pub fn widen(&mut self, schema: SchemaRef, completable: bool) -> Result<bool> {
        let has_groups = !self.closed.is_empty() || !self.written.is_empty();
        if has_groups && !completable {
            return Ok(false);
        }
        let Some(places) = self.places(&schema) else { return Ok(false) };
        let plan = Plan::new(&schema, &self.options)?;
        self.bytes()?;
        for written in &mut self.written {
            let chunks = std::mem::take(&mut written.chunks);
            let moved = moved(&self.plan, chunks, &places, &plan);
            written.chunks = moved.into_iter().map(Option::flatten).collect();
        }
        if let Some(group) = &mut self.group {
            let columns = std::mem::take(&mut group.columns);
            let before = columns.len();
            let moved = moved(&self.plan, columns, &places, &plan);
            let kept = moved.iter().flatten().count();
            (kept..before).for_each(|_| group.remove());
            for (leaf, column) in plan.leaves.iter().zip(moved) {
                let column = column.unwrap_or_else(|| {
                    let column = group.add(leaf, &self.options);
                    let kind = schema.field(leaf.column).data_type();
                    push_nulls(&self.pool, leaf, kind, &column, group.rows);
                    column
                });
                group.columns.push(column);
            }
        }
        let mut has_values = vec![false; schema.fields().len()];
        for (at, had) in places.into_iter().zip(&self.has_values) {
            if let Some(at) = at {
                has_values[at] = *had;
            }
        }
        (self.plan, self.schema, self.has_values) = (plan, schema, has_values);
        self.pool.relieve()?;
        Ok(true)
    }

    /// Whether row groups lack columns that became known after them, so that [`Self::complete`] has
    /// to be called before [`Self::close`].
    pub fn is_incomplete(&self) -> bool {
        self.written.iter().any(|group| group.chunks.iter().any(Option::is_none))
    }

    /// Writes the file again, with all columns in all row groups. `again` starts the sink again,
    /// and returns what has been written to it, to be read. Encoded columns are copied.
    ///
    /// # Errors
    /// As [`Self::write`], and those of `again`.
    pub fn complete<R: Read + Seek>(
        &mut self,
        again: impl FnOnce(&mut W) -> io::Result<R>,
    ) -> Result<()> {
        self.end_group()?;
        self.bytes()?;
        let mut written = again(&mut self.sink)?;
        self.offset = 0;
        self.append(MAGIC)?;
        for group in std::mem::take(&mut self.written) {
            self.copy_group(group, &mut written)?;
        }
        Ok(())
    }

    /// Size of the Arrow data in the row group that is being filled, in bytes, without columns of
    /// batches that have nulls only. What of it is in memory has been encoded, except the last
    /// batches.
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
    /// As [`Self::write`]; [`Error::Config`] if it is [incomplete](Self::is_incomplete).
    pub fn close(mut self) -> Result<(Summary, W)> {
        self.end_group()?;
        self.bytes()?;
        self.write_footer()?;
        self.sink.flush()?;
        let summary =
            Summary { rows: self.rows, row_groups: self.written.len() as u64, bytes: self.offset };
        Ok((summary, self.sink))
    }

    /// Where the columns are in a wider schema; in it `None` for those that begin again, as they
    /// have another type. `None` if it is not wider.
    fn places(&self, wider: &Schema) -> Option<Vec<Option<usize>>> {
        let mut is_new = vec![true; wider.fields().len()];
        let mut found = vec![false; wider.fields().len()];
        let mut places = Vec::with_capacity(self.has_values.len());
        for (field, has_values) in self.schema.fields().iter().zip(&self.has_values) {
            let (at, same) = wider.fields().find(field.name())?;
            let is_same = same == field;
            if std::mem::replace(&mut found[at], true) || (*has_values && !is_same) {
                return None;
            }
            is_new[at] = !is_same;
            places.push(is_same.then_some(at));
        }
        let mut new = wider.fields().iter().zip(is_new).filter(|(_, is_new)| *is_new);
        new.all(|(field, _)| field.is_nullable() || self.rows == 0).then_some(places)
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
            // Nulls alone count nothing, so that row groups end at the same rows wherever the
            // column becomes known.
            if array.null_count() < array.len() {
                self.group_bytes += bytes;
                self.has_values[leaf.column] = true;
            }
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
        let (mut chunks, mut blooms) = (Vec::new(), Vec::new());
        for (leaf, column) in self.plan.leaves.clone().iter().zip(&group.columns) {
            let chunk = column.take();
            chunks.push(self.write_chunk(leaf, &chunk)?);
            blooms.push(chunk.bloom);
        }
        self.end_written(group.rows, start, chunks, blooms)
    }

    /// Copies a row group, and adds columns that it lacks.
    fn copy_group(&mut self, group: Written, from: &mut (impl Read + Seek)) -> Result<()> {
        let leaves = self.plan.leaves.clone();
        let lacking = leaves.iter().zip(&group.chunks).filter(|(_, chunk)| chunk.is_none());
        let lacking: Vec<Arc<Leaf>> = lacking.map(|(leaf, _)| Arc::clone(leaf)).collect();
        let added = Group::new(&lacking, &self.options);
        for (leaf, column) in lacking.iter().zip(&added.columns) {
            let kind = self.schema.field(leaf.column).data_type();
            push_nulls(&self.pool, leaf, kind, column, group.rows);
            self.pool.end(column);
        }
        self.pool.complete(&added)?;
        let mut added = added.columns.iter();
        let start = self.offset;
        let (mut chunks, mut blooms) = (Vec::new(), Vec::new());
        for (leaf, chunk) in leaves.iter().zip(group.chunks) {
            if let Some(chunk) = chunk {
                let start = self.offset;
                self.copy(from, chunk.start, chunk.described.bytes)?;
                blooms.push(chunk.bloom.map(|(at, bytes)| read(from, at, bytes)).transpose()?);
                chunks.push(Placed { start, bloom: None, ..chunk });
            } else if let Some(column) = added.next() {
                let chunk = column.take();
                chunks.push(self.write_chunk(leaf, &chunk)?);
                blooms.push(chunk.bloom);
            }
        }
        self.end_written(group.rows, start, chunks, blooms)
    }

    /// Writes the bloom filters of a row group, and remembers where it is.
    fn end_written(
        &mut self,
        rows: usize,
        start: u64,
        mut chunks: Vec<Placed>,
        blooms: Vec<Option<Vec<u8>>>,
    ) -> Result<()> {
        for (chunk, bloom) in chunks.iter_mut().zip(blooms) {
            if let Some(bloom) = bloom {
                chunk.bloom = Some(self.append(&bloom)?);
            }
        }
        let chunks = chunks.into_iter().map(Some).collect();
        self.written.push(Written { rows, start, chunks });
        Ok(())
    }

    fn write_chunk(&mut self, leaf: &Leaf, chunk: &Chunk) -> Result<Placed> {
        let described = chunk.describe(leaf, &self.options)?;
        let start = self.offset;
        for page in &chunk.pages {
            self.append(&page.header)?;
            self.append(&page.body)?;
        }
        Ok(Placed { described, start, bloom: None })
    }

    /// Writes bytes; returns where they are.
    fn append(&mut self, bytes: &[u8]) -> Result<(u64, usize)> {
        let place = (self.offset, bytes.len());
        self.sink.write_all(bytes)?;
        self.offset += bytes.len() as u64;
        Ok(place)
    }

    /// Writes what is in another file.
    fn copy(&mut self, from: &mut (impl Read + Seek), start: u64, bytes: u64) -> Result<()> {
        from.seek(SeekFrom::Start(start))?;
        let mut part = BufReader::with_capacity(COPY_BYTES, from.take(bytes));
        let copied = io::copy(&mut part, &mut self.sink)?;
        if copied != bytes {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        self.offset += bytes;
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
    fn write_indexes(&mut self, written: &[Written]) -> Result<Vec<RowGroupMetaData>> {
        let lacking = || Error::Config("row groups lack columns: complete them first".to_owned());
        let mut groups = Vec::with_capacity(written.len());
        for group in written {
            let chunks: Option<Vec<&Placed>> = group.chunks.iter().map(Option::as_ref).collect();
            groups.push((group, chunks.ok_or_else(lacking)?));
        }
        let mut column_indexes = Vec::new();
        for chunk in groups.iter().flat_map(|(_, chunks)| chunks) {
            let index = &chunk.described.column_index;
            let is_there = self.options.statistics && !index.is_empty();
            column_indexes.push(is_there.then(|| self.append(index)).transpose()?);
        }
        let mut column_indexes = column_indexes.into_iter();
        let mut described = Vec::with_capacity(groups.len());
        for (number, (group, chunks)) in groups.into_iter().enumerate() {
            let plain_bytes = chunks.iter().map(|chunk| chunk.described.plain_bytes()).sum();
            let mut metadata = RowGroupMetaData::builder(Arc::clone(&self.plan.descr))
                .set_num_rows(signed(group.rows))
                .set_total_byte_size(plain_bytes)
                .set_file_offset(group.start.cast_signed());
            let sorting = self.sorting();
            if !sorting.is_empty() {
                metadata = metadata.set_sorting_columns(Some(sorting));
            }
            if let Ok(ordinal) = i16::try_from(number) {
                metadata = metadata.set_ordinal(ordinal);
            }
            for chunk in chunks {
                let index = self.append(&chunk.described.offset_index_at(chunk.start))?;
                let column_index = column_indexes.next().flatten().and_then(in_footer);
                let (offset_index, bloom) = (in_footer(index), chunk.bloom.and_then(in_footer));
                let chunk = chunk
                    .described
                    .metadata_at(chunk.start)
                    .set_column_index_offset(column_index.map(|(offset, _)| offset))
                    .set_column_index_length(column_index.map(|(_, bytes)| bytes))
                    .set_offset_index_offset(offset_index.map(|(offset, _)| offset))
                    .set_offset_index_length(offset_index.map(|(_, bytes)| bytes))
                    .set_bloom_filter_offset(bloom.map(|(offset, _)| offset))
                    .set_bloom_filter_length(bloom.map(|(_, bytes)| bytes));
                metadata = metadata.add_column_metadata(chunk.build().map_err(failed)?);
            }
            described.push(metadata.build().map_err(failed)?);
        }
        Ok(described)
    }

    fn write_footer(&mut self) -> Result<()> {
        let written = std::mem::take(&mut self.written);
        let groups = self.write_indexes(&written)?;
        self.written = written;
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
        let distinct = |at: usize| {
            let chunks = self.written.iter().filter_map(|group| group.chunks.get(at)?.as_ref());
            chunks.map(|chunk| chunk.described.distinct_max).sum()
        };
        let counts = (0..self.plan.leaves.len()).map(distinct).collect();
        let told = with_keys_for(stored, counts);
        pairs.push(KeyValue::new(ARROW_SCHEMA_META_KEY.to_owned(), encode_arrow_schema(&told)));
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
        self.append(&footer)?;
        Ok(())
    }
}

/// A place as the footer has it.
fn in_footer((offset, bytes): (u64, usize)) -> Option<(i64, i32)> {
    Some((offset.cast_signed(), i32::try_from(bytes).ok()?))
}

/// What there is for each leaf of a plan, for those of a wider one.
fn moved<T>(from: &Plan, items: Vec<T>, places: &[Option<usize>], to: &Plan) -> Vec<Option<T>> {
    let mut by_column: HashMap<usize, VecDeque<T>> = HashMap::new();
    for (leaf, item) in from.leaves.iter().zip(items) {
        if let Some(at) = places[leaf.column] {
            by_column.entry(at).or_default().push_back(item);
        }
    }
    let next = |leaf: &Arc<Leaf>| by_column.get_mut(&leaf.column)?.pop_front();
    to.leaves.iter().map(next).collect()
}

/// Pushes nulls for the rows in which a column was not known.
fn push_nulls(pool: &Pool, leaf: &Leaf, kind: &DataType, column: &Arc<Column>, rows: usize) {
    let nulls = new_null_array(kind, rows.min(NULLS));
    for start in (0..rows).step_by(NULLS) {
        let rows = NULLS.min(rows - start);
        let bytes = leaf_bytes(leaf, &nulls, 0..rows);
        pool.push(column, Arc::clone(&nulls), 0..rows, bytes);
    }
}

fn read(from: &mut (impl Read + Seek), start: u64, bytes: usize) -> io::Result<Vec<u8>> {
    from.seek(SeekFrom::Start(start))?;
    let mut found = Vec::new();
    from.take(bytes as u64).read_to_end(&mut found)?;
    if found.len() != bytes {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
    }
    Ok(found)
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
