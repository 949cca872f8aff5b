// SPDX-License-Identifier: Apache-2.0
//! Values of eight records at once, for AVX2 and AVX-512: two vectors of four 64-bit lanes.
//!
//! ```text
//! load eight (or sixteen) bytes of each record, one lane per record
//! digits = bytes − '0'; the first byte above 9 ends them; a sum of bytes counts those before it
//! shift the digits to the top of the lane, so that they are preceded by zeros
//! pairs, fours and eights by multiplying and adding
//! ```
//! A float is computed from two such numbers, combined with the fraction's power of ten, and one
//! division, which rounds once. Sets of lanes are vectors of all ones and zeros. There is no branch
//! on a single value; an unusual value in any lane is left to the portable form.

use std::arch::x86_64::*;

use arrowsmith_number::nearest_f64;

use crate::lanes::{self, LANES, Literal, Positions};
use crate::{Buf, Input};

/// Lanes of a vector.
const HALF: usize = LANES / 2;

/// Powers of ten, one for each number of digits in a word.
const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The same as [`POWERS`], as `f64`.
const POWERS_F64: [f64; 9] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8];

/// The vector of each set of four lanes.
const SETS: [[i64; HALF]; 16] = {
    let mut sets = [[0; HALF]; 16];
    let mut set = 0;
    while set < 16 {
        let mut lane = 0;
        while lane < HALF {
            sets[set][lane] = -(((set >> lane) & 1) as i64);
            lane += 1;
        }
        set += 1;
    }
    sets
};

/// The lanes of each set of eight, one in each byte, before other bytes.
const PACKED: [u64; 256] = {
    let mut packed = [0; 256];
    let mut set = 0;
    while set < 256 {
        let (mut lane, mut at) = (0, 0);
        while lane < 8 {
            if (set >> lane) & 1 != 0 {
                packed[set] |= lane << (8 * at);
                at += 1;
            }
            lane += 1;
        }
        set += 1;
    }
    packed
};

/// Whether `len` bytes from each position on can be read.
#[inline(always)]
fn readable(input: Input<'_>, pos: &Positions, len: usize) -> bool {
    let limit = input.from(len).len();
    pos.iter().fold(true, |all, &pos| all & (pos <= limit))
}

/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn set1(value: u64) -> __m256i {
    // SAFETY: the CPU has AVX2, by contract.
    unsafe { _mm256_set1_epi64x(value.cast_signed()) }
}

/// The lanes of half `half` of `set`.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn lanes_of(set: u8, half: usize) -> __m256i {
    let lanes = &SETS[usize::from(set >> (HALF * half) & 15)];
    // SAFETY: the CPU has AVX2, by contract; four times eight bytes.
    unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
}

/// Whether no lane is in the set.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn is_empty(lanes: __m256i) -> bool {
    // SAFETY: the CPU has AVX2, by contract.
    unsafe { _mm256_testz_si256(lanes, lanes) != 0 }
}

/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn load_positions(pos: &Positions, half: usize) -> __m256i {
    let part = &pos[HALF * half..HALF * half + HALF];
    // SAFETY: the CPU has AVX2, by contract; four times eight bytes.
    unsafe { _mm256_loadu_si256(part.as_ptr().cast()) }
}

/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn store(to: &mut [u64], values: __m256i) {
    let to = &mut to[..HALF];
    // SAFETY: the CPU has AVX2, by contract; four times eight bytes.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), values) };
}

/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn positions(halves: [__m256i; 2]) -> Positions {
    let mut pos = [0; LANES];
    // SAFETY: the CPU has AVX2, by contract; eight times eight bytes.
    unsafe {
        _mm256_storeu_si256(pos.as_mut_ptr().cast(), halves[0]);
        _mm256_storeu_si256(pos.as_mut_ptr().add(HALF).cast(), halves[1]);
    }
    pos
}

/// Moves the positions of these lanes: by two stores, since loads after narrower ones would wait.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn advance(pos: &mut Positions, set: u8, by: usize) {
    // SAFETY: the CPU has AVX2, by contract.
    unsafe {
        let by = set1(by as u64);
        let first = _mm256_and_si256(lanes_of(set, 0), by);
        let last = _mm256_and_si256(lanes_of(set, 1), by);
        *pos = positions([
            _mm256_add_epi64(load_positions(pos, 0), first),
            _mm256_add_epi64(load_positions(pos, 1), last),
        ]);
    }
}

