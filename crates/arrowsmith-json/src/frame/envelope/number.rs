// SPDX-License-Identifier: Apache-2.0
//! The grammar of a number, byte by byte.

/// The part of a number that was read last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

impl Number {
    pub(super) fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Minus, b'0') => Self::Zero,
            (Self::Minus, b'1'..=b'9') | (Self::Integer, b'0'..=b'9') => Self::Integer,
            (Self::Zero | Self::Integer, b'.') => Self::Point,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Integer | Self::Fraction, b'e' | b'E') => Self::E,
            (Self::E, b'+' | b'-') => Self::Sign,
            (Self::E | Self::Sign | Self::Exponent, b'0'..=b'9') => Self::Exponent,
            _ => return None,
        })
    }

    pub(super) fn is_whole(self) -> bool {
        matches!(self, Self::Zero | Self::Integer | Self::Fraction | Self::Exponent)
    }
}
