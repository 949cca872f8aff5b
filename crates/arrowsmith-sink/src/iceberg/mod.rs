// SPDX-License-Identifier: Apache-2.0
//! Iceberg tables: Parquet files in folders, and metadata that says which of them are the table.
//!
//! By the [specification](https://iceberg.apache.org/spec/), version 2, and not by the crate
//! `iceberg`, which is on another version of Arrow. Tables are those of a file system or a store
//! without a catalog ("file system tables", as Hadoop's catalog has them): a commit is a file
//! `metadata/v7.metadata.json`, which is created only if no other writer has created it. Readers
//! see all rows of a sink or none, and several writers may append at the same time. A table of
//! another catalog is refused, since only that can commit to it. Reading is in
//! [`arrowsmith_source::iceberg`].

mod avro;
mod manifest;
mod metadata;
mod partition;
mod schema;
mod sink;
#[cfg(test)]
mod tests;

pub use self::metadata::Table;
pub use self::sink::IcebergSink;

/// The folder of the metadata.
pub const METADATA: &str = "metadata";

/// How the names of files of metadata end.
pub(crate) const METADATA_END: &str = ".metadata.json";