/// The eight bytes that are `by` after each position of a half.
///
/// # Safety
/// The CPU has AVX2, and the bytes are [`readable`].
#[inline(always)]
unsafe fn load8(input: Input<'_>, pos: &Positions, half: usize, by: usize) -> __m256i {
    let start = input.from(0).as_ptr();
    let word = |lane: usize| {
        // SAFETY: eight bytes from there can be read, by contract.
        unsafe { start.add(pos[HALF * half + lane] + by).cast::<i64>().read_unaligned() }
    };
    // SAFETY: the CPU has AVX2, by contract.
    unsafe { _mm256_set_epi64x(word(3), word(2), word(1), word(0)) }
}

/// The digits at the start of each lane.
#[derive(Clone, Copy)]
struct Digits {
    /// The bytes less `'0'`.
    values: __m256i,
    /// How many digits there are, times eight.
    bits: __m256i,
}

impl Digits {
    /// # Safety
    /// The CPU has AVX2.
    #[inline(always)]
    unsafe fn of(text: __m256i) -> Self {
        // SAFETY: the CPU has AVX2, by contract.
        unsafe {
            let values = _mm256_sub_epi8(text, _mm256_set1_epi8(b'0'.cast_signed()));
            // Bytes are compared as signed ones: digits become the least of them.
            let moved = _mm256_xor_si256(values, _mm256_set1_epi8(i8::MIN));
            let others = _mm256_cmpgt_epi8(moved, _mm256_set1_epi8(i8::MIN + 9));
            let below = _mm256_andnot_si256(others, _mm256_sub_epi64(others, set1(1)));
            let ones = _mm256_and_si256(below, _mm256_set1_epi8(1));
            let count = _mm256_sad_epu8(ones, _mm256_setzero_si256());
            Self { values, bits: _mm256_slli_epi64::<3>(count) }
        }
    }

    /// Their number, as many bits as they have.
    ///
    /// # Safety
    /// The CPU has AVX2.
    #[inline(always)]
    unsafe fn value(self) -> __m256i {
        // SAFETY: the CPU has AVX2, by contract.
        unsafe {
            eight_digits(_mm256_sllv_epi64(self.values, _mm256_sub_epi64(set1(64), self.bits)))
        }
    }

    /// The lanes without digits, or with a leading zero before other digits.
    ///
    /// # Safety
    /// The CPU has AVX2.
    #[inline(always)]
    unsafe fn not_whole(self) -> __m256i {
        // SAFETY: the CPU has AVX2, by contract.
        unsafe {
            let zero = _mm256_setzero_si256();
            let none = _mm256_cmpeq_epi64(self.bits, zero);
            let leading = _mm256_cmpeq_epi64(_mm256_and_si256(self.values, set1(0xFF)), zero);
            let more = _mm256_cmpgt_epi64(self.bits, set1(8));
            _mm256_or_si256(none, _mm256_and_si256(leading, more))
        }
    }

    /// The lanes that are nothing but digits.
    ///
    /// # Safety
    /// The CPU has AVX2.
    #[inline(always)]
    unsafe fn is_full(self) -> __m256i {
        // SAFETY: the CPU has AVX2, by contract.
        unsafe { _mm256_cmpeq_epi64(self.bits, set1(64)) }
    }
}

/// The numbers of four words of eight digits each: the values of the digits, in the text's order.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
pub(super) unsafe fn eight_digits(digits: __m256i) -> __m256i {
    // SAFETY: the CPU has AVX2, by contract.
    unsafe {
        let pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010A));
        let fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0001_0064));
        let high = _mm256_mul_epu32(fours, set1(10_000));
        _mm256_add_epi64(high, _mm256_srli_epi64::<32>(fours))
    }
}

/// The low 64 bits of the products; numbers of `by` have 32 bits at most.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn multiply(values: __m256i, by: __m256i) -> __m256i {
    // SAFETY: the CPU has AVX2, by contract.
    unsafe {
        let high = _mm256_mul_epu32(_mm256_srli_epi64::<32>(values), by);
        _mm256_add_epi64(_mm256_mul_epu32(values, by), _mm256_slli_epi64::<32>(high))
    }
}

