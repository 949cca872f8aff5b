// SPDX-License-Identifier: Apache-2.0
//! The output of the Parquet sink is read back with the `parquet` crate and compared.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, Int32RunArray, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray, UInt64Array,
};
use arrow_schema::{DataType, Field, IntervalUnit, Schema, SchemaRef, UnionFields, UnionMode};
use arrowsmith_core::Error;
use arrowsmith_core::sink::{Output, Sink, SinkSummary};
use arrowsmith_sink::parquet::{Choice, Codec, ParquetOptions, ParquetSink, ParquetStream, Writer};
use arrowsmith_testkit::parquet::with_usual_names;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::LogicalType;
use parquet::file::metadata::ParquetMetaData;

fn batch(start: i64, rows: i64) -> RecordBatch {
    let numbers = Int64Array::from_iter_values(start..start + rows);
    let texts: StringArray =
        (start..start + rows).map(|n| (n % 3 != 0).then(|| format!("text {n}"))).collect();
    let lists = ListArray::from_iter_primitive::<arrow_array::types::UInt64Type, _, _>(
        (start..start + rows).map(|n| Some((0..n % 4).map(|item| Some(item.unsigned_abs())))),
    );
    let names: DictionaryArray<Int32Type> =
        (start..start + rows).map(|n| if n % 2 == 0 { "even" } else { "odd" }).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("number", Arc::new(numbers)),
        ("text", Arc::new(texts)),
        ("list", Arc::new(lists)),
        ("name", Arc::new(names)),
    ];
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    let metadata = HashMap::from([("answer".to_owned(), "42".to_owned())]);
    let schema = Schema::new_with_metadata(fields, metadata);
    RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(_, array)| array).collect())
        .unwrap()
}

fn write(path: &Path, options: &ParquetOptions, batches: &[RecordBatch]) -> SinkSummary {
    let output = Output::create(path).unwrap();
    let mut sink = Box::new(ParquetSink::new(output, &batches[0].schema(), options).unwrap());
    for batch in batches {
        sink.write(batch).unwrap();
    }
    assert!(!path.exists(), "the name appears with the last byte");
    sink.finish().unwrap()
}

/// A schema without the names of the parts of lists: the `parquet` crate returns those of the file.
fn comparable(schema: &Schema) -> Schema {
    let fields: Vec<Field> = schema.fields().iter().map(|field| with_usual_names(field)).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

fn read(path: &Path) -> (Arc<ParquetMetaData>, RecordBatch) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let schema = batch(0, 1).schema();
    assert_eq!(comparable(reader.schema()), comparable(&schema));
    let metadata = Arc::clone(reader.metadata());
    let batches: Vec<RecordBatch> =
        reader.with_batch_size(1 << 20).build().unwrap().map(Result::unwrap).collect();
    assert!(batches.len() <= 1);
    let Some(found) = batches.first() else { return (metadata, RecordBatch::new_empty(schema)) };
    let columns = found.columns().iter().zip(schema.fields());
    let columns = columns.map(|(found, field)| arrow_cast::cast(found, field.data_type()).unwrap());
    (metadata, RecordBatch::try_new(Arc::clone(&schema), columns.collect()).unwrap())
}

fn assert_same(found: &RecordBatch, wanted: &RecordBatch) {
    for (column, field) in wanted.schema().fields().iter().enumerate() {
        assert!(
            found.column(column) == wanted.column(column),
            "{field}: {:?}",
            found.column(column)
        );
    }
}

#[test]
fn every_codec_gives_the_rows_back() {
    let folder = tempfile::tempdir().unwrap();
    for codec in
        ["auto", "none", "snappy", "lz4", "zstd", "zstd:7", "gzip", "gzip:2", "brotli", "brotli:4"]
    {
        let path = folder.path().join("x.parquet");
        let codec: Codec = codec.parse().unwrap();
        for writer in ["arrowsmith", "reference"] {
            let writer: Writer = writer.parse().unwrap();
            if (writer, codec) == (Writer::Reference, Codec::Auto) {
                continue;
            }
            let options = ParquetOptions { writer, codec, ..ParquetOptions::default() };
            let summary = write(&path, &options, &[batch(0, 600), batch(600, 400)]);
            assert_eq!((summary.rows, summary.batches), (1000, 2));
            assert_eq!(summary.bytes, path.metadata().unwrap().len());
            let (_, found) = read(&path);
            assert_same(&found, &batch(0, 1000));
            std::fs::remove_file(&path).unwrap();
        }
    }
}

