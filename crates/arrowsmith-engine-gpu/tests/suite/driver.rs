// SPDX-License-Identifier: Apache-2.0
//! The calls of CUDA's driver, on a GPU (`tools/gpu device`) or with `kernels/shim/driver.cpp`
//! (`tools/gpu driver`): a driver whose device is the CPU, which is strict, lazy, and fails on
//! request.

#![cfg(all(feature = "cuda", feature = "shim"))]

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arrow_array::{Array, RecordBatch};
use arrow_select::concat::concat_batches;
use arrowsmith_core::{Chunk, DecodeOptions, Framing, Limits};
use arrowsmith_engine::{Chain, ColumnRequest, Engine};
use arrowsmith_engine_gpu::device::memory::Arena;
use arrowsmith_engine_gpu::{DeviceBatch, DeviceText, GpuEngine, GpuOptions};
use arrowsmith_parquet::{Budget, File, ReadOptions, ReadPlan};
use arrowsmith_plan::Plan;
use arrowsmith_testkit::engines::{before_cpu, cpu};
use arrowsmith_testkit::oracle::OracleEngine;
use arrowsmith_testkit::parquet::random;
use arrowsmith_testkit::unsupported;
use arrowsmith_workload::{Generator, Workload};
use libloading::Library;

/// The driver, for one test at a time.
struct Driver {
    /// The driver of tests, if it is that.
    ours: Option<&'static Library>,
    _alone: MutexGuard<'static, ()>,
}

impl Driver {
    /// The driver that the environment requests.
    fn here() -> Option<Self> {
        static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
        static ALONE: Mutex<()> = Mutex::new(());
        let asked = std::env::var("ARROWSMITH_GPU_TESTS").is_ok_and(|asked| asked == "cuda");
        if !asked {
            unsupported(
                "only `tools/gpu device` and `tools/gpu driver` use a GPU, or a driver in its place",
            );
            return None;
        }
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: it is CUDA's driver, or the one of tests.
        let library = LIBRARY.get_or_init(|| unsafe { Library::new("libcuda.so.1") }.ok()).as_ref();
        // SAFETY: the function takes a number.
        let is_test_driver =
            |library: &&Library| unsafe { library.get::<Set>(FAIL.as_bytes()) }.is_ok();
        Some(Self { ours: library.filter(is_test_driver), _alone })
    }

    /// The driver of tests.
    fn of_tests() -> Option<Self> {
        let driver = Self::here()?;
        if driver.ours.is_none() {
            unsupported("the driver is a real one: its calls do not fail at will");
        }
        driver.ours.is_some().then_some(driver)
    }

    fn set(&self, name: &str, value: u64) {
        let library = self.ours.unwrap();
        // SAFETY: both functions take a number.
        unsafe { library.get::<Set>(name.as_bytes()).unwrap()(value) };
    }

    /// The n-th call from now on fails, and all after it; 0: none.
    fn fail(&self, calls: u64) {
        self.set(FAIL, calls);
    }

    fn bytes_max(&self, bytes: u64) {
        self.set("arrowsmith_driver_bytes", bytes);
    }

    /// Takes the context from this thread, as a consumer may.
    fn is_left(&self) {
        let Some(library) = self.ours else { return };
        let mut current = std::ptr::dangling_mut();
        // SAFETY: the function writes a handle.
        let status =
            unsafe { library.get::<Current>(b"cuCtxGetCurrent").unwrap()(&raw mut current) };
        assert!(status == 0 && current.is_null(), "{status} {current:?}");
    }

    /// Resources not yet released; 0 with a real driver, which does not count them.
    fn live(&self) -> u64 {
        self.ours.map_or(0, |library| {
            // SAFETY: the function takes nothing.
            unsafe { library.get::<Get>(b"arrowsmith_driver_live").unwrap()() }
        })
    }
}

const FAIL: &str = "arrowsmith_driver_fail";

type Current = extern "C" fn(*mut *mut std::ffi::c_void) -> i32;
type Get = extern "C" fn() -> u64;

type Set = extern "C" fn(u64);

fn engine() -> arrowsmith_core::Result<GpuEngine> {
    GpuEngine::open(GpuOptions::default())
}

fn workload(kind: Workload, bytes: usize) -> (Arc<Plan>, Vec<u8>) {
    let mut text = Vec::new();
    Generator::new(kind, 11, 16).fill(bytes, &mut text);
    (Arc::new(Plan::new(Arc::new(kind.schema())).unwrap()), text)
}

