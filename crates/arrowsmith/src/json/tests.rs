// SPDX-License-Identifier: Apache-2.0
//! The public interfaces return what the pipeline does: rows, errors, hints, in order.

use std::fs;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int64Type};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrowsmith_core::{Dialect, Error, ErrorKind, OnError, Result};
use arrowsmith_plan::text::parse_schema;
use arrowsmith_source::Input;
use futures_core::Stream;

use crate::json::{BatchStream, ReaderBuilder, infer_schema};
use crate::options::{Format, InferRecords, JsonReadOptions, LateKeys};

fn text(count: usize) -> String {
    (0..count).map(|n| format!("{{\"a\":{n},\"b\":{{\"c\":\"x{n}\",\"d\":null}}}}\n")).collect()
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]))
}

#[test]
fn a_reader_is_a_record_batch_reader() {
    let reader = ReaderBuilder::new()
        .options(JsonReadOptions { batch_rows: Some(64), ..JsonReadOptions::default() })
        .schema(schema())
        .open([Input::bytes(text(150))])
        .unwrap();
    let reader: Box<dyn RecordBatchReader> = Box::new(reader);
    assert_eq!(reader.schema(), schema());
    let rows: Vec<usize> = reader.map(|batch| batch.unwrap().num_rows()).collect();
    assert_eq!(rows, [64, 64, 22]);
}

#[test]
fn errors_come_through_arrow_whole() {
    let mut reader =
        ReaderBuilder::new().schema(schema()).open([Input::bytes("{\"a\":true}\n")]).unwrap();
    let Some(Err(ArrowError::ExternalError(error))) = reader.next() else { panic!("no error") };
    let error = error.downcast::<Error>().unwrap();
    assert_eq!(error.as_data().unwrap().kind, ErrorKind::WrongType);
    assert!(reader.next().is_none());
}

#[test]
fn columns_are_taken_from_what_was_inferred() {
    let only = |column: &str| {
        let columns = Some(vec![column.to_owned()]);
        ReaderBuilder::new().options(JsonReadOptions { columns, ..JsonReadOptions::default() })
    };
    let reader = only("b.c").open([Input::bytes(text(3))]).unwrap();
    let plan = Arc::clone(reader.plan());
    assert_eq!(plan.schema().fields().len(), 1);
    let DataType::Struct(fields) = plan.schema().field(0).data_type().clone() else { panic!() };
    assert_eq!(fields.len(), 1);
    assert_eq!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 3);
    let missing = only("zzz").open([Input::bytes(text(3))]);
    assert!(matches!(missing, Err(Error::Schema { .. })));
}

#[test]
fn engines_are_found_by_name_and_agree() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    fs::write(&path, text(1000)).unwrap();
    let read = |name: &str| -> Vec<RecordBatch> {
        let reader = ReaderBuilder::new()
            .engine(crate::engine(name).unwrap())
            .options(JsonReadOptions { batch_rows: Some(300), ..JsonReadOptions::default() })
            .schema(schema())
            .open([Input::Path(path.clone())])
            .unwrap();
        reader.map(|batch| batch.unwrap()).collect()
    };
    let expected = read("cpu");
    // `rtl` needs a Verilator; its tests are in its crate.
    for name in crate::ENGINES.iter().map(|entry| entry.name).filter(|name| *name != "rtl") {
        match crate::engine(name) {
            Err(error) => {
                assert_eq!(name, "gpu", "{error}");
                assert!(error.to_string().contains("--engine auto"), "{error}");
            }
            Ok(_) => assert_eq!(read(name), expected, "{name}"),
        }
    }
}

#[test]
fn an_inferred_schema_is_named_in_the_errors_it_causes() {
    let text = text(5) + "{\"a\":\"late\"}\n";
    let from = |infer_records| {
        let options = JsonReadOptions { infer_records, ..JsonReadOptions::default() };
        ReaderBuilder::new().options(options).open([Input::bytes(text.clone())]).unwrap()
    };
    let mut reader = from(InferRecords::First(3));
    assert_eq!(reader.next_batch().unwrap().unwrap().num_rows(), 5);
    let error = reader.next_batch().unwrap_err();
    let hint = error.as_data().unwrap().hint.clone().unwrap();
    assert!(hint.contains("inferred from the first 3 records"), "{hint}");
    assert!(hint.contains("--infer-records all"), "{hint}");
    let reader = from(InferRecords::All);
    assert_eq!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 6);
}

