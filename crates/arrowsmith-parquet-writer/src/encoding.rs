// SPDX-License-Identifier: Apache-2.0
//! The encodings of values: each appends values in its form to a page.

use crate::number::{bits, byte, in_page, index};
use crate::pack::{BLOCK, pack64};
use crate::rle::varint;

/// Deltas of a block, in four miniblocks.
const DELTA_BLOCK: usize = 128;

/// An integer whose differences are encoded, as its bits.
pub(crate) trait Integer: Copy {
    /// With its sign in 64 bits.
    fn wide(self) -> i64;
    /// The difference, modulo its own width.
    fn minus(self, other: Self) -> i64;
}

impl Integer for u32 {
    fn wide(self) -> i64 {
        i64::from(self.cast_signed())
    }

    #[inline]
    fn minus(self, other: Self) -> i64 {
        i64::from(self.wrapping_sub(other).cast_signed())
    }
}

impl Integer for u64 {
    fn wide(self) -> i64 {
        self.cast_signed()
    }

    #[inline]
    fn minus(self, other: Self) -> i64 {
        self.wrapping_sub(other).cast_signed()
    }
}

fn zigzag(value: i64, out: &mut Vec<u8>) {
    varint((value << 1 ^ value >> 63).cast_unsigned(), out);
}

/// DELTA_BINARY_PACKED.
pub(crate) fn delta<T: Integer>(values: &[T], out: &mut Vec<u8>) {
    varint(DELTA_BLOCK as u64, out);
    varint((DELTA_BLOCK / BLOCK) as u64, out);
    varint(values.len() as u64, out);
    zigzag(values.first().map_or(0, |first| first.wide()), out);
    let mut deltas = [0_i64; DELTA_BLOCK];
    let mut at = 1;
    while at < values.len() {
        let count = (values.len() - at).min(DELTA_BLOCK);
        let pairs = values[at - 1..at + count].windows(2);
        for (delta, pair) in deltas.iter_mut().zip(pairs) {
            *delta = pair[1].minus(pair[0]);
        }
        delta_block(&mut deltas, count, out);
        at += count;
    }
}

/// A block: what is behind `count` is overwritten.
fn delta_block(deltas: &mut [i64; DELTA_BLOCK], count: usize, out: &mut Vec<u8>) {
    let min = deltas[..count].iter().copied().fold(i64::MAX, i64::min);
    zigzag(min, out);
    deltas[count..].fill(min);
    let widths_at = out.len();
    out.extend_from_slice(&[0; DELTA_BLOCK / BLOCK]);
    let mut offsets = [0_u64; BLOCK];
    for (miniblock, deltas) in deltas.chunks_exact(BLOCK).enumerate() {
        if miniblock * BLOCK >= count {
            break;
        }
        let mut all = 0;
        for (offset, delta) in offsets.iter_mut().zip(deltas) {
            *offset = delta.wrapping_sub(min).cast_unsigned();
            all |= *offset;
        }
        let width = bits(all);
        out[widths_at + miniblock] = byte(u64::from(width));
        pack64(&offsets, width, out);
    }
}

/// Values of any length, one after the other: value `i` is from offset `i` to offset `i + 1`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strings<'a> {
    pub(crate) bytes: &'a [u8],
    /// Ascending, one more than values.
    pub(crate) offsets: &'a [u32],
}

impl<'a> Strings<'a> {
    pub(crate) fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let bytes = self.bytes;
        self.offsets.windows(2).map(move |pair| &bytes[index(pair[0])..index(pair[1])])
    }

    fn lengths(&self) -> Vec<u32> {
        self.offsets.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// Bytes of all values.
    pub(crate) fn total(&self) -> usize {
        match (self.offsets.first(), self.offsets.last()) {
            (Some(first), Some(last)) => index(last - first),
            _ => 0,
        }
    }

    fn all(&self) -> &'a [u8] {
        match (self.offsets.first(), self.offsets.last()) {
            (Some(first), Some(last)) => &self.bytes[index(*first)..index(*last)],
            _ => &[],
        }
    }
}

/// PLAIN: each value after its length.
pub(crate) fn plain_strings(values: Strings<'_>, out: &mut Vec<u8>) {
    // Bounded: by what is in memory already.
    out.reserve(values.total() + 4 * values.len());
    for value in values.iter() {
        out.extend_from_slice(&in_page(value.len()).to_le_bytes());
        out.extend_from_slice(value);
    }
}

