// SPDX-License-Identifier: Apache-2.0
//! Tests of the spool: order, bound, restart, and ends that were torn at every place.

use std::fs;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrowsmith_publish::{Message, Origin};

use super::*;
use crate::disk;

fn message(sequence: u64) -> Message {
    let first = i64::try_from(sequence).unwrap();
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + 10));
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    let origins = vec![Origin { connection: 3, first: 1, last: 10, rows: 10 }];
    Message { origins, key: Some("k".into()), ..Message::new("s", sequence, batch) }
}

fn open(folder: &Path, bytes_max: u64) -> io::Result<Spool> {
    Spool::open(disk::system(), folder, bytes_max)
}

fn add(spool: &mut Spool, sequence: u64) {
    spool.append(&message(sequence)).unwrap();
    spool.commit(true).unwrap();
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
    let mut spool = open(folder.path(), 1 << 20).unwrap();
    for number in 0..5 {
        add(&mut spool, number);
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
    add(&mut spool, 9);
    assert_eq!(drain(&mut spool), [9]);
    assert!(open(folder.path(), 1).is_err(), "it is locked");
}

/// What is written to a file without a name would be lost with the process.
#[test]
#[cfg(unix)]
fn a_segment_that_was_removed_takes_no_more() {
    for durable in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = open(folder.path(), 1 << 20).unwrap();
        spool.append(&message(0)).unwrap();
        spool.commit(durable).unwrap();
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let segments: Vec<_> =
            names.filter(|name| name.to_string_lossy().ends_with(".spool")).collect();
        assert_eq!(segments.len(), 1);
        fs::remove_file(&segments[0]).unwrap();
        spool.append(&message(1)).unwrap();
        assert_eq!(spool.commit(durable).unwrap_err().kind(), io::ErrorKind::NotFound);
        if durable {
            // Nothing of the old one is in doubt: there is another.
            add(&mut spool, 2);
            drop(spool);
            assert_eq!(drain(&mut open(folder.path(), 1 << 20).unwrap()), [2]);
        } else {
            assert!(spool.append(&message(2)).is_err());
        }
    }
}

#[test]
fn it_goes_on_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..4 {
        let mut spool = open(folder.path(), 1 << 20).unwrap();
        assert_eq!(spool.rows(), round * 10);
        add(&mut spool, 2 * round);
        add(&mut spool, 2 * round + 1);
        let (message, place) = spool.next().unwrap().unwrap();
        assert_eq!(message.sequence, round);
        spool.finish(place, 10).unwrap();
    }
}

#[test]
fn it_is_bounded_and_frees_what_is_published() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = open(folder.path(), 3000).unwrap();
    let mut number = 0;
    while !spool.is_full() {
        add(&mut spool, number);
        number += 1;
    }
    assert!((2..20).contains(&number));
    drop(spool);
    let mut spool = open(folder.path(), 3000).unwrap();
    assert!(spool.is_full());
    drain(&mut spool);
    assert_eq!((spool.bytes(), spool.is_full()), (0, false));
}

#[test]
fn a_torn_end_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = open(folder.path(), 1 << 20).unwrap();
    let mut ends = Vec::new();
    for number in 0..3 {
        add(&mut spool, number);
        ends.push(spool.bytes());
    }
    let path = spool.path(1);
    let bytes = fs::read(&path).unwrap();
    drop(spool);
    for len in (0..bytes.len()).step_by(11) {
        fs::write(&path, &bytes[..len]).unwrap();
        let mut spool = open(folder.path(), 1 << 20).unwrap();
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
    let mut spool = open(folder.path(), 1 << 20).unwrap();
    assert_eq!(spool.rows(), 20, "what follows an entry with a wrong checksum is there");
    assert_eq!(spool.damaged_bytes(), ends[1] - ends[0]);
    assert_eq!(drain(&mut spool), [0, 2]);
}

