// SPDX-License-Identifier: Apache-2.0
//! A sample for a circuit of columns: column chunks, and the buffers that are expected of them, to
//! try a board with.
//!
//! Chunks and buffers are generated together, value by value, so that the expected values do not
//! depend on a reader. A chunk is in the first encoding that its column has: PLAIN, dictionary,
//! delta.

use std::fmt::Write as _;

use super::{Column, Design, Kind};

/// Rows of each chunk.
const ROWS: usize = 120;
/// Values of a dictionary.
const ENTRIES: u64 = 8;
/// Bits of their numbers.
const INDEX_BITS: u32 = 3;
/// Golden-ratio constant, 2^64 / φ: spreads small seeds over all bits.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Numbers of parquet.thrift.
mod thrift {
    pub const DATA_PAGE: u64 = 0;
    pub const DICTIONARY_PAGE: u64 = 2;
    pub const PLAIN: u64 = 0;
    pub const RLE: u64 = 3;
    pub const DELTA_BINARY_PACKED: u64 = 5;
    pub const DELTA_LENGTH_BYTE_ARRAY: u64 = 6;
    pub const RLE_DICTIONARY: u64 = 8;
}

/// The files of the sample, and what the simulation needs beside it.
pub(super) fn files(design: &Design) -> Vec<(String, String)> {
    let (mut sample, mut expected) = (String::new(), String::new());
    for (number, column) in design.columns.iter().enumerate() {
        let made = Chunk::new(column, number as u64 + 1);
        hex(&mut sample, &made.bytes);
        let _ = writeln!(expected, "{} {ROWS}", made.bytes.len());
        for buffer in &made.buffers {
            hex(&mut expected, buffer);
        }
    }
    let cpp = |name: &str, text: &str| (format!("bench/{name}"), text.to_owned());
    vec![
        ("bench/sample.txt".to_owned(), sample),
        ("bench/expected.txt".to_owned(), expected),
        cpp("as_memory_model.hpp", include_str!("../../cpp/as_memory_model.hpp")),
        cpp("as_sample.hpp", include_str!("../../cpp/as_sample.hpp")),
    ]
}

fn hex(out: &mut String, bytes: &[u8]) {
    out.extend(bytes.iter().map(|byte| format!("{byte:02x}")));
    out.push('\n');
}

/// A column chunk, and its buffers.
struct Chunk {
    bytes: Vec<u8>,
    buffers: Vec<Vec<u8>>,
}

impl Chunk {
    fn new(column: &Column, seed: u64) -> Self {
        let mut random = seed.wrapping_mul(SEED);
        let mut below = |end: u64| {
            // Marsaglia's xorshift.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 16) % end
        };
        let valid: Vec<bool> = (0..ROWS).map(|_| !column.nullable || below(5) != 0).collect();
        // Numbers of a dictionary's entries, or values: small, so that deltas are.
        let kinds = if column.plain { 1 << 32 } else { ENTRIES };
        let count = valid.iter().filter(|valid| **valid).count();
        let numbers: Vec<u64> = (0..count).map(|_| below(kinds)).collect();
        let mut bytes = Vec::new();
        let (encoding, values) = if column.plain {
            (thrift::PLAIN, plain(column, &numbers))
        } else if column.dictionary {
            let entries: Vec<u64> = (0..ENTRIES).collect();
            page(&mut bytes, column, None, ENTRIES, &plain(column, &entries));
            let mut values = vec![u8::try_from(INDEX_BITS).unwrap_or(u8::MAX)];
            hybrid(&mut values, &numbers, INDEX_BITS);
            (thrift::RLE_DICTIONARY, values)
        } else if column.kind == Kind::Bytes {
            let lengths: Vec<u64> =
                numbers.iter().map(|number| text(*number).len() as u64).collect();
            let mut values = delta(&lengths);
            values.extend(numbers.iter().flat_map(|number| text(*number)));
            (thrift::DELTA_LENGTH_BYTE_ARRAY, values)
        } else {
            (thrift::DELTA_BINARY_PACKED, delta(&numbers))
        };
        let mut body = Vec::new();
        if column.nullable {
            let levels: Vec<u64> = valid.iter().map(|valid| u64::from(*valid)).collect();
            let mut packed = Vec::new();
            hybrid(&mut packed, &levels, 1);
            body.extend(u32::try_from(packed.len()).unwrap_or(0).to_le_bytes());
            body.extend(packed);
        }
        body.extend(values);
        page(&mut bytes, column, Some(encoding), ROWS as u64, &body);
        Self { bytes, buffers: buffers(column, &valid, &numbers) }
    }
}