#[test]
fn what_inference_reads_of_a_stream_is_counted_once() {
    let text = text(2000);
    let input = Input::reader(std::io::Cursor::new(text.clone().into_bytes()));
    let mut reader = ReaderBuilder::new().open([input]).unwrap();
    while reader.next_batch().unwrap().is_some() {}
    assert_eq!(reader.progress().bytes(), text.len() as u64);
}

#[test]
fn types_of_some_columns_are_given_and_the_rest_is_inferred() {
    let text = "{\"id\":\"7\",\"u\":{\"born\":\"2001-02-03\",\"n\":1}}\n";
    let types = parse_schema("id: large_utf8, u.born: date32, late: bool").unwrap();
    let options = JsonReadOptions { types: Some(Arc::new(types)), ..JsonReadOptions::default() };
    let expected = "id: large_utf8, u: struct<born: date32, n: int64>, late: bool";
    let expected = Arc::new(parse_schema(expected).unwrap());
    let found = infer_schema([Input::bytes(text)], &options).unwrap();
    assert_eq!(found.schema, expected);
    let builder = || ReaderBuilder::new().options(options.clone());
    let mut reader = builder().open([Input::bytes(text)]).unwrap();
    let batch = reader.next_batch().unwrap().unwrap();
    assert_eq!(batch.schema(), expected);
    let born = batch.column(1).as_struct().column(0).as_primitive::<Date32Type>().value(0);
    assert_eq!((born, batch.column(2).null_count()), (11_356, 1));
    // The same for a schema that is given; a value that is not of the type is an error.
    let given = parse_schema("id: int64, u: struct<born: utf8>").unwrap();
    let mut reader = builder()
        .schema(Arc::new(given))
        .open([Input::bytes("{\"u\":{\"born\":\"soon\"}}\n")])
        .unwrap();
    assert_eq!(reader.schema().field(0).data_type(), &DataType::LargeUtf8);
    let error = reader.next_batch().unwrap_err();
    assert_eq!(error.as_data().unwrap().path, "u.born");
    let below = JsonReadOptions {
        types: Some(Arc::new(parse_schema("id.x: int8").unwrap())),
        ..JsonReadOptions::default()
    };
    let refused = ReaderBuilder::new().options(below).open([Input::bytes(text)]);
    assert!(matches!(refused, Err(Error::Schema { path, .. }) if path == "id.x"));
}

/// What is around a field with a type is an object, even if the sample has no value of it.
#[test]
fn types_do_not_depend_on_what_was_sampled() {
    let types = parse_schema("u.id: int64, l.x.y: utf8, w.z: bool, \"k.k\": int8").unwrap();
    let value = "{\"u\":{\"id\":5},\"l\":[{\"x\":{\"y\":\"a\"}}],\"w\":{\"z\":true},\"k.k\":1}\n";
    for sample in [
        "{\"u\":null,\"l\":[],\"w\":{},\"k.k\":2}\n",
        "{\"u\":{},\"l\":[{\"x\":null}],\"w\":null,\"k.k\":2}\n",
        value,
    ] {
        let options = JsonReadOptions {
            types: Some(Arc::new(types.clone())),
            infer_records: InferRecords::First(1),
            ..JsonReadOptions::default()
        };
        let input = || [Input::bytes(format!("{sample}{value}"))];
        let all = ReaderBuilder::new().options(options.clone()).read_all(input()).unwrap();
        let mut reader = ReaderBuilder::new().options(options).open(input()).unwrap();
        assert_eq!(all.0, reader.schema(), "{sample}");
        let mut rows = 0;
        while let Some(batch) = reader.next_batch().unwrap() {
            let last = batch.num_rows() - 1;
            rows += batch.num_rows();
            let column = |name: &str| batch.column_by_name(name).unwrap();
            let id = column("u").as_struct().column_by_name("id").unwrap();
            assert_eq!(id.as_primitive::<Int64Type>().value(last), 5, "{sample}");
            let items = column("l").as_list::<i32>().value(last);
            let y = items.as_struct().column(0).as_struct().column(0).as_string::<i32>();
            assert_eq!(y.value(0), "a", "{sample}");
            assert!(column("w").as_struct().column(0).as_boolean().value(last), "{sample}");
            assert_eq!(column("k.k").data_type(), &DataType::Int8);
        }
        assert_eq!(rows, 2);
    }
    // An object with other keys keeps them.
    let text = "{\"u\":{\"n\":1}}\n";
    let types = Some(Arc::new(parse_schema("u.id: int64").unwrap()));
    let options = JsonReadOptions { types, ..JsonReadOptions::default() };
    let found = infer_schema([Input::bytes(text)], &options).unwrap();
    assert_eq!(*found.schema, parse_schema("u: struct<n: int64, id: int64>").unwrap());
}

