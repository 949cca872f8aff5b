// SPDX-License-Identifier: Apache-2.0
//! The first tier of floats: a plain number of usual length, almost without branches.
//!
//! ```text
//! if the whole number is in the first word: remove the point, convert once
//! integer  = the digits up to the first other byte, one word
//! fraction = the digits after the point, if there is one: two or three words, truncated after the
//!            last digit and padded with zeros to 8, 12, 16 or 19 places
//! exponent = one word, if there is one
//! result   = (integer, fraction) as one u64 × 10^(exponent − places)
//! ```
//!
//! The tricks: the fraction is read as a fixed number of words, so that no branch and no table
//! lookup depends on the number of digits, which varies from number to number. Branches depend only
//! on properties that seldom vary within a column: whether the number is short, has a fraction, has
//! one of 8 digits or more, has an exponent. As the time is mostly the latency of one number,
//! results stay in registers. Other numbers, valid or not, are left to the second tier. Nothing
//! here reads outside its block.

use super::eisel_lemire::{Format, nearest};
use crate::scan::continues_number;
use crate::swar::{ZEROS, align_right, convert8, digit_run, keep_low, stops, text_byte};

/// Longer than the longest number handled here, so that a masked offset needs no bounds check.
pub(super) type Block = [u8; 40];

/// Eight bytes in digit form. The mask only proves to the compiler that `at` is in bounds.
#[inline(always)]
fn digits8(block: &Block, at: u32) -> u64 {
    let mut word = [0; 8];
    let at = (at & 0x1F) as usize;
    word.copy_from_slice(&block[at..at + 8]);
    u64::from_le_bytes(word) ^ ZEROS
}

/// A float as bits, with its sign in bit 63, and the length of its text, 0 if there is no number.
/// As two integers it stays in registers, also across calls.
#[derive(Clone, Copy)]
pub(super) struct Parsed {
    pub(super) bits: u64,
    pub(super) len: usize,
}

impl Parsed {
    pub(super) const NONE: Self = Self { bits: 0, len: 0 };

    #[inline(always)]
    pub(super) fn number(magnitude: u64, negative: bool, end: u32) -> Self {
        Self { bits: magnitude | u64::from(negative) << 63, len: end as usize }
    }
}

/// A number whose digits are read.
#[derive(Clone, Copy)]
struct Digits {
    negative: bool,
    mantissa: u64,
    /// Where the digits end.
    end: u32,
    /// The byte there.
    next: u8,
}

/// Parses the number at the start of the block; [`Parsed::NONE`] leaves it to the second tier.
#[inline(always)]
pub(super) fn parse_block<F: Format>(block: &Block) -> Parsed {
    const E8: u64 = 100_000_000;
    let negative = block[0] == b'-';
    let sign = u32::from(negative);
    let head = digits8(block, 0) >> (8 * sign);
    let stops = stops(head);
    let count = stops.trailing_zeros() / 8;
    if count.wrapping_sub(1) >= 7 || (head & 0xFF == 0 && count > 1) {
        return Parsed::NONE;
    }
    let next = text_byte(head, count);
    if next != b'.' {
        let integer = convert8(align_right(head, count));
        let digits = Digits { negative, mantissa: integer, end: sign + count, next };
        return finish::<F>(block, digits, 0);
    }

    // The whole number is in one word, from which the point is removed.
    let after = stops & (stops - 1);
    if after != 0 {
        let end = after.trailing_zeros() / 8;
        let places = end - count - 1;
        if places == 0 {
            return Parsed::NONE;
        }
        let before_point = (1 << (8 * count)) - 1;
        let joined = (head & before_point) | ((head >> 8) & !before_point);
        let mantissa = convert8(align_right(joined, end - 1));
        let next = text_byte(head, end);
        return finish::<F>(block, Digits { negative, mantissa, end: sign + end, next }, places);
    }

    let integer = convert8(align_right(head, count));
    let at = sign + count + 1;
    let first = digits8(block, at);
    let count = digit_run(first);
    if count < 8 {
        if count == 0 {
            return Parsed::NONE;
        }
        let mantissa = integer * E8 + convert8(keep_low(first, count));
        let (end, next) = (at + count, text_byte(first, count));
        return finish::<F>(block, Digits { negative, mantissa, end, next }, 8);
    }

    let second = digits8(block, at + 8);
    let count = digit_run(second);
    let high = integer * E8 + convert8(first);
    if count < 8 {
        let low = convert8(keep_low(second, count));
        let (end, next) = (at + 8 + count, text_byte(second, count));
        if integer < 1000 {
            let mantissa = high * E8 + low;
            return finish::<F>(block, Digits { negative, mantissa, end, next }, 16);
        }
        if count <= 4 {
            let mantissa = high * 10_000 + low / 10_000;
            return finish::<F>(block, Digits { negative, mantissa, end, next }, 12);
        }
        return Parsed::NONE;
    }

    let third = digits8(block, at + 16);
    let count = digit_run(third);
    if integer != 0 {
        // Seventeen digits in scientific notation end here.
        if count == 0 && integer < 1000 {
            let mantissa = high * E8 + convert8(second);
            let (end, next) = (at + 16, text_byte(third, 0));
            return finish::<F>(block, Digits { negative, mantissa, end, next }, 16);
        }
        return Parsed::NONE;
    }
    if count > 3 {
        return Parsed::NONE;
    }
    let low = keep_low(third, count);
    let low = (low & 0xFF) * 100 + ((low >> 8) & 0xFF) * 10 + (low >> 16);
    let mantissa = (high * E8 + convert8(second)) * 1000 + low;
    let (end, next) = (at + 16 + count, text_byte(third, count));
    finish::<F>(block, Digits { negative, mantissa, end, next }, 19)
}

/// Rounds a number of `places` decimal places.
#[inline(always)]
fn finish<F: Format>(block: &Block, digits: Digits, places: u32) -> Parsed {
    if continues_number(digits.next) {
        return finish_with_exponent::<F>(block, digits, places);
    }
    if places <= 8
        && let Some(bits) = F::exact(digits.mantissa, -i64::from(places))
    {
        return Parsed::number(bits, digits.negative, digits.end);
    }
    match nearest::<F>(digits.mantissa, -i64::from(places)) {
        Some(bits) => Parsed::number(bits, digits.negative, digits.end),
        None => Parsed::NONE,
    }
}

/// Reads an exponent of up to four digits where the digits end (at most 28), and rounds.
#[inline(never)]
fn finish_with_exponent<F: Format>(block: &Block, digits: Digits, places: u32) -> Parsed {
    if digits.next | 0x20 != b'e' {
        return Parsed::NONE;
    }
    let sign = block[(digits.end & 0x1F) as usize + 1];
    let at = digits.end + 1 + u32::from(matches!(sign, b'+' | b'-'));
    let word = digits8(block, at);
    let count = digit_run(word);
    if count.wrapping_sub(1) >= 4 || continues_number(text_byte(word, count)) {
        return Parsed::NONE;
    }
    let exponent = convert8(align_right(word, count)).cast_signed();
    let exponent = if sign == b'-' { -exponent } else { exponent };
    let exponent = exponent - i64::from(places);
    let bits = match F::exact(digits.mantissa, exponent) {
        Some(bits) => Some(bits),
        None => nearest::<F>(digits.mantissa, exponent),
    };
    match bits {
        Some(bits) => Parsed::number(bits, digits.negative, at + count),
        None => Parsed::NONE,
    }
}
