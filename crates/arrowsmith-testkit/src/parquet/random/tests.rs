// SPDX-License-Identifier: Apache-2.0
//! The generator and the reference reader, compared with each other.

use std::collections::BTreeSet;

use super::*;
use crate::parquet::{Ask, ParquetRs, Reader, properties};
use crate::scale;

/// Seeds to try: `ARROWSMITH_SEEDS` of them, if that is set.
fn seeds(default: u64) -> std::ops::Range<u64> {
    0..scale::number("ARROWSMITH_SEEDS", default, 40_000)
}

#[test]
fn a_seed_gives_the_same_file_every_time() {
    for seed in 0..5 {
        assert_eq!(file(seed).bytes, file(seed).bytes);
    }
}

#[test]
fn the_reference_reads_what_was_written() {
    let (seeds, mut refused) = (seeds(200), 0);
    for seed in seeds.clone() {
        let RandomFile { bytes, rows, how } = file(seed);
        let read = ParquetRs.read(&bytes, &Ask::default()).and_then(|rows| rows.concat());
        if read.as_ref().is_err_and(|error| ParquetRs::refuses_sound_file(error)) {
            refused += 1;
            continue;
        }
        let read = read.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{how}"));
        assert_eq!(read.num_rows(), rows.num_rows(), "seed {seed}");
        // Without the Arrow schema in the file, types become those of Parquet.
        if how.contains("no-arrow-schema=false") {
            let difference = crate::parquet::difference(&read, &rows);
            assert_eq!(difference, None, "seed {seed} {how}");
        }
    }
    assert!(refused <= seeds.end / 100, "{refused} of {} files refused", seeds.end);
}

#[test]
fn the_reference_has_the_properties() {
    for seed in seeds(100) {
        properties::check_seed(&ParquetRs, seed).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn a_broken_file_breaks_nothing_here() {
    let mut answers = BTreeSet::new();
    for seed in seeds(100) {
        let bytes = crate::parquet::broken::broken_file(seed);
        answers.insert(ParquetRs.read(&bytes, &Ask::default()).is_ok());
    }
    assert_eq!(answers.len(), 2, "some can be read, and some cannot");
}
