// SPDX-License-Identifier: Apache-2.0
//! The conformance suite of Parquet over the engine, on every instruction set.

use arrowsmith_testkit::scale;

use crate::contract::each_level;

/// Seeds to try: `ARROWSMITH_SEEDS` has another number.
fn seeds(usual: u64) -> u64 {
    scale::number("ARROWSMITH_SEEDS", usual, 40_000)
}

#[test]
fn random_files_are_read_as_the_parquet_crate_reads_them() {
    for seed in 0..seeds(200) {
        each_level(|suite| suite.random_file(seed));
    }
}

#[test]
fn broken_files_get_a_sound_answer() {
    for seed in 0..seeds(800) {
        each_level(|suite| suite.broken_file(seed));
    }
}

#[test]
fn files_of_others_are_read_as_the_parquet_crate_reads_them() {
    each_level(|suite| suite.files_of_others());
}
