// SPDX-License-Identifier: Apache-2.0
//! Batches that stay on the device: their content, their owner, and that they are freed exactly
//! once; and batches larger than 32-bit offsets, with a small limit in their place.

#![cfg(feature = "shim")]

use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::{RecordBatch, StructArray};
use arrow_select::concat::concat_batches;
use arrowsmith_core::{Chunk, DecodeOptions, Framing, OnError};
use arrowsmith_engine::Engine;
use arrowsmith_engine_gpu::device::Device;
use arrowsmith_engine_gpu::device::shim::ShimDevice;
use arrowsmith_engine_gpu::{DeviceBatch, DeviceText, FfiDeviceArray, GpuEngine, GpuOptions};
use arrowsmith_plan::Plan;
use arrowsmith_plan::text::parse_schema;
use arrowsmith_testkit::engines::{before_cpu, cpu};
use arrowsmith_testkit::oracle::OracleEngine;
use arrowsmith_workload::{Generator, Layout, Workload};

fn shim(options: GpuOptions) -> (Arc<ShimDevice>, GpuEngine) {
    let device = Arc::new(ShimDevice::new(21));
    let engine = GpuEngine::new(Arc::clone(&device) as Arc<dyn Device>, options);
    (device, engine)
}

fn workload(workload: Workload, layout: Layout) -> (Arc<Plan>, Vec<u8>, Framing) {
    let mut text = Vec::new();
    Generator::new(workload, 7, 64).with_layout(layout).fill(1 << 14, &mut text);
    let framing = match layout {
        Layout::Pretty => Framing::Concatenated,
        _ => Framing::Lines,
    };
    (Arc::new(Plan::new(Arc::new(workload.schema())).unwrap()), text, framing)
}

/// The batches that an engine decodes from a text.
fn batches(engine: &dyn Engine, plan: &Arc<Plan>, chunk: &Chunk<'_>) -> Vec<RecordBatch> {
    let mut decoder = engine.decoder(plan, &DecodeOptions::default()).unwrap();
    decoder.decode(chunk).unwrap();
    let mut batches = Vec::new();
    while decoder.rows() > 0 {
        batches.push(decoder.flush().unwrap().unwrap());
    }
    assert!(decoder.flush().unwrap().is_none());
    batches
}

fn whole(plan: &Arc<Plan>, batches: &[RecordBatch]) -> RecordBatch {
    concat_batches(plan.schema(), batches).unwrap()
}

#[test]
fn rows_beyond_an_offset_become_batches() {
    for kind in Workload::ALL {
        for (layout, most) in [(Layout::Compact, 3000), (Layout::Pretty, 9000)] {
            let (plan, text, framing) = workload(kind, layout);
            let chunk = Chunk::new(&text, framing);
            let expected = whole(&plan, &batches(&OracleEngine, &plan, &chunk));
            let options = GpuOptions::default().with_piece_bytes_max(1000);
            let (_, engine) = shim(options.clone().with_offset_max(most));
            let found = batches(&before_cpu(engine.clone()), &plan, &chunk);
            assert!(found.len() as u64 >= text.len() as u64 / most, "{} batches", found.len());
            assert_eq!(whole(&plan, &found), expected, "{kind:?} {layout:?}");
            // With the real limit they are one batch.
            let (_, engine) = shim(options);
            assert_eq!(
                batches(&before_cpu(engine.clone()), &plan, &chunk),
                [expected],
                "{kind:?} {layout:?}"
            );
        }
    }
}

