// SPDX-License-Identifier: Apache-2.0
//! Folders of files, read back by the `parquet` crate.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, DictionaryArray, Int8Array, Int64Array, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

use super::*;
use crate::ipc::{IpcOptions, IpcSink};
use crate::json::{JsonOptions, JsonSink};
use crate::parquet::{ParquetOptions, ParquetSink};

fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("key", DataType::Utf8, true),
        Field::new("n", DataType::Int64, false),
    ]))
}

/// Rows `numbers`, distributed over `keys` values, of which one is null.
fn batch(numbers: std::ops::Range<i64>, keys: i64) -> RecordBatch {
    let key = |n: i64| Some(n * 7 % keys).filter(|key| *key > 0).map(|key| format!("k/{key}"));
    let column: StringArray = numbers.clone().map(key).collect();
    let numbers = Int64Array::from_iter_values(numbers);
    RecordBatch::try_new(schema(), vec![Arc::new(column), Arc::new(numbers)]).unwrap()
}

fn parquet(options: ParquetOptions) -> MakeSink<'static> {
    let workers = options.workers().unwrap();
    Box::new(move |output, schema| {
        let sink = ParquetSink::with_workers(output, schema, &options, Some(&workers))?;
        Ok(Box::new(sink) as Box<dyn Sink>)
    })
}

fn by(text: &str) -> FolderOptions {
    let partition_by = text.split(',').filter(|text| !text.is_empty());
    let partition_by = partition_by.map(|text| text.parse().unwrap()).collect();
    FolderOptions { partition_by, ..FolderOptions::default() }
}

fn local(root: &Path) -> Box<LocalFolder> {
    Box::new(LocalFolder::new(root, false, true).unwrap())
}

fn write(root: &Path, options: FolderOptions, batches: &[RecordBatch]) -> Result<SinkSummary> {
    write_to(LocalFolder::new(root, false, false)?, options, batches)
}

fn write_to(
    folder: LocalFolder,
    options: FolderOptions,
    batches: &[RecordBatch],
) -> Result<SinkSummary> {
    let make = parquet(ParquetOptions { threads: 2, ..ParquetOptions::default() });
    let mut sink = Box::new(FolderSink::new(Box::new(folder), &schema(), options, make)?);
    for batch in batches {
        sink.write(batch)?;
    }
    sink.finish()
}

/// Paths of all files, without hidden ones, and their numbers `n`.
fn read(root: &Path) -> BTreeMap<String, Vec<i64>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            // Without the Arrow schema: the crate panics for a dictionary of more values than keys.
            let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
            let file = File::open(&path).unwrap();
            let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options);
            let numbers = reader.unwrap().build().unwrap().flat_map(|batch| {
                let batch = batch.unwrap();
                let column = batch.column_by_name("n").unwrap().as_primitive::<Int64Type>();
                column.values().to_vec()
            });
            let name = path.strip_prefix(root).unwrap().display().to_string();
            found.insert(name.replace(std::path::MAIN_SEPARATOR, "/"), numbers.collect());
        }
    }
    found
}

#[test]
fn rows_are_in_the_folders_of_their_values_in_order() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("table");
    let batches: Vec<_> = (0..20).map(|at| batch(at * 1000..at * 1000 + 1000, 5)).collect();
    let summary = write(&root, by("key"), &batches).unwrap();
    assert_eq!((summary.rows, summary.batches), (20_000, 20));
    let found = read(&root);
    let names: Vec<_> = found.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "key=__HIVE_DEFAULT_PARTITION__/part-00000.parquet",
            "key=k%2F1/part-00000.parquet",
            "key=k%2F2/part-00000.parquet",
            "key=k%2F3/part-00000.parquet",
            "key=k%2F4/part-00000.parquet",
        ]
    );
    for (key, numbers) in [0, 1, 2, 3, 4].into_iter().zip(found.values()) {
        let expected: Vec<i64> = (0..20_000).filter(|n| n * 7 % 5 == key).collect();
        assert_eq!(*numbers, expected);
    }
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1, "nothing temporary is left");
}

#[test]
fn files_have_as_many_rows_as_they_may() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("a/b").join("..").join("table");
    fs::create_dir_all(outer.path().join("a/b")).unwrap();
    let batches = [batch(0..10_000, 3), batch(10_000..10_001, 3), batch(10_001..25_000, 3)];
    let options = FolderOptions { rows_per_file: Some(4_000), ..by("") };
    write(&root, options, &batches).unwrap();
    let found = read(&root);
    let rows: Vec<usize> = found.values().map(Vec::len).collect();
    assert_eq!(rows, [4000, 4000, 4000, 4000, 4000, 4000, 1000]);
    let all: Vec<i64> = found.into_values().flatten().collect();
    assert_eq!(all, (0..25_000).collect::<Vec<_>>());
}

