// SPDX-License-Identifier: Apache-2.0
//! The values that options of the command line accept, with the help text of each.

use clap::ValueEnum;

/// The input format, and for JSON how its records are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Detect from the name or the first bytes: Parquet, an array, one record per line, or else
    /// concatenated
    Auto,
    /// One record per line
    #[value(alias = "jsonl", alias = "lines")]
    Ndjson,
    /// Records one after another, each on any number of lines
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
    /// Detect from the first bytes
    Auto,
    None,
    Gzip,
    Zstd,
    Lz4,
}

/// `--on-error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnBad {
    /// Stop, with exit status 1
    Fail,
    /// Replace a value that does not match by null
    Null,
    /// Skip the record
    Skip,
}

/// `--duplicate-keys`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Duplicates {
    /// Use the last value
    Last,
    /// Treat the record as one that does not match the schema
    Error,
}

/// `--unknown-keys`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Unknown {
    /// Ignore the key and its value
    Skip,
    /// Treat the record as one that does not match the schema
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
    /// JSON, one object per line: .jsonl, .ndjson
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
    /// 32-bit offsets: utf8, binary
    Small,
    /// 64-bit offsets: large_utf8, large_binary
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
