// SPDX-License-Identifier: Apache-2.0
//! Column kernels for AVX-512: unpacking, sums, nulls and byte streams, one register at a time.
//!
//! * Bit-packed integers: one byte permutation moves the bytes of each value to its lane; a shift
//!   per lane and a mask extract the value. Above 57 of 64 bits a value may span nine bytes; a
//!   double shift adds the ninth from a second permutation.
//! * Sums: the prefix sum of a register takes a logarithmic number of steps; the carry to the next
//!   register is a single addition.
//! * Loads are masked to the bytes of the values, so that nothing after them is read.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::Avx512;
use super::column_bits::{
    LANES8, Unpack32, Unpack64, first32, first64, low, low8, low16, scan32, scan64, table,
};
use super::column_join::join_all;
use crate::column::{ColumnIsa, Offset, Prefixed};

/// Panics if `packed` does not hold `count` values of `width` bits; every caller has checked it.
#[inline(always)]
fn holds(packed: &[u8], width: usize, count: usize, max: usize) {
    assert!(width <= max && packed.len() >= (count * width).div_ceil(8));
}

impl ColumnIsa for Avx512 {
    const STORES_PAST_CACHE: bool = true;

    #[inline(always)]
    fn unpack32(self, packed: &[u8], width: u32, out: &mut [MaybeUninit<u32>]) {
        let (width, len) = (width as usize, out.len());
        holds(packed, width, len, 32);
        // SAFETY: `self` proves AVX-512; `packed` holds the bits of all values.
        unsafe {
            let unpack = Unpack32::new(width);
            let (mut from, mut to) = (packed.as_ptr(), out.as_mut_ptr());
            for _ in 0..len / 16 {
                _mm512_storeu_si512(to.cast(), unpack.get(from, unpack.load));
                (from, to) = (from.add(2 * width), to.add(16));
            }
            let rest = len & 15;
            if rest > 0 {
                let values = unpack.get(from, low((rest * width).div_ceil(8)));
                _mm512_mask_storeu_epi32(to.cast(), low16(rest), values);
            }
        }
    }

    #[inline(always)]
    fn unpack8(self, packed: &[u8], width: u32, out: &mut [MaybeUninit<u8>]) {
        let (width, len) = (width as usize, out.len());
        holds(packed, width, len, 8);
        // SAFETY: `self` proves AVX-512; `packed` holds the bits of all values.
        unsafe {
            let bytes = _mm512_load_si512(LANES8.bytes[width].as_ptr().cast());
            let shift = _mm512_load_si512(LANES8.shift[width].as_ptr().cast());
            let mask = _mm512_set1_epi8(low(width).to_le_bytes()[0].cast_signed());
            let (mut from, mut to) = (packed.as_ptr(), out.as_mut_ptr());
            let mut left = len;
            while left > 0 {
                let count = left.min(64);
                let load = low((count * width).div_ceil(8));
                let packed = _mm512_maskz_loadu_epi8(load, from.cast());
                let groups = _mm512_permutexvar_epi8(bytes, packed);
                let values = _mm512_and_si512(_mm512_multishift_epi64_epi8(shift, groups), mask);
                _mm512_mask_storeu_epi8(to.cast(), low(count), values);
                (from, to) = (from.add(8 * width), to.wrapping_add(64));
                left -= count;
            }
        }
    }

    #[inline(always)]
    fn fill32(self, value: u32, out: &mut [MaybeUninit<u32>]) {
        let len = out.len();
        // SAFETY: `self` proves AVX-512; stores are within `out`, or masked.
        unsafe {
            let values = _mm512_set1_epi32(value.cast_signed());
            let to = out.as_mut_ptr();
            if len < 16 {
                _mm512_mask_storeu_epi32(to.cast(), low16(len), values);
                return;
            }
            let mut at = 0;
            while at + 16 < len {
                _mm512_storeu_si512(to.add(at).cast(), values);
                at += 16;
            }
            _mm512_storeu_si512(to.add(len - 16).cast(), values);
        }
    }

    #[inline(always)]
    fn fill8(self, value: u8, out: &mut [MaybeUninit<u8>]) {
        let len = out.len();
        // SAFETY: `self` proves AVX-512; stores are within `out`, or masked.
        unsafe {
            let values = _mm512_set1_epi8(value.cast_signed());
            let to = out.as_mut_ptr();
            if len < 64 {
                _mm512_mask_storeu_epi8(to.cast(), low(len), values);
                return;
            }
            let mut at = 0;
            while at + 64 < len {
                _mm512_storeu_si512(to.add(at).cast(), values);
                at += 64;
            }
            _mm512_storeu_si512(to.add(len - 64).cast(), values);
        }
    }

