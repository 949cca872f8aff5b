// SPDX-License-Identifier: Apache-2.0
//! Forged tickets and descriptors.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| arrowsmith_fuzz::budget::run(arrowsmith_fuzz::flight::tickets, data));
