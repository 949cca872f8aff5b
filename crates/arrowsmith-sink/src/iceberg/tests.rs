// SPDX-License-Identifier: Apache-2.0
//! Tables as they are written, read back by what reads tables of others, grown at the same time,
//! and refused.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder, UInt8Builder};
use arrow_array::{
    Array, ArrayRef, Float32Array, Int32Array, Int64Array, RecordBatch, StringArray, StructArray,
    TimestampMillisecondArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrowsmith_core::sink::Sink;
use arrowsmith_core::{Error, Result};
use arrowsmith_source::Input;
use arrowsmith_source::iceberg::{self, encoded};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

use super::*;
use crate::folder::{FolderOptions, LocalFolder};
use crate::parquet::{ParquetOptions, ParquetSink};
use crate::table::{FilesOf, LocalPlace, Place};

fn batch(start: i64, rows: i64) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(start..start + rows));
    let keys = (start..start + rows).map(|n| (n % 3 > 0).then(|| format!("k/{}", n % 3)));
    let keys: ArrayRef = Arc::new(keys.collect::<StringArray>());
    let times = (start..start + rows).map(|n| n * 86_400_000);
    let times = TimestampMillisecondArray::from_iter_values(times).with_timezone("+01:00");
    let columns = [("n", numbers), ("key", keys), ("ts", Arc::new(times) as ArrayRef)];
    let columns = columns.map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn place(path: &Path) -> Arc<dyn Place> {
    Arc::new(LocalPlace::new(path))
}

fn open(
    path: &Path,
    schema: &Schema,
    by: &[&str],
    place: Arc<dyn Place>,
) -> Result<IcebergSink<'static>> {
    let table = Table::load(Arc::new(LocalPlace::new(path)), "t")?;
    let options = FolderOptions {
        partition_by: by.iter().map(|text| text.parse().unwrap()).collect(),
        ..FolderOptions::default()
    };
    let folder = Box::new(LocalFolder::new(path, true, false)?);
    let make = Box::new(|output, schema: &SchemaRef| {
        Ok(Box::new(ParquetSink::new(output, schema, &ParquetOptions::default())?) as Box<dyn Sink>)
    });
    IcebergSink::new(table, place, "t", schema, FilesOf { folder, append: true, options, make })
}

fn write(path: &Path, batch: &RecordBatch, by: &[&str]) -> Result<()> {
    let mut sink = open(path, &batch.schema(), by, place(path))?;
    sink.write(batch)?;
    Box::new(sink).finish().map(drop)
}

fn load(path: &Path) -> iceberg::Table {
    iceberg::Table::load(&iceberg::LocalPlace, path.to_str().unwrap()).unwrap()
}

fn metadata(path: &Path, version: u64) -> Value {
    serde_json::from_slice(&fs::read(path.join(metadata::file_of(version))).unwrap()).unwrap()
}

/// The batches of all files of a table, as they are in the files.
fn batches(path: &Path) -> Vec<RecordBatch> {
    let files = load(path).files.into_iter().flat_map(|file| {
        let Input::Path(path) = file.input else { panic!("no path") };
        let file = fs::File::open(path).unwrap();
        ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap()
    });
    files.map(|batch| batch.unwrap()).collect()
}

/// The numbers in all files of a table.
fn numbers(path: &Path) -> BTreeSet<i64> {
    let mut found = BTreeSet::new();
    for batch in batches(path) {
        let column = batch.column_by_name("n").unwrap();
        let column = arrow_cast::cast(column, &DataType::Int64).unwrap();
        found.extend(Int64Array::from(column.to_data()).values().iter().copied());
    }
    found
}

/// The files below a folder with such an end of their names.
fn files(path: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path, end)),
            false if path.to_str().unwrap().ends_with(end) => found.push(path),
            false => {}
        }
    }
    found
}

