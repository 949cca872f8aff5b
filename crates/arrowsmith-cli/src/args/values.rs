// SPDX-License-Identifier: Apache-2.0
//! The words that options of the command line take, with what `--help` says of each.

use clap::ValueEnum;

/// What the input is, and how records follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// By the name or the first bytes: Parquet, an array, a record a line, or else concatenated
    Auto,
    /// One record a line
    #[value(alias = "jsonl", alias = "lines")]
    Ndjson,
    /// Records one after another, on any number of lines
    #[value(alias = "json")]
    Concatenated,
    /// The elements of one array
    Array,
    /// Parquet files
    Parquet,
}

/// How the input is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompressionIn {
    /// By the first bytes
    Auto,
    None,
    Gzip,
    Zstd,
    Lz4,
}

/// The engines that this build has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    Cpu,
    Gpu,
    Rtl,
    Reference,
    Auto,
}

impl Engine {
    /// As the library calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Auto => "auto",
            Self::Reference => "reference",
            Self::Rtl => "rtl",
        }
    }
}

/// `--on-error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnBad {
    /// Stop, with exit status 1
    Fail,
    /// Put a null where a value does not fit
    Null,
    /// Leave the record out
    Skip,
}

/// `--duplicate-keys`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Duplicates {
    /// The last value counts
    Last,
    /// The record does not fit
    Error,
}

/// `--unknown-keys`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Unknown {
    /// Its value is skipped
    Skip,
    /// The record does not fit
    Error,
}

/// `--to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum To {
    /// Arrow IPC file: .arrow, .feather, .ipc
    Arrow,
    /// Arrow IPC stream: .arrows
    Arrows,
    /// Parquet: .parquet
    Parquet,
    /// JSON, one object a line: .jsonl, .ndjson
    #[value(alias = "jsonl")]
    Ndjson,
}

/// `--buffer-compression`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BufferCompression {
    None,
    Lz4,
    Zstd,
}

/// `--strings`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Strings {
    /// Offsets of 32 bits: utf8, binary
    Small,
    /// Offsets of 64 bits: large_utf8, large_binary
    Large,
    /// Views: utf8_view, binary_view
    View,
}

/// `--timestamp-unit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TimestampUnit {
    S,
    Ms,
    Us,
    Ns,
}