/// Ten to the power of each lane's number of digits: `bits / 8`, at most 8.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn power_of_ten(bits: __m256i) -> __m256i {
    // SAFETY: the CPU has AVX2, and `bits` are at most 64, by contract: an offset in bytes.
    unsafe { _mm256_i64gather_epi64::<1>(POWERS.as_ptr().cast(), bits) }
}

/// The lanes of `set` that start with a minus sign.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn minus(text: __m256i, set: __m256i) -> __m256i {
    // SAFETY: the CPU has AVX2, by contract.
    unsafe {
        let first = _mm256_and_si256(text, set1(0xFF));
        _mm256_and_si256(set, _mm256_cmpeq_epi64(first, set1(u64::from(b'-'))))
    }
}

/// See [`crate::isa::Isa::literal_lanes`].
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
pub(super) unsafe fn literal(
    isa: super::Avx2,
    input: Input<'_>,
    pos: &mut Positions,
    literal: &Literal,
    set: u8,
    all: bool,
) -> u8 {
    if all && set == u8::MAX && literal.len <= 32 && readable(input, pos, 32) {
        let start = input.from(0).as_ptr();
        // SAFETY: the CPU has AVX2, by contract; 32 bytes from each position on are readable.
        let differs = unsafe {
            let text = _mm256_loadu_si256(literal.bytes.as_ptr().cast());
            let mut differs = _mm256_setzero_si256();
            for lane in pos.iter() {
                let window = _mm256_loadu_si256(start.add(*lane).cast());
                differs = _mm256_or_si256(differs, _mm256_xor_si256(window, text));
            }
            let equal = _mm256_cmpeq_epi8(differs, _mm256_setzero_si256());
            !u64::from(_mm256_movemask_epi8(equal).cast_unsigned())
        };
        if differs & literal.mask == 0 {
            // SAFETY: the CPU has AVX2, by contract.
            unsafe { advance(pos, set, literal.len) };
            return set;
        }
    }
    lanes::literal(isa, input, pos, literal, set)
}

/// See [`crate::isa::Isa::int_lanes`]: up to fifteen digits.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
pub(in crate::arch) unsafe fn ints(
    input: Input<'_>,
    pos: &mut Positions,
    set: u8,
    signed: bool,
) -> Option<[u64; LANES]> {
    if !readable(input, pos, 32) {
        return lanes::ints(input, pos, set, signed);
    }
    let mut values = [0; LANES];
    // SAFETY: the CPU has AVX2, by contract; `readable` has checked all loads.
    unsafe {
        let mut next = [_mm256_setzero_si256(); 2];
        for half in 0..2 {
            let lanes = lanes_of(set, half);
            let mut at = load_positions(pos, half);
            let mut text = load8(input, pos, half, 0);
            let mut negative = _mm256_setzero_si256();
            if signed {
                negative = minus(text, lanes);
                at = _mm256_sub_epi64(at, negative);
            }
            // The positions after the signs.
            let mut from = *pos;
            if signed && !is_empty(negative) {
                from = positions([at, at]);
                text = load8(input, &from, half, 0);
            }
            let digits = Digits::of(text);
            if !is_empty(_mm256_and_si256(digits.not_whole(), lanes)) {
                return None;
            }
            let mut bits = digits.bits;
            let mut value = digits.value();
            let long = _mm256_and_si256(digits.is_full(), lanes);
            if !is_empty(long) {
                let more = Digits::of(load8(input, &from, half, 8));
                if !is_empty(_mm256_and_si256(more.is_full(), long)) {
                    return lanes::ints(input, pos, set, signed);
                }
                let more = Digits { bits: _mm256_and_si256(more.bits, long), ..more };
                // Both factors have less than 32 bits.
                let high = _mm256_mul_epu32(value, power_of_ten(more.bits));
                value = _mm256_add_epi64(high, more.value());
                bits = _mm256_add_epi64(bits, more.bits);
            }
            let value = _mm256_sub_epi64(_mm256_xor_si256(value, negative), negative);
            store(&mut values[HALF * half..], _mm256_and_si256(value, lanes));
            let len = _mm256_and_si256(_mm256_srli_epi64::<3>(bits), lanes);
            next[half] = _mm256_add_epi64(at, len);
        }
        *pos = positions(next);
    }
    Some(values)
}

