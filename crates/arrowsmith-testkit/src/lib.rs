// SPDX-License-Identifier: Apache-2.0
//! Test support shared by the tests of all engines; never linked into the product.
//!
//! - [`conformance`]: what every engine has to pass, for JSON and for Parquet.
//! - [`drift`]: records whose keys and types change, and the schema of all of them.
//! - [`engines`]: single engines, for tests of what drives them.
//! - [`oracle`]: a simple, slow and correct engine; the contract as code.
//! - [`parquet`]: files as cases, random, from the corpora, or corrupted, and the properties that
//!   readers must have.
//! - [`pulsar`]: a real broker, and an independent consumer.
//! - [`tools`]: how tests handle missing tools; [`scale`]: how many cases a test runs.

#![forbid(unsafe_code)]

pub mod case;
pub mod conformance;
pub mod corpus;
pub mod drift;
pub mod engines;
pub mod oracle;
pub mod parquet;
pub mod pulsar;
pub mod random;
pub mod render;
pub mod run;
pub mod scale;
pub mod tools;

pub use scale::full;
pub use tools::{absent, unsupported};
