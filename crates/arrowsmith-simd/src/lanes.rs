// SPDX-License-Identifier: Apache-2.0
//! Values of eight records at once, at the same place in each.
//!
//! Records of one source look alike. If eight are read side by side, everything that is the same in
//! all of them (the next key, the type of its value, its column) is determined once for eight
//! values, and the latency of one record is hidden by the others. A *lane* is one of the eight; a
//! set of lanes is a byte, with one bit per lane. A value that a record lacks costs an unset bit
//! instead of a branch.
//!
//! The kernels here are the portable ones. They read values in their usual form; if any lane has
//! another form they return `None` and change nothing, and the caller reads lane by lane. The
//! caller checks that a number ends after its digits, by comparing the text after it.

#![expect(clippy::needless_range_loop, reason = "a lane is a place in several arrays")]

use arrowsmith_number::{parse_date32, parse_f64, parse_i64, parse_u64};

use crate::isa::Isa;
use crate::prefetch::prefetch;
use crate::{Buf, Input};

/// Records that are read side by side.
pub const LANES: usize = 8;

/// Prefetch distance of the search for line feeds, in bytes.
const PREFETCH_BYTES: usize = 4096;

/// A position for each lane.
pub type Positions = [usize; LANES];

/// A text that lanes are compared with.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Literal {
    /// The text, padded with zeros.
    pub bytes: [u8; 64],
    /// A mask of the text's bytes: its low `len` bits are set.
    pub mask: u64,
    /// Bytes of the text, at most 64.
    pub len: usize,
}

impl Literal {
    /// The empty text.
    pub const EMPTY: Self = Self { bytes: [0; 64], mask: 0, len: 0 };

    /// A literal of this text; `None` if it is longer than 64 bytes.
    pub fn new(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; 64];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        let mask = if text.len() == 64 { u64::MAX } else { (1 << text.len()) - 1 };
        Some(Self { bytes, mask, len: text.len() })
    }

    /// The text.
    pub fn text(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// Whether `lane` is in the set.
#[inline(always)]
pub fn has(set: u8, lane: usize) -> bool {
    set >> (lane & 7) & 1 != 0
}

/// See [`Isa::literal_lanes`].
#[inline(always)]
pub(crate) fn literal<I: Isa>(
    isa: I,
    input: Input<'_>,
    pos: &mut Positions,
    literal: &Literal,
    lanes: u8,
) -> u8 {
    let mut found = 0;
    for lane in 0..LANES {
        let same = isa.equal(input.window(pos[lane]), &literal.bytes, literal.mask);
        found |= u8::from(same) << lane;
    }
    found &= lanes;
    for lane in 0..LANES {
        pos[lane] += if has(found, lane) { literal.len } else { 0 };
    }
    found
}

/// Matches the word `null` in these lanes; returns those that have it.
#[inline(always)]
pub fn null(input: Input<'_>, pos: &mut Positions, lanes: u8) -> u8 {
    let mut found = 0;
    for lane in 0..LANES {
        let word = input.word(pos[lane]) & 0xFFFF_FFFF;
        let null = word == u64::from(u32::from_le_bytes(*b"null")) && has(lanes, lane);
        found |= u8::from(null) << lane;
        pos[lane] += 4 * usize::from(null);
    }
    found
}

/// Reads `true` or `false` in these lanes; returns those that are true.
#[inline(always)]
pub fn bools(input: Input<'_>, pos: &mut Positions, lanes: u8) -> Option<u8> {
    let (mut trues, mut falses) = (0, 0);
    let mut next = *pos;
    for lane in 0..LANES {
        let word = input.word(pos[lane]);
        let yes = word & 0xFFFF_FFFF == u64::from(u32::from_le_bytes(*b"true"));
        let no = word & 0xFF_FFFF_FFFF == u64::from_le_bytes(*b"false\0\0\0");
        trues |= u8::from(yes) << lane;
        falses |= u8::from(no) << lane;
        let len = 4 + usize::from(no);
        next[lane] += if has(lanes, lane) { len } else { 0 };
    }
    if (trues | falses) & lanes != lanes {
        return None;
    }
    *pos = next;
    Some(trues & lanes)
}

/// See [`Isa::int_lanes`].
#[inline(always)]
pub(crate) fn ints(
    input: Input<'_>,
    pos: &mut Positions,
    lanes: u8,
    signed: bool,
) -> Option<[u64; LANES]> {
    let mut values = [0; LANES];
    let mut next = *pos;
    for lane in 0..LANES {
        if has(lanes, lane) {
            let text = input.from(pos[lane]);
            let len;
            if signed {
                let (value, read) = parse_i64(text).ok()?;
                (values[lane], len) = (value.cast_unsigned(), read);
            } else {
                (values[lane], len) = parse_u64(text).ok()?;
            }
            next[lane] += len;
        }
    }
    *pos = next;
    Some(values)
}

/// The byte at the position of each lane, if it is the same in all.
#[inline(always)]
pub fn same_byte(input: Input<'_>, pos: &Positions) -> Option<u8> {
    let byte = input.at(pos[0]);
    let mut same = true;
    for lane in pos {
        same &= input.at(*lane) == byte;
    }
    same.then_some(byte)
}

/// See [`Isa::float_lanes`].
#[inline(always)]
pub(crate) fn floats(input: Input<'_>, pos: &mut Positions, lanes: u8) -> Option<[u64; LANES]> {
    let mut values = [0; LANES];
    let mut next = *pos;
    for lane in 0..LANES {
        if has(lanes, lane) {
            let (value, len) = parse_f64(input.from(pos[lane])).ok()?;
            values[lane] = value.to_bits();
            next[lane] += len;
        }
    }
    *pos = next;
    Some(values)
}

/// See [`Isa::date_lanes`].
#[inline(always)]
pub(crate) fn dates(input: Input<'_>, pos: &mut Positions, lanes: u8) -> Option<[u32; LANES]> {
    let mut values = [0; LANES];
    let mut next = *pos;
    for lane in 0..LANES {
        if has(lanes, lane) {
            let text = input.window(pos[lane]);
            if text[0] != b'"' || text[11] != b'"' {
                return None;
            }
            values[lane] = parse_date32(&text[1..11]).ok()?.cast_unsigned();
            next[lane] += 12;
        }
    }
    *pos = next;
    Some(values)
}

/// See [`Isa::index_lanes`].
#[inline(always)]
pub(crate) fn indices(out: &mut Buf<u32>, first: u32, lanes: u8) {
    for lane in 0..8 {
        if lanes >> lane & 1 != 0 {
            out.push(first + lane);
        }
    }
}

/// The positions of the next eight line feeds from `pos` on; `None` if the text has fewer.
#[inline(always)]
pub fn line_feeds<I: Isa>(isa: I, input: Input<'_>, mut pos: usize) -> Option<Positions> {
    let mut found = [0; LANES];
    let mut count = 0;
    while pos < input.end() {
        // The next group is about this far away, and may be on a page that is not prefetched yet.
        prefetch(input.text(), pos + PREFETCH_BYTES, 1);
        let mut bits = isa.equal_to(input.window(pos), b'\n');
        while bits != 0 {
            found[count] = pos + bits.trailing_zeros() as usize;
            count += 1;
            if count == LANES {
                return (found[LANES - 1] < input.end()).then_some(found);
            }
            bits &= bits - 1;
        }
        pos += 64;
    }
    None
}

/// The starts of the next elements of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elements {
    /// The brackets of `count` elements; the lanes after them repeat the first.
    pub starts: Positions,
    /// From 1 to [`LANES`].
    pub count: usize,
    /// Start of the element after them; `None` if the list seems to end with them.
    pub next: Option<usize>,
}

