// SPDX-License-Identifier: Apache-2.0
//! The integration tests of this crate, one program for all of them: statements through a server,
//! as drivers send them.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod bounds;
mod common;
mod queries;
