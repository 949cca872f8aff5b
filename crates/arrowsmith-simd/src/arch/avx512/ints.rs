// SPDX-License-Identifier: Apache-2.0
//! Arrays of integers for AVX-512, and the conversion of digits to numbers, shared with
//! [`super::stream`].
//!
//! ```text
//! for each window of 64 bytes, which starts with a number:
//!   masks of digits, commas, spaces, minus signs; any other byte ends the array or the kernel
//!   check the order of these by comparing shifted masks
//!   compress the positions of the numbers' ends to bytes
//!   gather the digits before each end into a lane of 4, 8 or 16 + 4 bytes, by the longest number
//!   clear bytes before the digits, then multiply and add: pairs, fours, eights
//! ```
//! No branch depends on a single number.

use std::arch::x86_64::*;

use crate::ints::{Convert, Numbers, run_longer_than};
use crate::{Buf, Input};

/// A table of 64 bytes computed at compile time.
macro_rules! table {
    ($i:ident => $e:expr) => {{
        const TABLE: [u8; 64] = {
            let mut table = [0; 64];
            let mut $i = 0_u8;
            while $i < 64 {
                table[$i as usize] = $e;
                $i += 1;
            }
            table
        };
        super::load(&TABLE)
    }};
}

/// `0, 1, 2, …, 63`.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
pub(super) unsafe fn iota() -> __m512i {
    // SAFETY: the CPU has AVX-512, by contract.
    unsafe { table!(i => i) }
}

/// Converts sixteen lanes of four bytes, with right-aligned digits and zeros before them, to
/// numbers.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn fours(digits: __m512i) -> __m512i {
    // SAFETY: the CPU has AVX-512, by contract.
    unsafe {
        let pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x010A));
        _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0001_0064))
    }
}

/// Converts sixteen numbers of up to four digits: those that end before the positions in the low 16
/// bytes of `ends`. Positions count from the start of `before`, which is 64 bytes long and followed
/// by `text`. Bytes of both are digits less `'0'`.
///
/// # Safety
/// The CPU has AVX-512 with VBMI.
#[inline(always)]
pub(super) unsafe fn convert4(ends: __m512i, before: __m512i, text: __m512i) -> __m512i {
    // SAFETY: the CPU has AVX-512 with VBMI, by contract.
    unsafe {
        let lanes = _mm512_permutexvar_epi8(table!(i => i >> 2), ends);
        let index = _mm512_add_epi8(lanes, table!(i => (i & 3).wrapping_sub(4)));
        let digits = _mm512_permutex2var_epi8(before, index, text);
        // Keeps the bytes after the last non-digit: a mask of all ones, shifted.
        let others = _mm512_subs_epu8(digits, _mm512_set1_epi8(9));
        let zeros = _mm512_lzcnt_epi32(others);
        let shift = _mm512_sub_epi32(_mm512_set1_epi32(39), zeros);
        let shift = _mm512_and_si512(shift, _mm512_set1_epi32(!7));
        let keep = _mm512_sllv_epi32(_mm512_set1_epi32(-1), shift);
        fours(_mm512_and_si512(digits, keep))
    }
}

/// As [`convert4`], for eight numbers of up to eight digits, in 64-bit lanes.
///
/// # Safety
/// The CPU has AVX-512 with VBMI.
#[inline(always)]
pub(super) unsafe fn convert8(ends: __m512i, before: __m512i, text: __m512i) -> __m512i {
    // SAFETY: the CPU has AVX-512 with VBMI, by contract.
    unsafe {
        let lanes = _mm512_permutexvar_epi8(table!(i => i >> 3), ends);
        let index = _mm512_add_epi8(lanes, table!(i => (i & 7).wrapping_sub(8)));
        let digits = _mm512_permutex2var_epi8(before, index, text);
        let others = _mm512_subs_epu8(digits, _mm512_set1_epi8(9));
        let zeros = _mm512_lzcnt_epi64(others);
        let shift = _mm512_sub_epi64(_mm512_set1_epi64(71), zeros);
        let shift = _mm512_and_si512(shift, _mm512_set1_epi64(!7));
        let keep = _mm512_sllv_epi64(_mm512_set1_epi64(-1), shift);
        let fours = fours(_mm512_and_si512(digits, keep));
        let packed = _mm512_packus_epi32(fours, fours);
        let eights = _mm512_madd_epi16(packed, _mm512_set1_epi32(0x0001_2710));
        let spread = _mm512_shuffle_epi32::<0x50>(eights);
        _mm512_and_si512(spread, _mm512_set1_epi64(0xFFFF_FFFF))
    }
}

