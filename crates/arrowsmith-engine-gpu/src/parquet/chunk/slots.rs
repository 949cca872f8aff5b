// SPDX-License-Identifier: Apache-2.0
//! Which entries of a chunk are slots of a node: nulls and offsets of the values' ancestors, from
//! the levels.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrowsmith_parquet::nest::Ancestor;

use super::run::{Halt, Run, number};
use crate::abi::{MARK_SLOTS, PACK_VALID, PackArgs, SlotsArgs, WRITE_SLOTS};
use crate::device::Ptr;
use crate::device::memory::Refused;

/// Levels on the device, one per entry.
#[derive(Clone, Copy)]
pub(super) struct Levels {
    pub(super) def: Ptr,
    /// 0 where nothing repeats.
    pub(super) rep: Ptr,
    pub(super) entries: usize,
}

/// The slots of a node among the entries.
pub(super) struct Slots {
    /// Whether an entry is a slot; after the scan, how many slots precede it.
    pub(super) marks: Ptr,
    pub(super) count: usize,
}

impl Run<'_> {
    pub(super) fn slot_args(levels: Levels, at: (u8, u8), def_valid: u64, marks: Ptr) -> SlotsArgs {
        SlotsArgs {
            def: levels.def,
            rep: levels.rep,
            entries: levels.entries as u64,
            rep_most: u64::from(at.0),
            def_least: u64::from(at.1),
            def_valid,
            marks,
            elements: Ptr(0),
            starts: Ptr(0),
            valid: Ptr(0),
            entry_of: Ptr(0),
        }
    }

    /// Counts the slots that begin at these levels (repetition, definition).
    pub(super) fn slots(&mut self, levels: Levels, at: (u8, u8)) -> Result<Slots, Refused> {
        let marks = self.take((levels.entries + 1) * 8)?;
        let blocks = self.stream.blocks(levels.entries as u64);
        self.launch(MARK_SLOTS, blocks, &Self::slot_args(levels, at, 0, marks))?;
        self.scan(marks, levels.entries)?;
        let count = self.fetch(&[(marks.offset(levels.entries as u64 * 8), 8)])?;
        let count = usize::try_from(number(&count[0], 0)).unwrap_or(usize::MAX);
        // Never more, but a kernel's count is not trusted.
        Ok(Slots { marks, count: count.min(levels.entries) })
    }

    /// Packs bytes to bits, and counts those that are 0.
    pub(super) fn pack(
        &mut self,
        bytes: Ptr,
        count: usize,
        bits: Ptr,
        nulls: Ptr,
    ) -> Result<(), Refused> {
        let args = PackArgs { bytes, count: count as u64, valid: bits, nulls };
        self.launch(PACK_VALID, self.stream.blocks(args.count), &args)
    }

    /// Validity bytes as a null buffer.
    fn nulls(&mut self, valid: Ptr, count: usize) -> Result<Option<NullBuffer>, Refused> {
        if count == 0 {
            return Ok(None);
        }
        let bits = self.take(count.div_ceil(32) * 4)?;
        let nulls = self.zeros(4)?;
        self.pack(valid, count, bits, nulls)?;
        let fetched = self.fetch(&[(nulls, 4), (bits, count.div_ceil(32) * 4)])?;
        if fetched[0].iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let bits = Buffer::from_slice_ref(fetched[1].as_slice());
        Ok(Some(NullBuffer::new(BooleanBuffer::new(bits, 0, count))))
    }

    /// Nulls and offsets of an ancestor of the values.
    pub(super) fn ancestor(
        &mut self,
        levels: Levels,
        ancestor: &Ancestor,
    ) -> Result<(Option<NullBuffer>, ScalarBuffer<i32>), Halt> {
        let slots_at = (ancestor.slots.repetition, ancestor.slots.definition);
        let slots = self.slots(levels, slots_at)?;
        let mut args = Self::slot_args(levels, slots_at, u64::from(ancestor.valid), slots.marks);
        let mut elements = 0;
        let mut starts = Ptr(0);
        if let Some(of) = ancestor.elements {
            let marks = self.slots(levels, (of.repetition, of.definition))?;
            if marks.count as u64 > self.options.offset_max {
                return Err(Halt::TooLarge);
            }
            elements = marks.count;
            starts = self.take((slots.count + 1) * 4)?;
            (args.elements, args.starts) = (marks.marks, starts);
        }
        let valid = self.take(slots.count)?;
        args.valid = valid;
        let blocks = self.stream.blocks(levels.entries as u64);
        self.launch(WRITE_SLOTS, blocks, &args)?;
        let nulls = match ancestor.valid > ancestor.slots.definition {
            true => self.nulls(valid, slots.count)?,
            false => None,
        };
        // Bounded: by the levels, which were decoded.
        let mut offsets = Vec::with_capacity(slots.count + 1);
        if ancestor.elements.is_some() {
            let fetched = self.fetch(&[(starts, slots.count * 4)])?;
            let (words, _) = fetched[0].as_slice().as_chunks::<4>();
            offsets.extend(words.iter().map(|word| i32::from_le_bytes(*word)));
            offsets.push(i32::try_from(elements).unwrap_or(i32::MAX));
            // The array writer does not check them.
            if offsets.first() != Some(&0) || !offsets.is_sorted() {
                return Err(Halt::Unsure);
            }
        } else {
            offsets.push(0);
        }
        Ok((nulls, offsets.into()))
    }
}
