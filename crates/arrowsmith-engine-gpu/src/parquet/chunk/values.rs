// SPDX-License-Identifier: Apache-2.0
//! The values of pages: levels, then for each value a number or the place of a text, or, where
//! every entry is a row, at once the numbers of the array.

use super::super::pages::{Host, HostPage};
use super::super::shape::{Form, Shape};
use super::super::split::{Chains, Rule};
use super::dictionary::Dictionary;
use super::run::{Halt, Run, number};
use super::slots::Levels;
use crate::abi::*;
use crate::device::Ptr;
use crate::device::memory::Refused;

/// Values of a tile of runs for each thread of a block: `RUN_TILE` of the kernels.
pub(in crate::parquet) const RUN_EACH: u64 = 16;

/// Values of the smallest block of deltas: `DELTA_BLOCK` of the kernels.
pub(in crate::parquet) const DELTA_BLOCK: u64 = 128;

/// Where numbers go if they need no conversion: the array of the column, and bytes of each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Direct {
    pub(super) out: Ptr,
    pub(super) width: u64,
    /// Whether it is indices that are wanted.
    keys: bool,
}

impl Direct {
    /// Whether the values of a page are written so.
    pub(super) fn takes(page: &HostPage) -> bool {
        matches!(page.encoding, PageEncoding::Delta | PageEncoding::Dictionary)
    }

    /// Memory for the array, if the column is one that can be written so.
    pub(super) fn of(run: &mut Run<'_>, shape: &Shape, host: &Host) -> Result<Option<Self>, Halt> {
        let (width, keys) = match shape.form {
            Form::Fixed { width, turn: Turn::Key, .. } => (width, true),
            Form::Fixed { stored, width, turn: Turn::Copy, .. } if stored == width => {
                (width, false)
            }
            _ => return Ok(None),
        };
        let suits = host.is_dense(shape) && (width == 4 || width == 8);
        if !suits || !host.pages.iter().any(Self::takes) {
            return Ok(None);
        }
        let bytes = usize::try_from(width).unwrap_or(usize::MAX).saturating_mul(host.entries);
        Ok(Some(Self { out: run.take(bytes)?, width, keys }))
    }
}

/// Decoded values on the device.
pub(super) struct Values {
    pub(super) words: Ptr,
    pub(super) lens: Ptr,
    pub(super) deltas: Ptr,
}

/// Pages on the device, and where anything malformed is noted.
#[derive(Clone, Copy)]
pub(super) struct Pages {
    pub(super) at: Ptr,
    pub(super) count: u64,
    pub(super) bad: Ptr,
}

impl Pages {
    /// Nothing of them is found yet.
    fn index(self) -> PartArgs {
        let none = Ptr(0);
        PartArgs {
            pages: self.at,
            page_count: self.count,
            part: RunPart::Values,
            level_width: 0,
            marks: none,
            deltas: none,
            slots: none,
            leasts: none,
            slot_count: 0,
            sums: none,
            words: none,
            lens: none,
            out: none,
            width: 0,
            bad: self.bad,
        }
    }
}

/// Levels, and which entries have values.
#[derive(Clone, Copy)]
pub(super) struct Entries {
    pub(super) levels: Levels,
    /// None without nulls.
    pub(super) valid: Ptr,
    pub(super) before: Ptr,
    /// The number of values.
    pub(super) values: usize,
}

