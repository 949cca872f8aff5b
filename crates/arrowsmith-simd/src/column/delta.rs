// SPDX-License-Identifier: Apache-2.0
//! `DELTA_BINARY_PACKED`: the differences of integers, bit-packed in miniblocks of one width.

use std::mem::MaybeUninit;

use super::isa::bits_at;
use super::read::Decode;
use super::{ColumnError, Result, varint};
use crate::isa::Isa;
use crate::prefetch::{DISTANCE_BYTES, prefetch};

/// A decoder of delta-encoded integers: a [`Decode`] of `i32` and `i64`.
#[derive(Debug, Clone)]
pub struct Delta<'a> {
    data: &'a [u8],
    pos: usize,
    /// Values per miniblock; a multiple of eight.
    miniblock: usize,
    miniblocks: usize,
    /// Values not yet decoded.
    left: usize,
    first: bool,
    /// The last decoded value, or the first value.
    last: i64,
    /// The minimum difference of the block.
    least: i64,
    /// Position of the width of the next miniblock, and the number of widths left in the block.
    widths: usize,
    widths_left: usize,
    /// The current miniblock: its position, its width, and how many of its values were decoded.
    packed: usize,
    packed_len: usize,
    width: u32,
    taken: usize,
}

/// An integer of the encoding.
pub(super) trait DeltaInt: Copy {
    const BITS: u32;
    fn wrap(value: i64) -> Self;
    fn widen(self) -> i64;
    fn sum<I: Isa>(
        isa: I,
        packed: &[u8],
        width: u32,
        least: Self,
        last: Self,
        out: &mut [MaybeUninit<Self>],
    ) -> Self;
    /// # Safety
    /// As [`ColumnIsa::block64`](super::ColumnIsa::block64).
    unsafe fn block<I: Isa>(
        isa: I,
        packed: &[u8],
        widths: &[u8],
        miniblock: usize,
        least: Self,
        last: Self,
        out: &mut [MaybeUninit<Self>],
    ) -> Self;
}

impl DeltaInt for i64 {
    const BITS: u32 = 64;
    #[inline(always)]
    fn wrap(value: i64) -> Self {
        value
    }
    #[inline(always)]
    fn widen(self) -> i64 {
        self
    }
    #[inline(always)]
    fn sum<I: Isa>(
        isa: I,
        packed: &[u8],
        width: u32,
        least: i64,
        last: i64,
        out: &mut [MaybeUninit<i64>],
    ) -> i64 {
        isa.sum64(packed, width, least, last, out)
    }
    #[inline(always)]
    unsafe fn block<I: Isa>(
        isa: I,
        packed: &[u8],
        widths: &[u8],
        miniblock: usize,
        least: i64,
        last: i64,
        out: &mut [MaybeUninit<i64>],
    ) -> i64 {
        // SAFETY: the contract is that of `block64`.
        unsafe { isa.block64(packed, widths, miniblock, least, last, out) }
    }
}

impl DeltaInt for i32 {
    const BITS: u32 = 32;
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "sums wrap around")]
    fn wrap(value: i64) -> Self {
        value as i32
    }
    #[inline(always)]
    fn widen(self) -> i64 {
        i64::from(self)
    }
    #[inline(always)]
    fn sum<I: Isa>(
        isa: I,
        packed: &[u8],
        width: u32,
        least: i32,
        last: i32,
        out: &mut [MaybeUninit<i32>],
    ) -> i32 {
        isa.sum32(packed, width, least, last, out)
    }
    #[inline(always)]
    unsafe fn block<I: Isa>(
        isa: I,
        packed: &[u8],
        widths: &[u8],
        miniblock: usize,
        least: i32,
        last: i32,
        out: &mut [MaybeUninit<i32>],
    ) -> i32 {
        // SAFETY: the contract is that of `block32`.
        unsafe { isa.block32(packed, widths, miniblock, least, last, out) }
    }
}

