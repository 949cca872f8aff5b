// SPDX-License-Identifier: Apache-2.0
//! Record batches to files: sinks, the last step of source → plan → engine → batch → sink.
//!
//! One module, and one feature, for each format: [`ipc`], [`json`], [`parquet`]. Each implements
//! [`Sink`](arrowsmith_core::sink::Sink): it takes batches in order, never reorders rows, and its
//! file appears only when it is complete. [`folder`] is a sink over them: many files, partitioned.
//! Publishers, which send batches to a service and wait for receipts, are the crates
//! `arrowsmith-publish-*`.

#![forbid(unsafe_code)]

#[cfg(feature = "folder")]
pub mod folder;
#[cfg(feature = "ipc")]
pub mod ipc;
#[cfg(feature = "json")]
pub mod json;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(feature = "target")]
pub mod target;