    #[inline(always)]
    fn sum64(
        self,
        packed: &[u8],
        width: u32,
        least: i64,
        last: i64,
        out: &mut [MaybeUninit<i64>],
    ) -> i64 {
        let (width, len) = (width as usize, out.len());
        holds(packed, width, len, 64);
        // SAFETY: `self` proves AVX-512; `packed` holds the bits of all values.
        unsafe {
            let unpack = Unpack64::new(width);
            let least = _mm512_set1_epi64(least);
            let top = _mm512_set1_epi64(7);
            let mut carry = _mm512_set1_epi64(last);
            let (mut from, mut to) = (packed.as_ptr(), out.as_mut_ptr());
            for _ in 0..len / 8 {
                let values = _mm512_add_epi64(unpack.get(from, unpack.load), least);
                let sums = scan64(values);
                _mm512_storeu_si512(to.cast(), _mm512_add_epi64(sums, carry));
                carry = _mm512_add_epi64(carry, _mm512_permutexvar_epi64(top, sums));
                (from, to) = (from.add(width), to.add(8));
            }
            let rest = len & 7;
            if rest > 0 {
                let values = unpack.get(from, low((rest * width).div_ceil(8)));
                let values = _mm512_maskz_add_epi64(low8(rest), values, least);
                let sums = scan64(values);
                let ends = _mm512_add_epi64(sums, carry);
                _mm512_mask_storeu_epi64(to.cast(), low8(rest), ends);
                carry = _mm512_add_epi64(carry, _mm512_permutexvar_epi64(top, sums));
            }
            first64(carry)
        }
    }

    #[inline(always)]
    fn sum32(
        self,
        packed: &[u8],
        width: u32,
        least: i32,
        last: i32,
        out: &mut [MaybeUninit<i32>],
    ) -> i32 {
        let (width, len) = (width as usize, out.len());
        holds(packed, width, len, 32);
        // SAFETY: `self` proves AVX-512; `packed` holds the bits of all values.
        unsafe {
            let unpack = Unpack32::new(width);
            let least = _mm512_set1_epi32(least);
            let top = _mm512_set1_epi32(15);
            let mut carry = _mm512_set1_epi32(last);
            let (mut from, mut to) = (packed.as_ptr(), out.as_mut_ptr());
            for _ in 0..len / 16 {
                let values = _mm512_add_epi32(unpack.get(from, unpack.load), least);
                let sums = scan32(values);
                _mm512_storeu_si512(to.cast(), _mm512_add_epi32(sums, carry));
                carry = _mm512_add_epi32(carry, _mm512_permutexvar_epi32(top, sums));
                (from, to) = (from.add(2 * width), to.add(16));
            }
            let rest = len & 15;
            if rest > 0 {
                let values = unpack.get(from, low((rest * width).div_ceil(8)));
                let values = _mm512_maskz_add_epi32(low16(rest), values, least);
                let sums = scan32(values);
                let ends = _mm512_add_epi32(sums, carry);
                _mm512_mask_storeu_epi32(to.cast(), low16(rest), ends);
                carry = _mm512_add_epi32(carry, _mm512_permutexvar_epi32(top, sums));
            }
            first32(carry)
        }
    }

    #[inline(always)]
    unsafe fn block64(
        self,
        packed: &[u8],
        widths: &[u8],
        miniblock: usize,
        least: i64,
        last: i64,
        out: &mut [MaybeUninit<i64>],
    ) -> i64 {
        // SAFETY: `self` proves AVX-512; widths and lengths are as the contract requires.
        unsafe {
            let least = _mm512_set1_epi64(least);
            let top = _mm512_set1_epi64(7);
            let mut carry = _mm512_set1_epi64(last);
            let (mut from, mut to) = (packed.as_ptr(), out.as_mut_ptr());
            for &width in widths {
                let unpack = Unpack64::new(usize::from(width));
                // Two of them at a time: 32 values divide every miniblock.
                for _ in 0..miniblock / 16 {
                    let a = unpack.get(from, unpack.load);
                    let b = unpack.get(from.add(unpack.width), unpack.load);
                    let a = scan64(_mm512_add_epi64(a, least));
                    let b = scan64(_mm512_add_epi64(b, least));
                    _mm512_storeu_si512(to.cast(), _mm512_add_epi64(a, carry));
                    carry = _mm512_add_epi64(carry, _mm512_permutexvar_epi64(top, a));
                    _mm512_storeu_si512(to.add(8).cast(), _mm512_add_epi64(b, carry));
                    carry = _mm512_add_epi64(carry, _mm512_permutexvar_epi64(top, b));
                    (from, to) = (from.add(2 * unpack.width), to.add(16));
                }
            }
            first64(carry)
        }
    }