fn rows(
    engine: &dyn Engine,
    plan: &Arc<Plan>,
    text: &[u8],
) -> arrowsmith_core::Result<RecordBatch> {
    let mut decoder = engine.decoder(plan, &DecodeOptions::default())?;
    // Twice, so that memory is used again.
    decoder.decode(&Chunk::new(text, Framing::Lines))?;
    decoder.decode(&Chunk::new(text, Framing::Lines))?;
    let mut batches = Vec::new();
    while let Some(batch) = decoder.flush()? {
        batches.push(batch);
    }
    Ok(concat_batches(plan.schema(), &batches).unwrap())
}

fn stays(
    engine: &GpuEngine,
    plan: &Arc<Plan>,
    text: &[u8],
) -> arrowsmith_core::Result<RecordBatch> {
    let mut decoder = engine.device_decoder(plan, &DecodeOptions::default(), &cpu().into())?;
    decoder.decode(&Chunk::new(text, Framing::Lines))?;
    let there = DeviceText::upload(engine.device(), text.to_vec())?;
    decoder.decode_resident(&there, Framing::Lines)?;
    let kept = decoder.take();
    // The batches outlive what made them.
    drop((decoder, there));
    let found =
        kept.iter().map(DeviceBatch::to_host).collect::<arrowsmith_core::Result<Vec<_>>>()?;
    Ok(concat_batches(plan.schema(), &found).unwrap())
}

#[test]
fn json_is_read_through_a_driver() {
    let Some(driver) = Driver::here() else { return };
    let engine = engine().unwrap();
    for kind in Workload::ALL {
        let (plan, text) = workload(kind, 1 << 13);
        let expected = rows(&OracleEngine, &plan, &text).unwrap();
        assert_eq!(rows(&before_cpu(engine.clone()), &plan, &text).unwrap(), expected, "{kind:?}");
        assert_eq!(stays(&engine, &plan, &text).unwrap(), expected, "{kind:?}");
        assert_eq!(
            rows(&before_cpu(engine.clone()), &plan, b"").unwrap().num_rows(),
            0,
            "{kind:?}"
        );
        assert_eq!(stays(&engine, &plan, b"").unwrap().num_rows(), 0, "{kind:?}");
    }
    assert_eq!(engine.counters().careful_bytes(), 0);
    let (up, down) = engine.device().copy_seconds(1 << 20, 3).unwrap();
    assert_eq!((up.len(), down.len()), (3, 3));
    if driver.ours.is_some() {
        assert!(engine.device().joules().unwrap_err().contains("NVML"));
        assert!(driver.live() > 0);
    }
    drop(engine);
    assert_eq!(driver.live(), 0);
    driver.is_left();
}

/// Memory of a driver may begin where other memory ends, and no copy goes over that boundary.
#[test]
fn what_is_sent_together_is_within_one_allocation() {
    let Some(_driver) = Driver::here() else { return };
    let device = engine().unwrap().device().clone();
    let (mut arena, mut stream) = (Arena::new(device.clone(), 64 << 20), device.stream().unwrap());
    // With the bytes after each that may be read, seventeen fill the first slab of 1 MiB.
    let page =
        |number: u8| vec![number; (1 << if number.is_multiple_of(16) { 15 } else { 16 }) - 16];
    let sent: Vec<_> =
        (0..100).map(|number| arena.send(stream.as_mut(), &page(number)).unwrap()).collect();
    arena.sent(stream.as_mut()).unwrap();
    let parts: Vec<_> = sent.iter().map(|page| (page.at, page.len as u64)).collect();
    let found = stream.fetch(&parts).unwrap();
    assert!((0..100).zip(found).all(|(number, found)| found.as_slice() == page(number)));
    arena.reset(stream.as_mut()).unwrap();
}

/// Batches are where the device has written them, while there is room; and outlive the engine.
#[test]
fn results_are_in_pinned_memory() {
    let Some(driver) = Driver::here() else { return };
    let (plan, text) = workload(Workload::Battery, 1 << 19);
    let expected = rows(&OracleEngine, &plan, &text[..]).unwrap();
    let expected = expected.slice(0, expected.num_rows() / 2);
    for most in [1 << 21, 1 << 20, 0] {
        let options = GpuOptions::default().with_pinned_bytes_max(most);
        let engine = GpuEngine::open(options).unwrap();
        let decode = || {
            let chain = before_cpu(engine.clone());
            let mut decoder = chain.decoder(&plan, &DecodeOptions::default()).unwrap();
            decoder.decode(&Chunk::new(&text, Framing::Lines)).unwrap();
            decoder.flush().unwrap().unwrap()
        };
        let held: Vec<_> = (0..3).map(|_| decode()).collect();
        assert!(held.iter().all(|batch| *batch == expected), "{most}");
        drop(held);
        // In memory that was given back.
        let again = decode();
        drop(engine);
        assert_eq!(again, expected, "{most}");
        drop(again);
        assert_eq!(driver.live(), 0, "{most}");
    }
}

