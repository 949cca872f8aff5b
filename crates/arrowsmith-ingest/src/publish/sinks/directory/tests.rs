// SPDX-License-Identifier: Apache-2.0
//! Tests of the directory: rolling, naming, and parts that were left torn at every place.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, TimestampSecondArray};
use arrow_array::{ArrayRef, Date32Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::reader::FileReader;
use futures_util::FutureExt;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;

use super::*;
use crate::disk;
use crate::store::{self, Stores};
use crate::units::{Fsync, Size};

fn message(sequence: u64, values: std::ops::Range<i64>) -> Message {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    Message::new("s", sequence, batch)
}

fn now_or<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().unwrap()
}

fn storage() -> Storage {
    Storage { disk: disk::system(), stores: store::system(), waiting: Waiting::default() }
}

fn open(options: &DirectoryOptions) -> Directory {
    Directory::open(storage(), options.clone(), "s").unwrap()
}

fn files(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| ![".lock", ".done"].iter().any(|end| name.ends_with(end)))
        .collect();
    names.sort();
    names
}

fn values(path: &Path) -> Vec<i64> {
    let mut all = Vec::new();
    for name in files(path) {
        let reader = FileReader::try_new(File::open(path.join(name)).unwrap(), None).unwrap();
        for batch in reader {
            let batch = batch.unwrap();
            let column = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
            all.extend(column.values());
        }
    }
    all
}

#[test]
fn files_roll_by_size_and_appear_whole() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        DirectoryOptions { roll_bytes: Size(20_000), ..DirectoryOptions::new(folder.path()) };
    let mut sink = open(&options);
    for number in 0..8_u64 {
        let first = i64::try_from(number).unwrap() * 1000;
        now_or(now_or(sink.publish(&message(number, first..first + 1000))).unwrap()).unwrap();
    }
    now_or(Box::new(sink).close()).unwrap();
    assert_eq!(files(folder.path()).len(), 3);
    assert_eq!(values(folder.path()), (0..8000).collect::<Vec<_>>());
    assert!(files(folder.path()).iter().all(|name| name.ends_with(".arrow")));
}

#[test]
fn two_processes_do_not_share_a_stream() {
    let folder = tempfile::tempdir().unwrap();
    let options = DirectoryOptions::new(folder.path());
    let first = open(&options);
    assert!(Directory::open(storage(), options.clone(), "s").is_err());
    drop(first);
    open(&options);
}

#[test]
fn a_torn_part_is_completed_up_to_its_last_whole_batch() {
    let folder = tempfile::tempdir().unwrap();
    let options = DirectoryOptions::new(folder.path());
    let mut sink = open(&options);
    let mut whole = Vec::new();
    for number in 0..3 {
        drop(now_or(sink.publish(&message(number, 0..100))).unwrap());
        whole.push(sink.part.as_ref().unwrap().bytes());
    }
    let [note, name] = &files(folder.path())[..] else { panic!() };
    let bytes = fs::read(folder.path().join(name)).unwrap();
    let note_bytes = fs::read(folder.path().join(note)).unwrap();
    // As `kill -9` leaves it: nothing of ours runs any more.
    std::mem::forget(sink);
    for len in (0..=bytes.len()).step_by(7).chain([bytes.len()]) {
        // With the note; and without it, as earlier versions left a part.
        for noted in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(name), &bytes[..len]).unwrap();
            if noted {
                fs::write(folder.path().join(note), &note_bytes).unwrap();
            }
            let options =
                DirectoryOptions { fsync: Fsync::Never, ..DirectoryOptions::new(folder.path()) };
            open(&options);
            let batches = whole.iter().filter(|&&end| end <= len as u64).count();
            assert_eq!(values(folder.path()).len(), batches * 100, "cut at {len}, {noted}");
        }
    }
}

#[test]
fn parquet_is_made_of_the_part() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        DirectoryOptions { format: FileFormat::Parquet, ..DirectoryOptions::new(folder.path()) };
    let mut sink = open(&options);
    drop(now_or(sink.publish(&message(5, 0..100))).unwrap());
    now_or(Box::new(sink).close()).unwrap();
    let names = files(folder.path());
    assert_eq!(names, ["s-00000000000000000005.parquet"]);
    assert!(fs::read(folder.path().join(&names[0])).unwrap().starts_with(b"PAR1"));
}