/// See [`crate::isa::Isa::float_lanes`]: up to six digits before the point, and fifteen after it,
/// nineteen in all.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
pub(in crate::arch) unsafe fn floats(
    input: Input<'_>,
    pos: &mut Positions,
    set: u8,
) -> Option<[u64; LANES]> {
    if !readable(input, pos, 48) {
        return lanes::floats(input, pos, set);
    }
    let mut values = [0; LANES];
    // SAFETY: the CPU has AVX2, by contract; `readable` has checked all loads.
    unsafe {
        let mut next = [_mm256_setzero_si256(); 2];
        for half in 0..2 {
            let set_lanes = lanes_of(set, half);
            let mut low = load8(input, pos, half, 0);
            let mut high = load8(input, pos, half, 8);
            let negative = minus(low, set_lanes);
            let at = _mm256_sub_epi64(load_positions(pos, half), negative);
            if !is_empty(negative) {
                // The byte lost at the end of the second word is ignored.
                let shifted =
                    _mm256_or_si256(_mm256_srli_epi64::<8>(low), _mm256_slli_epi64::<56>(high));
                low = _mm256_blendv_epi8(low, shifted, negative);
                high = _mm256_blendv_epi8(high, _mm256_srli_epi64::<8>(high), negative);
            }
            let whole = Digits::of(low);
            let point = _mm256_and_si256(_mm256_srlv_epi64(low, whole.bits), set1(0xFF));
            let point = _mm256_cmpeq_epi64(point, set1(u64::from(b'.')));
            // Moves the digits after the point to the start of the lane.
            let after = _mm256_add_epi64(whole.bits, set1(8));
            let fraction = Digits::of(_mm256_or_si256(
                _mm256_srlv_epi64(low, after),
                _mm256_sllv_epi64(high, _mm256_sub_epi64(set1(64), after)),
            ));
            let places = _mm256_and_si256(fraction.bits, point);
            let mut wrong = whole.not_whole();
            wrong = _mm256_or_si256(wrong, _mm256_cmpgt_epi64(whole.bits, set1(48)));
            let none = _mm256_cmpeq_epi64(places, _mm256_setzero_si256());
            wrong = _mm256_or_si256(wrong, _mm256_and_si256(point, none));
            if !is_empty(_mm256_and_si256(wrong, set_lanes)) {
                return lanes::floats(input, pos, set);
            }
            let fraction = Digits { bits: places, ..fraction };
            let long = _mm256_and_si256(_mm256_and_si256(fraction.is_full(), point), set_lanes);
            let sign = _mm256_and_si256(negative, set1(1 << 63));
            let mut mantissa = _mm256_mul_epu32(whole.value(), power_of_ten(places));
            mantissa = _mm256_add_epi64(mantissa, fraction.value());
            let mut places = places;
            if is_empty(long) {
                // Of less than 2^52: as the low bits of 2^52 they are exact.
                let bias = set1(0x4330 << 48);
                let value = _mm256_castsi256_pd(_mm256_or_si256(mantissa, bias));
                let value = _mm256_sub_pd(value, _mm256_castsi256_pd(bias));
                let divisor = _mm256_i64gather_pd::<1>(POWERS_F64.as_ptr(), places);
                // Both are exact, so that the quotient is rounded once.
                let value = _mm256_castpd_si256(_mm256_div_pd(value, divisor));
                let value = _mm256_and_si256(_mm256_or_si256(value, sign), set_lanes);
                store(&mut values[HALF * half..], value);
            } else {
                let begin = _mm256_add_epi64(at, _mm256_srli_epi64::<3>(after));
                let begin = positions([begin, begin]);
                let second = Digits::of(load8(input, &begin, half, 8));
                let more = _mm256_and_si256(second.bits, long);
                let all = _mm256_add_epi64(_mm256_add_epi64(whole.bits, places), more);
                let mut wrong = _mm256_cmpgt_epi64(all, set1(19 * 8));
                wrong = _mm256_or_si256(wrong, _mm256_and_si256(second.is_full(), long));
                if !is_empty(_mm256_and_si256(wrong, set_lanes)) {
                    return lanes::floats(input, pos, set);
                }
                mantissa = multiply(mantissa, power_of_ten(more));
                mantissa = _mm256_add_epi64(mantissa, Digits { bits: more, ..second }.value());
                places = _mm256_add_epi64(places, more);
                let mut parts = [[0; HALF]; 3];
                store(&mut parts[0], _mm256_and_si256(mantissa, set_lanes));
                store(&mut parts[1], _mm256_srli_epi64::<3>(places));
                store(&mut parts[2], _mm256_and_si256(sign, set_lanes));
                let [mantissas, places, signs] = parts;
                for lane in 0..HALF {
                    let exponent = -(places[lane].cast_signed());
                    let value = nearest_f64(mantissas[lane], exponent)?.to_bits();
                    values[HALF * half + lane] = value | signs[lane];
                }
            }
            let len = _mm256_srli_epi64::<3>(_mm256_add_epi64(whole.bits, places));
            let len = _mm256_and_si256(_mm256_sub_epi64(len, point), set_lanes);
            next[half] = _mm256_add_epi64(at, len);
        }
        *pos = positions(next);
    }
    Some(values)
}

