// SPDX-License-Identifier: Apache-2.0
//! Parquet columns: encoded pages → Arrow arrays.
//!
//! The two stages of the page pipeline that decode are here; those before them, up to a page that
//! is decompressed, and the array writer after them (`nest`) are `arrowsmith-parquet`'s.
//!
//! ```text
//! level decoders   levels   runs, packed levels → bits, or levels, then validity and offsets
//! values decoder   values   encoded values → a column's buffers, at the rows that are not null
//! ```
//!
//! `field` is what users see. `leaf` drives the first two stages over the pages of one column
//! chunk, for as many rows as a batch needs: a decoder that stops within a page keeps its state and
//! resumes there. Buffers are sized before they are filled, and every value is written once, in its
//! place. Nothing here reads files, knows row groups' order or makes threads.

mod field;
mod leaf;
mod levels;
mod values;

pub use field::{ColumnOptions, FieldDecoder, check};

use arrowsmith_core::{Error, FileErrorKind};
use arrowsmith_simd::column::ColumnError;

/// The error for malformed encoded values.
fn fault(error: ColumnError) -> Error {
    let kind = match error {
        ColumnError::Truncated => FileErrorKind::Truncated,
        ColumnError::Utf8 => FileErrorKind::InvalidUtf8,
        ColumnError::Offset | ColumnError::Range => FileErrorKind::Overflow,
        _ => FileErrorKind::Corrupt,
    };
    Error::file(kind, error.to_string())
}

fn corrupt(message: impl Into<String>) -> Error {
    Error::file(FileErrorKind::Corrupt, message)
}
