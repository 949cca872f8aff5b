// SPDX-License-Identifier: Apache-2.0
//! The memory of the pipelines, counted by the allocator: the same with many threads as with one.
//!
//! One test only, since the allocator counts for the whole process.

#![expect(unsafe_code, reason = "an allocator is unsafe")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::types::Int32Type;
use arrow_array::{DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use arrowsmith_core::{DecodeOptions, Limits};
use arrowsmith_engine::Engine;
use arrowsmith_parquet::Predicate;
use arrowsmith_pipeline::JsonPipeline;
use arrowsmith_pipeline::parquet::ParquetPipeline;
use arrowsmith_plan::Plan;
use arrowsmith_source::Input;
use arrowsmith_testkit::engines;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

const MIB: usize = 1 << 20;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

struct Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

// SAFETY: every call is passed to `System` with the same layout and pointer.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: `layout` has a non-zero size, by the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `ptr` came from `System` with this layout, by the contract of
        // `GlobalAlloc::dealloc`.
        unsafe { System.dealloc(ptr, layout) };
    }
}

/// The peak of bytes while `work` ran, beyond those before.
fn most<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let made = work();
    (made, MOST.load(Ordering::Relaxed).saturating_sub(before))
}

/// Row groups with columns of one long text, each in its own dictionary: tiny in the file.
fn bomb(row_groups: usize, columns: usize, text_bytes: usize) -> Vec<u8> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let options = ArrowWriterOptions::new().with_properties(properties);
    let text = Arc::new(StringArray::from(vec!["x".repeat(text_bytes)]));
    let array = DictionaryArray::<Int32Type>::new(Int32Array::from(vec![0; 4]), text);
    let names: Vec<String> = (0..columns).map(|number| format!("c{number}")).collect();
    let arrays = names.iter().map(|name| (name, Arc::new(array.clone()) as _));
    let batch = RecordBatch::try_from_iter(arrays).unwrap();
    let options = options.with_skip_arrow_metadata(true);
    let mut writer =
        ArrowWriter::try_new_with_options(Vec::new(), batch.schema(), options).unwrap();
    for _ in 0..row_groups {
        writer.write(&batch).unwrap();
        writer.flush().unwrap();
    }
    writer.into_inner().unwrap()
}

/// Rows of a file that is read with this memory limit, and the peak of memory.
fn read_parquet(bytes: &[u8], memory: usize, threads: usize, way: usize) -> (usize, usize) {
    let mut made = ParquetPipeline::builder()
        .engine(engines::cpu())
        .files([Input::bytes(bytes.to_vec())])
        .limits(Limits::default().with_memory_bytes_max(memory))
        .threads(threads);
    if way == 1 {
        made = made.filter(Some(Predicate::parse("c0 >= 'a' and c1 is not null").unwrap()));
    }
    if way == 2 {
        made = made.engine(engines::reference());
    }
    most(|| made.start().unwrap().map(|batch| batch.unwrap().num_rows()).sum())
}

/// Records that take many bytes each, from a text a hundred times as short.
fn read_json(engine: Arc<dyn Engine>, threads: usize) -> (usize, usize) {
    let fields = (0..250).map(|at| Field::new(format!("c{at}"), DataType::Int64, true));
    let item = Field::new("item", DataType::Struct(fields.collect()), true);
    let list = Field::new("l", DataType::List(Arc::new(item)), true);
    let plan = Arc::new(Plan::new(Arc::new(Schema::new(vec![list]))).unwrap());
    let record = format!("{{\"l\":[{}]}}\n", vec!["{}"; 10_000].join(","));
    let mut options = DecodeOptions::default();
    options.limits = Limits::default().with_memory_bytes_max(4 * MIB);
    let made = JsonPipeline::builder(plan, engine)
        .inputs([Input::bytes(record.repeat(24))])
        .options(options)
        .chunk_bytes(64 << 10)
        .threads(threads);
    most(|| made.start().unwrap().map(|batch| batch.unwrap().num_rows()).sum())
}

#[test]
fn many_threads_hold_no_more_than_one() {
    let bytes = bomb(12, 6, 2 * MIB);
    assert!(bytes.len() < 12 * MIB, "{}", bytes.len());
    for way in 0..3 {
        for threads in [1, 2, 8] {
            // A row group takes 12 MiB of dictionaries, the same again for their pages, and 48 MiB
            // of rows.
            let (rows, held) = read_parquet(&bytes, 64 * MIB, threads, way);
            assert_eq!(rows, 48);
            assert!(held < 160 * MIB, "way {way}, {threads} threads: {} MiB", held / MIB);
        }
    }
    // A record takes 20 MB.
    for engine in [engines::cpu(), engines::reference()] {
        let name = engine.name();
        let (rows, alone) = read_json(Arc::clone(&engine), 1);
        assert_eq!(rows, 24);
        let (rows, held) = read_json(engine, 8);
        assert_eq!(rows, 24);
        assert!(held < 3 * alone, "{name}: {} MiB, not {}", held / MIB, alone / MIB);
    }
}
