// SPDX-License-Identifier: Apache-2.0
//! Texts and sets of eight records for AVX-512. Values are read as with AVX2: a vector of eight
//! lanes was slower than two of four.

use std::arch::x86_64::*;

use crate::lanes::{self, LANES, Literal, Positions};
use crate::{Buf, Input};

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
    let limit = input.from(64).len();
    if !pos.iter().fold(true, |readable, &pos| readable & (pos <= limit)) {
        return lanes::literal(isa, input, pos, literal, set);
    }
    // SAFETY: the CPU has AVX-512, by contract; 64 bytes from each position on can be read.
    let found = unsafe {
        let start = input.from(0).as_ptr();
        // Short texts are compared with half a window, which is in one cache line more often.
        if literal.len <= 32 {
            short(start, pos, literal, set, all)
        } else {
            long(start, pos, literal, set, all)
        }
    };
    // SAFETY: the CPU has AVX-512, by contract; eight times eight bytes. One store, which later
    // loads do not have to wait for as for several.
    unsafe {
        let (at, len) = (_mm512_loadu_si512(pos.as_ptr().cast()), literal.len.cast_signed() as i64);
        let next = _mm512_mask_add_epi64(at, found, at, _mm512_set1_epi64(len));
        _mm512_storeu_si512(pos.as_mut_ptr().cast(), next);
    }
    found
}

/// The lanes of `set` that have a literal of up to 32 bytes.
///
/// # Safety
/// The CPU has AVX-512; 32 bytes from each position on can be read.
#[inline(always)]
unsafe fn short(start: *const u8, pos: &Positions, literal: &Literal, set: u8, all: bool) -> u8 {
    #[expect(clippy::cast_possible_truncation, reason = "the text has up to 32 bytes")]
    let mask = literal.mask as u32;
    // SAFETY: the CPU has AVX-512, and the bytes can be read, by contract.
    unsafe {
        let text = _mm256_loadu_si256(literal.bytes.as_ptr().cast());
        if all && set == u8::MAX {
            // The bytes that differ in any lane.
            let mut differs = _mm256_setzero_si256();
            for lane in pos.iter() {
                let window = _mm256_loadu_si256(start.add(*lane).cast());
                differs = _mm256_ternarylogic_epi64::<0xF6>(differs, window, text);
            }
            if _mm256_mask_test_epi8_mask(mask, differs, differs) == 0 {
                return set;
            }
        }
        let mut found = 0;
        for (lane, from) in pos.iter().enumerate() {
            let window = _mm256_loadu_si256(start.add(*from).cast());
            let differs = _mm256_mask_cmpneq_epi8_mask(mask, window, text);
            found |= u8::from(differs == 0) << lane;
        }
        found & set
    }
}

/// The lanes of `set` that have the literal.
///
/// # Safety
/// The CPU has AVX-512; 64 bytes from each position on can be read.
#[inline(always)]
unsafe fn long(start: *const u8, pos: &Positions, literal: &Literal, set: u8, all: bool) -> u8 {
    // SAFETY: the CPU has AVX-512, and the bytes can be read, by contract.
    unsafe {
        let text = super::load(&literal.bytes);
        if all && set == u8::MAX {
            let mut differs = _mm512_setzero_si512();
            for lane in pos.iter() {
                let window = _mm512_loadu_si512(start.add(*lane).cast());
                differs = _mm512_ternarylogic_epi64::<0xF6>(differs, window, text);
            }
            if _mm512_mask_test_epi8_mask(literal.mask, differs, differs) == 0 {
                return set;
            }
        }
        let mut found = 0;
        for (lane, from) in pos.iter().enumerate() {
            let window = _mm512_loadu_si512(start.add(*from).cast());
            let differs = _mm512_mask_cmpneq_epi8_mask(literal.mask, window, text);
            found |= u8::from(differs == 0) << lane;
        }
        found & set
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
