// SPDX-License-Identifier: Apache-2.0
//! Column kernels for AVX2: as for AVX-512, with half as many lanes. Bytes move only within the two
//! halves of a register, so each half is loaded from the start of its values.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::Avx2;
use crate::arch::portable::Portable;
use crate::column::ColumnIsa;
use crate::prefetch::{DISTANCE_BYTES, prefetch_line};

/// For each width: the bytes of each lane, relative to the first byte of its half, and the shift of
/// the lane.
#[repr(C, align(32))]
struct Lanes<T, const BYTES: usize, const WIDTHS: usize> {
    bytes: [[u8; BYTES]; WIDTHS],
    shift: [[T; 8]; WIDTHS],
}

macro_rules! lanes {
    ($name:ident, $type:ty, $size:literal, $widths:literal) => {
        #[allow(clippy::cast_possible_truncation, reason = "less than 16")]
        static $name: Lanes<$type, { 8 * $size }, $widths> = {
            let mut table = Lanes { bytes: [[0; 8 * $size]; $widths], shift: [[0; 8]; $widths] };
            let mut width = 0;
            while width < $widths {
                let mut lane = 0;
                while lane < 8 {
                    let bit = lane * width - start(lane, 16 / $size, width) * 8;
                    let mut byte = 0;
                    while byte < $size {
                        table.bytes[width][lane * $size + byte] = (bit / 8 + byte) as u8;
                        byte += 1;
                    }
                    table.shift[width][lane] = (bit % 8) as $type;
                    lane += 1;
                }
                width += 1;
            }
            table
        };
    };
}

/// The first byte of the half that contains `lane`, if a half has `lanes` lanes.
#[inline(always)]
const fn start(lane: usize, lanes: usize, width: usize) -> usize {
    lane / lanes * lanes * width / 8
}

// Up to these widths a value and its shift fit into a lane.
lanes!(LANES64, u64, 8, 58);
lanes!(LANES32, u32, 4, 26);

/// Both halves: the 16 bytes at `from`, and the 16 bytes `step` bytes after it.
///
/// # Safety
/// The CPU has AVX2, and these bytes can be read.
#[inline(always)]
unsafe fn halves(from: *const u8, step: usize) -> __m256i {
    // SAFETY: the CPU has AVX2, and 16 bytes from `from` and from `from + step` can be read, by
    // contract.
    unsafe {
        let (low, high) = (from.cast(), from.add(step).cast());
        _mm256_set_m128i(_mm_loadu_si128(high), _mm_loadu_si128(low))
    }
}

/// Eight values of up to 25 bits.
#[derive(Clone, Copy)]
struct Unpack32 {
    half: usize,
    bytes: __m256i,
    shift: __m256i,
    mask: __m256i,
}

impl Unpack32 {
    /// # Safety
    /// The CPU has AVX2; `width` is at most 25.
    #[inline(always)]
    unsafe fn new(width: usize) -> Self {
        // SAFETY: the CPU has AVX2 and `width <= 25`, by contract; the tables have a row for each
        // width.
        unsafe {
            Self {
                half: start(4, 4, width),
                bytes: _mm256_load_si256(LANES32.bytes[width].as_ptr().cast()),
                shift: _mm256_load_si256(LANES32.shift[width].as_ptr().cast()),
                mask: _mm256_set1_epi32((1 << width) - 1),
            }
        }
    }

    /// # Safety
    /// 32 bytes can be read.
    #[inline(always)]
    unsafe fn get(&self, from: *const u8) -> __m256i {
        // SAFETY: `new` required AVX2; by contract 32 bytes from `from` can be read, and `half + 16
        // <= 32`.
        unsafe {
            let lanes = _mm256_shuffle_epi8(halves(from, self.half), self.bytes);
            _mm256_and_si256(_mm256_srlv_epi32(lanes, self.shift), self.mask)
        }
    }
}

/// Eight values of up to 57 bits.
#[derive(Clone, Copy)]
struct Unpack64 {
    width: usize,
    bytes: [__m256i; 2],
    shift: [__m256i; 2],
    mask: __m256i,
}

