// SPDX-License-Identifier: Apache-2.0
//! A portion: some rows of one row group, that are decoded as one thing.
//!
//! Where there is a condition, its columns are decoded first, and only they; what it leaves is a selection
//! for all the others. Gaps of a few rows are not worth skipping: such rows are decoded and taken out.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrowsmith_core::Result;
use arrowsmith_parquet::RowSelection;

use super::field::FieldTask;
use super::prepare::{Condition, FilterPlan, Prepared};

/// Rows that are decoded for nothing rather than skipped.
const GAP_ROWS: usize = 64;

/// Rows of a condition's columns that are decoded at once.
const CONDITION_ROWS: usize = 64 << 10;

/// A portion that nobody has begun with.
pub(crate) struct Portion {
    pub(crate) prepared: Arc<Prepared>,
    pub(crate) row_group: usize,
    /// Rows that the metadata does not rule out.
    pub(crate) selection: RowSelection,
    /// Rows of each batch but the last.
    pub(crate) batch_rows: usize,
    /// The part of the row group's stored bytes that this is, for progress.
    pub(crate) counted: bool,
}

/// What is decoded of a row group.
pub(crate) struct Window {
    pub(crate) row_group: usize,
    pub(crate) selection: RowSelection,
    pub(crate) batch_rows: usize,
    /// Of the selected rows those that stay; none: all.
    pub(crate) mask: Option<BooleanBuffer>,
}

/// A portion whose columns can be decoded.
pub(crate) struct Started {
    pub(crate) fields: Vec<FieldTask>,
    /// Rows that are decoded, in all and in each batch, and those that are left of each.
    pub(crate) batches: Vec<BatchRows>,
}

/// Rows of one batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchRows {
    pub(crate) decoded: usize,
    pub(crate) kept: usize,
}

impl Portion {
    /// Decides the condition for every row, fetches what is remote, and makes the decoders.
    pub(crate) fn start(self) -> Result<Started> {
        let prepared = &self.prepared;
        let exact = match &prepared.condition {
            Condition::Some(plan) => self.matching(plan)?,
            Condition::All => self.selection.clone(),
            Condition::None => RowSelection::default(),
        };
        if exact.is_empty() {
            return Ok(Started { fields: Vec::new(), batches: Vec::new() });
        }
        let selection = without_gaps(&exact);
        let mask = (selection != exact).then(|| mask_of(&exact, &selection));
        let batches = batches(selection.rows(), self.batch_rows, mask.as_ref());
        let window =
            Window { row_group: self.row_group, selection, batch_rows: self.batch_rows, mask };
        let file = prepared.opened.with(prepared.ranges(prepared.plan(), self.row_group)?)?;
        let mut fields = prepared.fields(&file, &window)?;
        if !self.counted {
            fields.iter_mut().for_each(|field| field.bytes_stored = 0);
        }
        Ok(Started { fields, batches })
    }

    /// The rows for which the condition holds.
    fn matching(&self, condition: &FilterPlan) -> Result<RowSelection> {
        let prepared = &self.prepared;
        let file = prepared.opened.with(prepared.ranges(&condition.plan, self.row_group)?)?;
        let window = Window {
            row_group: self.row_group,
            selection: self.selection.clone(),
            batch_rows: CONDITION_ROWS,
            mask: None,
        };
        let mut streams = Vec::new();
        for column in &condition.plan.fields {
            streams.push(prepared.stream(&file, column, &window)?);
        }
        let mut mask = BooleanBufferBuilder::new(self.selection.rows());
        let mut left = self.selection.rows();
        while left > 0 {
            let rows = left.min(CONDITION_ROWS);
            let columns =
                streams.iter_mut().map(|stream| stream.next(rows)).collect::<Result<Vec<_>>>()?;
            let batch = batch(&condition.plan.schema, columns, rows)?;
            mask.append_buffer(&condition.filter.mask(&batch)?);
            left -= rows;
        }
        Ok(masked(&self.selection, &mask.finish()))
    }
}

/// A batch that has its rows even where it has no columns.
pub(crate) fn batch(
    schema: &arrow_schema::SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// Of the selected rows those whose bits are set.
fn masked(selection: &RowSelection, mask: &BooleanBuffer) -> RowSelection {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut before = 0;
    for range in selection.ranges() {
        let part = mask.slice(before, range.len());
        ranges.extend(part.set_slices().map(|(from, to)| range.start + from..range.start + to));
        before += range.len();
    }
    RowSelection::from_ranges(ranges)
}

/// The selection with its small gaps closed.
fn without_gaps(selection: &RowSelection) -> RowSelection {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for range in selection.ranges() {
        match ranges.last_mut() {
            Some(last) if range.start - last.end <= GAP_ROWS => last.end = range.end,
            _ => ranges.push(range.clone()),
        }
    }
    RowSelection::from_ranges(ranges)
}

/// A bit for each row of `wide`: whether it is in `narrow`, whose rows are all in `wide`.
fn mask_of(narrow: &RowSelection, wide: &RowSelection) -> BooleanBuffer {
    let mut mask = BooleanBufferBuilder::new(wide.rows());
    let mut inside = narrow.ranges().iter().peekable();
    for range in wide.ranges() {
        let mut at = range.start;
        while let Some(part) = inside.peek().filter(|part| part.start < range.end) {
            mask.append_n(part.start - at, false);
            mask.append_n(part.len(), true);
            at = part.end;
            inside.next();
        }
        mask.append_n(range.end - at, false);
    }
    mask.finish()
}

fn batches(rows: usize, batch_rows: usize, mask: Option<&BooleanBuffer>) -> Vec<BatchRows> {
    let mut batches = Vec::with_capacity(rows.div_ceil(batch_rows));
    let mut at = 0;
    while at < rows {
        let decoded = batch_rows.min(rows - at);
        let kept = mask.map_or(decoded, |mask| mask.slice(at, decoded).count_set_bits());
        batches.push(BatchRows { decoded, kept });
        at += decoded;
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_gaps_are_masked_and_large_ones_skipped() {
        let exact = RowSelection::from_ranges([3..5, 8..9, 500..600, 664..665]);
        let wide = without_gaps(&exact);
        assert_eq!(wide.ranges(), [3..9, 500..665]);
        let mask = mask_of(&exact, &wide);
        assert_eq!(mask.len(), wide.rows());
        assert_eq!(masked(&wide, &mask), exact);
        let rows = batches(wide.rows(), 100, Some(&mask));
        let kept: Vec<usize> = rows.iter().map(|batch| batch.kept).collect();
        assert_eq!(kept, [97, 7]);
        assert_eq!(rows[1].decoded, 71);
    }
}
