// SPDX-License-Identifier: Apache-2.0
//! What every other crate shares: errors with positions, limits, options, the traits of decoders
//! and sinks.
//!
//! This is the bottom of the house: it knows no format, no engine and no I/O but the file that a
//! sink replaces in one step, and depends only on Arrow's types. Everything between a source and a
//! sink speaks in these terms.

#![forbid(unsafe_code)]

pub mod decode;
pub mod error;
pub mod file;
pub mod foreign;
pub mod limits;
pub mod memory;
pub mod options;
pub mod sink;

pub use decode::{Chunk, Decoder, Framing, PADDING_BYTES, Reject, Report};
pub use error::{DataError, Error, ErrorKind, Position, Result};
pub use file::{FileError, FileErrorKind, FilePlace};
pub use limits::Limits;
pub use options::{DecodeOptions, DuplicateKeys, OnError, UnknownKeys};
pub use sink::{Sink, SinkSummary};