/// The same files for any number of threads.
#[test]
fn files_end_at_a_size() {
    let mut sizes = Vec::new();
    for threads in [1, 2, 3] {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("table");
        let options = ParquetOptions { row_group_rows: 5000, threads, ..ParquetOptions::default() };
        let limit = FolderOptions { bytes_per_file: Some(2_000), ..by("") };
        let mut sink =
            Box::new(FolderSink::new(local(&root), &schema(), limit, parquet(options)).unwrap());
        let batches = (0..30).map(|at| batch(at * 2000..at * 2000 + 2000, 997));
        batches.for_each(|batch| sink.write(&batch).unwrap());
        let summary = sink.finish().unwrap();
        let found = read(&root);
        assert!(found.len() > 1, "{:?}", found.keys());
        assert_eq!(found.values().map(Vec::len).sum::<usize>(), 60_000);
        let size = |name: &String| fs::metadata(root.join(name)).unwrap().len();
        let found: Vec<u64> = found.keys().map(size).collect();
        assert_eq!(summary.bytes, found.iter().sum::<u64>());
        sizes.push(found);
    }
    assert!(sizes.iter().all(|found| *found == sizes[0]), "{sizes:?}");
}

#[test]
fn few_files_are_open_and_nothing_is_lost() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("table");
    let options =
        FolderOptions { open_files_max: 3, held_bytes_max: 1, rows_per_file: None, ..by("key") };
    let batches: Vec<_> = (0..8).map(|at| batch(at * 30_000..at * 30_000 + 30_000, 11)).collect();
    write(&root, options, &batches).unwrap();
    let found = read(&root);
    assert!(found.len() > 11, "{:?}", found.keys());
    let mut all: Vec<i64> = found.into_values().flatten().collect();
    all.sort_unstable();
    assert_eq!(all, (0..240_000).collect::<Vec<_>>());
}

/// Names that are given are the same in each run, also where a folder has several files.
#[test]
fn files_have_the_names_that_are_given() {
    let outer = tempfile::tempdir().unwrap();
    let stem = Some("s-7".to_owned());
    let options = FolderOptions { open_files_max: 1, stem, ..by("key") };
    let batches = [batch(0..60_000, 2), batch(60_000..120_000, 2)];
    for root in [outer.path().join("a"), outer.path().join("b")] {
        write(&root, options.clone(), &batches).unwrap();
    }
    let found = read(&outer.path().join("a"));
    let names: Vec<_> = found.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "key=__HIVE_DEFAULT_PARTITION__/s-7-1.parquet",
            "key=__HIVE_DEFAULT_PARTITION__/s-7.parquet",
            "key=k%2F1/s-7-1.parquet",
            "key=k%2F1/s-7.parquet",
        ]
    );
    assert_eq!(found, read(&outer.path().join("b")));
}

/// A partitioner alone knows which folders a sink would write.
#[test]
fn the_folders_of_batches_are_known_before() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("table");
    let batches = [batch(0..100, 3), batch(0..100, 5)];
    let mut partitioner = Partitioner::new(&schema(), &by("key")).unwrap();
    batches.iter().for_each(|batch| partitioner.add(batch).unwrap());
    write(&root, by("key"), &batches).unwrap();
    let mut expected = partitioner.folders().to_vec();
    expected.sort();
    let written = read(&root).into_keys();
    let written = written.map(|name| format!("{}/", name.rsplit_once('/').unwrap().0));
    assert_eq!(written.collect::<Vec<_>>(), expected);
    let few = FolderOptions { partitions_max: 2, ..by("key") };
    let mut few = Partitioner::new(&schema(), &few).unwrap();
    assert!(matches!(few.add(&batches[0]), Err(Error::Config(_))));
}