impl<'a> Delta<'a> {
    /// Parses the header.
    ///
    /// # Errors
    /// [`ColumnError::Header`] if blocks do not divide into miniblocks of a multiple of eight
    /// values; [`ColumnError::Truncated`], [`ColumnError::Varint`].
    pub fn new(data: &'a [u8]) -> Result<Self> {
        // A page without values may have no header.
        let data = if data.is_empty() { &[128, 1, 4, 0, 0] } else { data };
        let mut pos = 0;
        let block = varint::unsigned(data, &mut pos)?;
        let miniblocks = varint::unsigned(data, &mut pos)?;
        let count = varint::unsigned(data, &mut pos)?;
        let last = varint::signed(data, &mut pos)?;
        let miniblock = block.checked_div(miniblocks).ok_or(ColumnError::Header)?;
        if miniblock == 0 || miniblock * miniblocks != block || miniblock % 8 != 0 {
            return Err(ColumnError::Header);
        }
        let size = |n: u64| usize::try_from(n).map_err(|_| ColumnError::Header);
        Ok(Self {
            data,
            pos,
            miniblock: size(miniblock)?,
            miniblocks: size(miniblocks)?,
            left: size(count)?,
            first: true,
            last,
            least: 0,
            widths: 0,
            widths_left: 0,
            packed: 0,
            packed_len: 0,
            width: 0,
            taken: size(miniblock)?,
        })
    }

