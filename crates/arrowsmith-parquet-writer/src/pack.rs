// SPDX-License-Identifier: Apache-2.0
//! Bit packing: integers of a width in bits, one after the other from the lowest bit up.
//!
//! Blocks of 32 values are packed by a function for each width, in which every shift is a constant.

use crate::number::{byte, index, low32};

/// Values of a block.
pub(crate) const BLOCK: usize = 32;

/// Packs a block of 32-bit values; `out` has `4 * W` bytes.
#[inline]
fn block32<const W: usize>(values: &[u32; BLOCK], out: &mut [u8]) {
    let mut words = out.as_chunks_mut::<4>().0.iter_mut();
    let mut kept = 0_u64;
    let mut filled = 0;
    for value in values {
        kept |= u64::from(*value) << filled;
        filled += W;
        if filled >= 32 {
            if let Some(word) = words.next() {
                *word = low32(kept).to_le_bytes();
            }
            kept >>= 32;
            filled -= 32;
        }
    }
}

/// Packs a block of 64-bit values; `out` has `4 * W` bytes.
#[inline]
fn block64<const W: usize>(values: &[u64; BLOCK], out: &mut [u8]) {
    let (words, rest) = out.as_chunks_mut::<8>();
    let mut words = words.iter_mut();
    let mut kept = 0_u64;
    let mut filled = 0;
    for value in values {
        kept |= value << filled;
        filled += W;
        if filled >= 64 {
            if let Some(word) = words.next() {
                *word = kept.to_le_bytes();
            }
            filled -= 64;
            kept = if filled == 0 { 0 } else { value >> (W - filled) };
        }
    }
    // An odd width leaves half a word.
    rest.copy_from_slice(&kept.to_le_bytes()[..rest.len()]);
}

/// Calls a function of a constant width by a width.
macro_rules! by_width {
    ($function:ident, $width:expr, $values:expr, $out:expr, [$($w:literal)*]) => {
        match $width {
            $($w => $function::<$w>($values, $out),)*
            _ => {}
        }
    };
}

/// Packs a block of values of up to 32 bits and appends it.
#[inline]
pub(crate) fn pack32(values: &[u32; BLOCK], width: u32, out: &mut Vec<u8>) {
    let start = out.len();
    // Bounded: by 128 bytes.
    out.resize(start + 4 * index(width), 0);
    let out = &mut out[start..];
    by_width!(block32, width, values, out, [
        1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
        17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
    ]);
}

/// Packs a block of values of up to 64 bits and appends it.
pub(crate) fn pack64(values: &[u64; BLOCK], width: u32, out: &mut Vec<u8>) {
    if width <= 32 {
        return pack32(&values.map(low32), width, out);
    }
    let start = out.len();
    // Bounded: by 256 bytes.
    out.resize(start + 4 * index(width), 0);
    let out = &mut out[start..];
    by_width!(block64, width, values, out, [
        33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48
        49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64
    ]);
}

/// Packs values, the last ones padded with zeros to a multiple of eight, and appends them.
pub(crate) fn pack_run<T: Copy + Into<u32>>(values: &[T], width: u32, out: &mut Vec<u8>) {
    if width == 1 {
        out.extend(values.chunks(8).map(|group| {
            let bits = group.iter().enumerate();
            byte(u64::from(bits.fold(0, |bits, (i, value)| bits | (*value).into() << i)))
        }));
        return;
    }
    let mut block = [0; BLOCK];
    let (blocks, rest) = values.as_chunks::<BLOCK>();
    for values in blocks {
        for (to, from) in block.iter_mut().zip(values) {
            *to = (*from).into();
        }
        pack32(&block, width, out);
    }
    if !rest.is_empty() {
        block = [0; BLOCK];
        for (to, from) in block.iter_mut().zip(rest) {
            *to = (*from).into();
        }
        let end = out.len() + rest.len().div_ceil(8) * index(width);
        pack32(&block, width, out);
        out.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One bit after the other.
    fn slowly(values: &[u64], width: u32) -> Vec<u8> {
        let mut out = vec![0; (values.len() * index(width)).div_ceil(8)];
        for (i, value) in values.iter().enumerate() {
            for bit in 0..index(width) {
                let at = i * index(width) + bit;
                out[at / 8] |= u8::from(value >> bit & 1 == 1) << (at % 8);
            }
        }
        out
    }

    #[test]
    fn every_width_is_packed_bit_by_bit() {
        let mut state = 1_u64;
        for width in 0..=64 {
            let values: [u64; BLOCK] = std::array::from_fn(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if width == 0 { 0 } else { (state ^ state >> 31) >> (64 - width) }
            });
            let mut out = vec![7];
            pack64(&values, width, &mut out);
            assert_eq!(out[0], 7);
            assert_eq!(out[1..], slowly(&values, width), "{width}");
            if width <= 32 {
                for count in [1, 7, 8, 9, 31] {
                    let mut out = Vec::new();
                    pack_run(&values.map(low32)[..count], width, &mut out);
                    let mut padded = values[..count].to_vec();
                    padded.resize(count.div_ceil(8) * 8, 0);
                    assert_eq!(out, slowly(&padded, width), "{width} {count}");
                }
            }
        }
    }
}