#[test]
fn too_many_partitions_are_refused_and_leave_nothing() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("table");
    let options = FolderOptions { partitions_max: 10, ..by("key") };
    let error = write(&root, options, &[batch(0..100, 50)]).unwrap_err().to_string();
    assert!(error.contains("more than 10 partitions by key"), "{error}");
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_with_files_gets_more_only_if_asked() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("table");
    write(&root, by("key"), &[batch(0..10, 2)]).unwrap();
    let error = write(&root, by("key"), &[batch(0..10, 2)]).unwrap_err().to_string();
    assert!(error.contains("not empty"), "{error}");
    for start in [10, 20] {
        let folder = LocalFolder::new(&root, true, true).unwrap();
        write_to(folder, by("key"), &[batch(start..start + 10, 3)]).unwrap();
    }
    let found = read(&root);
    assert_eq!(found.len(), 8, "{found:?}");
    let mut all: Vec<i64> = found.into_values().flatten().collect();
    all.sort_unstable();
    assert_eq!(all, (0..30).collect::<Vec<_>>());
    assert!(fs::read_dir(&root).unwrap().all(|entry| entry.unwrap().file_type().unwrap().is_dir()));
}

#[test]
fn an_empty_folder_is_filled_at_the_end_and_a_drop_leaves_nothing() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("table");
    fs::create_dir(&root).unwrap();
    let make = parquet(ParquetOptions::default());
    let options = FolderOptions { rows_per_file: Some(4000), ..by("") };
    let mut sink = FolderSink::new(local(&root), &schema(), options, make).unwrap();
    sink.write(&batch(0..10_000, 3)).unwrap();
    assert!(read(&root).is_empty());
    // Some readers look into hidden folders.
    let temporary = fs::read_dir(&root).unwrap().next().unwrap().unwrap().path();
    let mut names = fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.all(|name| name.to_string_lossy().ends_with(".tmp")));
    drop(sink);
    assert!(!temporary.exists() && read(&root).is_empty());

    let summary = write(&root, by(""), &[]).unwrap();
    assert_eq!(summary.rows, 0);
    assert_eq!(read(&root).into_values().collect::<Vec<_>>(), [Vec::<i64>::new()]);
}

/// The sink of a folder that has the rows, and is not finished.
fn started(folder: LocalFolder, rows: std::ops::Range<i64>) -> Box<FolderSink<'static>> {
    let make = parquet(ParquetOptions { threads: 1, ..ParquetOptions::default() });
    let mut sink = FolderSink::new(Box::new(folder), &schema(), by("key"), make).unwrap();
    sink.write(&batch(rows, 3)).unwrap();
    Box::new(sink)
}

/// Two runs at the same time lose nothing of each other, whether the folder exists or not.
#[test]
fn runs_at_the_same_time_keep_the_files_of_both() {
    let outer = tempfile::tempdir().unwrap();
    for (name, exists) in [("old", true), ("new", false)] {
        let root = outer.path().join(name);
        if exists {
            fs::create_dir(&root).unwrap();
        }
        let open = |append| LocalFolder::new(&root, append, false).unwrap();
        let (first, second) = (started(open(true), 0..10), started(open(true), 10..20));
        let without = started(open(false), 20..30);
        first.finish().unwrap();
        second.finish().unwrap();
        let error = without.finish().unwrap_err().to_string();
        assert!(error.contains("another process"), "{error}");
        let mut all: Vec<i64> = read(&root).into_values().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, (0..20).collect::<Vec<_>>());
        let left = fs::read_dir(&root)
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with('.'));
        assert_eq!(left.count(), 0);
    }
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 2);
}

#[test]
fn what_a_crash_left_is_no_file() {
    let outer = tempfile::tempdir().unwrap();
    let left = outer.path().join(".arrowsmith-0-1.tmp/key=1/part-00000.parquet.tmp");
    fs::create_dir_all(left.parent().unwrap()).unwrap();
    fs::write(&left, "half").unwrap();
    write(outer.path(), by("key"), &[batch(0..10, 2)]).unwrap();
    assert_eq!(read(outer.path()).len(), 2);
    assert!(left.exists(), "it may be that of another process");
}

/// What a signal handler calls: before a commit, and in the middle of one.
#[test]
fn a_commit_that_is_stopped_is_undone() {
    let outer = tempfile::tempdir().unwrap();
    for exists in [true, false] {
        let root = outer.path().join("table");
        if exists {
            fs::create_dir(&root).unwrap();
        }
        let folder = LocalFolder::new(&root, false, false).unwrap();
        let cleanup = folder.cleanup();
        let sink = started(folder, 0..10);
        cleanup();
        assert!(sink.finish().is_err());
        assert_eq!(fs::read_dir(outer.path()).unwrap().count(), usize::from(exists));
        if exists {
            assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
            fs::remove_dir(&root).unwrap();
        }
    }
    // A file that cannot be moved, after some that were.
    let root = outer.path().join("table");
    fs::create_dir_all(&root).unwrap();
    fs::write(root.join("key=k%2F2"), "a file where a folder is needed").unwrap();
    let sink = started(LocalFolder::new(&root, true, false).unwrap(), 0..10);
    assert!(sink.finish().is_err());
    let names: Vec<_> = fs::read_dir(&root).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["key=k%2F2"]);
}