#[test]
fn keys_after_the_sample_are_an_error_of_a_stream_unless_ignored() {
    let text = text(5) + "{\"a\":1,\"late\":2}\n";
    let few =
        JsonReadOptions { infer_records: InferRecords::First(3), ..JsonReadOptions::default() };
    let builder = |options: &JsonReadOptions| ReaderBuilder::new().options(options.clone());
    for on_error in [OnError::Fail, OnError::Skip, OnError::Null] {
        let options = JsonReadOptions { on_error, ..few.clone() };
        let reader = builder(&options).open([Input::bytes(text.clone())]).unwrap();
        let Some(Err(ArrowError::ExternalError(error))) = reader.last() else { panic!("no error") };
        let error = error.downcast::<Error>().unwrap();
        let data = error.as_data().unwrap();
        assert_eq!((data.kind, data.position.line), (ErrorKind::UnknownKey, 6), "{on_error:?}");
        assert!(data.hint.as_ref().unwrap().contains("--infer-records all"), "{error}");
    }
    let ignoring = JsonReadOptions { late_keys: LateKeys::Ignore, ..few.clone() };
    let mut reader = builder(&ignoring).open([Input::bytes(text.clone())]).unwrap();
    assert_eq!(reader.by_ref().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 6);
    assert_eq!(reader.progress().left_out(), (1, Some("late")));
    let (schema, batches) = builder(&few).read_all([Input::bytes(text)]).unwrap();
    assert_eq!(schema.field(2).name(), "late");
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 6);
}

/// No column can have it, so that the record would not be kept as a whole.
#[test]
fn a_key_that_is_not_text_is_the_fault_of_its_record() {
    let text = b"{\"a\":1}\n{\"a\":2}\n{\"b\":\"x\",\"\xff\":2.5}\n{\"c\":3}\n\
        {\"c\":4,\"\\ud800\":1}\n{\"d\":[1,]}\n{\"b\":null}\n";
    for (chunk_bytes, threads) in [(1, 1), (1, 2), (20, 1), (1000, 1)] {
        let read = |infer_records, on_error| {
            let options = JsonReadOptions {
                on_error,
                infer_records,
                threads: Some(threads),
                format: Format::Ndjson,
                batch_rows: Some(1000),
                ..JsonReadOptions::default()
            };
            let rejects = Arc::new(Mutex::new(Vec::new()));
            let taken = Arc::clone(&rejects);
            let read = ReaderBuilder::new()
                .options(options)
                .chunk_bytes(chunk_bytes)
                .on_reject(move |reject| taken.lock().unwrap().push(reject))
                .read_all([Input::bytes(text.to_vec())]);
            let rejects = std::mem::take(&mut *rejects.lock().unwrap());
            (read.map_err(|error| error.to_string()), rejects)
        };
        for on_error in [OnError::Fail, OnError::Skip, OnError::Null] {
            let known = read(InferRecords::All, on_error);
            assert_eq!(read(InferRecords::First(1), on_error), known, "{chunk_bytes} bytes");
            let Ok((schema, batches)) = known.0 else {
                assert_eq!(on_error, OnError::Fail);
                continue;
            };
            let names: Vec<_> = schema.fields().iter().map(|field| field.name()).collect();
            assert_eq!(names, ["a", "c", "b"]);
            let rows = if on_error == OnError::Skip { 4 } else { 7 };
            assert_eq!(batches[0].num_rows(), rows);
            let rejected = known.1.iter().map(|reject| {
                let error = &reject.error;
                (error.position.record, error.position.offset, &*error.expected, &*error.found)
            });
            let rejected: Vec<_> = rejected.collect();
            let expected = [
                // Not "b", which another record teaches, sooner or later.
                (2, 25, "a key that is text", "string \"\u{fffd}\""),
                (4, 49, "a key that is text", "string \"\\ud800\""),
                // It is not the key that is wrong.
                (5, 69, "valid JSON", "']'"),
            ];
            assert_eq!(rejected, expected);
        }
    }
}

