// SPDX-License-Identifier: Apache-2.0
//! The column kernels that an instruction set can implement faster. The defaults are plain Rust,
//! and define what has to be computed.
//!
//! Every method writes all of `out`. The unsafe methods leave the checks in their contract to the
//! caller, who makes them once for many values.

use std::mem::MaybeUninit;

use super::{Offset, Prefixed};

/// The per-value loops of the column decoders.
pub trait ColumnIsa: Copy {
    /// Whether kernels have non-temporal stores for `past_cache`.
    const STORES_PAST_CACHE: bool = false;

    /// Unpacks bit-packed integers, `width` bits each, at most 32, lowest bits first. `packed`
    /// holds at least `out.len() * width` bits.
    #[inline(always)]
    fn unpack32(self, packed: &[u8], width: u32, out: &mut [MaybeUninit<u32>]) {
        let mut bits = Bits::new(packed, width, out.len());
        for out in out {
            #[expect(clippy::cast_possible_truncation, reason = "32 bits at most")]
            out.write(bits.next() as u32);
        }
    }

    /// As [`ColumnIsa::unpack32`], for up to eight bits.
    #[inline(always)]
    fn unpack8(self, packed: &[u8], width: u32, out: &mut [MaybeUninit<u8>]) {
        let mut bits = Bits::new(packed, width, out.len());
        for out in out {
            #[expect(clippy::cast_possible_truncation, reason = "eight bits at most")]
            out.write(bits.next() as u8);
        }
    }

    /// Fills `out` with a value; most runs are short.
    #[inline(always)]
    fn fill32(self, value: u32, out: &mut [MaybeUninit<u32>]) {
        for out in out {
            out.write(value);
        }
    }

    /// As [`ColumnIsa::fill32`], of bytes.
    #[inline(always)]
    fn fill8(self, value: u8, out: &mut [MaybeUninit<u8>]) {
        for out in out {
            out.write(value);
        }
    }

    /// Writes the prefix sums of bit-packed differences, `width` bits each, with `least` added to
    /// each, starting from `last`; returns the last sum. Sums wrap around.
    #[inline(always)]
    fn sum64(
        self,
        packed: &[u8],
        width: u32,
        least: i64,
        mut last: i64,
        out: &mut [MaybeUninit<i64>],
    ) -> i64 {
        let mut bits = Bits::new(packed, width, out.len());
        for out in out {
            let difference = bits.next().cast_signed();
            last = last.wrapping_add(difference).wrapping_add(least);
            out.write(last);
        }
        last
    }

    /// As [`ColumnIsa::sum64`], 32 bits wide.
    #[inline(always)]
    fn sum32(
        self,
        packed: &[u8],
        width: u32,
        least: i32,
        mut last: i32,
        out: &mut [MaybeUninit<i32>],
    ) -> i32 {
        let mut bits = Bits::new(packed, width, out.len());
        for out in out {
            #[expect(clippy::cast_possible_truncation, reason = "32 bits at most")]
            let difference = bits.next() as i32;
            last = last.wrapping_add(difference).wrapping_add(least);
            out.write(last);
        }
        last
    }

    /// As [`ColumnIsa::sum64`], for miniblocks of `miniblock` values, one after another in
    /// `packed`, with a width each.
    ///
    /// # Safety
    /// The widths are at most 64, `miniblock` is a multiple of 32, `packed` holds all bits, and
    /// there is room for all values.
    #[inline(always)]
    unsafe fn block64(
        self,
        mut packed: &[u8],
        widths: &[u8],
        miniblock: usize,
        least: i64,
        mut last: i64,
        mut out: &mut [MaybeUninit<i64>],
    ) -> i64 {
        for &width in widths {
            let (room, rest) = out.split_at_mut(miniblock);
            last = self.sum64(packed, u32::from(width), least, last, room);
            packed = packed.get(miniblock / 8 * usize::from(width)..).unwrap_or_default();
            out = rest;
        }
        last
    }