/// A file, by the device and by the CPU engine.
fn columns(engine: &GpuEngine, seed: u64) -> arrowsmith_core::Result<(u64, u64)> {
    let file = File::open(random::file(seed).bytes, &Limits::default())?;
    let plan = ReadPlan::new(&file, &ReadOptions::default())?;
    let (cpu, options) = (Chain::from(cpu()), ReadOptions::default());
    let chain = Chain::of(engine.clone()).then(&cpu);
    for row_group in 0..file.row_groups() {
        let rows = file.row_group_rows(row_group)?;
        for column in &plan.fields {
            let request = ColumnRequest {
                file: &file,
                row_group,
                column,
                selection: None,
                batch_rows: rows,
                options: &options,
                budget: &Budget::unbounded(),
            };
            let expected = cpu.column(&request).and_then(|mut decoder| decoder.next(rows));
            let Ok(expected) = expected else { continue };
            let found = chain.column(&request)?.next(rows)?;
            assert_eq!(found.to_data(), expected.to_data(), "seed {seed}");
        }
        match engine.device_batch(&file, row_group, &plan, &options, &cpu) {
            Ok(batch) => assert_eq!(batch.to_host()?.num_rows(), rows),
            Err(error) if error.to_string().contains("views do not stay") => {}
            Err(error) => return Err(error),
        }
    }
    Ok(engine.column_chunks())
}

#[test]
fn parquet_is_read_through_a_driver() {
    let Some(driver) = Driver::here() else { return };
    let engine = engine().unwrap();
    let (mut device, mut cpu) = (0, 0);
    for seed in 0..6 {
        let counted = columns(&engine, seed).unwrap();
        (device, cpu) = (device + counted.0, cpu + counted.1);
    }
    assert!(device > cpu, "{device} and {cpu}");
    drop(engine);
    assert_eq!(driver.live(), 0);
}

/// Whichever call fails, there is an error or the right rows, and at the end everything is
/// released.
#[test]
fn every_call_may_fail() {
    let Some(driver) = Driver::of_tests() else { return };
    let (plan, text) = workload(Workload::Logs, 700);
    let expected = rows(&OracleEngine, &plan, &text).unwrap();
    type Work<'w> = &'w dyn Fn(&GpuEngine) -> arrowsmith_core::Result<()>;
    let tries: [(&str, u64, Work<'_>); 4] = [
        // Each failure of the cached kernels costs compiling them again.
        ("opening", 1, &|_| engine().map(|_| ())),
        ("rows", 8, &|engine| {
            rows(&before_cpu(engine.clone()), &plan, &text).map(|found| assert_eq!(found, expected))
        }),
        ("batches that stay", 8, &|engine| {
            stays(engine, &plan, &text).map(|found| assert_eq!(found, expected))
        }),
        ("columns", 8, &|engine| columns(engine, 3).map(|_| ())),
    ];
    for (what, density, work) in tries {
        let mut calls = 1;
        loop {
            let opened = engine().unwrap();
            driver.fail(calls);
            let outcome = work(&opened);
            driver.fail(0);
            drop(opened);
            assert_eq!(driver.live(), 0, "{what}: call {calls} failed, {outcome:?}");
            driver.is_left();
            match outcome {
                Ok(()) => break,
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.contains("gpu: ") || text.contains("engine gpu"), "{text}");
                }
            }
            // Every call of the beginning, then fewer and fewer.
            calls += 1 + calls / density;
        }
        assert!(calls > 20, "{what}: {calls} calls");
    }
}

/// Other processes use the device too.
#[test]
fn a_device_without_room_changes_nothing() {
    let Some(driver) = Driver::of_tests() else { return };
    let (plan, text) = workload(Workload::Trip, 1 << 13);
    let expected = rows(&OracleEngine, &plan, &text).unwrap();
    let mut careful = Vec::new();
    // Memory for the tables of the plan and hardly more, for some of the text, for all of it.
    for bytes in [4 << 10, 64 << 10, 1 << 30] {
        driver.bytes_max((1 << 20) + bytes);
        let engine = engine().unwrap();
        let found = rows(&before_cpu(engine.clone()), &plan, &text);
        driver.bytes_max(u64::MAX);
        assert_eq!(found.unwrap(), expected, "{bytes}");
        careful.push(engine.counters().careful_bytes());
    }
    assert!(careful[0] > 0 && careful[2] == 0, "{careful:?}");
    assert_eq!(driver.live(), 0);
}