/// Both writers with otherwise equal options.
fn both(options: ParquetOptions) -> [ParquetOptions; 2] {
    [Writer::Arrowsmith, Writer::Reference]
        .map(|writer| ParquetOptions { writer, ..options.clone() })
}

#[test]
fn row_groups_and_encodings_are_as_requested() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    let encodings = Choice::Compatible;
    for options in both(ParquetOptions { row_group_rows: 300, encodings, ..Default::default() }) {
        write(&path, &options, &[batch(0, 700), batch(700, 300)]);
        let (metadata, found) = read(&path);
        let rows: Vec<i64> = metadata.row_groups().iter().map(|group| group.num_rows()).collect();
        assert_eq!(rows, [300, 300, 300, 100]);
        assert_same(&found, &batch(0, 1000));
        assert!(metadata.row_group(0).column(3).dictionary_page_offset().is_some());
        std::fs::remove_file(&path).unwrap();
    }
    for options in both(ParquetOptions { encodings: Choice::Plain, ..Default::default() }) {
        write(&path, &options, &[batch(0, 1000)]);
        let (metadata, found) = read(&path);
        assert!(metadata.row_group(0).column(3).dictionary_page_offset().is_none());
        assert_same(&found, &batch(0, 1000));
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn groups_of_one_row_need_no_deep_stack() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    let column = Arc::new(UInt64Array::from_iter_values(0..20_000)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    for options in both(ParquetOptions { row_group_rows: 1, ..Default::default() }) {
        write(&path, &options, std::slice::from_ref(&batch));
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 20_000);
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_row_group_ends_when_it_is_large() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    let options = ParquetOptions {
        row_group_bytes: 4096,
        encodings: Choice::Plain,
        codec: "none".parse().unwrap(),
        ..ParquetOptions::default()
    };
    let batches: Vec<RecordBatch> = (0..20).map(|n| batch(n * 100, 100)).collect();
    for options in both(options) {
        write(&path, &options, &batches);
        let (metadata, found) = read(&path);
        assert!(metadata.num_row_groups() >= 10, "{}", metadata.num_row_groups());
        assert_same(&found, &batch(0, 2000));
        std::fs::remove_file(&path).unwrap();
    }
}

/// The bytes of a file.
fn bytes(options: &ParquetOptions, batches: &[RecordBatch]) -> Vec<u8> {
    let mut stream = ParquetStream::new(Vec::new(), &batches[0].schema(), options).unwrap();
    for batch in batches {
        stream.write(batch).unwrap();
    }
    stream.finish().unwrap()
}

#[test]
fn threads_change_nothing() {
    let batches: Vec<RecordBatch> = (0..30).map(|n| batch(n * 1000, 1000)).collect();
    let options = |threads| ParquetOptions {
        threads,
        row_group_rows: 9_500,
        codec: Codec::Auto,
        bloom_filters: vec!["number".to_owned(), "text".to_owned(), "list".to_owned()],
        ..Default::default()
    };
    let wanted = bytes(&options(1), &batches);
    for threads in [0, 2, 3, 8, 100_000] {
        assert!(bytes(&options(threads), &batches) == wanted, "{threads}");
    }
}

/// Run-end encoding is one of Arrow's: values are written as often as they are there.
#[test]
fn run_ends_are_written_as_values() {
    let values = StringArray::from(vec![Some("a"), None, Some("b")]);
    let runs = Int32RunArray::try_new(&Int32Array::from(vec![2, 3, 7]), &values).unwrap();
    let runs = Arc::new(runs) as ArrayRef;
    let inner = Arc::new(Field::new("runs", runs.data_type().clone(), true));
    let outer = StructArray::from(vec![(inner, Arc::clone(&runs))]);
    let columns = [("runs", runs), ("outer", Arc::new(outer) as ArrayRef)];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let wanted: StringArray =
        [Some("a"), Some("a"), None, Some("b"), Some("b"), Some("b"), Some("b")].iter().collect();
    for options in both(ParquetOptions::default()) {
        let file = Bytes::from(bytes(&options, std::slice::from_ref(&batch)));
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        let found = reader.map(Result::unwrap).next().unwrap();
        assert_eq!(found.column(0).to_data(), arrow_array::Array::to_data(&wanted));
        let outer = found.column(1).as_any().downcast_ref::<StructArray>().unwrap();
        assert_eq!(outer.column(0).to_data(), arrow_array::Array::to_data(&wanted));
    }
}

#[test]
fn types_that_parquet_does_not_have_are_named() {
    let union = UnionFields::try_new([0], [Field::new("x", DataType::Int64, true)]).unwrap();
    let refused = [
        (DataType::Union(union, UnionMode::Sparse), "make it a struct"),
        (DataType::Interval(IntervalUnit::MonthDayNano), "cast it to"),
        (DataType::Struct(Vec::<Field>::new().into()), "leave the column out"),
    ];
    for (kind, remedy) in refused {
        let list = DataType::List(Arc::new(Field::new("item", kind, true)));
        let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("a", list, true)]));
        for options in both(ParquetOptions::default()) {
            let error = ParquetStream::new(Vec::new(), &schema, &options).err().unwrap();
            let text = error.to_string();
            assert!(matches!(&error, Error::Schema { path, .. } if path == "a.item"), "{text}");
            assert!(text.contains("Parquet has no ") && text.contains(remedy), "{text}");
        }
    }
}

