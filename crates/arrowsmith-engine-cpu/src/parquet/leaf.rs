// SPDX-License-Identifier: Apache-2.0
//! One column chunk, page by page: the requested number of rows, from levels and values to buffers.
//!
//! A column without lists and structures around it has one level per row, which is its validity:
//! its levels become bits at once. For all others the levels are decoded, some thousand at a time,
//! so that they stay in the L1 cache while the leaf and its ancestors use them.

use std::sync::{Mutex, PoisonError};

use arrow_array::ArrayRef;
use arrowsmith_core::{Error, FileErrorKind, Result};
use arrowsmith_engine::ColumnRequest;
use arrowsmith_parquet::nest::NestedLeaf;
use arrowsmith_parquet::{
    DictionaryPage, Page, PageBuffers, PageLocation, Pages, Share, page_locations,
};
use arrowsmith_simd::column::Rows;
use arrowsmith_simd::column::levels::{Levels, Slots, count, find_row, validity};
use arrowsmith_simd::{Buf, Level};

use super::levels::{Ancestor, PageLevels, Validity};
use super::values::{self, Values};
use super::{corrupt, fault};

/// Levels that are decoded at a time.
const LEVELS: usize = 16 << 10;

/// Bytes that are reserved whatever the column chunk's size is; more only if it is likely to need
/// them.
const ROOM_AT_LEAST: usize = 16 << 20;

/// Likely maximum bytes in memory for one byte of the file.
const ROOM_PER_BYTE: usize = 64;

/// Bytes of buffers that are worth keeping for the next chunk.
const BUFFER_BYTES_MAX: usize = 32 << 20;

/// Idle buffers and decompressors.
static BUFFERS: Mutex<Vec<PageBuffers>> = Mutex::new(Vec::new());

/// How many of them are kept.
const BUFFERS_MAX: usize = 16;

/// Decodes one column chunk.
pub(super) struct LeafDecoder {
    pages: Pages,
    values: Box<dyn Values>,
    level: Level,
    /// Whether the levels are the validity.
    flat: bool,
    max_def: u8,
    max_rep: u8,
    slots: Slots,
    /// The ancestors of which it is the first leaf, outermost first.
    pub(super) ancestors: Vec<Ancestor>,
    validity: Validity,
    /// Whether nulls are the leaf's own, and not only those of a parent.
    nullable: bool,
    /// Slots of the batch so far.
    slots_taken: usize,
    /// The maximum number of bytes that a batch may come to.
    bytes_max: usize,
    /// The share of the columns' budget that the batch and the dictionary have taken.
    batch: Share,
    dictionary: Share,
    /// Slots that a row of the chunk has on average, times 1,024.
    slots_per_1024_rows: usize,
    /// Maximum bytes to reserve before there are values to fill them.
    room_max: usize,
    /// The row of the row group that comes next.
    row: usize,
    /// Entries of the page whose levels have not been read yet.
    page_left: usize,
    def: PageLevels,
    rep: PageLevels,
    /// Decoded levels; those before `at` are consumed.
    pending: Pending,
    /// Whether the entry before the next one is known to belong to a row.
    begun: bool,
    /// Where the pages are, if rows are to be skipped.
    locations: Vec<PageLocation>,
}

#[derive(Debug, Default)]
struct Pending {
    def: Buf<u8>,
    rep: Buf<u8>,
    entries: usize,
    at: usize,
}

