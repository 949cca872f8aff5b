// SPDX-License-Identifier: Apache-2.0
//! Flight SQL over the datasets of `arrowsmith-flight`, through DataFusion: what JDBC and ADBC drivers talk to.
//!
//! - `tables`: datasets as DataFusion's tables; projections, conditions and limits go down to our readers (`pushdown`).
//! - `engine`: statements are planned and run, on threads of their own, and only if they read.
//! - `bounds`, `counts`: how large and how deep a statement may be; `balance`: chains made shallow; `clock`, `deadline`:
//!   when planning ends; `growth`, `guard`, `budget`: what a query may take.
//! - `instants`: comparisons of times, exact.
//! - `metadata`: the commands with which drivers look around.
//! - `prepared`: statements with parameters, kept for their clients, a bounded number of them.
//! - `service`: the commands of the protocol.
//!
//! It opens nothing itself: tables are the catalog's datasets and nothing else, and statements that would write, or
//! read a file by its name, are refused.

#![forbid(unsafe_code)]

mod balance;
mod bounds;
mod budget;
mod clock;
mod counts;
mod deadline;
mod engine;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod growth;
mod guard;
mod information;
mod instants;
mod metadata;
mod pace;
mod prepared;
mod pushdown;
mod service;
mod tables;
mod text;

pub use service::{FlightSql, SqlOptions};

/// The name of the only catalog.
pub const CATALOG: &str = "arrowsmith";

/// The name of the schema in it.
pub const SCHEMA: &str = "public";

/// The name of the schema that describes it.
pub(crate) const INFORMATION: &str = "information_schema";
