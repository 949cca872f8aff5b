// SPDX-License-Identifier: Apache-2.0
//! Footers of old and foreign writers, made of those that the `parquet` crate writes.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, IntervalDayTimeArray, RecordBatch};
use arrow_buffer::IntervalDayTime;
use arrow_schema::{DataType, IntervalUnit};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;

use super::*;
use crate::{File, ReadOptions, ReadPlan};

fn file(column: ArrayRef) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
    let options = ArrowWriterOptions::new().with_skip_arrow_metadata(true);
    let mut writer =
        ArrowWriter::try_new_with_options(Vec::new(), batch.schema(), options).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// The file with other bytes in place of some of its footer.
fn changed(file: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let (body, tail) = file.split_last_chunk::<8>().unwrap();
    let length = usize::try_from(u32::from_le_bytes(*tail.first_chunk().unwrap())).unwrap();
    let (body, footer) = body.split_at(body.len() - length);
    let at = footer.windows(from.len()).position(|window| window == from).unwrap();
    let footer = [&footer[..at], to, &footer[at + from.len()..]].concat();
    let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
    [body, &footer, &length, b"PAR1"].concat()
}

fn types(bytes: Vec<u8>) -> Vec<(DataType, bool)> {
    let file = File::open(bytes.into(), &Limits::default()).unwrap();
    let plan = ReadPlan::new(&file, &ReadOptions::default()).unwrap();
    let fields = plan.schema.fields().iter();
    fields.map(|field| (field.data_type().clone(), field.is_nullable())).collect()
}

#[test]
fn a_column_that_does_not_say_how_it_repeats_is_there_once() {
    let bytes = file(Arc::new(Int64Array::from(vec![1, 2, 3])));
    // {1: INT64, 3: REQUIRED, 4: …}
    let old = changed(&bytes, &[0x15, 4, 0x25, 0, 0x18], &[0x15, 4, 0x38]);
    assert_eq!(types(old), [(DataType::Int64, false)]);
}

#[test]
fn an_interval_is_one_beside_a_logical_type_that_is_none() {
    let values = vec![IntervalDayTime::new(1, 2)];
    let bytes = file(Arc::new(IntervalDayTimeArray::from(values)));
    let wanted = [(DataType::Interval(IntervalUnit::DayTime), false)];
    assert_eq!(types(bytes.clone()), wanted);
    for alternative in [9_u8, 11] {
        // {…, 6: INTERVAL, 10: {alternative: {}}}
        let logical = [0x25, 42, 0x4c, alternative << 4 | 0x0c, 0, 0, 0];
        assert_eq!(types(changed(&bytes, &[0x25, 42, 0], &logical)), wanted, "{alternative}");
    }
    // One that is to come.
    let logical = [0x25, 42, 0x4c, 0x0c, 200, 1, 0, 0, 0];
    assert_eq!(types(changed(&bytes, &[0x25, 42, 0], &logical)), wanted);
}

#[test]
fn unknown_fields_are_skipped() {
    let bytes = file(Arc::new(Int64Array::from(vec![1, 2, 3])));
    // After the version: 15: UUID, 100: a map of i32 to doubles, 101: a set of structures, then
    // the schema.
    let uuid = [&[0xed][..], &[7; 16]].concat();
    let map = [&[0x0b, 200, 1, 1, 0x57, 2][..], &[0; 8]].concat();
    let set = [0x1a, 0x2c, 0x15, 2, 0, 0];
    let foreign = [&[0x15, 4][..], &uuid, &map, &set, &[0x09, 4]].concat();
    let (footer, schema) = ([0x15, 4, 0x19], [0x15, 2, 0x19]);
    let from = if has(&bytes, &footer) { footer } else { schema };
    let foreign = [&from[..2], &foreign[2..]].concat();
    assert_eq!(types(changed(&bytes, &from, &foreign)), [(DataType::Int64, false)]);
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn paths_that_repeat_a_long_name_are_refused() {
    // A group with a long name of many columns: {4: …, 5: …}, {1: INT32, 3: REQUIRED, 4: "a"}
    let name = vec![b'n'; 10_000];
    let count = 1000_i64;
    let mut footer = vec![0x15, 2, 0x19, 0xfc];
    footer.extend(unsigned(u64::try_from(count).unwrap() + 2));
    footer.extend([0x48, 1, b'r', 0x15, 2, 0]);
    footer.extend([0x35, 0, 0x18]);
    footer.extend(unsigned(name.len() as u64));
    footer.extend(&name);
    footer.push(0x15);
    crate::thrift::zigzag(count, &mut footer);
    footer.push(0);
    for _ in 0..count {
        footer.extend([0x15, 2, 0x25, 0, 0x18, 1, b'a', 0]);
    }
    footer.extend([0x16, 0, 0x19, 0x0c, 0]);
    assert!(decode_metadata(&footer, &Limits::default()).is_ok());
    let limits = Limits::default().with_metadata_bytes_max(1 << 20);
    let error = decode_metadata(&footer, &limits).unwrap_err().to_string();
    assert!(error.contains("metadata_bytes_max is 1048576"), "{error}");
}

fn unsigned(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push((value & 0x7f).to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
    out
}
