// SPDX-License-Identifier: Apache-2.0
//! What the writer writes, read by others. One program for all tests of the crate.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    reason = "a test that cannot go on fails"
)]

mod bloom;
mod corpora;
mod faults;
mod indexes;
mod random;
mod readers;
mod settings;
mod wider;