/// A column that was flattened out of an object is gone once the object is text.
#[test]
fn flattened_objects_that_become_others_keep_their_values() {
    let text = "{\"id\":{\"q\":66},\"n\":1}\n{\"id\":{\"q\":67},\"n\":2}\n{\"id\":\"x\",\"n\":3}\n";
    for chunk_bytes in [1, 25, 1000] {
        let read = |infer_records| {
            let options = JsonReadOptions {
                flatten: true,
                infer_records,
                format: Format::Ndjson,
                batch_rows: Some(1000),
                ..JsonReadOptions::default()
            };
            let builder = ReaderBuilder::new().options(options).chunk_bytes(chunk_bytes);
            builder.read_all([Input::bytes(text)]).unwrap()
        };
        let known = read(InferRecords::All);
        assert_eq!(known.1[0].column_by_name("id").unwrap().null_count(), 0);
        assert_eq!(read(InferRecords::First(1)), known, "{chunk_bytes} bytes");
    }
}

/// In Spark's dialect a column of strings takes any value, so no error tells that its type widens.
#[test]
fn strings_that_become_others_are_seen_in_a_dialect_that_takes_anything() {
    for value in ["1", "-2.5e3", "true", "{\"b\":1}", "[]", "[\"x\"]"] {
        let text =
            format!("{{\"a\":\"x\"}}\n{{\"a\":\"y\"}}\n{{\"a\":{value}}}\n{{\"a\":\"z\"}}\n");
        for chunk_bytes in [1, 25, 1000] {
            let read = |infer_records| {
                let options = JsonReadOptions {
                    dialect: Dialect::Spark,
                    infer_records,
                    batch_rows: Some(1000),
                    ..JsonReadOptions::default()
                };
                let builder = ReaderBuilder::new().options(options).chunk_bytes(chunk_bytes);
                builder.read_all([Input::bytes(text.clone())]).unwrap()
            };
            let known = read(InferRecords::All);
            assert_eq!(known.1[0].column(0).as_string::<i32>().value(0), "\"x\"");
            assert_eq!(read(InferRecords::First(1)), known, "{value}, {chunk_bytes} bytes");
        }
    }
}

#[test]
fn a_projection_grows_below_the_columns_that_were_chosen() {
    let text = text(5) + "{\"b\":{\"c\":1.5,\"e\":[true]},\"late\":2}\n";
    let options = JsonReadOptions {
        infer_records: InferRecords::First(3),
        columns: Some(vec!["b".to_owned()]),
        batch_rows: Some(4),
        ..JsonReadOptions::default()
    };
    let builder = ReaderBuilder::new().options(options);
    let (schema, batches) = builder.read_all([Input::bytes(text)]).unwrap();
    assert_eq!(schema.fields().len(), 1);
    let DataType::Struct(fields) = schema.field(0).data_type() else { panic!("{schema}") };
    let names: Vec<_> = fields.iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["c", "d", "e"]);
    let rows: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
    assert_eq!(rows, [4, 2]);
}

