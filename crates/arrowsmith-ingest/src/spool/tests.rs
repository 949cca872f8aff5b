// SPDX-License-Identifier: Apache-2.0
//! Tests of the spool: order, bound, restart, and ends that were torn at every place.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrowsmith_message::{Origin, StageTimes};

use super::*;

fn message(sequence: u64) -> Message {
    let first = i64::try_from(sequence).unwrap();
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + 10));
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    Message {
        stream: "s".into(),
        schema: batch.schema(),
        batch,
        payload: bytes::Bytes::new(),
        sequence,
        origins: vec![Origin { connection: 3, first: 1, last: 10, rows: 10 }],
        key: Some("k".into()),
        received_at: SystemTime::now(),
        times: StageTimes::begin(Instant::now()),
    }
}

fn drain(spool: &mut Spool) -> Vec<u64> {
    let mut numbers = Vec::new();
    while let Some((message, place)) = spool.next().unwrap() {
        numbers.push(message.sequence);
        spool.finish(place, message.rows() as u64).unwrap();
    }
    numbers
}

#[test]
fn what_goes_in_comes_out_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
    for number in 0..5 {
        spool.append(&message(number)).unwrap();
    }
    assert_eq!(spool.rows(), 50);
    let (first, _) = spool.next().unwrap().unwrap();
    let wanted = message(0);
    assert_eq!(
        (&first.batch, &first.origins, &first.key),
        (&wanted.batch, &wanted.origins, &wanted.key)
    );
    spool.next().unwrap();
    spool.rewind();
    assert_eq!(drain(&mut spool), [0, 1, 2, 3, 4]);
    assert!(spool.is_empty());
    spool.append(&message(9)).unwrap();
    assert_eq!(drain(&mut spool), [9]);
    assert!(Spool::open(folder.path(), 1).is_err(), "it is locked");
}

#[test]
fn it_goes_on_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..4 {
        let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
        assert_eq!(spool.rows(), round * 10);
        spool.append(&message(2 * round)).unwrap();
        spool.append(&message(2 * round + 1)).unwrap();
        let (message, place) = spool.next().unwrap().unwrap();
        assert_eq!(message.sequence, round);
        spool.finish(place, 10).unwrap();
    }
}

#[test]
fn it_is_bounded_and_frees_what_is_published() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), 3000).unwrap();
    let mut number = 0;
    while !spool.is_full() {
        spool.append(&message(number)).unwrap();
        number += 1;
    }
    assert!((2..20).contains(&number));
    drop(spool);
    let mut spool = Spool::open(folder.path(), 3000).unwrap();
    assert!(spool.is_full());
    drain(&mut spool);
    assert_eq!((spool.bytes(), spool.is_full()), (0, false));
}

#[test]
fn a_torn_end_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
    let mut ends = Vec::new();
    for number in 0..3 {
        spool.append(&message(number)).unwrap();
        ends.push(spool.bytes());
    }
    let path = spool.path(1);
    let bytes = fs::read(&path).unwrap();
    drop(spool);
    for len in (0..bytes.len()).step_by(11) {
        fs::write(&path, &bytes[..len]).unwrap();
        let mut spool = Spool::open(folder.path(), 1 << 20).unwrap();
        let whole = ends.iter().filter(|&&end| end <= len as u64).count() as u64;
        assert_eq!(spool.rows(), whole * 10, "cut at {len}");
        let mut numbers = Vec::new();
        while let Some((message, _)) = spool.next().unwrap() {
            numbers.push(message.sequence);
        }
        assert_eq!(numbers, (0..whole).collect::<Vec<_>>());
    }
    let mut flipped = bytes.clone();
    let at = usize::try_from(ends[0]).unwrap() + 200;
    flipped[at] ^= 1;
    fs::write(&path, &flipped).unwrap();
    assert_eq!(Spool::open(folder.path(), 1).unwrap().rows(), 10, "a checksum that does not fit");
}
