// SPDX-License-Identifier: Apache-2.0
//! Record batches to a Parquet file: a sink, the last step of source → plan → engine → batch →
//! sink.
//!
//! The bytes are made by `arrowsmith-parquet-writer`, or by the `parquet` crate with
//! [`Writer::Reference`]; this module casts what Parquet has in another form, and lets the file
//! appear only when it is complete. It never reorders rows; row groups are split by rows, not by
//! batches.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{Int64Array, RecordBatch};
//! use arrowsmith_core::sink::{Output, Sink};
//! use arrowsmith_sink::parquet::{Codec, ParquetOptions, ParquetSink, ParquetStream};
//!
//! let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1, 2])) as _)])?;
//! let path = std::env::temp_dir().join(format!("parquet-doctest-{}.parquet", std::process::id()));
//! let options = ParquetOptions { codec: "zstd:9".parse::<Codec>()?, ..ParquetOptions::default() };
//! let mut sink = Box::new(ParquetSink::new(Output::create(&path)?, &batch.schema(), &options)?);
//! sink.write(&batch)?;
//! let summary = sink.finish()?;
//! assert_eq!((summary.rows, summary.bytes), (2, std::fs::metadata(&path)?.len()));
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod fields;
mod options;
mod reference;
mod sink;

pub use fields::check_values;
pub use options::{Choice, Codec, ParquetOptions, SortedBy, Workers, Writer};
pub use sink::{ParquetSink, ParquetStream};
