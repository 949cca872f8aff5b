// SPDX-License-Identifier: Apache-2.0
//! Sources to record batches: framing, decoder threads, order, bounded memory.
//!
//! This joins source → plan → engine → batch. [`JsonPipeline`] reads inputs, splits them into
//! chunks of whole records, decodes them on one thread or several, and returns the batches in the
//! order of the input through [`BatchIter`]. [`PushDecoder`] does the same for callers that have
//! the bytes already, without threads. [`sample`] infers a schema first. Engines do the decoding;
//! nothing here writes batches. [`parquet`] is the same for Parquet files, which are split along
//! row groups and columns.
//!
//! ```
//! use std::sync::Arc;
//!
//! use arrow_schema::{DataType, Field, Schema};
//! use arrowsmith_engine::Engine;
//! use arrowsmith_pipeline::JsonPipeline;
//! use arrowsmith_plan::Plan;
//! use arrowsmith_source::Input;
//!
//! fn rows(engine: Arc<dyn Engine>, text: &[u8]) -> arrowsmith_core::Result<usize> {
//!     let schema = Schema::new(vec![Field::new("a", DataType::Int64, true)]);
//!     let plan = Arc::new(Plan::new(Arc::new(schema))?);
//!     let batches =
//!         JsonPipeline::builder(plan, engine).inputs([Input::bytes(text.to_vec())]).start()?;
//!     let mut rows = 0;
//!     for batch in batches {
//!         rows += batch?.num_rows();
//!     }
//!     Ok(rows)
//! }
//! # assert_eq!(rows(arrowsmith_testkit::engines::cpu(), b"{\"a\":1}\n{\"a\":2}\n")?, 2);
//! # Ok::<(), arrowsmith_core::Error>(())
//! ```

#![forbid(unsafe_code)]

mod batches;
mod builder;
mod cut;
mod decide;
mod earlier;
mod exact;
mod faults;
mod grow;
mod in_flight;
mod order;
mod origin;
pub mod parquet;
mod partition;
mod pool;
mod progress;
mod push;
mod rebatch;
mod sample;
mod select;
mod work;

pub use arrowsmith_json::frame::{Documents, ParentField, RecordsPath};
pub use arrowsmith_json::infer::InferOptions;
pub use batches::{BatchIter, Turn};
pub use builder::JsonPipeline;
pub use faults::InferredKeys;
pub use grow::{Collect, Grow, Growth, PlanSoFar, Planner, Step, may_widen, settle, widens};
pub use origin::Origin;
pub use partition::Partitions;
pub use progress::Progress;
pub use push::PushDecoder;
pub use sample::{Sample, SampleOptions, sample};
pub use select::{Select, SelectOptions};

/// Bytes of text that one decoder takes at once: large enough that passing it to a thread costs
/// nothing compared with decoding it, small enough that it and its columns stay in or near a core's
/// L2 cache.
pub const CHUNK_BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests;
