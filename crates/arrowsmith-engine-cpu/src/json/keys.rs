// SPDX-License-Identifier: Apache-2.0
//! Keys: the fields of an object, found by a perfect hash of their text.
//!
//! The hash covers the length and two words of eight bytes, one of them the last. Its low bits
//! choose a bucket; the bucket's displacement, found when the plan is compiled, moves the high bits
//! to an entry that no other key has. So a key costs two small loads and one comparison with the
//! only field that it can be, whatever the number of fields.
//!
//! Keys longer than a window, keys that only an escape can write, and keys without an entry of
//! their own are not in the table; [`Found::Unsure`] says that the caller has to look further.

use arrowsmith_core::PADDING_BYTES;
use arrowsmith_simd::Input;
use arrowsmith_simd::isa::Isa;
use arrowsmith_simd::lanes::Literal;

use super::program::Fast;

/// Maximum length of a key of the table: with its quote, it fits into a window.
pub(crate) const KEY_BYTES_MAX: usize = 63;

/// Number of hash functions that are tried.
const SEEDS: u64 = 17;

const SEED: u64 = 0xD1B5_4A32_D192_ED03;

/// Maximum number of displacements that are tried for a bucket.
const DISPLACEMENTS_MAX: u16 = 4096;

/// Maximum number of keys in a bucket: more have almost certainly the same hash.
const BUCKET_MAX: usize = 16;

/// The positions of the first word that are tried.
const STARTS: [usize; 8] = [0, 8, 4, 16, 24, 32, 40, 48];

/// The result of looking up a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Field(usize, Fast),
    /// No field has this key.
    Unknown,
    /// The table does not have every key.
    Unsure,
}

/// A field that a key can be.
#[derive(Debug, Clone, Copy)]
struct Entry {
    field: u32,
    fast: Fast,
}

impl Entry {
    const NONE: Self = Self { field: 0, fast: Fast::Other };
}

/// The only field that a key can be, and whether it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probe {
    pub known: bool,
    pub field: u32,
    fast: Fast,
}

/// The table of one object.
#[derive(Debug, Default)]
pub(crate) struct KeyTable {
    hash: Hash,
    /// One per bucket; the length is a power of two.
    displacements: Vec<u16>,
    /// The length is a power of two. An entry without a key has any field.
    entries: Vec<Entry>,
    /// Each key with its closing quote, by field; empty if the key is not in the table.
    keys: Vec<Literal>,
    /// Whether a key that is not in the table is not a field.
    complete: bool,
}

/// A hash function.
#[derive(Debug, Default, Clone, Copy)]
struct Hash {
    /// Position of the first word, if the key is as long.
    start: usize,
    seed: u64,
}

impl Hash {
    /// The hash of the key of `len` bytes at `pos`, which a quote follows.
    #[inline(always)]
    fn of(self, input: Input<'_>, pos: usize, len: usize) -> u64 {
        // A short key is read with the bytes after it, which are masked out.
        let mask = u64::MAX >> (64 - 8 * len.clamp(1, 8));
        let end = len.max(8) - 8;
        let first = input.word(pos + self.start.min(end)) & mask;
        let last = input.word(pos + end) & mask;
        let product =
            u128::from(first ^ 0x9E37_79B9_7F4A_7C15 ^ len as u64) * u128::from(last ^ self.seed);
        #[expect(clippy::cast_possible_truncation, reason = "both halves are used")]
        let halves = (product as u64, (product >> 64) as u64);
        halves.0 ^ halves.1
    }
}

/// The bucket of a hash among `buckets`, a power of two.
#[inline(always)]
fn bucket(hash: u64, buckets: usize) -> usize {
    low(hash) & buckets.wrapping_sub(1)
}

/// The entry of a hash among `entries`, a power of two.
#[inline(always)]
fn entry(hash: u64, displacement: u16, entries: usize) -> usize {
    low(hash >> 32).wrapping_add(usize::from(displacement)) & entries.wrapping_sub(1)
}

/// The low bits of a hash.
#[inline(always)]
fn low(hash: u64) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "the low bits are meant")]
    let low = hash as u32;
    low as usize
}

