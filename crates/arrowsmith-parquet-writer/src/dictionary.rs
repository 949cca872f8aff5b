// SPDX-License-Identifier: Apache-2.0
//! [`Dictionary`]: the distinct values of a column chunk, and the index of each.
//!
//! Integers of a small range are looked up in a table of all of that range; other values in a hash
//! table with open addressing.

use parquet::basic::Type as Physical;

use crate::dense::Dense;
use crate::encoding::{Strings, plain_strings, plain32, plain64};
use crate::number::{in_page, index, low32, low64};
use crate::schema::{Leaf, Order};
use crate::statistics::Bounds;

/// Largest range of integers that is looked up in a table of it: 256 KiB.
const RANGE_MAX: u64 = 1 << 16;
/// Slots of a new hash table.
const SLOTS_MIN: usize = 1 << 10;
/// No index.
const NONE: u32 = u32::MAX;

/// The distinct values of a column chunk.
#[derive(Debug)]
pub(crate) enum Dictionary {
    Words(Numbers<u32>),
    Longs(Numbers<u64>),
    Bytes(Texts),
}

impl Dictionary {
    pub(crate) fn new(leaf: &Leaf) -> Self {
        match leaf.physical {
            Physical::INT32 => Self::Words(Numbers::new(true)),
            Physical::FLOAT => Self::Words(Numbers::new(false)),
            Physical::INT64 => Self::Longs(Numbers::new(true)),
            Physical::DOUBLE => Self::Longs(Numbers::new(false)),
            _ => Self::Bytes(Texts::new(leaf.width)),
        }
    }

    /// Number of distinct values.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Words(words) => words.values.len(),
            Self::Longs(longs) => longs.values.len(),
            Self::Bytes(texts) => texts.entries.len(),
        }
    }

    /// Bytes of the dictionary page before compression.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Words(words) => words.values.len() * 4,
            Self::Longs(longs) => longs.values.len() * 8,
            Self::Bytes(texts) if texts.width > 0 => texts.bytes.len(),
            Self::Bytes(texts) => texts.bytes.len() + 4 * texts.entries.len(),
        }
    }

    /// Appends the index of each value; new values get the next ones.
    pub(crate) fn encode(&mut self, values: &Dense, out: &mut Vec<u32>) {
        // Bounded: by what is in memory already.
        out.reserve(values.count);
        match self {
            Self::Words(words) => words.encode(&values.words, out),
            Self::Longs(longs) => longs.encode(&values.longs, out),
            Self::Bytes(texts) if texts.width > 0 => {
                texts.encode(values.bytes.chunks_exact(texts.width), out);
            }
            Self::Bytes(texts) => texts.encode(values.strings().iter(), out),
        }
    }

    /// The values in PLAIN encoding.
    pub(crate) fn page(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Words(words) => plain32(&words.values, &mut out),
            Self::Longs(longs) => plain64(&longs.values, &mut out),
            Self::Bytes(texts) if texts.width > 0 => out.extend_from_slice(&texts.bytes),
            Self::Bytes(texts) => plain_strings(texts.strings(), &mut out),
        }
        out
    }

    /// The bounds of a page that has these indices; `page` is another number for each page.
    pub(crate) fn bounds(&mut self, leaf: &Leaf, indices: &[u32], page: u32) -> Option<Bounds> {
        let mut values = Dense::default();
        values.clear();
        values.count = indices.len();
        match self {
            Self::Words(words) => {
                values.words.extend(indices.iter().map(|at| words.values[index(*at)]));
            }
            Self::Longs(longs) => {
                values.longs.extend(indices.iter().map(|at| longs.values[index(*at)]));
            }
            Self::Bytes(texts) => {
                let used = texts.used(indices, page);
                let used = used.iter().map(|at| texts.get(*at));
                if leaf.order != Order::Float {
                    return Bounds::of_strings(leaf.order, used);
                }
                used.for_each(|value| values.bytes.extend_from_slice(value));
            }
        }
        Bounds::of(leaf, &values)
    }

    /// Bytes of the values with these indices, without lengths; only for bytes.
    pub(crate) fn value_bytes(&self, indices: &[u32]) -> usize {
        let Self::Bytes(texts) = self else { return 0 };
        indices.iter().map(|at| texts.get(*at).len()).sum()
    }
}

