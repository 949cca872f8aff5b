// SPDX-License-Identifier: Apache-2.0
//! JSON text before it is decoded: where its records end, and which schema fits them.
//!
//! This is what stands between a source and an engine: [`frame`] cuts bytes into chunks of whole
//! records, and [`infer`] finds the schema of a plan from the first of them. Both take bytes that
//! somebody else has read, and neither makes an Arrow array.
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

pub mod frame;
pub mod infer;
