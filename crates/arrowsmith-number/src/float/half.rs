// SPDX-License-Identifier: Apache-2.0
//! JSON numbers to `f16`, exactly.
//!
//! Exact arithmetic is simplest for half floats: all of them, and the points half-way between them,
//! are multiples of 2⁻²⁵ below 2¹⁶, hence integer multiples of 10⁻²⁵, which fit into 128 bits. Of
//! finer digits it only matters whether they are zero. Convert stage; it never uses a wider float,
//! which would round twice.

use half::f16;

use crate::NumberError;
use crate::scan::{scan_exponent, scan_number};

/// 10²⁵ units are one.
const UNIT_DIGITS: i64 = 25;
const FIVE_25: u128 = 5u128.pow(25);

/// Parses the number that `input` starts with to the nearest `f16`, ties to even; returns it and
/// its length in bytes. Underflow gives a subnormal or zero; the sign of zero is kept.
///
/// # Errors
/// [`NumberError::Syntax`], [`NumberError::Range`] where rounding gives infinity (from 65520 on).
#[inline]
pub fn parse_f16(input: &[u8]) -> Result<(f16, usize), NumberError> {
    let shape = scan_number(input)?;
    let text = &input[usize::from(shape.negative)..shape.len];
    let magnitude = units(text)?.round()?;
    Ok((f16::from_bits(u16::from(shape.negative) << 15 | magnitude), shape.len))
}

/// A magnitude in units of 10⁻²⁵, and whether finer non-zero digits were dropped.
struct Units {
    count: u128,
    more: bool,
}

/// The magnitude of a valid number; an error from 10⁵ on.
fn units(text: &[u8]) -> Result<Units, NumberError> {
    let digits_end = text.iter().position(|b| b | 0x20 == b'e').unwrap_or(text.len());
    let exponent = if digits_end < text.len() { scan_exponent(text, digits_end)?.0 } else { 0 };
    let digits = &text[..digits_end];
    let integer_digits = digits.iter().position(|&b| b == b'.').unwrap_or(digits_end);
    // The power of ten of the current digit; the first one is 10^(integer_digits − 1).
    let mut power = exponent + i64::try_from(integer_digits).unwrap_or(i64::MAX / 4);
    let (mut count, mut more) = (0u128, false);
    for &byte in digits.iter().filter(|&&b| b != b'.') {
        power -= 1;
        let digit = byte - b'0';
        if power < -UNIT_DIGITS {
            more |= digit != 0;
        } else if power < 5 {
            count = count * 10 + u128::from(digit);
        } else if digit != 0 {
            return Err(NumberError::Range);
        }
    }
    // The last digit is above the unit: append zeros; few, as it is at most 10⁴.
    if count != 0 && power > -UNIT_DIGITS {
        let zeros = u32::try_from(power + UNIT_DIGITS).map_err(|_| NumberError::Range)?;
        count *= 10u128.pow(zeros);
    }
    Ok(Units { count, more })
}

impl Units {
    /// The bits of the nearest half float, without sign.
    fn round(self) -> Result<u16, NumberError> {
        // 10⁻²⁵ × 2²⁵ = 5⁻²⁵: now in units of 2⁻²⁵, half of the smallest subnormal.
        let halves = self.count / FIVE_25;
        let more = self.more || !self.count.is_multiple_of(FIVE_25);
        // Eleven bits of significand, fewer for subnormals, and one rounding bit after them.
        let bits = 128 - halves.leading_zeros();
        let shift = bits.saturating_sub(11).max(1);
        let mut significand = halves >> shift;
        let rest = halves & ((1 << shift) - 1);
        let half = 1 << (shift - 1);
        let up = rest > half || (rest == half && (more || significand & 1 == 1));
        significand += u128::from(up);
        // A significand of eleven bits has its top bit in the exponent field, so the exponent is
        // added less one; a rounding carry propagates the same way.
        let bits = significand + (u128::from(shift - 1) << 10);
        match u16::try_from(bits) {
            Ok(bits) if bits < f16::INFINITY.to_bits() => Ok(bits),
            _ => Err(NumberError::Range),
        }
    }
}
