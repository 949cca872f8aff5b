// SPDX-License-Identifier: Apache-2.0
//! [`Options`]: how a file is written.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use arrowsmith_core::{Error, Result};

/// The compression of pages: `none`, `snappy`, `lz4`, `zstd`, `gzip`, `brotli`, the last three with
/// an optional level after a colon (`zstd:9`), or `auto`. The default is `zstd` at level 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// For each column chunk none, LZ4 or Zstandard, by what each makes of the first page: never by
    /// the clock, so that equal data are equal files.
    Auto,
    /// No compression.
    None,
    /// Snappy.
    Snappy,
    /// LZ4 blocks without framing (`LZ4_RAW`), which every reader supports.
    Lz4,
    /// Zstandard at a level from 1 to 22.
    Zstd(i32),
    /// Gzip at a level from 0 to 9.
    Gzip(u32),
    /// Brotli at a level from 0 to 11.
    Brotli(u32),
}

/// The names that [`Codec::from_str`] accepts, for messages.
const NAMES: &str = "auto, none, snappy, lz4, zstd[:1-22], gzip[:0-9], brotli[:0-11]";

impl Codec {
    /// The codec that encodings are chosen with, and that pages without values have.
    pub(crate) fn base(self) -> Self {
        if self == Self::Auto { Self::default() } else { self }
    }

    /// An error for a level outside the codec's range.
    pub(crate) fn check(self) -> Result<()> {
        let valid = match self {
            Self::Auto | Self::None | Self::Snappy | Self::Lz4 => true,
            Self::Zstd(level) => (1..=22).contains(&level),
            Self::Gzip(level) => level <= 9,
            Self::Brotli(level) => level <= 11,
        };
        if valid { Ok(()) } else { Err(Error::Config(format!("codec {self}: there are {NAMES}"))) }
    }
}

impl Default for Codec {
    fn default() -> Self {
        Self::Zstd(1)
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::None => f.write_str("none"),
            Self::Snappy => f.write_str("snappy"),
            Self::Lz4 => f.write_str("lz4"),
            Self::Zstd(level) => write!(f, "zstd:{level}"),
            Self::Gzip(level) => write!(f, "gzip:{level}"),
            Self::Brotli(level) => write!(f, "brotli:{level}"),
        }
    }
}

impl FromStr for Codec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unknown = || Error::Config(format!("codec {text:?}: there are {NAMES}"));
        let (name, level) = match text.split_once(':') {
            None => (text, None),
            Some((name, level)) => (name, Some(level.parse::<u32>().map_err(|_| unknown())?)),
        };
        let codec = match (name, level) {
            ("auto", None) => Self::Auto,
            ("none", None) => Self::None,
            ("snappy", None) => Self::Snappy,
            ("lz4", None) => Self::Lz4,
            ("zstd", level) => {
                Self::Zstd(i32::try_from(level.unwrap_or(1)).map_err(|_| unknown())?)
            }
            ("gzip", level) => Self::Gzip(level.unwrap_or(6)),
            ("brotli", level) => Self::Brotli(level.unwrap_or(1)),
            _ => return Err(unknown()),
        };
        codec.check().map_err(|_| unknown())?;
        Ok(codec)
    }
}

/// The form of data pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PageVersion {
    /// Levels and values are compressed together; every reader supports these.
    #[default]
    V1,
    /// Levels are not compressed, and a page whose values do not shrink is stored uncompressed.
    V2,
}

/// The encoding of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Distinct values in a dictionary page, bit-packed indices in the data pages. Columns whose
    /// dictionary grows beyond [`Options::dictionary_bytes`] continue with [`Encoding::Plain`].
    Dictionary,
    /// Values as they are.
    Plain,
    /// Differences of integers, bit-packed. INT32 and INT64.
    DeltaBinaryPacked,
    /// Lengths as [`Encoding::DeltaBinaryPacked`], then all bytes. BYTE_ARRAY.
    DeltaLengthByteArray,
    /// The length of the prefix that a value shares with the previous one, and the rest.
    /// BYTE_ARRAY and FIXED_LEN_BYTE_ARRAY.
    DeltaByteArray,
    /// First bytes of all values, then all second bytes. All types of a fixed width.
    ByteStreamSplit,
    /// Runs. BOOLEAN.
    Rle,
}

/// Which encodings are chosen from the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// The smallest of all encodings, by a sample of each column chunk.
    #[default]
    Smallest,
    /// A dictionary where it is smaller, otherwise plain: for readers from before 2015.
    Compatible,
    /// [`Encoding::Plain`] only.
    Plain,
}

/// A column that rows are sorted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortedBy {
    /// Its name.
    pub column: String,
    /// Whether the largest value is first.
    pub descending: bool,
    /// Whether nulls are before all values.
    pub nulls_first: bool,
}

