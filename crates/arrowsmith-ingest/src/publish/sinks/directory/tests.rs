// SPDX-License-Identifier: Apache-2.0
//! Tests of the directory: rolling, naming, and parts that were left torn at every place.

use std::fs::{self, File};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, TimestampSecondArray};
use arrow_ipc::reader::FileReader;
use futures_util::FutureExt;

use super::*;
use crate::disk;

fn message(sequence: u64, values: std::ops::Range<i64>) -> Message {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    Message::new("s", sequence, batch)
}

fn now_or<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().unwrap()
}

fn open(options: &DirectoryOptions) -> Directory {
    Directory::open(disk::system(), options.clone(), "s").unwrap()
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
    assert!(Directory::open(disk::system(), options.clone(), "s").is_err());
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
