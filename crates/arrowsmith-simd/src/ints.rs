// SPDX-License-Identifier: Apache-2.0
//! Arrays of integers: from the first element to the closing bracket.
//!
//! A kernel takes elements as long as they are plain: digits, a minus sign where `signed`, commas, at
//! most one space after a comma. At anything else it stops in front of an element, and the caller goes on
//! value by value; so every error is found, and positioned, in one place.

use crate::{Buf, Input};

/// What an integer kernel did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntList {
    /// With `closed`, the position after the `]`; else that of the element to go on with, or of white
    /// space before it.
    pub pos: usize,
    /// Whether the array was read to its end.
    pub closed: bool,
}

const ZEROS: u64 = 0x3030_3030_3030_3030;
const TOP_BITS: u64 = 0x8080_8080_8080_8080;

/// Powers of ten up to 10^8.
pub(crate) const POW10: [u64; 9] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Marks with its top bit every byte of `word ^ ZEROS` that is no digit; exact below the first mark.
#[inline(always)]
fn non_digits(xored: u64) -> u64 {
    (xored.wrapping_add(0x7676_7676_7676_7676) | xored) & TOP_BITS
}

/// Eight digits, the first in the low byte, to a number below 10^8: pairs, fours, eight.
#[inline(always)]
fn eight_digits(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let low = (pairs & 0x0000_00FF_0000_00FF).wrapping_mul(0x000F_4240_0000_0064);
    let high = ((pairs >> 16) & 0x0000_00FF_0000_00FF).wrapping_mul(0x0000_2710_0000_0001);
    low.wrapping_add(high) >> 32
}

/// Up to eight digits at the front of `digits`, `count` of them.
#[inline(always)]
fn some_digits(digits: u64, count: u32) -> u64 {
    if count == 0 { 0 } else { eight_digits(digits << (64 - 8 * count)) }
}

/// Reads digits from `pos`: their value, and the position after them. `None` for no digit, a leading
/// zero before others, and more than 64 bits.
#[inline(always)]
pub fn unsigned(input: Input<'_>, pos: usize) -> Option<(u64, usize)> {
    let first = input.word(pos) ^ ZEROS;
    let marks = non_digits(first);
    if marks != 0 {
        let count = marks.trailing_zeros() / 8;
        if count == 0 || (first & 0xff == 0 && count > 1) {
            return None;
        }
        return Some((some_digits(first, count), pos + count as usize));
    }
    if first & 0xff == 0 {
        return None;
    }
    let second = input.word(pos + 8) ^ ZEROS;
    let marks = non_digits(second);
    let high = eight_digits(first);
    if marks != 0 {
        let count = marks.trailing_zeros() / 8;
        let value = high * POW10[count as usize & 7] + some_digits(second, count);
        return Some((value, pos + 8 + count as usize));
    }
    let third = input.word(pos + 16) ^ ZEROS;
    let marks = non_digits(third);
    let count = marks.trailing_zeros() / 8;
    if marks == 0 || count > 4 {
        return None;
    }
    let high = high * POW10[8] + eight_digits(second);
    let value = u128::from(high) * u128::from(POW10[count as usize & 7])
        + u128::from(some_digits(third, count));
    Some((u64::try_from(value).ok()?, pos + 16 + count as usize))
}

/// Reads an integer as 64 bits, in two's complement when `signed`. `None` as [`unsigned`], and for
/// what `signed` cannot hold.
#[inline(always)]
pub fn integer(input: Input<'_>, pos: usize, signed: bool) -> Option<(u64, usize)> {
    let negative = signed && input.at(pos) == b'-';
    let (magnitude, end) = unsigned(input, pos + usize::from(negative))?;
    let limit = if signed { (1 << 63) - u64::from(!negative) } else { u64::MAX };
    let value = if negative { magnitude.wrapping_neg() } else { magnitude };
    (magnitude <= limit).then_some((value, end))
}

/// The portable kernel: one element after another.
#[inline(always)]
pub fn int_list_scalar(
    input: Input<'_>,
    mut pos: usize,
    out: &mut Buf<u64>,
    signed: bool,
) -> IntList {
    loop {
        let Some((value, end)) = integer(input, pos, signed) else {
            return IntList { pos, closed: false };
        };
        match input.at(end) {
            b',' => {
                out.push(value);
                pos = end + 1;
                pos += usize::from(input.at(pos) == b' ');
            }
            b']' => {
                out.push(value);
                return IntList { pos: end + 1, closed: true };
            }
            _ => return IntList { pos, closed: false },
        }
    }
}
