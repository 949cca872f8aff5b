// SPDX-License-Identifier: Apache-2.0
//! What the tests of every engine share, and the product never links.
//!
//! - [`oracle`]: an engine that is simple, slow and right; the contract in code.
//! - [`parquet`]: files as cases, random, of the corpora, or broken, and what must hold for
//!   readers.
//! - [`pulsar`]: a real broker, and a consumer that is not ours.
//! - [`tools`]: what becomes of a test whose tool is absent; [`scale`]: how much a test tries.

#![forbid(unsafe_code)]

pub mod case;
pub mod corpus;
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
