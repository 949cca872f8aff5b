// SPDX-License-Identifier: Apache-2.0
//! Records that are one array of integers, for AVX2; see [`crate::stream`] for the conditions.
//!
//! The masks of a window are words, of which each shifts its top bits into the next one; numbers
//! are converted by [`super::ints`].

use super::Avx2;
use super::ints::convert;
use crate::ints::Longest;
use crate::isa::Isa;
use crate::stream::{BLOCK_BYTES, Masks, Passes, WINDOWS};

/// The passes over blocks, and the masks of the window before the next one.
pub(super) struct Blocks {
    isa: Avx2,
    digit: u64,
    separator: u64,
    leading_zero: u64,
}

impl Blocks {
    pub(super) fn new(isa: Avx2) -> Self {
        // The byte before the first block is a '['.
        Self { isa, digit: 0, separator: 1 << 63, leading_zero: 0 }
    }
}

/// `mask` moved up by `by` bytes of text, after those of the window before it.
#[inline(always)]
fn shifted(mask: u64, before: u64, by: u32) -> u64 {
    mask << by | before >> (64 - by)
}

/// A window after the one before it, in which runs of ones may continue.
#[inline(always)]
fn joined(before: u64, mask: u64) -> u128 {
    u128::from(mask) << 64 | u128::from(before)
}

/// The bits of the second window of two.
#[inline(always)]
fn second(both: u128) -> u64 {
    (both >> 64) as u64
}

/// The longest run of digits, which is longer than four; `None` if it is longer than twenty.
#[inline(never)]
fn long(digits: &[u64; WINDOWS], mut before: u64) -> Option<Longest> {
    let (mut nine, mut many) = (0, 0);
    for digit in digits {
        let one = joined(before, *digit);
        let two = one & one << 1;
        let four = two & two << 2;
        let eight = four & four << 4;
        let sixteen = eight & eight << 8;
        nine |= second(eight & one << 8);
        many |= second(sixteen & four << 16 & one << 20);
        before = *digit;
    }
    match (nine, many) {
        (0, _) => Some(Longest::Eight),
        (_, 0) => Some(Longest::Twenty),
        _ => None,
    }
}

impl Passes for Blocks {
    #[inline(always)]
    fn scan(&mut self, block: &[u8; BLOCK_BYTES], masks: &mut Masks) -> Option<Longest> {
        let isa = self.isa;
        let before = self.digit;
        let (mut wrong, mut five) = (0, 0);
        let (windows, _) = block.as_chunks::<64>();
        for (i, window) in windows.iter().enumerate().take(WINDOWS) {
            let digit = isa.digits(window);
            let comma = isa.equal_to(window, b',');
            let bracket = isa.equal_to(window, b'[');
            let after_digit = shifted(digit, self.digit, 1);
            let separator = comma | bracket;
            let after_separator = shifted(separator, self.separator, 1);
            let leading_zero = isa.equal_to(window, b'0') & !after_digit;
            let after_zero = shifted(leading_zero, self.leading_zero, 1);
            wrong |= comma & !after_digit | after_separator & !digit | after_zero & digit;
            // Runs of more than four digits, by their last one.
            let one = joined(self.digit, digit);
            let two = one & one << 1;
            five |= second(two & two << 2 & one << 4);
            masks.digit[i] = digit;
            masks.comma[i] = comma;
            masks.bracket[i] = bracket;
            masks.end[i] = after_digit & !digit;
            (self.digit, self.separator, self.leading_zero) = (digit, separator, leading_zero);
        }
        match (wrong, five) {
            (0, 0) => Some(Longest::Four),
            (0, _) => long(&masks.digit, before),
            _ => None,
        }
    }

    #[inline(always)]
    unsafe fn numbers(
        &self,
        block: *const u8,
        masks: &Masks,
        longest: Longest,
        signed: bool,
        to: *mut u64,
        counts: &mut [u32; WINDOWS],
    ) -> Option<usize> {
        let (mut done, mut fits) = (0, true);
        for (i, (count_before, end)) in counts.iter_mut().zip(&masks.end).enumerate() {
            #[expect(clippy::cast_possible_truncation, reason = "below half of BLOCK_BYTES")]
            let before = done as u32;
            *count_before = before;
            // SAFETY: `isa` proves AVX2; the windows and 64 bytes before them can be read, and at
            // most half the bytes of a block end a number, so that there is room for 64, by
            // contract.
            fits &= unsafe { convert(block.add(64 * i), *end, longest, signed, to.add(done)) };
            done += end.count_ones() as usize;
        }
        fits.then_some(done)
    }
}
