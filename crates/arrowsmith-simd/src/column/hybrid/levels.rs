// SPDX-License-Identifier: Apache-2.0
//! Hybrid-encoded levels and booleans: to bytes, and to bits.

use super::{Hybrid, Piece, Run};
use crate::buffer::BitWriter;
use crate::column::isa::bits_at;
use crate::column::{CHUNK, ColumnError, Result};
use crate::isa::{Isa, Kernel};
use crate::{BitBuffer, Buf};

pub(super) struct Levels<'a, 'd> {
    pub(super) hybrid: &'a mut Hybrid<'d>,
    pub(super) count: usize,
    pub(super) max: u8,
    pub(super) out: &'a mut Buf<u8>,
}

impl Kernel for Levels<'_, '_> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> Result<()> {
        let (mut left, max) = (self.count, self.max);
        // A packed level can be too large only if the width allows more than the maximum.
        let check = self.hybrid.width > 8 - max.leading_zeros() || max & max.wrapping_add(1) != 0;
        while left > 0 {
            let count = left.min(CHUNK);
            let room = self.out.room(count);
            self.hybrid.decode(isa, max, room)?;
            // SAFETY: `decode` has written all of the room.
            unsafe { self.out.advance(count) };
            if check {
                let levels = self.out.as_slice();
                let mut greatest = 0;
                for &level in &levels[levels.len() - count..] {
                    greatest = greatest.max(level);
                }
                if greatest > max {
                    return Err(ColumnError::Level);
                }
            }
            left -= count;
        }
        Ok(())
    }
}

pub(super) struct Bits<'a, 'd> {
    pub(super) hybrid: &'a mut Hybrid<'d>,
    pub(super) count: usize,
    pub(super) out: &'a mut BitBuffer,
}

impl Kernel for Bits<'_, '_> {
    type Output = Result<usize>;

    #[inline(always)]
    fn run<I: Isa>(self, _isa: I) -> Result<usize> {
        let Self { hybrid, count, out } = self;
        let mut out = out.writer(count);
        let mut left = count;
        let mut ones = 0;
        while left > 0 {
            let (more, set) = hybrid.short_runs(left, &mut out);
            left -= more;
            ones += set;
            if left == 0 {
                break;
            }
            match hybrid.piece(left.min(1 << 32))? {
                Piece::Same(value, count) => {
                    if value > 1 {
                        return Err(ColumnError::Level);
                    }
                    let bits = if value == 1 { u64::MAX } else { 0 };
                    for at in (0..count).step_by(64) {
                        let len = (count - at).min(64);
                        out.put(bits & (u64::MAX >> (64 - len)), len);
                    }
                    ones += if value == 1 { count } else { 0 };
                    left -= count;
                }
                Piece::Packed(bytes, count) => {
                    for at in (0..count).step_by(64) {
                        let len = (count - at).min(64);
                        let bits = bits_at(bytes, at, 64) & (u64::MAX >> (64 - len));
                        out.put(bits, len);
                        ones += bits.count_ones() as usize;
                    }
                    left -= count;
                }
                Piece::Middle(bytes, skip, count) => {
                    let bits = bits_at(bytes, skip, 64) & ((1 << count) - 1);
                    out.put(bits, count);
                    ones += bits.count_ones() as usize;
                    left -= count;
                }
            }
        }
        Ok(ones)
    }
}

impl Hybrid<'_> {
    /// Appends runs of single bits as long as they are short and complete. The kind of the next run
    /// is unpredictable, so it is decided with a select instead of a branch. Returns the number of
    /// bits, and how many of them are set.
    #[inline(always)]
    fn short_runs(&mut self, wanted: usize, out: &mut BitWriter<'_>) -> (usize, usize) {
        if let Run::Same { left: 1.., .. } | Run::Packed { left: 1.., .. } = self.run {
            return (0, 0);
        }
        let (mut pos, mut count, mut ones) = (self.pos, 0, 0);
        while let Some(word) = self.data.get(pos..).and_then(<[u8]>::first_chunk) {
            let word = u64::from_le_bytes(*word);
            let header = (word & 0xFF) as usize;
            let size = header >> 1;
            let packed = header & 1 == 1;
            // A header and seven groups fill a word.
            let value = word >> 8 & 0xFF;
            let limit = if packed { 7 } else { 63 };
            let len = if packed { 8 * size } else { size };
            if size > limit || len > wanted - count || (!packed && value > 1) {
                break;
            }
            let bits = if packed { word >> 8 } else { value.wrapping_neg() };
            let bits = bits & ((1 << len) - 1);
            out.put(bits, len);
            ones += bits.count_ones() as usize;
            count += len;
            pos += if packed { 1 + size } else { 2 };
        }
        self.pos = pos;
        (count, ones)
    }
}
