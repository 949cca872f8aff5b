// SPDX-License-Identifier: Apache-2.0
//! Files with false counts, and valid files of a few bytes that decode to gigabytes: every way of
//! reading them ends in rows or an error, in bounded memory.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrowsmith_core::{Error, FileErrorKind, Limits, Result};
use arrowsmith_parquet::{ReadOptions, RowSelection};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataReader,
    ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::properties::WriterProperties;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::SchemaDescriptor;

use super::super::ParquetPipeline;
use super::{builder, condition, file, rows};
use arrowsmith_source::Input;

/// The file with other numbers of rows and values in its footer.
fn with_rows(bytes: &[u8], claimed: i64, of_group: bool, of_columns: bool) -> Bytes {
    let shared = Bytes::copy_from_slice(bytes);
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&shared).unwrap();
    let length = u32::from_le_bytes(*bytes[..bytes.len() - 4].last_chunk().unwrap());
    let body = &bytes[..bytes.len() - 8 - usize::try_from(length).unwrap()];
    let groups = metadata.row_groups().iter().map(|group| {
        let columns = group.columns().iter().map(|column| {
            let values = if of_columns { claimed } else { column.num_values() };
            let size =
                column.uncompressed_size().saturating_mul(if of_columns { 1 << 30 } else { 1 });
            let column = column.clone().into_builder().set_num_values(values);
            column.set_total_uncompressed_size(size).build().unwrap()
        });
        let rows = if of_group { claimed } else { group.num_rows() };
        let columns = columns.collect();
        group
            .clone()
            .into_builder()
            .set_num_rows(rows)
            .set_column_metadata(columns)
            .build()
            .unwrap()
    });
    let metadata = ParquetMetaData::new(metadata.file_metadata().clone(), groups.collect());
    let mut out = body.to_vec();
    ParquetMetaDataWriter::new(&mut out, &metadata).finish().unwrap();
    out.into()
}

fn number(value: u64, out: &mut Vec<u8>) {
    let mut rest = value << 1;
    while rest >= 0x80 {
        out.push((rest & 0x7f).to_le_bytes()[0] | 0x80);
        rest >>= 7;
    }
    out.push(rest.to_le_bytes()[0]);
}

/// A data page of version 1 that declares this many values.
fn page(count: u64, encoding: u64, body: &[u8]) -> Vec<u8> {
    let mut out = vec![0x15, 0, 0x15];
    let bytes = body.len() as u64;
    number(bytes, &mut out);
    out.push(0x15);
    number(bytes, &mut out);
    out.extend([0x2c, 0x15]);
    number(count, &mut out);
    for code in [encoding, 3, 3] {
        out.push(0x15);
        number(code, &mut out);
    }
    out.extend([0, 0]);
    out.extend(body);
    out
}

/// One column of these pages.
fn column(kind: &str, count: i64, pages: &[u8]) -> Bytes {
    let message = parse_message_type(&format!("message m {{ {kind} a; }}")).unwrap();
    let schema = Arc::new(SchemaDescriptor::new(Arc::new(message)));
    let size = i64::try_from(pages.len()).unwrap();
    let chunk = ColumnChunkMetaData::builder(schema.column(0))
        .set_num_values(count)
        .set_data_page_offset(4)
        .set_total_compressed_size(size)
        .set_total_uncompressed_size(size)
        .build()
        .unwrap();
    let group = RowGroupMetaData::builder(Arc::clone(&schema))
        .set_num_rows(count)
        .set_column_metadata(vec![chunk])
        .build()
        .unwrap();
    let metadata =
        ParquetMetaData::new(FileMetaData::new(2, count, None, None, schema, None), vec![group]);
    let mut bytes = [b"PAR1", pages].concat();
    ParquetMetaDataWriter::new(&mut bytes, &metadata).finish().unwrap();
    bytes.into()
}

/// A page of nulls: one run of a level.
fn nulls(count: u64) -> Vec<u8> {
    let mut run = Vec::new();
    number(count, &mut run);
    run.push(0);
    let length = u32::try_from(run.len()).unwrap().to_le_bytes();
    page(count, 0, &[&length[..], &run].concat())
}

fn ways(bytes: &Bytes) -> Vec<ParquetPipeline> {
    let made = || builder().files([Input::bytes(bytes.clone())]).threads(1);
    let none = ReadOptions::default().with_columns(Vec::<String>::new());
    let one = ReadOptions::default().with_columns(["id"]);
    let gaps = RowSelection::from_ranges([0..5, 8..usize::MAX >> 3]);
    vec![
        made(),
        made().threads(3),
        made().options(none.clone()),
        made().options(one),
        made().filter(condition("id is null")),
        made().filter(condition("id >= 0")).options(none),
        made().limit(Some(5)),
        made().rows(Some(gaps)),
        made().batch_rows(Some(usize::MAX)),
    ]
}

