// SPDX-License-Identifier: Apache-2.0
//! Dictionary indices to values.

use std::mem::MaybeUninit;

use super::hybrid::indices;
use super::read::{Decode, DecodeBytes, Scratch};
use super::{CHUNK, ColumnError, Hybrid, Result};
use crate::isa::Isa;

/// Looks up each index in a dictionary: a [`Decode`] of the dictionary's type, which may be views.
#[derive(Debug, Clone)]
pub struct Gather<'a, 'd, T> {
    hybrid: Hybrid<'a>,
    values: &'d [T],
    past_cache: bool,
}

impl<'a, 'd, T> Gather<'a, 'd, T> {
    /// Indices into `values`.
    pub fn new(hybrid: Hybrid<'a>, values: &'d [T]) -> Self {
        Self { hybrid, values, past_cache: false }
    }

    /// The indices not yet decoded.
    pub fn into_hybrid(self) -> Hybrid<'a> {
        self.hybrid
    }
}

// SAFETY: `gather` writes all of `out`, chunk by chunk.
unsafe impl<T: Copy> Decode<T> for Gather<'_, '_, T> {
    #[inline(always)]
    fn past_cache(&mut self, past: bool) {
        self.past_cache = past;
    }

    #[inline(always)]
    fn decode<I: Isa>(&mut self, isa: I, out: &mut [MaybeUninit<T>]) -> Result<()> {
        let mut scratch = Scratch::new();
        for out in out.chunks_mut(CHUNK + 1) {
            let len = self.values.len();
            let indices = indices(isa, &mut self.hybrid, len, &mut scratch, out.len())?;
            // SAFETY: `indices` has checked that every index is less than the length.
            unsafe { isa.gather(self.values, indices, out, self.past_cache) };
        }
        Ok(())
    }
}

/// Looks up each index in a dictionary of byte strings of one size.
#[derive(Debug, Clone)]
pub struct GatherBytes<'a, 'd> {
    hybrid: Hybrid<'a>,
    values: &'d [u8],
    width: usize,
}

impl<'a, 'd> GatherBytes<'a, 'd> {
    /// Indices into `values`, `width` bytes each.
    ///
    /// # Errors
    /// [`ColumnError::Length`] if `values` is not a multiple of `width`, or that is 0.
    pub fn new(hybrid: Hybrid<'a>, values: &'d [u8], width: usize) -> Result<Self> {
        if width == 0 || !values.len().is_multiple_of(width) {
            return Err(ColumnError::Length);
        }
        Ok(Self { hybrid, values, width })
    }

    /// The indices not yet decoded.
    pub fn into_hybrid(self) -> Hybrid<'a> {
        self.hybrid
    }
}

// SAFETY: each chunk of `out` is written as a whole.
unsafe impl DecodeBytes for GatherBytes<'_, '_> {
    fn width(&self) -> usize {
        self.width
    }

    #[inline(always)]
    fn decode<I: Isa>(&mut self, isa: I, out: &mut [MaybeUninit<u8>]) -> Result<()> {
        let mut scratch = Scratch::new();
        let (width, len) = (self.width, self.values.len() / self.width);
        for out in out.chunks_mut(CHUNK * width) {
            let count = out.len() / width;
            let indices = indices(isa, &mut self.hybrid, len, &mut scratch, count)?;
            for (&index, out) in indices.iter().zip(out.chunks_exact_mut(width)) {
                let start = index as usize * width;
                out.write_copy_of_slice(&self.values[start..start + width]);
            }
        }
        Ok(())
    }
}
