// SPDX-License-Identifier: Apache-2.0
//! Minimum and maximum of pages and column chunks, by the rules of the Parquet specification.
//!
//! NaN is not a minimum or maximum, a minimum of zero is written as -0.0 and a maximum as +0.0.
//! Long texts are truncated: the minimum to a prefix, the maximum to a prefix that is made larger.

use std::cmp::Ordering;

use crate::dense::Dense;
use crate::number::byte;
use crate::schema::{Leaf, Order};

/// A minimum and a maximum, encoded as PLAIN without lengths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) min: Vec<u8>,
    pub(crate) max: Vec<u8>,
}

impl Bounds {
    /// The bounds of a page's values; `None` if there are none, by their order or because all are
    /// NaN.
    pub(crate) fn of(leaf: &Leaf, values: &Dense) -> Option<Self> {
        if values.count == 0 {
            return None;
        }
        match (leaf.order, leaf.width) {
            (Order::None, _) => None,
            (_, 1) if !values.bools.is_empty() => {
                let extremes = extremes(&values.bools, |v| v, u8::MAX, 0)?;
                Some(Self { min: vec![extremes.0], max: vec![extremes.1] })
            }
            (Order::Signed, 4) => {
                let found = extremes(&values.words, u32::cast_signed, i32::MAX, i32::MIN)?;
                Some(Self::from_bytes(found.0.to_le_bytes(), found.1.to_le_bytes()))
            }
            (Order::Signed, 8) => {
                let found = extremes(&values.longs, u64::cast_signed, i64::MAX, i64::MIN)?;
                Some(Self::from_bytes(found.0.to_le_bytes(), found.1.to_le_bytes()))
            }
            (Order::Unsigned, 4) => {
                let found = extremes(&values.words, |v| v, u32::MAX, 0)?;
                Some(Self::from_bytes(found.0.to_le_bytes(), found.1.to_le_bytes()))
            }
            (Order::Unsigned, 8) => {
                let found = extremes(&values.longs, |v| v, u64::MAX, 0)?;
                Some(Self::from_bytes(found.0.to_le_bytes(), found.1.to_le_bytes()))
            }
            (Order::Float, 4) => {
                let (inf, none) = (f32::INFINITY, f32::NEG_INFINITY);
                let (min, max) = extremes(&values.words, f32::from_bits, inf, none)?;
                let min = if min == 0.0 { -0.0 } else { min };
                let max = if max == 0.0 { 0.0 } else { max };
                Some(Self::from_bytes(min.to_le_bytes(), max.to_le_bytes()))
            }
            (Order::Float, 8) => {
                let (inf, none) = (f64::INFINITY, f64::NEG_INFINITY);
                let (min, max) = extremes(&values.longs, f64::from_bits, inf, none)?;
                let min = if min == 0.0 { -0.0 } else { min };
                let max = if max == 0.0 { 0.0 } else { max };
                Some(Self::from_bytes(min.to_le_bytes(), max.to_le_bytes()))
            }
            (Order::Float, 2) => halves(&values.bytes),
            (order, 0) => Self::of_strings(order, values.strings().iter()),
            (order, width) => Self::of_strings(order, values.bytes.chunks_exact(width)),
        }
    }

    /// The bounds of values as bytes.
    pub(crate) fn of_strings<'a>(
        order: Order,
        mut values: impl Iterator<Item = &'a [u8]>,
    ) -> Option<Self> {
        if order == Order::None {
            return None;
        }
        let first = values.next()?;
        let (mut min, mut max) = (first, first);
        let (mut min_head, mut max_head) = (head(order, min), head(order, max));
        for value in values {
            let head = head(order, value);
            if head < min_head
                || (head == min_head && compare(order, 0, value, min) == Ordering::Less)
            {
                (min, min_head) = (value, head);
            }
            if head > max_head
                || (head == max_head && compare(order, 0, value, max) == Ordering::Greater)
            {
                (max, max_head) = (value, head);
            }
        }
        Some(Self { min: min.to_vec(), max: max.to_vec() })
    }

    fn from_bytes<const N: usize>(min: [u8; N], max: [u8; N]) -> Self {
        Self { min: min.to_vec(), max: max.to_vec() }
    }

    /// The bounds of both.
    pub(crate) fn merge(&mut self, leaf: &Leaf, other: &Self) {
        if compare(leaf.order, leaf.width, &other.min, &self.min) == Ordering::Less {
            self.min.clone_from(&other.min);
        }
        if compare(leaf.order, leaf.width, &other.max, &self.max) == Ordering::Greater {
            self.max.clone_from(&other.max);
        }
    }
}

/// The first bytes of a value as a number of the same order.
#[inline]
fn head(order: Order, value: &[u8]) -> u64 {
    let head = match value.first_chunk::<8>() {
        Some(head) => u64::from_be_bytes(*head),
        None => {
            let mut head = [0; 8];
            head[..value.len()].copy_from_slice(value);
            u64::from_be_bytes(head)
        }
    };
    if order == Order::SignedBytes { head ^ 1 << 63 } else { head }
}

