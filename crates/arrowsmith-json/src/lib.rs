// SPDX-License-Identifier: Apache-2.0
//! JSON text before decoding: the ends of its records, and the schema that matches them.
//!
//! This is between a source and an engine: [`frame`] splits bytes into chunks of whole records,
//! [`infer`] infers the schema of a plan from the first of them, [`kinds`] collects what the rules
//! of another program need for that, and [`rescue`] finds what a plan has no column for. None of
//! them does I/O or builds an Arrow array.
//!
//! ```
//! use arrowsmith_core::{Chunk, Framing};
//! use arrowsmith_json::infer::{InferOptions, Inferrer};
//! use arrowsmith_plan::text::format_schema;
//!
//! let mut inferrer = Inferrer::new(InferOptions::default());
//! inferrer.observe(&Chunk::new(b"{\"a\":1}\n{\"a\":2.5,\"b\":[\"x\"]}\n", Framing::Lines))?;
//! assert_eq!(format_schema(&inferrer.finish()?), "a: float64\nb: list<utf8>\n");
//! # Ok::<(), arrowsmith_core::Error>(())
//! ```

#![forbid(unsafe_code)]

mod cursor;
pub mod frame;
pub mod infer;
mod key;
pub mod kinds;
mod not_text;
mod record;
pub mod rescue;

pub use not_text::{KeyNotText, key_not_text};
pub use record::{record_starts, records};
