// SPDX-License-Identifier: Apache-2.0
//! The containers of libstdc++ around elements that are in a region: their own words, and the links
//! between nodes. The same is in `cpp/include/arrowsmith/graph.hpp`, to the byte.

use super::region::Region;
use crate::layout::{Element, Form, Keys, Kind, buckets};

/// The seed of the library's hash of bytes.
const SEED: u64 = 0xc70f_6907;

/// `1.0`, the greatest load of a hash table's buckets, as its bits.
const LOAD_MAX: u64 = 0x3f80_0000;

/// The colour of a red node; black is 1.
const RED: u64 = 0;

/// A container: its place, its elements' number and content.
pub(super) struct Container<'a> {
    pub element: &'a Element,
    pub place: u64,
    pub length: u64,
    pub content: u64,
}

impl Container<'_> {
    pub fn link(&self, region: &mut Region<'_>) {
        match &self.element.form {
            Form::Vector => self.vector(region),
            Form::Deque => self.deque(region),
            Form::List => self.list(region),
            Form::Tree { .. } => self.tree(region),
            Form::Hash { keys, cached } => self.hash(region, keys, *cached),
        }
    }

    /// The offset of a node in the region.
    fn node(&self, region: &Region<'_>, index: u64) -> u64 {
        self.content + index * self.element.content(self.length, region.word()).stride
    }

    fn vector(&self, region: &mut Region<'_>) {
        if self.length == 0 {
            return;
        }
        let (word, first) = (region.word(), region.address_of(self.content));
        let end = first + self.length * u64::from(self.element.size);
        region.store_word(self.place, first);
        region.store_word(self.place + word, end);
        region.store_word(self.place + 2 * word, end);
    }

    /// The table of blocks and its length; of the first and the last element the place, the block's
    /// begin and end, and the block's place in the table. Blocks are next to each other, and the
    /// last one is no longer than its elements.
    fn deque(&self, region: &mut Region<'_>) {
        let (word, place) = (region.word(), self.place);
        let of = self.element.content(self.length, word);
        let block = self.element.per_block() * of.stride;
        let blocks = self.length / self.element.per_block() + 1;
        let table = region.address_of(self.content);
        let first = region.address_of(self.content + of.first);
        let begin_of = |index: u64| first.wrapping_add(index * block);
        for index in 0..blocks {
            region.store_word(self.content + index * word, begin_of(index));
        }
        let last = blocks - 1;
        let end = first + self.length * of.stride;
        let begin = [first, first, begin_of(1), table];
        let end = [end, begin_of(last), begin_of(blocks), table + last * word];
        let own = [table, blocks].into_iter().chain(begin).chain(end);
        for (index, value) in (0_u64..).zip(own) {
            region.store_word(place + index * word, value);
        }
    }

    /// Nodes begin with the next and the previous one; the container is one, then their number.
    fn list(&self, region: &mut Region<'_>) {
        let word = region.word();
        let mut before = self.place;
        for index in 0..self.length {
            let node = self.node(region, index);
            region.store_word(before, region.address_of(node));
            region.store_word(node + word, region.address_of(before));
            before = node;
        }
        region.store_word(before, region.address_of(self.place));
        region.store_word(self.place + word, region.address_of(before));
        region.store_word(self.place + 2 * word, self.length);
    }

    /// Nodes begin with colour, parent, left and right; the container has an empty word, a node
    /// that is the parent of the root and knows the first and the last one, and their number.
    fn tree(&self, region: &mut Region<'_>) {
        let word = region.word();
        let header = self.place + word;
        let root = self.subtree(region, 0, self.length, header, 0);
        let ends = match self.length {
            0 => [header, header],
            length => [self.node(region, 0), self.node(region, length - 1)],
        };
        region.store(header, 4, RED);
        region.store_word(header + word, root);
        region.store_word(header + 2 * word, region.address_of(ends[0]));
        region.store_word(header + 3 * word, region.address_of(ends[1]));
        region.store_word(header + 4 * word, self.length);
    }

    /// Links nodes from `low` to before `high`; returns the address of the one above the others.
    /// The levels are full but the last one, whose nodes are red. It is at most 32 levels deep.
    fn subtree(
        &self,
        region: &mut Region<'_>,
        low: u64,
        high: u64,
        parent: u64,
        depth: u32,
    ) -> u64 {
        if low == high {
            return 0;
        }
        let word = region.word();
        let middle = low + (high - low) / 2;
        let node = self.node(region, middle);
        let full = (self.length + 1).is_power_of_two();
        let red = depth == self.length.ilog2() && !full;
        region.store(node, 4, if red { RED } else { 1 });
        region.store_word(node + word, region.address_of(parent));
        let left = self.subtree(region, low, middle, node, depth + 1);
        let right = self.subtree(region, middle + 1, high, node, depth + 1);
        region.store_word(node + 2 * word, left);
        region.store_word(node + 3 * word, right);
        region.address_of(node)
    }

    /// Nodes begin with the next one. The container has its buckets and their number, the first
    /// node, the number of nodes, the greatest load, the number of nodes for which there are
    /// buckets, and a bucket for when there is only one. A bucket has the node before its first.
    fn hash(&self, region: &mut Region<'_>, keys: &Keys, cached: bool) {
        let (word, place) = (region.word(), self.place);
        let of = self.element.content(self.length, word);
        let count = buckets(self.length);
        let table = match count {
            1 => place + 6 * word,
            _ => self.content + self.length * of.stride,
        };
        // The nodes of each bucket, in their order.
        for index in (0..self.length).rev() {
            let node = self.node(region, index);
            let code = self.hash_of(region, keys, node + of.first);
            if cached {
                let after = of.first + u64::from(self.element.size);
                region.store_word(node + after.next_multiple_of(word), code);
            }
            let bucket = table + code % count * word;
            let next = region.load_word(bucket);
            region.store_word(node, next);
            region.store_word(bucket, region.address_of(node));
        }
        // One chain of them all.
        let mut before = place + 2 * word;
        for bucket in (0..count).map(|index| table + index * word) {
            let mut next = region.load_word(bucket);
            if next == 0 {
                continue;
            }
            region.store_word(before, next);
            region.store_word(bucket, region.address_of(before));
            while next != 0 {
                before = region.place_of(next);
                next = region.load_word(before);
            }
        }
        region.store_word(place, region.address_of(table));
        region.store_word(place + word, count);
        region.store_word(place + 3 * word, self.length);
        region.store(place + 4 * word, 4, LOAD_MAX);
        region.store_word(place + 5 * word, if self.length == 0 { 0 } else { count });
    }

    /// The hash of the key of an element: of a number itself.
    fn hash_of(&self, region: &Region<'_>, keys: &Keys, element: u64) -> u64 {
        let word = region.word();
        let index = keys.members.first().map_or(0, |index| *index as usize);
        let Some(member) = self.element.members.get(index) else { return 0 };
        let place = element + u64::from(member.offset);
        let [text, length] = match &member.kind {
            Kind::View => [place + word, place],
            Kind::String => [place, place + word],
            kind => {
                let value = region.load(place, kind.bytes(0).unwrap_or(0) as usize);
                let signed = matches!(kind, Kind::Integer(of) if of.signed);
                let value = super::walk::extend(value, 8 * kind.bytes(0).unwrap_or(0), signed);
                return if word == 4 { value & u64::from(u32::MAX) } else { value };
            }
        };
        let length = region.load_word(length);
        // A view of nothing points nowhere.
        let bytes = match length {
            0 => &[],
            _ => region.bytes_at(region.place_of(region.load_word(text)), length),
        };
        if word == 4 { u64::from(hash_32(bytes)) } else { hash_64(bytes) }
    }
}

