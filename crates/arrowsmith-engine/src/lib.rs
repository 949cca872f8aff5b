// SPDX-License-Identifier: Apache-2.0
//! The interface of the engines: the trait, and chains of engines that fall back.
//!
//! This crate is above the formats, whose plans and columns it names, and below every engine and
//! the pipelines. [`Engine`] is the one trait, for JSON and for Parquet. An engine that does not
//! decode a plan or a column returns [`Declined`]; a [`Chain`] tries the next, and records which
//! engine declined what and why: its [`Decision`] is what `--explain` prints. No engine names
//! another: what one cannot decode itself it passes to the rest of its chain. It decodes nothing
//! and makes no threads.
//!
//! To add an engine, implement [`Engine`] in a crate of its own, and enter it in the table of the
//! library `arrowsmith` (`engines.rs` there). The conformance suite of the testkit takes any `&dyn
//! Engine`.

#![forbid(unsafe_code)]

mod chain;
mod declined;
mod engine;
mod unavailable;

pub use chain::{Chain, Decision};
pub use declined::{Answer, Declined, EngineError};
pub use engine::{ColumnDecoder, ColumnRequest, Engine};
pub use unavailable::Absent;

#[cfg(test)]
mod tests;