/// A 64-bit word that every lane is compared with.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn word(text: [u8; 8]) -> __m256i {
    // SAFETY: the CPU has AVX2, by contract.
    unsafe { set1(u64::from_le_bytes(text)) }
}

/// See [`crate::isa::Isa::date_lanes`].
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
pub(in crate::arch) unsafe fn dates(
    input: Input<'_>,
    pos: &mut Positions,
    set: u8,
) -> Option<[u32; LANES]> {
    if !readable(input, pos, 32) {
        return lanes::dates(input, pos, set);
    }
    // SAFETY: the CPU has AVX2, by contract; what is loaded is readable.
    unsafe {
        let mut wrong = _mm256_setzero_si256();
        let mut years_and_months = [_mm256_setzero_si256(); 2];
        let mut days = [_mm256_setzero_si256(); 2];
        for half in 0..2 {
            let (low, high) = (load8(input, pos, half, 0), load8(input, pos, half, 8));
            // A `0` in the template stands for any digit; all other bytes have to be equal.
            let low = _mm256_xor_si256(low, word(*b"\"0000-00"));
            let high = _mm256_xor_si256(high, word(*b"-00\"\0\0\0\0"));
            let beyond = _mm256_or_si256(
                _mm256_subs_epu8(low, word([0, 9, 9, 9, 9, 0, 9, 9])),
                _mm256_subs_epu8(high, word([0, 9, 9, 0, 255, 255, 255, 255])),
            );
            wrong = _mm256_or_si256(wrong, _mm256_and_si256(beyond, lanes_of(set, half)));
            // The year in the low half of a lane, the month in the high one.
            let digits = _mm256_and_si256(low, word([0, 15, 15, 15, 15, 0, 15, 15]));
            let digits = _mm256_or_si256(
                _mm256_srli_epi64::<8>(_mm256_and_si256(digits, set1(0xFF_FFFF_FFFF))),
                _mm256_and_si256(_mm256_srli_epi64::<16>(digits), set1(0xFFFF << 32)),
            );
            let pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010A));
            years_and_months[half] = _mm256_madd_epi16(pairs, word([100, 0, 1, 0, 1, 0, 0, 0]));
            let day = _mm256_maddubs_epi16(_mm256_srli_epi64::<8>(high), _mm256_set1_epi16(0x010A));
            days[half] = _mm256_and_si256(day, set1(0xFF));
        }
        if !is_empty(wrong) {
            return None;
        }
        let year = narrowed::<0x88>(years_and_months);
        let month = narrowed::<0xDD>(years_and_months);
        let (days, valid) = days_from_civil(year, month, narrowed::<0x88>(days));
        let valid = _mm256_movemask_ps(_mm256_castsi256_ps(valid)).cast_unsigned();
        if !valid & u32::from(set) != 0 {
            return None;
        }
        let mut array = [0; LANES];
        _mm256_storeu_si256(array.as_mut_ptr().cast(), days);
        advance(pos, set, 12);
        for (lane, day) in array.iter_mut().enumerate() {
            *day = if lanes::has(set, lane) { *day } else { 0 };
        }
        Some(array)
    }
}