/// A value that Parquet has no place for is refused when it comes, not when the file is made.
#[test]
fn what_parquet_cannot_hold_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        DirectoryOptions { format: FileFormat::Parquet, ..DirectoryOptions::new(folder.path()) };
    let mut sink = open(&options);
    for (sequence, seconds) in [(1, 5), (2, i64::MAX), (3, 6)] {
        let column: ArrayRef = Arc::new(TimestampSecondArray::from(vec![seconds]));
        let batch = RecordBatch::try_from_iter([("t", column)]).unwrap();
        let result = now_or(sink.publish(&Message::new("s", sequence, batch)));
        let refused = matches!(result, Err(PublishError::Refused(_)));
        assert_eq!(refused, seconds == i64::MAX);
    }
    now_or(Box::new(sink).close()).unwrap();
    assert_eq!(files(folder.path()), ["s-00000000000000000001.parquet"]);
}

#[test]
fn what_a_kill_at_a_roll_leaves_is_not_stored_twice() {
    for format in [FileFormat::Arrow, FileFormat::Parquet] {
        let folder = tempfile::tempdir().unwrap();
        let options = DirectoryOptions { format, ..DirectoryOptions::new(folder.path()) };
        let mut sink = open(&options);
        drop(now_or(sink.publish(&message(5, 0..100))).unwrap());
        let left: Vec<(String, Vec<u8>)> = files(folder.path())
            .into_iter()
            .map(|name| (name.clone(), fs::read(folder.path().join(name)).unwrap()))
            .collect();
        now_or(Box::new(sink).close()).unwrap();
        let made = files(folder.path());
        assert_eq!(made.len(), 1);
        let bytes = fs::read(folder.path().join(&made[0])).unwrap();
        // The part and its note are there again beside the file; or the part as versions without
        // notes left it.
        for names in [&left[..], &left[1..]] {
            for (name, bytes) in names {
                fs::write(folder.path().join(name), bytes).unwrap();
            }
            assert_eq!(open(&options).stored(), Some(5));
            assert_eq!(files(folder.path()), made, "{names:?}");
        }
        // Killed in between: the file is whole and has not got its name, and the part is still
        // there.
        fs::remove_file(folder.path().join(&made[0])).unwrap();
        for (name, bytes) in &left {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        let whole = left[1].0.replace(".part", ".whole");
        fs::write(folder.path().join(whole), &bytes).unwrap();
        drop(open(&options));
        assert_eq!(files(folder.path()), made);
        assert_eq!(fs::read(folder.path().join(&made[0])).unwrap(), bytes);
    }
}

#[test]
fn another_file_of_the_same_name_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let options = DirectoryOptions::new(folder.path());
    fs::write(folder.path().join("s-00000000000000000005.arrow"), "not ours").unwrap();
    let mut sink = open(&options);
    drop(now_or(sink.publish(&message(5, 0..100))).unwrap());
    now_or(Box::new(sink).close()).unwrap();
    let names = files(folder.path());
    assert_eq!(names, ["s-00000000000000000005-1.arrow", "s-00000000000000000005.arrow"]);
    assert_eq!(fs::read(folder.path().join(&names[1])).unwrap(), b"not ours");
}

/// Rows `values` with keys `k/N`, null for one of them.
fn keyed(sequence: u64, values: std::ops::Range<i64>, keys: i64) -> Message {
    let key = |n: i64| Some(n % keys).filter(|key| *key > 0).map(|key| format!("k/{key}"));
    let keys: StringArray = values.clone().map(key).collect();
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("key", Arc::new(keys) as ArrayRef, true),
        ("n", column, false),
    ]);
    Message::new("s", sequence, batch.unwrap())
}

fn partitioned(folder: &Path) -> DirectoryOptions {
    DirectoryOptions {
        format: FileFormat::Parquet,
        partition_by: vec!["key".parse().unwrap()],
        fsync: Fsync::Never,
        ..DirectoryOptions::new(folder)
    }
}

