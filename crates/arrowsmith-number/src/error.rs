// SPDX-License-Identifier: Apache-2.0
//! The two error types of this crate: one for JSON numbers, one for the text of strings.
//!
//! They are small and `Copy`, so that the hot paths return them in registers. They have no
//! position: the calling engine adds source, record, byte offset and field path. They never contain
//! a part of the input.

/// Why a JSON number could not be converted to the requested type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum NumberError {
    /// The input does not start with a valid JSON number, or the number is followed by bytes of
    /// `[0-9.eE+-]` that make it malformed (`01`, `1.`, `1e`, `-`).
    #[error("not a JSON number")]
    Syntax,
    /// The value is not representable in the type: `1e400` as a double, `256` as a `decimal(2, 0)`.
    #[error("number out of range")]
    Range,
    /// The value lies between two values of an exact type: digits would be lost.
    #[error("number has more digits than the type keeps")]
    Inexact,
    /// An integer was requested and the number has a fraction or an exponent, even `1.0` or `1e2`.
    #[error("number has a fraction or an exponent")]
    NotInteger,
    /// An unsigned integer was requested and the number has a minus sign, even `-0`.
    #[error("number is negative")]
    Negative,
}

/// Why the text of a string could not be converted to the requested type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The text does not have the accepted form, or a field is outside its calendar range (month
    /// 13).
    #[error("text is not of the accepted form")]
    Syntax,
    /// The text is well-formed and its value is not representable in the type and unit.
    #[error("value out of range")]
    Range,
    /// The fraction of a second has non-zero digits finer than the unit.
    #[error("fraction of a second is finer than the unit")]
    Inexact,
}
