// SPDX-License-Identifier: Apache-2.0
//! Tables as they are written, read back, grown at the same time, and refused.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, Date32Array, DictionaryArray, Int32Array, Int64Array, RecordBatch,
    StringArray, StructArray, TimestampMillisecondArray, UInt8Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrowsmith_core::sink::Sink;
use arrowsmith_core::{Error, Result};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;

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

fn load(path: &Path) -> Table {
    Table::load(place(path), "t").unwrap().unwrap()
}

fn open(
    path: &Path,
    schema: &Schema,
    by: &[&str],
    place: Arc<dyn Place>,
) -> Result<DeltaSink<'static>> {
    let table = Table::load(Arc::new(LocalPlace::new(path)), "t")?;
    let options = FolderOptions {
        partition_by: by.iter().map(|text| text.parse().unwrap()).collect(),
        ..FolderOptions::default()
    };
    let folder = Box::new(LocalFolder::new(path, true, false)?);
    let make = Box::new(|output, schema: &SchemaRef| {
        Ok(Box::new(ParquetSink::new(output, schema, &ParquetOptions::default())?) as Box<dyn Sink>)
    });
    DeltaSink::new(table, place, "t", schema, FilesOf { folder, append: true, options, make })
}

fn write(path: &Path, batch: &RecordBatch, by: &[&str]) -> Result<()> {
    let mut sink = open(path, &batch.schema(), by, place(path))?;
    sink.write(batch)?;
    Box::new(sink).finish().map(drop)
}

/// The numbers in all files of a table.
fn numbers(path: &Path) -> BTreeSet<i64> {
    let mut found = BTreeSet::new();
    for file in load(path).files().unwrap() {
        let file = fs::File::open(path.join(&file.path)).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
        for batch in reader {
            let column = batch.unwrap().column_by_name("n").unwrap().clone();
            let column = arrow_cast::cast(&column, &DataType::Int64).unwrap();
            let values = column.to_data();
            let values = Int64Array::from(values);
            found.extend(values.values().iter().copied());
        }
    }
    found
}

fn lines(path: &Path, version: u64) -> Vec<Value> {
    let text = fs::read_to_string(path.join(LOG).join(names::commit_name(version))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Names of Parquet files below a folder.
fn files(path: &Path) -> usize {
    let mut count = 0;
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        count += if path.is_dir() {
            files(&path)
        } else {
            usize::from(path.extension().is_some_and(|e| e == "parquet"))
        };
    }
    count
}

#[test]
fn a_table_is_created_and_grows() {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("t");
    write(&path, &batch(0, 100), &["key", "month(ts)"]).unwrap();
    let actions = lines(&path, 0);
    let protocol = &actions[1]["protocol"];
    assert_eq!(
        (&protocol["minReaderVersion"], &protocol["minWriterVersion"]),
        (&1.into(), &2.into())
    );
    let metadata = &actions[2]["metaData"];
    assert_eq!(metadata["partitionColumns"], serde_json::json!(["key", "ts_month"]));
    let lengths: Vec<usize> = metadata["id"].as_str().unwrap().split('-').map(str::len).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12]);
    let schema: Value = serde_json::from_str(metadata["schemaString"].as_str().unwrap()).unwrap();
    let types: Vec<_> =
        schema["fields"].as_array().unwrap().iter().map(|f| (&f["name"], &f["type"])).collect();
    let expected = [("n", "long"), ("key", "string"), ("ts", "timestamp"), ("ts_month", "string")];
    assert_eq!(
        types,
        expected
            .map(|(name, kind)| (name.into(), kind.into()))
            .iter()
            .map(|(a, b): &(Value, Value)| (a, b))
            .collect::<Vec<_>>()
    );
    let added: Vec<&Value> = actions.iter().filter_map(|action| action.get("add")).collect();
    assert_eq!(added.len(), files(&path));
    let keys: BTreeSet<_> =
        added.iter().map(|add| add["partitionValues"]["key"].to_string()).collect();
    assert_eq!(keys, BTreeSet::from(["null", "\"k/1\"", "\"k/2\""].map(str::to_owned)));
    for add in added {
        let name = add["path"].as_str().unwrap();
        assert!(name.contains("k%252F") || name.contains("HIVE_DEFAULT"), "{name}");
        let statistics: Value = serde_json::from_str(add["stats"].as_str().unwrap()).unwrap();
        assert!(statistics["minValues"]["n"].as_i64() <= statistics["maxValues"]["n"].as_i64());
    }

    write(&path, &batch(100, 50), &["key", "month(ts)"]).unwrap();
    let table = load(&path);
    assert_eq!(table.version(), 1);
    assert_eq!(numbers(&path), (0..150).collect());
    assert_eq!(table.partition_columns(), ["key", "ts_month"]);
    let first = &table.files().unwrap()[0];
    assert_eq!(first.partitions[1].0, "ts_month");
    assert_eq!(table.schema().unwrap().field(2).data_type().to_string(), "Timestamp(µs, \"UTC\")");
    // A day of the month is not what the table is partitioned by.
    let error = write(&path, &batch(0, 1), &["key"]).unwrap_err().to_string();
    assert!(error.contains("partitioned by"), "{error}");
    assert_eq!(load(&path).version(), 1);
}

