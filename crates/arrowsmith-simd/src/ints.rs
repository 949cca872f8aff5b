// SPDX-License-Identifier: Apache-2.0
//! Arrays of integers: from the first element to the closing bracket.
//!
//! A kernel reads elements as long as they are plain: digits, a minus sign where `signed`, commas,
//! at most one space after a comma. At anything else it stops before that element, and the caller
//! continues value by value; so every error is detected and positioned in one place.

use arrowsmith_number::{parse_i64, parse_u64};

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