/// As [`convert4`], for four numbers of up to twenty digits; also returns the lanes that overflow
/// 64 bits.
///
/// # Safety
/// The CPU has AVX-512 with VBMI.
#[inline(always)]
pub(super) unsafe fn convert20(
    ends: __m512i,
    before: __m512i,
    text: __m512i,
) -> (__m256i, __mmask8) {
    // SAFETY: the CPU has AVX-512 with VBMI, by contract.
    unsafe {
        // The last sixteen digits of each number, in 128-bit lanes.
        let lanes = _mm512_permutexvar_epi8(table!(i => i >> 4), ends);
        let index = _mm512_add_epi8(lanes, table!(i => (i & 15).wrapping_sub(16)));
        let low = _mm512_permutex2var_epi8(before, index, text);
        // The four digits before them, in 32-bit lanes.
        let lanes = _mm512_permutexvar_epi8(table!(i => i >> 2), ends);
        let index = _mm512_add_epi8(lanes, table!(i => (i & 3).wrapping_sub(20)));
        let top = _mm512_castsi512_si128(_mm512_permutex2var_epi8(before, index, text));

        // Digits of a half count only if all bytes after them in the number are digits too.
        let others = _mm512_lzcnt_epi64(_mm512_subs_epu8(low, _mm512_set1_epi8(9)));
        let zeros = _mm512_and_si512(others, _mm512_set1_epi64(!7));
        let shift = _mm512_sub_epi64(_mm512_set1_epi64(64), zeros);
        let keep = _mm512_sllv_epi64(_mm512_set1_epi64(-1), shift);
        let all = _mm512_cmpeq_epi64_mask(zeros, _mm512_set1_epi64(64));
        let upper_all = _mm512_shuffle_epi32::<0xEE>(zeros);
        let lower_counts = _mm512_cmpeq_epi64_mask(upper_all, _mm512_set1_epi64(64));
        let low = _mm512_maskz_and_epi64(lower_counts | 0xAA, low, keep);
        #[expect(clippy::cast_possible_truncation, reason = "four bits")]
        let full = _pext_u32(u32::from(all & (all >> 1)), 0x55) as __mmask8;
        let others = _mm_lzcnt_epi32(_mm_subs_epu8(top, _mm_set1_epi8(9)));
        let zeros = _mm_and_si128(others, _mm_set1_epi32(!7));
        let shift = _mm_sub_epi32(_mm_set1_epi32(32), zeros);
        let keep = _mm_sllv_epi32(_mm_set1_epi32(-1), shift);
        let top = _mm_maskz_and_epi32(full, top, keep);

        let pairs = _mm_maddubs_epi16(top, _mm_set1_epi16(0x010A));
        let top = _mm256_cvtepu32_epi64(_mm_madd_epi16(pairs, _mm_set1_epi32(0x0001_0064)));
        let fours = fours(low);
        let packed = _mm512_packus_epi32(fours, fours);
        let eights = _mm512_madd_epi16(packed, _mm512_set1_epi32(0x0001_2710));
        let high = _mm512_mul_epu32(eights, _mm512_set1_epi64(100_000_000));
        let sixteens = _mm512_add_epi64(high, _mm512_srli_epi64::<32>(eights));
        let order = _mm512_set_epi64(6, 4, 2, 0, 6, 4, 2, 0);
        let low = _mm512_castsi512_si256(_mm512_permutexvar_epi64(order, sixteens));
        let weight = _mm256_set1_epi64x(10_000_000_000_000_000);
        let value = _mm256_add_epi64(low, _mm256_mullo_epi64(top, weight));
        // The top four digits of 2^64 are 1844; with those the sum may still wrap around.
        let overflow = _mm256_cmplt_epu64_mask(value, low)
            | _mm256_cmpgt_epu64_mask(top, _mm256_set1_epi64x(1844));
        (value, overflow)
    }
}

/// Stores sixteen 32-bit lanes as 64-bit integers.
///
/// # Safety
/// The CPU has AVX-512, and there is room for sixteen at `to`.
#[inline(always)]
pub(super) unsafe fn store_widened(to: *mut u64, lanes: __m512i) {
    // SAFETY: the CPU has AVX-512, and there is room for 16 numbers at `to`, by contract.
    unsafe {
        let low = _mm512_cvtepu32_epi64(_mm512_castsi512_si256(lanes));
        let high = _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64::<1>(lanes));
        _mm512_storeu_si512(to.cast(), low);
        _mm512_storeu_si512(to.add(8).cast(), high);
    }
}

