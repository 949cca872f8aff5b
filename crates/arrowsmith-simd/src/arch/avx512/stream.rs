// SPDX-License-Identifier: Apache-2.0
//! Records that are one array of integers, for AVX-512; see [`crate::stream`] for the conditions.
//!
//! ```text
//! for each block of 4 KiB:
//!   1  masks of digits, commas, '[' and zeros for its 64 windows; for eight windows at a time,
//!      compare shifted masks (across windows) and collect violations; stop if there is any
//!   2  for each window: numbers, as in `super::ints`, in lanes for the longest number of the block
//!   3  for each '[': compare the literal before it, append the offset
//! truncate to the last valid '['
//! ```

use std::arch::x86_64::*;

use super::ints::{convert4, convert8, convert20, iota, store_widened};
use crate::ints::Longest;
use crate::stream::{BLOCK_BYTES, Masks, Passes, WINDOWS};

/// The last masks of the previous block, which its last window shifts into this one.
#[derive(Clone, Copy)]
struct Carry {
    digit: __m512i,
    separator: __m512i,
    leading_zero: __m512i,
}

/// The passes, on a CPU that has AVX-512.
pub(super) struct Blocks(Carry);

impl Blocks {
    /// # Safety
    /// The CPU has AVX-512.
    #[inline(always)]
    pub(super) unsafe fn new() -> Self {
        // SAFETY: the CPU has AVX-512, by contract.
        unsafe {
            let none = _mm512_setzero_si512();
            // The byte before the first block is a '['.
            let separator = _mm512_set_epi64(i64::MIN, 0, 0, 0, 0, 0, 0, 0);
            Self(Carry { digit: none, separator, leading_zero: none })
        }
    }
}

impl Passes for Blocks {
    #[inline(always)]
    fn scan(&mut self, block: &[u8; BLOCK_BYTES], masks: &mut Masks) -> Option<Longest> {
        // SAFETY: the CPU has AVX-512, as `new` requires.
        unsafe { scan(block, masks, &mut self.0) }
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
        // SAFETY: the CPU has AVX-512, as `new` requires; the rest by contract.
        unsafe { numbers(block, masks, longest, signed, to, counts) }
    }
}

/// The eight masks from `at` on.
///
/// # Safety
/// The CPU has AVX-512, and `at + 8 <= WINDOWS`.
#[inline(always)]
unsafe fn eight(masks: &[u64; WINDOWS], at: usize) -> __m512i {
    debug_assert!(at + 8 <= WINDOWS);
    // SAFETY: the CPU has AVX-512 and `at + 8 <= WINDOWS`, by contract.
    unsafe { _mm512_load_si512(masks.as_ptr().add(at).cast()) }
}

/// `masks` moved up by `BY` bytes of text; `before` are the eight masks before these.
///
/// # Safety
/// The CPU has AVX-512 with VBMI2.
#[inline(always)]
unsafe fn shift<const BY: i32>(masks: __m512i, before: __m512i) -> __m512i {
    // SAFETY: the CPU has AVX-512 with VBMI2, by contract.
    unsafe { _mm512_shldi_epi64::<BY>(masks, _mm512_alignr_epi64::<7>(masks, before)) }
}