/// Arrow's buffers of the values of the rows that are valid.
fn buffers(column: &Column, valid: &[bool], numbers: &[u64]) -> Vec<Vec<u8>> {
    let mut next = numbers.iter();
    let (mut offsets, mut values) = (vec![0; 4], Vec::new());
    for valid in valid {
        let number = valid.then(|| next.next()).flatten();
        match (column.kind, number) {
            (Kind::Bytes, number) => {
                values.extend(number.map(|number| text(*number)).unwrap_or_default());
                offsets.extend(u32::try_from(values.len()).unwrap_or(0).to_le_bytes());
            }
            (kind, number) => {
                let bytes = number.copied().unwrap_or(0).to_le_bytes();
                values.extend(&bytes[..if kind == Kind::Bits64 { 8 } else { 4 }]);
            }
        }
    }
    let bits: Vec<u64> = valid.iter().map(|valid| u64::from(*valid)).collect();
    let mut out = Vec::new();
    if column.nullable {
        out.push(packed(&bits, 1));
    }
    if column.kind == Kind::Bytes {
        out.push(offsets);
    }
    out.push(values);
    out
}

/// The text with a number: of several lengths.
fn text(number: u64) -> Vec<u8> {
    format!("{number:x}-{}", "é".repeat((number % 7) as usize)).into_bytes()
}

fn plain(column: &Column, numbers: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    for number in numbers {
        match column.kind {
            Kind::Bits32 => out.extend(&number.to_le_bytes()[..4]),
            Kind::Bits64 => out.extend(number.to_le_bytes()),
            Kind::Bytes => {
                let text = text(*number);
                out.extend(u32::try_from(text.len()).unwrap_or(0).to_le_bytes());
                out.extend(text);
            }
        }
    }
    out
}

/// Numbers of this many bits, the first one lowest, to full bytes.
fn packed(numbers: &[u64], bits: u32) -> Vec<u8> {
    let mut out = vec![0; (numbers.len() * bits as usize).div_ceil(8)];
    for (at, number) in numbers.iter().enumerate() {
        for bit in 0..bits as usize {
            let place = at * bits as usize + bit;
            out[place / 8] |= u8::from(number >> bit & 1 == 1) << (place % 8);
        }
    }
    out
}

/// One bit-packed run of the hybrid of run lengths and bit packing: groups of eight.
fn hybrid(out: &mut Vec<u8>, numbers: &[u64], bits: u32) {
    let groups = numbers.len().div_ceil(8);
    let mut padded = numbers.to_vec();
    padded.resize(groups * 8, 0);
    varint(out, (groups as u64) << 1 | 1);
    out.extend(packed(&padded, bits));
}

/// DELTA_BINARY_PACKED in one block of 128 deltas, four miniblocks of 32.
fn delta(numbers: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    for number in [128, 4, numbers.len() as u64] {
        varint(&mut out, number);
    }
    let Some((first, _)) = numbers.split_first() else {
        varint(&mut out, 0);
        return out;
    };
    varint(&mut out, first << 1);
    let deltas: Vec<i64> =
        numbers.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]).cast_signed()).collect();
    let Some(least) = deltas.iter().min() else { return out };
    varint(&mut out, (least << 1 ^ least >> 63).cast_unsigned());
    let over: Vec<u64> = deltas.iter().map(|delta| (delta - least).cast_unsigned()).collect();
    let blocks: Vec<&[u64]> = over.chunks(32).collect();
    let width = |block: &[u64]| 64 - block.iter().fold(0, |all, one| all | one).leading_zeros();
    let widths = (0..4).map(|at| blocks.get(at).map_or(0, |block| width(block)));
    out.extend(widths.map(|bits| u8::try_from(bits).unwrap_or(u8::MAX)));
    for block in blocks {
        let mut full = block.to_vec();
        full.resize(32, 0);
        out.extend(packed(&full, width(block)));
    }
    out
}

/// A page: its header, in Thrift's compact protocol, and its bytes, compressed if the column is.
/// Without an encoding it is a dictionary.
fn page(out: &mut Vec<u8>, column: &Column, encoding: Option<u64>, values: u64, body: &[u8]) {
    let stored = if column.snappy { snappy(body) } else { body.to_vec() };
    // A field: its number less the one before and its type, 5 for an integer, 12 for a structure.
    let integer = |out: &mut Vec<u8>, value: u64| {
        out.push(0x15);
        varint(out, value << 1);
    };
    integer(out, if encoding.is_some() { thrift::DATA_PAGE } else { thrift::DICTIONARY_PAGE });
    integer(out, body.len() as u64);
    integer(out, stored.len() as u64);
    // Field 5 or 7.
    out.push(if encoding.is_some() { 0x2c } else { 0x4c });
    integer(out, values);
    integer(out, encoding.unwrap_or(thrift::PLAIN));
    if encoding.is_some() {
        integer(out, thrift::RLE);
        integer(out, thrift::RLE);
    }
    out.extend([0, 0]);
    out.extend(stored);
}

/// Snappy's format, with literals only.
fn snappy(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    varint(&mut out, bytes.len() as u64);
    for piece in bytes.chunks(1 << 16) {
        out.push(61 << 2);
        out.extend(u16::try_from(piece.len() - 1).unwrap_or(u16::MAX).to_le_bytes());
        out.extend(piece);
    }
    out
}

/// LEB128.
fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7f) as u8);
}
