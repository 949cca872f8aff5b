// SPDX-License-Identifier: Apache-2.0
//! Levels to validity bits and list offsets.
//!
//! An entry of the levels is a *slot* of a node if it starts a value of that node, null or not: its
//! repetition level is at most the node's, and its definition level is high enough for the
//! enclosing list to have an element there.

use super::{ColumnError, Result};
use crate::isa::{Isa, Kernel, Level};
use crate::{BitBuffer, Buf};

/// The levels of a range of entries.
#[derive(Debug, Clone, Copy)]
pub struct Levels<'a> {
    /// Definition levels; empty if the maximum is 0, as all are 0 then.
    pub definition: &'a [u8],
    /// Repetition levels, one per entry; empty if the maximum is 0, as all are 0 then.
    pub repetition: &'a [u8],
}

/// Which entries are slots of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots {
    /// The maximum repetition level of the start of a slot: that of the lists around the node.
    pub repetition: u8,
    /// The minimum definition level of a slot: that of an element of the innermost enclosing list,
    /// or 0.
    pub definition: u8,
}

/// A list and its elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListShape {
    /// The slots of the list itself.
    pub slots: Slots,
    /// The slots of its elements.
    pub elements: Slots,
}

impl Levels<'_> {
    /// The 64 levels from entry `at` on; near the end they are copied to `spare` and padded with
    /// zeros.
    #[inline(always)]
    fn window<'w>(levels: &'w [u8], at: usize, spare: &'w mut [u8; 64]) -> &'w [u8; 64] {
        let rest = levels.get(at..).unwrap_or_default();
        if let Some(window) = rest.first_chunk::<64>() {
            return window;
        }
        spare.fill(0);
        spare[..rest.len()].copy_from_slice(rest);
        spare
    }
}

impl Slots {
    /// A mask of the entries that are slots.
    #[inline(always)]
    fn mask<I: Isa>(self, isa: I, definition: &[u8; 64], repetition: &[u8; 64]) -> u64 {
        let mut mask = u64::MAX;
        if self.definition > 0 {
            mask &= isa.at_least(definition, self.definition);
        }
        if let Some(above) = self.repetition.checked_add(1) {
            mask &= !isa.at_least(repetition, above);
        }
        mask
    }
}

/// Appends a validity bit for each slot of a node; a slot is valid if its definition level is at
/// least `valid`. `entries` is the number of levels. Returns the number of slots and of valid ones.
///
/// # Errors
/// [`ColumnError::Count`] if there are levels, but not as many as `entries`.
pub fn validity(
    level: Level,
    levels: Levels<'_>,
    entries: usize,
    slots: Slots,
    valid: u8,
    out: &mut BitBuffer,
) -> Result<(usize, usize)> {
    check(levels, entries)?;
    Ok(level.dispatch(Validity { levels, entries, slots, valid, out: Some(out) }))
}

/// Counts the slots of a node, and those whose definition level is at least `valid`.
///
/// # Errors
/// As [`validity`].
pub fn count(
    level: Level,
    levels: Levels<'_>,
    entries: usize,
    slots: Slots,
    valid: u8,
) -> Result<(usize, usize)> {
    check(levels, entries)?;
    Ok(level.dispatch(Validity { levels, entries, slots, valid, out: None }))
}

/// Appends, for each slot of a list, the offset of its first element. `*elements` is the number of
/// elements before these entries; theirs are added to it. The caller appends the end of the last
/// list after all entries.
///
/// # Errors
/// As [`validity`]; [`ColumnError::Offset`] if there are more than `i32::MAX` elements.
pub fn list_starts(
    level: Level,
    levels: Levels<'_>,
    entries: usize,
    shape: ListShape,
    elements: &mut usize,
    out: &mut Buf<i32>,
) -> Result<()> {
    check(levels, entries)?;
    let most = elements.checked_add(entries).ok_or(ColumnError::Offset)?;
    // `most` assumes that every entry is an element; the elements are counted only if that is too
    // many.
    if i32::try_from(most).is_err() {
        let (more, _) = count(level, levels, entries, shape.elements, 0)?;
        if i32::try_from(*elements + more).is_err() {
            return Err(ColumnError::Offset);
        }
    }
    level.dispatch(Starts { levels, entries, shape, elements, out });
    Ok(())
}

