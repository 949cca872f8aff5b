// SPDX-License-Identifier: Apache-2.0
//! The ingest service: JSON over TCP, HTTP and files → Arrow → sinks, with nothing lost.
//!
//! Five stages: **receive** splits bytes into buffers of whole lines; **parse**, **resize** and
//! **serialize** make batches and messages of them on the parser threads; **publish** sends
//! messages to every sink of the stream, through a spool if configured. Each stage is bounded, and
//! backpressure reaches the sender. The crate parses nothing itself: engines do.

#![forbid(unsafe_code)]

mod auto;
mod clock;
mod compiled;
pub mod config;
mod disk;
mod files;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod job;
mod memory;
#[cfg(test)]
mod model;
mod observe;
mod panics;
mod parse;
#[cfg(any(test, feature = "parts"))]
#[doc(hidden)]
pub mod parts;
mod publish;
mod receive;
mod rejects;
mod resize;
mod sequence;
mod service;
mod spool;
mod store;
mod stream;
mod units;
mod width;

pub use config::Config;
pub use publish::sinks;
pub use rejects::RejectLine;
pub use service::{Service, StreamSummary, Summary};
