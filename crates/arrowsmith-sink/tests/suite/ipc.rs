// SPDX-License-Identifier: Apache-2.0
//! The output of the IPC sink is read back with arrow-ipc and compared.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowDictionaryKeyType, Int8Type, Int32Type, UInt16Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{DataType, Field, Schema};
use arrowsmith_core::Error;
use arrowsmith_core::sink::{Output, Sink, SinkSummary};
use arrowsmith_sink::ipc::{BufferCompression, Format, IpcOptions, IpcSink};

fn batch(start: i64, rows: i64) -> RecordBatch {
    let numbers = Int64Array::from_iter_values(start..start + rows);
    let texts: StringArray =
        (start..start + rows).map(|n| (n % 3 != 0).then(|| format!("text {n}"))).collect();
    let flags: BooleanArray = (start..start + rows).map(|n| Some(n % 5 == 0)).collect();
    let fields = vec![
        Field::new("number", DataType::Int64, false)
            .with_metadata(HashMap::from([("unit".to_owned(), "volt".to_owned())])),
        Field::new("text", DataType::Utf8, true),
        Field::new("flag", DataType::Boolean, true),
    ];
    let metadata = HashMap::from([("answer".to_owned(), "42".to_owned())]);
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    RecordBatch::try_new(schema, vec![Arc::new(numbers), Arc::new(texts), Arc::new(flags)]).unwrap()
}

fn write(path: &Path, options: &IpcOptions, batches: &[RecordBatch]) -> Result<SinkSummary, Error> {
    let output = Output::create(path).unwrap();
    let mut sink = Box::new(IpcSink::new(output, &batches[0].schema(), options)?);
    for batch in batches {
        sink.write(batch)?;
    }
    assert!(!path.exists(), "the name appears with the last byte");
    sink.finish()
}

fn read(path: &Path, format: Format) -> Vec<RecordBatch> {
    let file = File::open(path).unwrap();
    match format {
        Format::File => FileReader::try_new(file, None).unwrap().map(Result::unwrap).collect(),
        Format::Stream => StreamReader::try_new(file, None).unwrap().map(Result::unwrap).collect(),
    }
}

#[test]
fn both_formats_and_every_compression_give_the_batches_back() {
    let folder = tempfile::tempdir().unwrap();
    let batches = [batch(0, 1000), batch(1000, 1), batch(1001, 500).slice(100, 300)];
    for format in [Format::File, Format::Stream] {
        for compression in
            [BufferCompression::None, BufferCompression::Lz4, BufferCompression::Zstd]
        {
            let path = folder.path().join("x");
            let options = IpcOptions { format, compression };
            let summary = write(&path, &options, &batches).unwrap();
            assert_eq!((summary.rows, summary.batches), (1301, 3));
            assert_eq!(summary.bytes, path.metadata().unwrap().len());
            let found = read(&path, format);
            assert_eq!(found, batches, "{options:?}");
            assert_eq!(found[0].schema().metadata()["answer"], "42");
            std::fs::remove_file(&path).unwrap();
        }
    }
}

#[test]
fn no_rows_are_a_file_with_a_schema() {
    let folder = tempfile::tempdir().unwrap();
    for format in [Format::File, Format::Stream] {
        let path = folder.path().join("x");
        let options = IpcOptions { format, ..IpcOptions::default() };
        let schema = batch(0, 1).schema();
        let sink = IpcSink::new(Output::create(&path).unwrap(), &schema, &options).unwrap();
        assert_eq!(Box::new(sink).finish().unwrap().batches, 0);
        assert!(read(&path, format).is_empty());
    }
}

#[test]
fn a_sink_that_is_dropped_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = Output::create(folder.path().join("x")).unwrap();
    let mut sink = IpcSink::new(output, &batch(0, 1).schema(), &IpcOptions::default()).unwrap();
    sink.write(&batch(0, 100_000)).unwrap();
    drop(sink);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named() {
    for format in [Format::File, Format::Stream] {
        let output = Output::create("/dev/full").unwrap();
        let options = IpcOptions { format, ..IpcOptions::default() };
        let error = IpcSink::new(output, &batch(0, 1).schema(), &options).and_then(|mut sink| {
            sink.write(&batch(0, 100))?;
            Box::new(sink).finish()
        });
        let message = error.unwrap_err().to_string();
        assert!(message.starts_with("/dev/full: ") && message.contains("space"), "{message}");
    }
}