/// As on file systems that ignore case: two values must not share a folder.
#[test]
fn folders_that_fall_together_are_refused() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("table");
    let mut folder = LocalFolder::new(&root, false, false).unwrap();
    folder.create("a=1/part-0").unwrap();
    folder.create("a=1/part-1").unwrap();
    let temporary = fs::read_dir(outer.path()).unwrap().next().unwrap().unwrap().path();
    fs::create_dir(temporary.join("a=2")).unwrap();
    let error = folder.create("a=2/part-0").unwrap_err().to_string();
    assert!(error.contains("does not distinguish"), "{error}");
}

/// Batches without rows, and dictionaries that together have more values than keys.
#[test]
fn batches_need_not_fit_together() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("empty");
    let empty = batch(0..0, 2);
    let options = FolderOptions { rows_per_file: Some(3), ..by("") };
    write(&root, options, &[empty.clone(), empty]).unwrap();
    assert_eq!(read(&root).into_values().collect::<Vec<_>>(), [Vec::<i64>::new()]);

    let root = outer.path().join("dictionaries");
    let batch = |start: i64| {
        let values: StringArray = (start..start + 100).map(|n| Some(n.to_string())).collect();
        let keys = Int8Array::from_iter_values(0..100);
        let kinds = DictionaryArray::new(keys, Arc::new(values));
        let numbers = Int64Array::from_iter_values(start..start + 100);
        let columns: [(&str, ArrayRef); 2] = [("k", Arc::new(kinds)), ("n", Arc::new(numbers))];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let make = parquet(ParquetOptions::default());
    let sink = FolderSink::new(local(&root), &batch(0).schema(), by(""), make);
    let mut sink = Box::new(sink.unwrap());
    (0..3).for_each(|at| sink.write(&batch(at * 100)).unwrap());
    sink.finish().unwrap();
    let all: Vec<i64> = read(&root).into_values().flatten().collect();
    assert_eq!(all, (0..300).collect::<Vec<_>>());
}

#[test]
fn every_format_can_be_in_a_folder() {
    let outer = tempfile::tempdir().unwrap();
    let make: [(&str, MakeSink<'_>); 2] = [
        (
            "arrow",
            Box::new(|output, schema| {
                let sink = IpcSink::new(output, schema, &IpcOptions::default())?;
                Ok(Box::new(sink) as Box<dyn Sink>)
            }),
        ),
        (
            "jsonl",
            Box::new(|output, schema| {
                let sink = JsonSink::new(output, schema, &JsonOptions::default())?;
                Ok(Box::new(sink) as Box<dyn Sink>)
            }),
        ),
    ];
    for (extension, make) in make {
        let root = outer.path().join(extension);
        let options =
            FolderOptions { extension: extension.to_owned(), bytes_per_file: Some(1), ..by("key") };
        let mut sink = Box::new(FolderSink::new(local(&root), &schema(), options, make).unwrap());
        sink.write(&batch(0..9, 2)).unwrap();
        sink.finish().unwrap();
        let name = format!("key=k%2F1/part-00000.{extension}");
        let bytes = fs::read(root.join(name)).unwrap();
        if extension == "jsonl" {
            assert_eq!(bytes, b"{\"n\":1}\n{\"n\":3}\n{\"n\":5}\n{\"n\":7}\n");
        }
    }
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("table");
    let open = |options: FolderOptions| {
        FolderSink::new(local(&root), &schema(), options, parquet(ParquetOptions::default())).err()
    };
    assert!(open(by("missing")).unwrap().to_string().contains("no such column"));
    assert!(open(by("day(n)")).unwrap().to_string().contains("needs a date"));
    assert!(open(by("key,key")).unwrap().to_string().contains("already"));
    assert!(open(by("key,n")).unwrap().to_string().contains("no column is left"));
    assert!(open(FolderOptions { rows_per_file: Some(0), ..by("") }).is_some());
    let times = Schema::new(vec![
        Field::new("t", DataType::Date32, true),
        Field::new("t_day", DataType::Int64, true),
    ]);
    let make = parquet(ParquetOptions::default());
    let both = FolderSink::new(local(&root), &Arc::new(times), by("day(t)"), make).err().unwrap();
    assert!(both.to_string().contains("t_day: is a column of the files and"), "{both}");
    let file = outer.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(LocalFolder::new(&file, true, false).is_err());
}