#[test]
fn a_table_is_created_and_grows() {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("t");
    write(&path, &batch(0, 100), &["key", "month(ts)"]).unwrap();
    let first = metadata(&path, 1);
    let fields = json!([
        {"source-id": 2, "field-id": 1000, "name": "key", "transform": "identity"},
        {"source-id": 3, "field-id": 1001, "name": "ts_month", "transform": "month"},
    ]);
    assert_eq!(first["partition-specs"], json!([{"spec-id": 0, "fields": fields}]));
    let found = load(&path);
    let types =
        found.schema.fields().iter().map(|f| (f.name().as_str(), f.data_type().to_string()));
    let expected = [("n", "Int64"), ("key", "Utf8"), ("ts", "Timestamp(µs, \"UTC\")")];
    assert!(types.eq(expected.map(|(name, kind)| (name, kind.to_owned()))));
    // Four months, of which the last has too few days for one of the keys, or not.
    assert_eq!(found.files.len(), files(&path, ".parquet").len());
    let keys: BTreeSet<_> = found.files.iter().map(|file| file.partitions.clone()).collect();
    let key = |text: Option<&str>| vec![("key".to_owned(), text.map(str::to_owned))];
    assert_eq!(keys, BTreeSet::from([key(None), key(Some("k/1")), key(Some("k/2"))]));
    assert_eq!(numbers(&path), (0..100).collect());

    // Partitions are those of the table, and no others; all columns are in the files.
    write(&path, &batch(100, 10), &[]).unwrap();
    let error = write(&path, &batch(0, 1), &["key"]).unwrap_err().to_string();
    assert!(error.contains(r#"partitioned by ["key", "month(ts)"], not by ["key"]"#), "{error}");
    assert_eq!(numbers(&path), (0..110).collect());
    assert!(batches(&path).iter().all(|batch| batch.num_columns() == 3));
    let second = metadata(&path, 2);
    let (snapshots, log) = (&second["snapshots"], &second["metadata-log"]);
    assert_eq!(snapshots[1]["parent-snapshot-id"], snapshots[0]["snapshot-id"]);
    assert_eq!(second["current-snapshot-id"], snapshots[1]["snapshot-id"]);
    assert_eq!(second["refs"]["main"]["snapshot-id"], snapshots[1]["snapshot-id"]);
    assert_eq!(second["last-sequence-number"], 2);
    let summary = &snapshots[1]["summary"];
    assert_eq!(
        (&summary["added-records"], &summary["total-records"]),
        (&json!("10"), &json!("110"))
    );
    assert!(log[0]["metadata-file"].as_str().unwrap().ends_with("/metadata/v1.metadata.json"));
    for key in ["table-uuid", "location", "schemas", "partition-specs", "properties"] {
        assert_eq!(first[key], second[key], "{key}");
    }
    let hint = path.join("metadata/version-hint.text");
    assert_eq!(fs::read_to_string(&hint).unwrap(), "2");
    // A writer that ends before it writes the hint has committed.
    fs::write(&hint, "1").unwrap();
    assert_eq!(numbers(&path), (0..110).collect());
    fs::remove_file(&hint).unwrap();
    assert_eq!(numbers(&path), (0..110).collect());

    // A column that the table is partitioned by is null where it is missing.
    let parted = outer.path().join("parted");
    write(&parted, &batch(0, 9), &["key", "day(ts)"]).unwrap();
    write(&parted, &batch(20, 1).project(&[0]).unwrap(), &[]).unwrap();
    assert_eq!(numbers(&parted), (0..9).chain([20]).collect());
    let last = &load(&parted).files[0];
    assert_eq!((last.partitions.clone(), batches(&parted)[0].num_columns()), (key(None), 3));

    // Without rows there is nothing to commit, and a new table has no snapshot.
    write(&path, &batch(0, 0), &[]).unwrap();
    assert_eq!(Table::load(place(&path), "t").unwrap().unwrap().version(), 2);
    let empty = outer.path().join("empty");
    write(&empty, &batch(0, 0), &[]).unwrap();
    assert_eq!((load(&empty).schema.fields().len(), load(&empty).files.len()), (3, 0));
    assert_eq!(files(&empty, ".parquet").len(), 0);
    write(&empty, &batch(7, 1), &[]).unwrap();
    assert_eq!(numbers(&empty), BTreeSet::from([7]));
}

/// A batch with all that is nested, and with types that become others.
fn nested() -> RecordBatch {
    let mut list = ListBuilder::new(UInt8Builder::new());
    list.append_value([Some(200), None]);
    list.append_null();
    let mut map = MapBuilder::new(None, StringBuilder::new(), UInt8Builder::new());
    map.keys().append_value("a");
    map.values().append_value(7);
    map.append(true).unwrap();
    map.append(false).unwrap();
    let small: ArrayRef = Arc::new(Int32Array::from(vec![Some(-1), None]));
    let inner = Arc::new(Field::new("x", DataType::Int32, true));
    let large: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX, 0]));
    let columns: [(&str, ArrayRef); 5] = [
        ("n", Arc::new(Int64Array::from(vec![1, 2]))),
        ("list", Arc::new(list.finish())),
        ("map", Arc::new(map.finish())),
        ("record", Arc::new(StructArray::new(vec![inner].into(), vec![small], None))),
        ("large", large),
    ];
    let columns = columns.map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