/// Columns have values from the batch of their number on, and are there if that is known; column 3
/// is one of text without values before.
fn late(number: usize, known: usize) -> RecordBatch {
    let texts: StringArray = (0..70).map(|row| Some(format!("text {row}"))).collect();
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(
        (0..70).map(|row| (row % 4 != 0).then(|| (0..row % 3).map(Some).collect::<Vec<_>>())),
    );
    let columns = (0..6).filter_map(|column| {
        let array: ArrayRef = match column {
            1 | 4 => Arc::new(texts.clone()),
            2 => Arc::new(lists.clone()),
            3 if known < 3 => new_null_array(&DataType::Utf8, 70),
            _ => Arc::new(Int64Array::from_iter_values(0..70)),
        };
        let array = if number < column { new_null_array(array.data_type(), 70) } else { array };
        (column <= known || column == 3).then(|| (format!("c{column}"), array, true))
    });
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

#[test]
fn a_schema_that_becomes_wider_is_that_of_all_batches() {
    let folder = tempfile::tempdir().unwrap();
    let (known, path) = (folder.path().join("known"), folder.path().join("late"));
    for format in [Format::File, Format::Stream] {
        for compression in [BufferCompression::None, BufferCompression::Lz4] {
            for last in 0..6 {
                let options = IpcOptions { format, compression };
                let at = last / 2;
                let number = |n| if n < at { 0 } else { n };
                let batches: Vec<RecordBatch> = (0..=last).map(|n| late(number(n), last)).collect();
                let expected = write(&known, &options, &batches).unwrap();
                let output = Output::create(&path).unwrap();
                let temporary = output.temporary_path().unwrap().to_owned();
                let first = late(0, 0).schema();
                let mut sink = Box::new(IpcSink::new(output, &first, &options).unwrap());
                assert!(sink.widen(&first).unwrap(), "it is the same");
                (0..at).for_each(|_| sink.write(&late(0, 0)).unwrap());
                assert!(sink.widen(&late(0, last).schema()).unwrap());
                (at..=last).for_each(|number| sink.write(&late(number, last)).unwrap());
                assert!(temporary.exists() && sink.bytes().unwrap() > 0);
                assert!(last == 0 || !sink.widen(&first).unwrap(), "once is enough");
                assert_eq!(sink.finish().unwrap(), expected, "{options:?}");
                assert_eq!(read(&path, format), batches, "{options:?}");
                assert!(std::fs::read(&path).unwrap() == std::fs::read(&known).unwrap());
                std::fs::remove_file(&path).unwrap();
                std::fs::remove_file(&known).unwrap();
                assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
            }
        }
    }
    // What cannot be read again is not widened.
    let output = Output::create("/dev/null").unwrap();
    let mut sink = IpcSink::new(output, &late(0, 0).schema(), &IpcOptions::default()).unwrap();
    assert!(!sink.widen(&late(1, 1).schema()).unwrap());
    sink.write(&late(0, 0)).unwrap();
}

/// A batch with one column `d` of strings, with a dictionary of its own.
fn dictionary<K: ArrowDictionaryKeyType>(values: &[Option<&str>]) -> DictionaryArray<K> {
    values.iter().copied().collect()
}

fn texts<K: ArrowDictionaryKeyType>(array: &dyn Array) -> Vec<Option<String>> {
    let dictionary = array.as_dictionary::<K>().downcast_dict::<StringArray>().unwrap();
    dictionary.into_iter().map(|text| text.map(str::to_owned)).collect()
}

#[test]
fn dictionaries_that_differ_from_batch_to_batch_become_one() {
    let folder = tempfile::tempdir().unwrap();
    let rows: [&[Option<&str>]; 4] = [
        &[Some("a"), None, Some("b"), Some("a")],
        &[Some("c"), Some("b")],
        &[None, None],
        &[Some("b"), Some("a"), Some("d"), None],
    ];
    let batches: Vec<RecordBatch> = rows
        .iter()
        .map(|rows| {
            let column = Arc::new(dictionary::<Int32Type>(rows)) as ArrayRef;
            let field = Field::new("d", column.data_type().clone(), true);
            RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![column]).unwrap()
        })
        .collect();
    for format in [Format::File, Format::Stream] {
        let path = folder.path().join("x");
        write(&path, &IpcOptions { format, ..IpcOptions::default() }, &batches).unwrap();
        let found = read(&path, format);
        assert_eq!(found.len(), rows.len());
        for (batch, rows) in found.iter().zip(rows) {
            assert_eq!(
                texts::<Int32Type>(batch.column(0)),
                rows.iter().map(|t| t.map(str::to_owned)).collect::<Vec<_>>()
            );
        }
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn dictionaries_inside_lists_and_structs_become_one_too() {
    let folder = tempfile::tempdir().unwrap();
    let make = |first: &[Option<&str>], second: &[Option<&str>]| {
        let rows = second.len();
        let item = dictionary::<UInt16Type>(first);
        let item_field = Arc::new(Field::new("item", item.data_type().clone(), true));
        let lengths = std::iter::once(first.len()).chain(std::iter::repeat_n(0, rows - 1));
        let list = ListArray::new(
            item_field,
            OffsetBuffer::from_lengths(lengths),
            Arc::new(item),
            Some(NullBuffer::from_iter((0..rows).map(|row| row != 1))),
        );
        let inner = dictionary::<Int32Type>(second);
        let structure = StructArray::from(vec![
            (
                Arc::new(Field::new("list", list.data_type().clone(), true)),
                Arc::new(list) as ArrayRef,
            ),
            (Arc::new(Field::new("name", inner.data_type().clone(), true)), Arc::new(inner)),
        ]);
        RecordBatch::try_from_iter([("s", Arc::new(structure) as ArrayRef)]).unwrap()
    };
    let batches = [
        make(&[Some("x"), Some("y")], &[Some("a"), None]),
        make(&[Some("z"), None, Some("x")], &[Some("b"), Some("a"), Some("b")]),
    ];
    let path = folder.path().join("x");
    write(&path, &IpcOptions::default(), &batches).unwrap();
    let found = read(&path, Format::File);
    let parts = |batch: &RecordBatch| {
        let structure = batch.column(0).as_struct().clone();
        (
            texts::<UInt16Type>(structure.column(0).as_list::<i32>().values()),
            texts::<Int32Type>(structure.column(1)),
        )
    };
    for (found, wanted) in found.iter().zip(&batches) {
        assert_eq!(parts(found), parts(wanted));
        let nulls = |batch: &RecordBatch| batch.column(0).as_struct().column(0).nulls().cloned();
        assert_eq!(nulls(found), nulls(wanted));
    }
    assert_eq!(found.len(), 2);
}

#[test]
fn more_values_than_keys_is_an_error_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let make = |from: usize| {
        let names: Vec<String> = (from..from + 100).map(|n| n.to_string()).collect();
        let column: DictionaryArray<Int8Type> =
            names.iter().map(|name| Some(name.as_str())).collect();
        RecordBatch::try_from_iter([("d", Arc::new(column) as ArrayRef)]).unwrap()
    };
    let path = folder.path().join("x");
    let message =
        write(&path, &IpcOptions::default(), &[make(0), make(100)]).unwrap_err().to_string();
    assert_eq!(
        message,
        "schema, field d: more distinct values than Int8 can number: use wider keys, or the stream format"
    );
    let stream = IpcOptions { format: Format::Stream, ..IpcOptions::default() };
    write(&path, &stream, &[make(0), make(100)]).unwrap();
    assert_eq!(read(&path, Format::Stream).len(), 2);
}
