// SPDX-License-Identifier: Apache-2.0
//! Sources of bytes: files, globs, standard input, memory, and objects in stores (feature
//! `store`); plain or compressed; and the files of Iceberg tables (feature `iceberg`).
//!
//! The first step of source → plan → engine → batch → sink. An [`Input`] describes what to read;
//! opening it gives a [`Source`] whose [`Content`] is either whole (mapped or in memory, zero-copy)
//! or a stream. This crate knows no format of rows: it never examines the bytes beyond the magic
//! number of a compression.
//!
//! ```
//! use arrowsmith_source::{Content, Input, OpenOptions};
//!
//! let source = Input::bytes(b"{\"a\":1}\n".to_vec()).open(&OpenOptions::default())?;
//! let Content::Whole(bytes) = source.content else { unreachable!() };
//! assert_eq!((*bytes).as_ref(), b"{\"a\":1}\n");
//! # Ok::<(), arrowsmith_core::Error>(())
//! ```

#![deny(unsafe_code)]

mod compression;
mod dataset;
pub mod deletion_vector;
mod expand;
#[expect(unsafe_code, reason = "maps of files, and reads into uninitialised memory")]
mod file;
mod gzip;
#[cfg(feature = "iceberg")]
pub mod iceberg;
mod open;
mod range;
mod ranged;
mod read_ahead;
mod spool;
#[cfg(feature = "store")]
pub mod store;

pub use compression::Compression;
pub use dataset::{DataFile, expand_dataset, expand_datasets, partitions_of, without_scheme};
pub use expand::{expand, expand_all};
pub use file::{FileMap, FileReader};
pub use open::{Content, Input, OpenOptions, SharedBytes, Source};
pub use range::ByteRange;
pub use ranged::Ranged;
pub use spool::{Spool, Spooled, temporary_file};

#[cfg(test)]
mod tests;