/// How far ahead elements are searched for, in bytes.
const ELEMENTS_BYTES_MAX: usize = 4096;

/// Predicts the starts of a list's elements that are objects (`{`) or lists (`[`), the first of
/// them at `pos`: after each `},{` or `}, {` up to the first `}]`, and correspondingly for lists.
/// `None` if neither the end nor eight elements are within 4 KiB. Strings that contain such text
/// make the prediction wrong; the caller checks where each element really ends.
#[inline(always)]
pub fn elements<I: Isa>(
    isa: I,
    input: Input<'_>,
    pos: usize,
    [open, close]: [u8; 2],
) -> Option<Elements> {
    let mut found = Elements { starts: [pos; LANES], count: 1, next: None };
    let mut from = pos;
    let limit = input.end().min(pos + ELEMENTS_BYTES_MAX);
    while from < limit {
        let window = input.window(from);
        let close = isa.equal_to(window, close) << 1;
        let comma = (isa.equal_to(window, b',') & close) << 1;
        let space = (isa.equal_to(window, b' ') & comma) << 1;
        // Ignores the first three bytes, which the previous window contained too.
        let mut opens = isa.equal_to(window, open) & (comma | space) & !7;
        let ends = isa.equal_to(window, b']') & close;
        // Keeps only starts before the end of the list.
        opens &= (ends & ends.wrapping_neg()).wrapping_sub(1);
        while opens != 0 {
            let at = from + opens.trailing_zeros() as usize;
            if found.count == LANES {
                found.next = Some(at);
                return Some(found);
            }
            found.starts[found.count] = at;
            found.count += 1;
            opens &= opens - 1;
        }
        if ends != 0 {
            return Some(found);
        }
        from += 61;
    }
    None
}
