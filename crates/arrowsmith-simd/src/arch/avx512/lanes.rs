// SPDX-License-Identifier: Apache-2.0
//! Values of eight records at once for AVX-512: a 64-bit lane for each.
//!
//! ```text
//! load eight (or sixteen) bytes of each record, one lane per record
//! digits = bytes − '0'; the first byte above 9 ends them: ones below its bits, counted by popcnt
//! shift the digits to the top of the lane, so that they are preceded by zeros
//! pairs, fours and eights by multiplying and adding
//! ```
//! A float is computed from two such numbers, combined with the fraction's power of ten, and one
//! division, which rounds once. There is no branch on a single value; an unusual value in any lane
//! is left to the portable form.

use std::arch::x86_64::*;

use arrowsmith_number::nearest_f64;

use crate::lanes::{self, LANES, Literal, Positions};
use crate::{Buf, Input};

/// Powers of ten, one for each number of digits.
const POWERS: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// The same as [`POWERS`], as `f64`.
const POWERS_F64: [f64; 8] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7];

/// Whether `len` bytes from each position on can be read.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn readable(input: Input<'_>, pos: __m512i, len: usize) -> bool {
    let limit = input.from(len).len();
    // SAFETY: the CPU has AVX-512, by contract.
    unsafe { _mm512_cmpgt_epu64_mask(pos, _mm512_set1_epi64(limit.cast_signed() as i64)) == 0 }
}

/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn load_positions(pos: &Positions) -> __m512i {
    // SAFETY: eight times eight bytes.
    unsafe { _mm512_loadu_si512(pos.as_ptr().cast()) }
}

/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn store_positions(pos: &mut Positions, to: __m512i) {
    // SAFETY: eight times eight bytes.
    unsafe { _mm512_storeu_si512(pos.as_mut_ptr().cast(), to) };
}

/// See [`crate::isa::Isa::literal_lanes`].
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
pub(super) unsafe fn literal(
    isa: super::Avx512,
    input: Input<'_>,
    pos: &mut Positions,
    literal: &Literal,
    set: u8,
    all: bool,
) -> u8 {
    // SAFETY: the CPU has AVX-512, by contract; a window is read where `readable` allows it.
    unsafe {
        let at = load_positions(pos);
        if !readable(input, at, 64) {
            return lanes::literal(isa, input, pos, literal, set);
        }
        let text = super::load(&literal.bytes);
        let start = input.from(0).as_ptr();
        let len = _mm512_set1_epi64(literal.len.cast_signed() as i64);
        if all && set == u8::MAX {
            // The bytes that differ in any lane.
            let mut differs = _mm512_setzero_si512();
            for lane in pos.iter() {
                let window = _mm512_loadu_si512(start.add(*lane).cast());
                differs = _mm512_ternarylogic_epi64::<0xF6>(differs, window, text);
            }
            if _mm512_mask_test_epi8_mask(literal.mask, differs, differs) == 0 {
                store_positions(pos, _mm512_add_epi64(at, len));
                return set;
            }
        }
        let mut found = 0;
        for (lane, from) in pos.iter().enumerate() {
            let window = _mm512_loadu_si512(start.add(*from).cast());
            let differs = _mm512_mask_cmpneq_epi8_mask(literal.mask, window, text);
            found |= u8::from(differs == 0) << lane;
        }
        found &= set;
        store_positions(pos, _mm512_mask_add_epi64(at, found, at, len));
        found
    }
}

/// The eight bytes at each position.
///
/// # Safety
/// The CPU has AVX-512, and the bytes are [`readable`].
#[inline(always)]
unsafe fn load8(input: Input<'_>, pos: &Positions) -> __m512i {
    let start = input.from(0).as_ptr();
    // SAFETY: the CPU has AVX-512, and eight bytes from each position can be read, by contract.
    unsafe {
        join(
            _mm256_set_m128i(two_words(start, pos[2], pos[3]), two_words(start, pos[0], pos[1])),
            _mm256_set_m128i(two_words(start, pos[6], pos[7]), two_words(start, pos[4], pos[5])),
        )
    }
}

