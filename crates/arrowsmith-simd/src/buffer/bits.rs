// SPDX-License-Identifier: Apache-2.0
//! Growable bit maps: validity, and columns of booleans.

use arrow_buffer::BooleanBuffer;
use arrowsmith_core::memory::Refused;

use super::Buf;

/// Appends many short pieces to a [`BitBuffer`], without branches on their lengths.
#[derive(Debug)]
pub(crate) struct BitWriter<'a> {
    buffer: &'a mut BitBuffer,
    to: *mut u64,
    partial: u64,
    shift: usize,
    /// Bits that may still be appended.
    left: usize,
    /// Number of complete words.
    full: usize,
}

impl BitWriter<'_> {
    /// Appends `count` bits, at most 64 and at most `left`; the other bits of `bits` are zero.
    #[inline(always)]
    pub(crate) fn put(&mut self, bits: u64, count: usize) {
        assert!(count <= 64 && count <= self.left);
        self.left -= count;
        self.partial |= bits << self.shift;
        // SAFETY: room was made for all words that `left` allows, and one more.
        unsafe { self.to.add(self.full).write(self.partial) };
        let end = self.shift + count;
        // In two steps, as a shift by 64 would be a shift by 0.
        let rest = bits >> 1 >> (63 - self.shift);
        self.partial = if end >= 64 { rest } else { self.partial };
        self.full += end >> 6;
        self.shift = end & 63;
    }
}

impl Drop for BitWriter<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        let buffer = &mut *self.buffer;
        // SAFETY: these words were written.
        unsafe { buffer.words.advance(self.full) };
        buffer.len = buffer.words.len() * 64 + self.shift;
        buffer.partial = self.partial;
    }
}

/// A growable bit map, least significant bit first as Arrow has it.
#[derive(Debug, Default)]
pub struct BitBuffer {
    words: Buf<u64>,
    /// Bits not yet in `words`.
    partial: u64,
    len: usize,
}

impl BitBuffer {
    /// Bits in the map.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends one bit.
    #[inline(always)]
    pub fn push(&mut self, bit: bool) {
        self.partial |= u64::from(bit) << (self.len & 63);
        self.len += 1;
        if self.len & 63 == 0 {
            self.words.push(self.partial);
            self.partial = 0;
        }
    }

    /// Makes room for `additional` more bits.
    pub fn reserve(&mut self, additional: usize) {
        // Bounded: `reserve` accounts all growth.
        self.words.reserve(additional / 64 + 1);
    }

    /// As [`BitBuffer::reserve`], for a number that the input determines.
    ///
    /// # Errors
    /// As [`Buf::try_reserve`].
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), Refused> {
        self.words.try_reserve(additional / 64 + 1)
    }

    /// Appends the lowest `count` bits of `bits`, at most 64.
    #[inline(always)]
    pub fn push_bits(&mut self, bits: u64, count: usize) {
        let count = count.min(64);
        if count == 0 {
            return;
        }
        let bits = bits & (u64::MAX >> (64 - count));
        let shift = self.len & 63;
        self.partial |= bits << shift;
        self.len += count;
        if shift + count >= 64 {
            self.words.push(self.partial);
            self.partial = if shift == 0 { 0 } else { bits >> (64 - shift) };
        }
    }

    /// Appends up to `bits` bits, with one check of the capacity.
    #[inline(always)]
    pub(crate) fn writer(&mut self, bits: usize) -> BitWriter<'_> {
        // The complete words, the partial one, and one that may be written but is not part of the
        // result.
        let words = bits / 64 + 2;
        let to = self.words.spare(words);
        let shift = self.len & 63;
        BitWriter { partial: self.partial, shift, to, left: bits, full: 0, buffer: self }
    }

    /// Appends `bit` `count` times.
    pub fn push_run(&mut self, bit: bool, mut count: usize) {
        let bits = if bit { u64::MAX } else { 0 };
        let head = count.min((64 - (self.len & 63)) & 63);
        self.push_bits(bits, head);
        count -= head;
        // At a word boundary now, so that whole words can be appended.
        self.words.push_n(bits, count / 64);
        self.len += count & !63;
        self.push_bits(bits, count & 63);
    }

    /// The 64 bits from bit `at` on, the first in the lowest place; zeros beyond the end.
    #[inline(always)]
    pub fn word(&self, at: usize) -> u64 {
        let words = self.words.as_slice();
        let get = |i: usize| match words.get(i) {
            Some(&word) => word,
            None if i == words.len() => self.partial,
            None => 0,
        };
        let low = get(at / 64) >> (at & 63);
        if at & 63 == 0 { low } else { low | get(at / 64 + 1) << (64 - (at & 63)) }
    }

    /// The number of set bits in `from..to`.
    pub fn count_ones(&self, from: usize, to: usize) -> usize {
        let to = to.min(self.len);
        let mut ones = 0;
        for at in (from..to).step_by(64) {
            let rest = to - at;
            let bits = self.word(at);
            let bits = if rest < 64 { bits & ((1 << rest) - 1) } else { bits };
            ones += bits.count_ones() as usize;
        }
        ones
    }

    /// Keeps the first `len` bits.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        let word = len / 64;
        if word < self.words.len() {
            self.partial = self.words.as_slice()[word];
            self.words.truncate(word);
        }
        self.partial &= (1 << (len & 63)) - 1;
        self.len = len;
    }

    /// Takes the bits out.
    pub fn take(&mut self) -> BooleanBuffer {
        let len = std::mem::take(&mut self.len);
        if len & 63 != 0 {
            self.words.push(self.partial);
        }
        self.partial = 0;
        BooleanBuffer::new(self.words.take().into_inner(), 0, len)
    }
}
