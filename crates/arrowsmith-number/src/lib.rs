// SPDX-License-Identifier: Apache-2.0
//! Scalars: the text of a number, or of an unescaped string, → a typed value.
//!
//! Engine `cpu`, the inference of schemas and the reader of CSV use these functions; the other
//! engines are compared with them. The functions are pure, never panic, and allocate nothing except
//! for the output of `decode_hex`, `decode_base64` and `decode_spark_base64`; a [`TimeFormat`] is
//! compiled once, and owns memory. They know no schema, no Arrow builder and no position in the
//! input: the caller adds the position to errors.
//!
//! Two kinds of input:
//! - **Numbers** (`parse_u64`, `parse_f64`, …) take a slice that starts at the first byte of a JSON
//!   number and may continue after it; they find its end, check its grammar and return its length.
//!   The bytes after it are ignored, except that a byte of `[0-9.eE+-]` makes the number malformed.
//!   They are fastest if the slice has 40 bytes or more.
//! - **Text** (`parse_date32`, `parse_timestamp`, …) takes the whole of an unescaped string.
//!
//! ```
//! use arrowsmith_number::{TimeUnit, parse_f64, parse_timestamp};
//!
//! assert_eq!(parse_f64(b"-65.613616999999977,43"), Ok((-65.613616999999977, 19)));
//! let found = parse_timestamp(b"1970-01-01T01:00:00.5+01:00", TimeUnit::Millisecond)?;
//! assert_eq!((found.value, found.had_offset), (500, true));
//! # Ok::<(), arrowsmith_number::TextError>(())
//! ```

#![forbid(unsafe_code)]

mod base;
mod decimal;
mod duration;
mod error;
mod float;
mod format;
mod integer;
mod scan;
mod spark;
mod swar;
mod time;

pub use base::{decode_base64, decode_hex};
pub use decimal::{parse_decimal128, parse_decimal256};
pub use duration::parse_duration;
pub use error::{NumberError, TextError};
pub use float::{nearest_f64, parse_f16, parse_f32, parse_f64, powers_of_five};
pub use format::{FormatError, TimeFormat};
pub use integer::{parse_i64, parse_u64};
pub use scan::{NumberShape, scan_number};
pub use spark::{decode_spark_base64, parse_spark_date, parse_spark_timestamp};
pub(crate) use time::SECONDS_PER_DAY;
pub use time::{
    ParsedTimestamp, TimeUnit, looks_like_date, looks_like_timestamp, parse_date32, parse_date64,
    parse_time, parse_timestamp,
};