/// Bits of a number.
pub(crate) trait Bits: Copy + Eq {
    fn wide(self) -> u64;
    /// As an integer with a sign that orders numbers.
    fn signed(self) -> i64;
}

impl Bits for u32 {
    fn wide(self) -> u64 {
        u64::from(self)
    }

    fn signed(self) -> i64 {
        i64::from(self.cast_signed())
    }
}

impl Bits for u64 {
    fn wide(self) -> u64 {
        self
    }

    fn signed(self) -> i64 {
        self.cast_signed()
    }
}

/// How the index of a number is found.
#[derive(Debug)]
enum Lookup {
    /// Indices of all numbers from `base` up; [`NONE`] for those that have not been seen.
    Range { base: i64, indices: Vec<u32> },
    /// A hash table of indices, [`NONE`] for an empty slot. Its length is a power of two.
    Hash(Vec<u32>),
}

/// Distinct numbers.
#[derive(Debug)]
pub(crate) struct Numbers<T> {
    values: Vec<T>,
    lookup: Lookup,
}

impl<T: Bits> Numbers<T> {
    fn new(integers: bool) -> Self {
        let lookup = if integers {
            Lookup::Range { base: 0, indices: Vec::new() }
        } else {
            Lookup::Hash(vec![NONE; SLOTS_MIN])
        };
        Self { values: Vec::new(), lookup }
    }

    fn encode(&mut self, values: &[T], out: &mut Vec<u32>) {
        let mut done = 0;
        while let Lookup::Range { base, indices } = &mut self.lookup {
            let known = &mut self.values;
            let base = *base;
            let start = out.len();
            // Bounded: by the values, which are in memory.
            out.resize(start + values.len() - done, 0);
            let mut found = 0;
            for (to, value) in out[start..].iter_mut().zip(&values[done..]) {
                let at = value.signed().wrapping_sub(base).cast_unsigned();
                let Some(slot) = usize::try_from(at).ok().and_then(|at| indices.get_mut(at)) else {
                    break;
                };
                if *slot == NONE {
                    *slot = in_page(known.len());
                    known.push(*value);
                }
                *to = *slot;
                found += 1;
            }
            out.truncate(start + found);
            done += found;
            match values.get(done) {
                Some(outside) => self.include(outside.signed()),
                None => return,
            }
        }
        self.encode_hashed(&values[done..], out);
    }

    /// Makes the table's range that of a number, too, or uses a hash table instead.
    fn include(&mut self, value: i64) {
        let Lookup::Range { base, indices } = &mut self.lookup else { return };
        let len = indices.len() as u64;
        let (mut first, mut last) = (value, value);
        if len > 0 {
            first = value.min(*base);
            last = value.max(base.saturating_add((len - 1).cast_signed()));
        }
        let range = last.wrapping_sub(first).cast_unsigned();
        if range >= RANGE_MAX {
            self.lookup = Lookup::Hash(table(&self.values));
            return;
        }
        // Up to twice as long as before, so that it does not grow often.
        let more = len.min(RANGE_MAX - 1 - range).cast_signed();
        if value < *base {
            first = first.saturating_sub(more);
        } else {
            last = last.saturating_add(more);
        }
        let range = last.wrapping_sub(first).cast_unsigned();
        // Bounded: by RANGE_MAX.
        *indices = vec![NONE; index(low32(range)) + 1];
        *base = first;
        for (i, value) in self.values.iter().enumerate() {
            let at = value.signed().wrapping_sub(first).cast_unsigned();
            if let Some(slot) = indices.get_mut(index(low32(at))) {
                *slot = in_page(i);
            }
        }
    }

    fn encode_hashed(&mut self, values: &[T], out: &mut Vec<u32>) {
        let Lookup::Hash(slots) = &mut self.lookup else { return };
        let mut slots = std::mem::take(slots);
        let known = &mut self.values;
        out.extend(values.iter().map(|value| {
            let mask = slots.len() - 1;
            let mut at = hash(value.wide()) & mask;
            loop {
                let found = slots[at];
                match known.get(index(found)) {
                    Some(key) if key == value => return found,
                    Some(_) => at = (at + 1) & mask,
                    None => break,
                }
            }
            let new = in_page(known.len());
            slots[at] = new;
            known.push(*value);
            if known.len() * 3 > mask {
                slots = table(known);
            }
            new
        }));
        self.lookup = Lookup::Hash(slots);
    }
}

