// SPDX-License-Identifier: Apache-2.0
//! See [`arrowsmith_fuzz::growth::json_growth`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| arrowsmith_fuzz::budget::run(
    arrowsmith_fuzz::growth::json_growth,
    data
));