/// The order of two values, encoded as PLAIN without lengths. Floats: none is NaN.
pub(crate) fn compare(order: Order, width: usize, a: &[u8], b: &[u8]) -> Ordering {
    match (order, width) {
        (Order::SignedBytes, _) => {
            let flip = |value: &[u8]| value.first().map(|first| first ^ 0x80);
            flip(a).cmp(&flip(b)).then_with(|| a.cmp(b))
        }
        (Order::Bytes | Order::Text | Order::None, _) | (_, 0 | 1) => a.cmp(b),
        (Order::Signed, 4) => i32::from_le_bytes(chunk(a)).cmp(&i32::from_le_bytes(chunk(b))),
        (Order::Signed, _) => i64::from_le_bytes(chunk(a)).cmp(&i64::from_le_bytes(chunk(b))),
        (Order::Unsigned, 4) => u32::from_le_bytes(chunk(a)).cmp(&u32::from_le_bytes(chunk(b))),
        (Order::Unsigned, _) => u64::from_le_bytes(chunk(a)).cmp(&u64::from_le_bytes(chunk(b))),
        (Order::Float, 2) => {
            half_order(u16::from_le_bytes(chunk(a))).cmp(&half_order(u16::from_le_bytes(chunk(b))))
        }
        (Order::Float, 4) => f32::from_le_bytes(chunk(a)).total_cmp(&f32::from_le_bytes(chunk(b))),
        (Order::Float, _) => f64::from_le_bytes(chunk(a)).total_cmp(&f64::from_le_bytes(chunk(b))),
    }
}

fn chunk<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}

/// Values compared at once.
const LANES: usize = 8;

/// The smallest and the largest value; `None` if no value is ordered (NaN).
fn extremes<R: Copy, T: Copy + PartialOrd>(
    values: &[R],
    convert: impl Fn(R) -> T,
    largest: T,
    smallest: T,
) -> Option<(T, T)> {
    let (mut min, mut max) = ([largest; LANES], [smallest; LANES]);
    let mut some = false;
    let mut chunks = values.chunks_exact(LANES);
    let mut put = |lane: usize, value: T| {
        min[lane] = if value < min[lane] { value } else { min[lane] };
        max[lane] = if value > max[lane] { value } else { max[lane] };
    };
    for chunk in &mut chunks {
        for (lane, value) in chunk.iter().enumerate() {
            put(lane, convert(*value));
        }
    }
    for value in chunks.remainder() {
        put(0, convert(*value));
    }
    let (mut low, mut high) = (largest, smallest);
    for (min, max) in min.into_iter().zip(max) {
        some |= min <= max;
        low = if min < low { min } else { low };
        high = if max > high { max } else { high };
    }
    some.then_some((low, high))
}

/// A half-precision number as an integer of the same order.
fn half_order(bits: u16) -> i16 {
    let bits = bits.cast_signed();
    bits ^ ((bits >> 15).cast_unsigned() >> 1).cast_signed()
}

fn halves(bytes: &[u8]) -> Option<Bounds> {
    let values = bytes.chunks_exact(2).map(|half| u16::from_le_bytes(chunk(half)));
    let ordered = values.filter(|bits| bits & 0x7fff <= 0x7c00);
    let (mut min, mut max) = (None, None);
    for bits in ordered {
        let value = (half_order(bits), bits);
        min = Some(min.map_or(value, |min| value.min(min)));
        max = Some(max.map_or(value, |max| value.max(max)));
    }
    let min = if min?.1 & 0x7fff == 0 { 0x8000 } else { min?.1 };
    let max = if max?.1 & 0x7fff == 0 { 0 } else { max?.1 };
    Some(Bounds::from_bytes(min.to_le_bytes(), max.to_le_bytes()))
}

/// A minimum of at most `most` bytes, and whether it is the value itself.
pub(crate) fn truncated_min(order: Order, value: &[u8], most: usize) -> (&[u8], bool) {
    match prefix(order, value, most) {
        Some(prefix) => (prefix, false),
        None => (value, true),
    }
}

/// A maximum of at most `most` bytes, where there is one, and whether it is the value itself.
pub(crate) fn truncated_max(order: Order, value: &[u8], most: usize) -> (Vec<u8>, bool) {
    let larger = prefix(order, value, most).and_then(|prefix| match std::str::from_utf8(prefix) {
        Ok(text) if order == Order::Text => larger_text(text),
        _ => larger_bytes(prefix),
    });
    match larger {
        Some(larger) => (larger, false),
        None => (value.to_vec(), true),
    }
}

