// SPDX-License-Identifier: Apache-2.0
//! Plain Rust: works everywhere, and defines what the other instruction sets have to compute.

use crate::column::ColumnIsa;
use crate::isa::{BracketMasks, Isa, Kernel};

/// The portable instruction set, which every CPU has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Portable;

/// One bit for each byte of the window for which `test` holds.
#[inline(always)]
fn mask(window: &[u8; 64], test: impl Fn(u8) -> bool) -> u64 {
    let mut bits = 0;
    for (i, &byte) in window.iter().enumerate() {
        bits |= u64::from(test(byte)) << i;
    }
    bits
}

impl ColumnIsa for Portable {}

impl Isa for Portable {
    const NAME: &'static str = "portable";

    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        #[inline(never)]
        fn out_of_line<K: Kernel>(kernel: K) -> K::Output {
            kernel.run(Portable)
        }
        out_of_line(kernel)
    }

    #[inline(always)]
    fn string_stop(self, window: &[u8; 64]) -> u64 {
        mask(window, |b| b == b'"' || b == b'\\' || b < 0x20)
    }

    #[inline(always)]
    fn bracket_masks(self, window: &[u8; 64]) -> BracketMasks {
        BracketMasks {
            quote: mask(window, |b| b == b'"'),
            backslash: mask(window, |b| b == b'\\'),
            open: mask(window, |b| b == b'{' || b == b'['),
            close: mask(window, |b| b == b'}' || b == b']'),
        }
    }

    #[inline(always)]
    fn digits(self, window: &[u8; 64]) -> u64 {
        mask(window, |b| b.is_ascii_digit())
    }

    #[inline(always)]
    fn equal_to(self, window: &[u8; 64], byte: u8) -> u64 {
        mask(window, |b| b == byte)
    }

    #[inline(always)]
    fn not_space(self, window: &[u8; 64]) -> u64 {
        mask(window, |b| !matches!(b, b' ' | b'\t' | b'\n' | b'\r'))
    }

    #[inline(always)]
    fn equal(self, window: &[u8; 64], literal: &[u8; 64], mask: u64) -> bool {
        let len = mask.trailing_ones() as usize;
        window[..len] == literal[..len]
    }

    #[inline(always)]
    fn prefix_xor(self, mut bits: u64) -> u64 {
        for shift in [1, 2, 4, 8, 16, 32] {
            bits ^= bits << shift;
        }
        bits
    }
}
