// SPDX-License-Identifier: Apache-2.0
//! The numbers of a window or block of text for AVX2, for arrays of integers and [`super::stream`].
//!
//! ```text
//! load the 4, 8 or 24 bytes before each number's end into a lane, by the longest number
//! clear the bytes before the digits, then multiply and add: pairs, fours, eights
//! ```
//! No branch depends on a single number.

use std::arch::x86_64::*;

use super::lanes::eight_digits;
use crate::ints::{Convert, Longest, Numbers, run_longer_than};
use crate::{Buf, Input};

/// Bytes before a window that are read. A list at the very start of a text is left to the caller.
const BEFORE_BYTES: usize = 24;

/// The ends of numbers, taken one after another from a mask of a window's bytes.
struct Ends {
    window: *const u8,
    mask: u64,
}

impl Ends {
    /// The bytes that start `before` the next number's end; after the last one, before the end of
    /// the window.
    ///
    /// # Safety
    /// The window and `before` bytes before it can be read; a `T` has no more than `before`.
    #[inline(always)]
    unsafe fn next<T: Copy>(&mut self, before: usize) -> T {
        let end = self.mask.trailing_zeros() as usize;
        self.mask &= self.mask.wrapping_sub(1);
        // SAFETY: `end` is at most 64, and the bytes from `before` before it on can be read, by
        // contract.
        unsafe { self.window.add(end).sub(before).cast::<T>().read_unaligned() }
    }
}

/// The bytes of a vector that are digits, less `'0'`, and a mask of them.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn digits(text: __m256i) -> (__m256i, __m256i) {
    // SAFETY: the CPU has AVX2, by contract.
    unsafe {
        let digits = _mm256_sub_epi8(text, _mm256_set1_epi8(b'0'.cast_signed()));
        let nine = _mm256_set1_epi8(9);
        (digits, _mm256_cmpeq_epi8(_mm256_max_epu8(digits, nine), nine))
    }
}

/// Converts eight numbers of up to four digits.
///
/// # Safety
/// The CPU has AVX2; the window of `ends` and four bytes before it can be read.
#[inline(always)]
unsafe fn convert4(ends: &mut Ends) -> __m256i {
    // SAFETY: the CPU has AVX2, and the bytes can be read, by contract.
    unsafe {
        let (a, b, c, d) = (ends.next(4), ends.next(4), ends.next(4), ends.next(4));
        let (e, f, g, h) = (ends.next(4), ends.next(4), ends.next(4), ends.next(4));
        let (digits, is_digit) = digits(_mm256_setr_epi32(a, b, c, d, e, f, g, h));
        // Keeps the digits after the last other byte: all bytes of the lane from there on.
        let one = _mm256_or_si256(_mm256_srli_epi32::<8>(is_digit), _mm256_set1_epi32(0xFF << 24));
        let keep = _mm256_and_si256(is_digit, one);
        let two = _mm256_or_si256(_mm256_srli_epi32::<16>(keep), _mm256_set1_epi32(-0x1_0000));
        let keep = _mm256_and_si256(keep, two);
        let digits = _mm256_and_si256(digits, keep);
        let pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010A));
        _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0001_0064))
    }
}

/// The values of four words of digits, where all bytes after a digit are digits; and the lanes that
/// are nothing but digits.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn words(text: __m256i, counts: __m256i) -> (__m256i, __m256i) {
    // SAFETY: the CPU has AVX2, by contract.
    unsafe {
        let (digits, is_digit) = digits(text);
        let one = _mm256_or_si256(_mm256_srli_epi64::<8>(is_digit), _mm256_set1_epi64x(-1 << 56));
        let keep = _mm256_and_si256(is_digit, one);
        let two = _mm256_or_si256(_mm256_srli_epi64::<16>(keep), _mm256_set1_epi64x(-1 << 48));
        let keep = _mm256_and_si256(keep, two);
        let four = _mm256_or_si256(_mm256_srli_epi64::<32>(keep), _mm256_set1_epi64x(-1 << 32));
        let keep = _mm256_and_si256(_mm256_and_si256(keep, four), counts);
        let full = _mm256_cmpeq_epi64(keep, _mm256_set1_epi8(-1));
        (eight_digits(_mm256_and_si256(digits, keep)), full)
    }
}

/// The next four words that are `before` the numbers' ends.
///
/// # Safety
/// The CPU has AVX2; the window of `ends` and `before` bytes before it can be read.
#[inline(always)]
unsafe fn four(ends: &mut Ends, before: usize) -> __m256i {
    // SAFETY: the CPU has AVX2, and the bytes can be read, by contract.
    unsafe {
        let (a, b) = (ends.next(before), ends.next(before));
        _mm256_setr_epi64x(a, b, ends.next(before), ends.next(before))
    }
}

/// The products of numbers of up to 32 bits.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn times(value: __m256i, by: u64) -> __m256i {
    // SAFETY: the CPU has AVX2, by contract.
    unsafe { _mm256_mul_epu32(value, _mm256_set1_epi64x(by.cast_signed())) }
}

