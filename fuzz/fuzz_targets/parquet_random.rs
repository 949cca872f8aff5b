// SPDX-License-Identifier: Apache-2.0
//! See [`arrowsmith_fuzz::parquet_reader::parquet_random`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| arrowsmith_fuzz::budget::run(
    arrowsmith_fuzz::parquet_reader::parquet_random,
    data
));
