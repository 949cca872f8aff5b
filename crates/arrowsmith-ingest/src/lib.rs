// SPDX-License-Identifier: Apache-2.0
//! The ingest service: JSON over TCP, HTTP and files → Arrow → sinks, with nothing lost.
//!
//! Five stages: **receive** takes bytes and cuts them into buffers of whole lines;
//! **parse**, **resize** and **serialize** make batches and messages of them on the parser threads;
//! **publish** brings messages to every sink of the stream, through a spool where that is asked for.
//! Each stage is bounded, and waiting reaches the sender. It parses nothing itself: engines do.

#![forbid(unsafe_code)]

pub mod alone;
mod clock;
pub mod config;
mod disk;
mod files;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod history;
mod job;
mod latency;
mod memory;
mod metrics;
#[cfg(test)]
mod model;
mod numbers;
mod order;
mod otlp;
mod panics;
mod parse;
mod receive;
mod rejects;
mod resize;
mod runs;
mod service;
mod signals;
mod sink;
pub mod sinks;
mod skipping;
mod spool;
mod stages;
mod status;
mod stream;
mod tls;
mod web;
mod width;
mod work;

pub use config::Config;
pub use service::{Service, StreamSummary, Summary};
