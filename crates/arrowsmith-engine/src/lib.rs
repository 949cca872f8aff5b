// SPDX-License-Identifier: Apache-2.0
//! The door of the engines: what an engine is, and who decodes if it does not.
//!
//! This stands above the formats, whose plans and columns it names, and below every engine and the
//! pipelines. [`Engine`] is the one trait, for JSON and for Parquet. An engine that does not take a
//! plan or a column says so by [`Declined`]; a [`Chain`] asks the next, and keeps who declined what
//! and why: its [`Decision`] is what `--explain` prints. No engine knows another: what one cannot
//! do within its own work it hands to the rest of the chain that it was given. It decodes nothing
//! and makes no threads.
//!
//! To add an engine, implement [`Engine`] in a crate of its own, and enter it in the table of the
//! library `arrowsmith` (`engines.rs` there). The conformance suite of the testkit takes any `&dyn
//! Engine`.

#![forbid(unsafe_code)]

mod absent;
mod chain;
mod declined;
mod engine;

pub use absent::Absent;
pub use chain::{Chain, Decision};
pub use declined::{Answer, Declined, EngineError};
pub use engine::{ColumnDecoder, ColumnRequest, Engine};

#[cfg(test)]
mod tests;
