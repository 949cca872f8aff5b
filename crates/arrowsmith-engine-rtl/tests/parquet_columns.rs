// SPDX-License-Identifier: Apache-2.0
//! Row groups through a circuit: the batches of engine `cpu`; pages that are not sound are errors, never hangs.
//!
//! One circuit, for 64-bit numbers in PLAIN and DELTA_BINARY_PACKED, serves all of it: compiling one takes longer than running it. Needs a
//! Verilator (`tools/hdl verilator` prints one for `ARROWSMITH_VERILATOR`). `ARROWSMITH_RTL_FILES` names a folder of files that are
//! read as well, each by a circuit of its own.

mod parquet_support;

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use arrowsmith_engine_rtl::converter::{Interface, MemoryProfile};
use arrowsmith_engine_rtl::parquet::{Engine, ParquetError};
use arrowsmith_rtlgen::parquet::{Column, Kind, Options, generate};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::Encoding;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet_support::{Case, check, first_difference, verilator};

/// A file of one column of numbers that are not null.
fn numbers(
    values: Vec<i64>,
    encoding: Encoding,
    version: WriterVersion,
    page_rows: usize,
) -> Bytes {
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, false)]));
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_encoding(encoding)
        .set_writer_version(version)
        .set_data_page_row_count_limit(page_rows)
        .set_write_batch_size(64)
        .set_max_row_group_row_count(Some(5_000))
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, schema.clone(), Some(properties)).unwrap();
    let array: ArrayRef = Arc::new(Int64Array::from(values));
    writer.write(&RecordBatch::try_new(schema, vec![array]).unwrap()).unwrap();
    writer.close().unwrap();
    bytes.into()
}

/// Numbers whose differences need from 0 to 64 bits.
fn mixed(count: u64) -> Vec<i64> {
    let mut state = 1_u64;
    let next = |index: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bits = index / 300 % 65;
        if bits == 0 { 7 } else { state.cast_signed() >> (64 - bits) }
    };
    (0..count).map(next).collect()
}

fn engine(case: &Case) -> Engine {
    let mut column = Column::new("x", Kind::Bits64, false);
    column.dictionary = false;
    let design = generate(&[column], &Options::default()).unwrap();
    Engine::of_design(&verilator(), design, &case.plan).unwrap()
}

fn files() -> Vec<Bytes> {
    let mut files = Vec::new();
    for encoding in [Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED] {
        for (version, page_rows) in [
            (WriterVersion::PARQUET_1_0, 20_000),
            (WriterVersion::PARQUET_2_0, 20_000),
            (WriterVersion::PARQUET_1_0, 129),
            (WriterVersion::PARQUET_2_0, 65),
        ] {
            files.push(numbers(mixed(20_001), encoding, version, page_rows));
        }
        for count in [1, 2, 8, 9, 64, 65] {
            files.push(numbers(mixed(count), encoding, WriterVersion::PARQUET_1_0, 20_000));
        }
    }
    files
}

#[test]
fn numbers_are_those_of_engine_cpu() {
    for bytes in files() {
        let case = Case::open(bytes).unwrap();
        let engine = engine(&case);
        for memory in
            [MemoryProfile::IDEAL, MemoryProfile::stalling(40, 3), Interface::PCIE3_X8.at(250)]
        {
            let mut reader = engine.start(&memory).unwrap();
            for row_group in 0..case.file.row_groups() {
                let (batch, took) = reader.read(&case.file, row_group).unwrap();
                let expected = case.expected(row_group).unwrap();
                assert!(batch == expected, "{}", first_difference(&batch, &expected));
                assert_eq!(took.output_bytes, took.rows * 8);
            }
        }
    }
}

/// Bytes of pages changed at random: what engine `cpu` reads, the circuit reads as the same, and it always ends.
#[test]
fn broken_pages_end() {
    let mut refused = 0;
    for encoding in [Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED] {
        let sound = numbers(mixed(700), encoding, WriterVersion::PARQUET_1_0, 129);
        let case = Case::open(sound.clone()).unwrap();
        let range = case.file.chunk_range(0, 0).unwrap();
        let engine = engine(&case);
        let mut reader = engine.start(&MemoryProfile::IDEAL).unwrap();
        let mut state = 99_usize;
        for _ in 0..150 {
            let mut bytes = sound.to_vec();
            for _ in 0..=state % 2 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let length = usize::try_from(range.end - range.start).unwrap();
                let at = usize::try_from(range.start).unwrap()
                    + (state >> 33) % length.min(if state & 1 == 0 { 60 } else { length });
                bytes[at] ^= 1 << ((state >> 20) % 8);
            }
            let Ok(case) = Case::open(bytes.into()) else { continue };
            match reader.read(&case.file, 0) {
                // A circuit may take what software refuses (a checksum, a count of bytes that nobody needs), but never read otherwise.
                Ok((batch, _)) => {
                    if let Ok(expected) = case.expected(0) {
                        assert!(batch == expected, "{}", first_difference(&batch, &expected));
                    }
                }
                Err(ParquetError::Data { .. } | ParquetError::Array(..)) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert!(refused > 20, "{refused}");
}

/// Files that a variable names: each through a circuit made for it.
#[test]
fn files_that_are_named() {
    let Some(folder) = std::env::var_os("ARROWSMITH_RTL_FILES") else { return };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let verilator = verilator();
    let mut failed = Vec::new();
    for path in files.iter().filter(|path| path.extension().is_some_and(|end| end == "parquet")) {
        let case = Case::open(std::fs::read(path).unwrap().into()).unwrap();
        for memory in [MemoryProfile::IDEAL, MemoryProfile::stalling(30, 7)] {
            match check(&verilator, &case, &memory) {
                Ok(took) => println!("{}: {took}", path.display()),
                Err(why) => failed.push(format!("{}: {why}", path.display())),
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
