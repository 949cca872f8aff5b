// SPDX-License-Identifier: Apache-2.0
//! The error type of all of Arrowsmith, and the position in a data error.
//!
//! A data error has a position (source, record, line, byte offset, path of the field), what was
//! expected and what was found, so that a person can locate it in a terabyte and a program can act
//! on its [`ErrorKind`]. The same input gives the same kind and position on every engine.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_schema::ArrowError;

use crate::FileError;
use crate::redact::redacted;

/// The result of every fallible call in Arrowsmith.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The input does not match the plan. Boxed because it is large and rare.
    Data(Box<DataError>),
    /// A file of a columnar format is invalid, or contains something unsupported. Boxed because it
    /// is large and rare.
    File(Box<FileError>),
    /// The schema cannot be read, or cannot be decoded by this engine; the message names the field.
    Schema {
        /// Path of the field, dotted; empty for the schema as a whole.
        path: String,
        /// The description of the error.
        message: String,
    },
    /// A read or write failed.
    Io {
        /// The file or address, where there is one.
        path: Option<PathBuf>,
        /// The operating system's error.
        source: io::Error,
    },
    /// An Arrow library call failed.
    Arrow(ArrowError),
    /// An option has an invalid value; the message names the option.
    Config(String),
    /// The work was stopped on request (Ctrl-C, a dropped consumer).
    Cancelled,
}

impl Error {
    /// A schema error at `path` (dotted, empty for the whole schema).
    pub fn schema(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Schema { path: path.into(), message: message.into() }
    }

    /// An I/O error that names the file it happened on; of a URL, without its secrets.
    pub fn io(path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        let path = match path.to_str().map(redacted) {
            Some(Cow::Owned(shown)) => shown.into(),
            _ => path,
        };
        Self::Io { path: Some(path), source }
    }

    /// The file error inside, if this is one.
    pub fn as_file(&self) -> Option<&FileError> {
        match self {
            Self::File(error) => Some(error),
            _ => None,
        }
    }

    /// The data error inside, if this is one.
    pub fn as_data(&self) -> Option<&DataError> {
        match self {
            Self::Data(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(error) => error.fmt(f),
            Self::File(error) => error.fmt(f),
            Self::Schema { path, message } if path.is_empty() => write!(f, "schema: {message}"),
            Self::Schema { path, message } => write!(f, "schema, field {path}: {message}"),
            Self::Io { path: Some(path), source } => write!(f, "{}: {source}", path.display()),
            Self::Io { path: None, source } => source.fmt(f),
            Self::Arrow(error) => error.fmt(f),
            Self::Config(message) => f.write_str(message),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Arrow(error) => Some(error),
            _ => None,
        }
    }
}

impl From<DataError> for Error {
    fn from(error: DataError) -> Self {
        Self::Data(Box::new(error))
    }
}

impl From<FileError> for Error {
    fn from(error: FileError) -> Self {
        Self::File(Box::new(error))
    }
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

impl From<io::Error> for Error {
    fn from(source: io::Error) -> Self {
        Self::Io { path: None, source }
    }
}

/// The kind of a data error, for programs to match on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not valid JSON.
    Syntax,
    /// The record, or the input, ends before it is complete.
    Truncated,
    /// Something other than white space follows the record.
    TrailingData,
    /// A value of a JSON type that the column does not accept.
    WrongType,
    /// A number outside the range of the column's type.
    Overflow,
    /// A value that the column cannot represent without losing digits.
    Inexact,
    /// A string that is not valid for the column's type: a date, base64, hex, …
    InvalidValue,
    /// A null, or no value at all, for a field that is not nullable.
    MissingField,
    /// A key that appears twice in one object, if that is an error by the options.
    DuplicateKey,
    /// A key that is not in the schema, if that is an error by the options.
    UnknownKey,
    /// A list whose length differs from that of its fixed-size list column.
    LengthMismatch,
    /// Bytes that are not UTF-8 inside a string.
    InvalidUtf8,
    /// A backslash followed by a character that JSON does not define.
    InvalidEscape,
    /// A `\u` escape that is half of a surrogate pair, which is not valid Unicode.
    LoneSurrogate,
    /// A control character (below 0x20) inside a string, not escaped.
    ControlCharacter,
    /// Values nested deeper than [`Limits::depth_max`](crate::Limits::depth_max).
    DepthExceeded,
    /// A record longer than [`Limits::record_bytes_max`](crate::Limits::record_bytes_max).
    RecordTooLong,
    /// More data in one batch than the column's 32-bit offsets can address.
    OffsetOverflow,
    /// A record whose columns exceed a limit in [`Limits`](crate::Limits), named in the message, or
    /// the system's memory.
    Limit,
}

impl ErrorKind {
    /// The stable name of the kind, for programs: `wrong-type`, `lone-surrogate`, …
    pub fn name(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Truncated => "truncated",
            Self::TrailingData => "trailing-data",
            Self::WrongType => "wrong-type",
            Self::Overflow => "overflow",
            Self::Inexact => "inexact",
            Self::InvalidValue => "invalid-value",
            Self::MissingField => "missing-field",
            Self::DuplicateKey => "duplicate-key",
            Self::UnknownKey => "unknown-key",
            Self::LengthMismatch => "length-mismatch",
            Self::InvalidUtf8 => "invalid-utf8",
            Self::InvalidEscape => "invalid-escape",
            Self::LoneSurrogate => "lone-surrogate",
            Self::ControlCharacter => "control-character",
            Self::DepthExceeded => "depth-exceeded",
            Self::RecordTooLong => "record-too-long",
            Self::OffsetOverflow => "offset-overflow",
            Self::Limit => "limit",
        }
    }

    /// Whether the record is well-formed JSON and only a value does not match its column, so that
    /// [`OnError::Null`](crate::OnError::Null) can replace that value alone.
    pub fn is_value_error(self) -> bool {
        matches!(
            self,
            Self::WrongType
                | Self::Overflow
                | Self::Inexact
                | Self::InvalidValue
                | Self::LengthMismatch
                | Self::LoneSurrogate
        )
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A position in the input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Position {
    /// Name of the source: a path, `-` for standard input, an address; `None` for bytes in memory.
    pub source: Option<Arc<str>>,
    /// Number of the record in its source, from 0.
    pub record: u64,
    /// Number of the line in its source, from 1.
    pub line: u64,
    /// Offset of the byte from the start of the source (after decompression), from 0.
    pub offset: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(source) = &self.source {
            write!(f, "{source}: ")?;
        }
        write!(f, "line {}, byte {} (record {})", self.line, self.offset, self.record)
    }
}

/// A data error: kind, position, field, what was expected and what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataError {
    /// The kind, for programs.
    pub kind: ErrorKind,
    /// The position of the first invalid byte (for a value, of its start).
    pub position: Position,
    /// Path of the field: `user.tags[3]`, empty at the top level.
    pub path: String,
    /// What the plan expects here: `uint64`, `'"' or '}'`, …
    pub expected: String,
    /// What was found: `string "abc"`, `end of line`, …
    pub found: String,
    /// An option or change that would help, if there is one.
    pub hint: Option<String>,
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.position)?;
        if !self.path.is_empty() {
            write!(f, ", field {}", self.path)?;
        }
        write!(f, ": {}: expected {}, found {}", self.kind, self.expected, self.found)?;
        if let Some(hint) = &self.hint {
            write!(f, " ({hint})")?;
        }
        Ok(())
    }
}

impl std::error::Error for DataError {}
