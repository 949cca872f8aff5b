// SPDX-License-Identifier: Apache-2.0
//! Tests of the directory: rolling, naming, and parts that were left torn at every place.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrowsmith_message::StageTimes;
use futures_util::FutureExt;

use super::*;

fn message(sequence: u64, values: std::ops::Range<i64>) -> Message {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(values));
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    Message {
        stream: "s".into(),
        schema: batch.schema(),
        batch,
        payload: bytes::Bytes::new(),
        sequence,
        origins: Vec::new(),
        key: None,
        received_at: SystemTime::now(),
        times: StageTimes::begin(Instant::now()),
    }
}

fn now_or<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().unwrap()
}

fn open(options: &DirectoryOptions) -> Directory {
    Directory::open(options.clone(), "s", message(0, 0..1).schema).unwrap()
}

fn files(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(".lock"))
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
    assert!(Directory::open(options.clone(), "s", message(0, 0..1).schema).is_err());
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
    let name = files(folder.path()).remove(0);
    let bytes = fs::read(folder.path().join(&name)).unwrap();
    // As `kill -9` leaves it: nothing of ours runs any more.
    std::mem::forget(sink);
    for len in (0..=bytes.len()).step_by(7).chain([bytes.len()]) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(&name), &bytes[..len]).unwrap();
        let options = DirectoryOptions::new(folder.path());
        open(&options);
        let batches = whole.iter().filter(|&&end| end <= len as u64).count();
        assert_eq!(values(folder.path()).len(), batches * 100, "cut at {len}");
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
