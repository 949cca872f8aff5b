// SPDX-License-Identifier: Apache-2.0
//! What `tools/gpu predict` counts: the workloads of the benchmark and files of few pages, decoded
//! with a driver that counts the kernels' steps and accesses (`kernels/shim/count.cpp`). Without
//! that driver there is nothing to do.

#![cfg(all(feature = "cuda", feature = "shim"))]

use std::ffi::CString;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrowsmith_core::{DecodeOptions, Framing, Limits};
use arrowsmith_engine::Chain;
use arrowsmith_engine_gpu::device::cuda::CudaDevice;
use arrowsmith_engine_gpu::{DeviceText, GpuEngine, GpuOptions};
use arrowsmith_parquet::{File, ReadOptions, ReadPlan};
use arrowsmith_plan::Plan;
use arrowsmith_testkit::engines::cpu;
use arrowsmith_workload::{Generator, SplitMix64, Workload};
use bytes::Bytes;
use libloading::Library;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::WriterProperties;

/// The counters of the driver.
struct Counter(Library);

impl Counter {
    /// The counters, and where they are to be written, if the environment requests that.
    fn requested() -> Option<(Self, String)> {
        let path = std::env::var("ARROWSMITH_GPU_COUNTS").ok()?;
        // SAFETY: it is the driver of tests, which the engine loads, too.
        let library = unsafe { Library::new("libcuda.so.1") }.unwrap();
        Some((Self(library), path))
    }

    /// Calls one of its functions with a text.
    fn call(&self, function: &str, text: &str) {
        type Function = unsafe extern "C" fn(*const std::ffi::c_char) -> std::ffi::c_int;
        let text = CString::new(text).unwrap();
        // SAFETY: the functions take a text that ends with 0; the result of one is nothing.
        unsafe { self.0.get::<Function>(function.as_bytes()).unwrap()(text.as_ptr()) };
    }
}

/// One page of a column, by an encoding and a codec.
fn page(column: ArrayRef, encoding: Encoding, codec: Compression) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter([("x", column)]).unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_encoding(encoding)
        .set_compression(codec)
        .set_data_page_size_limit(1 << 30)
        .set_data_page_row_count_limit(1 << 30);
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn decode(engine: &GpuEngine, file: &[u8]) {
    let file = File::open(Bytes::copy_from_slice(file), &Limits::default()).unwrap();
    let read = ReadOptions::default();
    let plan = ReadPlan::new(&file, &read).unwrap();
    engine.device_batch(&file, 0, &plan, &read, &Chain::default()).unwrap();
}

#[test]
fn workloads_are_counted() {
    let Some((counter, path)) = Counter::requested() else { return };
    let device = Arc::new(CudaDevice::open(0).unwrap());
    let engine = |split: u64| {
        GpuEngine::new(device.clone(), GpuOptions::default().with_split_bytes_min(split))
    };
    // JSON: battery-64 and trip, as the benchmark has them.
    for (name, workload, width) in
        [("battery-64", Workload::Battery, 64), ("trip", Workload::Trip, 64)]
    {
        let mut text = Vec::new();
        Generator::new(workload, 1, width).fill(48 << 10, &mut text);
        let plan = Arc::new(Plan::new(Arc::new(workload.schema())).unwrap());
        let chain = Chain::from(cpu());
        let engine = engine(u64::MAX);
        let mut decoder = engine.device_decoder(&plan, &DecodeOptions::default(), &chain).unwrap();
        counter.call("arrowsmith_count_mark", &format!("{name} {}", text.len()));
        let text = DeviceText::upload(engine.device(), text).unwrap();
        decoder.decode_resident(&text, Framing::Lines).unwrap();
        assert!(decoder.take().iter().map(|batch| batch.num_rows()).sum::<usize>() > 0);
    }
    // One page each, by one block of threads and by many; deltas are always for many.
    let mut chance = SplitMix64::new(1);
    let numbers: Vec<i64> = (0..60_000_i64)
        .scan(0, |sum, _| {
            *sum += i64::from(chance.next_u64().to_le_bytes()[0]);
            Some(*sum)
        })
        .collect();
    let words = |k: i64| format!("station {} of line {}", k * 7919 % 1009, k % 17);
    let texts: ArrayRef =
        Arc::new(numbers.iter().take(12_000).map(|k| Some(words(*k))).collect::<StringArray>());
    let (bytes, plain) = (Compression::UNCOMPRESSED, Encoding::PLAIN);
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let delta: ArrayRef = Arc::new(Int64Array::from(numbers));
    let cases = [
        ("delta", delta.clone(), Encoding::DELTA_BINARY_PACKED, bytes),
        ("lengths", texts.clone(), Encoding::DELTA_LENGTH_BYTE_ARRAY, bytes),
        ("strings", texts.clone(), plain, bytes),
        ("snappy", texts.clone(), plain, Compression::SNAPPY),
        ("zstd", texts, plain, zstd),
    ];
    for (name, column, encoding, codec) in cases {
        // Bytes of the Arrow data.
        let size = column.to_data().get_slice_memory_size().unwrap();
        let file = page(column, encoding, codec);
        let ways: &[_] = match encoding {
            Encoding::PLAIN => &[("-whole", u64::MAX), ("-split", 0)],
            _ => &[("", 0)],
        };
        for (way, split) in ways {
            counter.call("arrowsmith_count_mark", &format!("{name}{way} {size}"));
            decode(&engine(*split), &file);
        }
    }
    counter.call("arrowsmith_count_write", &path);
}
