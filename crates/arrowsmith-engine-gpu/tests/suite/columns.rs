// SPDX-License-Identifier: Apache-2.0
//! The conformance suite of Parquet over the kernels, run on the CPU; and how much of it they
//! decode.

#![cfg(feature = "shim")]

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrowsmith_core::Limits;
use arrowsmith_engine::{Chain, ColumnRequest, Engine};
use arrowsmith_engine_gpu::device::shim::ShimDevice;
use arrowsmith_engine_gpu::{GpuEngine, GpuOptions};
use arrowsmith_parquet::{Budget, File, ReadOptions, ReadPlan};
use arrowsmith_testkit::conformance::{Held, Suite};
use arrowsmith_testkit::engines::{before_cpu, cpu};
use arrowsmith_testkit::scale::full;

use crate::common;

/// The suite over an engine with `cpu` after it: windows of columns that the device decoded, and
/// columns that it left.
fn suite(order: u64, options: GpuOptions, check: impl Fn(&Suite<'_>) -> Held) -> (u64, u64) {
    let engine = GpuEngine::new(common::device(order), options);
    check(&Suite::new(&before_cpu(engine.clone())).sampled(4)).unwrap();
    let (device, cpu) = engine.column_chunks();
    eprintln!("{device} windows of columns on the device, {cpu} columns by the CPU engine");
    (device, cpu)
}

/// Random files, from a seed on.
fn random_files(suite: &Suite<'_>, first: u64, seeds: u64) -> Held {
    (first..first + seeds).try_for_each(|seed| suite.random_file(seed))
}

#[test]
fn random_files_are_read_as_the_parquet_crate_reads_them() {
    let check = |suite: &Suite<'_>| random_files(suite, 0, common::seeds(15));
    let (device, cpu) = suite(3, GpuOptions::default(), check);
    assert!(device > cpu * 4, "{device} of {}", device + cpu);
}

/// Every page is split among many blocks of threads, as large ones of few pages are.
#[test]
fn pages_that_are_split_are_read_as_the_parquet_crate_reads_them() {
    let split = || GpuOptions::default().with_split_bytes_min(0);
    let check = |suite: &Suite<'_>| random_files(suite, 300, common::seeds(15));
    let (device, cpu) = suite(7, split(), check);
    assert!(device > cpu * 4, "{device} of {}", device + cpu);
    suite(8, split(), |suite| {
        (1000..1000 + common::seeds(60)).try_for_each(|seed| suite.broken_file(seed))
    });
}

/// If a column chunk does not fit into memory or 32-bit offsets, a window of rows at a time.
#[test]
fn columns_that_are_too_large_come_in_windows() {
    let small = [
        GpuOptions::default().with_offset_max(150),
        GpuOptions::default().with_offset_max(700),
        GpuOptions::default().with_memory_bytes_max(40 << 10),
    ];
    for (which, gpu) in small.into_iter().enumerate() {
        let check = |suite: &Suite<'_>| random_files(suite, 100, common::seeds(15) / 3);
        let (device, cpu) = suite(6, gpu, check);
        assert!(device > 0 && cpu > 0, "{which}: {device} and {cpu}");
    }
}

/// Row groups that stay on the device equal their columns decoded one by one; at the end all memory
/// is freed.
#[test]
fn row_groups_that_stay_are_those_that_come() {
    for seed in 0..common::seeds(15) {
        let bytes = arrowsmith_testkit::parquet::random::file(seed).bytes;
        let file = File::open(bytes.clone(), &Limits::default()).expect("a file");
        let plan = ReadPlan::new(&file, &ReadOptions::default()).expect("a plan");
        let (cpu, options) = (Chain::from(cpu()), ReadOptions::default());
        let device = Arc::new(ShimDevice::new(seed));
        let engine = GpuEngine::new(device.clone(), GpuOptions::default());
        let mut kept = Vec::new();
        for row_group in 0..file.row_groups() {
            let rows = file.row_group_rows(row_group).expect("rows");
            let expected = plan.fields.iter().map(|column| {
                let decoder = cpu.column(&ColumnRequest {
                    file: &file,
                    row_group,
                    column,
                    selection: None,
                    batch_rows: rows,
                    options: &options,
                    budget: &Budget::unbounded(),
                });
                decoder.and_then(|mut decoder| decoder.next(rows))
            });
            let Ok(expected) = expected.collect::<Result<Vec<_>, _>>() else { continue };
            let batch = match engine.device_batch(&file, row_group, &plan, &options, &cpu) {
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
        drop(engine);
        assert_eq!(device.live(), kept.len() as u64, "seed {seed}: one piece a batch");
        drop(kept);
        assert_eq!(device.live(), 0, "seed {seed}");
    }
}

#[test]
fn broken_files_get_a_sound_answer() {
    suite(4, GpuOptions::default(), |suite| {
        (0..common::seeds(60)).try_for_each(|seed| suite.broken_file(seed))
    });
}

#[test]
fn files_of_others_are_read_as_the_parquet_crate_reads_them() {
    if arrowsmith_testkit::tools::corpora().is_none() {
        return;
    }
    let (device, cpu) = suite(5, GpuOptions::default(), |suite| suite.files_of_others());
    // A sample has a larger share of unusual files.
    let share = if full() { 4 } else { 1 };
    assert!(device > cpu * share, "{device} of {}", device + cpu);
}