    #[inline(always)]
    unsafe fn block32(
        self,
        packed: &[u8],
        widths: &[u8],
        miniblock: usize,
        least: i32,
        last: i32,
        out: &mut [MaybeUninit<i32>],
    ) -> i32 {
        // SAFETY: `self` proves AVX-512; widths and lengths are as the contract requires.
        unsafe {
            let least = _mm512_set1_epi32(least);
            let top = _mm512_set1_epi32(15);
            let mut carry = _mm512_set1_epi32(last);
            let (mut from, mut to) = (packed.as_ptr(), out.as_mut_ptr());
            for &width in widths {
                let unpack = Unpack32::new(usize::from(width));
                // Two of them at a time: 32 values divide every miniblock.
                for _ in 0..miniblock / 32 {
                    let a = unpack.get(from, unpack.load);
                    let b = unpack.get(from.add(2 * unpack.width), unpack.load);
                    let a = scan32(_mm512_add_epi32(a, least));
                    let b = scan32(_mm512_add_epi32(b, least));
                    _mm512_storeu_si512(to.cast(), _mm512_add_epi32(a, carry));
                    carry = _mm512_add_epi32(carry, _mm512_permutexvar_epi32(top, a));
                    _mm512_storeu_si512(to.add(16).cast(), _mm512_add_epi32(b, carry));
                    carry = _mm512_add_epi32(carry, _mm512_permutexvar_epi32(top, b));
                    (from, to) = (from.add(4 * unpack.width), to.add(32));
                }
            }
            first32(carry)
        }
    }

    #[inline(always)]
    fn ends32(self, lengths: &[i32], start: i32, out: &mut [MaybeUninit<i32>]) {
        let len = lengths.len().min(out.len());
        // SAFETY: `self` proves AVX-512; loads and stores are within both, or masked.
        unsafe {
            let top = _mm512_set1_epi32(15);
            let mut carry = _mm512_set1_epi32(start);
            let (mut from, mut to) = (lengths.as_ptr(), out.as_mut_ptr());
            for _ in 0..len / 16 {
                let sums = scan32(_mm512_loadu_si512(from.cast()));
                _mm512_storeu_si512(to.cast(), _mm512_add_epi32(sums, carry));
                carry = _mm512_add_epi32(carry, _mm512_permutexvar_epi32(top, sums));
                (from, to) = (from.add(16), to.add(16));
            }
            let rest = low16(len & 15);
            let sums = scan32(_mm512_maskz_loadu_epi32(rest, from));
            _mm512_mask_storeu_epi32(to.cast(), rest, _mm512_add_epi32(sums, carry));
        }
    }

    #[inline(always)]
    unsafe fn gather<T: Copy>(
        self,
        values: &[T],
        indices: &[u32],
        out: &mut [MaybeUninit<T>],
        past_cache: bool,
    ) {
        let portable = crate::arch::portable::Portable;
        let size = size_of::<T>();
        // The instruction's indices are signed.
        if !matches!(size, 4 | 8 | 16) || values.len() >= 1 << 31 {
            // SAFETY: the contract is the same: every index is less than `values.len()`.
            return unsafe { portable.gather(values, indices, out, false) };
        }
        let len = indices.len().min(out.len());
        let misaligned = out.as_ptr().addr() & 63;
        let past = past_cache && misaligned.is_multiple_of(size);
        let head = if past { (64 - misaligned) % 64 / size } else { 0 }.min(len);
        // SAFETY: `self` proves AVX-512; all indices are less than the number of values.
        // Non-temporal stores are aligned, as the values before them were written one by one.
        unsafe {
            portable.gather(values, &indices[..head], &mut out[..head], false);
            let mut done = head;
            let base = values.as_ptr();
            while done + 64 / size <= len {
                let (at, to) = (indices.as_ptr().add(done), out.as_mut_ptr().add(done));
                let found = match size {
                    4 => _mm512_i32gather_epi32::<4>(_mm512_loadu_si512(at.cast()), base.cast()),
                    8 => _mm512_i32gather_epi64::<8>(_mm256_loadu_si256(at.cast()), base.cast()),
                    _ => {
                        let [a, b, c, d] = at.cast::<[u32; 4]>().read_unaligned();
                        let a = _mm_loadu_si128(base.add(a as usize).cast());
                        let b = _mm_loadu_si128(base.add(b as usize).cast());
                        let c = _mm_loadu_si128(base.add(c as usize).cast());
                        let d = _mm_loadu_si128(base.add(d as usize).cast());
                        let low = _mm256_set_m128i(b, a);
                        let high = _mm256_set_m128i(d, c);
                        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
                    }
                };
                if past {
                    _mm512_stream_si512(to.cast(), found);
                } else {
                    _mm512_storeu_si512(to.cast(), found);
                }
                done += 64 / size;
            }
            portable.gather(values, &indices[done..len], &mut out[done..len], false);
        }
    }