/// Columns in another order, some missing, some narrower, some of types that Delta does not have.
#[test]
fn columns_are_those_of_the_table() {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("t");
    write(&path, &batch(0, 3), &[]).unwrap();
    let one = |name: &str, column: ArrayRef| RecordBatch::try_from_iter([(name, column)]).unwrap();
    write(&path, &one("n", Arc::new(Int32Array::from(vec![7]))), &[]).unwrap();
    write(&path, &one("n", Arc::new(UInt8Array::from(vec![255]))), &[]).unwrap();
    assert_eq!(numbers(&path), BTreeSet::from([0, 1, 2, 7, 255]));
    for (name, column, expected) in [
        ("other", Arc::new(Int32Array::from(vec![7])) as ArrayRef, "no column of the table"),
        ("N", Arc::new(Int64Array::from(vec![7])), "no column of the table"),
        ("n", Arc::new(StringArray::from(vec!["7"])), "\"long\" in the table, not \"string\""),
        ("key", Arc::new(Date32Array::from(vec![7])), "\"string\" in the table"),
        ("a b", Arc::new(Date32Array::from(vec![7])), "no names with spaces"),
    ] {
        let error = write(&path, &one(name, column), &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let both = RecordBatch::try_from_iter([
        ("a", Arc::new(Int64Array::from(vec![1])) as ArrayRef),
        ("A", Arc::new(Int64Array::from(vec![1]))),
    ]);
    let error = write(&outer.path().join("u"), &both.unwrap(), &[]).unwrap_err().to_string();
    assert!(error.contains("differ only in case"), "{error}");
    let empty = one("key", Arc::new(StringArray::from(vec![""])));
    let number = Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    let empty = RecordBatch::try_from_iter([("n", number), ("key", empty.column(0).clone())]);
    let error = write(&outer.path().join("v"), &empty.unwrap(), &["key"]).unwrap_err().to_string();
    assert!(error.contains("would be null"), "{error}");
    assert_eq!(load(&path).version(), 2);
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
                load(&path).schema().unwrap();
                write(&path, &batch, &[]).unwrap();
                written = depth;
            }
            Err(error) => {
                assert!(error.to_string().contains("too deeply"), "{error}");
                assert!(!path.join(LOG).exists());
            }
        }
    }
    assert!((30..59).contains(&written), "{written}");
}

/// What others commit between two requests, and what goes wrong.
struct Faulty {
    inner: LocalPlace,
    path: std::path::PathBuf,
    /// 0: others are first, three times; 1: the commit is there, and the answer is lost; 2: the
    /// commit fails; 3: others change the schema.
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