/// # Safety
/// Eight bytes from each position on can be read.
#[inline(always)]
unsafe fn two_words(start: *const u8, first: usize, second: usize) -> __m128i {
    // SAFETY: x86-64 has SSE2; eight bytes from both positions can be read, by contract.
    unsafe {
        let low = start.add(first).cast::<i64>().read_unaligned();
        let high = start.add(second).cast::<i64>().read_unaligned();
        _mm_set_epi64x(high, low)
    }
}

/// # Safety
/// The CPU has AVX-512; sixteen bytes from each position on can be read.
#[inline(always)]
unsafe fn two_windows(start: *const u8, first: usize, second: usize) -> __m256i {
    // SAFETY: the CPU has AVX-512, and sixteen bytes from both positions can be read, by contract.
    unsafe {
        let low = _mm_loadu_si128(start.add(first).cast());
        let high = _mm_loadu_si128(start.add(second).cast());
        _mm256_set_m128i(high, low)
    }
}

/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn join(low: __m256i, high: __m256i) -> __m512i {
    // SAFETY: the CPU has AVX-512, by contract.
    unsafe { _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high) }
}

/// The sixteen bytes at each position: the first eight, and the second.
///
/// # Safety
/// The CPU has AVX-512, and the bytes are [`readable`].
#[inline(always)]
unsafe fn load16(input: Input<'_>, pos: &Positions) -> (__m512i, __m512i) {
    let start = input.from(0).as_ptr();
    // SAFETY: the CPU has AVX-512, and sixteen bytes from each position can be read, by contract.
    unsafe {
        let (a, b) = (two_windows(start, pos[0], pos[1]), two_windows(start, pos[2], pos[3]));
        let (c, d) = (two_windows(start, pos[4], pos[5]), two_windows(start, pos[6], pos[7]));
        let (first, last) = (join(a, b), join(c, d));
        let even = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
        let odd = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
        (_mm512_permutex2var_epi64(first, even, last), _mm512_permutex2var_epi64(first, odd, last))
    }
}

/// The number of bits of each lane's leading digits: eight times the number of digits.
///
/// # Safety
/// The CPU has AVX-512 with VPOPCNTDQ.
#[inline(always)]
unsafe fn digit_bits(digits: __m512i) -> __m512i {
    // SAFETY: the CPU has AVX-512 with VPOPCNTDQ, by contract.
    unsafe {
        let others = _mm512_movm_epi8(_mm512_cmpgt_epu8_mask(digits, _mm512_set1_epi8(9)));
        let below = _mm512_andnot_si512(others, _mm512_sub_epi64(others, _mm512_set1_epi64(1)));
        _mm512_popcnt_epi64(below)
    }
}

/// The value of the first `bits / 8` digits of each lane.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn convert(digits: __m512i, bits: __m512i) -> __m512i {
    // SAFETY: the CPU has AVX-512, by contract.
    unsafe {
        let shift = _mm512_sub_epi64(_mm512_set1_epi64(64), bits);
        let digits = _mm512_sllv_epi64(digits, shift);
        let pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x010A));
        let fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0001_0064));
        let high = _mm512_mul_epu32(fours, _mm512_set1_epi64(10_000));
        _mm512_add_epi64(high, _mm512_srli_epi64::<32>(fours))
    }
}

/// ASCII digits to values 0 to 9; other bytes become greater than 9.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn less_zeros(text: __m512i) -> __m512i {
    // SAFETY: the CPU has AVX-512, by contract.
    unsafe { _mm512_sub_epi8(text, _mm512_set1_epi8(b'0'.cast_signed())) }
}

