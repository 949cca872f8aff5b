// SPDX-License-Identifier: Apache-2.0
//! Spread: records whose members have no order, many at a time, one column after another.
//!
//! Reading such records member by member, the type of the next value is a surprise each time, and
//! each conversion waits for the end of the one before it. Here the keys of up to 64 records are
//! found first, by masks of quotes, colons and braces. Each key is looked up independently of the
//! others, nested objects included, and the place of its value is noted with the column. Then each
//! column is read from its notes as lockstep reads it, eight values to a decision, and its values
//! are moved to the rows that have one. So a value costs neither a mispredicted branch on its type
//! nor the latency of its neighbours, and a member that most records lack costs little.
//!
//! As in lockstep, this affects only speed. Each value has to end where the text before the next
//! key begins, so that nothing between is unread; at the first surprise (an escape in a key, a key
//! that comes twice, a value that fails) the columns are truncated, and the walker reads the next
//! record.

mod columns;
mod state;

use std::hint::select_unpredictable;

use arrowsmith_core::Framing;
use arrowsmith_simd::isa::{Isa, Kernel};
use arrowsmith_simd::{prefetch, skip};

pub(crate) use self::state::Spread;
use self::state::{Key, Member};
use super::keys::KEY_BYTES_MAX;
use super::program::{ROOT, ROOT_OBJECT};
use super::walk::Walker;

/// Maximum number of records of a group: a bit each.
const RECORDS_MAX: usize = 64;

/// Maximum number of keys of a group.
const KEYS_MAX: usize = 4096;

/// Maximum size of a group, in bytes: distances fit into 16 bits, and the text is still in the
/// cache when its values are read.
const GROUP_BYTES_MAX: usize = 48 << 10;

/// Prefetch distance of the search for keys, in bytes.
const PREFETCH_BYTES: usize = 4096;

/// Maximum nesting of objects.
const DEPTH_MAX: usize = 16;

/// Maximum number of tries that are skipped after one that failed.
const PENALTY_MAX: usize = 64;

/// Number of keys of a window that are found without a branch.
const KEYS_USUAL: usize = 4;

/// Limits an index of a record, or of the one after the last.
const MARKS: usize = 2 * RECORDS_MAX - 1;

/// In place of the object around a key: it is inside a value that is read as a whole.
const OPAQUE: usize = usize::MAX;

/// The lowest 16 bits.
#[inline(always)]
fn low16(value: usize) -> u16 {
    #[expect(clippy::cast_possible_truncation, reason = "the low bits are meant")]
    let low = value as u16;
    low
}

/// The set of eight lanes from bit `at` on.
#[inline(always)]
fn lanes_at(set: u64, at: usize) -> u8 {
    #[expect(clippy::cast_possible_truncation, reason = "the low bits are meant")]
    let low = (set >> at) as u8;
    low
}

/// A set of the first `count`, at most 64.
#[inline(always)]
fn first(count: usize) -> u64 {
    if count < 64 { (1 << count) - 1 } else { u64::MAX }
}

/// What a group consists of.
#[derive(Debug, Clone, Copy)]
struct Group {
    records: usize,
    keys: usize,
    /// Whether there are backslashes.
    escapes: bool,
}

/// Reads as many groups of records from `pos` on as it can; returns their number, and the position
/// after them.
pub(crate) struct SpreadGroups<'w, 'a, I> {
    pub walker: &'w mut Walker<'a, I>,
    pub pos: usize,
}

impl<I: Isa> Kernel for SpreadGroups<'_, '_, I> {
    type Output = (usize, usize);

    #[inline(always)]
    fn run<J: Isa>(self, _isa: J) -> (usize, usize) {
        self.walker.spread_groups(self.pos)
    }
}