/// Converts four numbers of up to twenty digits; also returns the lanes that overflow 64 bits.
///
/// # Safety
/// The CPU has AVX2; the window of `ends` and 24 bytes before it can be read.
#[inline(always)]
unsafe fn convert20(ends: &mut Ends) -> (__m256i, __m256i) {
    // SAFETY: the CPU has AVX2, and the bytes can be read, by contract.
    unsafe {
        let Ends { window, mask } = *ends;
        let low = four(ends, 8);
        let (low, full) = words(low, _mm256_set1_epi8(-1));
        let (middle, full) = words(four(&mut Ends { window, mask }, 16), full);
        let (top, _) = words(four(&mut Ends { window, mask }, 24), full);
        // Sixteen digits have less than 2^54.
        let sixteen = _mm256_add_epi64(times(middle, 100_000_000), low);
        let weight = 10_000_000_000_000_000_u64;
        let high = _mm256_slli_epi64::<32>(times(top, weight >> 32));
        let high = _mm256_add_epi64(times(top, weight & 0xFFFF_FFFF), high);
        let value = _mm256_add_epi64(high, sixteen);
        // The top four digits of 2^64 are 1844; with those the sum may still wrap around, and
        // then it is small.
        let many = _mm256_cmpgt_epi64(top, _mm256_set1_epi64x(1844));
        let most = _mm256_cmpeq_epi64(top, _mm256_set1_epi64x(1844));
        let positive = _mm256_cmpgt_epi64(value, _mm256_set1_epi64x(-1));
        (value, _mm256_or_si256(many, _mm256_and_si256(most, positive)))
    }
}

impl Convert for super::Avx2 {
    #[inline(always)]
    unsafe fn convert(
        self,
        input: Input<'_>,
        pos: usize,
        numbers: Numbers,
        signed: bool,
        out: &mut Buf<u64>,
    ) -> bool {
        let longest = if !run_longer_than::<4>(numbers.digit) {
            Longest::Four
        } else if !run_longer_than::<8>(numbers.digit) {
            Longest::Eight
        } else if !run_longer_than::<20>(numbers.digit) {
            Longest::Twenty
        } else {
            return false;
        };
        if pos < BEFORE_BYTES {
            return false;
        }
        let to = out.spare(64);
        let count = numbers.end.count_ones() as usize;
        // SAFETY: `self` proves AVX2; the window is inside the input, by contract, and so are the
        // bytes before it; there is room for 64 numbers, of which `count` are written.
        unsafe {
            let window = input.window(pos).as_ptr();
            if !convert(window, numbers.end, longest, signed, to) {
                return false;
            }
            if numbers.negative != 0 {
                for at in 0..count {
                    let negative = (numbers.negative >> at & 1).wrapping_neg();
                    let value = to.add(at);
                    value.write((value.read() ^ negative).wrapping_sub(negative));
                }
            }
            out.advance(count);
        }
        true
    }
}

/// Writes the numbers that end before the bytes of `end` in a window to `to`; whether all of them
/// fit in 64 bits, signed if `signed`.
///
/// # Safety
/// The CPU has AVX2; there is room for 64 numbers at `to`; the window and [`BEFORE_BYTES`] before
/// it can be read.
#[inline(always)]
pub(super) unsafe fn convert(
    window: *const u8,
    end: u64,
    longest: Longest,
    signed: bool,
    to: *mut u64,
) -> bool {
    let count = end.count_ones() as usize;
    let mut ends = Ends { window, mask: end };
    let mut done = 0;
    // SAFETY: the CPU has AVX2, and there is room for 64 numbers, by contract; at most 32 end in a
    // window, and one vector of 8 is written after them.
    unsafe {
        match longest {
            Longest::Four => {
                while done < count {
                    let values = convert4(&mut ends);
                    let low = _mm256_cvtepu32_epi64(_mm256_castsi256_si128(values));
                    let high = _mm256_cvtepu32_epi64(_mm256_extracti128_si256::<1>(values));
                    _mm256_storeu_si256(to.add(done).cast(), low);
                    _mm256_storeu_si256(to.add(done + 4).cast(), high);
                    done += 8;
                }
                true
            }
            Longest::Eight => {
                while done < count {
                    let (values, _) = words(four(&mut ends, 8), _mm256_set1_epi8(-1));
                    _mm256_storeu_si256(to.add(done).cast(), values);
                    done += 4;
                }
                true
            }
            Longest::Twenty => {
                let mut refused = 0;
                while done < count {
                    let (values, overflow) = convert20(&mut ends);
                    _mm256_storeu_si256(to.add(done).cast(), values);
                    // Also refuses i64::MIN, which the scalar path handles.
                    let beyond = if signed { _mm256_or_si256(overflow, values) } else { overflow };
                    let lanes = (1 << (count - done).min(4)) - 1;
                    refused |= _mm256_movemask_pd(_mm256_castsi256_pd(beyond)) & lanes;
                    done += 4;
                }
                refused == 0
            }
        }
    }
}
