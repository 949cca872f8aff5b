// SPDX-License-Identifier: Apache-2.0
//! How a decoder handles input that does not match the plan. One struct for all engines.

use crate::Limits;

/// How to handle a record that does not match the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// Stop with an error; the rows before it are kept.
    #[default]
    Fail,
    /// Replace a value that does not match by a null in the innermost nullable field around it; a
    /// record that is not JSON becomes a row of nulls. If no such field is nullable, the record is
    /// skipped as by [`OnError::Skip`]. Every replacement is counted and reported.
    Null,
    /// Skip the record, and report it in full, with the reason.
    Skip,
}

/// How to handle a key that appears twice in one object (RFC 8259 leaves it open).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DuplicateKeys {
    /// Use the last value, as most JSON parsers do.
    #[default]
    Last,
    /// [`ErrorKind::DuplicateKey`](crate::ErrorKind::DuplicateKey).
    Error,
}

/// How to handle a key that is not in the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownKeys {
    /// Ignore the key and its value.
    #[default]
    Skip,
    /// [`ErrorKind::UnknownKey`](crate::ErrorKind::UnknownKey).
    Error,
}

/// Whose rules decide which value a text is, where programs that read JSON differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// ISO 8601, exactly; strings only in string columns.
    #[default]
    Iso,
    /// What the JSON source of Apache Spark 4 reads: its forms of dates and timestamps, integers
    /// as seconds, no leap seconds, base64 with padding only, and any value, as text, in columns of
    /// strings.
    Spark,
}

/// The options of a decoder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeOptions {
    /// How to handle a record that does not match the schema.
    pub on_error: OnError,
    /// How to handle a key that appears twice in one object.
    pub duplicate_keys: DuplicateKeys,
    /// How to handle a key that is not in the schema.
    pub unknown_keys: UnknownKeys,
    /// Accept `NaN`, `Infinity` and `-Infinity` in floating-point fields, as Python's `json` writes
    /// them.
    pub allow_nan: bool,
    /// Whose rules decide which value a text is.
    pub dialect: Dialect,
    /// Trust the input to be valid JSON: skipped values are not validated, only their brackets are
    /// matched.
    pub trust: bool,
    /// Limits on sizes that the input determines.
    pub limits: Limits,
}