#[test]
fn damage_is_skipped_wherever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = open(folder.path(), 1 << 20).unwrap();
    let mut ends = vec![0];
    for number in 0..4 {
        add(&mut spool, number);
        ends.push(spool.bytes());
    }
    let path = spool.path(1);
    let bytes = fs::read(&path).unwrap();
    drop(spool);
    for at in (0..bytes.len()).step_by(13) {
        let mut broken = bytes.clone();
        broken[at] ^= 0x55;
        let hit = ends.iter().filter(|&&end| end <= at as u64).count() as u64 - 1;
        let wanted: Vec<u64> = (0..4).filter(|number| *number != hit).collect();
        // At the start, and while it is open.
        fs::write(&path, &broken).unwrap();
        let mut spool = open(folder.path(), 1 << 20).unwrap();
        assert_eq!(spool.rows(), 30, "damage at {at}");
        let numbers = std::iter::from_fn(|| spool.next().unwrap());
        assert_eq!(numbers.map(|(message, _)| message.sequence).collect::<Vec<_>>(), wanted);
        drop(spool);
        fs::write(&path, &bytes).unwrap();
        let mut spool = open(folder.path(), 1 << 20).unwrap();
        fs::write(&path, &broken).unwrap();
        let numbers = std::iter::from_fn(|| spool.next().unwrap());
        assert_eq!(numbers.map(|(message, _)| message.sequence).collect::<Vec<_>>(), wanted);
        assert!(!spool.is_empty());
        spool.finish_all().unwrap();
        assert!(spool.is_empty());
        drop(spool);
        for name in ["place", "000000000001.damaged"] {
            drop(fs::remove_file(folder.path().join(name)));
        }
    }
}

#[test]
fn a_place_that_is_torn_or_nonsense_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = open(folder.path(), 1 << 20).unwrap();
    (0..3).for_each(|number| add(&mut spool, number));
    let (_, place) = spool.next().unwrap().unwrap();
    spool.finish(place, 10).unwrap();
    drop(spool);
    let text = fs::read_to_string(folder.path().join("place")).unwrap();
    for wrong in ["", "9", "9 0", "9 0 00000000\n", &text[..text.len() - 1], "\0\0\0"] {
        fs::write(folder.path().join("place"), wrong).unwrap();
        let mut spool = open(folder.path(), 1 << 20).unwrap();
        assert_eq!(spool.rows(), 30, "{wrong:?}");
        assert_eq!(spool.next().unwrap().unwrap().0.sequence, 0);
    }
    // In the middle of an entry, as an older version might have left it: that entry comes again.
    fs::write(folder.path().join("place"), "1 50\n").unwrap();
    assert_eq!(open(folder.path(), 1 << 20).unwrap().rows(), 30);
    fs::write(folder.path().join("place"), &text).unwrap();
    let mut spool = open(folder.path(), 1 << 20).unwrap();
    assert_eq!(drain(&mut spool), [1, 2]);
}

#[test]
fn what_is_published_leaves_room_also_in_a_small_spool() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = open(folder.path(), 4000).unwrap();
    for round in 0..20 {
        let mut added = 0;
        while !spool.is_full() {
            add(&mut spool, round * 100 + added);
            added += 1;
        }
        assert!(added > 0, "it is full of what is published, in round {round}");
        assert_eq!(drain(&mut spool).len() as u64, added);
    }
}

#[test]
fn a_start_makes_room_of_what_was_published_before() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = open(folder.path(), 1 << 20).unwrap();
    for number in 0..10 {
        add(&mut spool, number);
    }
    let segment = folder.path().join("000000000001.spool");
    let bytes = fs::read(&segment).unwrap();
    drain(&mut spool);
    drop(spool);
    // A process that ended before it removed the segment, or that wrote more to it.
    for (content, place) in
        [(&bytes[..], format!("1 {}\n", bytes.len())), (&[7; 9000], "\n".into())]
    {
        fs::write(&segment, content).unwrap();
        fs::write(folder.path().join("place"), place).unwrap();
        let mut spool = open(folder.path(), 1000).unwrap();
        assert!(spool.is_empty() && !spool.is_full() && !segment.exists());
        add(&mut spool, 10);
        assert_eq!(drain(&mut spool), [10]);
        drop(spool);
    }
}
