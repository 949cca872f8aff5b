// SPDX-License-Identifier: Apache-2.0
//! Row groups through a circuit: the batches of engine `cpu`; invalid pages are errors, never
//! hangs.
//!
//! Two circuits serve all tests, since compiling one takes longer than running it: one column of
//! 64-bit numbers, and three columns that cover every kind, encoding and codec. Needs a Verilator
//! (`tools/hdl verilator` prints one for `ARROWSMITH_VERILATOR`). `ARROWSMITH_RTL_ROUNDS` is the
//! number of corrupted pages per file (60); `ARROWSMITH_RTL_FILES` names a folder of additional
//! files, each read by a circuit of its own.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use arrow_array::{
    Array, ArrayRef, Date32Array, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, TimestampMicrosecondArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use arrowsmith_engine_rtl::parquet::{Circuit, ParquetError};
use arrowsmith_engine_rtl::{Interface, MemoryProfile};
use arrowsmith_rtlgen::parquet::{Column, Design, Kind, Options, generate};
use arrowsmith_testkit::scale;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};

use crate::parquet_support::{Case, check, first_difference};
use crate::support::{there, verilator};

/// A file of one column of non-null numbers.
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

/// One column of numbers, as `numbers` writes it.
fn narrow() -> Design {
    let mut column = Column::new("x", Kind::Bits64, false);
    column.dictionary = false;
    generate(&[column], &Options::default()).unwrap()
}

/// Three columns, as `table` writes them: each with what it has in any form, and no more, because
/// compiling this circuit takes most of the test.
fn wide() -> Design {
    let columns = [
        Column { delta: false, ..Column::new("a", Kind::Bits32, true) },
        Column { snappy: true, ..Column::new("b", Kind::Bytes, true) },
        Column::new("c", Kind::Bits64, false),
    ];
    generate(&columns, &Options::default()).unwrap()
}

/// Parallel tests compile a design once.
fn engine(case: &Case, design: Design) -> Circuit {
    static COMPILES: Mutex<()> = Mutex::new(());
    let _one = COMPILES.lock();
    Circuit::of_design(&verilator(), design, &case.plan).unwrap()
}

/// All row groups on three memories, equal to engine `cpu`'s.
fn agree(bytes: Bytes, design: Design) {
    let case = Case::open(bytes).unwrap();
    let engine = engine(&case, design);
    for memory in
        [MemoryProfile::IDEAL, MemoryProfile::stalling(40, 3), Interface::PCIE3_X8.at(250)]
    {
        let mut reader = engine.start(&memory).unwrap();
        for row_group in 0..case.file.row_groups() {
            let (batch, took) = reader.read(&case.file, row_group).unwrap();
            let expected = case.expected(row_group).unwrap();
            assert!(batch == expected, "{}", first_difference(&batch, &expected));
            assert_eq!(took.rows, batch.num_rows() as u64);
        }
    }
}

/// The encodings of a column of `table`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Delta,
    Dictionary,
    /// A dictionary that soon has enough entries, followed by PLAIN.
    Both,
}

const FORMS: [Form; 4] = [Form::Plain, Form::Delta, Form::Dictionary, Form::Both];