#[test]
fn text_that_is_cut_anywhere_is_all_for_the_device() {
    for kind in Workload::ALL {
        let (plan, text, framing) = workload(kind, Layout::Pretty);
        let chunk = Chunk::new(&text, framing);
        let expected = batches(&OracleEngine, &plan, &chunk);
        // Less than some records have, so that pieces grow.
        for piece in [700, 4096, 5000] {
            let (_, engine) = shim(GpuOptions::default().with_piece_bytes_max(piece));
            assert_eq!(
                batches(&before_cpu(engine.clone()), &plan, &chunk),
                expected,
                "{kind:?} {piece}"
            );
            assert_eq!(engine.counters().careful_bytes(), 0, "{kind:?} {piece}");
        }
        let array = text.strip_suffix(b"\n").unwrap_or(&text);
        let array = String::from_utf8(array.to_vec()).unwrap().replace("}\n{", "},\n{");
        let chunk = Chunk::new(array.as_bytes(), Framing::Array);
        let (_, engine) = shim(GpuOptions::default().with_piece_bytes_max(4096));
        assert_eq!(batches(&before_cpu(engine.clone()), &plan, &chunk), expected, "{kind:?}");
        assert_eq!(engine.counters().careful_bytes(), 0, "{kind:?}");
    }
}

fn resident(engine: &GpuEngine, plan: &Arc<Plan>, chunk: &Chunk<'_>) -> Vec<DeviceBatch> {
    let mut options = DecodeOptions::default();
    options.on_error = OnError::Skip;
    let mut decoder = engine.device_decoder(plan, &options, &cpu().into()).unwrap();
    decoder.decode(chunk).unwrap();
    decoder.take()
}

#[test]
fn batches_that_stay_are_those_of_the_oracle() {
    for kind in Workload::ALL {
        for layout in [Layout::Compact, Layout::Pretty] {
            let (plan, text, framing) = workload(kind, layout);
            let chunk = Chunk::new(&text, framing);
            let expected = whole(&plan, &batches(&OracleEngine, &plan, &chunk));
            let (device, engine) = shim(GpuOptions::default().with_piece_bytes_max(5000));
            let kept = resident(&engine, &plan, &chunk);
            assert!(kept.len() > 1);
            let fetched: Vec<_> = kept.iter().map(|batch| batch.to_host().unwrap()).collect();
            assert_eq!(whole(&plan, &fetched), expected, "{kind:?} {layout:?}");
            assert_eq!(engine.counters().careful_bytes(), 0);
            // Text that is on the device already.
            let place = Arc::clone(&device) as Arc<dyn Device>;
            let there = DeviceText::upload(&place, text.clone()).unwrap();
            let mut decoder =
                engine.device_decoder(&plan, &DecodeOptions::default(), &cpu().into()).unwrap();
            let report = decoder.decode_resident(&there, framing).unwrap();
            assert_eq!(report.records, expected.num_rows() as u64);
            let feeds = text.iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(report.lines, feeds as u64);
            let found: Vec<_> =
                decoder.take().iter().map(|batch| batch.to_host().unwrap()).collect();
            assert_eq!(whole(&plan, &found), expected, "{kind:?} {layout:?}");
            drop((there, decoder, kept, engine, place));
            assert_eq!(device.live(), 0, "pieces of memory were not freed");
        }
    }
}

