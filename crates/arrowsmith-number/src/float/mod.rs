// SPDX-License-Identifier: Apache-2.0
//! JSON numbers to `f64`, `f32` and `f16`, each rounded once, from the decimal text.
//!
//! Convert stage. Three tiers, of which the first that can handle the number does:
//! 1. `block`: up to 7 integer digits, 8 to 19 of a fraction, an optional exponent, in 40 readable
//!    bytes, nearly without branches.
//! 2. `general`: any valid number; up to 19 significant digits are exact in 64 bits. More are
//!    truncated, and the result holds if the truncated number and its successor round to the same
//!    float.
//! 3. The standard library's parser, on the exact text, for the few that remain.
//!
//! `f16` is handled separately (see `half`). Nothing here converts between float types, depends on
//! the rounding mode, or allocates.

mod block;
mod eisel_lemire;
mod half;
mod powers;

use std::str::FromStr;

pub use self::half::parse_f16;

/// The 128 most significant bits of 5^q for q from −342 to 308, as (high, low) halves: the table of
/// Eisel–Lemire, for engines that run the algorithm on other hardware.
#[must_use]
pub fn powers_of_five() -> &'static [(u64, u64)] {
    &powers::POWERS_OF_FIVE
}

use self::block::{Parsed, parse_block};
use self::eisel_lemire::{Format, nearest};
use crate::NumberError;
use crate::scan::Decomposed;

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

/// The `f64` nearest to `mantissa × 10^exponent`, ties to even; `None` where that is infinite.
#[inline(always)]
#[must_use]
pub fn nearest_f64(mantissa: u64, exponent: i64) -> Option<f64> {
    nearest::<f64>(mantissa, exponent).map(f64::from_bits)
}

#[inline(always)]
fn parse<F: Format + FromStr>(input: &[u8]) -> Result<(F, usize), NumberError> {
    if let Some(block) = input.first_chunk()
        && let Parsed { bits, len: len @ 1.. } = parse_block::<F>(block)
    {
        return Ok((F::assemble(bits), len));
    }
    parse_general(input)
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
    Ok((F::assemble(u64::from(number.negative) << 63 | bits), number.len))
}

/// The third tier; the text is one complete, valid number.
#[cold]
fn parse_exact<F: Format + FromStr>(text: &[u8]) -> Result<(F, usize), NumberError> {
    let value: F = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(NumberError::Syntax)?;
    if value.is_infinite() { Err(NumberError::Range) } else { Ok((value, text.len())) }
}