#[test]
fn columns_have_ids_at_any_depth() {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("t");
    write(&path, &nested(), &[]).unwrap();
    let table = load(&path);
    let types = table.schema.fields().iter().map(|field| field.data_type());
    let types: Vec<String> = types.map(DataType::to_string).collect();
    assert_eq!((types[0].as_str(), types[4].as_str()), ("Int64", "Decimal128(20, 0)"));
    // The files have the columns by the ids of the table, in order.
    let found = batches(&path);
    assert_eq!(found[0].schema().fields().len(), 5);
    let ids = |schema: &Schema| {
        let mut found = Vec::new();
        fn walk(field: &Field, found: &mut Vec<(String, String)>) {
            let id = field.metadata().get("PARQUET:field_id").cloned().unwrap_or_default();
            found.push((field.name().clone(), id));
            match field.data_type() {
                DataType::List(item) => walk(item, found),
                DataType::Map(entries, _) => {
                    let DataType::Struct(pair) = entries.data_type() else { panic!("no pair") };
                    pair.iter().for_each(|field| walk(field, found));
                }
                DataType::Struct(fields) => fields.iter().for_each(|field| walk(field, found)),
                _ => {}
            }
        }
        schema.fields().iter().for_each(|field| walk(field, &mut found));
        found
    };
    let of_files = ids(&found[0].schema());
    assert_eq!(of_files, ids(&table.schema));
    let numbers: BTreeSet<&String> = of_files.iter().map(|(_, id)| id).collect();
    assert_eq!((numbers.len(), of_files.len()), (9, 9));
    write(&path, &nested(), &[]).unwrap();
    assert_eq!(batches(&path).iter().map(RecordBatch::num_rows).sum::<usize>(), 4);
    let mut required = metadata(&path, 2);
    required["schemas"][0]["fields"][3]["type"]["fields"][0]["required"] = true.into();
    fs::write(path.join(metadata::file_of(2)), required.to_string()).unwrap();
    let error = write(&path, &nested(), &[]).unwrap_err().to_string();
    let expected = "is struct<x: int not null> in the table, not struct<x: int>";
    assert!(error.contains(expected), "{error}");
}