    /// As [`ColumnIsa::block64`], 32 bits wide.
    ///
    /// # Safety
    /// As there; the widths are at most 32.
    #[inline(always)]
    unsafe fn block32(
        self,
        mut packed: &[u8],
        widths: &[u8],
        miniblock: usize,
        least: i32,
        mut last: i32,
        mut out: &mut [MaybeUninit<i32>],
    ) -> i32 {
        for &width in widths {
            let (room, rest) = out.split_at_mut(miniblock);
            last = self.sum32(packed, u32::from(width), least, last, room);
            packed = packed.get(miniblock / 8 * usize::from(width)..).unwrap_or_default();
            out = rest;
        }
        last
    }

    /// Writes `start` plus the sum of the lengths up to and including each. The caller has checked
    /// that the lengths are not negative and that no sum exceeds 31 bits.
    #[inline(always)]
    fn ends32(self, lengths: &[i32], mut start: i32, out: &mut [MaybeUninit<i32>]) {
        for (length, out) in lengths.iter().zip(out) {
            start = start.wrapping_add(*length);
            out.write(start);
        }
    }

    /// The maximum of the numbers, or 0.
    #[inline(always)]
    fn max32(self, numbers: &[u32]) -> u32 {
        let mut max = 0;
        for &number in numbers {
            max = max.max(number);
        }
        max
    }

    /// The bitwise or of the numbers.
    #[inline(always)]
    fn or32(self, numbers: &[i32]) -> i32 {
        let mut bits = 0;
        for &number in numbers {
            bits |= number;
        }
        bits
    }

    /// Looks up values by index. With `past_cache` they are written with non-temporal stores where
    /// the CPU has them.
    ///
    /// # Safety
    /// Every index is less than the length of `values`, and `indices` is as long as `out`.
    #[inline(always)]
    unsafe fn gather<T: Copy>(
        self,
        values: &[T],
        indices: &[u32],
        out: &mut [MaybeUninit<T>],
        _past_cache: bool,
    ) {
        for (&index, out) in indices.iter().zip(out) {
            // SAFETY: `index < values.len()`, by contract.
            out.write(unsafe { *values.get_unchecked(index as usize) });
        }
    }

    /// Writes the next element of `dense` for each set bit of `mask`, and zero for each other bit.
    /// `T` is a plain number for which zero bytes are a value.
    ///
    /// # Safety
    /// `dense` has 64 elements that can be read, and `out` room for 64.
    #[inline(always)]
    unsafe fn spread<T: Copy>(self, dense: *const T, mask: u64, out: *mut T) {
        let mut from = 0;
        for i in 0..64 {
            let bit = mask >> i & 1;
            // SAFETY: `from <= i < 64`, and by contract 64 elements of `dense` can be read and 64
            // of `out` written. Zero is a value of `T`. Loading first compiles to a select instead
            // of a branch.
            unsafe {
                let value = dense.add(from).read_unaligned();
                out.add(i).write(if bit == 1 { value } else { std::mem::zeroed() });
            }
            from += usize::from(bit == 1);
        }
    }

    /// Writes, for each bit of `mask` from the lowest, the element of `dense` at the index of the
    /// number of bits set up to and including it.
    ///
    /// # Safety
    /// `dense` has one element more than bits are set; 65 can be read. `out` has room for 64.
    #[inline(always)]
    unsafe fn spread_ends<T: Copy>(self, dense: *const T, mask: u64, out: *mut T) {
        let mut rank = 0;
        for i in 0..64 {
            rank += (mask >> i & 1) as usize;
            // SAFETY: `rank <= i + 1 <= 64`, and by contract 65 elements of `dense` can be read and
            // 64 of `out` written.
            unsafe { out.add(i).write(*dense.add(rank)) };
        }
    }