/// The lanes without digits, or with a leading zero before other digits.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn not_whole(digits: __m512i, bits: __m512i) -> __mmask8 {
    // SAFETY: the CPU has AVX-512, by contract.
    unsafe {
        let none = _mm512_testn_epi64_mask(bits, bits);
        let zero = _mm512_testn_epi64_mask(digits, _mm512_set1_epi64(0xFF));
        none | (zero & _mm512_cmpgt_epu64_mask(bits, _mm512_set1_epi64(8)))
    }
}

/// The lanes of `set` that start with a minus sign, and the positions after it.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn minus(text: __m512i, at: __m512i, set: u8) -> (__mmask8, __m512i) {
    // SAFETY: the CPU has AVX-512, by contract.
    unsafe {
        let first = _mm512_and_si512(text, _mm512_set1_epi64(0xFF));
        let minus = _mm512_mask_cmpeq_epi64_mask(set, first, _mm512_set1_epi64(i64::from(b'-')));
        (minus, _mm512_mask_add_epi64(at, minus, at, _mm512_set1_epi64(1)))
    }
}

/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn to_array(values: __m512i) -> [u64; LANES] {
    let mut array = [0; LANES];
    // SAFETY: eight times eight bytes.
    unsafe { _mm512_storeu_si512(array.as_mut_ptr().cast(), values) };
    array
}

/// See [`crate::isa::Isa::int_lanes`]: up to fifteen digits.
///
/// # Safety
/// The CPU has AVX-512 with VPOPCNTDQ.
#[inline(always)]
pub(super) unsafe fn ints(
    input: Input<'_>,
    pos: &mut Positions,
    set: u8,
    signed: bool,
) -> Option<[u64; LANES]> {
    // SAFETY: the CPU has AVX-512 with VPOPCNTDQ, by contract; `readable` has checked all loads.
    unsafe {
        let mut at = load_positions(pos);
        if !readable(input, at, 32) {
            return lanes::ints(input, pos, set, signed);
        }
        let mut text = load8(input, pos);
        let mut negative = 0;
        let mut from = *pos;
        if signed {
            (negative, at) = minus(text, at, set);
            if negative != 0 {
                store_positions(&mut from, at);
                text = load8(input, &from);
            }
        }
        let digits = less_zeros(text);
        let mut bits = digit_bits(digits);
        if not_whole(digits, bits) & set != 0 {
            return None;
        }
        let mut value = convert(digits, bits);
        let long = _mm512_cmpeq_epi64_mask(bits, _mm512_set1_epi64(64)) & set;
        if long != 0 {
            for lane in &mut from {
                *lane += 8;
            }
            let digits = less_zeros(load8(input, &from));
            let more = _mm512_maskz_mov_epi64(long, digit_bits(digits));
            if _mm512_cmpeq_epi64_mask(more, _mm512_set1_epi64(64)) != 0 {
                return lanes::ints(input, pos, set, signed);
            }
            let powers = _mm512_loadu_si512(POWERS.as_ptr().cast());
            let power = _mm512_permutexvar_epi64(_mm512_srli_epi64::<3>(more), powers);
            let low = convert(digits, more);
            value = _mm512_add_epi64(_mm512_mullo_epi64(value, power), low);
            bits = _mm512_add_epi64(bits, more);
        }
        value = _mm512_mask_sub_epi64(value, negative, _mm512_setzero_si512(), value);
        let next = _mm512_mask_add_epi64(at, set, at, _mm512_srli_epi64::<3>(bits));
        store_positions(pos, next);
        Some(to_array(_mm512_maskz_mov_epi64(set, value)))
    }
}

/// Ten to the power of `count`, which is at most eight.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn power_of_ten(count: __m512i) -> __m512i {
    // SAFETY: the CPU has AVX-512, by contract.
    unsafe {
        let powers = _mm512_loadu_si512(POWERS.as_ptr().cast());
        _mm512_permutex2var_epi64(powers, count, _mm512_set1_epi64(100_000_000))
    }
}