impl Unpack64 {
    /// # Safety
    /// The CPU has AVX2; `width` is at most 57.
    #[inline(always)]
    unsafe fn new(width: usize) -> Self {
        // SAFETY: the CPU has AVX2 and `width <= 57`, by contract; the tables have a row for each
        // width.
        unsafe {
            let bytes = LANES64.bytes[width].as_ptr().cast::<__m256i>();
            let shift = LANES64.shift[width].as_ptr().cast::<__m256i>();
            Self {
                width,
                bytes: [_mm256_load_si256(bytes), _mm256_load_si256(bytes.add(1))],
                shift: [_mm256_load_si256(shift), _mm256_load_si256(shift.add(1))],
                mask: _mm256_set1_epi64x((1 << width) - 1),
            }
        }
    }

    /// The first four values, or the last four.
    ///
    /// # Safety
    /// 32 bytes can be read from `from` on, and `width` bytes if that is more.
    #[inline(always)]
    unsafe fn get(&self, from: *const u8, part: usize) -> __m256i {
        let low = start(4 * part, 2, self.width);
        let high = start(4 * part + 2, 2, self.width);
        // SAFETY: `new` required AVX2; both halves are among the bytes that can be read by
        // contract.
        unsafe {
            let lanes = halves(from.add(low), high - low);
            let lanes = _mm256_shuffle_epi8(lanes, self.bytes[part]);
            _mm256_and_si256(_mm256_srlv_epi64(lanes, self.shift[part]), self.mask)
        }
    }
}

/// How many of `count` values, in groups of eight, can be unpacked: from the first byte of each
/// group, 32 bytes and `width` bytes must be readable.
#[inline(always)]
fn readable(packed: &[u8], width: usize, count: usize) -> usize {
    let groups = match packed.len().checked_sub(32 + width) {
        Some(rest) if width > 0 => rest / width + 1,
        Some(_) => count / 8,
        None => 0,
    };
    groups.min(count / 8) * 8
}

impl ColumnIsa for Avx2 {
    #[inline(always)]
    fn unpack32(self, packed: &[u8], width: u32, out: &mut [MaybeUninit<u32>]) {
        let bits = width as usize;
        let fast = if bits <= 25 { readable(packed, bits, out.len()) } else { 0 };
        let (body, rest) = out.split_at_mut(fast);
        // SAFETY: `self` proves AVX2; `readable` has counted the bytes.
        unsafe {
            let unpack = Unpack32::new(bits.min(25));
            let mut from = packed.as_ptr();
            for out in body.as_chunks_mut::<8>().0 {
                _mm256_storeu_si256(out.as_mut_ptr().cast(), unpack.get(from));
                from = from.add(bits);
            }
        }
        Portable.unpack32(&packed[fast / 8 * bits..], width, rest);
    }

