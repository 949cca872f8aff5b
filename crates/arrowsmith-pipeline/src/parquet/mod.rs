// SPDX-License-Identifier: Apache-2.0
//! Parquet files to record batches: row groups and columns decoded by several threads, in the order
//! of the files, in bounded memory.
//!
//! [`ParquetPipeline`] takes files ([`DataFile`]), columns and a condition; [`ParquetBatches`]
//! returns the batches. The work is split twice: along rows into *portions* (a row group, or a part
//! of a large one) and along columns into *fields*; each field of a portion is decoded by one
//! thread at a time, batch by batch. Engines do the decoding.
//!
//! - `input`: a file, mapped, in memory or remote.
//! - `prepare`: the types of a file's columns, and the engine of each.
//! - `conform`: a column as the type of the batches.
//! - `late`: the columns that the first file lacks.
//! - `table`: the columns of a table's schema that are requested.
//! - `cursor`: the portions, in order; row groups that cannot match are skipped.
//! - `portion`: the condition, exactly, a `window` of rows at a time; then the fields.
//! - `field`: one column's batches.
//! - `in_flight`: a portion whose fields are being decoded.
//! - `schedule`: the next job; `run`: threads, and the consumer.

mod builder;
mod conform;
mod cursor;
mod explain;
mod field;
mod in_flight;
mod input;
mod late;
mod portion;
mod prepare;
mod run;
mod schedule;
mod table;
mod window;

pub use arrowsmith_parquet as format;
pub use arrowsmith_source::DataFile;
pub use builder::ParquetPipeline;
pub use conform::{conform_batch, misfit};
pub use explain::{ColumnNote, ColumnSource, Explanation};
pub use input::open_file;
pub use late::{LateColumns, union_schema};
pub use run::ParquetBatches;

#[cfg(test)]
mod tests;