/// See [`crate::isa::Isa::float_lanes`]: up to six digits before the point, and fifteen after it,
/// nineteen in all.
///
/// # Safety
/// The CPU has AVX-512 with VBMI2 and VPOPCNTDQ.
#[inline(always)]
pub(super) unsafe fn floats(
    input: Input<'_>,
    pos: &mut Positions,
    set: u8,
) -> Option<[u64; LANES]> {
    // SAFETY: the CPU has AVX-512 with VBMI2 and VPOPCNTDQ, by contract; `readable` has checked all
    // loads.
    unsafe {
        let at = load_positions(pos);
        if !readable(input, at, 48) {
            return lanes::floats(input, pos, set);
        }
        let (mut low, mut high) = load16(input, pos);
        let (negative, at) = minus(low, at, set);
        // The byte lost to a sign at the end of the second word is ignored.
        let eight = _mm512_set1_epi64(8);
        low = _mm512_mask_shrdv_epi64(low, negative, high, eight);
        high = _mm512_mask_srlv_epi64(high, negative, high, eight);
        let digits = less_zeros(low);
        let bits = digit_bits(digits);
        let point = _mm512_and_si512(_mm512_srlv_epi64(low, bits), _mm512_set1_epi64(0xFF));
        let point = _mm512_cmpeq_epi64_mask(point, _mm512_set1_epi64(i64::from(b'.')));
        // Moves the digits after the point to the start of the lane.
        let after = _mm512_add_epi64(bits, _mm512_set1_epi64(8));
        let mut fraction = less_zeros(_mm512_shrdv_epi64(low, high, after));
        let mut places = _mm512_maskz_mov_epi64(point, digit_bits(fraction));
        let mut wrong = not_whole(digits, bits);
        wrong |= _mm512_cmpgt_epu64_mask(bits, _mm512_set1_epi64(48));
        wrong |= _mm512_mask_testn_epi64_mask(point, places, places);
        if wrong & set != 0 {
            return lanes::floats(input, pos, set);
        }
        let mut mantissa = convert(digits, bits);
        let long = _mm512_cmpeq_epi64_mask(places, _mm512_set1_epi64(64)) & set;
        if long != 0 {
            let begin = _mm512_add_epi64(at, _mm512_srli_epi64::<3>(after));
            let mut from = [0; LANES];
            store_positions(&mut from, begin);
            let (first, second) = load16(input, &from);
            fraction = less_zeros(first);
            let second = less_zeros(second);
            let more = _mm512_maskz_mov_epi64(long, digit_bits(second));
            let all = _mm512_add_epi64(_mm512_add_epi64(bits, places), more);
            let mut wrong = _mm512_cmpgt_epu64_mask(all, _mm512_set1_epi64(19 * 8));
            wrong |= _mm512_cmpeq_epi64_mask(more, _mm512_set1_epi64(64));
            if wrong & set != 0 {
                return lanes::floats(input, pos, set);
            }
            let power = power_of_ten(_mm512_srli_epi64::<3>(places));
            mantissa = _mm512_mullo_epi64(mantissa, power);
            mantissa = _mm512_add_epi64(mantissa, convert(fraction, places));
            places = _mm512_add_epi64(places, more);
            let power = power_of_ten(_mm512_srli_epi64::<3>(more));
            mantissa = _mm512_mullo_epi64(mantissa, power);
            mantissa = _mm512_add_epi64(mantissa, convert(second, more));
        } else {
            let power = power_of_ten(_mm512_srli_epi64::<3>(places));
            mantissa = _mm512_mullo_epi64(mantissa, power);
            mantissa = _mm512_add_epi64(mantissa, convert(fraction, places));
        }
        let sign = _mm512_maskz_mov_epi64(negative, _mm512_set1_epi64(i64::MIN));
        let values = if long == 0 {
            let powers = _mm512_loadu_pd(POWERS_F64.as_ptr());
            let divisor = _mm512_permutexvar_pd(_mm512_srli_epi64::<3>(places), powers);
            // Both are exact, so that the quotient is rounded once.
            let value = _mm512_div_pd(_mm512_cvtepu64_pd(mantissa), divisor);
            to_array(_mm512_maskz_or_epi64(set, _mm512_castpd_si512(value), sign))
        } else {
            let mantissa = to_array(_mm512_maskz_mov_epi64(set, mantissa));
            let places = to_array(_mm512_srli_epi64::<3>(places));
            let sign = to_array(sign);
            let mut values = [0; LANES];
            for lane in 0..LANES {
                let exponent = -(places[lane].cast_signed());
                values[lane] = nearest_f64(mantissa[lane], exponent)?.to_bits() | sign[lane];
            }
            values
        };
        let len = _mm512_srli_epi64::<3>(_mm512_add_epi64(bits, places));
        let len = _mm512_mask_add_epi64(len, point, len, _mm512_set1_epi64(1));
        store_positions(pos, _mm512_mask_add_epi64(at, set, at, len));
        Some(values)
    }
}

