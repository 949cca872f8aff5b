// SPDX-License-Identifier: Apache-2.0
//! Byte streams to values: bytes are interleaved in pairs, pairs in fours, until a quarter of a
//! register has complete values; then the quarters are transposed.

use std::arch::x86_64::*;

use super::column_bits::table;
use crate::prefetch::{DISTANCE_BYTES, prefetch_line};

/// The 64 bytes of stream `k`.
///
/// # Safety
/// The CPU has AVX-512, and these bytes can be read.
#[inline(always)]
unsafe fn stream_of(from: *const u8, stride: usize, k: usize) -> __m512i {
    // SAFETY: the CPU has AVX-512, and 64 bytes of stream `k` can be read, by contract.
    unsafe { _mm512_loadu_si512(from.add(k * stride).cast()) }
}

/// Stores a register, with a non-temporal store if `PAST`.
///
/// # Safety
/// The CPU has AVX-512; 64 bytes can be written at `to`, which is aligned to 64 bytes if `PAST`.
#[inline(always)]
unsafe fn store<const PAST: bool>(to: *mut u8, values: __m512i) {
    // SAFETY: the CPU has AVX-512, and 64 bytes at `to`, aligned if `PAST`, can be written, by
    // contract.
    unsafe {
        if PAST {
            _mm512_stream_si512(to.cast(), values);
        } else {
            _mm512_storeu_si512(to.cast(), values);
        }
    }
}

/// Joins `count` values, a multiple of 64.
///
/// # Safety
/// As [`join2`] and [`store`], for all values.
#[inline(always)]
pub(super) unsafe fn join_all<const WIDTH: usize, const PAST: bool>(
    from: *const u8,
    stride: usize,
    count: usize,
    to: *mut u8,
) {
    for done in (0..count).step_by(64) {
        // SAFETY: `done + 64 <= count`, as `count` is a multiple of 64; by contract each stream
        // holds `count` bytes, and `to` has room for `count` values, aligned if `PAST`.
        unsafe {
            let (from, to) = (from.add(done), to.add(done * WIDTH));
            for k in 0..WIDTH {
                prefetch_line(from.wrapping_add(k * stride + DISTANCE_BYTES));
            }
            match WIDTH {
                2 => join2::<PAST>(from, stride, to),
                4 => join4::<PAST>(from, stride, to),
                8 => join8::<PAST>(from, stride, to),
                16 => join16::<PAST>(from, stride, to),
                _ => join1::<PAST>(from, to),
            }
        }
    }
}

/// Joins 64 values of one byte.
///
/// # Safety
/// As [`join2`], of one stream and 64 bytes.
#[inline(always)]
unsafe fn join1<const PAST: bool>(from: *const u8, to: *mut u8) {
    // SAFETY: the CPU has AVX-512, and 64 bytes at `from` can be read and at `to` written, by
    // contract.
    unsafe { store::<PAST>(to, stream_of(from, 0, 0)) }
}

/// Joins 64 values of two bytes.
///
/// # Safety
/// The CPU has AVX-512; 64 bytes of each stream can be read, and 128 written.
#[inline(always)]
unsafe fn join2<const PAST: bool>(from: *const u8, stride: usize, to: *mut u8) {
    // SAFETY: the CPU has AVX-512; by contract 64 bytes of both streams can be read and 128 at `to`
    // written.
    unsafe {
        let (a, b) = (stream_of(from, stride, 0), stream_of(from, stride, 1));
        let low = table!(u8, 64, i => (i / 2 + i % 2 * 64) as u8);
        let high = table!(u8, 64, i => (32 + i / 2 + i % 2 * 64) as u8);
        store::<PAST>(to, _mm512_permutex2var_epi8(a, low, b));
        store::<PAST>(to.add(64), _mm512_permutex2var_epi8(a, high, b));
    }
}

/// Joins 64 values of four bytes.
///
/// # Safety
/// As [`join2`], of four streams and 256 bytes.
#[inline(always)]
unsafe fn join4<const PAST: bool>(from: *const u8, stride: usize, to: *mut u8) {
    // SAFETY: the CPU has AVX-512; by contract 64 bytes of four streams can be read and 256 at `to`
    // written.
    unsafe {
        let (a, b) = (stream_of(from, stride, 0), stream_of(from, stride, 1));
        let (c, d) = (stream_of(from, stride, 2), stream_of(from, stride, 3));
        // Pairs of bytes within each quarter, then fours; then the quarters are transposed.
        let (ab_low, ab_high) = (_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b));
        let (cd_low, cd_high) = (_mm512_unpacklo_epi8(c, d), _mm512_unpackhi_epi8(c, d));
        let x = [
            _mm512_unpacklo_epi16(ab_low, cd_low),
            _mm512_unpackhi_epi16(ab_low, cd_low),
            _mm512_unpacklo_epi16(ab_high, cd_high),
            _mm512_unpackhi_epi16(ab_high, cd_high),
        ];
        store_quarters::<PAST>(x, to, 64);
    }
}

