// SPDX-License-Identifier: Apache-2.0
//! The column decoders against the `parquet` crate, on every instruction set: random files read as a whole
//! and in part, broken files, and files that others wrote.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;
use arrowsmith_core::Limits;
use arrowsmith_engine_cpu::CpuEngine;
use arrowsmith_engine_cpu::parquet::{ColumnOptions, FieldDecoder, supports};
use arrowsmith_parquet::{File, ReadOptions, ReadPlan, RowSelection};
use arrowsmith_testkit::parquet::{Ask, Reader, Rows, broken, corpora, properties};
use arrowsmith_testkit::{scale, tools};
use bytes::Bytes;

/// The engine by itself: each field of each row group, batch by batch.
struct Engine {
    options: ColumnOptions,
}

impl Reader for Engine {
    fn name(&self) -> &str {
        self.options.level.name()
    }

    fn read(&self, bytes: &Bytes, ask: &Ask) -> Result<Rows, String> {
        read(bytes, ask, self.options).map_err(|error| error.to_string())
    }
}

fn read(bytes: &Bytes, ask: &Ask, options: ColumnOptions) -> arrowsmith_core::Result<Rows> {
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
            let column = &plan.fields[*field];
            supports(column).map_err(arrowsmith_core::Error::Config)?;
            decoders.push(FieldDecoder::new(
                &file,
                row_group,
                column,
                selection.as_ref(),
                options,
            )?);
        }
        while left > 0 {
            let rows = left.min(ask.batch_rows.unwrap_or(left));
            let columns = decoders
                .iter_mut()
                .map(|decoder| decoder.next(rows))
                .collect::<arrowsmith_core::Result<Vec<_>>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            batches.push(RecordBatch::try_new_with_options(
                Arc::clone(&schema),
                columns,
                &options,
            )?);
            left -= rows;
        }
    }
    Ok(Rows { schema, batches })
}

/// One for each instruction set.
fn engines(verify_checksums: bool) -> Vec<Engine> {
    let engine = |level| Engine { options: ColumnOptions { level, verify_checksums } };
    CpuEngine::levels().into_iter().map(engine).collect()
}

/// Seeds to try: `ARROWSMITH_SEEDS` has another number.
fn seeds(usual: u64) -> u64 {
    scale::number("ARROWSMITH_SEEDS", usual, 40_000)
}

#[test]
fn random_files_are_read_as_the_parquet_crate_reads_them() {
    for seed in 0..seeds(200) {
        for engine in engines(true) {
            if let Err(difference) = properties::check_seed(&engine, seed) {
                panic!("{difference}");
            }
        }
    }
}

#[test]
fn broken_files_get_a_sound_answer() {
    for seed in 0..seeds(800) {
        for engine in engines(false) {
            if let Err(difference) = broken::check_seed(&engine, seed) {
                panic!("{difference}");
            }
        }
    }
}

#[test]
fn files_of_others_are_read_as_the_parquet_crate_reads_them() {
    let Some(folder) = tools::corpora() else { return };
    // Without checksums, as the crate reads.
    for engine in engines(false) {
        let summary = corpora::run(&engine, &folder).expect("the corpora can be read");
        assert!(
            summary.failures.is_empty(),
            "{}: {} of {} files equal\n{}",
            engine.name(),
            summary.equal,
            summary.files,
            summary.failures.join("\n")
        );
        assert!(summary.equal > 400, "{} files were equal", summary.equal);
    }
}
