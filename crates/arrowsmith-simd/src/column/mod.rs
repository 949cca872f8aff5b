// SPDX-License-Identifier: Apache-2.0
//! Decoders of Parquet's column encodings to Arrow buffers.
//!
//! A *decoder* ([`Plain`], [`Delta`], [`Indices`], [`Split`], …) yields the values of one page in
//! order; [`read`] takes the values of the next rows, spreads them over the rows that are not null,
//! and appends them to a [`Buf`](crate::Buf). Strings go to [`Strings`], with offsets and bytes, or
//! to [`Views`]. [`levels`] derives validity and list offsets from levels.
//!
//! ```text
//! for each chunk of 1,024 rows, small enough for the first cache level:
//!   decode as many values as the chunk has rows that are not null
//!   spread them by the validity bits, if there are nulls
//!   write them: directly, or with non-temporal stores if the buffer exceeds the cache
//! ```
//!
//! All input is untrusted: each decoder checks widths, counts, lengths and indices before it uses
//! them, and returns a [`ColumnError`]. What was appended before an error is undefined, but safe.
//! This module knows nothing of pages, schemas or compression.

mod delta;
mod delta_strings;
mod dictionary;
mod fixed;
mod hybrid;
mod isa;
pub mod levels;
mod read;
mod split;
mod string_dictionary;
mod strings;
mod varint;
mod views;

pub use delta::Delta;
pub use delta_strings::{DeltaLengthStrings, DeltaStrings, Prefixed};
pub use dictionary::{Gather, GatherBytes};
pub use fixed::{BigEndian, Cast, CastFrom, Decimal, Int96, Plain, PlainBytes, TimeUnit, decimals};
pub use hybrid::{Hybrid, Indices, packed_levels};
pub use isa::ColumnIsa;
pub use read::{Decode, DecodeBytes, Rows, plain_bits, read, read_bytes, skip, spread_bits};
pub use split::{Split, SplitBytes};
pub use string_dictionary::{DictionaryStrings, StringDictionary};
pub use strings::{DecodeStrings, Offset, PlainStrings, Strings, TextRoom};
pub use views::{ViewDictionary, ViewPage, Views};

/// Rows that are decoded at a time.
pub(crate) const CHUNK: usize = 1024;

/// An error in an encoded column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ColumnError {
    /// The data ends before the values do.
    Truncated,
    /// A variable-length integer is longer than 64 bits.
    Varint,
    /// A bit width is larger than the type's.
    Width,
    /// The header of a delta-encoded sequence contradicts itself.
    Header,
    /// There are fewer values than requested.
    Count,
    /// A length is negative, or reaches beyond the data.
    Length,
    /// An index reaches beyond the dictionary.
    Index,
    /// A level is greater than its maximum.
    Level,
    /// A text is not UTF-8.
    Utf8,
    /// A number does not fit its type.
    Range,
    /// The offsets exceed their type: there are more bytes or elements than it can count.
    Offset,
}

impl std::fmt::Display for ColumnError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the data ends before the values do",
            Self::Varint => "a variable-length integer is longer than 64 bits",
            Self::Width => "a bit width is larger than the type's",
            Self::Header => "the header of the delta encoding contradicts itself",
            Self::Count => "there are fewer values than expected",
            Self::Length => "a length is negative or reaches beyond the data",
            Self::Index => "an index reaches beyond the dictionary",
            Self::Level => "a level is greater than its maximum",
            Self::Utf8 => "a text is not UTF-8",
            Self::Range => "a number does not fit its type",
            Self::Offset => "there is more data than the offsets can count",
        })
    }
}

impl std::error::Error for ColumnError {}

/// The result of decoding.
pub type Result<T, E = ColumnError> = std::result::Result<T, E>;
