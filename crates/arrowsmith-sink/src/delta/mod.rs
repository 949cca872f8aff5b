// SPDX-License-Identifier: Apache-2.0
//! Delta tables: Parquet files in folders, and a log that says which of them are the table.
//!
//! By the [specification](https://github.com/delta-io/delta/blob/master/PROTOCOL.md), not by its
//! Rust crates: these are on other versions of Arrow and of `object_store`. [`Table`] replays the
//! log, [`DeltaSink`] adds files to a table, or creates one. What is added is visible by a single
//! file of the log, which is created only if no other writer has created it: readers see all rows
//! of a sink or none, and several writers may append at the same time. A table with a feature that
//! is not known here is refused.

mod actions;
mod checkpoint;
mod deletions;
mod log;
mod names;
mod schema;
mod sink;
mod statistics;
#[cfg(test)]
mod tests;

pub use self::log::{Table, TableFile};
pub use self::sink::DeltaSink;

/// The folder of the log.
pub const LOG: &str = "_delta_log";