    fn create(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let lost = || Error::io(name, std::io::Error::other("connection reset"));
        match self.fault {
            0 if call < 3 => write(&self.path, &batch(1000 + i64::from(call), 1), &[]).unwrap(),
            1 => return self.inner.create(name, bytes).and(Err(lost())),
            2 => return Err(lost()),
            3 if call == 0 => {
                let mut other = lines(&self.path, 0).swap_remove(2);
                other["metaData"]["configuration"] = serde_json::json!({"a": "b"});
                assert!(self.inner.create(name, other.to_string().as_bytes()).unwrap());
            }
            _ => {}
        }
        self.inner.create(name, bytes)
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
        (0, None, 4, vec![5, 1000, 1001, 1002]),
        (1, None, 1, vec![5]),
        (2, Some("connection reset"), 0, vec![]),
        (3, Some("changed the table's schema"), 1, vec![]),
    ] {
        let path = outer.path().join(fault.to_string());
        write(&path, &batch(0, 5), &[]).unwrap();
        let faulty = Faulty {
            inner: LocalPlace::new(&path),
            path: path.clone(),
            fault,
            calls: AtomicU32::new(0),
        };
        let rows = batch(5, 1);
        let mut sink = open(&path, &rows.schema(), &[], Arc::new(faulty)).unwrap();
        sink.write(&rows).unwrap();
        let done = Box::new(sink).finish().err().map(|error| error.to_string());
        assert_eq!(done.is_some(), error.is_some(), "{fault}: {done:?}");
        assert!(done.unwrap_or_default().contains(error.unwrap_or_default()), "{fault}");
        assert_eq!(load(&path).version(), version, "{fault}");
        assert_eq!(numbers(&path), (0..5).chain(added).collect(), "{fault}");
        // Files that are in no commit are gone.
        assert_eq!(files(&path), load(&path).files().unwrap().len(), "{fault}");
        assert_eq!(fs::read_dir(path.join(LOG)).unwrap().count() as u64, version + 1, "{fault}");
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
    for (sink, text) in [(typed, "another type for the column n"), (parted, "partitions")] {
        let error = sink.finish().unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    assert_eq!(load(&path).version(), 2);
    let expected = (0..3).flat_map(|i| i * 10..i * 10 + 5).collect();
    assert_eq!(numbers(&path), expected);
    // Files that are in no commit are gone.
    assert_eq!(files(&path), 3);
    let metadata = |version| {
        lines(&path, version).iter().filter(|line| line.get("metaData").is_some()).count()
    };
    assert_eq!([0, 1, 2].map(metadata), [1, 0, 0]);
}

/// A sink that is dropped, or whose process ends, before the commit leaves the table as it is.
#[test]
fn what_is_not_committed_is_no_part_of_the_table() {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("t");
    write(&path, &batch(0, 5), &[]).unwrap();
    let mut sink = open(&path, &batch(5, 1).schema(), &[], place(&path)).unwrap();
    sink.write(&batch(5, 1)).unwrap();
    drop(sink);
    assert_eq!(numbers(&path), (0..5).collect());
    assert_eq!(files(&path), 1);
    // As a crash between the files and the commit leaves it.
    fs::write(path.join("part-x.parquet"), "no Parquet").unwrap();
    write(&path, &batch(5, 1), &[]).unwrap();
    assert_eq!(numbers(&path), (0..6).collect());
}

/// A checkpoint as other writers make them; commits before it are gone.
#[test]
fn a_checkpoint_stands_for_the_commits_before_it() {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("t");
    for start in 0..3 {
        write(&path, &batch(start, 1), &["key"]).unwrap();
    }
    let mut text = String::new();
    for version in 0..3 {
        for line in
            lines(&path, version).into_iter().filter(|line| line.get("commitInfo").is_none())
        {
            text += &(line.to_string() + "\n");
        }
    }
    let map = DataType::Map(
        Arc::new(Field::new(
            "key_value",
            DataType::Struct(
                vec![
                    Field::new("key", DataType::Utf8, false),
                    Field::new("value", DataType::Utf8, true),
                ]
                .into(),
            ),
            false,
        )),
        false,
    );
    let field = |name: &str, data_type: DataType| Field::new(name, data_type, true);
    let add = DataType::Struct(
        vec![
            field("path", DataType::Utf8),
            field("partitionValues", map.clone()),
            field("size", DataType::Int64),
            field("modificationTime", DataType::Int64),
            field("dataChange", DataType::Boolean),
        ]
        .into(),
    );
    let format = vec![field("provider", DataType::Utf8), field("options", map.clone())];
    let metadata = DataType::Struct(
        vec![
            field("id", DataType::Utf8),
            field("format", DataType::Struct(format.into())),
            field("schemaString", DataType::Utf8),
            field("partitionColumns", DataType::new_list(DataType::Utf8, true)),
            field("configuration", map),
        ]
        .into(),
    );
    let protocol = DataType::Struct(
        vec![
            field("minReaderVersion", DataType::Int32),
            field("minWriterVersion", DataType::Int32),
        ]
        .into(),
    );
    let schema = Arc::new(Schema::new(vec![
        field("txn", DataType::Utf8),
        field("add", add),
        field("metaData", metadata),
        field("protocol", protocol),
    ]));
    let mut decoder = arrow_json::ReaderBuilder::new(schema.clone()).build_decoder().unwrap();
    decoder.decode(text.as_bytes()).unwrap();
    let actions = decoder.flush().unwrap().unwrap();
    let checkpoint = path.join(LOG).join(format!("{:020}.checkpoint.parquet", 2));
    let mut writer =
        ArrowWriter::try_new(fs::File::create(&checkpoint).unwrap(), schema, None).unwrap();
    writer.write(&actions).unwrap();
    writer.close().unwrap();
    let before = load(&path).files().unwrap();
    for version in 0..2 {
        fs::remove_file(path.join(LOG).join(names::commit_name(version))).unwrap();
    }
    assert_eq!(load(&path).files().unwrap(), before);
    write(&path, &batch(3, 1), &["key"]).unwrap();
    assert_eq!(load(&path).version(), 3);
    assert_eq!(numbers(&path), (0..4).collect());
    // A commit that is missing is noticed, and a checkpoint that is none.
    fs::remove_file(checkpoint).unwrap();
    assert!(Table::load(place(&path), "t").is_err());
    fs::write(path.join(LOG).join(format!("{:020}.checkpoint.parquet", 3)), "PAR1").unwrap();
    assert!(Table::load(place(&path), "t").is_err());
}

/// Tables with something that would be read or added to wrongly.
#[test]
fn what_is_not_known_is_refused() {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("t");
    write(&path, &batch(0, 1), &[]).unwrap();
    let first = lines(&path, 0);
    let change = |at: usize, pointer: &str, key: &str, value: Value| {
        let mut lines = first.clone();
        lines[at].pointer_mut(pointer).unwrap()[key] = value;
        lines
    };
    let schema = |metadata: &str| {
        let text = first[2]["metaData"]["schemaString"].as_str().unwrap();
        Value::from(text.replacen("\"metadata\":{}", metadata, 1))
    };
    let invariant = "\"metadata\":{\"delta.invariants\":\"x\"}";
    let last = first.len() - 1;
    let mut cases = vec![
        (change(1, "/protocol", "minReaderVersion", 4.into()), true, true),
        (change(1, "/protocol", "minWriterVersion", 8.into()), false, true),
        (change(1, "/protocol", "readerFeatures", serde_json::json!(["new"])), true, true),
        (change(1, "/protocol", "writerFeatures", serde_json::json!(["new"])), false, true),
        (change(2, "/metaData/format", "provider", "orc".into()), true, true),
        (change(2, "/metaData", "schemaString", schema(invariant)), false, true),
        (change(last, "/add", "path", "../x.parquet".into()), true, false),
        (change(last, "/add", "path", "s3://b/x.parquet".into()), true, false),
        (change(last, "/add", "path", "/etc/x".into()), true, false),
        (change(last, "/add", "path", "a%zz".into()), true, false),
        (change(last, "/add", "deletionVector", serde_json::json!({"a": 1})), true, false),
    ];
    for (key, value, reads, writes) in [
        ("delta.columnMapping.mode", "name", false, true),
        ("delta.columnMapping.mode", "id", false, true),
        ("delta.columnMapping.mode", "new", true, true),
        ("delta.constraints.a", "n > 0", false, true),
        ("delta.enableRowTracking", "true", false, true),
        ("delta.enableRowTracking", "false", false, false),
        ("delta.columnMapping.mode", "none", false, false),
    ] {
        let lines = change(2, "/metaData/configuration", key, value.into());
        cases.push((lines, reads, writes));
    }
    for (lines, reading, writing) in cases {
        let text = lines.iter().map(|line| line.to_string() + "\n").collect::<String>();
        fs::write(path.join(LOG).join(names::commit_name(0)), &text).unwrap();
        let read = load(&path).files();
        assert_eq!(read.is_err(), reading, "{text}");
        assert_eq!(load(&path).check_append().is_err(), writing, "{text}");
    }
    for malformed in ["{", "{}\n", "{\"protocol\":{}}", "[]", "\u{0}"] {
        fs::write(path.join(LOG).join(names::commit_name(0)), malformed).unwrap();
        let error = Table::load(place(&path), "t").err().unwrap().to_string();
        assert!(error.starts_with("t/_delta_log"), "{error}");
    }
}

/// A commit that deletes rows of a file: its actions are in any order.
#[test]
fn a_file_with_deleted_rows_is_not_lost() {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("t");
    write(&path, &batch(0, 1), &[]).unwrap();
    let mut add = lines(&path, 0).pop().unwrap();
    let remove = serde_json::json!({"remove": {"path": add["add"]["path"]}});
    add["add"]["deletionVector"] = serde_json::json!({"storageType": "u"});
    let next = path.join(LOG).join(names::commit_name(1));
    for text in [format!("{add}\n{remove}\n"), format!("{remove}\n{add}\n")] {
        fs::write(&next, text).unwrap();
        let error = load(&path).files().unwrap_err().to_string();
        assert!(error.contains("a deletion vector at \"\""), "{error}");
    }
    fs::write(&next, format!("{remove}\n")).unwrap();
    assert_eq!(load(&path).files().unwrap(), []);
}

/// Its other files would not be seen.
#[test]
fn a_checkpoint_with_sidecars_is_refused() {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("t");
    write(&path, &batch(0, 1), &[]).unwrap();
    let named = StringArray::from(vec!["x.parquet"]);
    let field = Field::new("path", DataType::Utf8, true);
    let sidecar = StructArray::new(vec![field].into(), vec![Arc::new(named)], None);
    let actions = RecordBatch::try_from_iter([("sidecar", Arc::new(sidecar) as ArrayRef)]).unwrap();
    let file = path.join(LOG).join(format!("{:020}.checkpoint.parquet", 0));
    let mut writer =
        ArrowWriter::try_new(fs::File::create(file).unwrap(), actions.schema(), None).unwrap();
    writer.write(&actions).unwrap();
    writer.close().unwrap();
    let error = Table::load(place(&path), "t").err().unwrap().to_string();
    assert!(error.contains("sidecars"), "{error}");
}

/// A checkpoint of a few KiB that has a long path again and again.
#[test]
fn a_checkpoint_takes_bounded_memory() {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("t");
    write(&path, &batch(0, 1), &[]).unwrap();
    let long = "x".repeat(1 << 20);
    let paths: DictionaryArray<Int32Type> = std::iter::repeat_n(long.as_str(), 2000).collect();
    let field = Arc::new(Field::new("path", paths.data_type().clone(), true));
    let add = StructArray::from(vec![(field, Arc::new(paths) as ArrayRef)]);
    let actions = RecordBatch::try_from_iter([("add", Arc::new(add) as ArrayRef)]).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), actions.schema(), None).unwrap();
    writer.write(&actions).unwrap();
    let checkpoint = writer.into_inner().unwrap();
    assert!(checkpoint.len() < 4 << 20, "{}", checkpoint.len());
    fs::write(path.join(LOG).join(format!("{:020}.checkpoint.parquet", 1)), checkpoint).unwrap();
    let error = Table::load(place(&path), "t").err().unwrap().to_string();
    assert!(error.contains("memory"), "{error}");
}

