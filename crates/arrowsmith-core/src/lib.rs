// SPDX-License-Identifier: Apache-2.0
//! Types shared by all other crates: errors with positions, limits, options, the traits of decoders
//! and sinks.
//!
//! This is the lowest layer: it parses and decodes nothing, and knows no engine. Of the formats it
//! has what several crates share, such as [`Framing`], [`Dialect`] and [`FilePlace`]. It does no
//! I/O except for the file that a sink replaces atomically, and small files that are read whole
//! ([`whole`]), and depends only on Arrow's types.
//! Everything between a source and a sink uses these types.

#![forbid(unsafe_code)]

pub mod decode;
pub mod duration;
pub mod error;
pub mod file;
pub mod foreign;
pub mod hash;
pub mod limits;
pub mod memory;
pub mod options;
pub mod redact;
pub mod sink;
pub mod size;
pub mod whole;

pub use decode::{Chunk, Decoder, Framing, PADDING_BYTES, Reject, Report};
pub use error::{DataError, Error, ErrorKind, Position, Result};
pub use file::{FileError, FileErrorKind, FilePlace};
pub use limits::Limits;
pub use options::{DecodeOptions, Dialect, DuplicateKeys, OnError, UnknownKeys};
pub use sink::{Sink, SinkSummary};