    /// Writes complete strings and their ends. Returns the bytes written, the bytes of the source
    /// used, and the length of the last string; `None` if a prefix is longer than the previous
    /// string.
    ///
    /// # Safety
    /// `room` is the sum of all prefixes and suffixes, and that many bytes can be written at `to`;
    /// the source is at least as long as all suffixes. `prefixes`, `suffixes` and `ends` have the
    /// same length.
    #[inline(always)]
    unsafe fn join_prefixes<O: Offset>(
        self,
        texts: &Prefixed<'_>,
        ends: &mut [MaybeUninit<O>],
        to: *mut u8,
        room: usize,
    ) -> Option<(usize, usize, usize)> {
        let (mut before, mut before_len) = (texts.before.as_ptr(), texts.before.len());
        let (mut len, mut pos) = (0, 0);
        let lengths = texts.prefixes.iter().zip(texts.suffixes);
        for ((&prefix, &suffix), end) in lengths.zip(ends) {
            let prefix = prefix.cast_unsigned() as usize;
            let suffix = suffix.cast_unsigned() as usize;
            if prefix > before_len {
                return None;
            }
            // SAFETY: `len + prefix + suffix <= room`, which can be written, and the source holds
            // all suffixes, by contract. `prefix <= before_len`, as just checked: it is read from
            // `texts.before` or from the string written last, which ends at `start`.
            unsafe {
                let start = to.add(len);
                // Excess bytes are overwritten by the next string, or are beyond the end of the
                // column.
                copy(before, start, prefix, (room - len).min(texts.before.len() + len));
                let own = texts.source.as_ptr().add(pos);
                let left = (room - len - prefix).min(texts.source.len() - pos);
                copy(own, start.add(prefix), suffix, left);
                before = start;
            }
            before_len = prefix + suffix;
            len += before_len;
            pos += suffix;
            end.write(O::wrap(texts.base + len));
        }
        Some((len, pos, before_len))
    }

    /// Joins `WIDTH` consecutive streams of `stride` bytes in `streams`: the first byte of every
    /// value, the second, and so on. Writes the values from value `at` on to `out`; with
    /// `past_cache` with non-temporal stores where the CPU has them.
    ///
    /// # Panics
    /// If the streams hold fewer than `at + out.len() / WIDTH` values.
    #[inline(always)]
    fn join<const WIDTH: usize>(
        self,
        streams: &[u8],
        stride: usize,
        at: usize,
        out: &mut [MaybeUninit<u8>],
        _past_cache: bool,
    ) {
        for (i, value) in out.chunks_exact_mut(WIDTH).enumerate() {
            for (k, byte) in value.iter_mut().enumerate() {
                byte.write(streams[k * stride + at + i]);
            }
        }
    }

    /// A mask of the levels that are at least `least`.
    #[inline(always)]
    fn at_least(self, levels: &[u8; 64], least: u8) -> u64 {
        let mut bits = 0;
        for (i, &level) in levels.iter().enumerate() {
            bits |= u64::from(level >= least) << i;
        }
        bits
    }

    /// The bits of `bits` where `mask` is set, packed into the low bits (PEXT).
    #[inline(always)]
    fn pext(self, bits: u64, mut mask: u64) -> u64 {
        if mask == u64::MAX {
            return bits;
        }
        let (mut out, mut to) = (0, 0);
        while mask != 0 {
            out |= (bits >> mask.trailing_zeros() & 1) << to;
            to += 1;
            mask &= mask - 1;
        }
        out
    }

    /// The low bits of `bits`, moved to the positions set in `mask` (PDEP).
    #[inline(always)]
    fn pdep(self, mut bits: u64, mut mask: u64) -> u64 {
        if mask == u64::MAX {
            return bits;
        }
        let mut out = 0;
        while mask != 0 {
            out |= (bits & 1) << mask.trailing_zeros();
            bits >>= 1;
            mask &= mask - 1;
        }
        out
    }

    /// Writes, for each bit of `slots` from the lowest, `start` plus the number of bits of
    /// `counted` below it: one number per set bit. It may write up to 64.
    ///
    /// # Safety
    /// `out` has room for 64.
    #[inline(always)]
    unsafe fn ranks(self, mut slots: u64, counted: u64, start: i32, out: *mut i32) {
        let mut to = 0;
        while slots != 0 {
            let below = (slots & slots.wrapping_neg()) - 1;
            let rank = (counted & below).count_ones().cast_signed();
            // SAFETY: `to < 64`, as `slots` has at most 64 bits, and `out` has room for 64 by
            // contract.
            unsafe { out.add(to).write(start.wrapping_add(rank)) };
            to += 1;
            slots &= slots - 1;
        }
    }

