// SPDX-License-Identifier: Apache-2.0
//! Schemas as text: `name: type`, one per line.
//!
//! [`parse_schema`] reads a text written by a person, [`format_schema`] writes an inferred schema,
//! and parsing its output gives the same schema again. `docs/guide/schema.md` has the grammar.
//! Nothing here opens files or decides whether JSON can be decoded to a type.
//!
//! ```
//! use arrow_schema::DataType;
//! use arrowsmith_plan::text::{format_schema, parse_schema};
//!
//! let schema = parse_schema(
//!     r#"
//!     ts: timestamp(us, "UTC") not null
//!     tags: list<utf8>            # nullable, with nullable items
//!     "odd name": struct<a: int64, payload: json>
//!     "#,
//! )?;
//! assert_eq!(schema.field(2).name(), "odd name");
//! assert_eq!(parse_schema(&format_schema(&schema))?, schema);
//! # Ok::<(), arrowsmith_core::Error>(())
//! ```

mod lex;
mod parse;
mod types;
mod write;

pub(crate) use parse::parse_coercion;
pub use parse::parse_schema;
pub use write::{format_schema, format_type};
pub(crate) use write::{quote, unit_name};

#[cfg(test)]
mod tests;
