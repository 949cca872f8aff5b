// SPDX-License-Identifier: Apache-2.0
//! The `parquet` crate as a reader: the reference for others.

use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReaderBuilder, RowSelection};

use super::{Ask, Reader, Rows};

/// The Arrow reader of the `parquet` crate, unmodified.
#[derive(Debug, Clone, Copy, Default)]
pub struct ParquetRs;

impl ParquetRs {
    /// Whether this is the one error with which the crate refuses sound files, its own too: lists
    /// of structures with required fields, where a list is null and the file has no Arrow schema.
    pub fn refuses_sound_file(error: &str) -> bool {
        error.contains("contains nulls not present in parent")
    }
}

impl Reader for ParquetRs {
    fn name(&self) -> &'static str {
        "parquet-rs"
    }

    fn read(&self, file: &Bytes, ask: &Ask) -> Result<Rows, String> {
        // It does not check all its assumptions: on invalid files it may panic.
        let read = std::panic::AssertUnwindSafe(|| read(file, ask));
        std::panic::catch_unwind(read).unwrap_or_else(|_| Err("it panicked".to_owned()))
    }
}

fn read(file: &Bytes, ask: &Ask) -> Result<Rows, String> {
    if ask.condition.is_some() {
        return Err("it reads no conditions as text".to_owned());
    }
    let text = |error: parquet::errors::ParquetError| error.to_string();
    let mut builder = ParquetRecordBatchReaderBuilder::try_new(file.clone()).map_err(text)?;
    if let Some(columns) = &ask.columns {
        let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
        builder = builder.with_projection(mask);
    }
    let mut groups: Vec<usize> = (0..builder.metadata().num_row_groups()).collect();
    if let Some(chosen) = &ask.row_groups {
        builder = builder.with_row_groups(chosen.clone());
        groups.clone_from(chosen);
    }
    if let Some(rows) = &ask.rows {
        let count = |group: &usize| builder.metadata().row_group(*group).num_rows();
        let total: i64 = groups.iter().map(count).sum();
        let total = usize::try_from(total).map_err(|error| error.to_string())?;
        let ranges = rows.iter().cloned();
        builder = builder.with_row_selection(RowSelection::from_consecutive_ranges(ranges, total));
    }
    if let Some(rows) = ask.batch_rows {
        builder = builder.with_batch_size(rows);
    }
    let reader = builder.build().map_err(text)?;
    let schema = arrow_array::RecordBatchReader::schema(&reader);
    let batches: Result<Vec<_>, _> = reader.collect();
    Ok(Rows { schema, batches: batches.map_err(|error| error.to_string())? })
}
