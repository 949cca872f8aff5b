// SPDX-License-Identifier: Apache-2.0
//! Record batches to an Arrow IPC file or stream: a sink, the last step of source → plan → engine →
//! batch → sink.
//!
//! The bytes are written by arrow-ipc; this module adds what a long conversion needs: the file
//! appears only when it is complete, the buffers of the columns are written without a copy, and
//! dictionaries that differ between batches are merged, because the file format allows only one;
//! and the schema may become wider meanwhile. It never reorders, splits or merges batches.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{Int64Array, RecordBatch};
//! use arrowsmith_core::sink::{Output, Sink};
//! use arrowsmith_sink::ipc::{Format, IpcOptions, IpcSink};
//!
//! let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1, 2])) as _)])?;
//! let path = std::env::temp_dir().join(format!("ipc-doctest-{}.arrow", std::process::id()));
//! let output = Output::create(&path)?;
//! let mut sink = Box::new(IpcSink::new(output, &batch.schema(), &IpcOptions::default())?);
//! sink.write(&batch)?;
//! let summary = sink.finish()?;
//! assert_eq!((summary.rows, summary.bytes), (2, std::fs::metadata(&path)?.len()));
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod again;
mod dictionary;
mod sink;

pub use dictionary::{Unifier, with_dictionaries_of};
pub use sink::{BufferCompression, Format, IpcOptions, IpcSink};
