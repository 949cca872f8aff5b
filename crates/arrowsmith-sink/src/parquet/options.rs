// SPDX-License-Identifier: Apache-2.0
//! [`ParquetOptions`]: how a Parquet file is written, and by whom.

use std::str::FromStr;

use arrowsmith_core::{Error, Result};
pub use arrowsmith_parquet_writer::{Choice, Codec, SortedBy, Workers};

/// Maximum number of threads of a file; more would have nothing to do.
const THREADS_MAX: usize = 256;

/// Who encodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Writer {
    /// `arrowsmith-parquet-writer`: encodings chosen from the data, several threads.
    #[default]
    Arrowsmith,
    /// The writer of the `parquet` crate, on one thread: what ours is compared with.
    Reference,
}

impl FromStr for Writer {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "arrowsmith" => Ok(Self::Arrowsmith),
            "reference" => Ok(Self::Reference),
            _ => Err(Error::Config(format!("writer {text:?}: there are arrowsmith, reference"))),
        }
    }
}

/// The options of a [`ParquetSink`](super::ParquetSink).
#[derive(Debug, Clone, PartialEq)]
pub struct ParquetOptions {
    /// Who encodes.
    pub writer: Writer,
    /// Compression of the pages. [`Writer::Reference`] has no [`Codec::Auto`].
    pub codec: Codec,
    /// Maximum rows per row group. Default 1 Mi.
    pub row_group_rows: usize,
    /// Size at which a row group ends regardless of its rows, in bytes of Arrow data; with
    /// [`Writer::Reference`] in encoded bytes. A group is kept in memory, encoded, until it is
    /// full. Default 256 MiB.
    pub row_group_bytes: usize,
    /// Which encodings are chosen from the data. [`Writer::Reference`] has no
    /// [`Choice::Smallest`]: it writes [`Choice::Compatible`].
    pub encodings: Choice,
    /// Columns with a bloom filter, by their dotted paths in the Parquet schema or the start of
    /// one. Not with [`Writer::Reference`].
    pub bloom_filters: Vec<String>,
    /// The columns that the rows are sorted by, as the footer states it. Not with
    /// [`Writer::Reference`].
    pub sorted_by: Vec<SortedBy>,
    /// Whether columns of JSON text are written as VARIANT, at any depth, instead of as strings of
    /// logical type JSON. Not with [`Writer::Reference`]. Default false.
    pub variant: bool,
    /// Threads that encode, the calling one included; 0: as many as there are processors. The file
    /// is the same for any number. Default 1.
    pub threads: usize,
}

impl Default for ParquetOptions {
    fn default() -> Self {
        let default = arrowsmith_parquet_writer::Options::default();
        Self {
            writer: Writer::default(),
            codec: default.codec,
            row_group_rows: default.row_group_rows,
            row_group_bytes: default.row_group_bytes,
            encodings: default.choice,
            bloom_filters: default.bloom_filters,
            sorted_by: default.sorted_by,
            variant: false,
            threads: default.threads,
        }
    }
}

impl ParquetOptions {
    /// Starts the threads of [`Writer::Arrowsmith`].
    ///
    /// # Errors
    /// [`Error::Config`] for an option with an invalid value, [`Error::Io`] if no thread can be
    /// started.
    pub fn workers(&self) -> Result<Workers> {
        Workers::new(self.writer())
    }

    /// The options of `arrowsmith-parquet-writer`.
    fn writer(&self) -> arrowsmith_parquet_writer::Options {
        arrowsmith_parquet_writer::Options {
            codec: self.codec,
            row_group_rows: self.row_group_rows,
            row_group_bytes: self.row_group_bytes,
            choice: self.encodings,
            bloom_filters: self.bloom_filters.clone(),
            sorted_by: self.sorted_by.clone(),
            threads: self.threads.min(THREADS_MAX),
            ..arrowsmith_parquet_writer::Options::default()
        }
    }
}