/// `std::_Hash_bytes` where `std::size_t` has 64 bits: Murmur, 64A.
fn hash_64(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
    let mix = |value: u64| value ^ (value >> 47);
    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(FACTOR);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word).wrapping_mul(FACTOR);
        hash = (hash ^ mix(word).wrapping_mul(FACTOR)).wrapping_mul(FACTOR);
    }
    if !rest.is_empty() {
        let word = rest.iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte));
        hash = (hash ^ word).wrapping_mul(FACTOR);
    }
    mix(mix(hash).wrapping_mul(FACTOR))
}

/// `std::_Hash_bytes` where `std::size_t` has 32 bits: Murmur 2.
fn hash_32(bytes: &[u8]) -> u32 {
    const FACTOR: u32 = 0x5bd1_e995;
    // Lengths in a region of 32 bits fit.
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let mut hash = 0xc70f_6907 ^ length;
    let (words, rest) = bytes.as_chunks::<4>();
    for word in words {
        let word = u32::from_le_bytes(*word).wrapping_mul(FACTOR);
        let word = (word ^ (word >> 24)).wrapping_mul(FACTOR);
        hash = hash.wrapping_mul(FACTOR) ^ word;
    }
    if !rest.is_empty() {
        let word = rest.iter().rev().fold(0, |word, byte| (word << 8) | u32::from(*byte));
        hash = (hash ^ word).wrapping_mul(FACTOR);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(FACTOR);
    hash ^ (hash >> 15)
}