/// A hash table of the indices of values, at most a quarter full.
fn table<T: Bits>(values: &[T]) -> Vec<u32> {
    // Bounded: eight times the values, which are in memory.
    let len = (values.len() * 4).next_power_of_two().max(SLOTS_MIN);
    let mut slots = vec![NONE; len];
    for (i, value) in values.iter().enumerate() {
        let mut at = hash(value.wide()) & (len - 1);
        while slots[at] != NONE {
            at = (at + 1) & (len - 1);
        }
        slots[at] = in_page(i);
    }
    slots
}

/// Mixes two words: the halves of their product.
#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    low64(product) ^ low64(product >> 64)
}

/// Odd constants with about as many ones as zeros.
const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0xc2b2_ae3d_27d4_eb4f;

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "any bits of a hash do")]
fn hash(value: u64) -> usize {
    mix(value ^ SECOND, FIRST) as usize
}

/// A text of the dictionary: its first and last bytes, from which all of a short one is known.
#[derive(Debug, Clone, Copy)]
struct Entry {
    first: u64,
    last: u64,
    /// Of all of it.
    hash: u64,
    start: u32,
    len: u32,
}

/// Distinct texts.
#[derive(Debug)]
pub(crate) struct Texts {
    /// Bytes of a value; 0 if they differ.
    width: usize,
    bytes: Vec<u8>,
    /// Ends of the values after a leading 0.
    offsets: Vec<u32>,
    entries: Vec<Entry>,
    /// The page that has used a value last.
    stamps: Vec<u32>,
    /// High half of the hash and index, [`NONE`] for an empty slot. A power of two of them.
    slots: Vec<(u32, u32)>,
}

/// The first and the last bytes of a text; of one shorter than 16 bytes they and the length are all
/// of it.
#[inline]
fn ends(text: &[u8]) -> (u64, u64) {
    if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        return (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
    }
    if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        return (u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last)));
    }
    match *text {
        [] => (0, 0),
        [a] => (u64::from(a), 0),
        [a, b] => (u64::from(a) | u64::from(b) << 8, 0),
        [a, b, c, ..] => (u64::from(a) | u64::from(b) << 8 | u64::from(c) << 16, 0),
    }
}

/// The eight bytes at a place of a text that has them.
#[inline]
fn word(text: &[u8], at: usize) -> u64 {
    text.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_le_bytes(*word))
}

/// Whether texts of one length, longer than 16 bytes, are equal.
#[inline]
fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() <= 32 {
        // Two halves that overlap: no call for what is short.
        return a.first_chunk::<16>() == b.first_chunk() && a.last_chunk::<16>() == b.last_chunk();
    }
    a == b
}

impl Texts {
    fn new(width: usize) -> Self {
        Self {
            width,
            bytes: Vec::new(),
            offsets: vec![0],
            entries: Vec::new(),
            stamps: Vec::new(),
            slots: vec![(0, NONE); SLOTS_MIN],
        }
    }

