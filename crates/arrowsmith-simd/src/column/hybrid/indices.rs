// SPDX-License-Identifier: Apache-2.0
//! Hybrid-encoded indices of a dictionary, checked against its length.

use std::mem::MaybeUninit;

use super::Hybrid;
use crate::column::read::{Decode, Scratch};
use crate::column::{CHUNK, ColumnError, Result};
use crate::isa::Isa;

/// Dictionary indices without lookup, for dictionary arrays: a [`Decode`] of `u32` and `i32`.
#[derive(Debug, Clone)]
pub struct Indices<'a> {
    hybrid: Hybrid<'a>,
    len: usize,
}

impl<'a> Indices<'a> {
    /// Indices into a dictionary of `len` entries.
    pub fn new(hybrid: Hybrid<'a>, len: usize) -> Self {
        Self { hybrid, len }
    }

    /// The indices not yet decoded.
    pub fn into_hybrid(self) -> Hybrid<'a> {
        self.hybrid
    }
}

// SAFETY: `Hybrid::decode` writes all of `out`, or fails.
unsafe impl Decode<u32> for Indices<'_> {
    #[inline(always)]
    fn decode<I: Isa>(&mut self, isa: I, out: &mut [MaybeUninit<u32>]) -> Result<()> {
        self.hybrid.decode32(isa, out)?;
        // SAFETY: all of `out` was written.
        let indices = unsafe { std::slice::from_raw_parts(out.as_ptr().cast::<u32>(), out.len()) };
        check(isa, indices, self.len)
    }
}

// SAFETY: as above.
unsafe impl Decode<i32> for Indices<'_> {
    #[inline(always)]
    fn decode<I: Isa>(&mut self, isa: I, out: &mut [MaybeUninit<i32>]) -> Result<()> {
        if i32::try_from(self.len).is_err() {
            return Err(ColumnError::Offset);
        }
        // SAFETY: both types have the same layout.
        let out = unsafe {
            std::slice::from_raw_parts_mut(out.as_mut_ptr().cast::<MaybeUninit<u32>>(), out.len())
        };
        Decode::<u32>::decode(self, isa, out)
    }
}

/// Whether all indices are less than `len`.
#[inline(always)]
fn check<I: Isa>(isa: I, indices: &[u32], len: usize) -> Result<()> {
    if indices.is_empty() || (isa.max32(indices) as usize) < len {
        Ok(())
    } else {
        Err(ColumnError::Index)
    }
}

/// The next indices of a chunk, all less than `len`, stored in `scratch`.
#[inline(always)]
pub(in crate::column) fn indices<'s, I: Isa>(
    isa: I,
    hybrid: &mut Hybrid<'_>,
    len: usize,
    scratch: &'s mut Scratch<u32, { CHUNK + 1 }>,
    count: usize,
) -> Result<&'s [u32]> {
    hybrid.decode32(isa, scratch.room(count))?;
    // SAFETY: `decode32` has written `count`.
    let indices = unsafe { scratch.filled(count) };
    check(isa, indices, len)?;
    Ok(indices)
}