/// A shorter prefix, if the value is too long and of a kind that can be truncated.
fn prefix(order: Order, value: &[u8], most: usize) -> Option<&[u8]> {
    if value.len() <= most || !matches!(order, Order::Bytes | Order::Text) {
        return None;
    }
    let mut end = most;
    if order == Order::Text {
        // A byte of the form 10xxxxxx is inside a character.
        while end > 0 && value[end] & 0xc0 == 0x80 {
            end -= 1;
        }
        if end == 0 {
            return None;
        }
    }
    Some(&value[..end])
}

/// The smallest bytes of at most this length that are larger than all that start with these.
fn larger_bytes(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut larger = prefix[..=last].to_vec();
    larger[last] += 1;
    Some(larger)
}

/// As [`larger_bytes`], of whole characters.
fn larger_text(prefix: &str) -> Option<Vec<u8>> {
    for (start, last) in prefix.char_indices().rev() {
        let next = u32::from(last) + 1;
        // Surrogates are not characters.
        let next = if next == 0xd800 { 0xe000 } else { next };
        let Some(next) = char::from_u32(next) else { continue };
        if next.len_utf8() == last.len_utf8() {
            let mut larger = prefix[..start].to_owned();
            larger.push(next);
            return Some(larger.into_bytes());
        }
    }
    None
}

/// The order of pages by their bounds, for the page index: 0 unordered, 1 ascending, 2 descending.
pub(crate) fn boundary_order<'a>(
    leaf: &Leaf,
    pages: impl Iterator<Item = (&'a [u8], &'a [u8])>,
) -> u8 {
    let (mut ascending, mut descending) = (true, true);
    let mut last: Option<(&[u8], &[u8])> = None;
    for (min, max) in pages {
        if let Some((last_min, last_max)) = last {
            let mins = compare(leaf.order, leaf.width, last_min, min);
            let maxs = compare(leaf.order, leaf.width, last_max, max);
            ascending &= mins != Ordering::Greater && maxs != Ordering::Greater;
            descending &= mins != Ordering::Less && maxs != Ordering::Less;
        }
        last = Some((min, max));
    }
    if ascending { 1 } else { byte(u64::from(descending)) * 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_bounds_enclose_the_value() {
        assert_eq!(truncated_min(Order::Bytes, b"klmnop", 3), (&b"klm"[..], false));
        assert_eq!(truncated_max(Order::Bytes, b"klmnop", 3), (b"kln".to_vec(), false));
        assert_eq!(truncated_max(Order::Bytes, b"a\xff\xffd", 3), (b"b".to_vec(), false));
        assert_eq!(
            truncated_max(Order::Bytes, b"\xff\xff\xffd", 3),
            (b"\xff\xff\xffd".to_vec(), true)
        );
        assert_eq!(truncated_min(Order::Bytes, b"abc", 3), (&b"abc"[..], true));
        // Not inside a character, and the next one is not a surrogate.
        assert_eq!(truncated_min(Order::Text, "aéé".as_bytes(), 4), ("aé".as_bytes(), false));
        let larger = |text: &str, most| truncated_max(Order::Text, text.as_bytes(), most).0;
        assert_eq!(larger("aéé", 4), "aê".as_bytes());
        assert_eq!(larger("a\u{7f}bb", 2), "b".as_bytes());
        assert_eq!(larger("\u{d7ff}bb", 3), "\u{e000}".as_bytes());
        assert_eq!(larger("\u{10ffff}b", 4), "\u{10ffff}b".as_bytes());
        assert_eq!(larger("éé", 1), "éé".as_bytes());
    }

    #[test]
    fn numbers_are_compared_as_what_they_are() {
        let signed = [1_u32, u32::MAX, 7];
        assert_eq!(extremes(&signed, u32::cast_signed, i32::MAX, i32::MIN), Some((-1, 7)));
        let nan = [f64::NAN, 1.0, -2.0, f64::NAN].map(f64::to_bits);
        let both = |bits: &[u64]| extremes(bits, f64::from_bits, f64::INFINITY, f64::NEG_INFINITY);
        assert_eq!(both(&nan), Some((-2.0, 1.0)));
        assert_eq!(both(&nan[..1]), None);
        assert_eq!(both(&[f64::INFINITY.to_bits()]), Some((f64::INFINITY, f64::INFINITY)));
        let ten = [1.0_f64; 10].map(f64::to_bits);
        assert_eq!(both(&ten), Some((1.0, 1.0)));
        assert_eq!(halves(&[0, 0, 0, 0xc0, 0xff, 0x7f]).unwrap().max, [0, 0]);
        assert_eq!(halves(&[0, 0, 0, 0xc0, 0xff, 0x7f]).unwrap().min, [0, 0xc0]);
        assert_eq!(halves(&[0xff, 0x7f]), None);
        assert_eq!(compare(Order::SignedBytes, 2, &[0xff, 0xff], &[0, 0]), Ordering::Less);
    }
}
