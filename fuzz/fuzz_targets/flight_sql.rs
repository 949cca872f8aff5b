// SPDX-License-Identifier: Apache-2.0
//! See [`arrowsmith_fuzz::sql::statements`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| arrowsmith_fuzz::budget::run(
    arrowsmith_fuzz::sql::statements,
    data
));
