// SPDX-License-Identifier: Apache-2.0
//! Arrow record batches → Parquet files.
//!
//! [`ParquetWriter`] writes what the reader of `arrowsmith-parquet` reads: all Arrow types but
//! unions and run-end encoding, nested to any depth. The encoding of each column chunk is chosen by
//! a sample of its values; columns are encoded, and pages compressed, by several threads. The
//! schema's mapping and the footer are those of the `parquet` crate.

#![forbid(unsafe_code)]

mod bloom;
mod choose;
mod chunk;
mod column;
mod compress;
mod dense;
mod dictionary;
mod encoding;
mod levels;
mod number;
mod options;
mod pack;
mod pool;
mod rle;
mod schema;
mod statistics;
mod thrift;
mod variant;
mod writer;

pub use options::{Choice, Codec, Encoding, Options, PageVersion, SortedBy};
pub use pool::Workers;
pub use schema::{check, parquet_schema, stored};
pub use writer::{ParquetWriter, Summary};