    #[inline(always)]
    unsafe fn spread<T: Copy>(self, dense: *const T, mask: u64, out: *mut T) {
        // SAFETY: `self` proves AVX-512; 64 elements of `dense` can be read and 64 of `out`
        // written, by contract.
        unsafe {
            let mut from = dense.cast::<u8>();
            let to = out.cast::<u8>();
            match size_of::<T>() {
                1 => {
                    let values = _mm512_maskz_expand_epi8(mask, _mm512_loadu_si512(from.cast()));
                    _mm512_storeu_si512(to.cast(), values);
                }
                2 => {
                    for i in 0..2 {
                        #[expect(clippy::cast_possible_truncation, reason = "32 lanes")]
                        let lanes = (mask >> (32 * i)) as u32;
                        let values = _mm512_loadu_si512(from.cast());
                        let values = _mm512_maskz_expand_epi16(lanes, values);
                        _mm512_storeu_si512(to.add(64 * i).cast(), values);
                        from = from.add(2 * lanes.count_ones() as usize);
                    }
                }
                4 => {
                    for i in 0..4 {
                        #[expect(clippy::cast_possible_truncation, reason = "16 lanes")]
                        let lanes = (mask >> (16 * i)) as __mmask16;
                        let values = _mm512_loadu_si512(from.cast());
                        let values = _mm512_maskz_expand_epi32(lanes, values);
                        _mm512_storeu_si512(to.add(64 * i).cast(), values);
                        from = from.add(4 * lanes.count_ones() as usize);
                    }
                }
                8 => {
                    for i in 0..8 {
                        #[expect(clippy::cast_possible_truncation, reason = "eight lanes")]
                        let lanes = (mask >> (8 * i)) as __mmask8;
                        let values = _mm512_loadu_si512(from.cast());
                        let values = _mm512_maskz_expand_epi64(lanes, values);
                        _mm512_storeu_si512(to.add(64 * i).cast(), values);
                        from = from.add(8 * lanes.count_ones() as usize);
                    }
                }
                16 => {
                    for i in 0..16 {
                        // Each bit twice: a value is two lanes.
                        let bits = _pdep_u64(mask >> (4 * i), 0x55);
                        #[expect(clippy::cast_possible_truncation, reason = "eight lanes")]
                        let lanes = (bits * 3) as __mmask8;
                        let values = _mm512_loadu_si512(from.cast());
                        let values = _mm512_maskz_expand_epi64(lanes, values);
                        _mm512_storeu_si512(to.add(64 * i).cast(), values);
                        from = from.add(8 * lanes.count_ones() as usize);
                    }
                }
                _ => crate::arch::portable::Portable.spread(dense, mask, out),
            }
        }
    }

