// SPDX-License-Identifier: Apache-2.0
//! The conformance suite of Parquet over the engine, on every instruction set.

use arrowsmith_testkit::scale;

use crate::contract::{by_turns, each_level};

/// Seeds to try: `ARROWSMITH_SEEDS` has another number.
fn seeds(usual: u64) -> u64 {
    scale::number("ARROWSMITH_SEEDS", usual, 40_000)
}

#[test]
fn random_files_are_read_as_the_parquet_crate_reads_them() {
    for seed in 0..seeds(300) {
        by_turns(seed, |suite| suite.random_file(seed));
    }
}

#[test]
fn broken_files_get_a_sound_answer() {
    for seed in 0..seeds(1_200) {
        by_turns(seed, |suite| suite.broken_file(seed));
    }
}

#[test]
fn files_of_others_are_read_as_the_parquet_crate_reads_them() {
    // The tests of the library read all of them.
    each_level(|suite| suite.sampled(4).files_of_others());
}
