// SPDX-License-Identifier: Apache-2.0
//! The two error types of this crate: one for JSON numbers, one for the text of strings.
//!
//! They are small and `Copy`, so that the hot paths return them in registers. They know nothing of
//! positions: the engine that calls adds source, record, byte offset and field path. They never
//! hold a piece of the input.

use std::fmt;

/// Why a JSON number did not become a value of the asked type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NumberError {
    /// The bytes do not start with a number of the JSON grammar, or the number runs on into bytes
    /// of `[0-9.eE+-]` that make it ungrammatical (`01`, `1.`, `1e`, `-`).
    Syntax,
    /// The value is not representable in the type: `1e400` as a double, `256` as a `decimal(2, 0)`.
    Range,
    /// The value lies between two values of an exact type: digits would be lost.
    Inexact,
    /// An integer was asked for and the number has a fraction or an exponent, be it `1.0` or `1e2`.
    NotInteger,
    /// An unsigned integer was asked for and the number has a minus sign, be it `-0`.
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

/// Why the text of a string did not become a value of the asked type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TextError {
    /// The text is not of the accepted form, or a field is outside its calendar range (month 13).
    Syntax,
    /// The text is well-formed and its value is not representable in the type and unit.
    Range,
    /// The fraction of a second has digits finer than the unit that are not zero.
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
