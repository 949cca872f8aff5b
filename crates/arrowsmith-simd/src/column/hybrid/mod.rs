// SPDX-License-Identifier: Apache-2.0
//! The RLE/bit-packing hybrid encoding of levels, dictionary indices and booleans.

mod indices;
mod levels;

use std::mem::MaybeUninit;

pub use self::indices::Indices;
pub(super) use self::indices::indices;
use self::levels::{Bits, Levels};
use super::isa::bits_at;
use super::{CHUNK, ColumnError, Result, varint};
use crate::isa::{Isa, Level};
use crate::prefetch::{DISTANCE_BYTES, prefetch};
use crate::{BitBuffer, Buf};

/// A decoder of integers in runs and bit-packed groups.
#[derive(Debug, Clone)]
pub struct Hybrid<'a> {
    data: &'a [u8],
    pos: usize,
    width: u32,
    run: Run,
}

/// The rest of a run.
#[derive(Debug, Clone, Copy)]
enum Run {
    /// `left` times a value.
    Same { value: u32, left: usize },
    /// Packed values that start at byte `start`; those before `at` are decoded.
    Packed { start: usize, at: usize, left: usize },
}

/// A type that packed values are unpacked to.
trait Packed: Copy + Ord {
    /// The error of a value that is too large.
    const ERROR: ColumnError;
    fn from_bits(bits: u32) -> Option<Self>;
    fn fill<I: Isa>(isa: I, value: Self, out: &mut [MaybeUninit<Self>]);
    fn unpack<I: Isa>(isa: I, packed: &[u8], width: u32, out: &mut [MaybeUninit<Self>]);
}

impl Packed for u32 {
    const ERROR: ColumnError = ColumnError::Index;

    #[inline(always)]
    fn from_bits(bits: u32) -> Option<Self> {
        Some(bits)
    }

    #[inline(always)]
    fn fill<I: Isa>(isa: I, value: u32, out: &mut [MaybeUninit<u32>]) {
        isa.fill32(value, out);
    }

    #[inline(always)]
    fn unpack<I: Isa>(isa: I, packed: &[u8], width: u32, out: &mut [MaybeUninit<u32>]) {
        isa.unpack32(packed, width, out);
    }
}

impl Packed for u8 {
    const ERROR: ColumnError = ColumnError::Level;

    #[inline(always)]
    fn from_bits(bits: u32) -> Option<Self> {
        Self::try_from(bits).ok()
    }

    #[inline(always)]
    fn fill<I: Isa>(isa: I, value: u8, out: &mut [MaybeUninit<u8>]) {
        isa.fill8(value, out);
    }

    #[inline(always)]
    fn unpack<I: Isa>(isa: I, packed: &[u8], width: u32, out: &mut [MaybeUninit<u8>]) {
        isa.unpack8(packed, width, out);
    }
}

