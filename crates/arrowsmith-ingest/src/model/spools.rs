// SPDX-License-Identifier: Apache-2.0
//! What a spool keeps through a failed sync, the end of the process and a loss of power, one after
//! the other. A seed of the whole model comes here once in ten thousand.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrowsmith_publish::Message;

use super::disk::SimulatedDisk;
use super::simulated::Chance;
use crate::disk::Disk;
use crate::spool::Spool;

fn message(sequence: u64, value: u64) -> Message {
    // Long enough for several pages.
    let column: ArrayRef = Arc::new(UInt64Array::from(vec![value; 100]));
    Message::new("s", sequence, RecordBatch::try_from_iter([("n", column)]).unwrap())
}

fn open(disk: &SimulatedDisk) -> Spool {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Spool::open(disk, Path::new("/spool"), 1 << 20).unwrap()
}

/// Whether the message is in the spool.
fn add(spool: &mut Spool, sequence: u64, value: u64) -> bool {
    spool.append(&message(sequence, value)).is_ok() && spool.commit(true).is_ok()
}

#[test]
fn what_a_failed_sync_left_does_not_take_the_place_of_what_is_acknowledged() {
    let mut reused = 0;
    for seed in 0..3000 {
        let disk = SimulatedDisk::new(Chance::new(seed));
        let mut spool = open(&disk);
        assert!(add(&mut spool, 1, 1));
        disk.set(0, true, None);
        let is_kept = add(&mut spool, 2, 2);
        drop(spool);
        disk.set(0, false, None);
        disk.restart(false);

        // The number of what was neither acknowledged nor found is given to another message.
        let mut spool = open(&disk);
        if is_kept || spool.last_sequence() > 1 {
            continue;
        }
        assert!(add(&mut spool, 2, 3));
        drop(spool);
        disk.restart(true);

        let mut spool = open(&disk);
        let mut values = Vec::new();
        while let Some((message, _)) = spool.next().unwrap() {
            values.push(message.batch.column(0).as_primitive::<UInt64Type>().value(0));
        }
        assert_eq!(values, [1, 3], "seed {seed}");
        reused += 1;
    }
    assert!(reused > 100, "a sync fails once in ten: {reused}");
}
