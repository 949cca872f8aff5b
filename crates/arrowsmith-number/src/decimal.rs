// SPDX-License-Identifier: Apache-2.0
//! JSON numbers to decimals of 128 and 256 bits: exact, or an error.
//!
//! Convert stage. The value times ten to the scale has to be an integer of at most `precision`
//! digits, whatever the spelling (`12e-1`, `1.20`). The conversion never uses floats and never
//! rounds.

use arrow_buffer::i256;

use crate::NumberError;
use crate::scan::{Decomposed, scan_exponent};
use crate::swar::{POW10_U64, byte_at};

/// Powers of ten that fit 127 bits.
const POW10_I128: [i128; 39] = {
    let mut powers = [1; 39];
    let mut i = 1;
    while i < 39 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// Parses the number that `input` starts with to the integer `value × 10^scale`; returns it and
/// the number's length in bytes. A precision above 38 counts as 38.
///
/// # Errors
/// [`NumberError::Syntax`]; [`NumberError::Inexact`] for non-zero digits beyond the scale;
/// [`NumberError::Range`] for more digits than the precision.
#[inline]
pub fn parse_decimal128(
    input: &[u8],
    precision: u8,
    scale: i8,
) -> Result<(i128, usize), NumberError> {
    let number = Decomposed::scan(input)?;
    let limit = POW10_I128[usize::from(precision.min(38))];
    let magnitude = match small_magnitude(&number, scale) {
        Some(magnitude) => magnitude?,
        None => {
            let halves = long_magnitude(&input[..number.len], scale, 38)?;
            // Numbers of up to 38 digits are entirely in `high`.
            halves.high.checked_mul(power_i128(halves.zeros)?).ok_or(NumberError::Range)?
        }
    };
    if magnitude >= limit {
        return Err(NumberError::Range);
    }
    Ok((if number.negative { -magnitude } else { magnitude }, number.len))
}

/// Parses the number that `input` starts with to the integer `value × 10^scale`; returns it and
/// the number's length in bytes. A precision above 76 counts as 76.
///
/// # Errors
/// As [`parse_decimal128`].
#[inline]
pub fn parse_decimal256(
    input: &[u8],
    precision: u8,
    scale: i8,
) -> Result<(i256, usize), NumberError> {
    let number = Decomposed::scan(input)?;
    let precision = precision.min(76);
    let magnitude = match small_magnitude(&number, scale) {
        Some(Ok(magnitude)) => i256::from_i128(magnitude),
        // Too long for 128 bits, but perhaps not for 256.
        Some(Err(NumberError::Range)) | None => {
            let halves = long_magnitude(&input[..number.len], scale, 76)?;
            let low_weight = i256::from_i128(power_i128(halves.low_digits)?);
            i256::from_i128(halves.high)
                .checked_mul(low_weight)
                .and_then(|high| high.checked_add(i256::from_i128(halves.low)))
                .and_then(|value| value.checked_mul(power_i256(halves.zeros)?))
                .ok_or(NumberError::Range)?
        }
        Some(Err(error)) => return Err(error),
    };
    let over = match POW10_I128.get(usize::from(precision)) {
        Some(&limit) => magnitude >= i256::from_i128(limit),
        // Small values, which are common, need no 256-bit power.
        None if magnitude < i256::from_i128(POW10_I128[38]) => false,
        None => power_i256(u32::from(precision)).is_none_or(|limit| magnitude >= limit),
    };
    if over {
        return Err(NumberError::Range);
    }
    Ok((if number.negative { magnitude.wrapping_neg() } else { magnitude }, number.len))
}

fn power_i128(exponent: u32) -> Result<i128, NumberError> {
    POW10_I128.get(exponent as usize).copied().ok_or(NumberError::Range)
}

fn power_i256(exponent: u32) -> Option<i256> {
    match POW10_I128.get(exponent as usize) {
        Some(&power) => Some(i256::from_i128(power)),
        None => i256::from_i128(10).checked_pow(exponent),
    }
}

/// The scaled magnitude of a number of up to nineteen significant digits; `None` for longer ones.
#[inline]
fn small_magnitude(number: &Decomposed, scale: i8) -> Option<Result<i128, NumberError>> {
    let (mantissa, exponent) = (number.mantissa, number.exponent);
    let shift = exponent.saturating_add(i64::from(scale));
    if number.truncated {
        return None;
    }
    if mantissa == 0 {
        return Some(Ok(0));
    }
    if shift >= 0 {
        let Some(at) = usize::try_from(shift).ok().filter(|&at| at < POW10_I128.len()) else {
            return Some(Err(NumberError::Range));
        };
        // A mantissa of nineteen digits times 10¹⁹ is below 2¹²⁷: no check, which would be slow.
        let product = match POW10_U64.get(at) {
            Some(&power) => Some(i128::from(mantissa).wrapping_mul(i128::from(power))),
            None => i128::from(mantissa).checked_mul(POW10_I128[at]),
        };
        return Some(product.ok_or(NumberError::Range));
    }
    // A number of nineteen digits has at most eighteen trailing zeros.
    let power = usize::try_from(-shift).ok().and_then(|at| POW10_U64.get(at));
    Some(match power {
        Some(&power) if mantissa % power == 0 => Ok(i128::from(mantissa / power)),
        _ => Err(NumberError::Inexact),
    })
}

/// A magnitude `(high × 10^low_digits + low) × 10^zeros`, each half of at most 38 digits.
struct Halves {
    high: i128,
    low: i128,
    low_digits: u32,
    zeros: u32,
}

/// The scaled magnitude of any valid number that has at most `digits_max` digits.
#[cold]
fn long_magnitude(text: &[u8], scale: i8, digits_max: u32) -> Result<Halves, NumberError> {
    let digits = &text[usize::from(byte_at(text, 0) == b'-')..];
    let digits_end = digits.iter().position(|b| b | 0x20 == b'e').unwrap_or(digits.len());
    let exponent = if digits_end < digits.len() { scan_exponent(digits, digits_end)?.0 } else { 0 };
    let digits = &digits[..digits_end];
    let integer_digits = digits.iter().position(|&b| b == b'.').unwrap_or(digits_end);
    // The power of ten of the current digit after scaling; below zero the digit would be lost.
    let mut power =
        exponent + i64::from(scale) + i64::try_from(integer_digits).unwrap_or(i64::MAX / 4);
    let (mut high, mut low, mut kept) = (0i128, 0i128, 0u32);
    // Digits that would be lost are reported in preference to too many digits.
    let mut too_many = false;
    let mut digits = digits.iter().filter(|&&b| b != b'.');
    for &byte in digits.by_ref() {
        power -= 1;
        let digit = i128::from(byte - b'0');
        if power < 0 {
            if digit != 0 {
                return Err(NumberError::Inexact);
            }
        } else if kept == 0 && digit == 0 {
            // A leading zero.
        } else if kept < 38 {
            high = high * 10 + digit;
            kept += 1;
        } else if kept < digits_max {
            low = low * 10 + digit;
            kept += 1;
        } else {
            too_many = true;
        }
    }
    if too_many {
        return Err(NumberError::Range);
    }
    let zeros = if kept == 0 { 0 } else { power.max(0) };
    let zeros = u32::try_from(zeros).map_err(|_| NumberError::Range)?;
    Ok(Halves { high, low, low_digits: kept.saturating_sub(38), zeros })
}
