// SPDX-License-Identifier: Apache-2.0
//! One field of one row group: its leaves, page by page → one Arrow array per batch.

use arrow_array::{Array, ArrayRef};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrowsmith_core::{Error, FileErrorKind, Result};
use arrowsmith_engine::{ColumnDecoder, ColumnRequest, Declined};
use arrowsmith_parquet::nest::{Leaves, Nest};
use arrowsmith_parquet::{Budget, Column, File, ReadOptions, RowSelection};
use arrowsmith_simd::Level;

use super::leaf::LeafDecoder;
use super::{corrupt, values};

/// How columns are decoded.
#[derive(Debug, Clone, Copy)]
pub struct ColumnOptions {
    /// The instruction set.
    pub level: Level,
    /// Verify the checksums of pages that have one.
    pub verify_checksums: bool,
}

impl Default for ColumnOptions {
    /// With the best instruction set of this CPU, or the one that `ARROWSMITH_CPU` names.
    fn default() -> Self {
        Self { level: Level::get(), verify_checksums: false }
    }
}

/// Checks whether this engine decodes a column.
///
/// # Errors
/// [`Declined`] says what in it is not supported.
pub fn check(column: &Column) -> Result<(), Declined> {
    decodes(column).map_err(|reason| Declined::new(column.field().name(), reason))
}

