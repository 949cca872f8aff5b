// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench`: compares Arrowsmith with the libraries that a user would choose instead.
//!
//! A module for each subject (`json`, `parquet`, `convert`, `write`, `ingest`, `objects`, `jvm`,
//! `flight`, `gpu`, `python`, `spark`, `rtl`), one report, row and page for all (`result`, `page`),
//! and one runner (`suite`) for those whose engines and inputs are data of `bench/definitions`. All
//! participants do the same work on the same bytes in one run, taking turns; the published figures
//! are ratios with their spread, because absolute figures drift on a shared machine. Our own
//! engines are measured in the same way as the others. Every result is checked against a reference;
//! a missing measurement is listed with the reason.
//!
//! It drives engines from outside, and the product never uses it. The run itself installs the
//! peers, into a folder of their own; builds and tests never do.
//!
//! ```
//! use arrowsmith_bench::{Options, json};
//!
//! let options = Options {
//!     size_bytes: Some(64 * 1024),
//!     rounds: Some(1),
//!     workloads: vec!["trip".to_owned()],
//!     engines: vec!["arrow-json".to_owned()],
//!     ..Options::default()
//! };
//! let report = json::run(&options, Vec::new(), &mut |line| eprintln!("{line}"))?;
//! assert!(report.rows[0].valid());
//! let page = arrowsmith_bench::html(&report);
//! assert!(page.starts_with("<!doctype html>"));
//! # Ok::<(), arrowsmith_bench::BenchError>(())
//! ```
#![forbid(unsafe_code)]

mod check;
mod contest;
pub mod convert;
mod corpus;
mod csv;
mod definition;
mod engine;
mod error;
pub mod flight;
mod goal;
pub mod gpu;
pub mod ingest;
mod input;
mod install;
pub mod json;
pub mod jvm;
mod machine;
mod namespace;
pub mod objects;
mod page;
pub mod parquet;
mod peer;
mod process;
pub mod python;
mod reference;
mod report;
mod result;
pub mod rtl;
mod shapes;
pub mod spark;
mod stats;
mod suite;
pub mod write;

pub use check::{Check, Column};
pub use csv::csv;
pub use definition::Strings;
pub use engine::{InProcess, Keep, Prepared, Sink, Source};
pub use error::BenchError;
pub use goal::{Goal, Goals};
pub use reference::ArrowJson;
pub use report::html;
pub use result::{Machine, NotMeasured, Report, Row};
pub use suite::Options;
