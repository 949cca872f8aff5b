// SPDX-License-Identifier: Apache-2.0
//! The values that options of the command line accept, with the help text of each.

use clap::ValueEnum;

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
    /// Comma-separated values with a header: .csv
    Csv,
    /// Tab-separated values with a header: .tsv
    Tsv,
    /// A Delta table: a folder of Parquet files and a log
    Delta,
}

/// `--buffer-compression`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BufferCompression {
    None,
    Lz4,
    Zstd,
}

/// `--encodings`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Encodings {
    /// The smallest of all encodings of the format
    Smallest,
    /// A dictionary where it is smaller, else plain values: for readers from before 2015
    Compatible,
    /// Plain values only
    Plain,
}

/// `--writer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Writer {
    /// Arrowsmith's own, with as many threads as decode
    Arrowsmith,
    /// That of the `parquet` crate, on one thread
    Reference,
}
