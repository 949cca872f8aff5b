// SPDX-License-Identifier: Apache-2.0
//! AVX2: windows as two 32-byte halves.

mod column;
mod ints;
pub(super) mod lanes;
mod stream;

use std::arch::x86_64::*;

use crate::ints::{IntList, int_list_windows};
use crate::isa::{BracketMasks, Isa, Kernel};
use crate::lanes::{LANES, Literal, Positions};
use crate::stream::{ListStream, StreamProgress, list_stream};
use crate::{Buf, Input};

/// Proof that the CPU has AVX2, BMI1, BMI2, LZCNT, POPCNT and PCLMULQDQ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Avx2(());

impl Avx2 {
    /// The proof, if the CPU has them.
    pub fn detect() -> Option<Self> {
        let there = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("pclmulqdq");
        there.then_some(Self(()))
    }
}

/// The two halves of a window.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn load(window: &[u8; 64]) -> [__m256i; 2] {
    // SAFETY: both loads are inside the 64 bytes, and need no alignment.
    unsafe {
        [
            _mm256_loadu_si256(window.as_ptr().cast()),
            _mm256_loadu_si256(window.as_ptr().add(32).cast()),
        ]
    }
}

/// The top bit of every byte of both halves.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn top_bits(low: __m256i, high: __m256i) -> u64 {
    // SAFETY: the CPU has AVX2, by contract.
    let (low, high) = unsafe { (_mm256_movemask_epi8(low), _mm256_movemask_epi8(high)) };
    u64::from(low.cast_unsigned()) | u64::from(high.cast_unsigned()) << 32
}

/// The bytes equal to `byte`.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn eq(halves: [__m256i; 2], byte: u8) -> u64 {
    // SAFETY: the CPU has AVX2, by contract.
    unsafe {
        let byte = _mm256_set1_epi8(byte.cast_signed());
        top_bits(_mm256_cmpeq_epi8(halves[0], byte), _mm256_cmpeq_epi8(halves[1], byte))
    }
}

/// All ones in the bytes that end or interrupt a string.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn stops(half: __m256i) -> __m256i {
    // SAFETY: the CPU has AVX2, by contract.
    unsafe {
        let limit = _mm256_set1_epi8(0x1f);
        let quote = _mm256_cmpeq_epi8(half, _mm256_set1_epi8(b'"'.cast_signed()));
        let backslash = _mm256_cmpeq_epi8(half, _mm256_set1_epi8(b'\\'.cast_signed()));
        let control = _mm256_cmpeq_epi8(_mm256_max_epu8(half, limit), limit);
        _mm256_or_si256(_mm256_or_si256(quote, backslash), control)
    }
}

