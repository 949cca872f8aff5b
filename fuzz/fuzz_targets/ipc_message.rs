// SPDX-License-Identifier: Apache-2.0
//! See [`arrowsmith_fuzz::flight::messages`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| arrowsmith_fuzz::budget::run(
    arrowsmith_fuzz::flight::messages,
    data
));
