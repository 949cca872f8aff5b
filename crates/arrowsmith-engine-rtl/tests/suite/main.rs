// SPDX-License-Identifier: Apache-2.0
//! The integration tests of this crate in one program, to link once: `cargo test -p
//! arrowsmith-engine-rtl --test suite graph::` runs those of a module.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod graph;
mod json;
mod json_bench;
mod json_scalars;
mod json_support;
mod parquet_columns;
mod parquet_corpora;
mod parquet_support;
mod registers;
mod shells;
mod support;