    fn strings(&self) -> Strings<'_> {
        Strings { bytes: &self.bytes, offsets: &self.offsets }
    }

    fn get(&self, at: u32) -> &[u8] {
        let entry = &self.entries[index(at)];
        &self.bytes[index(entry.start)..index(entry.start) + index(entry.len)]
    }

    fn encode<'a>(&mut self, texts: impl Iterator<Item = &'a [u8]>, out: &mut Vec<u32>) {
        for text in texts {
            let (first, last) = ends(text);
            let mut mixed = mix(first ^ SECOND, last ^ FIRST ^ text.len() as u64);
            if text.len() > 16 {
                mixed = mix(mixed ^ word(text, 8), word(text, text.len() - 16) ^ FIRST);
                for at in (16..text.len().saturating_sub(16)).step_by(8) {
                    mixed = mix(mixed ^ word(text, at), FIRST);
                }
            }
            let tag = low32(mixed >> 32);
            let mask = self.slots.len() - 1;
            let mut at = index(low32(mixed)) & mask;
            let found = loop {
                let (other, found) = self.slots[at];
                if found == NONE {
                    break None;
                }
                if other == tag && self.equal(found, text, first, last) {
                    break Some(found);
                }
                at = (at + 1) & mask;
            };
            out.push(found.unwrap_or_else(|| {
                let new = in_page(self.entries.len());
                self.slots[at] = (tag, new);
                self.push(text, first, last, mixed);
                new
            }));
        }
    }

    #[inline]
    fn equal(&self, at: u32, text: &[u8], first: u64, last: u64) -> bool {
        let entry = &self.entries[index(at)];
        index(entry.len) == text.len()
            && entry.first == first
            && entry.last == last
            && (text.len() <= 16 || same(self.get(at), text))
    }

    fn push(&mut self, text: &[u8], first: u64, last: u64, hash: u64) {
        let (start, len) = (in_page(self.bytes.len()), in_page(text.len()));
        self.bytes.extend_from_slice(text);
        self.offsets.push(start + len);
        self.entries.push(Entry { first, last, hash, start, len });
        self.stamps.push(NONE);
        if self.entries.len() * 3 > self.slots.len() {
            self.grow();
        }
    }
    /// The indices of a page, each once.
    fn used(&mut self, indices: &[u32], page: u32) -> Vec<u32> {
        let mut used = Vec::new();
        for at in indices {
            let stamp = &mut self.stamps[index(*at)];
            if *stamp != page {
                *stamp = page;
                used.push(*at);
            }
        }
        used
    }

    /// Makes the hash table larger.
    fn grow(&mut self) {
        // Bounded: four times the values, which are in memory.
        let len = (self.entries.len() * 4).next_power_of_two().max(SLOTS_MIN);
        self.slots = vec![(0, NONE); len];
        for (i, entry) in self.entries.iter().enumerate() {
            let mut at = index(low32(entry.hash)) & (len - 1);
            while self.slots[at].1 != NONE {
                at = (at + 1) & (len - 1);
            }
            self.slots[at] = (low32(entry.hash >> 32), in_page(i));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::hash::Hash;

    use arrowsmith_workload::SplitMix64;

    use super::*;

    /// The indices by a map of the standard library.
    fn naive<T: Hash + Eq>(values: impl Iterator<Item = T>) -> (Vec<u32>, usize) {
        let mut seen = HashMap::new();
        let indices = values
            .map(|value| {
                let new = in_page(seen.len());
                *seen.entry(value).or_insert(new)
            })
            .collect();
        (indices, seen.len())
    }

    #[test]
    fn numbers_get_the_index_of_their_first() {
        let mut random = SplitMix64::new(3);
        for round in 0..300 {
            let mut numbers = Numbers::<u64>::new(round % 3 != 0);
            let (mut all, mut found) = (Vec::new(), Vec::new());
            for _ in 0..4 {
                let bits = random.below(63);
                let base = [0, u64::MAX - 30, 1 << 63, i64::MAX as u64 - 40][round % 4];
                let page: Vec<u64> = (0..random.below(3_000))
                    .map(|_| base.wrapping_add(random.next_u64() & ((1 << bits) - 1)))
                    .collect();
                numbers.encode(&page, &mut found);
                all.extend(page);
            }
            let (expected, distinct) = naive(all.iter());
            assert_eq!((found, numbers.values.len()), (expected, distinct), "{round}");
        }
    }

    #[test]
    fn texts_get_the_index_of_their_first() {
        let mut random = SplitMix64::new(4);
        for round in 0..200 {
            let mut texts = Texts::new(0);
            let all: Vec<Vec<u8>> = (0..random.below(5_000))
                .map(|_| {
                    let len = random.below([3, 9, 18, 60][round % 4]);
                    (0..len).map(|_| [0, 1, 2][random.index(3)]).collect()
                })
                .collect();
            let mut found = Vec::new();
            texts.encode(all.iter().map(Vec::as_slice), &mut found);
            let (expected, distinct) = naive(all.iter());
            assert_eq!((&found, texts.entries.len()), (&expected, distinct), "{round}");
            for (text, at) in all.iter().zip(found) {
                assert_eq!(texts.get(at), text);
            }
        }
    }
}
