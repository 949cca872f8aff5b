// SPDX-License-Identifier: Apache-2.0
//! The three ways to read: batches with our errors, Arrow's interface, an async stream.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchReader};
use futures_core::Stream;
use parquet::arrow::ArrowWriter;

use super::{ListForm, Predicate, ReaderBuilder};
use crate::{Input, ParquetReadOptions};

fn bytes() -> Vec<u8> {
    let numbers = Arc::new(Int64Array::from_iter_values(0..1000)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn builder() -> ReaderBuilder {
    ReaderBuilder::new().options(ParquetReadOptions {
        batch_rows: Some(100),
        filter: Some(Predicate::parse("n >= 250").unwrap()),
        ..ParquetReadOptions::default()
    })
}

fn total(batches: &[RecordBatch]) -> i64 {
    let values =
        batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values());
    values.sum()
}

#[test]
fn batches_come_by_every_way() {
    let wanted: i64 = (250..1000).sum();
    let mut reader = builder().open([Input::bytes(bytes())]).unwrap();
    assert_eq!(reader.schema().field(0).name(), "n");
    let mut batches = Vec::new();
    while let Some(batch) = reader.next_batch().unwrap() {
        batches.push(batch);
    }
    assert_eq!(total(&batches), wanted);
    assert_eq!(reader.progress().rows(), 750);

    let reader = builder()
        .engine(crate::engine("reference").unwrap())
        .open([Input::bytes(bytes())])
        .unwrap();
    assert_eq!(reader.explanation().fall_backs(), 0, "the requested engine is not a fallback");
    let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
    assert_eq!(total(&batches), wanted);

    let stream = builder().open([Input::bytes(bytes())]).unwrap().into_stream().unwrap();
    assert_eq!(total(&wait_for_all(stream)), wanted);
}

#[test]
fn lists_and_limits_are_as_the_options_say() {
    use arrow_array::types::Int64Type as I;

    let lists = arrow_array::ListArray::from_iter_primitive::<I, _, _>([Some(vec![Some(7)]), None]);
    let batch = RecordBatch::try_from_iter([("l", Arc::new(lists) as ArrayRef)]).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    let file = writer.into_inner().unwrap();
    let read = |options| {
        let mut reader =
            ReaderBuilder::new().options(options).open([Input::bytes(file.clone())])?;
        reader.next_batch()
    };
    let large = ParquetReadOptions { lists: ListForm::Large, ..ParquetReadOptions::default() };
    let batch = read(large).unwrap().unwrap();
    let values = batch.column(0).as_list::<i64>().values().as_primitive::<I>().clone();
    assert_eq!(values.values(), &[7]);
    let pages = ParquetReadOptions { page_bytes_max: 1, ..ParquetReadOptions::default() };
    assert!(read(pages).unwrap_err().to_string().contains("page_bytes_max"));
    let footer = ParquetReadOptions { metadata_bytes_max: 1, ..ParquetReadOptions::default() };
    assert!(read(footer).unwrap_err().to_string().contains("metadata_bytes_max"));
}

/// Wakes a thread, which is all the runtime that a stream needs.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait_for_all(stream: super::BatchStream) -> Vec<RecordBatch> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut stream = pin!(stream);
    let mut batches = Vec::new();
    loop {
        let mut next = pin!(poll_fn(|context| stream.as_mut().poll_next(context)));
        match next.as_mut().poll(&mut context) {
            Poll::Ready(Some(batch)) => batches.push(batch.unwrap()),
            Poll::Ready(None) => return batches,
            Poll::Pending => thread::park(),
        }
    }
}

/// Bounds of a decimal in the footer that are no such numbers.
#[test]
fn bounds_of_any_length_are_described() {
    use parquet::data_type::{ByteArray, ByteArrayType};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    let message = "message m { required binary d (DECIMAL(20, 2)); }";
    let schema = Arc::new(parse_message_type(message).unwrap());
    for (bytes, told) in [(0, false), (1, true), (16, true), (17, false), (400, false)] {
        let mut writer =
            SerializedFileWriter::new(Vec::new(), Arc::clone(&schema), Arc::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let values = [ByteArray::from(vec![0; bytes])];
        column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        let file = writer.into_inner().unwrap();
        let file = super::File::open(file.into(), &arrowsmith_core::Limits::default()).unwrap();
        let report = super::describe(&file, false).unwrap();
        let found = report.row_groups[0].columns[0].min.as_deref();
        assert_eq!(found, told.then_some("0.00"), "{bytes} bytes");
    }
}
