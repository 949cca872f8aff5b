// SPDX-License-Identifier: Apache-2.0
//! Parquet: random files read as a whole and in part, broken files, and files that others wrote,
//! each column of each row group by the engine itself.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;
use arrowsmith_core::Limits;
use arrowsmith_engine::{ColumnRequest, Engine};
use arrowsmith_parquet::{Budget, File, ReadOptions, ReadPlan, RowSelection};
use bytes::Bytes;

use super::{Held, Suite};
use crate::parquet::{Ask, Reader, Rows, broken, corpora, properties};
use crate::tools;

impl Suite<'_> {
    /// A random file, as a whole and in part, with its checksums.
    ///
    /// # Errors
    /// In what the engine differs from the `parquet` crate.
    pub fn random_file(&self, seed: u64) -> Held {
        let reader = Columns { suite: self, options: options().with_verify_checksums(true) };
        properties::check_seed(&reader, seed).map_err(|difference| self.differs(difference))
    }

    /// A malformed file: an error, or valid rows.
    ///
    /// # Errors
    /// What differs.
    pub fn broken_file(&self, seed: u64) -> Held {
        let reader = Columns { suite: self, options: options() };
        broken::check_seed(&reader, seed).map_err(|difference| self.differs(difference))
    }

    /// Files of the corpora, where they are; without checksums, as the `parquet` crate reads them.
    ///
    /// # Errors
    /// Those in which the engine differs from the `parquet` crate.
    pub fn files_of_others(&self) -> Held {
        let Some(folder) = tools::corpora() else { return Ok(()) };
        let reader = Columns { suite: self, options: options() };
        let summary = corpora::run_some(&reader, &folder, &mut self.sample("files"));
        let summary = summary.map_err(|error| self.differs(error))?;
        self.all_passed(&summary.failures, summary.equal, self.least(400, 100))
    }
}

fn options() -> ReadOptions {
    ReadOptions::default()
}

/// The engine by itself as a reader: each field of each row group, batch by batch.
struct Columns<'s> {
    suite: &'s Suite<'s>,
    options: ReadOptions,
}

impl Reader for Columns<'_> {
    fn name(&self) -> &str {
        &self.suite.name
    }

    fn read(&self, bytes: &Bytes, ask: &Ask) -> Result<Rows, String> {
        read(self.suite.engine, bytes, ask, &self.options).map_err(|error| error.to_string())
    }
}

/// Reads a file with an engine: each field of each row group by itself.
///
/// # Errors
/// Those of the file, and of the engine.
pub(crate) fn read(
    engine: &dyn Engine,
    bytes: &Bytes,
    ask: &Ask,
    options: &ReadOptions,
) -> arrowsmith_core::Result<Rows> {
    let file = File::open(bytes.clone(), &Limits::default())?;
    let plan = ReadPlan::new(&file, &ReadOptions::default())?;
    let chosen = ask.columns.clone().unwrap_or_else(|| (0..plan.fields.len()).collect());
    let fields: Vec<_> =
        chosen.iter().map(|field| Arc::clone(&plan.schema.fields()[*field])).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, plan.schema.metadata().clone()));
    let mut batches = Vec::new();
    let mut before = 0;
    let row_groups = ask.row_groups.clone().unwrap_or_else(|| (0..file.row_groups()).collect());
    for row_group in row_groups {
        let rows = file.row_group_rows(row_group)?;
        let selection = ask.rows.as_ref().map(|ranges| {
            let within = |row: usize| row.clamp(before, before + rows) - before;
            RowSelection::from_ranges(ranges.iter().map(|r| within(r.start)..within(r.end)))
        });
        before += rows;
        let mut left = selection.as_ref().map_or(rows, RowSelection::rows);
        let mut decoders = Vec::new();
        for field in &chosen {
            decoders.push(engine.column(&ColumnRequest {
                file: &file,
                row_group,
                column: &plan.fields[*field],
                selection: selection.as_ref(),
                batch_rows: ask.batch_rows.unwrap_or(left),
                options,
                budget: &Budget::unbounded(),
            })?);
        }
        while left > 0 {
            let rows = left.min(ask.batch_rows.unwrap_or(left));
            let columns = decoders
                .iter_mut()
                .map(|decoder| decoder.next(rows))
                .collect::<arrowsmith_core::Result<Vec<_>>>()?;
            let with = RecordBatchOptions::new().with_row_count(Some(rows));
            batches.push(RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &with)?);
            left -= rows;
        }
    }
    Ok(Rows { schema, batches })
}