/// The column `n` of a Parquet file.
fn numbers(bytes: Vec<u8>) -> Vec<i64> {
    let reader = ParquetRecordBatchReader::try_new(bytes::Bytes::from(bytes), 1 << 20).unwrap();
    let column = |batch: RecordBatch| {
        let column = batch.column_by_name("n").unwrap();
        column.as_primitive::<Int64Type>().values().to_vec()
    };
    reader.flat_map(|batch| column(batch.unwrap())).collect()
}

/// The Parquet files below a folder by their paths, and their values.
fn below(folder: &Path) -> BTreeMap<String, Vec<i64>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let inner = below(&path).into_iter();
            found.extend(inner.map(|(below, values)| (format!("{name}/{below}"), values)));
        } else if !name.starts_with('.') {
            found.insert(name, numbers(fs::read(path).unwrap()));
        }
    }
    found
}

fn stored(sink: &mut Directory, message: &Message) {
    now_or(now_or(sink.publish(message)).unwrap()).unwrap();
}

#[test]
fn rows_are_in_the_folders_of_their_values() {
    let folder = tempfile::tempdir().unwrap();
    let mut sink = open(&partitioned(folder.path()));
    for number in 0..3 {
        let first = i64::try_from(number).unwrap() * 100;
        stored(&mut sink, &keyed(number, first..first + 100, 3));
    }
    now_or(Box::new(sink).close()).unwrap();
    let file = "s-00000000000000000000.parquet";
    let names = ["key=__HIVE_DEFAULT_PARTITION__", "key=k%2F1", "key=k%2F2"];
    let rest = |rest: i64| (0..300).filter(|n| n % 3 == rest).collect::<Vec<_>>();
    let expected = names.iter().zip(0..).map(|(name, at)| (format!("{name}/{file}"), rest(at)));
    assert_eq!(below(folder.path()), expected.collect());
    assert!(files(folder.path()).iter().all(|name| !name.starts_with('.')), "nothing is left");
}

/// Killed in every state between the part and the last file: each row is there once.
#[test]
fn what_a_kill_leaves_of_a_set_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let options = partitioned(folder.path());
    let mut sink = open(&options);
    stored(&mut sink, &keyed(5, 0..100, 3));
    let copy = |from: &Path, to: &Path| {
        for name in files(from) {
            fs::copy(from.join(&name), to.join(name)).unwrap();
        }
    };
    let before = tempfile::tempdir().unwrap();
    copy(folder.path(), before.path());
    now_or(Box::new(sink).close()).unwrap();
    let expected = below(folder.path());
    assert_eq!(expected.len(), 3);

    // The set as it is when its list appears, beside the part.
    let list = |paths: &[&String]| {
        let files = paths.iter().map(|path| serde_json::json!({"path": path, "bytes": 1}));
        serde_json::json!({"store": null, "files": files.collect::<Vec<_>>()}).to_string()
    };
    let paths: Vec<&String> = expected.keys().collect();
    let name = |end: &str| format!(".s-00000000000000000005.{end}");
    // For each: whether the list is there, and the part, and how many files have been named.
    let states = [(false, true), (true, true), (true, false)];
    for ((listed, part), named) in
        states.into_iter().flat_map(|state| (0..=3).map(move |named| (state, named)))
    {
        let named = if listed { named } else { 0 };
        let left = tempfile::tempdir().unwrap();
        if part {
            copy(before.path(), left.path());
        }
        for (number, path) in paths.iter().enumerate() {
            let to = if number < named {
                left.path().join(path)
            } else {
                left.path().join(name(&format!("{number}.file")))
            };
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(folder.path().join(path), to).unwrap();
        }
        if listed {
            fs::write(left.path().join(name("set")), list(&paths)).unwrap();
        } else {
            fs::write(left.path().join(name("set.tmp")), "{").unwrap();
        }
        // Also with other options than it was made with.
        for options in [partitioned(left.path()), DirectoryOptions::new(left.path())] {
            if !listed && options.partition_by.is_empty() {
                continue;
            }
            drop(open(&options));
            assert_eq!(below(left.path()), expected, "{listed} {part} {named}");
            let hidden: Vec<_> = files(left.path());
            assert!(hidden.iter().all(|name| !name.starts_with('.')), "{hidden:?}");
        }
    }
}

