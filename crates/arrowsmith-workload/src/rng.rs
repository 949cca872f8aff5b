// SPDX-License-Identifier: Apache-2.0
//! A small random number generator of our own, so that the data never changes with a dependency.
//!
//! SplitMix64 (Steele, Lea, Flood, 2014): one 64-bit state, a full period, integer arithmetic only.
//! Used by the generators, and by tests and benchmarks of other crates; not for cryptography.

/// The state of one stream of random numbers.
#[derive(Debug, Clone)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// A stream from a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, by the remainder; 0 if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next_u64() % end.max(1)
    }

    /// As [`SplitMix64::below`], for an index of an array.
    pub fn index(&mut self, end: usize) -> usize {
        usize::try_from(self.below(end as u64)).unwrap_or(0)
    }

    /// A number in `low..=high`; `low` if the range is empty.
    ///
    /// One multiplication instead of rejection: the bias is below 2^-32 for the ranges used here,
    /// and the count of numbers drawn stays fixed, which keeps records independent of each other.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let span = u128::from(high.saturating_sub(low)) + 1;
        low.wrapping_add(((u128::from(self.next_u64()) * span) >> 64) as u64)
    }

    /// True in `permille` of 1,000 cases.
    pub(crate) fn chance(&mut self, permille: u64) -> bool {
        self.between(0, 999) < permille
    }

    /// One of the given words; empty if there are none.
    pub(crate) fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        let last = words.len().saturating_sub(1) as u64;
        let index = usize::try_from(self.between(0, last)).unwrap_or(0);
        words.get(index).copied().unwrap_or_default()
    }
}
