// SPDX-License-Identifier: Apache-2.0
//! A portion: some rows of one row group, which are decoded together.
//!
//! With a condition, only its columns are decoded first; the matching rows are a selection for all
//! others. Gaps of a few rows are not worth skipping: such rows are decoded and removed.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrowsmith_core::{Error, FileErrorKind, Result};
use arrowsmith_parquet::{Budget, Claim, RowSelection};

use super::field::{FieldTask, Stream};
use super::prepare::{Condition, FilterPlan, Prepared};
use super::window::Windows;

/// Maximum gap of rows that are decoded rather than skipped.
const GAP_ROWS: usize = 64;

/// Rows of a condition's columns that are decoded at once.
const CONDITION_ROWS: usize = 64 << 10;

/// A portion that was not started yet.
pub(crate) struct Portion {
    pub(crate) prepared: Arc<Prepared>,
    pub(crate) row_group: usize,
    /// Rows that the metadata does not rule out.
    pub(crate) selection: RowSelection,
    /// Rows of each batch but the last.
    pub(crate) batch_rows: usize,
    /// The share of the row group's stored bytes, for progress.
    pub(crate) counted: bool,
}

/// The rows of a row group that are decoded.
pub(crate) struct Window {
    pub(crate) row_group: usize,
    pub(crate) selection: RowSelection,
    pub(crate) batch_rows: usize,
    /// The selected rows that are kept; `None`: all.
    pub(crate) mask: Option<BooleanBuffer>,
    pub(crate) budget: Arc<Budget>,
}

/// A portion whose columns can be decoded.
pub(crate) struct Started {
    pub(crate) fields: Vec<FieldTask>,
    /// Total rows that are decoded.
    pub(crate) rows: usize,
    /// Maximum rows of each batch.
    pub(crate) batch_rows: usize,
    /// Which of the decoded rows stay; `None`: all.
    pub(crate) mask: Option<BooleanBuffer>,
    /// The memory budget of the fields; `None` without fields.
    pub(crate) budget: Option<Arc<Budget>>,
}

impl Started {
    /// Nothing to decode.
    pub(crate) fn empty() -> Self {
        Self { fields: Vec::new(), rows: 0, batch_rows: 1, mask: None, budget: None }
    }

    /// The number of these decoded rows that are kept.
    pub(crate) fn kept(&self, rows: Range<usize>) -> usize {
        let count = |mask: &BooleanBuffer| mask.slice(rows.start, rows.len()).count_set_bits();
        self.mask.as_ref().map_or(rows.len(), count)
    }
}

impl Portion {
    /// Evaluates the condition for every row, fetches remote ranges, and creates the decoders,
    /// which take memory from a claim.
    pub(crate) fn start(&self, claim: &Arc<Claim>) -> Result<Started> {
        let prepared = &self.prepared;
        let exact = match &prepared.condition {
            Condition::Some(plan) => self.matching(plan, claim)?,
            Condition::All => self.selection.clone(),
            Condition::None => RowSelection::default(),
        };
        if exact.is_empty() {
            return Ok(Started::empty());
        }
        let selection = without_gaps(&exact);
        let mask = (selection != exact).then(|| mask_of(&exact, &selection));
        let (rows, batch_rows) = (selection.rows(), self.batch_rows);
        let budget = prepared.budget(prepared.plan(), self.row_group, claim)?;
        let window = Arc::new(Window {
            row_group: self.row_group,
            selection,
            batch_rows,
            mask: mask.clone(),
            budget: Arc::clone(&budget),
        });
        let file = prepared.opened.with(prepared.ranges(prepared.plan(), self.row_group)?)?;
        let mut fields = prepared.fields(&file, &window)?;
        if !self.counted {
            fields.iter_mut().for_each(|field| field.bytes_stored = 0);
        }
        Ok(Started { fields, rows, batch_rows, mask, budget: Some(budget) })
    }

    /// The rows for which the condition holds.
    fn matching(&self, condition: &FilterPlan, claim: &Arc<Claim>) -> Result<RowSelection> {
        let prepared = &self.prepared;
        let file = prepared.opened.with(prepared.ranges(&condition.plan, self.row_group)?)?;
        let window = Window {
            row_group: self.row_group,
            selection: self.selection.clone(),
            batch_rows: CONDITION_ROWS,
            mask: None,
            budget: prepared.budget(&condition.plan, self.row_group, claim)?,
        };
        let mut streams = Vec::new();
        for column in &condition.plan.fields {
            streams.push(Stream::Decoder(prepared.open(&file, column, &window)?));
        }
        let bytes_max = file.limits().memory_bytes_max / 4;
        let mut windows = Windows::new(streams, bytes_max, claim.hold(0));
        // It grows with the rows: their number in the file is untrusted.
        let mut mask = BooleanBufferBuilder::new(self.selection.rows().min(CONDITION_ROWS));
        let mut left = self.selection.rows();
        while left > 0 {
            let (columns, rows) = windows.next(left.min(CONDITION_ROWS))?;
            if rows == 0 {
                return Err(fewer());
            }
            let batch = batch(&condition.plan.schema, columns, rows)?;
            mask.append_buffer(&condition.filter.mask(&batch)?);
            left -= rows;
        }
        Ok(masked(&self.selection, &mask.finish()))
    }
}

/// A batch with its number of rows, even without columns.
pub(crate) fn batch(
    schema: &arrow_schema::SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// The selected rows whose bits are set.
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

/// A bit for each row of `wide`: whether it is in `narrow`, a subset of `wide`.
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

/// The error of a column with fewer rows than expected.
pub(crate) fn fewer() -> Error {
    Error::file(FileErrorKind::Truncated, "a column has fewer rows than the row group")
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
        let started = Started { rows: wide.rows(), mask: Some(mask), ..Started::empty() };
        assert_eq!([started.kept(0..100), started.kept(100..171)], [97, 7]);
    }
}
