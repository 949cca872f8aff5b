// SPDX-License-Identifier: Apache-2.0
//! JSON integers to `u64` and `i64`, with every overflow found.
//!
//! Convert stage: eight digits, eight more, then the rest, one word per step. For narrower types
//! the caller uses `try_from`. A fraction or an exponent is never accepted, even if the value is an
//! integer.

use crate::NumberError;
use crate::scan::{continues_number, scan_number};
use crate::swar::{
    POW10_U64, ZEROS, align_right, byte_at, convert8, digit_run, load8_padded, text_byte,
};

/// Parses the integer that `input` starts with; returns it and its length in bytes.
///
/// # Errors
/// [`NumberError::Syntax`], [`NumberError::NotInteger`], [`NumberError::Negative`] for any minus
/// sign, [`NumberError::Range`] above `u64::MAX`.
#[inline(always)]
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
#[inline(always)]
pub fn parse_i64(input: &[u8]) -> Result<(i64, usize), NumberError> {
    let negative = byte_at(input, 0) == b'-';
    let Some((magnitude, end)) = magnitude(input, usize::from(negative)) else {
        return Err(explain(input, true));
    };
    // In two's complement 2⁶³ is a valid magnitude only for a negative number.
    if magnitude > i64::MAX.unsigned_abs() + u64::from(negative) {
        return Err(NumberError::Range);
    }
    let value = magnitude.cast_signed();
    Ok((if negative { value.wrapping_neg() } else { value }, end))
}

/// The unsigned integer at `start` and its end; `None` if there is none.
#[inline(always)]
fn magnitude(input: &[u8], start: usize) -> Option<(u64, usize)> {
    let word = load8_padded(input, start) ^ ZEROS;
    let count = digit_run(word);
    if count == 8 {
        return magnitude_long(input, start, word);
    }
    // The byte after the digits is in the word too.
    let leading_zero = word & 0xFF == 0 && count > 1;
    if count == 0 || leading_zero || continues_number(text_byte(word, count)) {
        return None;
    }
    Some((convert8(align_right(word, count)), start + count as usize))
}

/// As [`magnitude`], for eight digits or more, the first eight of them in `first`.
#[inline]
fn magnitude_long(input: &[u8], start: usize, first: u64) -> Option<(u64, usize)> {
    if first & 0xFF == 0 {
        return None; // a leading zero
    }
    let high = convert8(first);
    let word = load8_padded(input, start + 8) ^ ZEROS;
    let count = digit_run(word);
    if count < 8 {
        let value = append(high, word, count);
        let end = start + 8 + count as usize;
        return (!continues_number(text_byte(word, count))).then_some((value, end));
    }
    let high = high * 100_000_000 + convert8(word);
    let word = load8_padded(input, start + 16) ^ ZEROS;
    let count = digit_run(word);
    if count > 4 || continues_number(text_byte(word, count)) {
        return None; // more than 20 digits, or not an integer
    }
    let end = start + 16 + count as usize;
    if count < 4 {
        return Some((append(high, word, count), end));
    }
    let low = convert8(align_right(word, 4));
    Some((high.checked_mul(10_000)?.checked_add(low)?, end))
}

/// Appends the first `count` (0..8) digits of a word to `value`, which has up to sixteen digits; up
/// to nineteen in all.
#[inline(always)]
fn append(value: u64, word: u64, count: u32) -> u64 {
    // Shifted in two steps, as a count of 0 would require a shift by 64.
    let low = convert8((word << (56 - 8 * count)) << 8);
    value * POW10_U64[count as usize & 7] + low
}

/// The error for an `input` that does not start with an integer of the type.
#[cold]
fn explain(input: &[u8], signed: bool) -> NumberError {
    match scan_number(input) {
        Err(error) => error,
        Ok(shape) if !shape.is_integer() => NumberError::NotInteger,
        Ok(shape) if shape.negative && !signed => NumberError::Negative,
        Ok(_) => NumberError::Range,
    }
}