/// What is written can be read again, however deep it is.
#[test]
fn columns_that_are_too_deep_are_refused() {
    let outer = tempfile::tempdir().unwrap();
    let mut column: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let mut written = 0;
    for depth in 1..60 {
        let field = Arc::new(Field::new("n", column.data_type().clone(), true));
        column = Arc::new(StructArray::new(vec![field].into(), vec![column], None));
        let batch = RecordBatch::try_from_iter([("n", Arc::clone(&column))]).unwrap();
        let path = outer.path().join(depth.to_string());
        match write(&path, &batch, &[]) {
            Ok(()) => {
                assert_eq!(load(&path).files.len(), 1, "{depth}");
                write(&path, &batch, &[]).unwrap();
                written = depth;
            }
            Err(error) => {
                assert!(error.to_string().contains("too deeply"), "{error}");
                assert!(!path.join(METADATA).exists());
            }
        }
    }
    assert!((30..59).contains(&written), "{written}");
}

#[test]
fn columns_are_those_of_the_table() {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("t");
    write(&path, &batch(0, 3), &[]).unwrap();
    // Narrower, in another order, and with one missing.
    let narrow: ArrayRef = Arc::new(Int32Array::from(vec![50]));
    let key: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let few = RecordBatch::try_from_iter([("key", Arc::clone(&key)), ("n", narrow)]).unwrap();
    write(&path, &few, &[]).unwrap();
    assert_eq!(numbers(&path), BTreeSet::from([0, 1, 2, 50]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let float: ArrayRef = Arc::new(Float32Array::from(vec![1.0]));
    for (name, column, expected) in [
        ("other", &key, "is no column of the table"),
        ("n", &text, "is long in the table, not string"),
        ("n", &float, "is long in the table, not float"),
    ] {
        let wrong = RecordBatch::try_from_iter([(name, Arc::clone(column))]).unwrap();
        let error = write(&path, &wrong, &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    // What may not be null.
    let file = path.join(metadata::file_of(2));
    let mut required = metadata(&path, 2);
    required["schemas"][0]["fields"][0]["required"] = true.into();
    fs::write(&file, required.to_string()).unwrap();
    let null: ArrayRef = Arc::new(Int64Array::from(vec![None]));
    let null = RecordBatch::try_from_iter_with_nullable([("n", null, true)]).unwrap();
    let missing = RecordBatch::try_from_iter([("key", key)]).unwrap();
    for (wrong, expected) in [(null, "may not be"), (missing, "is missing")] {
        let error = write(&path, &wrong, &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    write(&path, &batch(3, 1), &[]).unwrap();
    assert_eq!(numbers(&path), BTreeSet::from([0, 1, 2, 3, 50]));
    // What Iceberg does not have.
    let nanos = DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, None);
    for (data_type, expected) in
        [(nanos, "they have microseconds"), (DataType::Null, "another type")]
    {
        let column = arrow_array::new_null_array(&data_type, 1);
        let wrong = RecordBatch::try_from_iter_with_nullable([("c", column, true)]).unwrap();
        let error = write(&outer.path().join("u"), &wrong, &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// What others commit between two requests, and what goes wrong.
struct Faulty {
    inner: LocalPlace,
    path: PathBuf,
    /// 0: others are first, three times; 1: the metadata is there, and the answer is lost; 2: it
    /// cannot be created; 3: others change the schema; 4: the list cannot be created.
    fault: u32,
    calls: AtomicU32,
}

impl Place for Faulty {
    fn list(&self, folder: &str) -> Result<Vec<String>> {
        self.inner.list(folder)
    }

    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>> {
        self.inner.read(path, most)
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<bool> {
        let lost = || Error::io(path, std::io::Error::other("connection reset"));
        if !path.ends_with(METADATA_END) {
            let is_list = path.contains("/snap-");
            return if self.fault == 4 && is_list {
                Err(lost())
            } else {
                self.inner.create(path, bytes)
            };
        }
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        match self.fault {
            0 if call < 3 => write(&self.path, &batch(1000 + i64::from(call), 1), &[]).unwrap(),
            1 => return self.inner.create(path, bytes).and(Err(lost())),
            2 => return Err(lost()),
            3 if call == 0 => {
                let mut other = metadata(&self.path, 1);
                other["schemas"][0]["fields"][0]["doc"] = "x".into();
                assert!(self.inner.create(path, other.to_string().as_bytes()).unwrap());
            }
            _ => {}
        }
        self.inner.create(path, bytes)
    }

    fn replace(&self, path: &str, bytes: &[u8]) -> Result<()> {
        self.inner.replace(path, bytes)
    }

    fn delete(&self, path: &str) {
        self.inner.delete(path);
    }

    fn location(&self) -> Result<String> {
        self.inner.location()
    }

    fn is_at(&self, location: &str) -> Result<bool> {
        self.inner.is_at(location)
    }
}

#[test]
fn a_commit_is_there_once_or_not_at_all() {
    let outer = tempfile::tempdir().unwrap();
    for (fault, error, version, added) in [
        (0, None, 5, vec![5, 1000, 1001, 1002]),
        (1, None, 2, vec![5]),
        (2, Some("connection reset"), 1, vec![]),
        (3, Some("changed the table's schema"), 2, vec![]),
        (4, Some("connection reset"), 1, vec![]),
    ] {
        let path = outer.path().join(fault.to_string());
        write(&path, &batch(0, 5), &[]).unwrap();
        let (inner, calls) = (LocalPlace::new(&path), AtomicU32::new(0));
        let faulty = Faulty { inner, path: path.clone(), fault, calls };
        let rows = batch(5, 1);
        let mut sink = open(&path, &rows.schema(), &[], Arc::new(faulty)).unwrap();
        sink.write(&rows).unwrap();
        let done = Box::new(sink).finish().err().map(|error| error.to_string());
        assert_eq!(done.is_some(), error.is_some(), "{fault}: {done:?}");
        assert!(done.unwrap_or_default().contains(error.unwrap_or_default()), "{fault}");
        assert_eq!(Table::load(place(&path), "t").unwrap().unwrap().version(), version, "{fault}");
        assert_eq!(numbers(&path), (0..5).chain(added).collect(), "{fault}");
        // Files that are in no snapshot are gone.
        let snapshots = metadata(&path, version)["snapshots"].as_array().unwrap().len();
        assert_eq!(files(&path, ".parquet").len(), snapshots, "{fault}");
        assert_eq!(files(&path, ".avro").len(), 2 * snapshots, "{fault}");
    }
}

/// Several first appends: one creates the table, and the others add to it what fits.
#[test]
fn a_table_that_another_creates_meanwhile_is_joined() {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("t");
    let other = RecordBatch::try_from_iter([("n", batch(0, 1).column(1).clone())]).unwrap();
    let start = |rows: &RecordBatch, by: &[&str]| {
        let mut sink = open(&path, &rows.schema(), by, place(&path)).unwrap();
        sink.write(rows).unwrap();
        Box::new(sink)
    };
    let sinks: Vec<_> = (0..3).map(|i| start(&batch(i * 10, 5), &[])).collect();
    let (typed, parted) = (start(&other, &[]), start(&batch(50, 1), &["key"]));
    for sink in sinks {
        sink.finish().unwrap();
    }
    for sink in [typed, parted] {
        let error = sink.finish().unwrap_err().to_string();
        assert!(error.contains("with other columns or partitions"), "{error}");
    }
    assert_eq!(numbers(&path), (0..3).flat_map(|i| i * 10..i * 10 + 5).collect());
    assert_eq!((files(&path, ".parquet").len(), files(&path, ".avro").len()), (3, 6));
    // One that is dropped, or whose process ends, before the commit leaves the table as it is.
    drop(start(&batch(60, 1), &[]));
    assert_eq!(files(&path, ".parquet").len(), 3);
}

#[test]
fn what_is_not_known_is_refused() {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("t");
    write(&path, &batch(0, 5), &["key"]).unwrap();
    let sound = metadata(&path, 1);
    type Change = fn(&mut Value);
    let changes: [(Change, &str); 11] = [
        (|table| table["format-version"] = 1.into(), "version 1 of the format"),
        (|table| table["format-version"] = 3.into(), "version 3 of the format"),
        (|table| table["location"] = "s3://bucket/t".into(), "the location s3://bucket/t"),
        (|table| table["properties"] = json!({"write.format.default": "orc"}), "write.format"),
        (|table| table["properties"] = json!({"encryption.key-id": "k"}), "encryption.key-id"),
        (
            |table| table["partition-specs"][0]["fields"][0]["transform"] = "bucket[4]".into(),
            "bucket",
        ),
        (|table| table["partition-specs"][0]["fields"][0]["source-id"] = 9.into(), "fields of"),
        (|table| table["schemas"][0]["fields"][0]["write-default"] = 7.into(), "defaults"),
        (|table| table["snapshots"][0]["manifest-list"] = "/elsewhere/x".into(), "elsewhere"),
        (|table| table["current-schema-id"] = 9.into(), "no current schema"),
        (|table| *table = json!([]), "version none"),
    ];
    for (change, expected) in changes {
        let mut table = sound.clone();
        change(&mut table);
        fs::write(path.join(metadata::file_of(1)), table.to_string()).unwrap();
        let error = write(&path, &batch(5, 5), &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    fs::write(path.join(metadata::file_of(1)), sound.to_string()).unwrap();
    assert_eq!(numbers(&path), (0..5).collect());
    let list = files(&path, ".avro").into_iter().find(|it| it.to_str().unwrap().contains("snap-"));
    let (list, bytes) = (list.clone().unwrap(), fs::read(list.unwrap()).unwrap());
    fs::write(&list, &bytes[..bytes.len() - 1]).unwrap();
    let error = write(&path, &batch(5, 5), &[]).unwrap_err().to_string();
    assert!(error.contains("cut off"), "{error}");
    fs::write(list, bytes).unwrap();
    let (parquet, avro) = (files(&path, ".parquet").len(), files(&path, ".avro").len());
    assert_eq!((parquet, avro), (3, 2));
    let uuid = "12345678-0000-4000-8000-00000000000a";
    for (name, expected) in [
        (format!("00002-{uuid}.metadata.json"), "only its catalog adds rows"),
        ("x.metadata.json".to_owned(), "only its catalog adds rows"),
        ("v2.gz.metadata.json".to_owned(), "which is compressed"),
        ("v2.metadata.json.gz".to_owned(), "which is compressed"),
    ] {
        let other = path.join("metadata").join(name);
        fs::write(&other, sound.to_string()).unwrap();
        let error = write(&path, &batch(5, 5), &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        fs::remove_file(other).unwrap();
    }
    // What Hadoop's catalog has written before it has its name.
    fs::write(path.join(format!("metadata/{uuid}.metadata.json")), "{}").unwrap();
    write(&path, &batch(5, 5), &[]).unwrap();
    fs::remove_file(path.join("metadata/version-hint.text")).unwrap();
    assert_eq!(numbers(&path), (0..10).collect());
}

/// A table is where its metadata says, by whatever links.
#[cfg(unix)]
#[test]
fn a_table_is_found_through_links() {
    let outer = tempfile::tempdir().unwrap();
    let (real, link) = (outer.path().join("real"), outer.path().join("link"));
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    write(&link.join("t"), &batch(0, 5), &[]).unwrap();
    write(&real.join("t"), &batch(5, 5), &[]).unwrap();
    write(&link.join("t"), &batch(10, 5), &[]).unwrap();
    assert_eq!(numbers(&real.join("t")), (0..15).collect());
    // Others name it by the link.
    let file = real.join("t").join(metadata::file_of(3));
    let mut other: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    other["location"] = format!("file:{}", link.join("t").display()).into();
    for snapshot in other["snapshots"].as_array_mut().unwrap() {
        let list = snapshot["manifest-list"].as_str().unwrap().rsplit_once('/').unwrap().1;
        let list = format!("{}/t/metadata/{list}", link.display());
        snapshot["manifest-list"] = list.into();
    }
    fs::write(file, other.to_string()).unwrap();
    write(&real.join("t"), &batch(15, 5), &[]).unwrap();
    assert_eq!(numbers(&real.join("t")), (0..20).collect());
}

/// Lists that another writer has compressed, with fields of its own: what is in them stays.
#[test]
fn lists_of_other_writers_are_continued() {
    let tables = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/iceberg");
    let mut lists = 0;
    for path in files(&tables, ".avro") {
        if !path.file_name().unwrap().to_str().unwrap().starts_with("snap-") {
            continue;
        }
        let before = encoded(&fs::read(&path).unwrap()).unwrap();
        let (records, bytes) = (before.records, before.bytes.clone());
        let listed = manifest::Listed {
            location: "file:///t/metadata/x-m0.avro",
            bytes: 7,
            spec: 0,
            sequence: 9,
            snapshot: 8,
            files: 1,
            rows: 2,
        };
        let schema = before.schema.clone();
        let after = encoded(&manifest::list_with(Some(before), &listed, Some(3)).unwrap()).unwrap();
        assert_eq!((after.records, &after.schema), (records + 1, &schema), "{}", path.display());
        assert!(after.bytes.starts_with(&bytes) && after.bytes.len() > bytes.len() + 30);
        lists += 1;
    }
    assert!(lists >= 4, "{lists}");
}

/// The same in a store: what is not committed is not seen, and a commit replaces none.
#[cfg(feature = "store")]
#[test]
fn a_table_in_a_store_grows() {
    use arrowsmith_source::store::object_store::ObjectStore;
    use arrowsmith_source::store::object_store::memory::InMemory;
    use arrowsmith_source::store::object_store::path::Path as Prefixed;
    use arrowsmith_source::store::{Prefix, StoreFolder};

    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let prefix = Prefixed::from("lake/t");
    let place = || Arc::new(Prefix::within(Arc::clone(&store), prefix.clone(), "memory://lake/t/"));
    let open = |rows: &RecordBatch| {
        let table = Table::load(place(), "memory:t").unwrap();
        let folder =
            StoreFolder::within(Arc::clone(&store), prefix.clone(), "memory:t/", table.is_some());
        let options = FolderOptions {
            partition_by: vec!["key".parse().unwrap()],
            ..FolderOptions::default()
        };
        let make = Box::new(|output, schema: &SchemaRef| {
            let options = ParquetOptions::default();
            Ok(Box::new(ParquetSink::new(output, schema, &options)?) as Box<dyn Sink>)
        });
        let files = FilesOf { folder: Box::new(folder.unwrap()), append: true, options, make };
        let mut sink = IcebergSink::new(table, place(), "t", &rows.schema(), files).unwrap();
        sink.write(rows).unwrap();
        Box::new(sink)
    };
    open(&batch(0, 10)).finish().unwrap();
    // Two that start from the same version; one that is never finished.
    let (one, other, dropped) = (open(&batch(10, 3)), open(&batch(20, 3)), open(&batch(30, 3)));
    other.finish().unwrap();
    drop(dropped);
    one.finish().unwrap();
    let bytes = place().read(&metadata::file_of(3), 1 << 20).unwrap();
    let last: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(last["location"], "memory://lake/t");
    assert_eq!(last["snapshots"][2]["summary"]["total-records"], "16");
    assert_eq!(*place().read("metadata/version-hint.text", 9).unwrap(), *b"3");
    let list = last["snapshots"][2]["manifest-list"].as_str().unwrap();
    let list = list.strip_prefix("memory://lake/t/").unwrap();
    assert_eq!(encoded(&place().read(list, 1 << 20).unwrap()).unwrap().records, 3);
}
