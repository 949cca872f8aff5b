// SPDX-License-Identifier: Apache-2.0
//! A small random number generator of our own, so that the data never changes with a dependency.
//!
//! SplitMix64 (Steele, Lea, Flood, 2014): one 64-bit state, a full period, integer arithmetic only.
//! Used by the generators; not for cryptography.

/// The state of one stream of random numbers.
#[derive(Debug, Clone)]
pub(crate) struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// 64 random bits.
    pub(crate) fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in `low..=high`; `low` if the range is empty.
    ///
    /// One multiplication instead of rejection: the bias is below 2^-32 for the ranges used here,
    /// and the count of numbers drawn stays fixed, which keeps records independent of each other.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
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