/// A piece of a run.
enum Piece<'a> {
    /// A value, and how often it is repeated.
    Same(u32, usize),
    /// Bytes that start with the requested values, and how many.
    Packed(&'a [u8], usize),
    /// Bytes whose first values are already decoded: how many, and how many follow; fewer than
    /// eight together.
    Middle(&'a [u8], usize, usize),
}

impl<'a> Hybrid<'a> {
    /// A decoder of `data`, with values of `width` bits.
    ///
    /// # Errors
    /// [`ColumnError::Width`] above 32 bits.
    pub fn new(data: &'a [u8], width: u32) -> Result<Self> {
        if width > 32 {
            return Err(ColumnError::Width);
        }
        Ok(Self { data, pos: 0, width, run: Run::Same { value: 0, left: 0 } })
    }

    /// A decoder of dictionary indices: the width is in the first byte.
    ///
    /// # Errors
    /// [`ColumnError::Width`] above 32 bits. Empty data is an error only when a value is read.
    pub fn indices(data: &'a [u8]) -> Result<Self> {
        match data.split_first() {
            Some((&width, data)) => Self::new(data, u32::from(width)),
            None => Self::new(data, 0),
        }
    }

    /// This decoder, continuing in `data`: the same bytes at another address, or an empty slice
    /// while it is not used.
    pub fn over<'b>(&self, data: &'b [u8]) -> Hybrid<'b> {
        Hybrid { data, pos: self.pos, width: self.width, run: self.run }
    }

    /// Reads the header of the next run.
    #[inline(always)]
    fn next_run(&mut self) -> Result<()> {
        let header = varint::unsigned(self.data, &mut self.pos)?;
        let count = usize::try_from(header >> 1).map_err(|_| ColumnError::Count)?;
        if header & 1 == 1 {
            let rest = self.data.get(self.pos..).unwrap_or_default();
            // The last group may be truncated after its last value.
            let len = count.saturating_mul(self.width as usize).min(rest.len());
            let start = self.pos;
            self.pos += len;
            self.run = Run::Packed { start, at: 0, left: count.saturating_mul(8) };
        } else {
            let len = self.width.div_ceil(8) as usize;
            let Some(bytes) = self.data.get(self.pos..self.pos + len) else {
                return Err(ColumnError::Truncated);
            };
            let mut value = [0; 4];
            value[..len].copy_from_slice(bytes);
            self.pos += len;
            self.run = Run::Same { value: u32::from_le_bytes(value), left: count };
        }
        Ok(())
    }

    /// The next piece, with at most `wanted` values; `wanted` is not 0.
    #[inline(always)]
    fn piece(&mut self, wanted: usize) -> Result<Piece<'a>> {
        loop {
            match &mut self.run {
                Run::Same { value, left } if *left > 0 => {
                    let count = wanted.min(*left);
                    *left -= count;
                    return Ok(Piece::Same(*value, count));
                }
                Run::Packed { start, at, left } if *left > 0 => {
                    let width = self.width as usize;
                    let skip = *at & 7;
                    let start = *start + (*at / 8) * width;
                    // Up to the end of the data, because kernels load more bytes than they use.
                    let rest = self.data.get(start..).unwrap_or_default();
                    let mut count = wanted.min(*left);
                    if skip > 0 {
                        count = count.min(8 - skip);
                    }
                    // `count * width` may not overflow: `count` is at most a chunk.
                    if rest.len() < ((skip + count) * width).div_ceil(8) {
                        return Err(ColumnError::Truncated);
                    }
                    *at += count;
                    *left -= count;
                    return Ok(if skip == 0 {
                        Piece::Packed(rest, count)
                    } else {
                        Piece::Middle(rest, skip, count)
                    });
                }
                _ => self.next_run()?,
            }
        }
    }

    /// Writes runs as long as they are complete in the data and fit into `out`. Returns the number
    /// of values.
    #[inline(always)]
    fn whole_runs<I: Isa, T: Packed>(
        &mut self,
        isa: I,
        max: T,
        out: &mut [MaybeUninit<T>],
    ) -> Result<usize> {
        if let Run::Same { left: 1.., .. } | Run::Packed { left: 1.., .. } = self.run {
            return Ok(0);
        }
        let (data, width) = (self.data, self.width as usize);
        let value_len = width.div_ceil(8);
        let mask = if width == 32 { u32::MAX } else { (1 << (8 * value_len).min(31)) - 1 };
        let mask = if value_len == 4 { u32::MAX } else { mask };
        let (mut pos, mut at) = (self.pos, 0);
        // A header of one byte and the longest value.
        while let Some(&[header, v0, v1, v2, v3]) = data.get(pos..).and_then(<[u8]>::first_chunk) {
            if header >= 0x80 {
                break;
            }
            let size = usize::from(header >> 1);
            let room = &mut out[at..];
            if header & 1 == 0 {
                let value = T::from_bits(u32::from_le_bytes([v0, v1, v2, v3]) & mask);
                let (Some(value), true) = (value, size <= room.len()) else { break };
                // The value of an empty run is ignored.
                if value > max && size > 0 {
                    return Err(T::ERROR);
                }
                T::fill(isa, value, &mut room[..size]);
                pos += 1 + value_len;
                at += size;
            } else {
                let bytes = data.get(pos + 1..).unwrap_or_default();
                if size * width > bytes.len() || 8 * size > room.len() {
                    break;
                }
                T::unpack(isa, bytes, self.width, &mut room[..8 * size]);
                pos += 1 + size * width;
                at += 8 * size;
            }
        }
        self.pos = pos;
        Ok(at)
    }

    /// Writes the next values. Values in runs are compared with `max`, packed values are not.
    #[inline(always)]
    fn decode<I: Isa, T: Packed>(
        &mut self,
        isa: I,
        max: T,
        out: &mut [MaybeUninit<T>],
    ) -> Result<()> {
        let width = self.width;
        let (mut at, before) = (0, self.byte());
        while at < out.len() {
            at += self.whole_runs(isa, max, &mut out[at..])?;
            if at == out.len() {
                break;
            }
            let out = &mut out[at..];
            at += match self.piece(out.len().min(CHUNK))? {
                Piece::Same(value, count) => {
                    let value = T::from_bits(value).filter(|value| *value <= max);
                    T::fill(isa, value.ok_or(T::ERROR)?, &mut out[..count]);
                    count
                }
                Piece::Packed(bytes, count) => {
                    T::unpack(isa, bytes, width, &mut out[..count]);
                    count
                }
                Piece::Middle(bytes, skip, count) => {
                    for (i, out) in out[..count].iter_mut().enumerate() {
                        let bits = bits_at(bytes, (skip + i) * width as usize, width);
                        #[expect(clippy::cast_possible_truncation, reason = "32 bits at most")]
                        let value = T::from_bits(bits as u32);
                        out.write(value.ok_or(T::ERROR)?);
                    }
                    count
                }
            };
        }
        self.prefetch_from(before);
        Ok(())
    }

    /// Position of the next value or the next run.
    #[inline(always)]
    fn byte(&self) -> usize {
        match self.run {
            Run::Packed { start, at, left: 1.. } => start + at / 8 * self.width as usize,
            _ => self.pos,
        }
    }

    /// Prefetches as many bytes as were consumed since byte `before`.
    #[inline(always)]
    fn prefetch_from(&self, before: usize) {
        let now = self.byte();
        prefetch(self.data, now + DISTANCE_BYTES, now - before);
    }

    /// Writes the next values.
    #[inline(always)]
    pub(super) fn decode32<I: Isa>(&mut self, isa: I, out: &mut [MaybeUninit<u32>]) -> Result<()> {
        self.decode(isa, u32::MAX, out)
    }

    /// Appends the next `count` levels, each at most `max`.
    ///
    /// # Errors
    /// [`ColumnError::Level`] for a greater one, [`ColumnError::Width`] if the width is more than
    /// eight bits, and errors in the data.
    pub fn levels(&mut self, level: Level, count: usize, max: u8, out: &mut Buf<u8>) -> Result<()> {
        if self.width > 8 {
            return Err(ColumnError::Width);
        }
        level.dispatch(Levels { hybrid: self, count, max, out })
    }

    /// Appends the next `count` values, one bit each, as bits; returns how many are set.
    ///
    /// # Errors
    /// [`ColumnError::Width`] if the width is not one bit, [`ColumnError::Level`] for a value above
    /// 1, and errors in the data.
    pub fn bits(&mut self, level: Level, count: usize, out: &mut BitBuffer) -> Result<usize> {
        if self.width != 1 {
            return Err(ColumnError::Width);
        }
        level.dispatch(Bits { hybrid: self, count, out })
    }

    /// Skips the next `count` values, one bit each; returns how many are set.
    ///
    /// # Errors
    /// As [`Hybrid::bits`].
    pub fn ones(&mut self, mut count: usize) -> Result<usize> {
        if self.width != 1 {
            return Err(ColumnError::Width);
        }
        let mut ones = 0;
        while count > 0 {
            count -= match self.piece(count.min(CHUNK))? {
                Piece::Same(value @ 0..=1, same) => {
                    ones += value as usize * same;
                    same
                }
                Piece::Same(..) => return Err(ColumnError::Level),
                Piece::Packed(bytes, packed) => {
                    ones += set_bits(bytes, packed);
                    packed
                }
                Piece::Middle(bytes, skip, middle) => {
                    let byte = bytes.first().copied().unwrap_or_default();
                    ones += set_bits(&[byte >> skip], middle);
                    middle
                }
            };
        }
        Ok(ones)
    }
}

