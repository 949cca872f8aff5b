// SPDX-License-Identifier: Apache-2.0
//! The kernels of Parquet, run on the CPU, against the `parquet` crate: random files read as a whole and in
//! part, broken files, and files that others wrote.

#![cfg(feature = "shim")]

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;
use arrowsmith_core::Limits;
use arrowsmith_engine_cpu::parquet::ColumnOptions;
use arrowsmith_engine_gpu::GpuOptions;
use arrowsmith_engine_gpu::device::shim::ShimDevice;
use arrowsmith_engine_gpu::parquet::{ColumnEngine, FieldDecoder};
use arrowsmith_parquet::{File, ReadOptions, ReadPlan, RowSelection};
use arrowsmith_testkit::parquet::{Ask, Reader, Rows, broken, corpora, properties};
use arrowsmith_testkit::scale::{Sample, full};
use arrowsmith_testkit::tools;
use bytes::Bytes;

use crate::common;

/// The engine by itself: each field of each row group, batch by batch.
struct Engine {
    columns: Arc<ColumnEngine>,
    options: ColumnOptions,
}

impl Reader for Engine {
    fn name(&self) -> &str {
        "gpu"
    }

    fn read(&self, bytes: &Bytes, ask: &Ask) -> Result<Rows, String> {
        read(bytes, ask, self).map_err(|error| error.to_string())
    }
}

fn read(bytes: &Bytes, ask: &Ask, engine: &Engine) -> arrowsmith_core::Result<Rows> {
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
            arrowsmith_engine_cpu::parquet::supports(column)
                .map_err(arrowsmith_core::Error::Config)?;
            decoders.push(FieldDecoder::new(
                &engine.columns,
                &file,
                row_group,
                column,
                selection.as_ref(),
                engine.options,
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

fn engine(seed: u64, verify_checksums: bool) -> Engine {
    with(seed, verify_checksums, GpuOptions::default())
}

fn with(seed: u64, verify_checksums: bool, gpu: GpuOptions) -> Engine {
    let device = common::device(seed);
    Engine {
        columns: Arc::new(ColumnEngine::new(device, gpu)),
        options: ColumnOptions { verify_checksums, ..ColumnOptions::default() },
    }
}

#[test]
fn random_files_are_read_as_the_parquet_crate_reads_them() {
    let engine = engine(3, true);
    for seed in 0..common::seeds(15) {
        if let Err(difference) = properties::check_seed(&engine, seed) {
            panic!("{difference}");
        }
    }
    let (device, cpu) = engine.columns.chunks();
    eprintln!("{device} windows of columns on the device, {cpu} columns by the CPU engine");
    assert!(device > cpu * 4, "{device} of {}", device + cpu);
}

/// Where there is no room for a column chunk, or offsets do not number it: a window of rows at a time.
#[test]
fn columns_that_are_too_large_come_in_windows() {
    let small = [
        GpuOptions::default().with_offset_max(150),
        GpuOptions::default().with_offset_max(700),
        GpuOptions::default().with_memory_bytes_max(40 << 10),
    ];
    for (which, gpu) in small.into_iter().enumerate() {
        let engine = with(6, true, gpu);
        for seed in 100..100 + common::seeds(15) / 3 {
            if let Err(difference) = properties::check_seed(&engine, seed) {
                panic!("{which}: {difference}");
            }
        }
        let (device, cpu) = engine.columns.chunks();
        eprintln!("{which}: {device} windows on the device, {cpu} columns by the CPU engine");
        assert!(device > 0 && cpu > 0, "{which}: {device} and {cpu}");
    }
}

/// Row groups that stay on the device are what the columns are one by one; and nothing is held in the end.
#[test]
fn row_groups_that_stay_are_those_that_come() {
    for seed in 0..common::seeds(15) {
        let bytes = arrowsmith_testkit::parquet::random::file(seed).bytes;
        let file = File::open(bytes.clone(), &Limits::default()).expect("a file");
        let plan = ReadPlan::new(&file, &ReadOptions::default()).expect("a plan");
        let options = ColumnOptions::default();
        let device = Arc::new(ShimDevice::new(seed));
        let columns = ColumnEngine::new(device.clone(), GpuOptions::default());
        let columns = Arc::new(columns);
        let mut kept = Vec::new();
        for row_group in 0..file.row_groups() {
            let rows = file.row_group_rows(row_group).expect("rows");
            let expected = plan.fields.iter().map(|column| {
                let cpu = arrowsmith_engine_cpu::parquet::FieldDecoder::new(
                    &file, row_group, column, None, options,
                );
                cpu.and_then(|mut cpu| cpu.next(rows))
            });
            let Ok(expected) = expected.collect::<Result<Vec<_>, _>>() else { continue };
            let batch = match columns.device_batch(&file, row_group, &plan, options) {
                Ok(batch) => batch,
                Err(error) if error.to_string().contains("views do not stay") => continue,
                Err(error) => panic!("seed {seed}: {error}"),
            };
            let found = batch.to_host().expect("it is sound");
            let with = RecordBatchOptions::new().with_row_count(Some(rows));
            let expected =
                RecordBatch::try_new_with_options(Arc::clone(&plan.schema), expected, &with);
            assert_eq!(found, expected.expect("a batch"), "seed {seed}");
            kept.push(batch);
        }
        drop(columns);
        assert_eq!(device.live(), kept.len() as u64, "seed {seed}: one piece a batch");
        drop(kept);
        assert_eq!(device.live(), 0, "seed {seed}");
    }
}

#[test]
fn broken_files_get_a_sound_answer() {
    let engine = engine(4, false);
    for seed in 0..common::seeds(60) {
        if let Err(difference) = broken::check_seed(&engine, seed) {
            panic!("{difference}");
        }
    }
}

#[test]
fn files_of_others_are_read_as_the_parquet_crate_reads_them() {
    let Some(folder) = tools::corpora() else { return };
    // Without checksums, as the crate reads.
    let engine = engine(5, false);
    let mut sample = Sample::of("files", 4);
    let summary = corpora::run_some(&engine, &folder, &mut sample).expect("they can be read");
    assert!(
        summary.failures.is_empty(),
        "{} of {} files equal\n{}",
        summary.equal,
        summary.files,
        summary.failures.join("\n")
    );
    let least = if full() { 400 } else { 100 };
    assert!(summary.equal > least, "{} files were equal", summary.equal);
    let (device, cpu) = engine.columns.chunks();
    eprintln!("{device} windows of columns on the device, {cpu} columns by the CPU engine");
    // A sample has more of what is odd.
    let share = if full() { 4 } else { 1 };
    assert!(device > cpu * share, "{device} of {}", device + cpu);
}