impl KeyTable {
    /// The table of these keys, each with the function that reads its value.
    pub fn new<'k>(keys: impl Iterator<Item = (&'k str, Fast)>) -> Self {
        let keys: Vec<Key> = keys.map(|(text, fast)| Key::new(text, fast)).collect();
        let plain = keys.iter().filter(|key| key.is_plain()).count();
        let mut best = Self::build(&keys, plain, Hash { start: 0, seed: SEED });
        for (seed, start) in (2..=SEEDS).zip(STARTS.into_iter().cycle()) {
            if best.1 == plain {
                break;
            }
            let hash = Hash { start, seed: SEED.wrapping_mul(seed) };
            let next = Self::build(&keys, plain, hash);
            if next.1 > best.1 {
                best = next;
            }
        }
        // Where some keys hash alike whatever is tried, the others are still found fast.
        best.0
    }

    /// A table of as many keys as find an entry, and their number.
    fn build(keys: &[Key], plain: usize, hash: Hash) -> (Self, usize) {
        let buckets = plain.next_power_of_two();
        let entries = (2 * plain).next_power_of_two();
        let mut table = Self {
            hash,
            // Bounded: in proportion to the fields of the plan.
            displacements: vec![0; buckets],
            // Bounded: in proportion to the fields of the plan.
            entries: vec![Entry::NONE; entries],
            keys: vec![Literal::EMPTY; keys.len()],
            complete: false,
        };
        // Bounded: in proportion to the fields of the plan.
        let mut members: Vec<Vec<(u64, usize)>> = vec![Vec::new(); buckets];
        for (field, key) in keys.iter().enumerate().filter(|(_, key)| key.is_plain()) {
            let Some(input) = Input::new(&key.bytes, key.len + 1) else { continue };
            let hash = hash.of(input, 0, key.len);
            if let Some(members) = members.get_mut(bucket(hash, buckets)) {
                members.push((hash, field));
            }
        }
        // Large buckets first, while there is room.
        let mut order: Vec<usize> = (0..buckets).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(members[at].len()));
        // Bounded: in proportion to the fields of the plan.
        let mut taken = vec![false; entries];
        let mut placed = 0;
        for at in order {
            let Some(displacement) = free(&members[at], &taken) else { continue };
            table.displacements[at] = displacement;
            for &(hash, field) in &members[at] {
                let (Some(literal), Ok(number)) =
                    (Literal::new(keys[field].quoted()), u32::try_from(field))
                else {
                    continue;
                };
                let to = entry(hash, displacement, entries);
                taken[to] = true;
                let fast = keys[field].fast;
                table.entries[to] = Entry { field: number, fast };
                table.keys[field] = literal;
                placed += 1;
            }
        }
        table.complete = placed == plain;
        (table, placed)
    }

    /// Looks up the key of `len` bytes at `pos`, at most [`KEY_BYTES_MAX`], without escapes, which
    /// a quote follows.
    #[inline(always)]
    pub fn find<I: Isa>(&self, isa: I, input: Input<'_>, pos: usize, len: usize) -> Found {
        match self.probe(isa, input, pos, len) {
            Probe { known: true, field, fast, .. } => Found::Field(field as usize, fast),
            _ if self.complete => Found::Unknown,
            _ => Found::Unsure,
        }
    }

    /// As [`KeyTable::find`], without a branch on the key.
    #[inline(always)]
    pub fn probe<I: Isa>(&self, isa: I, input: Input<'_>, pos: usize, len: usize) -> Probe {
        let hash = self.hash.of(input, pos, len);
        let displacement = self.displacements.get(bucket(hash, self.displacements.len()));
        let at = entry(hash, displacement.copied().unwrap_or(0), self.entries.len());
        let Entry { field, fast } = *self.entries.get(at).unwrap_or(&Entry::NONE);
        let key = self.keys.get(field as usize).unwrap_or(&Literal::EMPTY);
        let same = isa.equal(input.window(pos), &key.bytes, key.mask);
        Probe { known: same & (key.len == len + 1), field, fast }
    }

    /// Whether a key that is not in the table is not a field, if it has no escapes and is not
    /// longer than [`KEY_BYTES_MAX`].
    pub fn is_complete(&self) -> bool {
        self.complete
    }
}

/// A displacement that moves all of these to free entries of their own.
fn free(members: &[(u64, usize)], taken: &[bool]) -> Option<u16> {
    let entries = taken.len();
    let differ = |displacement: u16| {
        let to = |hash: u64| entry(hash, displacement, entries);
        members.iter().enumerate().all(|(i, &(hash, _))| {
            !taken[to(hash)] && members[..i].iter().all(|&(other, _)| to(other) != to(hash))
        })
    };
    // Displacements keep distances: members that fall together once always do.
    let apart = |displacement: u16| {
        let to = |hash: u64| entry(hash, displacement, entries);
        (1..members.len())
            .all(|i| members[..i].iter().all(|&(other, _)| to(other) != to(members[i].0)))
    };
    let some = members.len() <= BUCKET_MAX && apart(0);
    some.then(|| (0..DISPLACEMENTS_MAX).find(|&displacement| differ(displacement))).flatten()
}

/// A key, as it is looked up.
struct Key {
    /// The key, a quote, and padding.
    bytes: Vec<u8>,
    len: usize,
    fast: Fast,
}

impl Key {
    fn new(text: &str, fast: Fast) -> Self {
        let len = text.len();
        let mut bytes = Vec::new();
        if len <= KEY_BYTES_MAX {
            bytes.extend_from_slice(text.as_bytes());
            bytes.push(b'"');
            // Bounded: by the length of a key of the table.
            bytes.resize(len + 1 + PADDING_BYTES, 0);
        }
        Self { bytes, len, fast }
    }

    /// Whether a text can contain it without an escape, and it is short enough.
    fn is_plain(&self) -> bool {
        let text = self.bytes.get(..self.len).unwrap_or_default();
        text.len() == self.len && text.iter().all(|b| *b >= 0x20 && !matches!(b, b'"' | b'\\'))
    }

    fn quoted(&self) -> &[u8] {
        self.bytes.get(..=self.len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
