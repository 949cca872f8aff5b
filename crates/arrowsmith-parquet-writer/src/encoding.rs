// SPDX-License-Identifier: Apache-2.0
//! The encodings of values: each appends values in its form to a page.

use crate::number::{bits, byte, in_page, index, low32};
use crate::pack::{BLOCK, pack32, pack64};
use crate::rle::varint;

/// Deltas of a block, in four miniblocks.
const DELTA_BLOCK: usize = 128;

fn zigzag(value: i64, out: &mut Vec<u8>) {
    varint((value << 1 ^ value >> 63).cast_unsigned(), out);
}

/// The head of DELTA_BINARY_PACKED.
fn delta_head(count: usize, first: i64, out: &mut Vec<u8>) {
    varint(DELTA_BLOCK as u64, out);
    varint((DELTA_BLOCK / BLOCK) as u64, out);
    varint(count as u64, out);
    zigzag(first, out);
}

/// Defines an encoder of the blocks of DELTA_BINARY_PACKED for integers of a width, given as their
/// bits. All differences are modulo that width.
macro_rules! delta_blocks {
    ($(#[$doc:meta])* $name:ident, $bits:ty, $signed:ty, $pack:ident) => {
        $(#[$doc])*
        fn $name(values: &[$bits], out: &mut Vec<u8>) {
            let mut deltas: [$signed; DELTA_BLOCK] = [0; DELTA_BLOCK];
            let mut at = 1;
            while at < values.len() {
                let count = (values.len() - at).min(DELTA_BLOCK);
                let before = &values[at - 1..at - 1 + count];
                let pairs = before.iter().zip(&values[at..at + count]);
                for (delta, (before, value)) in deltas.iter_mut().zip(pairs) {
                    *delta = value.wrapping_sub(*before).cast_signed();
                }
                let min = deltas[..count].iter().copied().fold(<$signed>::MAX, <$signed>::min);
                deltas[count..].fill(min);
                zigzag(i64::from(min), out);
                let widths_at = out.len();
                out.extend_from_slice(&[0; DELTA_BLOCK / BLOCK]);
                for (miniblock, deltas) in deltas.as_chunks::<BLOCK>().0.iter().enumerate() {
                    // Miniblocks without values have no bits.
                    if miniblock * BLOCK >= count {
                        break;
                    }
                    let offsets = deltas.map(|delta| delta.wrapping_sub(min).cast_unsigned());
                    let all = offsets.iter().fold(0, |all, offset| all | offset);
                    let width = bits(u64::from(all));
                    out[widths_at + miniblock] = byte(u64::from(width));
                    $pack(&offsets, width, out);
                }
                at += count;
            }
        }
    };
}

delta_blocks!(
    /// Blocks of INT32, or of INT64 of a small range.
    delta_blocks32, u32, i32, pack32
);
delta_blocks!(
    /// Blocks of INT64.
    delta_blocks64, u64, i64, pack64
);

/// DELTA_BINARY_PACKED of INT32.
pub(crate) fn delta32(values: &[u32], out: &mut Vec<u8>) {
    let first = values.first().map_or(0, |first| first.cast_signed());
    delta_head(values.len(), i64::from(first), out);
    delta_blocks32(values, out);
}

/// DELTA_BINARY_PACKED of INT64.
pub(crate) fn delta64(values: &[u64], out: &mut Vec<u8>) {
    let first = values.first().copied().unwrap_or_default();
    delta_head(values.len(), first.cast_signed(), out);
    // Numbers within 2^30 of the first one have differences of 31 bits: the same blocks as theirs,
    // made with half of the memory.
    let far = values
        .iter()
        .fold(0, |far, value| far | value.wrapping_sub(first).wrapping_add(1 << 30) >> 31);
    if far == 0 {
        let near: Vec<u32> = values.iter().map(|value| low32(value.wrapping_sub(first))).collect();
        delta_blocks32(&near, out);
    } else {
        delta_blocks64(values, out);
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

/// Bytes that [`Appender`] copies at once.
const COPY: usize = 16;

/// Appends short pieces of a buffer: copies blocks of a constant size, which need no call, and
/// overwrites with the next piece what was too much.
struct Appender<'a> {
    out: &'a mut Vec<u8>,
    at: usize,
}

impl<'a> Appender<'a> {
    /// For at most `bytes` bytes.
    fn new(out: &'a mut Vec<u8>, bytes: usize) -> Self {
        let at = out.len();
        // Bounded: by what is in memory already.
        out.resize(at + bytes + COPY, 0);
        Self { out, at }
    }

    #[inline]
    fn push<const N: usize>(&mut self, bytes: [u8; N]) {
        if let Some(to) = self.out.get_mut(self.at..).and_then(<[u8]>::first_chunk_mut) {
            *to = bytes;
            self.at += N;
        }
    }

    /// Appends `len` bytes of a buffer from `start` on.
    #[inline]
    fn piece(&mut self, bytes: &[u8], start: usize, len: usize) {
        let (Some(from), Some(to)) = (bytes.get(start..), self.out.get_mut(self.at..)) else {
            return;
        };
        let mut done = 0;
        while done < len {
            let block = from.get(done..).and_then(<[u8]>::first_chunk::<COPY>);
            match (block, to.get_mut(done..).and_then(<[u8]>::first_chunk_mut::<COPY>)) {
                (Some(from), Some(to)) => *to = *from,
                // The end of the buffer.
                _ => {
                    to[done..len].copy_from_slice(&from[done..len]);
                    break;
                }
            }
            done += COPY;
        }
        self.at += len;
    }

    fn finish(self) {
        self.out.truncate(self.at);
    }
}

/// PLAIN: each value after its length.
pub(crate) fn plain_strings(values: Strings<'_>, out: &mut Vec<u8>) {
    let mut out = Appender::new(out, values.total() + 4 * values.len());
    for pair in values.offsets.windows(2) {
        let len = pair[1] - pair[0];
        out.push(len.to_le_bytes());
        out.piece(values.bytes, index(pair[0]), index(len));
    }
    out.finish();
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
    delta32(&values.lengths(), out);
    out.extend_from_slice(values.all());
}

/// DELTA_BYTE_ARRAY.
pub(crate) fn delta_strings(values: Strings<'_>, out: &mut Vec<u8>) {
    let count = values.len();
    // Bounded: by the values, which are in memory.
    let (mut prefixes, mut lengths) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut last: &[u8] = &[];
    let mut total = 0;
    for value in values.iter() {
        let prefix = common_prefix(last, value);
        prefixes.push(in_page(prefix));
        lengths.push(in_page(value.len() - prefix));
        total += value.len() - prefix;
        last = value;
    }
    delta32(&prefixes, out);
    delta32(&lengths, out);
    let mut suffixes = Appender::new(out, total);
    for ((start, prefix), len) in values.offsets.iter().zip(prefixes).zip(lengths) {
        suffixes.piece(values.bytes, index(start + prefix), index(len));
    }
    suffixes.finish();
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
        delta32(&[1, 2, 3, 4, 5], &mut out);
        assert_eq!(out, [0x80, 1, 4, 5, 2, 2, 0, 0, 0, 0]);
        out.clear();
        delta64(&[], &mut out);
        assert_eq!(out, [0x80, 1, 4, 0, 0]);
    }

    /// Values at the end of their buffer, and short ones before it.
    #[test]
    fn texts_are_copied_whole() {
        let bytes: Vec<u8> = (0..200).collect();
        let mut offsets = vec![0, 0, 1, 17, 18, 50, 66, 150, 183];
        offsets.extend([199, 200]);
        let values = Strings { bytes: &bytes, offsets: &offsets };
        let mut out = vec![9];
        plain_strings(values, &mut out);
        let mut expected = vec![9];
        for value in values.iter() {
            expected.extend(in_page(value.len()).to_le_bytes());
            expected.extend(value);
        }
        assert_eq!(out, expected);
        let mut out = Vec::new();
        delta_strings(values, &mut out);
        assert!(out.ends_with(&bytes), "no value has a prefix of another");
    }

    /// The blocks are the same, whichever width they are made with.
    #[test]
    fn near_integers_are_encoded_as_any() {
        let mut state = 1_u64;
        for round in 0..200_u64 {
            let base = state;
            let values: Vec<u64> = (0..round * 3)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    base.wrapping_add(state >> (35 + round % 20)).wrapping_sub(1 << (round % 29))
                })
                .collect();
            let (mut found, mut expected) = (Vec::new(), Vec::new());
            delta64(&values, &mut found);
            let first = values.first().copied().unwrap_or_default();
            delta_head(values.len(), first.cast_signed(), &mut expected);
            delta_blocks64(&values, &mut expected);
            assert_eq!(found, expected, "{round}");
        }
    }

    #[test]
    fn prefixes_are_those_of_the_bytes() {
        for (a, b, prefix) in
            [("", "a", 0), ("abc", "abx", 2), ("0123456789", "0123456789", 10), ("axis", "axe", 2)]
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
