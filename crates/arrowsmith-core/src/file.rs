// SPDX-License-Identifier: Apache-2.0
//! Errors in files of columnar formats, with their position: file, row group, column, page, byte.
//!
//! The counterpart of [`DataError`](crate::DataError) for formats without records or lines. It is
//! independent of the format: the terms are common to all columnar formats.

use std::fmt;
use std::sync::Arc;

use crate::Error;

/// The kind of a file error, for programs to match on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileErrorKind {
    /// The file is not of this format.
    Format,
    /// The file, or a part of it, ends before it is complete.
    Truncated,
    /// The bytes contradict the format or each other.
    Corrupt,
    /// A checksum does not match.
    Checksum,
    /// A string that is not UTF-8.
    InvalidUtf8,
    /// A part of the format that this reader does not support.
    Unsupported,
    /// The part is encrypted.
    Encrypted,
    /// A limit in [`Limits`](crate::Limits) is exceeded; the message names it.
    Limit,
    /// More data in one array than its 32-bit offsets can address, or a value outside of its type.
    Overflow,
}

impl FileErrorKind {
    /// The stable name of the kind, for programs: `corrupt`, `invalid-utf8`, …
    pub fn name(self) -> &'static str {
        match self {
            Self::Format => "format",
            Self::Truncated => "truncated",
            Self::Corrupt => "corrupt",
            Self::Checksum => "checksum",
            Self::InvalidUtf8 => "invalid-utf8",
            Self::Unsupported => "unsupported",
            Self::Encrypted => "encrypted",
            Self::Limit => "limit",
            Self::Overflow => "overflow",
        }
    }
}

impl fmt::Display for FileErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A position in a columnar file; unknown parts are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilePlace {
    /// Name of the file; `None` for bytes in memory.
    pub source: Option<Arc<str>>,
    /// Number of the row group in its file, from 0.
    pub row_group: Option<usize>,
    /// Path of the column, dotted.
    pub column: Option<String>,
    /// Number of the page in its column chunk, from 0, the dictionary included.
    pub page: Option<usize>,
    /// Offset in the file, in bytes.
    pub offset: Option<u64>,
}

impl fmt::Display for FilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.source.as_deref().unwrap_or("bytes in memory"))?;
        if let Some(row_group) = self.row_group {
            write!(f, ", row group {row_group}")?;
        }
        if let Some(column) = &self.column {
            write!(f, ", column {column}")?;
        }
        if let Some(page) = self.page {
            write!(f, ", page {page}")?;
        }
        if let Some(offset) = self.offset {
            write!(f, ", byte {offset}")?;
        }
        Ok(())
    }
}

/// An error in a columnar file: kind, position and message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The kind, for programs.
    pub kind: FileErrorKind,
    /// The position of the error.
    pub place: FilePlace,
    /// What was expected and what was found.
    pub message: String,
}

impl FileError {
    /// An error whose position is not known yet; a caller that knows it adds it with [`Error::at`].
    pub fn new(kind: FileErrorKind, message: impl Into<String>) -> Self {
        Self { kind, place: FilePlace::default(), message: message.into() }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.place, self.kind, self.message)
    }
}

impl std::error::Error for FileError {}

impl Error {
    /// A file error whose position is not known yet.
    pub fn file(kind: FileErrorKind, message: impl Into<String>) -> Self {
        FileError::new(kind, message).into()
    }

    /// Lets `fill` complete the position, if this is a file error.
    #[must_use]
    pub fn at(mut self, fill: impl FnOnce(&mut FilePlace)) -> Self {
        if let Self::File(error) = &mut self {
            fill(&mut error.place);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_says_where() {
        let error = Error::file(FileErrorKind::Corrupt, "a page of -1 bytes").at(|place| {
            place.source = Some("x.parquet".into());
            place.row_group = Some(2);
            place.column = Some("a.b".into());
            place.page = Some(3);
            place.offset = Some(99);
        });
        assert_eq!(
            error.to_string(),
            "x.parquet, row group 2, column a.b, page 3, byte 99: corrupt: a page of -1 bytes"
        );
        assert_eq!(error.as_file().map(|file| file.kind), Some(FileErrorKind::Corrupt));
        assert!(Error::Cancelled.at(|place| place.page = Some(1)).as_file().is_none());
    }
}
