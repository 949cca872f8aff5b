// SPDX-License-Identifier: Apache-2.0
//! JSON numbers to `f64`, `f32` and `f16`, each rounded once, from the decimal text.
//!
//! Convert stage. Three tiers, the first that can answer does:
//! 1. `block`: the number has a fraction and no exponent, and 40 bytes can be read. Up to 7 integer
//!    digits with up to 7 of the fraction, or up to 3 with up to 15, are taken as a multiple of
//!    10⁻⁸ or 10⁻¹⁶, whatever their true count: no branch and no table look-up depends on lengths
//!    that vary from one number to the next, so that none is mispredicted.
//! 2. `general`: any grammar; up to 19 significant digits are exact in 64 bits. More are cut, and
//!    the result holds if the cut number and its successor round alike.
//! 3. The standard library's parser, on the exact text, for the few that remain.
//!
//! `f16` takes a way of its own (see `half`). Nothing here goes from one float type to another,
//! depends on the rounding mode, or allocates.

mod eisel_lemire;
mod half;
mod powers;

use std::str::FromStr;

pub use self::half::parse_f16;

use self::eisel_lemire::{Format, nearest};
use crate::NumberError;
use crate::scan::{Decomposed, continues_number};
use crate::swar::{ZEROS, align_right, convert8, digit_run, keep_low};

/// Parses the number that `input` starts with to the nearest `f64`, ties to even; returns it and
/// its length in bytes. Underflow gives a subnormal or zero; the sign of zero is kept.
///
/// # Errors
/// [`NumberError::Syntax`], [`NumberError::Range`] where rounding gives infinity.
#[inline]
pub fn parse_f64(input: &[u8]) -> Result<(f64, usize), NumberError> {
    parse(input)
}

/// Parses the number that `input` starts with to the nearest `f32`, ties to even; returns it and
/// its length in bytes. Underflow gives a subnormal or zero; the sign of zero is kept.
///
/// # Errors
/// [`NumberError::Syntax`], [`NumberError::Range`] where rounding gives infinity.
#[inline]
pub fn parse_f32(input: &[u8]) -> Result<(f32, usize), NumberError> {
    parse(input)
}

#[inline(always)]
fn parse<F: Format + FromStr>(input: &[u8]) -> Result<(F, usize), NumberError> {
    if let Some(block) = input.first_chunk()
        && let Some(found) = parse_block(block)
    {
        return Ok(found);
    }
    parse_general(input)
}

/// What the first tier looks at: more than the longest number it takes, so that a masked offset is
/// inside without a check.
type Block = [u8; 40];

/// Eight bytes of a block in digit form. The mask only tells the compiler that `at` is inside.
#[inline(always)]
fn digits8(block: &Block, at: usize) -> u64 {
    let mut word = [0; 8];
    let at = at & 0x1F;
    word.copy_from_slice(&block[at..at + 8]);
    u64::from_le_bytes(word) ^ ZEROS
}

/// Byte `count` (0..8) of a word in digit form, as it was in the text.
#[inline(always)]
fn text_byte(word: u64, count: u32) -> u8 {
    (word >> (8 * count)).to_le_bytes()[0] ^ b'0'
}

/// The first tier; `None` leaves the number, valid or not, to the second.
#[inline(always)]
fn parse_block<F: Format>(block: &Block) -> Option<(F, usize)> {
    let negative = block[0] == b'-';
    let start = usize::from(negative);
    let head = digits8(block, start);
    let integer_digits = digit_run(head);
    if integer_digits.wrapping_sub(1) >= 7 || text_byte(head, integer_digits) != b'.' {
        return None;
    }
    if head & 0xFF == 0 && integer_digits > 1 {
        return None;
    }
    let integer = convert8(align_right(head, integer_digits));
    let fraction = start + integer_digits as usize + 1; // at most 9
    let first = digits8(block, fraction);
    let first_digits = digit_run(first);
    let (mantissa, q, next, end);
    if first_digits < 8 {
        next = text_byte(first, first_digits);
        end = fraction + first_digits as usize;
        mantissa = integer * 100_000_000 + convert8(keep_low(first, first_digits));
        q = -8;
        if first_digits == 0 {
            return None;
        }
    } else {
        let second = digits8(block, fraction + 8);
        let second_digits = digit_run(second);
        if second_digits == 8 || integer_digits > 3 {
            return None;
        }
        next = text_byte(second, second_digits);
        end = fraction + 8 + second_digits as usize;
        let low = convert8(keep_low(second, second_digits));
        mantissa = (integer * 100_000_000 + convert8(first)) * 100_000_000 + low;
        q = -16;
    }
    if continues_number(next) {
        return None;
    }
    let bits = nearest::<F>(mantissa, q)?;
    Some((F::assemble(u64::from(negative) << 63, bits), end))
}

/// The second tier, and from there the third.
#[inline(never)]
fn parse_general<F: Format + FromStr>(input: &[u8]) -> Result<(F, usize), NumberError> {
    let number = Decomposed::scan(input)?;
    let rounded = nearest::<F>(number.mantissa, number.exponent);
    if number.truncated && rounded != nearest::<F>(number.mantissa + 1, number.exponent) {
        return parse_exact(&input[..number.len]);
    }
    let bits = rounded.ok_or(NumberError::Range)?;
    Ok((F::assemble(u64::from(number.negative) << 63, bits), number.len))
}

/// The third tier: the text is a whole number of the grammar.
#[cold]
fn parse_exact<F: Format + FromStr>(text: &[u8]) -> Result<(F, usize), NumberError> {
    let value: F = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(NumberError::Syntax)?;
    if value.is_infinite() { Err(NumberError::Range) } else { Ok((value, text.len())) }
}
