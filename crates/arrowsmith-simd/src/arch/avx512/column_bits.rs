// SPDX-License-Identifier: Apache-2.0
//! Bit-packed integers to lanes, and prefix sums of lanes.

use std::arch::x86_64::*;

/// For each width: the bytes of each lane, and its shift.
#[repr(C, align(64))]
struct Lanes<T, const N: usize, const WIDTHS: usize> {
    bytes: [[u8; 64]; WIDTHS],
    shift: [[T; N]; WIDTHS],
}

macro_rules! lanes {
    ($name:ident, $type:ty, $lanes:literal, $widths:literal) => {
        static $name: Lanes<$type, $lanes, $widths> = {
            let mut table = Lanes { bytes: [[0; 64]; $widths], shift: [[0; $lanes]; $widths] };
            let mut width = 0;
            while width < $widths {
                let mut lane = 0;
                while lane < $lanes {
                    let bit = lane * width;
                    let mut byte = 0;
                    while byte < 64 / $lanes {
                        let from = (bit / 8 + byte) & 63;
                        #[expect(clippy::cast_possible_truncation, reason = "less than 64")]
                        {
                            table.bytes[width][lane * (64 / $lanes) + byte] = from as u8;
                        }
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

lanes!(LANES64, u64, 8, 65);
#[expect(clippy::cast_possible_truncation, reason = "less than eight")]
mod narrow {
    use super::Lanes;
    lanes!(LANES32, u32, 16, 33);
    pub(super) static TABLE: &Lanes<u32, 16, 33> = &LANES32;
}

/// For up to eight bits: the bytes of each group of eight values, and the bits of each value in
/// them.
#[repr(C, align(64))]
pub(super) struct Bytes {
    pub(super) bytes: [[u8; 64]; 9],
    pub(super) shift: [[u8; 64]; 9],
}

#[expect(clippy::cast_possible_truncation, reason = "less than 64")]
pub(super) static LANES8: Bytes = {
    let mut table = Bytes { bytes: [[0; 64]; 9], shift: [[0; 64]; 9] };
    let mut width = 0;
    while width < 9 {
        let mut lane = 0;
        while lane < 64 {
            table.bytes[width][lane] = ((lane / 8 * width + lane % 8) & 63) as u8;
            table.shift[width][lane] = (lane % 8 * width) as u8;
            lane += 1;
        }
        width += 1;
    }
    table
};

/// A table of numbers computed at compile time, as a register.
macro_rules! table {
    ($type:ty, $n:literal, $i:ident => $e:expr) => {{
        #[allow(clippy::cast_possible_truncation, reason = "small numbers")]
        const TABLE: [$type; $n] = {
            let mut table = [0; $n];
            let mut $i = 0;
            while $i < $n {
                table[$i] = $e;
                $i += 1;
            }
            table
        };
        _mm512_loadu_si512(TABLE.as_ptr().cast())
    }};
}
pub(super) use table;

/// A mask of the lowest `count` bits; all bits if `count` is 64 to 255.
///
/// # Safety
/// The CPU has BMI2.
#[inline(always)]
pub(super) unsafe fn low(count: usize) -> u64 {
    debug_assert!(count < 256);
    #[expect(clippy::cast_possible_truncation, reason = "only the low eight bits count")]
    // SAFETY: the CPU has BMI2, by contract.
    unsafe {
        _bzhi_u64(u64::MAX, count as u32)
    }
}

/// As [`low`], eight bits wide.
///
/// # Safety
/// The CPU has BMI2.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "cut to the lanes")]
pub(super) unsafe fn low8(count: usize) -> __mmask8 {
    // SAFETY: the CPU has BMI2, by contract.
    unsafe { low(count) as __mmask8 }
}

/// As [`low`], sixteen bits wide.
///
/// # Safety
/// The CPU has BMI2.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "cut to the lanes")]
pub(super) unsafe fn low16(count: usize) -> __mmask16 {
    // SAFETY: the CPU has BMI2, by contract.
    unsafe { low(count) as __mmask16 }
}

/// Unpacks bit-packed values to eight lanes.
#[derive(Clone, Copy)]
pub(super) struct Unpack64 {
    pub(super) width: usize,
    bytes: __m512i,
    next: __m512i,
    shift: __m512i,
    mask: __m512i,
    pub(super) load: __mmask64,
}

impl Unpack64 {
    /// # Safety
    /// The CPU has AVX-512; `width` is at most 64.
    #[inline(always)]
    pub(super) unsafe fn new(width: usize) -> Self {
        // SAFETY: the CPU has AVX-512 and `width <= 64`, by contract; the tables have a row for
        // each width.
        unsafe {
            let bytes = _mm512_load_si512(LANES64.bytes[width].as_ptr().cast());
            Self {
                width,
                bytes,
                next: _mm512_add_epi8(bytes, _mm512_set1_epi8(8)),
                shift: _mm512_load_si512(LANES64.shift[width].as_ptr().cast()),
                mask: _mm512_set1_epi64(low(width).cast_signed()),
                load: low(width),
            }
        }
    }

    /// # Safety
    /// The bytes from `from` on whose bits are set in `load` can be read.
    #[inline(always)]
    pub(super) unsafe fn get(&self, from: *const u8, load: __mmask64) -> __m512i {
        // SAFETY: `new` required AVX-512; the bytes of `load` can be read, by contract, and
        // masked-out bytes are not read.
        unsafe {
            let packed = _mm512_maskz_loadu_epi8(load, from.cast());
            let low = _mm512_permutexvar_epi8(self.bytes, packed);
            let values = if self.width <= 57 {
                _mm512_srlv_epi64(low, self.shift)
            } else {
                let high = _mm512_permutexvar_epi8(self.next, packed);
                _mm512_shrdv_epi64(low, high, self.shift)
            };
            _mm512_and_si512(values, self.mask)
        }
    }
}

/// Unpacks bit-packed values to sixteen lanes.
#[derive(Clone, Copy)]
pub(super) struct Unpack32 {
    pub(super) width: usize,
    bytes: __m512i,
    next: __m512i,
    shift: __m512i,
    mask: __m512i,
    pub(super) load: __mmask64,
}

impl Unpack32 {
    /// # Safety
    /// The CPU has AVX-512; `width` is at most 32.
    #[inline(always)]
    pub(super) unsafe fn new(width: usize) -> Self {
        // SAFETY: the CPU has AVX-512 and `width <= 32`, by contract; the tables have a row for
        // each width.
        unsafe {
            let bytes = _mm512_load_si512(narrow::TABLE.bytes[width].as_ptr().cast());
            #[expect(clippy::cast_possible_truncation, reason = "32 bits at most")]
            let mask = low(width) as u32;
            Self {
                width,
                bytes,
                next: _mm512_add_epi8(bytes, _mm512_set1_epi8(4)),
                shift: _mm512_load_si512(narrow::TABLE.shift[width].as_ptr().cast()),
                mask: _mm512_set1_epi32(mask.cast_signed()),
                load: low(2 * width),
            }
        }
    }

    /// # Safety
    /// The bytes from `from` on whose bits are set in `load` can be read.
    #[inline(always)]
    pub(super) unsafe fn get(&self, from: *const u8, load: __mmask64) -> __m512i {
        // SAFETY: `new` required AVX-512; the bytes of `load` can be read, by contract, and
        // masked-out bytes are not read.
        unsafe {
            let packed = _mm512_maskz_loadu_epi8(load, from.cast());
            let low = _mm512_permutexvar_epi8(self.bytes, packed);
            let values = if self.width <= 25 {
                _mm512_srlv_epi32(low, self.shift)
            } else {
                let high = _mm512_permutexvar_epi8(self.next, packed);
                _mm512_shrdv_epi32(low, high, self.shift)
            };
            _mm512_and_si512(values, self.mask)
        }
    }
}

/// Prefix sum: each lane plus all lanes below it.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
pub(super) unsafe fn scan64(lanes: __m512i) -> __m512i {
    // SAFETY: the CPU has AVX-512, by contract.
    unsafe {
        let zero = _mm512_setzero_si512();
        let lanes = _mm512_add_epi64(lanes, _mm512_alignr_epi64::<7>(lanes, zero));
        let lanes = _mm512_add_epi64(lanes, _mm512_alignr_epi64::<6>(lanes, zero));
        _mm512_add_epi64(lanes, _mm512_alignr_epi64::<4>(lanes, zero))
    }
}

/// As [`scan64`], of sixteen 32-bit lanes.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
pub(super) unsafe fn scan32(lanes: __m512i) -> __m512i {
    // SAFETY: the CPU has AVX-512, by contract.
    unsafe {
        let zero = _mm512_setzero_si512();
        let lanes = _mm512_add_epi32(lanes, _mm512_alignr_epi32::<15>(lanes, zero));
        let lanes = _mm512_add_epi32(lanes, _mm512_alignr_epi32::<14>(lanes, zero));
        let lanes = _mm512_add_epi32(lanes, _mm512_alignr_epi32::<12>(lanes, zero));
        _mm512_add_epi32(lanes, _mm512_alignr_epi32::<8>(lanes, zero))
    }
}

/// The lowest lane.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
pub(super) unsafe fn first64(lanes: __m512i) -> i64 {
    // SAFETY: the CPU has AVX-512, by contract.
    unsafe { _mm_cvtsi128_si64(_mm512_castsi512_si128(lanes)) }
}

/// As [`first64`], 32 bits wide.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
pub(super) unsafe fn first32(lanes: __m512i) -> i32 {
    // SAFETY: the CPU has AVX-512, by contract.
    unsafe { _mm_cvtsi128_si32(_mm512_castsi512_si128(lanes)) }
}
