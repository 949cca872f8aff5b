// SPDX-License-Identifier: Apache-2.0
//! Arrowsmith: bytes in any shape, Arrow out, at the speed of the hardware.
//!
//! This is the public API. It joins the crates below (source → plan → engine → batch), and has what
//! every interface shares: the options and their checks, the table of engines, the inference of
//! schemas while reading, and the splitting of inputs. [`json`] and [`parquet`] read into record
//! batches; [`engine()`] finds an engine by name.
//!
//! ```
//! use arrowsmith::{Input, json};
//!
//! let input = Input::bytes(b"{\"name\":\"ada\",\"age\":36}\n{\"name\":\"bob\"}\n".to_vec());
//! let reader = json::ReaderBuilder::new().open([input])?;
//! let batches = reader.collect::<Result<Vec<_>, _>>()?;
//! assert_eq!(batches[0].num_rows(), 2);
//! assert_eq!(batches[0].schema().field(0).name(), "name");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod engines;
pub mod json;
pub mod options;
pub mod parquet;
pub mod split;
mod stream;

pub use arrow_array;
pub use arrow_schema;
#[doc(hidden)]
pub use arrowsmith_core::memory::Refused;
pub use arrowsmith_core::{
    DataError, DecodeOptions, Dialect, DuplicateKeys, Error, ErrorKind, FileError, FileErrorKind,
    FilePlace, Framing, Limits, OnError, Position, Reject, Report, Result, UnknownKeys,
};
pub use arrowsmith_engine::{Chain, Decision, Declined, Engine};
#[cfg(feature = "gpu")]
pub use arrowsmith_engine_gpu as gpu;
#[cfg(feature = "rtl")]
pub use arrowsmith_engine_rtl as rtl;
pub use arrowsmith_pipeline::parquet::{conform_batch, misfit, union_schema};
pub use arrowsmith_pipeline::{Partitions, Progress};
pub use arrowsmith_plan as plan;
pub use arrowsmith_plan::Plan;
#[cfg(feature = "store")]
pub use arrowsmith_source::store;
pub use arrowsmith_source::{
    Compression, DataFile, Input, Ranged, SharedBytes, expand, expand_all, expand_dataset,
    expand_datasets,
};
pub use engines::{ENGINES, EngineOptions, engine};
pub use options::{JsonReadOptions, ParquetReadOptions};

/// Returns the memory that is kept for later batches to the system. The memory of a batch is kept
/// when the batch is dropped, because fresh memory costs more than decoding into it.
pub fn release_memory() {
    arrowsmith_simd::buffer::pool_clear();
}

/// Bytes of Arrow memory in use, of the whole process: by readers, and by batches that were not
/// dropped. Memory that is kept for later batches does not count.
#[must_use]
pub fn live_bytes() -> usize {
    arrowsmith_simd::buffer::live_bytes()
}

/// Sets the maximum memory that is kept for later batches, in bytes, for the whole process. The
/// default is a sixteenth of the machine's memory, at most 1 GiB.
pub fn set_kept_memory_max(bytes: usize) {
    arrowsmith_simd::buffer::set_pool_bytes_max(bytes);
}
