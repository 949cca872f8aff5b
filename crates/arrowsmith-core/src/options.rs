// SPDX-License-Identifier: Apache-2.0
//! How a decoder treats what is not as the plan expects. One struct for every engine.

use crate::Limits;

/// What becomes of a record that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// Stop with an error; the rows before it are kept.
    #[default]
    Fail,
    /// Put a null in the innermost nullable field around a value that does not fit; a record that
    /// is not JSON becomes a row of nulls. Where no null is allowed the record is rejected as by
    /// [`OnError::Skip`]. Every replacement is counted and reported.
    Null,
    /// Leave the record out, and report it, whole, with the reason.
    Skip,
}

/// What a key that appears twice in one object means (RFC 8259 leaves it open).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DuplicateKeys {
    /// The last value counts, as in most JSON parsers.
    #[default]
    Last,
    /// [`ErrorKind::DuplicateKey`](crate::ErrorKind::DuplicateKey).
    Error,
}

/// What becomes of a key that the schema does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownKeys {
    /// Its value is skipped.
    #[default]
    Skip,
    /// [`ErrorKind::UnknownKey`](crate::ErrorKind::UnknownKey).
    Error,
}

/// The options of a decoder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeOptions {
    /// What becomes of a record that does not fit.
    pub on_error: OnError,
    /// What a key that appears twice means.
    pub duplicate_keys: DuplicateKeys,
    /// What becomes of a key that the schema does not have.
    pub unknown_keys: UnknownKeys,
    /// Take `NaN`, `Infinity` and `-Infinity` in floating-point fields, as Python's `json` writes
    /// them.
    pub allow_nan: bool,
    /// Trust that the input is valid JSON: skipped values are only balanced, not validated.
    pub trust: bool,
    /// Bounds on what input may ask for.
    pub limits: Limits,
}