#[test]
fn too_many_folders_begin_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let options = DirectoryOptions { partitions_max: 4, ..partitioned(folder.path()) };
    let mut sink = open(&options);
    stored(&mut sink, &keyed(1, 0..100, 2));
    // Others, of which two are known.
    stored(&mut sink, &keyed(2, 0..100, 4));
    let column: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    let n: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let batch = RecordBatch::try_from_iter_with_nullable([("key", column, true), ("n", n, false)]);
    stored(&mut sink, &Message::new("s", 3, batch.unwrap()));
    // More than a file may have, alone.
    let refused = now_or(sink.publish(&keyed(4, 0..100, 5))).err();
    assert!(matches!(refused, Some(PublishError::Refused(_))), "{refused:?}");
    stored(&mut sink, &keyed(5, 0..4, 4));
    now_or(Box::new(sink).close()).unwrap();
    let found = below(folder.path());
    let of = |number: &str| found.keys().filter(|name| name.contains(number)).count();
    assert_eq!((of("-00000000000000000001."), of("-00000000000000000003.")), (4, 2));
    assert_eq!(found.values().flatten().count(), 206);
}

/// A value that no folder can be named after is refused when it comes, not when files are made.
#[test]
fn what_has_no_folder_is_refused_at_once() {
    let cases: [(ArrayRef, ArrayRef); 2] = [
        (
            Arc::new(StringArray::from(vec!["x".repeat(300)])),
            Arc::new(StringArray::from(vec!["x".repeat(200)])),
        ),
        (Arc::new(Date32Array::from(vec![i32::MAX])), Arc::new(Date32Array::from(vec![0]))),
    ];
    for (bad, good) in cases {
        let folder = tempfile::tempdir().unwrap();
        let mut sink = open(&partitioned(folder.path()));
        for (sequence, column) in [(1, &good), (2, &bad), (3, &good)] {
            let n: ArrayRef = Arc::new(Int64Array::from(vec![i64::try_from(sequence).unwrap()]));
            let batch = RecordBatch::try_from_iter([("key", Arc::clone(column)), ("n", n)]);
            let result = now_or(sink.publish(&Message::new("s", sequence, batch.unwrap())));
            let refused = matches!(result, Err(PublishError::Refused(_)));
            assert_eq!(refused, sequence == 2, "{:?}", column.data_type());
        }
        now_or(Box::new(sink).close()).unwrap();
        assert_eq!(below(folder.path()).into_values().collect::<Vec<_>>(), [[1, 3]]);
    }
}

/// What was stored before folders were configured is kept, without them.
#[test]
fn rows_that_have_no_folders_are_in_a_file_without() {
    let folder = tempfile::tempdir().unwrap();
    let plain = DirectoryOptions { partition_by: Vec::new(), ..partitioned(folder.path()) };
    let mut sink = open(&plain);
    stored(&mut sink, &message(7, 0..10));
    std::mem::forget(sink);
    // As another process finds it: the lock went with the one before.
    fs::remove_file(folder.path().join(".s.lock")).unwrap();
    let mut sink = open(&partitioned(folder.path()));
    let refused = now_or(sink.publish(&message(8, 0..10))).err();
    assert!(matches!(refused, Some(PublishError::Refused(_))), "{refused:?}");
    now_or(Box::new(sink).close()).unwrap();
    let name = "s-00000000000000000007.parquet".to_owned();
    assert_eq!(below(folder.path()), BTreeMap::from([(name, (0..10).collect())]));
}

/// Objects by prefix and name.
type Objects = BTreeMap<(String, String), Vec<u8>>;

/// A store in memory that fails at the next uploads.
#[derive(Debug, Default)]
struct Memory {
    objects: Mutex<Objects>,
    failing: Mutex<u32>,
}