impl Run<'_> {
    /// The number of tiles of runs.
    fn tiles(&self, host: &Host) -> u64 {
        host.entries as u64 / (self.block_threads() * RUN_EACH) + host.pages.len() as u64
    }

    /// Memory for the marks of tiles of runs.
    fn marks(&mut self, host: &Host) -> Result<Ptr, Refused> {
        self.take(usize::try_from(self.tiles(host) * 8).unwrap_or(usize::MAX))
    }

    /// Finds the runs of levels.
    fn runs(
        &mut self,
        host: &Host,
        pages: Pages,
        part: RunPart,
        most: u64,
    ) -> Result<Ptr, Refused> {
        let marks = self.marks(host)?;
        let level_width = u64::from(u64::BITS - most.leading_zeros());
        let args = PartArgs { part, level_width, marks, ..pages.index() };
        self.launch(PAGE_INDEX, pages.count, &args)?;
        Ok(marks)
    }

    /// Decodes the levels, unless every entry is a row with a value.
    pub(super) fn entries(
        &mut self,
        shape: &Shape,
        host: &Host,
        pages: Pages,
    ) -> Result<Entries, Halt> {
        let entries = host.entries;
        let none = Levels { def: Ptr(0), rep: Ptr(0), entries };
        if host.is_dense(shape) {
            let none = Entries { levels: none, valid: Ptr(0), before: Ptr(0), values: entries };
            return Ok(none);
        }
        let mut levels = Levels { def: self.take(entries)?, ..none };
        let mut marks = [Ptr(0); 2];
        if shape.def_max > 0 {
            marks[0] = self.runs(host, pages, RunPart::Levels, shape.def_max)?;
        }
        if shape.rep_max > 0 {
            levels.rep = self.take(entries)?;
            marks[1] = self.runs(host, pages, RunPart::Repeats, shape.rep_max)?;
        }
        let valid = self.take(entries)?;
        let before = self.take((entries + 1) * 8)?;
        let args = LevelArgs {
            pages: pages.at,
            page_count: pages.count,
            def: levels.def,
            rep: levels.rep,
            valid,
            before,
            entries: entries as u64,
            def_max: shape.def_max,
            rep_max: shape.rep_max,
            def_marks: marks[0],
            rep_marks: marks[1],
            bad: pages.bad,
        };
        self.launch(PAGE_LEVELS, self.tiles(host), &args)?;
        self.scan(before, entries)?;
        self.launch(PAGE_FIRSTS, self.blocks(pages.count), &args)?;
        let total = self.fetch(&[(before.offset(entries as u64 * 8), 8), (pages.bad, 4)])?;
        let values = usize::try_from(number(&total[0], 0)).unwrap_or(usize::MAX);
        if values > entries || total[1].iter().any(|byte| *byte != 0) {
            return Err(Halt::Unsure);
        }
        Ok(Entries { levels, valid, before, values })
    }

    /// Decodes the values.
    pub(super) fn values(
        &mut self,
        (shape, host): (&Shape, &Host),
        pages: Pages,
        count: usize,
        dictionary: Dictionary,
        direct: Option<Direct>,
        (chains, chains_at): (Chains, Ptr),
    ) -> Result<Values, Halt> {
        use PageEncoding as E;
        let is_text = shape.form.is_text();
        let any = |encodings: &[E]| host.pages.iter().any(|p| encodings.contains(&p.encoding));
        // Without nulls the lengths become the offsets of the array.
        let mut values = Values {
            words: self.take(count * 8)?,
            lens: self.take(if is_text { (count + 1) * 8 } else { 0 })?,
            deltas: Ptr(0),
        };
        let mut args = ValueArgs {
            pages: pages.at,
            page_count: pages.count,
            words: values.words,
            lens: values.lens,
            dictionary: dictionary.bytes,
            dictionary_count: dictionary.count as u64,
            dictionary_lens: if host.is_dense(shape) { dictionary.lens } else { Ptr(0) },
            marks: Ptr(0),
            out: direct.map_or(Ptr(0), |direct| direct.out),
            width: direct.map_or(0, |direct| direct.width),
            keys: direct.is_some_and(|direct| direct.keys),
            totals: Ptr(0),
            text: Ptr(0),
            bad: pages.bad,
        };
        if !chains.is_empty() && count > 0 {
            let places = (values.words, values.lens);
            chains.walk(self, chains_at, places)?.strings(self)?;
        }
        // Both at once, as most of the device is idle then.
        let has_runs = any(&[E::Dictionary, E::Runs]);
        let has_deltas = any(&[E::Delta, E::DeltaLength]);
        let mut index = PartArgs {
            words: args.words,
            lens: args.lens,
            out: args.out,
            width: args.width,
            ..pages.index()
        };
        if has_runs {
            args.marks = self.marks(host)?;
            index.marks = args.marks;
        }
        let slots = host.entries / usize::try_from(DELTA_BLOCK).unwrap_or(1) + host.pages.len();
        if has_deltas {
            values.deltas = self.take(host.pages.len() * DeltaPage::BYTES)?;
            index.deltas = values.deltas;
            index.slots = self.take(slots * 8)?;
            index.leasts = self.take(slots * 8)?;
            index.sums = self.take((slots + 1) * 8)?;
            index.slot_count = slots as u64;
        }
        if has_runs || has_deltas {
            self.launch(PAGE_INDEX, pages.count, &index)?;
        }
        if has_deltas {
            // A warp each.
            let blocks = self.blocks(index.slot_count * 32);
            self.launch(DELTA_SUMS, blocks, &index)?;
            self.scan(index.sums, slots)?;
            self.launch(DELTA_VALUES, blocks, &index)?;
        }
        if has_runs {
            self.launch(RUN_VALUES, self.tiles(host), &args)?;
        }
        if is_text && any(&[E::Plain]) {
            self.launch(PAGE_STRINGS, self.blocks(pages.count), &args)?;
        }
        if any(&[E::DeltaStrings]) {
            args.totals = self.zeros(host.pages.len() * 8)?;
            self.launch(PAGE_VALUES, pages.count, &args)?;
            let parts = [(args.totals, host.pages.len() * 8), (pages.bad, 4)];
            let fetched = self.fetch(&parts)?;
            if fetched[1].iter().any(|byte| *byte != 0) {
                return Err(Halt::Unsure);
            }
            let mut starts = Vec::with_capacity(host.pages.len() * 8);
            let mut sum = 0_u64;
            for page in 0..host.pages.len() {
                starts.extend(sum.to_le_bytes());
                sum = sum.saturating_add(number(&fetched[0], page));
            }
            args.text = self.take(usize::try_from(sum).unwrap_or(usize::MAX))?;
            self.copy_in(args.totals, &starts)?;
            self.launch(PAGE_JOINS, pages.count, &args)?;
        }
        Ok(values)
    }
}

/// Chains of the pages that are split, and the number of each page's: large ones of strings one
/// after another.
pub(super) fn chains(
    run: &Run<'_>,
    shape: &Shape,
    host: &Host,
    pages: Ptr,
) -> (Chains, Vec<Option<usize>>) {
    let rule = Rule::new(run.options, host.pages.len());
    let mut all = Chains::default();
    let of_page = host.pages.iter().enumerate().map(|(number, page)| {
        if page.encoding != PageEncoding::Plain || !shape.form.is_text() {
            return None;
        }
        let room = page.values.len() as u64;
        let chain = all.add(rule, run.segment(), ChainForm::Strings, room)?;
        all.get(chain)?.page = pages.offset((number * PageDesc::BYTES) as u64).0;
        Some(chain)
    });
    let of_page = of_page.collect();
    (all, of_page)
}
