// SPDX-License-Identifier: Apache-2.0
//! The integration tests of this crate in one program, to link once: `cargo test -p
//! arrowsmith-graph --test suite layout::` runs those of a module.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod columns;
mod compile;
mod containers;
mod evolution;
mod layout;
mod programs;
mod types;
mod wire;
