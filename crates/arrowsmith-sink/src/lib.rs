// SPDX-License-Identifier: Apache-2.0
//! Record batches to files: sinks, the last step of source → plan → engine → batch → sink.
//!
//! One module, and one feature, for each format: [`csv`], [`ipc`], [`json`], [`parquet`]. Each
//! implements [`Sink`](arrowsmith_core::sink::Sink): it takes batches in order, never reorders
//! rows, and its file appears only when it is complete. Others are sinks over them: [`folder`],
//! many files, partitioned; [`delta`] and [`iceberg`], a folder with metadata that says which files
//! are the table; [`sort`], which sorts what a file gets.
//! Publishers, which send batches to a service and wait for receipts, are the crates
//! `arrowsmith-publish-*`.

#![forbid(unsafe_code)]

#[cfg(any(feature = "table", feature = "parquet"))]
mod cast;
#[cfg(feature = "csv")]
pub mod csv;
#[cfg(feature = "delta")]
pub mod delta;
#[cfg(feature = "folder")]
pub mod folder;
#[cfg(feature = "iceberg")]
pub mod iceberg;
#[cfg(feature = "ipc")]
pub mod ipc;
#[cfg(feature = "json")]
pub mod json;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(feature = "sort")]
pub mod sort;
#[cfg(feature = "table")]
pub mod table;
#[cfg(feature = "target")]
pub mod target;
#[cfg(feature = "text")]
mod text;
#[cfg(feature = "text")]
mod times;
#[cfg(feature = "variant")]
pub mod variant;