#[test]
fn inference_passes_over_what_decoding_will_leave_out() {
    let text = "{\"a\":1}\nnonsense\n{\"a\":NaN}\n";
    // Malformed JSON is left to the decoder.
    let mut strict = ReaderBuilder::new().open([Input::bytes(text)]).unwrap();
    assert!(strict.any(|batch| batch.is_err()));
    let options =
        JsonReadOptions { on_error: OnError::Skip, allow_nan: true, ..JsonReadOptions::default() };
    let reader = ReaderBuilder::new().options(options).open([Input::bytes(text)]).unwrap();
    assert_eq!(reader.schema().field(0).data_type(), &DataType::Float64);
    assert_eq!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 2);
}

#[test]
fn rejects_are_handed_over_and_counted() {
    let count = Arc::new(AtomicUsize::new(0));
    let into = Arc::clone(&count);
    let options = JsonReadOptions { on_error: OnError::Skip, ..JsonReadOptions::default() };
    let reader = ReaderBuilder::new()
        .options(options)
        .schema(schema())
        .on_reject(move |_| {
            into.fetch_add(1, Ordering::SeqCst);
        })
        .open([Input::bytes("{\"a\":1}\nnonsense\n{\"a\":2}\n")])
        .unwrap();
    let progress = Arc::clone(reader.progress());
    assert_eq!(reader.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 2);
    assert_eq!((count.load(Ordering::SeqCst), progress.rejects()), (1, 1));
    assert_eq!(progress.bytes_total(), Some(progress.bytes()));
}

/// Wakes the thread that polls.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// All items of a stream, polled only when it wakes.
fn block_on(stream: BatchStream) -> Vec<Result<RecordBatch>> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut stream = pin!(stream);
    let mut items = Vec::new();
    loop {
        match stream.as_mut().poll_next(&mut context) {
            Poll::Ready(Some(item)) => items.push(item),
            Poll::Ready(None) => return items,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn a_stream_gives_everything_and_then_the_error() {
    for threads in [1, 3] {
        let stream = ReaderBuilder::new()
            .options(JsonReadOptions { threads: Some(threads), ..JsonReadOptions::default() })
            .schema(schema())
            .chunk_bytes(500)
            .open([Input::bytes(text(2000) + "{\"a\":true}\n")])
            .unwrap()
            .into_stream()
            .unwrap();
        assert_eq!(stream.schema(), &schema());
        let mut items = block_on(stream);
        let error = items.pop().unwrap().unwrap_err();
        assert_eq!(error.as_data().unwrap().position.record, 2000);
        assert_eq!(items.into_iter().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 2000);
    }
}

#[test]
fn a_stream_that_is_not_polled_stops_reading_and_ends_when_dropped() {
    let text = text(200_000);
    let reader = ReaderBuilder::new()
        .options(JsonReadOptions { threads: Some(1), ..JsonReadOptions::default() })
        .schema(schema())
        .chunk_bytes(1000)
        .open([Input::bytes(text.clone())])
        .unwrap();
    let progress = Arc::downgrade(reader.progress());
    let stream = reader.into_stream().unwrap();
    // Without a consumer, reading begins and stops by itself.
    let read = || progress.upgrade().unwrap().bytes();
    let mut bytes = 0;
    while bytes == 0 || bytes != read() {
        bytes = read();
        thread::sleep(Duration::from_millis(200));
    }
    assert!(bytes < text.len() as u64 / 10, "{bytes}");
    drop(stream);
    let started = Instant::now();
    while progress.strong_count() > 0 {
        assert!(started.elapsed() < Duration::from_secs(120), "the thread goes on");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_panic_of_a_callback_does_not_look_like_the_end() {
    let options = JsonReadOptions { on_error: OnError::Skip, ..JsonReadOptions::default() };
    let stream = ReaderBuilder::new()
        .options(options)
        .schema(schema())
        .on_reject(|_| panic!("the callback's own panic"))
        .open([Input::bytes("{\"a\":1}\nnonsense\n")])
        .unwrap()
        .into_stream()
        .unwrap();
    let last = block_on(stream).pop().unwrap();
    assert!(last.unwrap_err().to_string().contains("panicked"));
}
