// SPDX-License-Identifier: Apache-2.0
//! The hybrid of runs and bit packing, for levels, dictionary indices and Booleans.
//!
//! A run of one value is twice its length, and the value; a packed run is twice the number of its
//! groups of eight values, plus one, and the values. Groups of eight are examined one after the
//! other, so that a run starts at a multiple of eight from where the last one ended.

use crate::number::{bits, byte};
use crate::pack::pack_run;

/// Values of a group.
const GROUP: usize = 8;

/// Appends an integer of a variable length, seven bits to a byte.
pub(crate) fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(byte(value & 0x7f) | 0x80);
        value >>= 7;
    }
    out.push(byte(value));
}

/// The bits of a level up to this one, or of an index.
pub(crate) fn width(max: u32) -> u32 {
    bits(u64::from(max))
}

/// Appends a run of one value.
pub(crate) fn run(value: u32, count: usize, width: u32, out: &mut Vec<u8>) {
    varint((count as u64) << 1, out);
    let bytes = (width as usize).div_ceil(8);
    out.extend_from_slice(&value.to_le_bytes()[..bytes]);
}

/// Appends values of a width as runs and packed runs.
pub(crate) fn encode<T: Copy + PartialEq + Into<u32>>(values: &[T], width: u32, out: &mut Vec<u8>) {
    if width == 0 {
        if !values.is_empty() {
            run(0, values.len(), 0, out);
        }
        return;
    }
    // A run costs its own head and that of the packed run after it.
    let run_min = GROUP.max(48_usize.div_ceil(width as usize));
    let (mut at, mut packed) = (0, 0);
    while at + GROUP <= values.len() {
        let group = &values[at..at + GROUP];
        let first = group[0];
        if group.iter().any(|value| *value != first) {
            at += GROUP;
            continue;
        }
        let rest = &values[at + GROUP..];
        let more = rest.iter().position(|value| *value != first).unwrap_or(rest.len());
        if GROUP + more < run_min {
            at += GROUP;
            continue;
        }
        packed_run(&values[packed..at], width, out);
        run(first.into(), GROUP + more, width, out);
        at += GROUP + more;
        packed = at;
    }
    packed_run(&values[packed..], width, out);
}

fn packed_run<T: Copy + Into<u32>>(values: &[T], width: u32, out: &mut Vec<u8>) {
    if !values.is_empty() {
        varint((values.len().div_ceil(GROUP) as u64) << 1 | 1, out);
        pack_run(values, width, out);
    }
}

/// Appends bits, `count` of them, as values of width 1: packed runs are the bits as they are.
pub(crate) fn encode_bits(bits: &[u8], count: usize, out: &mut Vec<u8>) {
    /// Bytes of one value that make a run.
    const RUN_BYTES: usize = 8;
    let full = &bits[..count / 8];
    let (mut at, mut packed) = (0, 0);
    while at < full.len() {
        let value = full[at];
        if value != 0 && value != 0xff {
            at += 1;
            continue;
        }
        let same = full[at..].iter().position(|next| *next != value).unwrap_or(full.len() - at);
        if same < RUN_BYTES {
            at += same;
            continue;
        }
        packed_bits(&full[packed..at], out);
        run(u32::from(value & 1), same * 8, 1, out);
        at += same;
        packed = at;
    }
    packed_bits(&bits[packed..count.div_ceil(8)], out);
}

fn packed_bits(bits: &[u8], out: &mut Vec<u8>) {
    if !bits.is_empty() {
        varint((bits.len() as u64) << 1 | 1, out);
        out.extend_from_slice(bits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of encoded runs, read bit by bit.
    fn decode(mut bytes: &[u8], width: u32, count: usize) -> Vec<u32> {
        let mut values = Vec::new();
        let mut take = |n: usize| {
            let (head, rest) = bytes.split_at(n);
            bytes = rest;
            head.to_vec()
        };
        while values.len() < count {
            let (mut head, mut shift) = (0_u64, 0);
            loop {
                let next = take(1)[0];
                head |= u64::from(next & 0x7f) << shift;
                shift += 7;
                if next < 0x80 {
                    break;
                }
            }
            let number = (head >> 1) as usize;
            if head & 1 == 0 {
                let mut value = take((width as usize).div_ceil(8));
                value.resize(4, 0);
                let value = u32::from_le_bytes(value.try_into().unwrap());
                values.resize(values.len() + number, value);
            } else {
                let packed = take(number * width as usize);
                for i in 0..number * 8 {
                    let bit = |b: usize| u32::from(packed[b / 8] >> (b % 8) & 1);
                    let w = width as usize;
                    values.push((0..w).map(|b| bit(i * w + b) << b).sum());
                }
            }
        }
        assert!(bytes.is_empty());
        values.truncate(count);
        values
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let mut state = 5_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u32
        };
        for round in 0..2_000 {
            let width = 1 + random() % 32;
            let mask = u32::MAX >> (32 - width);
            let mut values = Vec::new();
            for _ in 0..random() % 12 {
                let value = random() & mask;
                match random() % 3 {
                    0 => values.extend((0..random() % 100).map(|_| random() & mask)),
                    1 => values.resize(values.len() + random() as usize % 300, value),
                    _ => values.extend((0..random() % 20).map(|i| value ^ (i & mask & 1))),
                }
            }
            let mut out = Vec::new();
            encode(&values, width, &mut out);
            assert_eq!(decode(&out, width, values.len()), values, "{round}");
            let levels: Vec<u16> = values.iter().map(|value| (*value & 1) as u16).collect();
            let mut out = Vec::new();
            encode(&levels, 1, &mut out);
            let levels: Vec<u32> = levels.into_iter().map(u32::from).collect();
            assert_eq!(decode(&out, 1, levels.len()), levels, "{round}");
            let mut bitmap = vec![0; levels.len().div_ceil(8)];
            for (i, bit) in levels.iter().enumerate() {
                bitmap[i / 8] |= u8::from(*bit == 1) << (i % 8);
            }
            let mut out = Vec::new();
            encode_bits(&bitmap, levels.len(), &mut out);
            assert_eq!(decode(&out, 1, levels.len()), levels, "{round}");
        }
    }

    #[test]
    fn values_of_no_width_are_one_run() {
        let mut out = Vec::new();
        encode(&[0_u32; 100], 0, &mut out);
        assert_eq!(out, [200, 1]);
        out.clear();
        encode::<u32>(&[], 0, &mut out);
        assert!(out.is_empty());
    }
}