/// Nullable 32-bit numbers, never deltas; nullable text, compressed; and 64-bit numbers.
fn table(rows: usize, null_percent: u64, form: Form, version: WriterVersion) -> Bytes {
    let schema = Arc::new(Schema::new(vec![
        Field::new("a", DataType::Int32, true),
        Field::new("b", DataType::Utf8, true),
        Field::new("c", DataType::Int64, false),
    ]));
    let mut properties = WriterProperties::builder()
        .set_dictionary_enabled(matches!(form, Form::Dictionary | Form::Both))
        .set_dictionary_page_size_limit(if form == Form::Both { 400 } else { 60_000 })
        .set_column_compression("b".into(), Compression::SNAPPY)
        .set_writer_version(version)
        .set_data_page_row_count_limit(300)
        .set_write_batch_size(50)
        .set_max_row_group_row_count(Some(1_000));
    // In version 2.0 the writer's own choice after a dictionary would be DELTA_BYTE_ARRAY.
    let (numbers, text) = match form {
        Form::Delta => (Encoding::DELTA_BINARY_PACKED, Encoding::DELTA_LENGTH_BYTE_ARRAY),
        Form::Plain | Form::Dictionary | Form::Both => (Encoding::PLAIN, Encoding::PLAIN),
    };
    for (column, encoding) in [("a", Encoding::PLAIN), ("b", text), ("c", numbers)] {
        properties = properties.set_column_encoding(column.into(), encoding);
    }
    let mut state = rows as u64 ^ null_percent;
    let mut below = |limit: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    };
    let (mut a, mut b, mut c) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..rows {
        let word = usize::try_from(below(150)).unwrap();
        let length = if word == 7 { 900 } else { word * 37 % 130 };
        let text: String = "é€x𝄞-word".chars().cycle().skip(word % 9).take(length).collect();
        a.push(
            (below(100) >= null_percent).then(|| i32::try_from(below(500)).unwrap() * 4_000_037),
        );
        b.push((below(100) >= null_percent).then_some(text));
        c.push(if row % 3 == 0 { i64::MIN } else { below(700).cast_signed() << (row % 50) });
    }
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(a)),
        Arc::new(StringArray::from(b)),
        Arc::new(Int64Array::from(c)),
    ];
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, schema.clone(), Some(properties.build())).unwrap();
    writer.write(&RecordBatch::try_new(schema, columns).unwrap()).unwrap();
    writer.close().unwrap();
    bytes.into()
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
    if !there() {
        return;
    }
    for bytes in files() {
        agree(bytes, narrow());
    }
}

#[test]
fn nulls_text_dictionaries_and_snappy_are_those_of_engine_cpu() {
    if !there() {
        return;
    }
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for form in FORMS {
            for (rows, null_percent) in [(1, 0), (70, 100), (64, 50), (2_100, 0), (1_300, 30)] {
                agree(table(rows, null_percent, form, version), wide());
            }
        }
    }
}

/// More than four columns, of types whose stored bits are Arrow's, in the circuit made for the
/// file.
#[test]
fn types_that_are_bits_are_those_of_engine_cpu() {
    if !there() {
        return;
    }
    let rows = 2_000;
    let bits = |row: i32| row.wrapping_mul(0x1234_5679) ^ (row << 7);
    let wide = |row: i32| (i64::from(bits(row)) << 21) ^ i64::from(row);
    let floats = (0..rows).map(|row| f32::from_bits(bits(row).cast_unsigned()));
    let doubles = (0..rows).map(|row| f64::from_bits(wide(row).cast_unsigned()));
    let some = (0..rows).map(|row| (row % 3 != 0).then(|| wide(row).cast_unsigned()));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("f", Arc::new(Float32Array::from_iter_values(floats))),
        ("d", Arc::new(Float64Array::from_iter_values(doubles))),
        ("day", Arc::new(Date32Array::from_iter_values((0..rows).map(bits)))),
        ("at", Arc::new(TimestampMicrosecondArray::from_iter_values((0..rows).map(wide)))),
        ("u", Arc::new(UInt32Array::from_iter_values((0..rows).map(i32::cast_unsigned)))),
        ("n", Arc::new(UInt64Array::from_iter(some))),
    ];
    let named = columns.into_iter().map(|(name, array)| {
        let nullable = array.null_count() > 0;
        (name, array, nullable)
    });
    let batch = RecordBatch::try_from_iter_with_nullable(named).unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_data_page_row_count_limit(300)
        .set_write_batch_size(100)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    let case = Case::open(writer.into_inner().unwrap().into()).unwrap();
    for memory in [MemoryProfile::IDEAL, MemoryProfile::stalling(30, 9)] {
        check(&verilator(), &case, &memory).unwrap();
    }
}