/// The low (`0x88`) or the high (`0xDD`) halves of eight 64-bit lanes.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn narrowed<const WHICH: i32>(lanes: [__m256i; 2]) -> __m256i {
    // SAFETY: the CPU has AVX2, by contract.
    unsafe {
        let [first, last] = [_mm256_castsi256_ps(lanes[0]), _mm256_castsi256_ps(lanes[1])];
        let both = _mm256_castps_si256(_mm256_shuffle_ps::<WHICH>(first, last));
        _mm256_permute4x64_epi64::<0xD8>(both)
    }
}

/// Divides by 100; exact for years up to 9999.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn by_100(year: __m256i) -> __m256i {
    // SAFETY: the CPU has AVX2, by contract.
    unsafe { _mm256_srli_epi32::<19>(_mm256_mullo_epi32(year, _mm256_set1_epi32(5_243))) }
}

/// Divides by 5; exact for numbers up to 43,690.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn by_5(value: __m256i) -> __m256i {
    // SAFETY: the CPU has AVX2, by contract.
    unsafe { _mm256_srli_epi32::<18>(_mm256_mullo_epi32(value, _mm256_set1_epi32(52_429))) }
}

/// Days since 1970-01-01, and the lanes whose date exists, for years 1 to 9999. The formula is that
/// of `arrowsmith_number`.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn days_from_civil(year: __m256i, month: __m256i, day: __m256i) -> (__m256i, __m256i) {
    // SAFETY: the CPU has AVX2, by contract.
    unsafe {
        let (zero, one) = (_mm256_setzero_si256(), _mm256_set1_epi32(1));
        let century = by_100(year);
        let is_century =
            _mm256_cmpeq_epi32(_mm256_mullo_epi32(century, _mm256_set1_epi32(100)), year);
        let of_leap = _mm256_blendv_epi8(year, century, is_century);
        let leap = _mm256_cmpeq_epi32(_mm256_and_si256(of_leap, _mm256_set1_epi32(3)), zero);
        let odd = _mm256_add_epi32(month, _mm256_srli_epi32::<3>(month));
        let length = _mm256_add_epi32(_mm256_and_si256(odd, one), _mm256_set1_epi32(30));
        let february = _mm256_cmpeq_epi32(month, _mm256_set1_epi32(2));
        let short = _mm256_sub_epi32(_mm256_set1_epi32(28), leap);
        let length = _mm256_blendv_epi8(length, short, february);
        let beyond = _mm256_or_si256(
            _mm256_cmpgt_epi32(month, _mm256_set1_epi32(12)),
            _mm256_cmpgt_epi32(day, length),
        );
        let none = _mm256_or_si256(
            _mm256_cmpeq_epi32(month, zero),
            _mm256_or_si256(_mm256_cmpeq_epi32(day, zero), _mm256_cmpeq_epi32(year, zero)),
        );
        let valid = _mm256_cmpeq_epi32(_mm256_or_si256(beyond, none), zero);

        // Months count from March.
        let early = _mm256_cmpgt_epi32(_mm256_set1_epi32(3), month);
        let year = _mm256_add_epi32(year, early);
        let month = _mm256_add_epi32(month, _mm256_and_si256(early, _mm256_set1_epi32(12)));
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
/// The CPU has AVX2.
#[inline(always)]
pub(super) unsafe fn indices(out: &mut Buf<u32>, first: u32, set: u8) {
    let lanes = PACKED[usize::from(set)].cast_signed();
    // SAFETY: the CPU has AVX2, by contract; there is room for eight, and `set` has at most eight
    // lanes.
    unsafe {
        let to = out.spare(LANES);
        let lanes = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(lanes));
        let all = _mm256_add_epi32(lanes, _mm256_set1_epi32(first.cast_signed()));
        _mm256_storeu_si256(to.cast(), all);
        out.advance(set.count_ones() as usize);
    }
}