    /// This decoder, continuing in `data`: the same bytes at another address, or an empty slice
    /// while it is not used.
    pub fn over<'b>(&self, data: &'b [u8]) -> Delta<'b> {
        Delta {
            data,
            pos: self.pos,
            miniblock: self.miniblock,
            miniblocks: self.miniblocks,
            left: self.left,
            first: self.first,
            last: self.last,
            least: self.least,
            widths: self.widths,
            widths_left: self.widths_left,
            packed: self.packed,
            packed_len: self.packed_len,
            width: self.width,
            taken: self.taken,
        }
    }

    /// Values not yet decoded, according to the header; the data may hold fewer.
    pub fn left(&self) -> usize {
        self.left
    }

    /// The data after the values, once all are decoded.
    ///
    /// # Errors
    /// [`ColumnError::Count`] if there are more values.
    pub fn rest(&self) -> Result<&'a [u8]> {
        if self.left > 0 {
            return Err(ColumnError::Count);
        }
        Ok(self.data.get(self.pos..).unwrap_or_default())
    }

    /// The data after the values, found from the headers alone, before any value is decoded.
    pub(super) fn find_rest<T: DeltaInt>(&self) -> Result<&'a [u8]> {
        let mut walk = self.clone();
        walk.left -= usize::from(walk.left > 0);
        while walk.left > 0 {
            walk.next(T::BITS)?;
            prefetch(self.data, walk.pos + DISTANCE_BYTES, walk.packed_len);
            walk.left -= walk.miniblock.min(walk.left);
        }
        walk.rest()
    }

    /// Moves to the next miniblock, whose values are differences of up to `bits` bits.
    #[inline(always)]
    fn next(&mut self, bits: u32) -> Result<()> {
        if self.widths_left == 0 {
            self.least = varint::signed(self.data, &mut self.pos)?;
            self.widths = self.pos;
            self.widths_left = self.miniblocks;
            let end = self.pos.checked_add(self.miniblocks).ok_or(ColumnError::Truncated)?;
            if end > self.data.len() {
                return Err(ColumnError::Truncated);
            }
            self.pos = end;
        }
        self.width = u32::from(self.data[self.widths]);
        if self.width > bits {
            return Err(ColumnError::Width);
        }
        self.widths += 1;
        self.widths_left -= 1;
        // The last miniblock may be truncated after its last value.
        let rest = self.data.get(self.pos..).unwrap_or_default();
        let len = (self.miniblock / 8).saturating_mul(self.width as usize).min(rest.len());
        self.packed = self.pos;
        self.packed_len = len;
        self.pos += len;
        self.taken = 0;
        Ok(())
    }

    /// Writes the values of all complete blocks that fit; returns how many. Requires the start of a
    /// block.
    #[inline(always)]
    fn blocks<I: Isa, T: DeltaInt>(
        &mut self,
        isa: I,
        last: &mut T,
        out: &mut [MaybeUninit<T>],
    ) -> Result<usize> {
        let (data, miniblock) = (self.data, self.miniblock);
        let block = miniblock.saturating_mul(self.miniblocks);
        if !miniblock.is_multiple_of(32) || block > out.len() {
            return Ok(0);
        }
        let (mut pos, mut sum, mut at) = (self.pos, *last, 0);
        while out.len() - at >= block {
            let mut next = pos;
            let least = varint::signed(data, &mut next)?;
            let Some(rest) = data.get(next..) else { break };
            let Some((widths, packed)) = rest.split_at_checked(self.miniblocks) else { break };
            let (mut bits, mut widest) = (0, 0);
            for &width in widths {
                bits += usize::from(width);
                widest = widest.max(width);
            }
            // A truncated or invalid block is left to the code for single miniblocks.
            let len = bits * (miniblock / 8);
            if len > packed.len() || u32::from(widest) > T::BITS {
                break;
            }
            prefetch(data, next + DISTANCE_BYTES, len);
            // SAFETY: the widths and lengths were just checked.
            sum = unsafe {
                let out = &mut out[at..at + block];
                T::block(isa, packed, widths, miniblock, T::wrap(least), sum, out)
            };
            at += block;
            pos = next + self.miniblocks + len;
        }
        (self.pos, *last) = (pos, sum);
        Ok(at)
    }

    /// Writes the next values.
    #[inline(always)]
    pub(super) fn take<I: Isa, T: DeltaInt>(
        &mut self,
        isa: I,
        out: &mut [MaybeUninit<T>],
    ) -> Result<()> {
        if out.len() > self.left {
            return Err(ColumnError::Count);
        }
        self.left -= out.len();
        let mut last = T::wrap(self.last);
        let mut at = 0;
        if self.first && !out.is_empty() {
            out[0].write(last);
            self.first = false;
            at = 1;
        }
        while at < out.len() {
            if self.taken == self.miniblock {
                if self.widths_left == 0 {
                    at += self.blocks(isa, &mut last, &mut out[at..])?;
                    if at == out.len() {
                        break;
                    }
                }
                self.next(T::BITS)?;
            }
            let (width, taken) = (self.width as usize, self.taken);
            // Up to the end of the data, because kernels load more bytes than they use.
            let packed = self.data.get(self.packed..).unwrap_or_default();
            let least = T::wrap(self.least);
            let count = (self.miniblock - taken).min(out.len() - at);
            // Cannot overflow: with a non-zero width the values taken have bytes in the data, and a
            // chunk is short.
            if width > 0 && self.packed_len < ((taken + count) * width).div_ceil(8) {
                return Err(ColumnError::Truncated);
            }
            let head = count.min(taken.wrapping_neg() & 7);
            for i in taken..taken + head {
                let difference = bits_at(packed, i * width, self.width).cast_signed();
                last = T::wrap(last.widen().wrapping_add(difference).wrapping_add(least.widen()));
                out[at].write(last);
                at += 1;
            }
            let body = count - head;
            if body > 0 {
                let start = (taken + head) / 8 * width;
                let packed = packed.get(start..).unwrap_or_default();
                last = T::sum(isa, packed, self.width, least, last, &mut out[at..at + body]);
                at += body;
            }
            self.taken += count;
        }
        self.last = last.widen();
        Ok(())
    }
}

// SAFETY: `take` writes all of `out`, or fails.
unsafe impl Decode<i64> for Delta<'_> {
    #[inline(always)]
    fn decode<I: Isa>(&mut self, isa: I, out: &mut [MaybeUninit<i64>]) -> Result<()> {
        self.take(isa, out)
    }
}

// SAFETY: as above.
unsafe impl Decode<i32> for Delta<'_> {
    #[inline(always)]
    fn decode<I: Isa>(&mut self, isa: I, out: &mut [MaybeUninit<i32>]) -> Result<()> {
        self.take(isa, out)
    }
}
