// SPDX-License-Identifier: Apache-2.0
//! Parquet files to record batches: row groups and columns decoded by several threads, in the order
//! of the files, in bounded memory.
//!
//! [`ParquetPipeline`] takes files ([`DataFile`]), what is to be read of them, and a condition;
//! [`ParquetBatches`] gives the batches. The work is cut twice: along rows into *portions* (a row
//! group, or a part of a large one) and along columns into *fields*; each field of a portion is
//! decoded by one thread at a time, a batch at a time. Decoding itself is the engines'.
//!
//! - `input`: a file, mapped, in memory or remote.
//! - `prepare`: what a file's columns become, and which engine decodes each.
//! - `partition`: values that come from folders' names.
//! - `cursor`: the portions, in order; row groups that cannot match are left out.
//! - `portion`: the condition, exactly, a `window` of rows at a time; then the fields.
//! - `field`: one column's batches.
//! - `in_flight`: a portion whose fields are being decoded.
//! - `schedule`: what to do next; `run`: threads, and the consumer.

mod builder;
mod cursor;
mod explain;
mod field;
mod in_flight;
mod input;
mod partition;
mod portion;
mod prepare;
mod run;
mod schedule;
mod window;

pub use arrowsmith_parquet as format;
pub use arrowsmith_source::DataFile;
pub use builder::ParquetPipeline;
pub use explain::{ColumnNote, ColumnSource, Explanation};
pub use input::open_file;
pub use run::ParquetBatches;

#[cfg(test)]
mod tests;