    #[inline(always)]
    fn unpack8(self, packed: &[u8], width: u32, out: &mut [MaybeUninit<u8>]) {
        let bits = width as usize;
        let fast = readable(packed, bits, out.len());
        let (body, rest) = out.split_at_mut(fast);
        let mask = if width == 0 { 0 } else { 0x0101_0101_0101_0101 * (0xFF >> (8 - width)) };
        // SAFETY: `self` proves BMI2; `readable` has counted the bytes.
        unsafe {
            let mut from = packed.as_ptr();
            for out in body.as_chunks_mut::<8>().0 {
                let word = u64::from_le_bytes(from.cast::<[u8; 8]>().read_unaligned());
                let bytes = _pdep_u64(word, mask).to_le_bytes();
                out.as_mut_ptr().cast::<[u8; 8]>().write_unaligned(bytes);
                from = from.add(bits);
            }
        }
        Portable.unpack8(&packed[fast / 8 * bits..], width, rest);
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
        let bits = width as usize;
        let fast = if bits <= 57 { readable(packed, bits, out.len()) } else { 0 };
        let (body, rest) = out.split_at_mut(fast);
        // SAFETY: `self` proves AVX2; `readable` has counted the bytes.
        let last = unsafe {
            let unpack = Unpack64::new(bits.min(57));
            let least = _mm256_set1_epi64x(least);
            let zero = _mm256_setzero_si256();
            let mut carry = _mm256_set1_epi64x(last);
            let mut from = packed.as_ptr();
            for out in body.as_chunks_mut::<8>().0 {
                let to = out.as_mut_ptr();
                for part in 0..2 {
                    let values = unpack.get(from, part);
                    let x = _mm256_add_epi64(values, least);
                    let x = _mm256_add_epi64(x, _mm256_slli_si256::<8>(x));
                    let low_top = _mm256_permute4x64_epi64::<0b0101_0101>(x);
                    let x = _mm256_add_epi64(x, _mm256_blend_epi32::<0xF0>(zero, low_top));
                    let sums = _mm256_add_epi64(x, carry);
                    _mm256_storeu_si256(to.add(4 * part).cast(), sums);
                    let top = _mm256_permute4x64_epi64::<0xFF>(x);
                    carry = _mm256_add_epi64(carry, top);
                }
                from = from.add(bits);
            }
            _mm_cvtsi128_si64(_mm256_castsi256_si128(carry))
        };
        Portable.sum64(&packed[fast / 8 * bits..], width, least, last, rest)
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
        let bits = width as usize;
        let fast = if bits <= 25 { readable(packed, bits, out.len()) } else { 0 };
        let (body, rest) = out.split_at_mut(fast);
        // SAFETY: `self` proves AVX2; `readable` has counted the bytes.
        let last = unsafe {
            let unpack = Unpack32::new(bits.min(25));
            let least = _mm256_set1_epi32(least);
            let zero = _mm256_setzero_si256();
            let (third, top) = (_mm256_set1_epi32(3), _mm256_set1_epi32(7));
            let mut carry = _mm256_set1_epi32(last);
            let mut from = packed.as_ptr();
            for out in body.as_chunks_mut::<8>().0 {
                let x = _mm256_add_epi32(unpack.get(from), least);
                let x = _mm256_add_epi32(x, _mm256_slli_si256::<4>(x));
                let x = _mm256_add_epi32(x, _mm256_slli_si256::<8>(x));
                let low_top = _mm256_permutevar8x32_epi32(x, third);
                let x = _mm256_add_epi32(x, _mm256_blend_epi32::<0xF0>(zero, low_top));
                _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm256_add_epi32(x, carry));
                carry = _mm256_add_epi32(carry, _mm256_permutevar8x32_epi32(x, top));
                from = from.add(bits);
            }
            _mm_cvtsi128_si32(_mm256_castsi256_si128(carry))
        };
        Portable.sum32(&packed[fast / 8 * bits..], width, least, last, rest)
    }

    #[inline(always)]
    unsafe fn spread<T: Copy>(self, dense: *const T, mask: u64, out: *mut T) {
        // The number of four-byte lanes of a value, and the bits of a byte that are the first lane
        // of a value.
        let (lanes, places) = match size_of::<T>() {
            4 => (1, 0xFF),
            8 => (2, 0x55),
            16 => (4, 0x11),
            // SAFETY: the contract is the same: 64 elements of `dense` can be read, 64 of `out`
            // written.
            _ => return unsafe { Portable.spread(dense, mask, out) },
        };
        let (mut from, mut to) = (dense.cast::<u8>(), out.cast::<u8>());
        // SAFETY: `self` proves AVX2 and BMI2; 64 elements of `dense` can be read and 64 of `out`
        // written, by contract.
        unsafe {
            for i in 0..8 * lanes {
                let values = mask >> (8 / lanes * i) & (0xFF >> (8 - 8 / lanes));
                let set = _pdep_u64(values, places) * ((1 << lanes) - 1);
                // A byte for each lane: all ones where there is a value, and from which lane it
                // comes.
                let there = _pdep_u64(set, 0x0101_0101_0101_0101) * 0xFF;
                let source = _pdep_u64(0x0706_0504_0302_0100, there);
                let source = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(source.cast_signed()));
                let there = _mm256_cvtepi8_epi32(_mm_cvtsi64_si128(there.cast_signed()));
                let found = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(from.cast()), source);
                _mm256_storeu_si256(to.cast(), _mm256_and_si256(found, there));
                from = from.add(4 * set.count_ones() as usize);
                to = to.add(32);
            }
        }
    }

    #[inline(always)]
    fn join<const WIDTH: usize>(
        self,
        streams: &[u8],
        stride: usize,
        at: usize,
        out: &mut [MaybeUninit<u8>],
        _past_cache: bool,
    ) {
        let count = out.len() / WIDTH;
        assert!(at + count <= stride && stride * WIDTH <= streams.len());
        let mut done = 0;
        if WIDTH == 8 || WIDTH == 16 {
            // SAFETY: 16 values from `done` on are in every stream and in `out`.
            unsafe {
                let from = streams.as_ptr().add(at);
                let to = out.as_mut_ptr().cast::<__m128i>();
                while done + 16 <= count {
                    let from = from.add(done);
                    for k in 0..if done.is_multiple_of(64) { WIDTH } else { 0 } {
                        prefetch_line(from.wrapping_add(k * stride + DISTANCE_BYTES));
                    }
                    let low = eights(from, stride);
                    if WIDTH == 8 {
                        let to = to.add(done / 2);
                        for (i, pair) in low.into_iter().enumerate() {
                            _mm_storeu_si128(to.add(i), pair);
                        }
                    } else {
                        let to = to.add(done);
                        let high = eights(from.add(8 * stride), stride);
                        for i in 0..8 {
                            let first = _mm_unpacklo_epi64(low[i], high[i]);
                            let second = _mm_unpackhi_epi64(low[i], high[i]);
                            _mm_storeu_si128(to.add(2 * i), first);
                            _mm_storeu_si128(to.add(2 * i + 1), second);
                        }
                    }
                    done += 16;
                }
            }
        }
        Portable.join::<WIDTH>(streams, stride, at + done, &mut out[done * WIDTH..], false);
    }

    #[inline(always)]
    fn at_least(self, levels: &[u8; 64], least: u8) -> u64 {
        // SAFETY: `self` proves AVX2.
        unsafe {
            let [low, high] = super::load(levels);
            let least = _mm256_set1_epi8(least.cast_signed());
            let low = _mm256_cmpeq_epi8(_mm256_max_epu8(low, least), low);
            let high = _mm256_cmpeq_epi8(_mm256_max_epu8(high, least), high);
            super::top_bits(low, high)
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
    fn stream(self, from: &[u8], to: &mut [MaybeUninit<u8>]) {
        let len = from.len().min(to.len());
        let head = to.as_ptr().align_offset(32).min(len);
        let (lines, done) = ((len - head) / 64, head + (len - head) / 64 * 64);
        to[..head].write_copy_of_slice(&from[..head]);
        // SAFETY: `self` proves AVX2; the lines are inside of both, and aligned in `to`.
        unsafe {
            let (mut from, mut to) = (from.as_ptr().add(head), to.as_mut_ptr().add(head));
            for _ in 0..lines {
                let low = _mm256_loadu_si256(from.cast());
                let high = _mm256_loadu_si256(from.add(32).cast());
                _mm256_stream_si256(to.cast(), low);
                _mm256_stream_si256(to.add(32).cast(), high);
                (from, to) = (from.add(64), to.add(64));
            }
        }
        to[done..len].write_copy_of_slice(&from[done..len]);
    }

    #[inline(always)]
    fn fence(self) {
        // SAFETY: every CPU with AVX2 has SSE.
        unsafe { _mm_sfence() };
    }
}

/// The bytes of eight streams, value by value: sixteen values, two per register.
///
/// # Safety
/// The CPU has SSE2; 16 bytes of eight streams can be read.
#[inline(always)]
unsafe fn eights(from: *const u8, stride: usize) -> [__m128i; 8] {
    // SAFETY: x86-64 has SSE2; by contract 16 bytes can be read from each of the eight streams.
    unsafe {
        let mut fours = [_mm_setzero_si128(); 8];
        let mut half = 0;
        while half < 2 {
            let k = 4 * half;
            let a = _mm_loadu_si128(from.add(k * stride).cast());
            let b = _mm_loadu_si128(from.add((k + 1) * stride).cast());
            let c = _mm_loadu_si128(from.add((k + 2) * stride).cast());
            let d = _mm_loadu_si128(from.add((k + 3) * stride).cast());
            let (ab_low, ab_high) = (_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b));
            let (cd_low, cd_high) = (_mm_unpacklo_epi8(c, d), _mm_unpackhi_epi8(c, d));
            fours[k] = _mm_unpacklo_epi16(ab_low, cd_low);
            fours[k + 1] = _mm_unpackhi_epi16(ab_low, cd_low);
            fours[k + 2] = _mm_unpacklo_epi16(ab_high, cd_high);
            fours[k + 3] = _mm_unpackhi_epi16(ab_high, cd_high);
            half += 1;
        }
        [
            _mm_unpacklo_epi32(fours[0], fours[4]),
            _mm_unpackhi_epi32(fours[0], fours[4]),
            _mm_unpacklo_epi32(fours[1], fours[5]),
            _mm_unpackhi_epi32(fours[1], fours[5]),
            _mm_unpacklo_epi32(fours[2], fours[6]),
            _mm_unpackhi_epi32(fours[2], fours[6]),
            _mm_unpacklo_epi32(fours[3], fours[7]),
            _mm_unpackhi_epi32(fours[3], fours[7]),
        ]
    }
}