    #[inline(always)]
    unsafe fn spread_ends<T: Copy>(self, dense: *const T, mask: u64, out: *mut T) {
        // SAFETY: `self` proves AVX-512. Each group loads 17 or 9 elements, from an offset that is
        // at most the number of rows before it: 65 can be read, by contract.
        unsafe {
            let mut from = dense.cast::<u8>();
            let to = out.cast::<u8>();
            match size_of::<T>() {
                4 => {
                    let through = table!(u32, 16, i => (2 << i) - 1);
                    for i in 0..4 {
                        #[expect(clippy::cast_possible_truncation, reason = "16 lanes")]
                        let lanes = (mask >> (16 * i)) as u16;
                        let bits = _mm512_set1_epi32(i32::from(lanes));
                        let ranks = _mm512_popcnt_epi32(_mm512_and_si512(bits, through));
                        let low = _mm512_loadu_si512(from.cast());
                        let high = _mm512_set1_epi32(from.add(64).cast::<i32>().read_unaligned());
                        let ends = _mm512_permutex2var_epi32(low, ranks, high);
                        _mm512_storeu_si512(to.add(64 * i).cast(), ends);
                        from = from.add(4 * lanes.count_ones() as usize);
                    }
                }
                8 => {
                    let through = table!(u64, 8, i => (2 << i) - 1);
                    for i in 0..8 {
                        let lanes = mask >> (8 * i) & 0xFF;
                        let bits = _mm512_set1_epi64(lanes.cast_signed());
                        let ranks = _mm512_popcnt_epi64(_mm512_and_si512(bits, through));
                        let low = _mm512_loadu_si512(from.cast());
                        let high = _mm512_set1_epi64(from.add(64).cast::<i64>().read_unaligned());
                        let ends = _mm512_permutex2var_epi64(low, ranks, high);
                        _mm512_storeu_si512(to.add(64 * i).cast(), ends);
                        from = from.add(8 * lanes.count_ones() as usize);
                    }
                }
                _ => crate::arch::portable::Portable.spread_ends(dense, mask, out),
            }
        }
    }

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
        // SAFETY: `self` proves AVX-512; by contract `room` is the sum of all prefixes and
        // suffixes, and the source holds all suffixes.
        unsafe {
            // The first 64 bytes of the previous string stay in a register, which avoids loading
            // what has just been stored.
            let mut text = _mm512_maskz_loadu_epi8(low(before_len.min(64)), before.cast());
            for ((&prefix, &suffix), end) in lengths.zip(ends) {
                let prefix = prefix.cast_unsigned() as usize;
                let suffix = suffix.cast_unsigned() as usize;
                if prefix > before_len {
                    return None;
                }
                let total = prefix + suffix;
                let start = to.add(len);
                let own = texts.source.as_ptr().add(pos);
                if total <= 64 {
                    // Loads from `prefix` bytes before its own part.
                    let mask = low(total) & !low(prefix);
                    text = _mm512_mask_loadu_epi8(text, mask, own.wrapping_sub(prefix).cast());
                    // Shorter stores cross fewer cache lines.
                    if total <= 32 && room - len >= 32 {
                        _mm256_storeu_si256(start.cast(), _mm512_castsi512_si256(text));
                    } else if room - len >= 64 {
                        _mm512_storeu_si512(start.cast(), text);
                    } else {
                        _mm512_mask_storeu_epi8(start.cast(), low(total), text);
                    }
                } else {
                    std::ptr::copy_nonoverlapping(before, start, prefix);
                    std::ptr::copy_nonoverlapping(own, start.add(prefix), suffix);
                    text = _mm512_loadu_si512(start.cast());
                }
                before = start;
                before_len = total;
                len += total;
                pos += suffix;
                end.write(O::wrap(texts.base + len));
            }
        }
        Some((len, pos, before_len))
    }

    #[inline(always)]
    fn join<const WIDTH: usize>(
        self,
        streams: &[u8],
        stride: usize,
        at: usize,
        out: &mut [MaybeUninit<u8>],
        past_cache: bool,
    ) {
        let count = out.len() / WIDTH;
        assert!(at + count <= stride && stride * WIDTH <= streams.len());
        let misaligned = out.as_ptr().addr() & 63;
        let past = past_cache && misaligned.is_multiple_of(WIDTH);
        let head = if past { (64 - misaligned) % 64 / WIDTH } else { 0 }.min(count);
        let portable = crate::arch::portable::Portable;
        portable.join::<WIDTH>(streams, stride, at, &mut out[..head * WIDTH], false);
        let body = (count - head) / 64 * 64;
        // SAFETY: `self` proves AVX-512; the values of the body are in every stream and in `out`,
        // which is aligned there if non-temporal stores are used.
        unsafe {
            let from = streams.as_ptr().add(at + head);
            let to = out.as_mut_ptr().cast::<u8>().add(head * WIDTH);
            if past {
                join_all::<WIDTH, true>(from, stride, body, to);
            } else {
                join_all::<WIDTH, false>(from, stride, body, to);
            }
        }
        let done = head + body;
        portable.join::<WIDTH>(streams, stride, at + done, &mut out[done * WIDTH..], false);
    }

    #[inline(always)]
    fn at_least(self, levels: &[u8; 64], least: u8) -> u64 {
        // SAFETY: `self` proves AVX-512.
        unsafe {
            let least = _mm512_set1_epi8(least.cast_signed());
            _mm512_cmpge_epu8_mask(super::load(levels), least)
        }
    }

    #[inline(always)]
    fn pext(self, bits: u64, mask: u64) -> u64 {
        // SAFETY: `self` proves BMI2.
        unsafe { _pext_u64(bits, mask) }
    }

    #[inline(always)]
    fn pdep(self, bits: u64, mask: u64) -> u64 {
        // SAFETY: `self` proves BMI2.
        unsafe { _pdep_u64(bits, mask) }
    }

    #[inline(always)]
    unsafe fn ranks(self, slots: u64, counted: u64, mut start: i32, mut out: *mut i32) {
        // SAFETY: `self` proves AVX-512. The groups before have written at most 16 numbers each, so
        // there is room for all 16 lanes of the next.
        unsafe {
            let below = table!(u32, 16, i => (1 << i) - 1);
            for i in 0..4 {
                #[expect(clippy::cast_possible_truncation, reason = "16 lanes")]
                let (slots, counted) = ((slots >> (16 * i)) as u16, (counted >> (16 * i)) as u16);
                let bits = _mm512_set1_epi32(i32::from(counted));
                let ranks = _mm512_popcnt_epi32(_mm512_and_si512(bits, below));
                let ranks = _mm512_add_epi32(ranks, _mm512_set1_epi32(start));
                let ranks = _mm512_maskz_compress_epi32(slots, ranks);
                _mm512_storeu_si512(out.cast(), ranks);
                out = out.add(slots.count_ones() as usize);
                start = start.wrapping_add(counted.count_ones().cast_signed());
            }
        }
    }

    #[inline(always)]
    fn stream(self, from: &[u8], to: &mut [MaybeUninit<u8>]) {
        let len = from.len().min(to.len());
        // SAFETY: `self` proves AVX-512; both are `len` long, and masks cut the ends.
        unsafe {
            let (mut from, mut to) = (from.as_ptr(), to.as_mut_ptr().cast::<u8>());
            let head = to.align_offset(64).min(len);
            let values = _mm512_maskz_loadu_epi8(low(head), from.cast());
            _mm512_mask_storeu_epi8(to.cast(), low(head), values);
            (from, to) = (from.add(head), to.add(head));
            let mut left = len - head;
            while left >= 256 {
                let a = _mm512_loadu_si512(from.cast());
                let b = _mm512_loadu_si512(from.add(64).cast());
                let c = _mm512_loadu_si512(from.add(128).cast());
                let d = _mm512_loadu_si512(from.add(192).cast());
                _mm512_stream_si512(to.cast(), a);
                _mm512_stream_si512(to.add(64).cast(), b);
                _mm512_stream_si512(to.add(128).cast(), c);
                _mm512_stream_si512(to.add(192).cast(), d);
                (from, to) = (from.add(256), to.add(256));
                left -= 256;
            }
            while left >= 64 {
                _mm512_stream_si512(to.cast(), _mm512_loadu_si512(from.cast()));
                (from, to) = (from.add(64), to.add(64));
                left -= 64;
            }
            let values = _mm512_maskz_loadu_epi8(low(left), from.cast());
            _mm512_mask_storeu_epi8(to.cast(), low(left), values);
        }
    }

    #[inline(always)]
    fn fence(self) {
        // SAFETY: every CPU with AVX-512 has SSE.
        unsafe { _mm_sfence() };
    }

    #[inline(always)]
    fn is_ascii(self, text: &[u8]) -> bool {
        // SAFETY: `self` proves AVX-512; loads are within the text, or masked.
        unsafe {
            let mut all = _mm512_setzero_si512();
            let (windows, rest) = text.as_chunks::<64>();
            for window in windows {
                all = _mm512_or_si512(all, super::load(window));
            }
            let rest = _mm512_maskz_loadu_epi8(low(rest.len()), rest.as_ptr().cast());
            _mm512_movepi8_mask(_mm512_or_si512(all, rest)) == 0
        }
    }
}
