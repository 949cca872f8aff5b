// SPDX-License-Identifier: Apache-2.0
//! NEON: windows as four 16-byte quarters; integers by eight digits per word.

use std::arch::aarch64::*;

use crate::arch::portable::Portable;
use crate::column::ColumnIsa;
use crate::isa::{BracketMasks, Isa, Kernel};

/// Proof that the CPU has NEON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Neon(());

impl Neon {
    /// The proof, if the CPU has it: every 64-bit Arm does.
    pub fn detect() -> Option<Self> {
        std::arch::is_aarch64_feature_detected!("neon").then_some(Self(()))
    }
}

type Window = [uint8x16_t; 4];

/// The four quarters of a window.
///
/// # Safety
/// The CPU has NEON.
#[inline(always)]
unsafe fn load(window: &[u8; 64]) -> Window {
    // SAFETY: the loads are inside the 64 bytes, and need no alignment.
    unsafe {
        let ptr = window.as_ptr();
        [vld1q_u8(ptr), vld1q_u8(ptr.add(16)), vld1q_u8(ptr.add(32)), vld1q_u8(ptr.add(48))]
    }
}

/// One bit for each byte that is all ones, the others being zero: three rounds of pairwise addition
/// of bytes that hold one distinct bit each.
///
/// # Safety
/// The CPU has NEON.
#[inline(always)]
unsafe fn bits(bytes: Window) -> u64 {
    const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
    // SAFETY: the CPU has NEON, by contract; the load is of 16 bytes.
    unsafe {
        let one = vld1q_u8(BITS.as_ptr());
        let low = vpaddq_u8(vandq_u8(bytes[0], one), vandq_u8(bytes[1], one));
        let high = vpaddq_u8(vandq_u8(bytes[2], one), vandq_u8(bytes[3], one));
        let sum = vpaddq_u8(low, high);
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sum, sum)))
    }
}

/// The bytes equal to `byte`.
///
/// # Safety
/// The CPU has NEON.
#[inline(always)]
unsafe fn eq(window: Window, byte: u8) -> u64 {
    // SAFETY: the CPU has NEON, by contract.
    unsafe {
        let byte = vdupq_n_u8(byte);
        bits(window.map(|quarter| vceqq_u8(quarter, byte)))
    }
}

impl ColumnIsa for Neon {}

impl Isa for Neon {
    const NAME: &'static str = "neon";

    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "neon")]
        fn compiled<K: Kernel>(isa: Neon, kernel: K) -> K::Output {
            kernel.run(isa)
        }
        // SAFETY: `self` proves that the CPU has NEON.
        unsafe { compiled(self, kernel) }
    }

    #[inline(always)]
    fn string_stop(self, window: &[u8; 64]) -> u64 {
        // SAFETY: `self` proves NEON.
        unsafe {
            bits(load(window).map(|quarter| {
                let quote = vceqq_u8(quarter, vdupq_n_u8(b'"'));
                let backslash = vceqq_u8(quarter, vdupq_n_u8(b'\\'));
                let control = vcltq_u8(quarter, vdupq_n_u8(0x20));
                vorrq_u8(vorrq_u8(quote, backslash), control)
            }))
        }
    }

    #[inline(always)]
    fn bracket_masks(self, window: &[u8; 64]) -> BracketMasks {
        // SAFETY: `self` proves NEON. `[` and `{`, `]` and `}` differ in bit 0x20 alone.
        unsafe {
            let quarters = load(window);
            let folded = quarters.map(|quarter| vorrq_u8(quarter, vdupq_n_u8(0x20)));
            BracketMasks {
                quote: eq(quarters, b'"'),
                backslash: eq(quarters, b'\\'),
                open: eq(folded, b'{'),
                close: eq(folded, b'}'),
            }
        }
    }

    #[inline(always)]
    fn digits(self, window: &[u8; 64]) -> u64 {
        // SAFETY: `self` proves NEON.
        unsafe {
            bits(
                load(window)
                    .map(|quarter| vcleq_u8(vsubq_u8(quarter, vdupq_n_u8(b'0')), vdupq_n_u8(9))),
            )
        }
    }

    #[inline(always)]
    fn equal_to(self, window: &[u8; 64], byte: u8) -> u64 {
        // SAFETY: `self` proves NEON.
        unsafe { eq(load(window), byte) }
    }

    #[inline(always)]
    fn not_space(self, window: &[u8; 64]) -> u64 {
        // SAFETY: `self` proves NEON.
        unsafe {
            let quarters = load(window);
            !(eq(quarters, b' ') | eq(quarters, b'\n') | eq(quarters, b'\t') | eq(quarters, b'\r'))
        }
    }

    #[inline(always)]
    fn equal(self, window: &[u8; 64], literal: &[u8; 64], mask: u64) -> bool {
        // SAFETY: `self` proves NEON.
        unsafe {
            let (a, b) = (load(window), load(literal));
            let equal = [
                vceqq_u8(a[0], b[0]),
                vceqq_u8(a[1], b[1]),
                vceqq_u8(a[2], b[2]),
                vceqq_u8(a[3], b[3]),
            ];
            !bits(equal) & mask == 0
        }
    }

    #[inline(always)]
    fn prefix_xor(self, bits: u64) -> u64 {
        Portable.prefix_xor(bits)
    }
}
