// SPDX-License-Identifier: Apache-2.0
//! Errors instead of files: types, values, options and sinks that cannot be.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Date64Array, Decimal128Array, Int64Array, RecordBatch, StringArray,
    Time32SecondArray, TimestampSecondArray,
};
use arrow_schema::{DataType, Field, IntervalUnit, Schema, SchemaRef, UnionFields, UnionMode};
use arrowsmith_core::{Error, Result};
use arrowsmith_parquet_writer::{Encoding, Options, ParquetWriter};

fn schema(fields: Vec<Field>) -> SchemaRef {
    Arc::new(Schema::new(fields))
}

fn start(schema: SchemaRef, options: Options) -> Result<ParquetWriter<Vec<u8>>> {
    ParquetWriter::try_new(Vec::new(), schema, options)
}

#[test]
fn types_that_parquet_does_not_have_are_refused_by_name() {
    let union = UnionFields::try_new([0], [Field::new("x", DataType::Int64, true)]).unwrap();
    let ends = Arc::new(Field::new("run_ends", DataType::Int32, false));
    let values = Arc::new(Field::new("values", DataType::Int64, true));
    let refused = [
        DataType::Union(union, UnionMode::Sparse),
        DataType::Struct(Vec::<Field>::new().into()),
        DataType::RunEndEncoded(ends, values),
        DataType::FixedSizeBinary(0),
        DataType::Decimal32(5, -2),
        DataType::Decimal64(15, 16),
        DataType::Decimal128(38, -1),
        DataType::Decimal256(10, 11),
        DataType::Interval(IntervalUnit::MonthDayNano),
        DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Null)),
    ];
    for kind in refused {
        let inner = Field::new("inner", kind, true);
        let list = DataType::List(Arc::new(inner));
        let error = start(schema(vec![Field::new("a", list, true)]), Options::default());
        let error = error.err().unwrap();
        assert!(matches!(&error, Error::Schema { path, .. } if path == "a.inner"), "{error}");
    }
}

#[test]
fn encodings_that_a_column_does_not_have_are_refused() {
    let fields = || schema(vec![Field::new("a", DataType::Utf8, true)]);
    for (path, encoding) in [("a", Encoding::DeltaBinaryPacked), ("b", Encoding::Plain)] {
        let encodings = HashMap::from([(path.to_owned(), encoding)]);
        let error = start(fields(), Options { encodings, ..Options::default() }).err().unwrap();
        assert!(matches!(&error, Error::Config(text) if text.contains(path)), "{error}");
    }
}

#[test]
fn a_batch_of_another_schema_is_refused() {
    let fields = schema(vec![Field::new("a", DataType::Int64, true)]);
    let mut writer = start(Arc::clone(&fields), Options::default()).unwrap();
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let other = RecordBatch::try_from_iter([("a", Arc::clone(&text))]).unwrap();
    let error = writer.write(&other).unwrap_err();
    assert!(matches!(&error, Error::Schema { path, .. } if path == "a"), "{error}");
    let more = RecordBatch::try_from_iter([("a", Arc::clone(&text)), ("b", text)]).unwrap();
    assert!(writer.write(&more).is_err());
}

/// What cannot be written as the column says is an error, on any number of threads, and the writer
/// stays one that has failed.
#[test]
fn values_that_a_column_cannot_hold_are_errors() {
    let nulls: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let digits = DataType::Decimal128(20, 0);
    let wide = Decimal128Array::from(vec![i128::MAX]).with_data_type(digits.clone());
    let day = 86_400_000;
    let time: [ArrayRef; 3] = [
        Arc::new(TimestampSecondArray::from(vec![i64::MAX / 999])),
        Arc::new(Date64Array::from(vec![day, day / 2])),
        Arc::new(Time32SecondArray::from(vec![i32::MIN / 999])),
    ];
    let time = time.map(|array| (Arc::clone(&array), array.data_type().clone()));
    let cases = [(nulls, DataType::Int64), (Arc::new(wide) as ArrayRef, digits)];
    let cases = [cases.to_vec(), time.to_vec()].concat();
    for threads in [1, 3] {
        for (array, kind) in &cases {
            let fields = schema(vec![Field::new("a", kind.clone(), false)]);
            // The batch's own schema says that there may be nulls.
            let nullable = schema(vec![Field::new("a", kind.clone(), true)]);
            let batch = RecordBatch::try_new(nullable, vec![Arc::clone(array)]).unwrap();
            let mut writer = start(fields, Options { threads, ..Options::default() }).unwrap();
            let written = writer.write(&batch);
            let error = written.and_then(|()| writer.close().map(drop)).unwrap_err();
            assert!(matches!(&error, Error::Schema { .. }), "{error}");
        }
    }
}

/// A sink that takes some bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 < bytes.len() {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.0 -= bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_wherever_it_happens() {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values((0..5_000).map(|i| i * i)));
    let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
    for threads in [1, 2] {
        let write = |room| {
            let options = Options { threads, row_group_rows: 500, ..Options::default() };
            let mut writer = ParquetWriter::try_new(Full(room), batch.schema(), options)?;
            writer.write(&batch)?;
            writer.close().map(|(summary, _)| summary.bytes)
        };
        let bytes = usize::try_from(write(1 << 20).unwrap()).unwrap();
        for room in [0, 3, 4, 5, 100, 1_000, bytes / 2, bytes - 500, bytes - 9, bytes - 1] {
            let error = write(room).unwrap_err();
            assert!(
                matches!(&error, Error::Io { source, .. }
                if source.kind() == io::ErrorKind::StorageFull),
                "{error}"
            );
        }
    }
}

/// Sinks are sent between threads.
#[test]
fn a_writer_can_be_sent() {
    fn sent<T: Send>(_: T) {}
    let fields = schema(vec![Field::new("a", DataType::Int64, true)]);
    sent(start(fields, Options::default()).unwrap());
}
