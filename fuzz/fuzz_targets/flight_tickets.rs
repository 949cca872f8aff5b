// SPDX-License-Identifier: Apache-2.0
//! Tickets and descriptors that clients made up.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| arrowsmith_fuzz::budget::run(arrowsmith_fuzz::flight::tickets, data));
