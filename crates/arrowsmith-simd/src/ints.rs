// SPDX-License-Identifier: Apache-2.0
//! Arrays of integers: from the first element to the closing bracket.
//!
//! A kernel reads elements as long as they are plain: digits, a minus sign where `signed`, commas,
//! at most one space after a comma. At anything else it stops before that element, and the caller
//! continues value by value; so every error is detected and positioned in one place.

use arrowsmith_number::{parse_i64, parse_u64};

use crate::isa::Isa;
use crate::{Buf, Input};

/// The result of an integer kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntList {
    /// With `closed`, the position after the `]`; else that of the next element to read, or of
    /// white space before it.
    pub pos: usize,
    /// Whether the array was read to its end.
    pub closed: bool,
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
        let text = input.from(pos);
        let read = if signed {
            parse_i64(text).map(|(value, len)| (value.cast_unsigned(), len))
        } else {
            parse_u64(text)
        };
        let Ok((value, len)) = read else { return IntList { pos, closed: false } };
        let end = pos + len;
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

/// The numbers of a window, one bit per byte.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    pub(crate) digit: u64,
    /// The first byte after each number.
    pub(crate) end: u64,
    /// A bit for each number, in order: whether it has a minus sign.
    pub(crate) negative: u64,
}

/// The number of digits of the longest number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Longest {
    Four,
    Eight,
    Twenty,
}

/// Whether `bits` has a run of more than `LEN` ones.
#[inline(always)]
pub(crate) fn run_longer_than<const LEN: u32>(bits: u64) -> bool {
    // A run of n + 1 ones survives n rounds of `and` with itself shifted by one; each step doubles
    // the number of rounds.
    let two = bits & (bits << 1);
    let four = two & (two << 2);
    match LEN {
        4 => four & (bits << 4) != 0,
        8 => four & (four << 4) & (bits << 8) != 0,
        _ => {
            let eight = four & (four << 4);
            let sixteen = eight & (eight << 8);
            sixteen & (four << 16) & (bits << 20) != 0
        }
    }
}

/// The part of [`int_list_windows`] that differs by instruction set. It is not a closure, because
/// that would be compiled without the instruction set.
pub(crate) trait Convert: Isa {
    /// Appends the numbers of the window at `pos` to `out`; if one does not fit, appends nothing
    /// and returns `false`.
    ///
    /// # Safety
    /// The window is inside the input, starts with a number, and has these numbers.
    unsafe fn convert(
        self,
        input: Input<'_>,
        pos: usize,
        numbers: Numbers,
        signed: bool,
        out: &mut Buf<u64>,
    ) -> bool;
}

/// A kernel with masks of 64 bytes at a time.
#[inline(always)]
pub(crate) fn int_list_windows<I: Convert>(
    isa: I,
    input: Input<'_>,
    mut pos: usize,
    out: &mut Buf<u64>,
    signed: bool,
) -> IntList {
    loop {
        let window = input.window(pos);
        let digit = isa.digits(window);
        let comma = isa.equal_to(window, b',');
        let space = isa.equal_to(window, b' ');
        let minus = if signed { isa.equal_to(window, b'-') } else { 0 };
        let zero = isa.equal_to(window, b'0');
        let other = !(digit | comma | space | minus);
        let stopped = IntList { pos, closed: false };

        // The part of the window that is used: up to the `]`, or up to and including the last
        // comma.
        let closed = other != 0;
        let used = if closed {
            (other & other.wrapping_neg()) - 1
        } else if comma != 0 {
            u64::MAX >> comma.leading_zeros()
        } else {
            return stopped;
        };
        let digit = digit & used;
        let (comma, space, minus) = (comma & used, space & used, minus & used);
        let after_digit = digit << 1;
        let (after_comma, after_space) = (comma << 1, space << 1);
        let end = after_digit & !digit;
        let start = digit & !after_digit;
        let mut wrong = comma & !after_digit;
        wrong |= ((start & zero) << 1) & digit;
        if space | minus == 0 {
            wrong |= (after_comma | 1) & !digit;
        } else {
            wrong |= space & !after_comma;
            wrong |= (after_comma | 1) & !(digit | space | minus);
            wrong |= after_space & !(digit | minus);
            wrong |= minus & !(after_comma | after_space | 1);
            wrong |= (minus << 1) & !digit;
        }
        if wrong & used != 0 {
            return stopped;
        }
        let next = if closed {
            let at = other.trailing_zeros() as usize;
            // The array ends with a digit and a bracket, not with a comma or anything else.
            if input.at(pos + at) != b']' || after_digit >> at & 1 == 0 {
                return stopped;
            }
            pos + at + 1
        } else {
            let next = pos + 64 - comma.leading_zeros() as usize;
            next + usize::from(input.at(next) == b' ')
        };
        let negative = if minus == 0 { 0 } else { isa.gather_bits(minus << 1, start) };
        let numbers = Numbers { digit, end, negative };
        // SAFETY: a window with numbers is inside the input; this one starts with a number, or has
        // none.
        if !unsafe { isa.convert(input, pos, numbers, signed, out) } {
            return stopped;
        }
        pos = next;
        if closed {
            return IntList { pos, closed: true };
        }
    }
}