/// Pass 1. The longest number; `None` if the block is out of order.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn scan(block: &[u8; BLOCK_BYTES], masks: &mut Masks, carry: &mut Carry) -> Option<Longest> {
    // SAFETY: the CPU has AVX-512, by contract; the windows are inside the block.
    unsafe {
        for i in 0..WINDOWS {
            let window = _mm512_loadu_si512(block.as_ptr().add(64 * i).cast());
            let text = _mm512_sub_epi8(window, _mm512_set1_epi8(b'0'.cast_signed()));
            masks.digit[i] = _mm512_cmple_epu8_mask(text, _mm512_set1_epi8(9));
            masks.comma[i] = super::eq(window, b',');
            masks.bracket[i] = super::eq(window, b'[');
            masks.zero[i] = _mm512_cmpeq_epi8_mask(text, _mm512_setzero_si512());
        }
        let mut wrong = _mm512_setzero_si512();
        let (mut five, mut nine, mut many) = (wrong, wrong, wrong);
        for at in (0..WINDOWS).step_by(8) {
            let digit = eight(&masks.digit, at);
            let comma = eight(&masks.comma, at);
            let after_digit = shift::<1>(digit, carry.digit);
            let end = _mm512_andnot_si512(digit, after_digit);
            _mm512_store_si512(masks.end.as_mut_ptr().add(at).cast(), end);

            let separator = _mm512_or_si512(comma, eight(&masks.bracket, at));
            let after_separator = shift::<1>(separator, carry.separator);
            let leading_zero = _mm512_andnot_si512(after_digit, eight(&masks.zero, at));
            let after_zero = shift::<1>(leading_zero, carry.leading_zero);
            wrong = _mm512_or_si512(wrong, _mm512_andnot_si512(after_digit, comma));
            wrong = _mm512_or_si512(wrong, _mm512_andnot_si512(digit, after_separator));
            wrong = _mm512_or_si512(wrong, _mm512_and_si512(after_zero, digit));

            // Runs of more than 4, 8, 20 digits, by their last digit.
            let two = _mm512_and_si512(digit, after_digit);
            let before = carry.digit;
            let three_four = _mm512_and_si512(shift::<2>(digit, before), shift::<3>(digit, before));
            let run5 =
                _mm512_and_si512(_mm512_and_si512(two, three_four), shift::<4>(digit, before));
            five = _mm512_or_si512(five, run5);
            if _mm512_test_epi64_mask(run5, run5) != 0 {
                let five_to_eight = _mm512_and_si512(
                    _mm512_and_si512(shift::<5>(digit, before), shift::<6>(digit, before)),
                    _mm512_and_si512(shift::<7>(digit, before), shift::<8>(digit, before)),
                );
                let run9 = _mm512_and_si512(run5, five_to_eight);
                nine = _mm512_or_si512(nine, run9);
                if _mm512_test_epi64_mask(run9, run9) != 0 {
                    let mut run = run9;
                    run = _mm512_and_si512(run, shift::<9>(digit, before));
                    run = _mm512_and_si512(run, shift::<10>(digit, before));
                    run = _mm512_and_si512(run, shift::<11>(digit, before));
                    run = _mm512_and_si512(run, shift::<12>(digit, before));
                    run = _mm512_and_si512(run, shift::<13>(digit, before));
                    run = _mm512_and_si512(run, shift::<14>(digit, before));
                    run = _mm512_and_si512(run, shift::<15>(digit, before));
                    run = _mm512_and_si512(run, shift::<16>(digit, before));
                    run = _mm512_and_si512(run, shift::<17>(digit, before));
                    run = _mm512_and_si512(run, shift::<18>(digit, before));
                    run = _mm512_and_si512(run, shift::<19>(digit, before));
                    run = _mm512_and_si512(run, shift::<20>(digit, before));
                    many = _mm512_or_si512(many, run);
                }
            }
            *carry = Carry { digit, separator, leading_zero };
        }
        let wrong = _mm512_or_si512(wrong, many);
        if _mm512_test_epi64_mask(wrong, wrong) != 0 {
            None
        } else if _mm512_test_epi64_mask(nine, nine) != 0 {
            Some(Longest::Twenty)
        } else if _mm512_test_epi64_mask(five, five) != 0 {
            Some(Longest::Eight)
        } else {
            Some(Longest::Four)
        }
    }
}

/// Pass 2: writes the numbers of a block to `to`, and the count before each window to `counts`.
/// `None` if a number does not fit.
///
/// # Safety
/// The CPU has AVX-512; there is room for [`VALUES_MAX`] numbers at `to`; `block` is preceded by 64
/// readable bytes.
#[inline(always)]
unsafe fn numbers(
    block: *const u8,
    masks: &Masks,
    longest: Longest,
    signed: bool,
    to: *mut u64,
    counts: &mut [u32; WINDOWS],
) -> Option<usize> {
    let mut done = 0_usize;
    let mut refused = 0_u8;
    // SAFETY: the CPU has AVX-512, 64 bytes before `block` can be read and `to` has room for
    // [`VALUES_MAX`] numbers, by contract; at most half the bytes of a block end a number.
    unsafe {
        let zero = _mm512_set1_epi8(b'0'.cast_signed());
        let iota = _mm512_or_si512(iota(), _mm512_set1_epi8(64));
        let digits = |at: *const u8| _mm512_sub_epi8(_mm512_loadu_si512(at.cast()), zero);
        let mut before = digits(block.sub(64));
        for (i, count_before) in counts.iter_mut().enumerate() {
            let text = digits(block.add(64 * i));
            let end = masks.end[i];
            let count = end.count_ones() as usize;
            #[expect(clippy::cast_possible_truncation, reason = "below half of BLOCK_BYTES")]
            let before_window = done as u32;
            *count_before = before_window;
            let mut ends = _mm512_maskz_compress_epi8(end, iota);
            let at = to.add(done);
            match longest {
                Longest::Four => {
                    store_widened(at, convert4(ends, before, text));
                    if count > 16 {
                        ends = _mm512_alignr_epi64::<2>(_mm512_setzero_si512(), ends);
                        store_widened(at.add(16), convert4(ends, before, text));
                    }
                }
                Longest::Eight => {
                    _mm512_storeu_si512(at.cast(), convert8(ends, before, text));
                    let mut lane = 8;
                    while lane < count {
                        ends = _mm512_alignr_epi64::<1>(_mm512_setzero_si512(), ends);
                        _mm512_storeu_si512(at.add(lane).cast(), convert8(ends, before, text));
                        lane += 8;
                    }
                }
                Longest::Twenty => {
                    let mut lane = 0;
                    while lane < count {
                        let (values, overflow) = convert20(ends, before, text);
                        _mm256_storeu_si256(at.add(lane).cast(), values);
                        let lanes = (1_u8 << (count - lane).min(4)) - 1;
                        refused |= overflow & lanes;
                        if signed {
                            refused |= _mm256_movepi64_mask(values) & lanes;
                        }
                        ends = _mm512_alignr_epi32::<1>(_mm512_setzero_si512(), ends);
                        lane += 4;
                    }
                }
            }
            done += count;
            before = text;
        }
    }
    (refused == 0).then_some(done)
}