impl LeafDecoder {
    /// A decoder of the column chunk of one leaf of the request.
    pub(super) fn new(
        request: &ColumnRequest<'_>,
        nested: &NestedLeaf,
        level: Level,
    ) -> Result<Self> {
        let ColumnRequest { file, row_group, selection, options, budget, .. } = *request;
        let NestedLeaf { leaf, slots, ancestors } = nested;
        let (slots, ancestors) = (*slots, ancestors.iter().map(Ancestor::new).collect::<Vec<_>>());
        let unsupported = |reason| {
            file.place(Error::file(FileErrorKind::Unsupported, reason), row_group, leaf.index)
        };
        let limits = file.limits();
        let bytes_max = limits.page_bytes_max.min(budget.bytes_max());
        let values = values::of(leaf, level, bytes_max).map_err(unsupported)?;
        let max = |level: u16| {
            u8::try_from(level).map_err(|_| unsupported("more than 255 levels".to_owned()))
        };
        let (max_def, max_rep) = (max(leaf.max_def)?, max(leaf.max_rep)?);
        let rows = file.row_group_rows(row_group)?;
        let range = file.chunk_range(row_group, leaf.index)?;
        let mut locations = Vec::new();
        if selection.is_some_and(|selection| selection.rows() < rows)
            && let Some(found) = page_locations(file, row_group, leaf.index)?
            && found.iter().all(|page| range.contains(&page.offset))
        {
            locations = found;
        }
        let chunk = file.chunk(row_group, leaf.index)?;
        let entries = usize::try_from(chunk.num_values()).unwrap_or(0);
        let stored = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let mut values = values;
        if let Some(bytes) = chunk.unencoded_byte_array_data_bytes() {
            values.expect_bytes(usize::try_from(bytes).unwrap_or(0), rows);
        }
        let buffers = BUFFERS.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let buffers = buffers.unwrap_or_default();
        let pages = Pages::with_buffers(file, row_group, leaf.index, buffers)?
            .within(budget)
            .verify_checksums(options.verify_checksums)
            .leave_values(values.reads_stored());
        Ok(Self {
            pages,
            level,
            flat: max_rep == 0 && max_def <= 1 && ancestors.is_empty() && slots.definition == 0,
            max_def,
            max_rep,
            slots,
            ancestors,
            validity: Validity::default(),
            nullable: leaf.field.is_nullable(),
            slots_taken: 0,
            bytes_max,
            batch: budget.share(),
            dictionary: budget.share(),
            slots_per_1024_rows: entries.saturating_mul(1024) / rows.max(1),
            room_max: stored.saturating_mul(ROOM_PER_BYTE).max(ROOM_AT_LEAST).min(bytes_max),
            values,
            row: 0,
            page_left: 0,
            def: PageLevels::None,
            rep: PageLevels::None,
            pending: Pending::default(),
            begun: false,
            locations,
        })
    }

    /// Bytes of a row, where every row is of that width.
    pub(super) fn row_bytes(&self) -> Option<usize> {
        let one = self.max_rep == 0 && self.values.text_bytes().is_none();
        one.then(|| self.values.slot_bytes())
    }

    /// Maximum bytes of a slot, as far as that is known.
    pub(super) fn slot_bytes_max(&self) -> usize {
        self.values.slot_bytes().saturating_add(self.values.entry_bytes_max())
    }

    /// The maximum number of bytes that a batch may come to.
    pub(super) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Bytes of the batch so far.
    pub(super) fn bytes(&self) -> usize {
        let slots = self.slots_taken.saturating_mul(self.values.slot_bytes());
        let ancestors = self.ancestors.iter().map(Ancestor::bytes).sum::<usize>();
        slots.saturating_add(ancestors).saturating_add(self.values.text_bytes().unwrap_or(0))
    }

    /// Checks the batch with this many more slots against its limit, before they are decoded.
    fn grow(&mut self, slots: usize) -> Result<()> {
        self.slots_taken = self.slots_taken.saturating_add(slots);
        let bytes = self.bytes();
        if bytes > self.bytes_max {
            return Err(too_large(self.bytes_max));
        }
        self.batch.grow(bytes)
    }

    /// Decodes the chunk's dictionary.
    fn read_dictionary(
        values: &mut dyn Values,
        share: &mut Share,
        page: &DictionaryPage<'_>,
    ) -> Result<()> {
        // An entry takes a byte of the page at least; both its bytes and what is made of them are
        // kept.
        let bytes = page.values.len();
        let entries = page.count.min(bytes).saturating_mul(values.slot_bytes().min(32) + 16);
        share.grow(bytes.saturating_mul(2).saturating_add(entries))?;
        values.dictionary(page)
    }

    /// Starts a batch of `rows` rows of about `bytes_max` bytes at most.
    pub(super) fn begin(&mut self, rows: usize, bytes_max: usize) {
        self.slots_taken = 0;
        self.batch.clear();
        let slots = if self.max_rep == 0 {
            rows
        } else {
            let per_row = self.slots_per_1024_rows;
            (rows / 1024 + 1).saturating_mul(per_row + per_row / 32)
        };
        let room = self.room_max.min(bytes_max.saturating_add(LEVELS));
        self.values.begin(slots.min(room / self.values.slot_bytes().max(1)), room);
    }