impl Stores for Memory {
    fn put(&self, prefix: &str, name: &str, from: &mut dyn Read) -> io::Result<()> {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes)?;
        let mut failing = self.failing.lock().unwrap();
        if *failing > 0 {
            *failing -= 1;
            return Err(io::Error::other("away"));
        }
        self.objects.lock().unwrap().insert((prefix.to_owned(), name.to_owned()), bytes);
        Ok(())
    }
}

fn at_store(store: &Arc<Memory>) -> Storage {
    Storage { stores: Arc::clone(store) as Arc<dyn Stores>, ..storage() }
}

fn to_store(state: &Path) -> DirectoryOptions {
    let state = Some(state.to_owned());
    DirectoryOptions { state, ..partitioned(Path::new("s3://bucket/t")) }
}

/// The names and values of the objects below `s3://bucket/t`.
fn uploaded(store: &Memory) -> BTreeMap<String, Vec<i64>> {
    let objects = store.objects.lock().unwrap();
    let ours = objects.iter().map(|((prefix, name), bytes)| {
        assert_eq!(prefix, "s3://bucket/t");
        (name.clone(), numbers(bytes.clone()))
    });
    ours.collect()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[test]
fn parts_are_uploaded_to_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(Memory { failing: Mutex::new(1), ..Memory::default() });
    let storage = at_store(&store);
    let waiting = storage.waiting.clone();
    let mut sink = Directory::open(storage, to_store(folder.path()), "s").unwrap();
    stored(&mut sink, &keyed(5, 0..100, 3));
    assert_eq!((waiting.files(), store.objects.lock().unwrap().len()), (0, 0));
    block_on(Box::new(sink).close()).unwrap_or_else(|error| {
        // The failure was at the end: nothing is tried again then.
        assert!(error.to_string().contains("away"), "{error}");
    });
    let sink = Directory::open(at_store(&store), to_store(folder.path()), "s").unwrap();
    assert_eq!(sink.stored(), Some(5));
    block_on(Box::new(sink).close()).unwrap();
    let found = uploaded(&store);
    assert_eq!(found.len(), 3);
    assert!(found.contains_key("key=k%2F1/s-00000000000000000005.parquet"), "{found:?}");
    assert_eq!(found.values().flatten().count(), 100);
    assert!(files(folder.path()).is_empty(), "{:?}", files(folder.path()));
}

/// A store that is away does not stop the sink, until as much waits as may.
#[test]
fn what_waits_for_a_store_is_bounded_and_uploaded_later() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(Memory { failing: Mutex::new(u32::MAX), ..Memory::default() });
    let options = DirectoryOptions {
        roll_bytes: Size(1),
        state_bytes: Size(20_000),
        ..to_store(folder.path())
    };
    let storage = at_store(&store);
    let waiting = storage.waiting.clone();
    let mut sink = Directory::open(storage, options.clone(), "s").unwrap();
    let mut sent = 0;
    let error = loop {
        let first = i64::try_from(sent).unwrap() * 100;
        match now_or(sink.publish(&keyed(sent, first..first + 100, 3))) {
            Ok(_) => sent += 1,
            Err(error) => break error,
        }
        assert!(sent < 100_000, "there is no bound");
    };
    assert!(matches!(error, PublishError::Retry { .. }), "{error}");
    assert!(error.to_string().contains("wait to be uploaded"), "{error}");
    assert!(waiting.bytes() >= 20_000 && waiting.files() >= 3);
    let error = block_on(Box::new(sink).close()).unwrap_err().to_string();
    assert!(error.contains("away") && error.contains("files wait in"), "{error}");

    *store.failing.lock().unwrap() = 0;
    let storage = at_store(&store);
    let waiting = storage.waiting.clone();
    // With another prefix: what is left goes where it was to go.
    let other = DirectoryOptions { path: "s3://bucket/u".into(), ..options };
    let sink = Directory::open(storage, other, "s").unwrap();
    block_on(Box::new(sink).close()).unwrap();
    assert_eq!((waiting.files(), waiting.bytes()), (0, 0));
    let mut found: Vec<i64> = uploaded(&store).into_values().flatten().collect();
    found.sort_unstable();
    assert_eq!(found, (0..i64::try_from(sent).unwrap() * 100).collect::<Vec<_>>());
}