impl Convert for super::Avx512 {
    #[inline(always)]
    unsafe fn convert(
        self,
        input: Input<'_>,
        pos: usize,
        numbers: Numbers,
        signed: bool,
        out: &mut Buf<u64>,
    ) -> bool {
        // SAFETY: `self` proves AVX-512; `convert` reserves what it writes.
        unsafe {
            let window = super::load(input.window(pos));
            let text = _mm512_sub_epi8(window, _mm512_set1_epi8(b'0'.cast_signed()));
            convert(numbers, text, signed, out)
        }
    }
}

/// Appends the numbers of a window; if one does not fit, appends nothing and returns `false`.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn convert(numbers: Numbers, text: __m512i, signed: bool, out: &mut Buf<u64>) -> bool {
    let Numbers { digit, end, negative } = numbers;
    let count = end.count_ones() as usize;
    // SAFETY: the CPU has AVX-512, by contract; at most 32 numbers end in a window, and there is
    // room for 64.
    unsafe {
        let to = out.spare(64);
        // There are no digits before the window, as it starts with a number.
        let before = _mm512_set1_epi8(-1);
        let ends = _mm512_maskz_compress_epi8(end, _mm512_or_si512(iota(), _mm512_set1_epi8(64)));
        if !run_longer_than::<4>(digit) {
            store_widened(to, convert4(ends, before, text));
            if count > 16 {
                let ends = _mm512_alignr_epi64::<2>(_mm512_setzero_si512(), ends);
                store_widened(to.add(16), convert4(ends, before, text));
            }
        } else if !convert_long(digit, ends, text, signed, count, to) {
            return false;
        }
        if negative != 0 {
            negate(to, negative, count);
        }
        out.advance(count);
    }
    true
}

/// As [`convert`], for numbers of more than four digits: not inlined, so that its constants cost
/// nothing for short ones.
///
/// # Safety
/// The CPU has AVX-512; there is room for 64 numbers at `to`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512cd,avx512vbmi,avx512vbmi2")]
#[target_feature(enable = "bmi1,bmi2,lzcnt,popcnt")]
#[inline(never)]
unsafe fn convert_long(
    digit: u64,
    ends: __m512i,
    text: __m512i,
    signed: bool,
    count: usize,
    to: *mut u64,
) -> bool {
    let mut ends = ends;
    let mut done = 0;
    // SAFETY: the CPU has AVX-512, and there is room for 64 numbers at `to`, by contract; at most
    // 32 numbers and one vector of 8 are written.
    unsafe {
        let before = _mm512_set1_epi8(-1);
        if !run_longer_than::<8>(digit) {
            while done < count {
                _mm512_storeu_si512(to.add(done).cast(), convert8(ends, before, text));
                ends = _mm512_alignr_epi64::<1>(_mm512_setzero_si512(), ends);
                done += 8;
            }
            return true;
        }
        if run_longer_than::<20>(digit) {
            return false;
        }
        let mut refused = 0;
        while done < count {
            let (values, overflow) = convert20(ends, before, text);
            _mm256_storeu_si256(to.add(done).cast(), values);
            let lanes = (1_u8 << (count - done).min(4)) - 1;
            refused |= overflow & lanes;
            if signed {
                // Also refuses i64::MIN, which the scalar path handles.
                refused |= _mm256_movepi64_mask(values) & lanes;
            }
            ends = _mm512_alignr_epi32::<1>(_mm512_setzero_si512(), ends);
            done += 4;
        }
        refused == 0
    }
}

/// Negates the numbers whose bits are set.
///
/// # Safety
/// The CPU has AVX-512, `count` is at most 32, and 64 numbers can be written at `at`.
#[inline(always)]
unsafe fn negate(at: *mut u64, negative: u64, count: usize) {
    let mut done = 0;
    while done < count {
        // SAFETY: the CPU has AVX-512, by contract; `done < count <= 32`, so that 8 numbers from
        // there are among the 64 at `at`.
        unsafe {
            let to = at.add(done);
            let values = _mm512_loadu_si512(to.cast());
            #[expect(clippy::cast_possible_truncation, reason = "the mask of these eight lanes")]
            let lanes = (negative >> done) as __mmask8;
            let values = _mm512_mask_sub_epi64(values, lanes, _mm512_setzero_si512(), values);
            _mm512_storeu_si512(to.cast(), values);
        }
        done += 8;
    }
}
