// SPDX-License-Identifier: Apache-2.0
//! Schema → [`Plan`]: the schema-specialised decoder as data, the only input of an engine.
//!
//! A plan is compiled once from an Arrow schema (given, read from a file, written as text, or
//! inferred) and is a tree of typed decoders, as in Fig. 7 of the JSON paper. It is printable and
//! hashable; equal plans print equal text. This crate decodes nothing and does no I/O beyond
//! reading a schema file.

#![forbid(unsafe_code)]

mod coerce;
mod explain;
pub mod load;
mod overlay;
pub mod plan;
pub mod text;
mod unselected;
mod width;

pub use arrowsmith_core::Error;
pub use coerce::{COERCE_METADATA_KEY, Coercion, with_coercion};
pub use overlay::with_types;
pub use plan::{
    BinaryEncoding, FieldPlan, FloatWidth, IntWidth, Node, Op, Plan, ROOT_METADATA_KEY,
    VALUE_FIELD_NAME, split_path,
};
pub use width::width;
