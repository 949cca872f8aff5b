// SPDX-License-Identifier: Apache-2.0
//! Parquet to record batches: a reader, an async stream, conditions, metadata, and tables
//! of such files.
//!
//! ```no_run
//! use arrowsmith::parquet::{EXTENSIONS, Predicate, ReaderBuilder};
//! use arrowsmith::{ParquetReadOptions, expand_dataset};
//!
//! // A folder with `year=2024/…` below it: `year` is a column.
//! let options = ParquetReadOptions {
//!     columns: Some(vec!["id".to_owned(), "year".to_owned()]),
//!     filter: Some(Predicate::parse("name = 'ada' and year >= 2024")?),
//!     ..ParquetReadOptions::default()
//! };
//! let reader = ReaderBuilder::new()
//!     .options(options)
//!     .open(expand_dataset("people", EXTENSIONS)?)?;
//! for batch in reader {
//!     println!("{} rows", batch?.num_rows());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod reader;
mod report;
#[cfg(feature = "tables")]
mod tables;

pub use arrowsmith_pipeline::parquet::format::{
    Column, ColumnMapping, Columns, Comparison, File, Leaf, ListForm, Literal, Pages, Predicate,
    ReadOptions, ReadPlan, RowSelection, StringForm, page_locations,
};
pub use arrowsmith_pipeline::parquet::{
    ColumnNote, ColumnSource, Explanation, LateColumns, open_file,
};
pub use reader::{ParquetReader, ReaderBuilder};
pub use report::{ChunkReport, ColumnReport, FileReport, PageReport, RowGroupReport, describe};
#[cfg(feature = "tables")]
pub use tables::{Table, TableFormat};

pub use crate::stream::BatchStream;

/// Names that Parquet files end in, without the dot: what is read of a folder.
pub const EXTENSIONS: &[&str] = &["parquet", "parq", "pq"];

#[cfg(test)]
mod tests;
