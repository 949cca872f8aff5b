// SPDX-License-Identifier: Apache-2.0
//! Record batches to newline-delimited JSON: a sink, the last step of source → plan → engine →
//! batch → sink.
//!
//! One object per line, in arrow-json's spelling: timestamps and dates are ISO 8601 (in UTC, if
//! they have a time zone), decimals are numbers with all their digits, nulls are written as `null`.
//! Binary is base64, or hexadecimal where the schema says so, as it is read. Values that JSON does
//! not have (NaN, infinities) become null. A column of JSON text (`json` in the schema, Arrow's
//! `arrow.json`) is written as JSON values, at any depth; a text in it that is not JSON becomes a
//! string. A column of VARIANT is written as JSON values, too. It never reorders rows, and the file
//! appears only when it is complete.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{Int64Array, RecordBatch};
//! use arrowsmith_core::sink::{Output, Sink};
//! use arrowsmith_sink::json::{JsonOptions, JsonSink};
//!
//! let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1, 2])) as _)])?;
//! let path = std::env::temp_dir().join(format!("json-doctest-{}.jsonl", std::process::id()));
//! let sink = JsonSink::new(Output::create(&path)?, &batch.schema(), &JsonOptions::default())?;
//! let mut sink: Box<dyn Sink> = Box::new(sink);
//! sink.write(&batch)?;
//! assert_eq!(sink.finish()?.rows, 2);
//! assert_eq!(std::fs::read_to_string(&path)?, "{\"n\":1}\n{\"n\":2}\n");
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod encode;
mod sink;

pub use crate::text::TextCompression;
pub use sink::{JsonOptions, JsonSink};
