// SPDX-License-Identifier: Apache-2.0
//! Bodies of the targets of the GPU engine, its kernels run on the CPU: any text is compared with
//! the oracle, any pages of a column with the CPU engine. A write beyond device memory is an error
//! of the shim, and so a difference.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrowsmith_core::{DecodeOptions, Error};
use arrowsmith_engine::{Chain, ColumnRequest, Engine};
use arrowsmith_engine_gpu::device::shim::ShimDevice;
use arrowsmith_engine_gpu::{GpuEngine, GpuOptions};
use arrowsmith_parquet::{Budget, File, ReadOptions, ReadPlan};
use arrowsmith_testkit::engines::{before_cpu, cpu};
use arrowsmith_testkit::oracle::OracleEngine;
use arrowsmith_testkit::random::{self, Rng};
use arrowsmith_testkit::run::{Input, PADDINGS, compare};

use crate::parquet::{file_of, limits};
use crate::{FRAMINGS, SCHEMAS, plan};

/// Any text, as in `json_engines`: three bytes choose schema, options, framing and padding, and
/// also how the text is split, and the order of threads.
pub fn json(data: &[u8]) {
    let [which, how, more, text @ ..] = data else { return };
    let plan = plan(SCHEMAS[usize::from(*which) % SCHEMAS.len()]);
    let options = random::options(&mut Rng::new(u64::from(*how)));
    let framing = FRAMINGS[usize::from(*more) % 3];
    let padding = PADDINGS[usize::from(*more / 3) % PADDINGS.len()];
    let order = u64::from(*how);
    let device = Arc::new(ShimDevice::new(order));
    // With memory for the tables of the plan, and for little more.
    let full = Arc::new(ShimDevice::new(order).with_bytes_max((1 << 20) + (order << 8)));
    let input = Input::split(&[text], framing, padding);
    let small = 1 + usize::from(*how) / 2;
    for (device, piece) in [(&device, 1 << 20), (&device, small), (&full, 1 << 20)] {
        let gpu = GpuOptions::default().with_piece_bytes_max(piece);
        let engine = before_cpu(GpuEngine::new(Arc::clone(device) as _, gpu));
        if let Err(difference) = compare(&OracleEngine, &engine, &plan, &options, &input) {
            let (text, schema) = (text.escape_ascii(), plan.schema());
            panic!("pieces of {piece}: {difference}\n{framing:?} {text}\n{options:?}\n{schema:?}");
        }
    }
    assert_eq!(full.live(), 0, "memory of a full device that was not freed");
    stays(&device, &plan, &options, &input);
    assert_eq!(device.live(), 0, "device memory that was not freed");
}

/// The same text into batches that stay on the device: as many rows, all valid.
fn stays(
    device: &Arc<ShimDevice>,
    plan: &Arc<arrowsmith_plan::Plan>,
    options: &DecodeOptions,
    input: &Input<'_>,
) {
    let engine = GpuEngine::new(device.clone(), GpuOptions::default());
    let text = input.feeds[0].text;
    let chunk = arrowsmith_core::Chunk::new(text, input.framing);
    let mut decoder =
        engine.device_decoder(plan, options, &cpu().into()).expect("it was made before");
    let mut beside = OracleEngine.decoder(plan, options).expect("here too");
    let found = decoder.decode(&chunk);
    // Views do not stay on a device.
    if matches!(&found, Err(Error::Config(_))) {
        return;
    }
    assert_eq!(found.is_ok(), beside.decode(&chunk).is_ok());
    let rows: usize =
        decoder.take().iter().map(|batch| batch.to_host().expect("it is sound").num_rows()).sum();
    assert_eq!(rows, beside.rows());
}

/// Any bytes as the pages of a column, as in `parquet_pages`: two bytes choose column and codec,
/// one the number of values and the windows in which they are decoded.
pub fn pages(data: &[u8]) {
    let [column, codec, values, pages @ ..] = data else { return };
    let Some(bytes) = file_of(*column, *codec, i64::from(*values), pages) else { return };
    let Ok(file) = File::open(bytes, &limits()) else { return };
    let Ok(plan) = ReadPlan::new(&file, &ReadOptions::default()) else { return };
    let rows = usize::from(*values);
    let device = Arc::new(ShimDevice::new(u64::from(*values)));
    for offset_max in [u64::MAX, 100 + u64::from(*values)] {
        let options = GpuOptions::default().with_offset_max(offset_max);
        let engine = before_cpu(GpuEngine::new(device.clone(), options));
        for column in &plan.fields {
            let request = ColumnRequest {
                file: &file,
                row_group: 0,
                column,
                selection: None,
                batch_rows: rows,
                options: &ReadOptions::default(),
                budget: &Budget::unbounded(),
            };
            let decode =
                |engine: &Chain| engine.column(&request).and_then(|mut decoder| decoder.next(rows));
            let (found, expected) = (decode(&engine), decode(&cpu().into()));
            same(found, expected);
        }
    }
    assert_eq!(device.live(), 0, "device memory that was not freed");
}

fn same(found: arrowsmith_core::Result<ArrayRef>, expected: arrowsmith_core::Result<ArrayRef>) {
    match (found, expected) {
        (Ok(found), Ok(expected)) => {
            found.to_data().validate_full().expect("it is sound");
            // By their bits: NaN is not equal to itself.
            assert_eq!(found.to_data(), expected.to_data());
        }
        // Valid rows before the error may be decoded already, so the CPU engine begins after them.
        (Err(_), Err(_)) => {}
        (found, expected) => panic!("gpu, then cpu: {found:?}\n{expected:?}"),
    }
}
