// SPDX-License-Identifier: Apache-2.0
//! AVX-512 with VBMI2, GFNI and BITALG: a window is one register.

mod column;
mod column_bits;
mod column_join;
mod ints;
mod lanes;
mod stream;

use std::arch::x86_64::*;

use crate::ints::{IntList, int_list_windows};
use crate::isa::{BracketMasks, Isa, Kernel};
use crate::lanes::{LANES, Literal, Positions};
use crate::stream::{ListStream, StreamProgress, list_stream};
use crate::{Buf, Input};

/// Proof that the CPU has the AVX-512 extensions of Ice Lake and Zen 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Avx512(());

impl Avx512 {
    /// The proof, if the CPU has it.
    pub fn detect() -> Option<Self> {
        let there = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2")
            && is_x86_feature_detected!("avx512bitalg")
            && is_x86_feature_detected!("avx512vpopcntdq")
            && is_x86_feature_detected!("gfni")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("pclmulqdq");
        there.then_some(Self(()))
    }
}

/// Sixty-four bytes as a register.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn load(window: &[u8; 64]) -> __m512i {
    // SAFETY: the load is of the 64 bytes, and needs no alignment.
    unsafe { _mm512_loadu_si512(window.as_ptr().cast()) }
}

/// The bytes equal to `byte`.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn eq(window: __m512i, byte: u8) -> u64 {
    // SAFETY: the CPU has AVX-512, by contract.
    unsafe { _mm512_cmpeq_epi8_mask(window, _mm512_set1_epi8(byte.cast_signed())) }
}

impl Isa for Avx512 {
    const NAME: &'static str = "avx512";

    const BULK_SKIP: bool = true;

    #[inline(always)]
    fn digits(self, window: &[u8; 64]) -> u64 {
        // SAFETY: `self` proves AVX-512.
        unsafe {
            let less = _mm512_sub_epi8(load(window), _mm512_set1_epi8(b'0'.cast_signed()));
            _mm512_cmple_epu8_mask(less, _mm512_set1_epi8(9))
        }
    }

    #[inline(always)]
    fn gather_bits(self, bits: u64, mask: u64) -> u64 {
        // SAFETY: `self` proves BMI2.
        unsafe { _pext_u64(bits, mask) }
    }

    #[inline(always)]
    fn scatter_bits(self, bits: u64, mask: u64) -> u64 {
        // SAFETY: `self` proves BMI2.
        unsafe { _pdep_u64(bits, mask) }
    }

    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(
            enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512cd,avx512vbmi,avx512vbmi2"
        )]
        #[target_feature(
            enable = "avx512bitalg,avx512vpopcntdq,gfni,bmi1,bmi2,lzcnt,popcnt,pclmulqdq"
        )]
        fn compiled<K: Kernel>(isa: Avx512, kernel: K) -> K::Output {
            kernel.run(isa)
        }
        // SAFETY: `self` proves that the CPU has these features.
        unsafe { compiled(self, kernel) }
    }

    #[inline(always)]
    fn string_stop(self, window: &[u8; 64]) -> u64 {
        // SAFETY: `self` proves AVX-512.
        unsafe {
            let window = load(window);
            eq(window, b'"')
                | eq(window, b'\\')
                | _mm512_cmplt_epu8_mask(window, _mm512_set1_epi8(0x20))
        }
    }

    #[inline(always)]
    fn bracket_masks(self, window: &[u8; 64]) -> BracketMasks {
        // SAFETY: `self` proves AVX-512. `[` and `{`, `]` and `}` differ in bit 0x20 alone.
        unsafe {
            let window = load(window);
            let folded = _mm512_or_si512(window, _mm512_set1_epi8(0x20));
            BracketMasks {
                quote: eq(window, b'"'),
                backslash: eq(window, b'\\'),
                open: eq(folded, b'{'),
                close: eq(folded, b'}'),
            }
        }
    }

    #[inline(always)]
    fn equal_to(self, window: &[u8; 64], byte: u8) -> u64 {
        // SAFETY: `self` proves AVX-512.
        unsafe { eq(load(window), byte) }
    }

    #[inline(always)]
    fn not_space(self, window: &[u8; 64]) -> u64 {
        // SAFETY: `self` proves AVX-512.
        unsafe {
            let window = load(window);
            !(eq(window, b' ') | eq(window, b'\n') | eq(window, b'\t') | eq(window, b'\r'))
        }
    }

    #[inline(always)]
    fn equal(self, window: &[u8; 64], literal: &[u8; 64], mask: u64) -> bool {
        // SAFETY: `self` proves AVX-512.
        unsafe { _mm512_mask_cmpneq_epi8_mask(mask, load(window), load(literal)) == 0 }
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
        // SAFETY: `self` proves AVX-512.
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
        // SAFETY: `self` proves AVX-512.
        unsafe { super::avx2::lanes::ints(input, pos, lanes, signed) }
    }

    #[inline(always)]
    fn float_lanes(self, input: Input<'_>, pos: &mut Positions, lanes: u8) -> Option<[u64; LANES]> {
        // SAFETY: `self` proves AVX-512.
        unsafe { super::avx2::lanes::floats(input, pos, lanes) }
    }

    #[inline(always)]
    fn date_lanes(self, input: Input<'_>, pos: &mut Positions, lanes: u8) -> Option<[u32; LANES]> {
        // SAFETY: `self` proves AVX-512.
        unsafe { super::avx2::lanes::dates(input, pos, lanes) }
    }

    #[inline(always)]
    fn index_lanes(self, out: &mut Buf<u32>, first: u32, lanes: u8) {
        // SAFETY: `self` proves AVX-512.
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
        // SAFETY: `self` proves AVX-512.
        let passes = unsafe { stream::Blocks::new() };
        list_stream(self, passes, (input, pos), stream, values, offsets)
    }
}