/// A 64-bit word that every lane is compared with.
const fn word(text: [u8; 8]) -> i64 {
    i64::from_le_bytes(text)
}

/// See [`crate::isa::Isa::date_lanes`].
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
pub(super) unsafe fn dates(input: Input<'_>, pos: &mut Positions, set: u8) -> Option<[u32; LANES]> {
    // SAFETY: the CPU has AVX-512, by contract; what is loaded is readable.
    unsafe {
        let at = load_positions(pos);
        if !readable(input, at, 32) {
            return lanes::dates(input, pos, set);
        }
        let (low, high) = load16(input, pos);
        // A `0` in the template stands for any digit; all other bytes have to be equal.
        let (first, last) = (_mm512_set1_epi64(word(*b"\"0000-00")), word(*b"-00\"\0\0\0\0"));
        let last = _mm512_set1_epi64(last);
        let (low, high) = (_mm512_xor_si512(low, first), _mm512_xor_si512(high, last));
        let nine = word([0, 9, 9, 9, 9, 0, 9, 9]);
        let mut wrong = _mm512_cmpgt_epu8_mask(low, _mm512_set1_epi64(nine));
        let nine = word([0, 9, 9, 0, 255, 255, 255, 255]);
        wrong |= _mm512_cmpgt_epu8_mask(high, _mm512_set1_epi64(nine));
        let all = _pdep_u64(u64::from(set), 0x0101_0101_0101_0101) * 0xFF;
        if wrong & all != 0 {
            return None;
        }
        // The year in the low half of a lane, the month in the high one.
        let digits = _mm512_and_si512(low, _mm512_set1_epi64(word([0, 15, 15, 15, 15, 0, 15, 15])));
        let digits = _mm512_or_si512(
            _mm512_srli_epi64::<8>(_mm512_and_si512(digits, _mm512_set1_epi64(0xFF_FFFF_FFFF))),
            _mm512_and_si512(
                _mm512_srli_epi64::<16>(digits),
                _mm512_set1_epi64(0xFFFF_u64.cast_signed() << 32),
            ),
        );
        let pairs = _mm512_maddubs_epi16(digits, _mm512_set1_epi16(0x010A));
        let weights = _mm512_set1_epi64(word([100, 0, 1, 0, 1, 0, 0, 0]));
        let date = _mm512_madd_epi16(pairs, weights);
        let day = _mm512_maddubs_epi16(_mm512_srli_epi64::<8>(high), _mm512_set1_epi16(0x010A));
        let year = _mm512_cvtepi64_epi32(date);
        let month = _mm512_cvtepi64_epi32(_mm512_srli_epi64::<32>(date));
        let day = _mm256_and_si256(_mm512_cvtepi64_epi32(day), _mm256_set1_epi32(0xFF));
        let (days, valid) = days_from_civil(year, month, day);
        if !valid & set != 0 {
            return None;
        }
        let twelve = _mm512_set1_epi64(12);
        store_positions(pos, _mm512_mask_add_epi64(at, set, at, twelve));
        let mut array = [0; LANES];
        let days = _mm256_maskz_mov_epi32(set, days);
        _mm256_storeu_si256(array.as_mut_ptr().cast(), days);
        Some(array)
    }
}