/// Finds the entry where row `row` starts. Row 0 starts at the first entry whose repetition level
/// is 0. `None` if there are fewer rows.
pub fn find_row(level: Level, repetition: &[u8], row: usize) -> Option<usize> {
    level.dispatch(FindRow { repetition, row })
}

fn check(levels: Levels<'_>, entries: usize) -> Result<()> {
    let fits = |levels: &[u8]| levels.is_empty() || levels.len() == entries;
    if fits(levels.definition) && fits(levels.repetition) {
        Ok(())
    } else {
        Err(ColumnError::Count)
    }
}

struct Validity<'a, 'o> {
    levels: Levels<'a>,
    entries: usize,
    slots: Slots,
    valid: u8,
    out: Option<&'o mut BitBuffer>,
}

impl Kernel for Validity<'_, '_> {
    type Output = (usize, usize);

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> (usize, usize) {
        let mut spare = ([0; 64], [0; 64]);
        let mut out = self.out.map(|out| out.writer(self.entries));
        let (mut slots, mut valid) = (0, 0);
        let mut at = 0;
        while at < self.entries {
            let used = u64::MAX >> (64 - (self.entries - at).min(64));
            let definition = Levels::window(self.levels.definition, at, &mut spare.0);
            let repetition = Levels::window(self.levels.repetition, at, &mut spare.1);
            let slot = self.slots.mask(isa, definition, repetition) & used;
            let set = slot & isa.at_least(definition, self.valid);
            let count = slot.count_ones() as usize;
            if let Some(out) = &mut out {
                out.put(isa.pext(set, slot), count);
            }
            slots += count;
            valid += set.count_ones() as usize;
            at += 64;
        }
        (slots, valid)
    }
}

struct Starts<'a, 'o> {
    levels: Levels<'a>,
    entries: usize,
    shape: ListShape,
    elements: &'o mut usize,
    out: &'o mut Buf<i32>,
}

impl Kernel for Starts<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let Self { levels, entries, shape, elements, out } = self;
        let mut spare = ([0; 64], [0; 64]);
        let mut at = 0;
        while at < entries {
            let used = u64::MAX >> (64 - (entries - at).min(64));
            let definition = Levels::window(levels.definition, at, &mut spare.0);
            let repetition = Levels::window(levels.repetition, at, &mut spare.1);
            let slots = shape.slots.mask(isa, definition, repetition) & used;
            let inside = shape.elements.mask(isa, definition, repetition) & used;
            // The caller of the kernel has checked that `i32` can count them.
            #[expect(clippy::cast_possible_truncation, reason = "at most `i32::MAX`")]
            let start = *elements as i32;
            let count = slots.count_ones() as usize;
            // Bounded: by the 64 of a mask.
            out.reserve(count);
            if out.room_left() >= 64 {
                // SAFETY: there is room for 64.
                unsafe { isa.ranks(slots, inside, start, out.spare(64)) };
            } else {
                let mut ranks = [0; 64];
                // SAFETY: there is room for 64.
                unsafe { isa.ranks(slots, inside, start, ranks.as_mut_ptr()) };
                out.room(count).write_copy_of_slice(&ranks[..count]);
            }
            // SAFETY: `ranks` has written one number per slot.
            unsafe { out.advance(count) };
            *elements += inside.count_ones() as usize;
            at += 64;
        }
    }
}

struct FindRow<'a> {
    repetition: &'a [u8],
    row: usize,
}

impl Kernel for FindRow<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> Option<usize> {
        let mut left = self.row;
        let mut spare = [0; 64];
        for at in (0..self.repetition.len()).step_by(64) {
            let used = u64::MAX >> (64 - (self.repetition.len() - at).min(64));
            let window = Levels::window(self.repetition, at, &mut spare);
            let mut rows = !isa.at_least(window, 1) & used;
            let count = rows.count_ones() as usize;
            if left < count {
                for _ in 0..left {
                    rows &= rows - 1;
                }
                return Some(at + rows.trailing_zeros() as usize);
            }
            left -= count;
        }
        None
    }
}