/// How a file is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Compression of the pages.
    pub codec: Codec,
    /// Form of data pages.
    pub page_version: PageVersion,
    /// Maximum rows per page. Default 20,000.
    pub page_rows: usize,
    /// Size before compression at which a page ends, in bytes; a row is never split. Default 1 MiB.
    pub page_bytes: usize,
    /// Maximum size of a dictionary page before compression, in bytes. Default 1 MiB.
    pub dictionary_bytes: usize,
    /// Maximum rows per row group. Default 1 Mi.
    pub row_group_rows: usize,
    /// Size of the Arrow data at which a row group ends regardless of its rows, in bytes. Default
    /// 256 MiB. It bounds the memory of a row group, which is kept encoded until it is complete.
    /// Columns that are null in a batch do not count: of those only their number of rows is kept.
    pub row_group_bytes: usize,
    /// Threads that encode, the calling one included. The file is the same for any number. 0: as
    /// many as there are processors. Default 1.
    pub threads: usize,
    /// Size of Arrow data and pages that wait for a thread, in bytes; beyond it
    /// [`write`](crate::ParquetWriter::write) encodes, too, or waits. Default 32 MiB.
    pub backlog_bytes: usize,
    /// Which encodings are chosen from the data.
    pub choice: Choice,
    /// Encodings of columns, by the dotted path in the Parquet schema (`a.list.element`).
    pub encodings: HashMap<String, Encoding>,
    /// Whether a column chunk whose sample shrinks by less than 2 % is stored uncompressed.
    /// Default `true`.
    pub skip_incompressible: bool,
    /// Whether page headers have a CRC-32 of the page. Default `false`.
    pub crc: bool,
    /// Whether the minimum, maximum and number of nulls are stored for each column chunk, and for
    /// each page in the page index. Default `true`.
    pub statistics: bool,
    /// Maximum size of a minimum or maximum of a variable length, in bytes. Default 64.
    pub statistics_bytes: usize,
    /// Columns whose chunks have a bloom filter, by the dotted path in the Parquet schema, or the
    /// start of one: `user` is all that is below it. Values that are not in a chunk pass its filter
    /// one time in a hundred. Booleans have none.
    pub bloom_filters: Vec<String>,
    /// The columns that the rows of every row group are sorted by, the most significant first, as
    /// the footer states it for readers. It is not checked, and sorts nothing.
    pub sorted_by: Vec<SortedBy>,
    /// The text in the footer that names the writing program.
    pub created_by: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            codec: Codec::default(),
            page_version: PageVersion::default(),
            page_rows: 20_000,
            page_bytes: 1 << 20,
            dictionary_bytes: 1 << 20,
            row_group_rows: 1 << 20,
            row_group_bytes: 256 << 20,
            threads: 1,
            backlog_bytes: 32 << 20,
            choice: Choice::default(),
            encodings: HashMap::new(),
            skip_incompressible: true,
            crc: false,
            statistics: true,
            statistics_bytes: 64,
            bloom_filters: Vec::new(),
            sorted_by: Vec::new(),
            created_by: concat!("arrowsmith version ", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// Largest setting of a page's or dictionary's size, in bytes: headers have 32 bits, and a page may
/// exceed the setting by a part.
const PAGE_BYTES_MAX: usize = 256 << 20;

impl Options {
    /// An error for a value that no file can be written with.
    pub(crate) fn check(&self) -> Result<()> {
        self.codec.check()?;
        let sizes = [
            ("page_rows", self.page_rows, 1, 1 << 30),
            ("page_bytes", self.page_bytes, 1, PAGE_BYTES_MAX),
            ("dictionary_bytes", self.dictionary_bytes, 0, PAGE_BYTES_MAX),
            ("row_group_rows", self.row_group_rows, 1, 1 << 31),
            ("row_group_bytes", self.row_group_bytes, 1, usize::MAX),
            ("threads", self.threads, 0, 1 << 10),
            ("statistics_bytes", self.statistics_bytes, 1, 1 << 20),
        ];
        for (name, value, min, max) in sizes {
            if !(min..=max).contains(&value) {
                return Err(Error::Config(format!("{name} must be from {min} to {max}: {value}")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_are_read_as_they_are_written() {
        for name in ["auto", "none", "snappy", "lz4", "zstd:22", "gzip:9", "brotli:11"] {
            assert_eq!(name.parse::<Codec>().unwrap().to_string(), name);
        }
        assert_eq!("zstd".parse::<Codec>().unwrap(), Codec::default());
        for name in
            ["", "zip", "none:1", "zstd:", "zstd:0", "zstd:23", "zstd:-1", "gzip:10", "brotli:99"]
        {
            let message = name.parse::<Codec>().unwrap_err().to_string();
            assert!(message.starts_with(&format!("codec {name:?}: ")), "{message}");
        }
    }

    #[test]
    fn values_that_cannot_be_are_refused() {
        assert!(Options::default().check().is_ok());
        let wrong = [
            Options { page_rows: 0, ..Options::default() },
            Options { page_bytes: 1 << 31, ..Options::default() },
            Options { row_group_rows: 0, ..Options::default() },
            Options { codec: Codec::Gzip(10), ..Options::default() },
        ];
        for options in wrong {
            assert!(matches!(options.check(), Err(Error::Config(_))), "{options:?}");
        }
    }
}