/// Transposes the quarters of four registers, and stores them `step` bytes apart.
///
/// # Safety
/// The CPU has AVX-512, and the four times 64 bytes can be written.
#[inline(always)]
unsafe fn store_quarters<const PAST: bool>(x: [__m512i; 4], to: *mut u8, step: usize) {
    // SAFETY: the CPU has AVX-512; by contract 64 bytes at `to + i * step`, `i < 4`, can be
    // written.
    unsafe {
        let low01 = _mm512_shuffle_i64x2::<0x44>(x[0], x[1]);
        let high01 = _mm512_shuffle_i64x2::<0xEE>(x[0], x[1]);
        let low23 = _mm512_shuffle_i64x2::<0x44>(x[2], x[3]);
        let high23 = _mm512_shuffle_i64x2::<0xEE>(x[2], x[3]);
        store::<PAST>(to, _mm512_shuffle_i64x2::<0x88>(low01, low23));
        store::<PAST>(to.add(step), _mm512_shuffle_i64x2::<0xDD>(low01, low23));
        store::<PAST>(to.add(2 * step), _mm512_shuffle_i64x2::<0x88>(high01, high23));
        store::<PAST>(to.add(3 * step), _mm512_shuffle_i64x2::<0xDD>(high01, high23));
    }
}

/// Within each quarter: the bytes of eight streams, value by value. Each quarter of a register has
/// two values; the first register has values 0 and 1 of each quarter's sixteen.
///
/// # Safety
/// The CPU has AVX-512; 64 bytes of eight streams can be read.
#[inline(always)]
unsafe fn eights(from: *const u8, stride: usize) -> [__m512i; 8] {
    // SAFETY: the CPU has AVX-512; by contract 64 bytes of eight streams can be read.
    unsafe {
        let mut fours = [_mm512_setzero_si512(); 8];
        let mut half = 0;
        while half < 2 {
            let k = 4 * half;
            let (a, b) = (stream_of(from, stride, k), stream_of(from, stride, k + 1));
            let (c, d) = (stream_of(from, stride, k + 2), stream_of(from, stride, k + 3));
            let (ab_low, ab_high) = (_mm512_unpacklo_epi8(a, b), _mm512_unpackhi_epi8(a, b));
            let (cd_low, cd_high) = (_mm512_unpacklo_epi8(c, d), _mm512_unpackhi_epi8(c, d));
            fours[k] = _mm512_unpacklo_epi16(ab_low, cd_low);
            fours[k + 1] = _mm512_unpackhi_epi16(ab_low, cd_low);
            fours[k + 2] = _mm512_unpacklo_epi16(ab_high, cd_high);
            fours[k + 3] = _mm512_unpackhi_epi16(ab_high, cd_high);
            half += 1;
        }
        [
            _mm512_unpacklo_epi32(fours[0], fours[4]),
            _mm512_unpackhi_epi32(fours[0], fours[4]),
            _mm512_unpacklo_epi32(fours[1], fours[5]),
            _mm512_unpackhi_epi32(fours[1], fours[5]),
            _mm512_unpacklo_epi32(fours[2], fours[6]),
            _mm512_unpackhi_epi32(fours[2], fours[6]),
            _mm512_unpacklo_epi32(fours[3], fours[7]),
            _mm512_unpackhi_epi32(fours[3], fours[7]),
        ]
    }
}

/// Joins 64 values of eight bytes.
///
/// # Safety
/// As [`join2`], of eight streams and 512 bytes.
#[inline(always)]
unsafe fn join8<const PAST: bool>(from: *const u8, stride: usize, to: *mut u8) {
    // SAFETY: the CPU has AVX-512; by contract 64 bytes of eight streams can be read and 512 at
    // `to` written.
    unsafe {
        let [a, b, c, d, e, f, g, h] = eights(from, stride);
        store_quarters::<PAST>([a, b, c, d], to, 128);
        store_quarters::<PAST>([e, f, g, h], to.add(64), 128);
    }
}

/// Joins 64 values of sixteen bytes.
///
/// # Safety
/// As [`join2`], of sixteen streams and 1,024 bytes.
#[inline(always)]
unsafe fn join16<const PAST: bool>(from: *const u8, stride: usize, to: *mut u8) {
    // SAFETY: the CPU has AVX-512; by contract 64 bytes of sixteen streams can be read and 1,024 at
    // `to` written.
    unsafe {
        let low = eights(from, stride);
        let high = eights(from.add(8 * stride), stride);
        let mut i = 0;
        while i < 4 {
            let k = 2 * i;
            let x = [
                _mm512_unpacklo_epi64(low[k], high[k]),
                _mm512_unpackhi_epi64(low[k], high[k]),
                _mm512_unpacklo_epi64(low[k + 1], high[k + 1]),
                _mm512_unpackhi_epi64(low[k + 1], high[k + 1]),
            ];
            store_quarters::<PAST>(x, to.add(64 * i), 256);
            i += 1;
        }
    }
}
