// SPDX-License-Identifier: Apache-2.0
//! JSON integers to `u64` and `i64`, with every overflow found.
//!
//! Convert stage: eight digits, eight more, then what is left, each step one word. Narrower types
//! are the caller's `try_from`. It never accepts a fraction or an exponent, be its value whole.

use crate::scan::{continues_number, scan_number};
use crate::swar::{ZEROS, align_right, append_digits, byte_at, convert8, digit_run, load8};
use crate::{NumberError, swar::POW10_U64};

/// Parses the integer that `input` starts with; returns it and its length in bytes.
///
/// # Errors
/// [`NumberError::Syntax`], [`NumberError::NotInteger`], [`NumberError::Negative`] for any minus
/// sign, [`NumberError::Range`] above `u64::MAX`.
#[inline]
pub fn parse_u64(input: &[u8]) -> Result<(u64, usize), NumberError> {
    match magnitude(input, 0) {
        Some(found) => Ok(found),
        None => Err(explain(input, false)),
    }
}

/// Parses the integer that `input` starts with; returns it and its length in bytes.
///
/// # Errors
/// [`NumberError::Syntax`], [`NumberError::NotInteger`], [`NumberError::Range`] outside of
/// `i64::MIN..=i64::MAX`.
#[inline]
pub fn parse_i64(input: &[u8]) -> Result<(i64, usize), NumberError> {
    let negative = byte_at(input, 0) == b'-';
    let Some((magnitude, end)) = magnitude(input, usize::from(negative)) else {
        return Err(explain(input, true));
    };
    // Of two's complement: 2⁶³ is the one magnitude that only the negative side has.
    if magnitude > i64::MAX.unsigned_abs() + u64::from(negative) {
        return Err(NumberError::Range);
    }
    let value = magnitude.cast_signed();
    Ok((if negative { value.wrapping_neg() } else { value }, end))
}

/// The unsigned integer at `start` and where it ends; `None` for all that is not one.
#[inline(always)]
fn magnitude(input: &[u8], start: usize) -> Option<(u64, usize)> {
    let Some(word) = load8(input, start) else {
        return magnitude_short(input, start);
    };
    let word = word ^ ZEROS;
    let count = digit_run(word);
    if count == 8 {
        return magnitude_long(input, start, word);
    }
    // The byte that ends the digits is in the word too.
    let next = ((word >> (8 * count)) & 0xFF) ^ 0x30;
    let leading_zero = word & 0xFF == 0 && count > 1;
    if count == 0 || leading_zero || continues_number(next.to_le_bytes()[0]) {
        return None;
    }
    Some((convert8(align_right(word, count)), start + count as usize))
}

/// As [`magnitude`], near the end of the input.
#[cold]
fn magnitude_short(input: &[u8], start: usize) -> Option<(u64, usize)> {
    let (value, end) = append_digits(input, start, 0);
    accept(input, start, end).then_some((value, end))
}

/// As [`magnitude`], of eight digits and more, the first eight of them in `first`.
#[inline]
fn magnitude_long(input: &[u8], start: usize, first: u64) -> Option<(u64, usize)> {
    let mut value = convert8(first);
    let mut at = start + 8;
    if let Some(word) = load8(input, at) {
        let word = word ^ ZEROS;
        let count = digit_run(word);
        if count == 8 {
            value = value * 100_000_000 + convert8(word);
            at += 8;
        } else {
            if count > 0 {
                let low = convert8(align_right(word, count));
                value = value * POW10_U64[count as usize & 7] + low;
            }
            at += count as usize;
            return accept(input, start, at).then_some((value, at));
        }
    }
    // At most twelve digits more: bytes at the end of the input, or digits 17 to 20.
    loop {
        let digit = byte_at(input, at).wrapping_sub(b'0');
        if digit > 9 {
            return accept(input, start, at).then_some((value, at));
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        at += 1;
    }
}

/// True where `start..end` is a complete integer of the grammar.
#[inline(always)]
fn accept(input: &[u8], start: usize, end: usize) -> bool {
    let digits = end - start;
    let leading_zero = digits > 1 && byte_at(input, start) == b'0';
    digits > 0 && !leading_zero && !continues_number(byte_at(input, end))
}

/// Why `input` did not start with an integer of the type.
#[cold]
fn explain(input: &[u8], signed: bool) -> NumberError {
    match scan_number(input) {
        Err(error) => error,
        Ok(shape) if !shape.is_integer() => NumberError::NotInteger,
        Ok(shape) if shape.negative && !signed => NumberError::Negative,
        Ok(_) => NumberError::Range,
    }
}