fn read(pipeline: ParquetPipeline) -> Result<usize> {
    pipeline.start()?.try_fold(0, |rows, batch| Ok(rows + batch?.num_rows()))
}

fn refused(found: Result<usize>) -> (FileErrorKind, String) {
    match found {
        Err(error @ Error::File(_)) => (error.as_file().unwrap().kind, error.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn rows_that_are_not_there_take_no_memory() {
    let honest = file(&rows(0, 100), 1000);
    for shift in [31, 40, 48, 62] {
        for (of_group, of_columns) in [(true, true), (true, false), (false, true)] {
            let bytes = with_rows(&honest, 1 << shift, of_group, of_columns);
            for (way, pipeline) in ways(&bytes).into_iter().enumerate() {
                match read(pipeline) {
                    Ok(rows) => assert!(rows <= 100, "{shift} {way}: {rows}"),
                    Err(error) => assert!(error.as_file().is_some(), "{shift} {way}: {error}"),
                }
            }
        }
    }
}

#[test]
fn many_nulls_in_a_few_bytes_are_rows() {
    let count = 50_000_000_u64;
    let bytes = column("optional int64", i64::try_from(count).unwrap(), &nulls(count));
    assert!(bytes.len() < 400);
    let wanted = usize::try_from(count).unwrap();
    let made = || builder().files([Input::bytes(bytes.clone())]).threads(1);
    let mut batches = made().start().unwrap();
    assert!(batches.by_ref().take(3).all(|batch| batch.unwrap().num_rows() == 128 << 10));
    assert_eq!(read(made().filter(condition("a is null")).limit(Some(77))).unwrap(), 77);
    let none = ReadOptions::default().with_columns(Vec::<String>::new());
    assert_eq!(read(made().options(none.clone())).unwrap(), wanted);
    assert_eq!(read(made().filter(condition("a is null")).options(none)).unwrap(), wanted);
    assert_eq!(read(made().filter(condition("a = 1"))).unwrap(), 0);
}

#[test]
fn pages_that_claim_more_than_they_have_are_refused() {
    let count = i32::MAX.unsigned_abs();
    let rows = i64::from(count);
    // Equal lengths, of as many strings as the page declares.
    let mut lengths = vec![0x80, 1, 1];
    number(u64::from(count) / 2, &mut lengths);
    lengths.extend([0, 0, 0]);
    let prefixed = [&lengths[..], &lengths].concat();
    for (kind, encoding, body) in [
        ("required fixed_len_byte_array(16)", 7, &prefixed[..]),
        ("required binary", 7, &prefixed),
        ("required binary", 6, &lengths),
        ("required int64", 0, &[0; 16]),
        ("required int32", 5, &lengths),
        ("required double", 9, &[0; 16]),
        ("required boolean", 0, &[0; 16]),
        ("required boolean", 3, &[1, 0, 0, 0, 2]),
        ("required binary", 0, &[0; 16]),
        ("required int96", 0, &[0; 16]),
        ("required int64", 8, &[1, 2]),
    ] {
        let bytes = column(kind, rows, &page(count.into(), encoding, body));
        let made = builder().files([Input::bytes(bytes)]).threads(1);
        refused(read(made));
    }
}

#[test]
fn wide_nulls_are_refused_by_name() {
    let bytes = column("optional fixed_len_byte_array(2147483647)", 1000, &nulls(1000));
    let made = || builder().files([Input::bytes(bytes.clone())]).threads(1);
    let (kind, message) = refused(read(made()));
    assert_eq!(kind, FileErrorKind::Limit);
    assert!(message.contains("memory_bytes_max"), "{message}");
    // A non-null value must be present, also if it is skipped.
    let long = "required fixed_len_byte_array(2147483647)";
    for encoding in [0, 7, 9] {
        let bytes = column(long, 1000, &page(1000, encoding, &[0; 40]));
        let rows = RowSelection::from_ranges(std::iter::once(900..901));
        let made = builder().files([Input::bytes(bytes)]).rows(Some(rows)).threads(1);
        refused(read(made));
    }
    // A file without such a column yields nulls.
    let other = file(&rows(0, 10), 10);
    let both = made().files([Input::bytes(other)]).limits(Limits::default());
    refused(read(both));
}

/// Found by an attack: the decoder of the `parquet` crate divided by the length.
#[test]
fn values_without_bytes_are_refused() {
    for encoding in [0, 7, 9] {
        let body = page(1000, encoding, &[0; 40]);
        let bytes = column("required fixed_len_byte_array(0)", 1000, &body);
        let made = builder().files([Input::bytes(bytes)]).threads(1);
        assert_eq!(refused(read(made)).0, FileErrorKind::Unsupported);
    }
}

/// Columns of one long text that every row has.
fn repetitive(columns: usize, rows: usize, text_bytes: usize) -> Vec<u8> {
    let text = "x".repeat(text_bytes);
    let keys = Int32Array::from(vec![0; rows]);
    let values = Arc::new(StringArray::from(vec![text]));
    let array = Arc::new(DictionaryArray::<Int32Type>::new(keys, values));
    let names: Vec<String> = (0..columns).map(|number| format!("c{number}")).collect();
    let batch = RecordBatch::try_from_iter(names.iter().map(|n| (n, array.clone() as _))).unwrap();
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let options = parquet::arrow::arrow_writer::ArrowWriterOptions::new()
        .with_properties(properties)
        .with_skip_arrow_metadata(true);
    let mut writer =
        ArrowWriter::try_new_with_options(Vec::new(), batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn batches_are_shorter_where_rows_are_longer_than_expected() {
    let bytes = Bytes::from(repetitive(8, 5000, 20_000));
    assert!(bytes.len() < 200_000, "{}", bytes.len());
    for threads in [1, 3] {
        let limits = Limits::default().with_memory_bytes_max(16 << 20);
        let made = builder().files([Input::bytes(bytes.clone())]).threads(threads).limits(limits);
        let mut batches = made.start().unwrap();
        let mut rows = 0;
        for batch in batches.by_ref() {
            let batch = batch.unwrap();
            rows += batch.num_rows();
            let held = batch.num_rows() * 8 * 20_000;
            assert!(held < 24 << 20, "{held}");
        }
        assert_eq!(rows, 5000);
        assert!(batches.bytes_peak() < 64 << 20, "{}", batches.bytes_peak());
    }
    // A condition's columns are decoded in the same way.
    let limits = Limits::default().with_memory_bytes_max(16 << 20);
    let made = builder().files([Input::bytes(bytes)]).limits(limits).threads(1);
    assert_eq!(read(made.filter(condition("c0 = 'x' or c1 is null"))).unwrap(), 0);
}

#[test]
fn a_row_that_does_not_fit_is_refused_by_name() {
    let bytes = repetitive(40, 3, 3_000_000);
    let limits = Limits::default().with_memory_bytes_max(16 << 20);
    for threads in [1, 3] {
        let made = builder().files([Input::bytes(bytes.clone())]).threads(threads);
        let (kind, message) = refused(read(made.limits(limits.clone())));
        assert_eq!(kind, FileErrorKind::Limit, "{message}");
        assert!(message.contains("memory_bytes_max is 16777216"), "{message}");
    }
    let made = builder().files([Input::bytes(bytes)]).threads(1);
    assert_eq!(read(made.limits(Limits::default().with_memory_bytes_max(1 << 30))).unwrap(), 3);
}

/// Files with contradictory counts, by both engines, in each way, up to the first batches: an error
/// or rows, no batch larger than the memory limit.
#[test]
fn numbers_that_do_not_agree_end_in_rows_or_an_error() {
    let limits = Limits::default().with_memory_bytes_max(24 << 20);
    let first = arrowsmith_testkit::scale::number("ARROWSMITH_FIRST_SEED", 0, 0);
    let seeds = arrowsmith_testkit::scale::number("ARROWSMITH_SEEDS", 400, 20_000);
    for seed in first..first + seeds {
        let bytes = arrowsmith_testkit::parquet::claims::claiming_file(seed);
        let text = ["a is null", "a = 1", "a < 'b'"][usize::try_from(seed % 3).unwrap()];
        for way in 0..8 {
            let mut made = builder().files([Input::bytes(bytes.clone())]).limits(limits.clone());
            made = made.threads(if way == 3 { 2 } else { 1 });
            if way == 1 || way == 5 {
                made = made.filter(condition(text));
            }
            let options = match way {
                2 | 5 => ReadOptions::default().with_columns(Vec::<String>::new()),
                6 => ReadOptions::default()
                    .with_strings(arrowsmith_parquet::StringForm::View)
                    .with_dictionary(arrowsmith_parquet::Columns::None),
                7 => ReadOptions::default().with_dictionary(arrowsmith_parquet::Columns::All),
                _ => ReadOptions::default(),
            };
            made = made.options(options);
            if way == 4 {
                made = made.engine(arrowsmith_testkit::engines::reference());
            }
            if way == 6 {
                made = made.rows(Some(RowSelection::from_ranges([1..3, 9..40, 1000..usize::MAX])));
            }
            let Ok(batches) = made.start() else { continue };
            for batch in batches.take(3) {
                let Ok(batch) = batch else { break };
                let bytes = batch.get_array_memory_size();
                assert!(bytes < 256 << 20, "seed {seed}, way {way}: {bytes} bytes");
                for column in batch.columns() {
                    column.to_data().validate_full().unwrap();
                }
            }
        }
    }
}
