// SPDX-License-Identifier: Apache-2.0
//! The two error types of this crate: one for JSON numbers, one for the text of strings.
//!
//! They are small and `Copy`, so that the hot paths return them in registers. They have no
//! position: the calling engine adds source, record, byte offset and field path. They never contain
//! a part of the input.

use std::fmt;

/// Why a JSON number could not be converted to the requested type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NumberError {
    /// The input does not start with a valid JSON number, or the number is followed by bytes of
    /// `[0-9.eE+-]` that make it malformed (`01`, `1.`, `1e`, `-`).
    Syntax,
    /// The value is not representable in the type: `1e400` as a double, `256` as a `decimal(2, 0)`.
    Range,
    /// The value lies between two values of an exact type: digits would be lost.
    Inexact,
    /// An integer was requested and the number has a fraction or an exponent, even `1.0` or `1e2`.
    NotInteger,
    /// An unsigned integer was requested and the number has a minus sign, even `-0`.
    Negative,
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "not a JSON number",
            Self::Range => "number out of range",
            Self::Inexact => "number has more digits than the type keeps",
            Self::NotInteger => "number has a fraction or an exponent",
            Self::Negative => "number is negative",
        })
    }
}

impl std::error::Error for NumberError {}

/// Why the text of a string could not be converted to the requested type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TextError {
    /// The text does not have the accepted form, or a field is outside its calendar range (month
    /// 13).
    Syntax,
    /// The text is well-formed and its value is not representable in the type and unit.
    Range,
    /// The fraction of a second has non-zero digits finer than the unit.
    Inexact,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "text is not of the accepted form",
            Self::Range => "value out of range",
            Self::Inexact => "fraction of a second is finer than the unit",
        })
    }
}

impl std::error::Error for TextError {}