impl Isa for Avx2 {
    const NAME: &'static str = "avx2";

    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt,pclmulqdq")]
        fn compiled<K: Kernel>(isa: Avx2, kernel: K) -> K::Output {
            kernel.run(isa)
        }
        // SAFETY: `self` proves that the CPU has these features.
        unsafe { compiled(self, kernel) }
    }

    #[inline(always)]
    fn string_stop(self, window: &[u8; 64]) -> u64 {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let [low, high] = load(window);
            top_bits(stops(low), stops(high))
        }
    }

    #[inline(always)]
    fn bracket_masks(self, window: &[u8; 64]) -> BracketMasks {
        // SAFETY: `self` proves AVX2. `[` and `{`, `]` and `}` differ in bit 0x20 alone.
        unsafe {
            let halves = load(window);
            let lower = _mm256_set1_epi8(0x20);
            let folded = [_mm256_or_si256(halves[0], lower), _mm256_or_si256(halves[1], lower)];
            BracketMasks {
                quote: eq(halves, b'"'),
                backslash: eq(halves, b'\\'),
                open: eq(folded, b'{'),
                close: eq(folded, b'}'),
            }
        }
    }

    #[inline(always)]
    fn digits(self, window: &[u8; 64]) -> u64 {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let (zero, nine) = (_mm256_set1_epi8(b'0'.cast_signed()), _mm256_set1_epi8(9));
            let halves = load(window);
            let (low, high) = (_mm256_sub_epi8(halves[0], zero), _mm256_sub_epi8(halves[1], zero));
            let (low_max, high_max) = (_mm256_max_epu8(low, nine), _mm256_max_epu8(high, nine));
            top_bits(_mm256_cmpeq_epi8(low_max, nine), _mm256_cmpeq_epi8(high_max, nine))
        }
    }

    #[inline(always)]
    fn equal_to(self, window: &[u8; 64], byte: u8) -> u64 {
        // SAFETY: `self` proves AVX2.
        unsafe { eq(load(window), byte) }
    }

    #[inline(always)]
    fn not_space(self, window: &[u8; 64]) -> u64 {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let halves = load(window);
            !(eq(halves, b' ') | eq(halves, b'\n') | eq(halves, b'\t') | eq(halves, b'\r'))
        }
    }

    #[inline(always)]
    fn equal(self, window: &[u8; 64], literal: &[u8; 64], mask: u64) -> bool {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let (a, b) = (load(window), load(literal));
            let equal = top_bits(_mm256_cmpeq_epi8(a[0], b[0]), _mm256_cmpeq_epi8(a[1], b[1]));
            !equal & mask == 0
        }
    }

    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        // SAFETY: `self` proves PCLMULQDQ.
        unsafe {
            let bits = _mm_set_epi64x(0, bits.cast_signed());
            let product = _mm_clmulepi64_si128::<0>(bits, _mm_set1_epi8(-1));
            _mm_cvtsi128_si64(product).cast_unsigned()
        }
    }

    #[inline(always)]
    fn gather_bits(self, bits: u64, mask: u64) -> u64 {
        // SAFETY: `self` proves BMI2.
        unsafe { _pext_u64(bits, mask) }
    }

    #[inline(always)]
    fn int_list(self, input: Input<'_>, pos: usize, out: &mut Buf<u64>, signed: bool) -> IntList {
        int_list_windows(self, input, pos, out, signed)
    }

    #[inline(always)]
    fn literal_lanes(
        self,
        input: Input<'_>,
        pos: &mut Positions,
        literal: &Literal,
        lanes: u8,
        all: bool,
    ) -> u8 {
        // SAFETY: `self` proves AVX2.
        unsafe { lanes::literal(self, input, pos, literal, lanes, all) }
    }

    #[inline(always)]
    fn int_lanes(
        self,
        input: Input<'_>,
        pos: &mut Positions,
        lanes: u8,
        signed: bool,
    ) -> Option<[u64; LANES]> {
        // SAFETY: `self` proves AVX2.
        unsafe { lanes::ints(input, pos, lanes, signed) }
    }

    #[inline(always)]
    fn float_lanes(self, input: Input<'_>, pos: &mut Positions, lanes: u8) -> Option<[u64; LANES]> {
        // SAFETY: `self` proves AVX2.
        unsafe { lanes::floats(input, pos, lanes) }
    }

    #[inline(always)]
    fn date_lanes(self, input: Input<'_>, pos: &mut Positions, lanes: u8) -> Option<[u32; LANES]> {
        // SAFETY: `self` proves AVX2.
        unsafe { lanes::dates(input, pos, lanes) }
    }

    #[inline(always)]
    fn index_lanes(self, out: &mut Buf<u32>, first: u32, lanes: u8) {
        // SAFETY: `self` proves AVX2.
        unsafe { lanes::indices(out, first, lanes) }
    }

    #[inline(always)]
    fn list_stream(
        self,
        input: Input<'_>,
        stream: &ListStream,
        pos: usize,
        values: &mut Buf<u64>,
        offsets: &mut Buf<i32>,
    ) -> StreamProgress {
        list_stream(self, stream::Blocks::new(self), (input, pos), stream, values, offsets)
    }
}