    /// Copies `from` to `to`, of the same length, with non-temporal stores where the CPU has them.
    #[inline(always)]
    fn stream(self, from: &[u8], to: &mut [MaybeUninit<u8>]) {
        let len = from.len().min(to.len());
        // SAFETY: both are `len` bytes long, and one is borrowed exclusively.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.as_mut_ptr().cast(), len) };
    }

    /// Orders non-temporal stores before later stores.
    #[inline(always)]
    fn fence(self) {}

    /// Whether no byte has its top bit set.
    #[inline(always)]
    fn is_ascii(self, text: &[u8]) -> bool {
        text.is_ascii()
    }
}

/// Copies `len` bytes, sixteen at a time if `room` allows it.
///
/// # Safety
/// `len` bytes can be read and written, and `room` if that is more.
#[inline(always)]
pub(super) unsafe fn copy(from: *const u8, to: *mut u8, len: usize, room: usize) {
    let padded = len.next_multiple_of(16);
    // SAFETY: `len` bytes, and `room` if that is more, can be read and written by contract;
    // `padded` bytes are copied only if `padded <= room`.
    unsafe {
        if len <= 64 && padded <= room {
            let mut at = 0;
            while at < len {
                let piece = from.add(at).cast::<MaybeUninit<[u8; 16]>>().read_unaligned();
                to.add(at).cast::<MaybeUninit<[u8; 16]>>().write_unaligned(piece);
                at += 16;
            }
        } else {
            std::ptr::copy_nonoverlapping(from, to, len);
        }
    }
}

/// Unpacks bit-packed values one by one, with one load of a word where possible.
struct Bits<'a> {
    packed: &'a [u8],
    width: u32,
    bit: usize,
    /// Bit positions below this one allow to read a word, which contains a whole value.
    fast: usize,
    mask: u64,
}

impl<'a> Bits<'a> {
    /// Unpacks `count` values.
    ///
    /// # Panics
    /// If there are fewer, which every caller has checked.
    #[inline(always)]
    fn new(packed: &'a [u8], width: u32, count: usize) -> Self {
        assert!(width <= 64 && packed.len() >= (count * width as usize).div_ceil(8));
        let fast = if width <= 57 { packed.len().saturating_sub(7) * 8 } else { 0 };
        let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
        Self { packed, width, bit: 0, fast, mask }
    }

    #[inline(always)]
    fn next(&mut self) -> u64 {
        let bit = self.bit;
        self.bit += self.width as usize;
        if bit < self.fast {
            // SAFETY: eight bytes from there on are in the slice.
            let word =
                unsafe { self.packed.as_ptr().add(bit / 8).cast::<[u8; 8]>().read_unaligned() };
            return u64::from_le_bytes(word) >> (bit & 7) & self.mask;
        }
        bits_at(self.packed, bit, self.width)
    }
}

/// The `width` bits from bit `bit` on, at most 64; bits beyond the data are zero.
#[inline(always)]
pub(super) fn bits_at(packed: &[u8], bit: usize, width: u32) -> u64 {
    let (byte, shift) = (bit / 8, bit & 7);
    let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
    if let Some(word) = packed.get(byte..).and_then(<[u8]>::first_chunk::<8>)
        && shift + width as usize <= 64
    {
        return u64::from_le_bytes(*word) >> shift & mask;
    }
    let mut word = [0; 16];
    let rest = packed.get(byte..).unwrap_or_default();
    let len = rest.len().min(16);
    word[..len].copy_from_slice(&rest[..len]);
    #[expect(clippy::cast_possible_truncation, reason = "masked to the width")]
    let bits = (u128::from_le_bytes(word) >> shift) as u64;
    bits & mask
}