/// Divides by 100; exact for years up to 9999.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn by_100(year: __m256i) -> __m256i {
    // SAFETY: the CPU has AVX-512, by contract.
    unsafe { _mm256_srli_epi32::<19>(_mm256_mullo_epi32(year, _mm256_set1_epi32(5_243))) }
}

/// Divides by 5; exact for numbers up to 43,690.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn by_5(value: __m256i) -> __m256i {
    // SAFETY: the CPU has AVX-512, by contract.
    unsafe { _mm256_srli_epi32::<18>(_mm256_mullo_epi32(value, _mm256_set1_epi32(52_429))) }
}

/// Days since 1970-01-01, and the lanes whose date exists, for years 1 to 9999. The formula is that
/// of `arrowsmith_number`.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn days_from_civil(year: __m256i, month: __m256i, day: __m256i) -> (__m256i, __mmask8) {
    // SAFETY: the CPU has AVX-512, by contract.
    unsafe {
        let century = by_100(year);
        let is_century =
            _mm256_cmpeq_epi32_mask(_mm256_mullo_epi32(century, _mm256_set1_epi32(100)), year);
        let of_leap = _mm256_mask_mov_epi32(year, is_century, century);
        let leap = _mm256_testn_epi32_mask(of_leap, _mm256_set1_epi32(3));
        let odd = _mm256_add_epi32(month, _mm256_srli_epi32::<3>(month));
        let mut length =
            _mm256_add_epi32(_mm256_and_si256(odd, _mm256_set1_epi32(1)), _mm256_set1_epi32(30));
        let february = _mm256_cmpeq_epi32_mask(month, _mm256_set1_epi32(2));
        length = _mm256_mask_mov_epi32(length, february, _mm256_set1_epi32(28));
        length = _mm256_mask_mov_epi32(length, february & leap, _mm256_set1_epi32(29));
        let one = _mm256_set1_epi32(1);
        let mut valid =
            _mm256_cmplt_epu32_mask(_mm256_sub_epi32(month, one), _mm256_set1_epi32(12));
        valid &= _mm256_cmplt_epu32_mask(_mm256_sub_epi32(day, one), length);
        valid &= _mm256_test_epi32_mask(year, year);

        let early = _mm256_cmplt_epi32_mask(month, _mm256_set1_epi32(3));
        let year = _mm256_mask_sub_epi32(year, early, year, one);
        let month = _mm256_mask_add_epi32(month, early, month, _mm256_set1_epi32(12));
        let month = _mm256_sub_epi32(month, _mm256_set1_epi32(3));
        let century = by_100(year);
        let mut days = _mm256_mullo_epi32(year, _mm256_set1_epi32(365));
        days = _mm256_add_epi32(days, _mm256_srli_epi32::<2>(year));
        days = _mm256_sub_epi32(days, century);
        days = _mm256_add_epi32(days, _mm256_srli_epi32::<2>(century));
        let of_year = _mm256_add_epi32(
            _mm256_mullo_epi32(month, _mm256_set1_epi32(153)),
            _mm256_set1_epi32(2),
        );
        days = _mm256_add_epi32(days, by_5(of_year));
        days = _mm256_add_epi32(days, day);
        (_mm256_sub_epi32(days, _mm256_set1_epi32(719_469)), valid)
    }
}

/// See [`crate::isa::Isa::index_lanes`].
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
pub(super) unsafe fn indices(out: &mut Buf<u32>, first: u32, set: u8) {
    // SAFETY: the CPU has AVX-512, by contract; there is room for eight, and `set` has at most
    // eight lanes.
    unsafe {
        let to = out.spare(LANES);
        let all = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
        let all = _mm256_add_epi32(all, _mm256_set1_epi32(first.cast_signed()));
        _mm256_storeu_si256(to.cast(), _mm256_maskz_compress_epi32(set, all));
        out.advance(set.count_ones() as usize);
    }
}
