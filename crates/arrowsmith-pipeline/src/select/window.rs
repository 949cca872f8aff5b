// SPDX-License-Identifier: Apache-2.0
//! What depends on the order of all rows: how many are skipped, how many follow, and the numbers of
//! their records.

use std::sync::Arc;

use arrow_array::{Array, Int64Array, RecordBatch, RecordBatchOptions};
use arrowsmith_core::Result;

use crate::work::Output;

/// The rows that are wanted, by their place among all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Window {
    /// Rows to be skipped yet.
    pub(crate) skip: u64,
    /// Rows to be returned yet, if there is a maximum.
    pub(crate) left: Option<u64>,
    /// Whether the last column counts records, from the start of an output.
    pub(crate) counts_records: bool,
}

impl Window {
    /// Whether nothing is wanted any more.
    pub(crate) fn is_over(&self) -> bool {
        self.left == Some(0)
    }

    /// The record, counted from the start of the output, whose row is the last that is wanted; none
    /// if more rows are wanted than there are.
    pub(crate) fn last_record(&self, output: &Output) -> Option<u64> {
        let mut before = self.skip.checked_add(self.left?)?.checked_sub(1)?;
        for (batch, numbers) in output.batches.iter().zip(&output.numbers) {
            let rows = batch.num_rows() as u64;
            if before < rows {
                let row = usize::try_from(before).ok().filter(|row| *row < numbers.len())?;
                return u64::try_from(numbers.value(row)).ok();
            }
            before -= rows;
        }
        None
    }

    /// What is wanted of the rows that follow; `records` came before their output.
    ///
    /// # Errors
    /// Only if Arrow rejects the batch.
    pub(crate) fn take(
        &mut self,
        batch: &RecordBatch,
        records: u64,
    ) -> Result<Option<RecordBatch>> {
        let rows = batch.num_rows() as u64;
        let skipped = self.skip.min(rows);
        self.skip -= skipped;
        let taken = self.left.map_or(rows - skipped, |left| left.min(rows - skipped));
        if let Some(left) = &mut self.left {
            *left -= taken;
        }
        if taken == 0 {
            return Ok(None);
        }
        // Both are at most the number of rows of a batch.
        let (Ok(from), Ok(len)) = (usize::try_from(skipped), usize::try_from(taken)) else {
            return Ok(None);
        };
        let batch = batch.slice(from, len);
        if self.counts_records { numbered(&batch, records).map(Some) } else { Ok(Some(batch)) }
    }
}

/// Adds the number of records that came before to the last column.
fn numbered(batch: &RecordBatch, records: u64) -> Result<RecordBatch> {
    let mut columns = batch.columns().to_vec();
    if let Some(last) = columns.last_mut()
        && let Some(numbers) = last.as_any().downcast_ref::<Int64Array>()
    {
        let records = i64::try_from(records).unwrap_or(i64::MAX);
        *last =
            Arc::new(numbers.unary::<_, arrow_array::types::Int64Type>(|number| {
                number.saturating_add(records)
            }));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(batch.schema(), columns, &options)?)
}