    /// Takes the next `rows` rows.
    pub(super) fn take(&mut self, rows: usize) -> Result<()> {
        let done =
            if self.flat { self.take_flat(rows, true) } else { self.take_nested(rows, true) };
        done.map_err(|error| self.place(error))?;
        self.row += rows;
        Ok(())
    }

    /// Skips the rows before row `to`.
    pub(super) fn skip_to(&mut self, to: usize) -> Result<()> {
        self.jump(to)?;
        let mut rows = to.saturating_sub(self.row);
        while rows > 0 {
            if self.page_left == 0
                && self.pending.at == self.pending.entries
                && let Some(page) = self.pages.peek()?
                && !page.dictionary
                && let Some(page_rows) =
                    page.rows.filter(|page_rows| (1..=rows).contains(page_rows))
            {
                self.pages.skip()?;
                self.row += page_rows;
                rows -= page_rows;
                continue;
            }
            // Only to the end of this page: the next one may be skipped by the page index.
            let some = if self.page_left > 0 && self.max_rep == 0 {
                rows.min(self.page_left + self.pending.entries - self.pending.at)
            } else {
                rows.min(LEVELS)
            };
            let done =
                if self.flat { self.take_flat(some, false) } else { self.take_nested(some, false) };
            done.map_err(|error| self.place(error))?;
            self.row += some;
            rows -= some;
        }
        Ok(())
    }

    /// Goes to the page of row `to`, if the page index says where it is and it is another one.
    fn jump(&mut self, to: usize) -> Result<()> {
        let page = self.locations.partition_point(|page| page.rows.end <= to);
        let Some(page) = self.locations.get(page).filter(|page| page.rows.start > self.row) else {
            return Ok(());
        };
        // The dictionary precedes all of them.
        if self.row == 0
            && self.pages.peek()?.is_some_and(|page| page.dictionary)
            && let Some(Page::Dictionary(dictionary)) = self.pages.next()?
        {
            let values = &mut *self.values;
            let done = Self::read_dictionary(values, &mut self.dictionary, &dictionary);
            done.map_err(|error| self.place(error))?;
        }
        self.pages.seek(page.offset);
        self.row = page.rows.start;
        self.page_left = 0;
        self.pending.at = self.pending.entries;
        self.begun = false;
        Ok(())
    }

    fn place(&self, error: Error) -> Error {
        self.pages.place_current(error)
    }

    /// Goes to the next page that has entries; returns whether there is one.
    fn next_page(&mut self) -> Result<bool> {
        loop {
            self.pages.advance()?;
            match self.pages.current() {
                None => return Ok(false),
                Some(Page::Dictionary(page)) => {
                    Self::read_dictionary(&mut *self.values, &mut self.dictionary, &page)?;
                }
                Some(Page::Data(page)) => {
                    self.values.page(&page)?;
                    self.def = PageLevels::open(&page.def, page.count)?;
                    self.rep = PageLevels::open(&page.rep, page.count)?;
                    self.page_left = page.count;
                    if page.count > 0 {
                        return Ok(true);
                    }
                }
            }
        }
    }

    fn take_flat(&mut self, mut rows: usize, keep: bool) -> Result<()> {
        while rows > 0 {
            if self.page_left == 0 && !self.next_page()? {
                return Err(fewer());
            }
            let some = rows.min(self.page_left);
            if keep {
                self.grow(some)?;
            }
            let Some(Page::Data(page)) = self.pages.current() else { return Err(fewer()) };
            if keep {
                let from = self.validity.bits.len();
                let mut valid = some;
                if self.max_def > 0 {
                    let bits = &mut self.validity.bits;
                    valid = self.def.read_bits(self.level, &page.def, some, bits)?;
                    self.validity.count(some, valid);
                }
                let rows = if valid == some {
                    Rows::All(some)
                } else {
                    Rows::Valid { bits: &self.validity.bits, from, to: from + some }
                };
                self.values.read(&page, rows, valid)?;
            } else {
                let valid = match self.max_def {
                    0 => some,
                    _ => self.def.skip_bits(&page.def, some)?,
                };
                self.values.skip(&page, valid)?;
            }
            self.page_left -= some;
            rows -= some;
        }
        Ok(())
    }