#[test]
fn what_a_log_becomes_is_bounded() {
    let outer = tempfile::tempdir().unwrap();
    let path = outer.path().join("t");
    write(&path, &batch(0, 1), &[]).unwrap();
    let mut first = lines(&path, 0);
    first[2]["metaData"]["partitionColumns"] = serde_json::json!(["k".repeat(1 << 20)]);
    let mut text: String = first.iter().map(|line| line.to_string() + "\n").collect();
    for n in 0..5000 {
        let add = serde_json::json!({"path": n.to_string(), "size": 1, "modificationTime": 1,
            "dataChange": true});
        text.push_str(&format!("{}\n", serde_json::json!({"add": add})));
    }
    let commit = path.join(LOG).join(names::commit_name(0));
    fs::write(&commit, &text).unwrap();
    let error = load(&path).files().unwrap_err().to_string();
    assert!(error.contains("5001 files by 1 partition columns"), "{error}");
    fs::write(&commit, format!("{{\"add\":{{\"path\":\"{}\"}}}}", "x".repeat(65 << 20))).unwrap();
    let error = Table::load(place(&path), "t").err().unwrap().to_string();
    assert!(error.contains("an action of more than"), "{error}");
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
    let place = || Arc::new(Prefix::within(Arc::clone(&store), prefix.clone(), "memory:t/"));
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
        let folder = Box::new(folder.unwrap());
        let files = FilesOf { folder, append: true, options, make };
        let mut sink = DeltaSink::new(table, place(), "memory:t", &rows.schema(), files).unwrap();
        sink.write(rows).unwrap();
        sink
    };
    let files = || {
        let table = Table::load(place(), "memory:t").unwrap().unwrap();
        (table.version(), table.files().unwrap())
    };
    Box::new(open(&batch(0, 10))).finish().unwrap();
    assert_eq!((files().0, files().1.len()), (0, 3));
    // Two that start from the same version; one that is never finished.
    let (one, other, dropped) = (open(&batch(10, 3)), open(&batch(20, 3)), open(&batch(30, 3)));
    Box::new(other).finish().unwrap();
    drop(dropped);
    Box::new(one).finish().unwrap();
    let (version, files) = files();
    assert_eq!((version, files.len()), (2, 9));
    let name = files.iter().find(|file| file.path.contains("k%2F")).unwrap();
    assert!(name.url_path().starts_with("key=k%252F"), "{}", name.url_path());
    assert_eq!(place().read(&name.path, 1 << 20).unwrap()[..4], *b"PAR1");
}
