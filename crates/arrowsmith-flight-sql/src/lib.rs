// SPDX-License-Identifier: Apache-2.0
//! Flight SQL over the datasets of `arrowsmith-flight`, through DataFusion: for JDBC and ADBC
//! drivers.
//!
//! - `tables`: datasets as DataFusion's tables; projections, conditions and limits are pushed down
//!   to the readers (`pushdown`).
//! - `engine`: statements are planned and run, on threads of their own, and only if they read.
//! - `bounds`, `counts`: limits on the size and depth of a statement; `balance`: balanced chains;
//!   `clock`, `deadline`: time limits of planning; `growth`, `guard`, `budget`: memory of a query.
//! - `instants`: comparisons of times, exact.
//! - `metadata`: the metadata commands of drivers; `plain`: the types that drivers know.
//! - `prepared`: statements with parameters, kept for their clients, a bounded number of them.
//! - `service`: the commands of the protocol.
//!
//! It opens nothing itself: tables are the catalog's datasets and nothing else, and statements that
//! would write, or read a file by its name, are refused.

#![forbid(unsafe_code)]

mod aliases;
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
mod nesting;
mod pace;
mod plain;
mod prepared;
mod pushdown;
mod service;
mod statement;
mod tables;
mod text;
mod unread;
mod windows;

pub use service::{FlightSql, SqlOptions};

/// The name of the only catalog.
pub const CATALOG: &str = "arrowsmith";

/// The name of the schema in it.
pub const SCHEMA: &str = "public";

/// The name of the schema that describes it.
pub(crate) const INFORMATION: &str = "information_schema";
