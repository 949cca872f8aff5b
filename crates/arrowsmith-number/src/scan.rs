// SPDX-License-Identifier: Apache-2.0
//! The grammar of JSON numbers, and the decomposition of a number into sign, digits and exponent.
//!
//! The first step of every conversion without a fast path of its own. [`scan_number`] only checks
//! the grammar; [`Decomposed`] also has the first nineteen significant digits as an integer. Both
//! take a slice that starts at the number and may continue after it, and never read more than one
//! byte after the number.

use crate::NumberError;
use crate::swar::{append_digits, byte_at, skip_digits};

/// Significant digits that always fit a `u64`.
pub(crate) const DIGITS_MAX: usize = 19;

/// The syntactic properties of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberShape {
    /// Length of the number in bytes.
    pub len: usize,
    /// It starts with a minus sign.
    pub negative: bool,
    /// It has a decimal point, and digits after it.
    pub has_fraction: bool,
    /// It has an exponent.
    pub has_exponent: bool,
}

impl NumberShape {
    /// True for a number written without fraction and exponent.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        !self.has_fraction && !self.has_exponent
    }
}

/// True for the bytes that may not follow a complete number: `[0-9.eE+-]`.
#[inline(always)]
pub(crate) fn continues_number(byte: u8) -> bool {
    const CONTINUES: [bool; 256] = {
        let mut table = [false; 256];
        let bytes = b"0123456789.eE+-";
        let mut i = 0;
        while i < bytes.len() {
            table[bytes[i] as usize] = true;
            i += 1;
        }
        table
    };
    CONTINUES[usize::from(byte)]
}

/// Checks the grammar of the number that `input` starts with.
///
/// # Errors
/// [`NumberError::Syntax`].
#[inline]
pub fn scan_number(input: &[u8]) -> Result<NumberShape, NumberError> {
    let negative = byte_at(input, 0) == b'-';
    let start = usize::from(negative);
    let mut end = skip_digits(input, start);
    check_integer_part(input, start, end)?;
    let has_fraction = byte_at(input, end) == b'.';
    if has_fraction {
        let fraction = end + 1;
        end = skip_digits(input, fraction);
        if end == fraction {
            return Err(NumberError::Syntax);
        }
    }
    let has_exponent = byte_at(input, end) | 0x20 == b'e';
    if has_exponent {
        let digits = exponent_digits_at(input, end);
        end = skip_digits(input, digits);
        if end == digits {
            return Err(NumberError::Syntax);
        }
    }
    if continues_number(byte_at(input, end)) {
        return Err(NumberError::Syntax);
    }
    Ok(NumberShape { len: end, negative, has_fraction, has_exponent })
}

/// At least one digit, and no leading zero before another digit.
#[inline(always)]
fn check_integer_part(input: &[u8], start: usize, end: usize) -> Result<(), NumberError> {
    let digits = end - start;
    if digits == 0 || (digits > 1 && byte_at(input, start) == b'0') {
        return Err(NumberError::Syntax);
    }
    Ok(())
}

/// The start of the digits of an exponent whose `e` is at `at`.
#[inline(always)]
fn exponent_digits_at(input: &[u8], at: usize) -> usize {
    at + 1 + usize::from(matches!(byte_at(input, at + 1), b'+' | b'-'))
}

/// A number as `± mantissa × 10^exponent`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decomposed {
    pub(crate) negative: bool,
    /// All significant digits, or the first nineteen.
    pub(crate) mantissa: u64,
    pub(crate) exponent: i64,
    /// Whether a digit after the first nineteen is not zero.
    pub(crate) truncated: bool,
    /// Length of the number in bytes.
    pub(crate) len: usize,
}

impl Decomposed {
    /// Decomposes the number that `input` starts with; fails with [`NumberError::Syntax`] only.
    #[inline]
    pub(crate) fn scan(input: &[u8]) -> Result<Self, NumberError> {
        let negative = byte_at(input, 0) == b'-';
        let start = usize::from(negative);
        let (mut mantissa, mut end) = append_digits(input, start, 0);
        check_integer_part(input, start, end)?;
        let mut digits = end - start;
        let mut fraction_digits = 0;
        if byte_at(input, end) == b'.' {
            let fraction = end + 1;
            (mantissa, end) = append_digits(input, fraction, mantissa);
            fraction_digits = end - fraction;
            if fraction_digits == 0 {
                return Err(NumberError::Syntax);
            }
            digits += fraction_digits;
        }
        let digits_end = end;
        let mut exponent = 0;
        if continues_number(byte_at(input, end)) {
            (exponent, end) = scan_exponent(input, end)?;
        }
        // Slices are shorter than isize::MAX and the exponent was capped, so nothing is lost here.
        let mut exponent = exponent - i64::try_from(fraction_digits).unwrap_or(i64::MAX / 4);
        let mut truncated = false;
        if digits > DIGITS_MAX {
            let dropped;
            (mantissa, dropped, truncated) = leading_digits(&input[start..digits_end]);
            exponent += dropped;
        }
        Ok(Self { negative, mantissa, exponent, truncated, len: end })
    }
}

/// The exponent whose `e` is at `at`, and its end. Capped at ±10¹⁸, far above the number of digits
/// that memory can hold, so that the cap never changes the rounded value.
#[inline]
pub(crate) fn scan_exponent(input: &[u8], at: usize) -> Result<(i64, usize), NumberError> {
    const CAP: i64 = 1_000_000_000_000_000_000;
    if byte_at(input, at) | 0x20 != b'e' {
        return Err(NumberError::Syntax);
    }
    let start = exponent_digits_at(input, at);
    let mut end = start;
    let mut value: i64 = 0;
    loop {
        let digit = byte_at(input, end).wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = (value.saturating_mul(10).saturating_add(i64::from(digit))).min(CAP);
        end += 1;
    }
    if end == start || continues_number(byte_at(input, end)) {
        return Err(NumberError::Syntax);
    }
    Ok((if byte_at(input, at + 1) == b'-' { -value } else { value }, end))
}

/// The first nineteen significant digits, the count of digits dropped after them, and whether one
/// of those is not zero.
#[cold]
fn leading_digits(text: &[u8]) -> (u64, i64, bool) {
    let significant = text.iter().filter(|&&b| b != b'.').skip_while(|&&b| b == b'0');
    let (mut mantissa, mut kept, mut dropped, mut truncated) = (0u64, 0, 0i64, false);
    for byte in significant {
        if kept < DIGITS_MAX {
            mantissa = mantissa * 10 + u64::from(byte - b'0');
            kept += 1;
        } else {
            dropped += 1;
            truncated |= *byte != b'0';
        }
    }
    (mantissa, dropped, truncated)
}