impl<I: Isa> Walker<'_, I> {
    /// Whether records can be read so at all.
    pub fn may_spread(&self, framing: Framing) -> bool {
        let depth = self.spread.depth;
        let shallow = (1..DEPTH_MAX).contains(&depth) && depth <= self.options.limits.depth_max;
        framing == Framing::Lines && shallow && !self.careful
    }

    /// Whether to read the next records so: the members of their objects have no order, and the
    /// last tries succeeded.
    #[inline(always)]
    pub fn spread_due(&mut self) -> bool {
        if !self.unordered() {
            return false;
        }
        if self.spread.wait > 0 {
            self.spread.wait -= 1;
            return false;
        }
        true
    }

    /// Whether the members of any object of a record have no order.
    #[inline(always)]
    fn unordered(&self) -> bool {
        let mut structs = self.spread.structs.iter();
        structs.any(|&(_, object)| !self.predictors[object].learns())
    }

    #[inline(always)]
    fn spread_groups(&mut self, mut pos: usize) -> (usize, usize) {
        if self.spread.keys.is_empty() {
            self.spread.allocate();
        }
        let mut records = 0;
        while pos < self.input.end() && self.unordered() {
            *self.mark = pos;
            let left_out = self.left_out.values;
            let Some((count, next)) = self.spread_group(pos) else {
                self.columns.truncate(self.program, ROOT, *self.rows);
                self.left_out.values = left_out;
                self.spread.failed();
                break;
            };
            *self.rows += count;
            records += count;
            pos = next;
            for &(id, object) in &self.spread.structs {
                let there = self.spread.there[id].count_ones();
                self.predictors[object].passed(there as usize);
            }
            self.spread.succeeded();
        }
        (records, pos)
    }

    /// Reads the records from `start` on; returns their number, and the position after them.
    #[inline(always)]
    fn spread_group(&mut self, start: usize) -> Option<(usize, usize)> {
        let group = self.find_keys(start)?;
        match self.spread.depth {
            1 => self.find_nodes::<false>(start, group.keys)?,
            _ => self.find_nodes::<true>(start, group.keys)?,
        }
        let unknown = self.place_members(start, group)?;
        self.spread_columns(start, group.records)?;
        self.skip_unknown(start, group, unknown)?;
        Some((group.records, start + usize::from(*self.spread.starts.get(group.records)?)))
    }

    /// Finds the keys of the lines from `start` on, as far as they fit into a group.
    #[inline(always)]
    fn find_keys(&mut self, start: usize) -> Option<Group> {
        let (isa, input) = (self.isa, self.input);
        let record_bytes_max = self.options.limits.record_bytes_max;
        let Spread { keys, starts, ends, key_counts, limit, .. } = &mut *self.spread;
        let mut group = Group { records: 0, keys: 0, escapes: false };
        let (mut inside, mut escape) = (0_u64, false);
        let (mut count, mut depth, mut last_open) = (0, 0_usize, 0);
        let (mut base, mut wrong) = (0, 0);
        let size = GROUP_BYTES_MAX.min(input.end() - start);
        while base < size && count < KEYS_MAX - 64 && group.records < *limit {
            let window = input.window(start + base);
            prefetch(input.text(), start + base + PREFETCH_BYTES, 1);
            let quotes = isa.equal_to(window, b'"');
            let backslashes = isa.equal_to(window, b'\\');
            let controls = isa.string_stop(window) & !quotes & !backslashes;
            group.escapes |= backslashes != 0;
            let quotes = quotes & !skip::escaped(backslashes, &mut escape);
            let strings = isa.prefix_xor(quotes) ^ inside;
            inside = 0_u64.wrapping_sub(strings >> 63);
            wrong |= controls & strings;
            let opens = isa.equal_to(window, b'{') & !strings;
            let closes = isa.equal_to(window, b'}') & !strings;
            // The number of open objects at a bit.
            let depth_at = |below: u64| {
                let opened = (opens & below).count_ones() as usize;
                depth.wrapping_add(opened).wrapping_sub((closes & below).count_ones() as usize)
            };
            let begins = quotes & strings;
            // A colon follows the closing quote of a key.
            let colons = isa.equal_to(input.window(start + base + 1), b':');
            let found = quotes & !strings & colons;
            let many = found.count_ones() as usize;
            let to: &mut [Key; 64] = keys.get_mut(count..count + 64)?.try_into().ok()?;
            let mut rest = found;
            for (at, key) in to.iter_mut().enumerate() {
                if at >= KEYS_USUAL && at >= many {
                    break;
                }
                let below = (rest & rest.wrapping_neg()).wrapping_sub(1);
                let open = match begins & below {
                    0 => last_open,
                    before => base + 63 - before.leading_zeros() as usize,
                };
                let close = base + rest.trailing_zeros() as usize;
                let depth = low16(depth_at(below));
                *key = Key { open: low16(open), close: low16(close), depth };
                rest &= rest.wrapping_sub(1);
            }
            let mut feeds = isa.equal_to(window, b'\n') & first(size - base);
            while feeds != 0 && group.records < *limit {
                let below = (feeds & feeds.wrapping_neg()).wrapping_sub(1);
                let end = base + feeds.trailing_zeros() as usize;
                let begin = usize::from(starts[group.records & MARKS]);
                wrong |= u64::from(depth_at(below) != 0 || end - begin > record_bytes_max);
                let crlf = usize::from(input.at((start + end).wrapping_sub(1)) == b'\r');
                let keys_before = count + (found & below).count_ones() as usize;
                key_counts[group.records & MARKS] = low16(keys_before - group.keys);
                ends[group.records & MARKS] = low16(end.wrapping_sub(crlf));
                group.keys = keys_before;
                group.records += 1;
                starts[group.records & MARKS] = low16(end + 1);
                feeds &= feeds - 1;
            }
            if begins != 0 {
                last_open = base + 63 - begins.leading_zeros() as usize;
            }
            depth = depth_at(u64::MAX);
            count += many;
            base += 64;
        }
        (wrong == 0 && group.records > 0).then_some(group)
    }

    /// Finds the node of each key, or that it has none. The loop has no branch on what the keys
    /// are. `NESTED` is whether there are objects in the record.
    #[inline(always)]
    fn find_nodes<const NESTED: bool>(&mut self, start: usize, count: usize) -> Option<()> {
        let (isa, input, objects) = (self.isa, self.input, &self.program.objects);
        let Spread { keys, members, objects: inside, .. } = &mut *self.spread;
        let (opaque, unknown) = (inside.len() - 2, inside.len() - 1);
        // The objects around the next key, by their depth.
        let mut around = [OPAQUE; DEPTH_MAX];
        around[1] = ROOT_OBJECT;
        let root = objects.get(ROOT_OBJECT)?;
        let mut wrong = false;
        for (key, member) in keys.get(..count)?.iter().zip(members.iter_mut()) {
            let (open, close) = (usize::from(key.open), usize::from(key.close));
            let depth = usize::from(key.depth);
            // Inside a value that is read as a whole, this finds nothing.
            let (mut own, mut layout) = (depth == 1, root);
            if NESTED {
                let object = around[depth & (DEPTH_MAX - 1)];
                own = object != OPAQUE;
                layout = objects.get(select_unpredictable(own, object, ROOT_OBJECT))?;
            }
            let text = start + open + 1;
            let len = close.wrapping_sub(open).wrapping_sub(1);
            let probe = layout.table.probe(isa, input, text, len);
            let id = layout.first + probe.field as usize;
            let id = select_unpredictable(probe.known, id, unknown);
            let id = select_unpredictable(own, id, opaque);
            wrong |= (len > KEY_BYTES_MAX) | (depth >= DEPTH_MAX - 1);
            if NESTED {
                around[(depth + 1) & (DEPTH_MAX - 1)] = *inside.get(id)?;
            }
            let before = open.wrapping_sub(1);
            let space = input.at(start.wrapping_add(before)) == b' ';
            let before = low16(before.wrapping_sub(usize::from(space)));
            let value = close + 2;
            let value = low16(value + usize::from(input.at(start + value) == b' '));
            *member = Member { id, before, value, depth: key.depth };
        }
        (!wrong).then_some(())
    }

    /// Notes where the values of the members are; returns the number of those whose keys are
    /// unknown.
    #[inline(always)]
    fn place_members(&mut self, start: usize, group: Group) -> Option<usize> {
        let input = self.input;
        let Spread { starts, ends, key_counts, members, found, counts, items, .. } =
            &mut *self.spread;
        found.fill(0);
        counts.fill(0);
        let unknown = found.len() - 1;
        let opaque = unknown - 1;
        let mut wrong = false;
        let mut rest = members.get(..group.keys)?;
        for record in 0..group.records {
            let begin = starts[record & MARKS];
            let bit = 1 << record;
            let (mine, others) = rest.split_at_checked(usize::from(key_counts[record & MARKS]))?;
            rest = others;
            wrong |= mine.first()?.before != begin;
            // The end of a value is noted when the next key is found; before the first one there is
            // none.
            let (mut last, mut last_depth) = (items.len() - 1, 0);
            for &Member { id, before, value, depth } in mine {
                let own = id != opaque;
                items.get_mut(last)?.to = before.wrapping_add(depth).wrapping_sub(last_depth);
                let separator = if depth > last_depth { b'{' } else { b',' };
                let odd = input.at(start + usize::from(before)) != separator;
                let count = counts.get_mut(id)?;
                let place = id * RECORDS_MAX + *count;
                *count += usize::from(own);
                let set = found.get_mut(id)?;
                wrong |= (own & odd) | ((id < opaque) & (*set & bit != 0));
                *set |= bit;
                items.get_mut(place)?.from = value;
                last = if own { place } else { last };
                last_depth = if own { depth } else { last_depth };
            }
            items.get_mut(last)?.to = ends[record & MARKS].wrapping_sub(last_depth);
        }
        let unknown = *counts.last()?;
        (!wrong).then_some(unknown)
    }
}

#[cfg(test)]
mod tests;
