// SPDX-License-Identifier: Apache-2.0
//! The integration tests of this crate, one program for all of them, as each would be linked by
//! itself otherwise: `cargo test -p arrowsmith-json --test suite frame::` runs those of a module.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod beside;
mod envelope;
mod frame;
mod infer;
mod kinds;
mod rescue;