    /// Ensures that there are levels; returns whether there are.
    fn fill(&mut self) -> Result<bool> {
        if self.pending.at < self.pending.entries {
            return Ok(true);
        }
        if self.page_left == 0 && !self.next_page()? {
            return Ok(false);
        }
        let Some(Page::Data(page)) = self.pages.current() else { return Ok(false) };
        let some = self.page_left.min(LEVELS);
        let Pending { def, rep, entries, at } = &mut self.pending;
        def.truncate(0);
        rep.truncate(0);
        if self.max_def > 0 {
            self.def.read(self.level, &page.def, some, def)?;
        }
        if self.max_rep > 0 {
            self.rep.read(self.level, &page.rep, some, rep)?;
        }
        (*entries, *at) = (some, 0);
        self.page_left -= some;
        Ok(true)
    }

    fn take_nested(&mut self, rows: usize, keep: bool) -> Result<()> {
        // Rows that may still begin.
        let mut left = rows;
        while left > 0 || self.max_rep > 0 {
            if !self.fill()? {
                return if left > 0 { Err(fewer()) } else { Ok(()) };
            }
            let Pending { rep, entries, at, .. } = &self.pending;
            let (at, rest) = (*at, entries - at);
            let (cut, begun) = if self.max_rep == 0 {
                (rest.min(left), rest.min(left))
            } else {
                let rep = &rep.as_slice()[at..];
                if !self.begun && rep[0] != 0 {
                    return Err(corrupt("the column begins within a row"));
                }
                let cut = find_row(self.level, rep, left).unwrap_or(rest);
                let levels = Levels { definition: &[], repetition: &rep[..cut] };
                let starts = Slots { repetition: 0, definition: 0 };
                (cut, count(self.level, levels, cut, starts, 0).map_err(fault)?.0)
            };
            self.begun = true;
            self.emit(at, cut, keep)?;
            self.pending.at += cut;
            left -= begun;
            // Another row begins.
            if cut < rest {
                break;
            }
        }
        Ok(())
    }

    /// Passes entries to the leaf's values and to the ancestors.
    fn emit(&mut self, at: usize, entries: usize, keep: bool) -> Result<()> {
        if entries == 0 {
            return Ok(());
        }
        // Empty where there are none.
        let (def, rep) = (self.pending.def.as_slice(), self.pending.rep.as_slice());
        let levels = Levels {
            definition: def.get(at..at + entries).unwrap_or_default(),
            repetition: rep.get(at..at + entries).unwrap_or_default(),
        };
        let (level, slots, max_def) = (self.level, self.slots, self.max_def);
        if !keep {
            let (_, valid) = count(level, levels, entries, slots, max_def).map_err(fault)?;
            let Some(Page::Data(page)) = self.pages.current() else { return Err(fewer()) };
            return self.values.skip(&page, valid);
        }
        for ancestor in &mut self.ancestors {
            ancestor.push(level, levels, entries)?;
        }
        let bits = &mut self.validity.bits;
        let from = bits.len();
        // Where a slot cannot be null, it need not be looked at.
        let (slots, valid) = if max_def > slots.definition {
            let counts = validity(level, levels, entries, slots, max_def, bits).map_err(fault)?;
            self.validity.count(counts.0, counts.1);
            counts
        } else {
            count(level, levels, entries, slots, max_def).map_err(fault)?
        };
        self.grow(slots)?;
        let Some(Page::Data(page)) = self.pages.current() else { return Err(fewer()) };
        let rows = if valid == slots {
            Rows::All(slots)
        } else {
            Rows::Valid { bits: &self.validity.bits, from, to: from + slots }
        };
        self.values.read(&page, rows, valid)
    }

    /// The array of all slots since the last call.
    pub(super) fn array(&mut self) -> Result<ArrayRef> {
        let nulls = self.validity.take().filter(|_| self.nullable);
        let array = self.values.take(nulls).map_err(|error| self.place(error));
        self.batch.clear();
        array
    }
}

impl Drop for LeafDecoder {
    fn drop(&mut self) {
        let buffers = self.pages.take_buffers();
        if buffers.bytes_held() > BUFFER_BYTES_MAX {
            return;
        }
        let mut kept = BUFFERS.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < BUFFERS_MAX {
            kept.push(buffers);
        }
    }
}

fn fewer() -> Error {
    Error::file(FileErrorKind::Truncated, "the column has fewer rows than the row group")
}

fn too_large(bytes_max: usize) -> Error {
    let message = format!(
        "one batch of the column takes more than {bytes_max} bytes, which is what page_bytes_max and \
         memory_bytes_max allow; smaller batches may help"
    );
    Error::file(FileErrorKind::Limit, message)
}