/// Every type, nulls everywhere, empty columns; and plans, and records, that the CPU engine
/// decodes.
#[test]
fn every_type_stays() {
    let schemas = [
        "a: int64, b: list<struct<c: utf8, d: map<utf8, int8>>>, e: large_list<bool>",
        "a: fixed_size_list<decimal128(10, 2), 2>, b: large_utf8, c: null, d: fixed_size_binary(2)",
        "a: timestamp(us), b: time32(s), c: date32, d: float16, e: json, f: large_binary",
        "a: dictionary<int8, utf8>, b: int64",
        "a: dictionary<int8, bool>, b: int64",
        "root value, value: list<int64>",
    ];
    let texts: [&[u8]; 6] = [
        b"{\"a\":1,\"b\":[{\"c\":\"x\",\"d\":{\"k\":1}},null],\"e\":[true,null]}\n{}\n{\"b\":[]}\n",
        b"{\"a\":[1.5,null],\"b\":\"\\u00e4\",\"d\":\"AAE=\"}\n{}\n{\"c\":null}\n",
        b"{\"a\":\"2024-01-02T03:04:05\",\"b\":7,\"c\":\"2024-01-02\",\"d\":1,\"e\":[1],\"f\":\"AA==\"}\n{}\n",
        b"{\"a\":\"x\",\"b\":1}\n{}\n{\"b\":\"no\"}\n{\"a\":\"y\"}\n",
        b"{\"a\":true,\"b\":1}\n{}\n",
        b"[1,2]\n[]\nnull\n",
    ];
    for (schema, text) in schemas.iter().zip(texts) {
        let plan = Arc::new(Plan::new(Arc::new(parse_schema(schema).unwrap())).unwrap());
        let mut options = DecodeOptions::default();
        options.on_error = OnError::Skip;
        let chunk = Chunk::new(text, Framing::Lines);
        let mut oracle = OracleEngine.decoder(&plan, &options).unwrap();
        let said = oracle.decode(&chunk).unwrap();
        let expected = oracle.flush().unwrap().unwrap();
        let (device, engine) = shim(GpuOptions::default());
        let mut decoder = engine.device_decoder(&plan, &options, &cpu().into()).unwrap();
        let report = decoder.decode(&chunk).unwrap();
        assert_eq!((report.records, report.lines), (said.records, said.lines), "{schema}");
        assert_eq!(report.rejects.len(), said.rejects.len(), "{schema}");
        let kept = decoder.take();
        let found: Vec<_> = kept.iter().map(|batch| batch.to_host().unwrap()).collect();
        assert_eq!(whole(&plan, &found), expected, "{schema}");
        // The same arrays by the C interface, whose buffers a consumer on the device reads.
        let taken: Vec<_> = kept.iter().map(|batch| imported(batch.export().unwrap())).collect();
        assert_eq!(whole(&plan, &taken), expected, "{schema}");
        drop((decoder, kept, engine));
        assert_eq!(device.live(), taken.len() as u64, "{schema}");
        drop(taken);
        assert_eq!(device.live(), 0, "{schema}");
    }
}

/// A consumer that can read the memory, as is possible here.
fn imported((schema, array): (FFI_ArrowSchema, FfiDeviceArray)) -> RecordBatch {
    assert_eq!((array.device_type, array.device_id), (1, 0));
    assert!(array.sync_event.is_null());
    // SAFETY: the array was just exported, and its memory is that of the host.
    let data = unsafe { from_ffi(array.array, &schema) }.unwrap();
    data.validate_full().unwrap();
    let batch = RecordBatch::from(StructArray::from(data));
    // Where schemas have a sign for a root that is not a structure, the C interface has metadata
    // too.
    let field = arrow_schema::Field::try_from(&schema).unwrap();
    let named = batch.schema().as_ref().clone().with_metadata(field.metadata().clone());
    batch.with_schema(Arc::new(named)).unwrap()
}

#[test]
fn an_array_is_released_once_and_outlives_everything() {
    let (plan, text, framing) = workload(Workload::Logs, Layout::Compact);
    let (device, engine) = shim(GpuOptions::default());
    let mut kept = resident(&engine, &plan, &Chunk::new(&text, framing));
    assert_eq!(kept.len(), 1);
    drop(engine);
    assert_eq!(device.live(), 1, "only the batch");
    let batch = kept.pop().unwrap();
    let expected = batch.to_host().unwrap();
    let (schema, mut first) = batch.export().unwrap();
    let second = batch.export().unwrap();
    assert_eq!(device.live(), 1, "nothing was copied");
    drop(batch);
    // A consumer moves the array out of the structure; dropping what is left of it releases
    // nothing. SAFETY: the structure is valid, and only looked at again to be dropped.
    let moved = unsafe { FFI_ArrowArray::from_raw(&raw mut first.array) };
    assert!(first.array.is_released() && !moved.is_released());
    drop(first);
    drop(second);
    assert_eq!(device.live(), 1, "the array that was moved out is still held");
    // SAFETY: the array was exported with this schema, and its memory is that of the host.
    let data = unsafe { from_ffi(moved, &schema) }.unwrap();
    let found = RecordBatch::from(StructArray::from(data));
    assert_eq!(found.columns(), expected.columns());
    assert_eq!(device.live(), 1);
    drop(found);
    assert_eq!(device.live(), 0, "given back, once: the shim would have crashed at a second time");
}

