// SPDX-License-Identifier: Apache-2.0
//! Spread: reads each column from the places of its values, and moves the values to their rows.

use arrowsmith_core::UnknownKeys;
use arrowsmith_simd::isa::Isa;
use arrowsmith_simd::lanes::{self, LANES, has};
use arrowsmith_simd::skip;

use super::state::{Item, Key, Visit};
use super::{Group, RECORDS_MAX, Spread, first, lanes_at, low16};
use crate::json::build::Values;
use crate::json::lockstep::{Read, SkipOne};
use crate::json::program::{Fast, Id, ROOT};
use crate::json::walk::{Any, Walker};

impl<I: Isa> Walker<'_, I> {
    /// Reads the columns from what was noted of each.
    #[inline(always)]
    pub(super) fn spread_columns(&mut self, start: usize, records: usize) -> Option<()> {
        let row = *self.rows;
        let all = first(records);
        self.spread.there.fill(0);
        self.spread.there[ROOT] = all;
        if let Values::Count(count) = &mut self.columns.columns[ROOT].values {
            *count += records;
        }
        let mut at = 0;
        while let Some(&visit) = self.spread.visits.get(at) {
            let (id, inside) = (visit.id, self.spread.there[visit.parent]);
            let found = self.spread.found[id];
            at += 1;
            if !visit.nullable && found != inside {
                // The walker says which field is missing.
                return None;
            }
            if found == 0 {
                self.columns.push_nulls(self.program, id, records);
                at = visit.next;
                continue;
            }
            let nulls = if visit.fast == Fast::Object {
                let nulls = self.spread_objects(start, id, found)?;
                self.spread.there[id] = self.isa.scatter_bits(!nulls, found);
                if let Values::Count(count) = &mut self.columns.columns[id].values {
                    *count += records;
                }
                nulls
            } else if self.columns.columns[id].expands(visit.fast) {
                let nulls = self.spread_values(start, visit, found, row)?;
                self.columns.columns[id].expand(self.isa, row, found, records);
                nulls
            } else {
                self.spread_others(start, visit, found, records)?;
                continue;
            };
            if !visit.nullable {
                if nulls & first(found.count_ones() as usize) != 0 {
                    return None;
                }
                continue;
            }
            let nulls = all & !self.isa.scatter_bits(!nulls, found);
            for from in (0..records).step_by(LANES) {
                self.columns.columns[id].null_lanes(self.isa, row + from, lanes_at(nulls, from));
            }
        }
        Some(())
    }

    /// Checks the values of an object, and returns a set of those that are null.
    #[inline(always)]
    pub(super) fn spread_objects(&mut self, start: usize, id: Id, found: u64) -> Option<u64> {
        let count = found.count_ones() as usize;
        let items = self.spread.items.get(id * RECORDS_MAX..)?.get(..count)?;
        let (mut nulls, mut wrong) = (0, false);
        for (at, item) in items.iter().enumerate() {
            let word = self.input.word(start + usize::from(item.from));
            let len = item.to.wrapping_sub(item.from);
            // The members after a bracket are checked with their keys.
            let open = len == 1 && word & 0xFF == u64::from(b'{');
            let empty = len == 2 && word & 0xFFFF == u64::from(u16::from_le_bytes(*b"{}"));
            let null = len == 4 && word & 0xFFFF_FFFF == u64::from(u32::from_le_bytes(*b"null"));
            wrong |= !(open | empty | null);
            nulls |= u64::from(null) << at;
        }
        (!wrong).then_some(nulls)
    }

    /// Appends the values of a column without the rows that have none; returns a set of those that
    /// are null.
    #[inline(always)]
    pub(super) fn spread_values(
        &mut self,
        start: usize,
        visit: Visit,
        found: u64,
        row: usize,
    ) -> Option<u64> {
        let Visit { id, fast, nullable, .. } = visit;
        let count = found.count_ones() as usize;
        let mut nulls = 0;
        for from in (0..count).step_by(LANES) {
            let lanes = lanes_at(first(count), from);
            let place = id * RECORDS_MAX + from;
            let items: &[Item; LANES] =
                self.spread.items.get(place..place + LANES)?.try_into().ok()?;
            let mut pos = items.map(|item| start + usize::from(item.from));
            let to = items.map(|item| start + usize::from(item.to));
            let null = if nullable { lanes::null(self.input, &mut pos, lanes) } else { 0 };
            nulls |= u64::from(null) << from;
            match self.value_lanes(id, fast, &mut pos, lanes & !null, row + from) {
                Read::Values | Read::Complete => {}
                Read::Failed => return None,
            }
            let mut wrong = false;
            for lane in 0..LANES {
                wrong |= has(lanes, lane) & (pos[lane] != to[lane]);
            }
            if wrong {
                return None;
            }
        }
        // Values were appended for all eight lanes.
        self.columns.truncate(self.program, id, row + count);
        Some(nulls | self.columns.columns[id].take_nulls(row))
    }

    /// Appends the values of a column that is not read in lanes, and its nulls.
    #[inline(always)]
    pub(super) fn spread_others(
        &mut self,
        start: usize,
        visit: Visit,
        found: u64,
        records: usize,
    ) -> Option<()> {
        let (isa, id) = (self.isa, visit.id);
        let mut place = id * RECORDS_MAX;
        for record in 0..records {
            if found >> record & 1 == 0 {
                self.columns.push_null(self.program, id);
                continue;
            }
            let Item { from, to } = *self.spread.items.get(place)?;
            let end = isa.vectorize(Any { walker: self, id, pos: start + usize::from(from) });
            if end != start + usize::from(to) {
                return None;
            }
            place += 1;
        }
        Some(())
    }

    /// Skips the values whose keys no field has.
    #[inline(always)]
    pub(super) fn skip_unknown(&mut self, start: usize, group: Group, count: usize) -> Option<()> {
        if count == 0 {
            return Some(());
        }
        // The walker notes the first such key, and refuses them.
        let noted = self.options.unknown_keys != UnknownKeys::Error && self.left_out.key.is_some();
        if !noted || !self.spread.complete {
            return None;
        }
        let (isa, input) = (self.isa, self.input);
        let node = self.spread.objects.len() - 1;
        let Spread { members, unknown, .. } = &mut *self.spread;
        let mut listed = 0;
        for (at, member) in members.get(..group.keys)?.iter().enumerate() {
            *unknown.get_mut(listed)? = low16(at);
            listed += usize::from(member.id == node);
        }
        for at in 0..count {
            let Item { from, to } = *self.spread.items.get(node * RECORDS_MAX + at)?;
            let (from, to) = (start + usize::from(from), start + usize::from(to));
            let member = usize::from(*self.spread.unknown.get(at)?);
            if group.escapes {
                let Key { open, close, .. } = *self.spread.keys.get(member)?;
                let (open, close) = (start + usize::from(open), start + usize::from(close));
                if self.input.slice(open, close).contains(&b'\\') {
                    return None;
                }
            }
            let outside = usize::from(self.spread.members.get(member)?.depth);
            let flat = outside < self.options.limits.depth_max || input.at(from) != b'[';
            if flat && skip::is_usual(isa, input.window(from), to.wrapping_sub(from)) {
                continue;
            }
            if isa.vectorize(SkipOne { walker: self, pos: from, outside }) != to {
                return None;
            }
        }
        self.left_out.values += count as u64;
        Some(())
    }
}
