// SPDX-License-Identifier: Apache-2.0
//! JSON to record batches: a reader, an async stream, a push decoder, and inference.
//!
//! ```
//! use std::sync::Arc;
//!
//! use arrowsmith::arrow_schema::{DataType, Field, Schema};
//! use arrowsmith::{Input, JsonReadOptions, json};
//!
//! let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::UInt64, false)]));
//! let options = JsonReadOptions { threads: Some(1), ..JsonReadOptions::default() };
//! let mut reader = json::ReaderBuilder::new()
//!     .options(options)
//!     .schema(schema)
//!     .open([Input::bytes(b"{\"a\":1}\n{\"a\":-1}\n".to_vec())])?;
//! assert_eq!(reader.next_batch()?.map(|batch| batch.num_rows()), Some(1));
//! let error = reader.next_batch().unwrap_err();
//! assert_eq!(error.as_data().map(|error| error.position.line), Some(2));
//! # Ok::<(), arrowsmith::Error>(())
//! ```

mod builder;
mod grow;
mod reader;

pub use arrowsmith_pipeline::{InferOptions, PushDecoder, Sample, SampleOptions, Step, Turn};
pub use builder::{Explanation, ReaderBuilder, infer_schema};
pub use grow::{Collector, GrowingReader};
pub use reader::JsonReader;

pub use crate::stream::BatchStream;

/// Names that files of JSON end in, without the dot: what is read of a folder.
pub const EXTENSIONS: &[&str] = &[
    "json",
    "jsonl",
    "ndjson",
    "json.gz",
    "jsonl.gz",
    "ndjson.gz",
    "json.zst",
    "jsonl.zst",
    "ndjson.zst",
    "json.lz4",
    "jsonl.lz4",
    "ndjson.lz4",
    "json.bz2",
    "jsonl.bz2",
    "ndjson.bz2",
    "json.xz",
    "jsonl.xz",
    "ndjson.xz",
];

#[cfg(test)]
mod range_tests;
#[cfg(test)]
mod tests;
