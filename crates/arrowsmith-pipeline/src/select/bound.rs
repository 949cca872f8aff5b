// SPDX-License-Identifier: Apache-2.0
//! What is done with the batches of one schema.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use arrow_select::filter::{filter, filter_record_batch};
use arrowsmith_core::{Error, Result};
use arrowsmith_json::record_starts;

use super::Select;
use super::condition::{Condition, names};
use super::flatten;
use super::rescue::{self, Records};
use crate::cut::Piece;
use crate::grow::settle;
use crate::partition::repeated;
use crate::work::Output;

/// A [`Select`] for decoded batches of one schema.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(super) from: SchemaRef,
    /// What is kept of it.
    pub(super) kept: SchemaRef,
    /// With the columns that are added.
    pub(super) to: SchemaRef,
    pub(super) condition: Option<Condition>,
}

/// Where the rows of a batch come from.
pub(crate) struct Origin<'a> {
    /// Values of the partition columns, as arrays of one row.
    pub(super) values: &'a [ArrayRef],
    /// The name of the input.
    pub(super) name: Option<&'a str>,
    /// The records; none if the schema has all of them.
    pub(super) records: Option<Records<'a>>,
    pub(super) starts: Starts<'a>,
}

/// Where the records of an output are.
#[derive(Clone, Copy)]
pub(crate) struct Starts<'a> {
    pub(super) text: &'a [u8],
    pub(super) piece: &'a Piece,
}

impl Starts<'_> {
    /// The bytes at which the records with these numbers start, in order.
    fn of(&self, numbers: &Int64Array) -> Int64Array {
        let Self { text, piece } = self;
        let mut records = (0_i64..).zip(record_starts(text, piece.framing));
        let start = piece.offset + (piece.data().len() - text.len()) as u64;
        let starts = numbers.values().iter().map(|number| {
            let found = records.find(|(at, _)| at == number);
            let offset = found.map_or(0, |(_, at)| piece.origin(start + at as u64));
            i64::try_from(offset).unwrap_or(i64::MAX)
        });
        Int64Array::from_iter_values(starts)
    }
}

/// Maximum size of the names of inputs in a batch, in bytes: their offsets have 32 bits.
const NAMES_BYTES_MAX: usize = 64 << 20;

impl Bound {
    /// The schema of what leaves.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.to
    }

    /// Adds what leaves of a batch to an output.
    pub(super) fn apply(
        &self,
        select: &Select,
        batch: &RecordBatch,
        numbers: Option<Int64Array>,
        origin: &Origin<'_>,
        output: &mut Output,
    ) -> Result<()> {
        let named = match &select.options.file_column {
            Some(_) => origin.name.map_or(0, str::len),
            None => 0,
        };
        let rows_max = (NAMES_BYTES_MAX / named.max(1)).max(1);
        let rows = batch.num_rows();
        let mut start = 0;
        loop {
            let part = rows_max.min(rows - start);
            let own = numbers.as_ref().map(|numbers| numbers.slice(start, part));
            self.part(select, &batch.slice(start, part), own, origin, output)?;
            start += part;
            if start >= rows {
                return Ok(());
            }
        }
    }

    fn part(
        &self,
        select: &Select,
        batch: &RecordBatch,
        mut numbers: Option<Int64Array>,
        origin: &Origin<'_>,
        output: &mut Output,
    ) -> Result<()> {
        let mask = match &self.condition {
            Some(condition) => Some(condition.mask(batch, origin)?),
            None => None,
        };
        let mut kept = settle(batch, &self.kept)?.ok_or_else(|| {
            Error::Config("columns that the condition needs cannot be dropped again".to_owned())
        })?;
        if let Some(mask) = mask.filter(|mask| mask.true_count() < mask.len()) {
            output.filtered += (mask.len() - mask.true_count()) as u64;
            if mask.true_count() == 0 {
                return Ok(());
            }
            kept = filter_record_batch(&kept, &mask)?;
            if let Some(numbers) = &mut numbers {
                *numbers = Int64Array::from(filter(numbers, &mask)?.to_data());
            }
        }
        let rows = kept.num_rows();
        let mut columns = match select.options.flatten {
            true => flatten::columns(&kept)?,
            false => kept.columns().to_vec(),
        };
        for (field, value) in select.partitions.fields.iter().zip(origin.values) {
            if self.to.field_with_name(field.name()).is_ok() {
                columns.push(repeated(value, rows)?);
            }
        }
        if select.options.rescued_column.is_some() {
            columns.push(rescue::column(select.rescuer.as_ref(), origin, numbers.as_ref(), rows)?);
        }
        if select.options.file_column.is_some() {
            columns.push(names(origin.name, rows));
        }
        if select.options.offset_column.is_some() {
            let starts = numbers.as_ref().map(|numbers| origin.starts.of(numbers));
            columns.push(Arc::new(starts.unwrap_or_else(|| Int64Array::from_value(0, rows))));
        }
        if select.options.record_column.is_some() {
            let numbers = numbers.clone().unwrap_or_else(|| Int64Array::from_value(0, rows));
            columns.push(Arc::new(numbers));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(&self.to);
        output.batches.push(RecordBatch::try_new_with_options(schema, columns, &options)?);
        output.numbers.extend(numbers);
        Ok(())
    }
}