/// Other processes use a device too: what does not fit, the CPU engine decodes.
#[test]
fn a_full_device_changes_nothing() {
    for layout in [Layout::Compact, Layout::Pretty] {
        let (plan, text, framing) = workload(Workload::Logs, layout);
        let chunk = Chunk::new(&text, framing);
        let expected = whole(&plan, &batches(&OracleEngine, &plan, &chunk));
        let decode = |bytes: u64| {
            let device = Arc::new(ShimDevice::new(22).with_bytes_max(bytes));
            let engine =
                GpuEngine::new(Arc::clone(&device) as Arc<dyn Device>, GpuOptions::default());
            let found = batches(&before_cpu(engine.clone()), &plan, &chunk);
            assert_eq!(whole(&plan, &found), expected, "{layout:?} {bytes}");
            let careful = engine.counters().careful_bytes();
            drop(engine);
            assert_eq!(device.live(), 0);
            careful
        };
        let all = text.len() as u64;
        // Memory for the tables of the plan, and hardly more; for some of the text; for all of it.
        assert_eq!(decode(1 << 20), all);
        let some = (20..24).map(|bits| decode((1 << 20) + (1 << bits))).collect::<Vec<_>>();
        assert!(some.is_sorted_by(|a, b| a >= b), "{some:?}");
        assert_eq!(decode(1 << 30), 0);
    }
    let (plan, text, framing) = workload(Workload::Logs, Layout::Compact);
    let place: Arc<dyn Device> = Arc::new(ShimDevice::new(23).with_bytes_max(5000));
    let error = DeviceText::upload(&place, text.clone()).unwrap_err();
    assert!(error.to_string().contains("no room for 16"), "{error}");
    // Batches that stay need the memory.
    let room = Arc::new(ShimDevice::new(24).with_bytes_max((1 << 20) + 500));
    let engine = GpuEngine::new(Arc::clone(&room) as Arc<dyn Device>, GpuOptions::default());
    let mut decoder =
        engine.device_decoder(&plan, &DecodeOptions::default(), &cpu().into()).unwrap();
    let error = decoder.decode(&Chunk::new(&text, framing)).unwrap_err();
    assert!(error.to_string().contains("no room"), "{error}");
    drop((decoder, engine));
    assert_eq!(room.live(), 0);
}

#[test]
fn nothing_is_held_after_faults() {
    let (plan, mut text, framing) = workload(Workload::Trip, Layout::Compact);
    text.extend(b"{\"broken\":\n");
    let (device, engine) = shim(GpuOptions::default().with_piece_bytes_max(4096));
    let mut decoder =
        engine.device_decoder(&plan, &DecodeOptions::default(), &cpu().into()).unwrap();
    let error = decoder.decode(&Chunk::new(&text, framing)).unwrap_err();
    assert!(error.to_string().contains("line"), "{error}");
    let rows: usize = decoder.take().iter().map(DeviceBatch::num_rows).sum();
    assert!(rows > 10, "the rows before the error");
    drop((decoder, engine));
    assert_eq!(device.live(), 0);
}

#[test]
fn columns_of_views_are_refused_by_name() {
    let schema = parse_schema("a: utf8_view").unwrap();
    let plan = Arc::new(Plan::new(Arc::new(schema)).unwrap());
    let (_, engine) = shim(GpuOptions::default());
    let mut decoder =
        engine.device_decoder(&plan, &DecodeOptions::default(), &cpu().into()).expect("a decoder");
    let error = decoder.decode(&Chunk::new(b"{\"a\":\"x\"}\n", Framing::Lines)).unwrap_err();
    assert!(error.to_string().contains("views do not stay"), "{error}");
}