#[test]
fn no_rows_are_a_file_with_a_schema() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    let output = Output::create(&path).unwrap();
    let schema = batch(0, 1).schema();
    let sink = ParquetSink::new(output, &schema, &ParquetOptions::default()).unwrap();
    assert_eq!(Box::new(sink).finish().unwrap().rows, 0);
    let (_, found) = read(&path);
    assert_eq!((found.num_rows(), found.schema().field(2).name().as_str()), (0, "list"));
}

#[test]
fn a_sink_that_is_dropped_leaves_nothing_and_bad_options_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    let schema = batch(0, 1).schema();
    for options in both(ParquetOptions { threads: 2, ..Default::default() }) {
        let mut sink = ParquetSink::new(Output::create(&path).unwrap(), &schema, &options).unwrap();
        sink.write(&batch(0, 10)).unwrap();
        drop(sink);
        let options = ParquetOptions { row_group_rows: 0, ..options };
        let refused = ParquetSink::new(Output::create(&path).unwrap(), &schema, &options);
        assert!(matches!(refused.err(), Some(Error::Config(_))));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named() {
    let schema = batch(0, 1).schema();
    for options in both(ParquetOptions { threads: 2, row_group_rows: 300, ..Default::default() }) {
        let output = Output::create("/dev/full").unwrap();
        let sink = ParquetSink::new(output, &schema, &options);
        let error = sink.and_then(|mut sink| {
            sink.write(&batch(0, 1000))?;
            Box::new(sink).finish()
        });
        let message = error.unwrap_err().to_string();
        assert!(message.starts_with("/dev/full: ") && message.contains("space"), "{message}");
    }
}

/// Also where the extension type has no parameters, at any depth: as inference makes it.
#[test]
fn json_has_its_logical_type() {
    let name = HashMap::from([("ARROW:extension:name".to_owned(), "arrow.json".to_owned())]);
    let json = |field: &str| Field::new(field, DataType::Utf8, true).with_metadata(name.clone());
    let inside = DataType::Struct(vec![json("inside")].into());
    let items = DataType::List(Arc::new(json("item")));
    let fields = vec![json("j"), Field::new("s", inside, true), Field::new("l", items, true)];
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    for name in ["arrowsmith", "reference"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("j.parquet");
        let writer: Writer = name.parse().unwrap();
        let options = ParquetOptions { writer, ..ParquetOptions::default() };
        let output = Output::create(&path).unwrap();
        Box::new(ParquetSink::new(output, &schema, &options).unwrap()).finish().unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
        assert_eq!(comparable(reader.schema()), *schema);
        for leaf in reader.metadata().file_metadata().schema_descr().columns() {
            assert_eq!(leaf.logical_type_ref(), Some(&LogicalType::Json), "{name}: {leaf:?}");
        }
    }
}