/// The number of ones among the first `count` bits.
fn set_bits(bytes: &[u8], count: usize) -> usize {
    let whole = bytes.get(..count / 8).unwrap_or_default();
    let (words, bytes_left) = whole.as_chunks::<8>();
    let mut ones = words.iter().map(|word| u64::from_le_bytes(*word).count_ones()).sum::<u32>();
    ones += bytes_left.iter().map(|byte| byte.count_ones()).sum::<u32>();
    let last = bytes.get(count / 8).copied().unwrap_or_default();
    ones += (last & ((1 << (count % 8)) - 1)).count_ones();
    ones as usize
}

/// Appends `count` levels of the deprecated encoding `BIT_PACKED`: `width` bits each, highest
/// first.
///
/// # Errors
/// [`ColumnError::Truncated`], [`ColumnError::Width`] above eight bits, [`ColumnError::Level`].
pub fn packed_levels(
    data: &[u8],
    width: u32,
    count: usize,
    max: u8,
    out: &mut Buf<u8>,
) -> Result<()> {
    if width > 8 {
        return Err(ColumnError::Width);
    }
    let bits = count.checked_mul(width as usize).ok_or(ColumnError::Truncated)?;
    if bits.div_ceil(8) > data.len() {
        return Err(ColumnError::Truncated);
    }
    // Bounded: by the bits that there are, as many for each.
    out.reserve(count);
    for i in 0..count {
        let bit = i * width as usize;
        let byte = |at: usize| u16::from(data.get(at).copied().unwrap_or(0));
        let word = byte(bit / 8) << 8 | byte(bit / 8 + 1);
        let level = (u32::from(word) >> (16 - width as usize - (bit & 7))) & ((1 << width) - 1);
        match u8::try_from(level) {
            Ok(level) if level <= max => out.push(level),
            _ => return Err(ColumnError::Level),
        }
    }
    Ok(())
}
