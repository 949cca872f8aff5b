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
}

/// `--buffer-compression`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BufferCompression {
    None,
    Lz4,
    Zstd,
}