/// Valid data that does not fit is an error that says so.
#[test]
fn a_dictionary_that_is_too_large_is_refused() {
    if !there() {
        return;
    }
    let schema = Arc::new(Schema::new(vec![
        Field::new("a", DataType::Int32, true),
        Field::new("b", DataType::Utf8, true),
        Field::new("c", DataType::Int64, false),
    ]));
    let rows = 4_097;
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from_iter_values(0..rows)),
        Arc::new(StringArray::new_null(4_097)),
        Arc::new(Int64Array::from_iter_values(0..i64::from(rows))),
    ];
    let properties = WriterProperties::builder()
        .set_column_compression("b".into(), Compression::SNAPPY)
        .set_column_dictionary_enabled("c".into(), false)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, schema.clone(), Some(properties)).unwrap();
    writer.write(&RecordBatch::try_new(schema, columns).unwrap()).unwrap();
    writer.close().unwrap();
    let case = Case::open(bytes.into()).unwrap();
    let engine = engine(&case, wide());
    let error = engine.start(&MemoryProfile::IDEAL).unwrap().read(&case.file, 0).unwrap_err();
    let ParquetError::Data { column, fault, .. } = error else { panic!("{error}") };
    assert_eq!((column.as_str(), fault.code), ("a", 72));
}

/// Random corruptions of pages: the circuit reads the same as engine `cpu` does, always ends, and a
/// refused page leaves no state. Returns the number of refused pages.
fn break_pages(sound: &Bytes, design: Design) -> usize {
    let rounds = scale::number("ARROWSMITH_RTL_ROUNDS", 60, 600);
    let whole = Case::open(sound.clone()).unwrap();
    let wanted = whole.expected(0).unwrap();
    let case = &whole;
    let ranges: Vec<_> = (0..design.columns.len())
        .map(|column| case.file.chunk_range(0, column).unwrap())
        .map(|range| range.start.try_into().unwrap()..range.end.try_into().unwrap())
        .collect::<Vec<std::ops::Range<usize>>>();
    let engine = engine(case, design);
    let mut readers = [MemoryProfile::IDEAL, MemoryProfile::stalling(30, 5)]
        .map(|memory| engine.start(&memory).unwrap());
    let mut state = 99_usize;
    let mut refused = 0;
    for round in 0..usize::try_from(rounds).unwrap() {
        let mut bytes = sound.to_vec();
        let range = &ranges[round % ranges.len()];
        for _ in 0..=state % 2 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let length = range.len().min(if state & 1 == 0 { 60 } else { range.len() });
            bytes[range.start + (state >> 33) % length] ^= 1 << ((state >> 20) % 8);
        }
        let Ok(case) = Case::open(bytes.into()) else { continue };
        let reader = &mut readers[usize::from(round % 4 == 3)];
        match reader.read(&case.file, 0) {
            // A circuit may accept data that software refuses (a checksum, an unused byte count),
            // but never read different values.
            Ok((batch, _)) => {
                if let Ok(expected) = case.expected(0) {
                    assert!(batch == expected, "{}", first_difference(&batch, &expected));
                }
            }
            Err(ParquetError::Data { .. } | ParquetError::Array(..)) => {
                refused += 1;
                let (batch, _) = reader.read(&whole.file, 0).unwrap();
                assert!(batch == wanted, "round {round}: {}", first_difference(&batch, &wanted));
            }
            Err(error) => panic!("round {round}: {error}"),
        }
    }
    refused
}

#[test]
fn broken_pages_end() {
    if !there() {
        return;
    }
    let mut refused = 0;
    for encoding in [Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED] {
        let sound = numbers(mixed(700), encoding, WriterVersion::PARQUET_1_0, 129);
        refused += break_pages(&sound, narrow());
    }
    assert!(refused > 0, "none of them was refused");
}

#[test]
fn broken_pages_of_several_columns_end() {
    if !there() {
        return;
    }
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for form in FORMS {
            let refused = break_pages(&table(150, 20, form, version), wide());
            assert!(refused > 0, "none of {form:?} was refused");
        }
    }
}

/// Files that a variable names: each through a circuit made for it.
#[test]
#[ignore = "takes a folder of files, which ARROWSMITH_RTL_FILES names"]
fn files_that_are_named() {
    if !there() {
        return;
    }
    let folder = std::env::var_os("ARROWSMITH_RTL_FILES").unwrap();
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