fn decodes(column: &Column) -> Result<(), String> {
    let within = |level: u16| match u8::try_from(level) {
        Ok(_) => Ok(()),
        Err(_) => Err("it is nested more than 255 levels deep".to_owned()),
    };
    match column {
        Column::Leaf(leaf) => {
            within(leaf.max_def.max(leaf.max_rep))?;
            values::of(leaf, Level::get(), usize::MAX).map(|_| ())
        }
        Column::List(list) => decodes(&list.item),
        Column::Map(map) => decodes(&map.key).and_then(|()| decodes(&map.value)),
        Column::Struct(structure) if structure.children.is_empty() => {
            Err("a structure without columns".to_owned())
        }
        Column::Struct(structure) => structure.children.iter().try_for_each(decodes),
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

/// Maximum rows that are decoded between two checks of their size, where rows are not of one width.
const STEP_ROWS: usize = 8192;

/// Decodes one field of one row group, batch by batch.
pub struct FieldDecoder {
    leaves: Decoded,
    nest: Nest,
    selection: Vec<std::ops::Range<usize>>,
    /// The range that comes next, and how many of its rows are taken.
    range: usize,
    taken: usize,
    rows_left: usize,
    /// Bytes of a row; `None` where rows are not of one width.
    row_bytes: Option<usize>,
    /// Rows to decode before their size is checked: few at first, more when they are small.
    step: usize,
    /// Whether an error has left the leaves at different rows.
    failed: bool,
    place: (File, usize, usize),
}

impl FieldDecoder {
    /// Over one field of a row group: the rows of `selection`, or all.
    ///
    /// # Errors
    /// A column that [`check`] declines, or a column chunk that is encrypted or not where its
    /// metadata says.
    pub fn new(
        file: &File,
        row_group: usize,
        column: &Column,
        selection: Option<&RowSelection>,
        options: ColumnOptions,
    ) -> Result<Self> {
        let ColumnOptions { level, verify_checksums } = options;
        let options = &ReadOptions::default().with_verify_checksums(verify_checksums);
        let budget = &Budget::unbounded();
        let request =
            ColumnRequest { file, row_group, column, selection, batch_rows: 0, options, budget };
        Self::of(&request, level)
    }

    /// The decoder of a request, with the memory that its column shares with others.
    ///
    /// # Errors
    /// As [`FieldDecoder::new`].
    pub fn of(request: &ColumnRequest<'_>, level: Level) -> Result<Self> {
        Level::check_name()?;
        let ColumnRequest { file, row_group, column, selection, .. } = *request;
        let rows = file.row_group_rows(row_group)?;
        check(column).map_err(|declined| {
            Error::file(FileErrorKind::Unsupported, format!("column {declined}"))
        })?;
        let all = RowSelection::all(rows);
        let ranges = selection.unwrap_or(&all).ranges().to_vec();
        if ranges.last().is_some_and(|range| range.end > rows) {
            return Err(Error::Config("rows beyond the end of the row group".to_owned()));
        }
        let nest = Nest::new(column)?;
        let mut leaves = Vec::with_capacity(nest.leaves.len());
        for leaf in &nest.leaves {
            leaves.push(LeafDecoder::new(request, leaf, level)?);
        }
        let widths = leaves.iter().map(LeafDecoder::row_bytes);
        let row_bytes = widths.sum::<Option<usize>>();
        let leaf = column.leaves().first().map_or(0, |leaf| leaf.index);
        Ok(Self {
            leaves: Decoded(leaves),
            nest,
            row_bytes,
            step: 1,
            rows_left: ranges.iter().map(std::ops::Range::len).sum(),
            selection: ranges,
            range: 0,
            taken: 0,
            failed: false,
            place: (file.clone(), row_group, leaf),
        })
    }

    /// Selected rows that were not handed out yet.
    pub fn rows_left(&self) -> usize {
        self.rows_left
    }

    /// The next `rows` selected rows, or as many as are left.
    ///
    /// # Errors
    /// Pages that are malformed or hold what this engine does not decode, or more data than one
    /// array can have. After an error there are no more rows.
    pub fn next(&mut self, rows: usize) -> Result<ArrayRef> {
        self.next_within(rows, usize::MAX)
    }

    /// As [`FieldDecoder::next`], but fewer rows, at least one, where `rows` would take up much
    /// more than `bytes_max` bytes.
    ///
    /// # Errors
    /// As [`FieldDecoder::next`].
    pub fn next_within(&mut self, rows: usize, bytes_max: usize) -> Result<ArrayRef> {
        if self.failed {
            return Err(self.named(corrupt("the column could not be read before")));
        }
        let done = self.batch(rows.min(self.rows_left), bytes_max);
        self.failed = done.is_err();
        done
    }

    fn batch(&mut self, rows: usize, bytes_max: usize) -> Result<ArrayRef> {
        let width = self.row_bytes.unwrap_or(0).max(1);
        let mut rows = rows.min((bytes_max / width).max(1));
        self.leaves.0.iter_mut().for_each(|leaf| leaf.begin(rows, bytes_max));
        let (mut left, mut bytes) = (rows, 0);
        while left > 0 {
            let Some(range) = self.selection.get(self.range) else { break };
            let start = range.start + self.taken;
            let step = if self.row_bytes.is_some() { left } else { self.step };
            let some = left.min(range.end - start).min(step);
            for leaf in &mut self.leaves.0 {
                leaf.skip_to(start)?;
                leaf.take(some)?;
            }
            self.taken += some;
            left -= some;
            if self.taken == range.len() {
                self.range += 1;
                self.taken = 0;
            }
            if self.row_bytes.is_none() {
                let before = std::mem::replace(&mut bytes, self.leaves.bytes());
                if bytes >= bytes_max {
                    break;
                }
                self.measure(bytes.saturating_sub(before) / some, bytes_max);
            }
        }
        rows -= left;
        self.rows_left -= rows;
        let array = self.nest.array(&mut self.leaves).map_err(|error| self.named(error))?;
        if array.len() != rows {
            let message = format!("{} values in {rows} rows", array.len());
            return Err(self.named(corrupt(message)));
        }
        Ok(array)
    }

    /// Estimates how many rows to decode next, from the recent size of a row.
    fn measure(&mut self, row_bytes: usize, bytes_max: usize) {
        let longest = self.leaves.0.iter().map(LeafDecoder::slot_bytes_max).max().unwrap_or(0);
        let room =
            (bytes_max / 4 / row_bytes.max(1)).min(self.leaves.bytes_left() / longest.max(1));
        self.step = self.step.saturating_mul(8).min(STEP_ROWS).min(room).max(1);
    }

    fn named(&self, error: Error) -> Error {
        let (file, row_group, leaf) = &self.place;
        file.place(error, *row_group, *leaf)
    }
}

/// The decoders of a field's leaves.
struct Decoded(Vec<LeafDecoder>);

impl Decoded {
    /// Bytes of the batch so far.
    fn bytes(&self) -> usize {
        self.0.iter().map(LeafDecoder::bytes).sum()
    }

    /// A part of the bytes that the batch may still grow by before that is an error.
    fn bytes_left(&self) -> usize {
        self.0.first().map_or(usize::MAX, LeafDecoder::bytes_max) / 4 / self.0.len().max(1)
    }
}

impl Leaves for Decoded {
    fn bytes_max(&self) -> usize {
        self.0.first().map_or(usize::MAX, LeafDecoder::bytes_max)
    }

    fn array(&mut self, leaf: usize) -> Result<ArrayRef> {
        self.0[leaf].array()
    }

    fn ancestor(&mut self, at: (usize, usize)) -> (Option<NullBuffer>, ScalarBuffer<i32>) {
        let ancestor = &mut self.0[at.0].ancestors[at.1];
        (ancestor.take_nulls(), ancestor.take_offsets())
    }
}