/// PLAIN of 4 bytes.
pub(crate) fn plain32(values: &[u32], out: &mut Vec<u8>) {
    let start = out.len();
    // Bounded: by what is in memory already.
    out.resize(start + values.len() * 4, 0);
    for (to, value) in out[start..].as_chunks_mut::<4>().0.iter_mut().zip(values) {
        *to = value.to_le_bytes();
    }
}

/// PLAIN of 8 bytes.
pub(crate) fn plain64(values: &[u64], out: &mut Vec<u8>) {
    let start = out.len();
    // Bounded: by what is in memory already.
    out.resize(start + values.len() * 8, 0);
    for (to, value) in out[start..].as_chunks_mut::<8>().0.iter_mut().zip(values) {
        *to = value.to_le_bytes();
    }
}

/// PLAIN of Booleans, a byte each: a bit each.
pub(crate) fn plain_bits(values: &[u8], out: &mut Vec<u8>) {
    out.extend(
        values.chunks(8).map(|group| {
            group.iter().enumerate().fold(0, |bits, (i, value)| bits | (value & 1) << i)
        }),
    );
}

/// DELTA_LENGTH_BYTE_ARRAY.
pub(crate) fn delta_length(values: Strings<'_>, out: &mut Vec<u8>) {
    delta(&values.lengths(), out);
    out.extend_from_slice(values.all());
}

/// DELTA_BYTE_ARRAY.
pub(crate) fn delta_strings<'a>(values: impl Iterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    let (mut prefixes, mut lengths, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    let mut last: &[u8] = &[];
    for value in values {
        let prefix = common_prefix(last, value);
        prefixes.push(in_page(prefix));
        lengths.push(in_page(value.len() - prefix));
        rest.extend_from_slice(&value[prefix..]);
        last = value;
    }
    delta(&prefixes, out);
    delta(&lengths, out);
    out.extend_from_slice(&rest);
}

/// Bytes that two values have in common from their start.
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let most = a.len().min(b.len());
    let mut same = 0;
    while let (Some(x), Some(y)) = (a.get(same..same + 8), b.get(same..same + 8)) {
        let differ = word(x) ^ word(y);
        if differ != 0 {
            return same + (differ.trailing_zeros() / 8) as usize;
        }
        same += 8;
    }
    same + a[same..most].iter().zip(&b[same..most]).take_while(|(a, b)| a == b).count()
}

#[inline]
fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// BYTE_STREAM_SPLIT of 4 bytes.
pub(crate) fn split32(values: &[u32], out: &mut Vec<u8>) {
    for shift in [0, 8, 16, 24] {
        out.extend(values.iter().map(|value| byte(u64::from(value >> shift))));
    }
}

/// BYTE_STREAM_SPLIT of 8 bytes.
pub(crate) fn split64(values: &[u64], out: &mut Vec<u8>) {
    for shift in [0, 8, 16, 24, 32, 40, 48, 56] {
        out.extend(values.iter().map(|value| byte(value >> shift)));
    }
}

/// BYTE_STREAM_SPLIT of any width.
pub(crate) fn split_bytes(values: &[u8], width: usize, out: &mut Vec<u8>) {
    for at in 0..width {
        out.extend(values.chunks_exact(width).map(|value| value[at]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_of_the_specification() {
        // Its example: 1, 2, 3, 4, 5 has deltas of 1, which take no bits.
        let mut out = Vec::new();
        delta(&[1_u32, 2, 3, 4, 5], &mut out);
        assert_eq!(out, [0x80, 1, 4, 5, 2, 2, 0, 0, 0, 0]);
        out.clear();
        delta::<u64>(&[], &mut out);
        assert_eq!(out, [0x80, 1, 4, 0, 0]);
    }

    #[test]
    fn prefixes_are_those_of_the_bytes() {
        for (a, b, prefix) in
            [("", "a", 0), ("abc", "abd", 2), ("0123456789", "0123456789", 10), ("axis", "axe", 2)]
        {
            assert_eq!(common_prefix(a.as_bytes(), b.as_bytes()), prefix);
        }
    }

    #[test]
    fn streams_are_split() {
        let mut out = Vec::new();
        split32(&[0x0403_0201, 0x1413_1211], &mut out);
        assert_eq!(out, [1, 0x11, 2, 0x12, 3, 0x13, 4, 0x14]);
        let mut bytes = Vec::new();
        split_bytes(&[1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14], 4, &mut bytes);
        assert_eq!(out, bytes);
    }
}
