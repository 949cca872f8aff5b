// SPDX-License-Identifier: Apache-2.0
//! One column chunk: copies its pages to the device, runs the kernels, and returns an array and its
//! ancestors' nulls and offsets.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, make_array, new_empty_array};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, ScalarBuffer};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use arrowsmith_core::Result;
use arrowsmith_parquet::nest::Ancestor;

use super::pages::{Host, Place};
use super::shape::{Form, Shape};
use super::split::{self, Chains, EACH, Rule};
use crate::GpuOptions;
use crate::abi::*;
use crate::device::memory::{Arena, Refused};
use crate::device::resident::{Part, Tree};
use crate::device::{Ptr, Stream};

/// A leaf, as the device has decoded it.
pub(super) struct Decoded {
    pub array: ArrayRef,
    /// Nulls and offsets of its ancestors.
    pub ancestors: Vec<(Option<NullBuffer>, ScalarBuffer<i32>)>,
}

/// Why a leaf was not decoded.
#[derive(Debug)]
pub(super) enum Halt {
    /// It needs more memory, or larger offsets, than allowed: fewer rows may fit.
    TooLarge,
    /// The device is in doubt: another engine decodes it.
    Unsure,
    /// The device failed.
    Failed(arrowsmith_core::Error),
}

impl From<Refused> for Halt {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Bound => Self::TooLarge,
            Refused::Device(error) => Self::Failed(error),
        }
    }
}

/// One chunk in progress.
pub(super) struct Run<'r> {
    stream: &'r mut dyn Stream,
    arena: &'r mut Arena,
    pub options: &'r GpuOptions,
}

impl<'r> Run<'r> {
    /// A chunk with this memory.
    pub fn new(stream: &'r mut dyn Stream, arena: &'r mut Arena, options: &'r GpuOptions) -> Self {
        Self { stream, arena, options }
    }

    /// Positions of a segment of a page that is split.
    pub fn segment(&self) -> u64 {
        self.stream.block_threads() * EACH
    }

    /// The number of blocks that cover this many threads.
    pub fn blocks(&self, threads: u64) -> u64 {
        self.stream.blocks(threads)
    }

    /// Memory with undefined content.
    pub fn take(&mut self, bytes: usize) -> Result<Ptr, Refused> {
        let at = self.arena.take(bytes as u64)?;
        self.arena.fence(self.stream, at, bytes as u64).map_err(Refused::Device)?;
        Ok(at)
    }

    /// Copies bytes to memory that was taken.
    pub fn copy_in(&mut self, at: Ptr, bytes: &[u8]) -> Result<(), Refused> {
        self.stream.copy_in(at, bytes).map_err(Refused::Device)
    }

    /// Copies bytes to the device.
    pub fn put(&mut self, bytes: &[u8]) -> Result<Ptr, Refused> {
        let at = self.take(bytes.len())?;
        self.copy_in(at, bytes)?;
        Ok(at)
    }

    /// Sets memory to a byte.
    pub fn fill(&mut self, at: Ptr, byte: u8, bytes: usize) -> Result<(), Refused> {
        self.stream.fill(at, byte, bytes as u64).map_err(Refused::Device)
    }

    fn zeros(&mut self, bytes: usize) -> Result<Ptr, Refused> {
        let at = self.take(bytes)?;
        self.fill(at, 0, bytes)?;
        Ok(at)
    }

    /// Runs a kernel.
    pub fn launch<A: Arguments>(
        &mut self,
        kernel: Kernel<A>,
        grid: u64,
        args: &A,
    ) -> Result<(), Refused> {
        kernel.launch(self.stream, grid, args).map_err(Refused::Device)
    }

    fn fetch(&mut self, parts: &[(Ptr, usize)]) -> Result<Vec<MutableBuffer>, Refused> {
        let parts: Vec<_> = parts.iter().map(|(at, bytes)| (*at, *bytes as u64)).collect();
        self.stream.fetch(&parts).map_err(Refused::Device)
    }

    /// Replaces an array of numbers by its exclusive prefix sums, followed by the total.
    fn scan(&mut self, values: Ptr, count: usize) -> Result<(), Refused> {
        let count = count as u64;
        let blocks = self.stream.blocks(count);
        let sums = self.take((usize::try_from(blocks).unwrap_or(usize::MAX) + 1) * 8)?;
        let args = SlotArgs { values, count, blocks, sums, totals: values.offset(count * 8) };
        self.launch(SLOTS_SUM, blocks, &args)?;
        self.launch(SLOTS_JOIN, 1, &args)?;
        self.launch(SLOTS_SPREAD, blocks, &args)
    }
}

/// Decodes the pages of a chunk.
pub(super) fn decode(
    stream: &mut dyn Stream,
    arena: &mut Arena,
    shape: &Shape,
    host: &Host,
    options: &GpuOptions,
) -> Result<Decoded, Halt> {
    let mut run = Run::new(stream, arena, options);
    let mut decoded = column(&mut run, shape, host)?;
    let Some(keys) = &shape.keys else { return Ok(decoded) };
    // The decoded values are keys; the dictionary is a page of values.
    let entries = host.entries_of_dictionary().ok_or(Halt::Unsure)?;
    let values = match entries.entries {
        0 => new_empty_array(&shape.data_type),
        _ => column(&mut run, &shape.entries(), &entries)?.array,
    };
    let data = decoded.array.to_data();
    decoded.array = dictionary_of(data, values, keys).ok_or(Halt::Unsure)?;
    Ok(decoded)
}

/// Keys and values as a dictionary array of a type.
fn dictionary_of(keys: ArrayData, values: ArrayRef, data_type: &DataType) -> Option<ArrayRef> {
    let array = DictionaryArray::<Int32Type>::try_new(Int32Array::from(keys), values).ok()?;
    if arrow_array::Array::data_type(&array) == data_type {
        return Some(Arc::new(array));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(&array, data_type, &options).ok()
}

fn number(bytes: &[u8], index: usize) -> u64 {
    let word = bytes.get(index * 8..index * 8 + 8).and_then(|bytes| bytes.try_into().ok());
    u64::from_le_bytes(word.unwrap_or_default())
}

/// The dictionary on the device: its bytes, or where its texts are, and how many there are.
#[derive(Debug, Clone, Copy, Default)]
struct Dictionary {
    bytes: Ptr,
    words: Ptr,
    lens: Ptr,
    count: usize,
}

/// Levels on the device, one per entry.
#[derive(Clone, Copy)]
struct Levels {
    def: Ptr,
    /// 0 where nothing repeats.
    rep: Ptr,
    entries: usize,
}

/// The slots of a node among the entries.
struct Slots {
    /// Whether an entry is a slot; after the scan, how many slots precede it.
    marks: Ptr,
    count: usize,
}

impl Run<'_> {
    fn slot_args(levels: Levels, at: (u8, u8), def_valid: u64, marks: Ptr) -> SlotsArgs {
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
    fn slots(&mut self, levels: Levels, at: (u8, u8)) -> Result<Slots, Refused> {
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
    fn pack(&mut self, bytes: Ptr, count: usize, bits: Ptr, nulls: Ptr) -> Result<(), Refused> {
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
    fn ancestor(
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

fn column(run: &mut Run<'_>, shape: &Shape, host: &Host) -> Result<Decoded, Halt> {
    let made = make(run, shape, host)?;
    let array = fetched(run, shape, &made)?;
    let ancestors = shape.ancestors.iter().map(|ancestor| run.ancestor(made.levels, ancestor));
    Ok(Decoded { array, ancestors: ancestors.collect::<Result<_, _>>()? })
}

/// Decodes a column without ancestors, and leaves it in the arena.
pub(super) fn stay(
    stream: &mut dyn Stream,
    arena: &mut Arena,
    shape: &Shape,
    host: &Host,
    options: &GpuOptions,
) -> Result<Tree, Halt> {
    let mut run = Run::new(stream, arena, options);
    let made = make(&mut run, shape, host)?;
    let [bad, nulls, bits, buffers @ ..] = &made.parts[..] else { return Err(Halt::Unsure) };
    let found = run.fetch(&[*bad, *nulls])?;
    let nulls = found[1].iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    if found[0].iter().any(|byte| *byte != 0) || (nulls > 0 && !shape.nullable) {
        return Err(Halt::Unsure);
    }
    let part = |(at, bytes): &(Ptr, usize)| Part { at: *at, bytes: *bytes as u64 };
    Ok(Tree {
        data_type: shape.data_type.clone(),
        len: made.rows,
        null_count: nulls,
        valid: (nulls > 0).then(|| part(bits)),
        buffers: buffers.iter().map(part).collect(),
        children: Vec::new(),
    })
}

/// The device's result for a chunk.
struct Made {
    levels: Levels,
    rows: usize,
    /// Whether anything is malformed; how many nulls; validity; then the buffers of the array.
    /// Empty without rows.
    parts: Vec<(Ptr, usize)>,
}

fn make(run: &mut Run<'_>, shape: &Shape, host: &Host) -> Result<Made, Halt> {
    let areas = Areas { sent: run.put(&host.bytes)?, unpacked: run.zeros(host.unpacked_bytes)? };
    let bad = run.zeros(4)?;
    // Where the pages are described, since those that are split are named by their chains.
    let at = run.take(host.pages.len() * PageDesc::BYTES)?;
    let mut chains = chains(run, shape, host, at);
    let chains_at = chains.all.place(run)?;
    let mut pages = Vec::with_capacity(host.pages.len());
    let mut first = 0;
    for (number, page) in host.pages.iter().enumerate() {
        let at = |range: &Range<usize>| (areas.sent.0 + range.start as u64, range.len() as u64);
        let (levels, levels_len) = page.def.as_ref().map_or((0, 0), at);
        let (reps, reps_len) = page.rep.as_ref().map_or((0, 0), at);
        pages.push(PageDesc {
            values: areas.at(&page.values).0,
            values_len: page.values.len() as u64,
            levels,
            levels_len,
            reps,
            reps_len,
            count: page.count as u64,
            first,
            encoding: page.encoding as u64,
            chain: chains.of_page[number]
                .map_or(0, |chain| chains_at.offset((chain * ChainTask::BYTES) as u64).0),
            ..PageDesc::default()
        });
        first += page.count as u64;
    }
    run.copy_in(at, &bytes_of(&pages))?;
    let pages = at;
    let page_count = host.pages.len() as u64;
    unpack(run, host, areas, pages, bad)?;
    let entries = host.entries;
    let levels = Levels {
        def: run.take(entries)?,
        rep: if shape.rep_max > 0 { run.take(entries)? } else { Ptr(0) },
        entries,
    };
    let valid = run.take(entries)?;
    let before = run.take((entries + 1) * 8)?;
    let args = LevelArgs {
        pages,
        page_count,
        def: levels.def,
        rep: levels.rep,
        valid,
        before,
        entries: entries as u64,
        def_max: shape.def_max,
        rep_max: shape.rep_max,
        bad,
    };
    run.launch(PAGE_LEVELS, page_count, &args)?;
    run.scan(before, entries)?;
    run.launch(PAGE_FIRSTS, run.stream.blocks(page_count), &args)?;
    let total = run.fetch(&[(before.offset(entries as u64 * 8), 8), (bad, 4)])?;
    let values = usize::try_from(number(&total[0], 0)).unwrap_or(usize::MAX);
    if values > entries || total[1].iter().any(|byte| *byte != 0) {
        return Err(Halt::Unsure);
    }
    // Output rows: all entries, or those at which a value of the leaf begins.
    let mut rows = Rows { count: entries, entry_of: Ptr(0), valid };
    if shape.slots != (0, 0) {
        let slots = run.slots(levels, shape.slots)?;
        rows.count = slots.count;
        rows.entry_of = run.take(slots.count * 8)?;
        rows.valid = run.take(slots.count)?;
        let mut args = Run::slot_args(levels, shape.slots, shape.def_max, slots.marks);
        (args.valid, args.entry_of) = (rows.valid, rows.entry_of);
        run.launch(WRITE_SLOTS, run.stream.blocks(entries as u64), &args)?;
    }
    let is_text = shape.form.is_text();
    let words = run.take(values * 8)?;
    let lens = run.take(if is_text { values * 8 } else { 0 })?;
    let totals = run.zeros(host.pages.len() * 8)?;
    let dictionary = dictionary(run, shape, host, areas, bad)?;
    let mut args = ValueArgs {
        pages,
        page_count,
        words,
        lens,
        dictionary_count: dictionary.count as u64,
        totals,
        text: Ptr(0),
        starts: Ptr(0),
        value_count: values as u64,
        bad,
    };
    if !chains.all.is_empty() && values > 0 {
        let all = std::mem::take(&mut chains.all);
        all.walk(run, chains_at, (words, lens), bad)?.values(run, chains.is_delta)?;
        if chains.is_delta && is_text {
            args.starts = run.take((values + 1) * 8)?;
            let blocks = run.blocks(values as u64);
            run.launch(LENGTH_STARTS, blocks, &args)?;
            run.scan(args.starts, values)?;
            run.launch(LENGTH_PLACES, blocks, &args)?;
        }
    }
    run.launch(PAGE_VALUES, page_count, &args)?;
    if is_text {
        run.launch(PAGE_STRINGS, run.stream.blocks(page_count), &args)?;
        if host.pages.iter().any(|page| page.encoding == PageEncoding::DeltaStrings) {
            let parts = [(totals, host.pages.len() * 8), (bad, 4)];
            let fetched = run.fetch(&parts)?;
            if fetched[1].iter().any(|byte| *byte != 0) {
                return Err(Halt::Unsure);
            }
            let mut starts = Vec::with_capacity(host.pages.len() * 8);
            let mut sum = 0_u64;
            for page in 0..host.pages.len() {
                starts.extend(sum.to_le_bytes());
                sum = sum.saturating_add(number(&fetched[0], page));
            }
            args.text = run.take(usize::try_from(sum).unwrap_or(usize::MAX))?;
            run.stream.copy_in(totals, &starts).map_err(Refused::Device)?;
            run.launch(PAGE_JOINS, page_count, &args)?;
        }
    }
    let parts = Parts { pages, valid, before, words, lens, dictionary, bad };
    let parts = gather(run, shape, host, &parts, &rows)?;
    Ok(Made { levels, rows: rows.count, parts })
}

/// The chains of the pages that are split.
struct PageChains {
    all: Chains,
    /// The number of each page's.
    of_page: Vec<Option<usize>>,
    is_delta: bool,
}

/// Which pages are split: large ones of deltas, or of strings one after another.
fn chains(run: &Run<'_>, shape: &Shape, host: &Host, pages: Ptr) -> PageChains {
    let is_delta = host
        .pages
        .iter()
        .any(|page| matches!(page.encoding, PageEncoding::Delta | PageEncoding::DeltaLength));
    let rule = Rule::new(run.options, host.pages.len());
    let mut all = Chains::default();
    let of_page = host.pages.iter().enumerate().map(|(number, page)| {
        let form = match page.encoding {
            PageEncoding::Delta | PageEncoding::DeltaLength => ChainForm::Delta,
            // Kernels of one launch have one form.
            PageEncoding::Plain if shape.form.is_text() && !is_delta => ChainForm::Strings,
            _ => return None,
        };
        let chain = all.add(rule, run.segment(), form, page.values.len() as u64)?;
        all.get(chain)?.page = pages.offset((number * PageDesc::BYTES) as u64).0;
        Some(chain)
    });
    let of_page = of_page.collect();
    PageChains { all, of_page, is_delta }
}

/// Addresses of the pages' bytes on the device.
#[derive(Clone, Copy)]
struct Areas {
    sent: Ptr,
    unpacked: Ptr,
}

impl Areas {
    fn at(self, place: &Place) -> Ptr {
        match place {
            Place::Sent(range) => self.sent.offset(range.start as u64),
            Place::Unpacked(range) => self.unpacked.offset(range.start as u64),
        }
    }
}

/// Unpacks the pages that were sent compressed, and finds where their levels end.
fn unpack(
    run: &mut Run<'_>,
    host: &Host,
    areas: Areas,
    pages: Ptr,
    bad: Ptr,
) -> Result<Vec<UnpackTask>, Refused> {
    let Some(codec) = host.codec.filter(|_| !host.tasks.is_empty()) else {
        return Ok(Vec::new());
    };
    let aside = run.take(host.aside_bytes)?;
    let desc = |page: usize| pages.offset((page * PageDesc::BYTES) as u64).0;
    let mut tasks: Vec<UnpackTask> = host
        .tasks
        .iter()
        .map(|task| UnpackTask {
            from: areas.sent.offset(task.from.start as u64).0,
            from_len: task.from.len() as u64,
            to: areas.unpacked.offset(task.to.start as u64).0,
            to_len: task.to.len() as u64,
            aside: aside.offset(task.aside as u64).0,
            cuts: task.cuts,
            page: task.page.map_or(0, desc),
            chain: 0,
        })
        .collect();
    split::unpack(run, host, &mut tasks, bad)?;
    let count = tasks.len() as u64;
    let args = UnpackArgs { tasks: run.put(&bytes_of(&tasks))?, task_count: count, bad };
    run.launch(codec.kernel(), count, &args)?;
    run.launch(CUT_PAGES, run.stream.blocks(count), &args)?;
    Ok(tasks)
}

/// Decompressed pages, if none is malformed; and how many of them were split.
pub(super) fn unpacked(run: &mut Run<'_>, host: &Host) -> Result<(Option<Vec<u8>>, usize), Halt> {
    let areas = Areas { sent: run.put(&host.bytes)?, unpacked: run.zeros(host.unpacked_bytes)? };
    let bad = run.zeros(4)?;
    let tasks = unpack(run, host, areas, Ptr(0), bad)?;
    // The last field of a chain is whether one block decoded the page after all.
    let serial = ChainTask::BYTES as u64 - 8;
    let mut parts = vec![(bad, 4), (areas.unpacked, host.unpacked_bytes)];
    parts.extend(
        tasks.iter().filter(|task| task.chain != 0).map(|task| (Ptr(task.chain + serial), 8)),
    );
    let fetched = run.fetch(&parts)?;
    let zero = |bytes: &MutableBuffer| bytes.iter().all(|byte| *byte == 0);
    let bytes = zero(&fetched[0]).then(|| fetched[1].to_vec());
    Ok((bytes, fetched[2..].iter().filter(|serial| zero(serial)).count()))
}

/// The output rows.
struct Rows {
    count: usize,
    /// The entry of each; 0 where all entries are rows.
    entry_of: Ptr,
    /// One byte per row.
    valid: Ptr,
}

/// Makes the dictionary ready; `None` for one that is malformed.
fn dictionary(
    run: &mut Run<'_>,
    shape: &Shape,
    host: &Host,
    areas: Areas,
    bad: Ptr,
) -> Result<Dictionary, Halt> {
    let Some((at, count)) = host.dictionary.clone() else { return Ok(Dictionary::default()) };
    let (bytes, len) = (areas.at(&at), at.len());
    if shape.keys.is_some() {
        // Its entries are decoded separately; each has at least one byte.
        if count > len {
            return Err(Halt::Unsure);
        }
        return Ok(Dictionary { bytes, count, ..Dictionary::default() });
    }
    let least = match shape.form {
        Form::Bits => return Err(Halt::Unsure),
        Form::Fixed { stored, .. } => usize::try_from(stored).unwrap_or(usize::MAX),
        Form::Bytes { .. } | Form::Decimals { .. } => 4,
    };
    if count.saturating_mul(least) > len {
        return Err(Halt::Unsure);
    }
    let mut dictionary = Dictionary { bytes, count, ..Dictionary::default() };
    if shape.form.is_text() {
        dictionary.words = run.take(count * 8)?;
        dictionary.lens = run.take(count * 8)?;
        let page = PageDesc {
            values: bytes.0,
            values_len: len as u64,
            count: count as u64,
            value_count: count as u64,
            ..PageDesc::default()
        };
        let args = ValueArgs {
            pages: run.put(&bytes_of(&[page]))?,
            page_count: 1,
            words: dictionary.words,
            lens: dictionary.lens,
            dictionary_count: 0,
            totals: Ptr(0),
            text: Ptr(0),
            starts: Ptr(0),
            value_count: 0,
            bad,
        };
        run.launch(PAGE_STRINGS, 1, &args)?;
    }
    Ok(dictionary)
}

/// The decoded pages on the device.
struct Parts {
    pages: Ptr,
    valid: Ptr,
    before: Ptr,
    words: Ptr,
    lens: Ptr,
    dictionary: Dictionary,
    bad: Ptr,
}

fn gather(
    run: &mut Run<'_>,
    shape: &Shape,
    host: &Host,
    parts: &Parts,
    rows: &Rows,
) -> Result<Vec<(Ptr, usize)>, Halt> {
    let count = rows.count;
    if count == 0 {
        return Ok(Vec::new());
    }
    // Words of malformed pages must not be used as addresses.
    let sound = run.fetch(&[(parts.bad, 4)])?;
    if sound[0].iter().any(|byte| *byte != 0) {
        return Err(Halt::Unsure);
    }
    let (stored, width, turn, factor) = match shape.form {
        Form::Bits => (0, 1, Turn::Copy, 1),
        Form::Fixed { stored, width, turn, factor } => (stored, width, turn, factor),
        Form::Bytes { .. } => (0, 0, Turn::Copy, 1),
        Form::Decimals { width } => (0, width, Turn::Copy, 1),
    };
    let mut args = GatherArgs {
        pages: parts.pages,
        page_count: host.pages.len() as u64,
        rows: count as u64,
        entry_of: rows.entry_of,
        valid: parts.valid,
        before: parts.before,
        words: parts.words,
        lens: parts.lens,
        dictionary: parts.dictionary.bytes,
        dictionary_words: parts.dictionary.words,
        dictionary_lens: parts.dictionary.lens,
        stored,
        width,
        turn,
        factor,
        out: Ptr(0),
        offsets: Ptr(0),
        narrow: Ptr(0),
        utf8: false,
        bad: parts.bad,
    };
    let blocks = run.stream.blocks(count as u64);
    let nulls = run.zeros(8)?;
    let bit_bytes = count.div_ceil(32) * 4;
    let bits = run.take(bit_bytes)?;
    run.pack(rows.valid, count, bits, nulls)?;
    let mut wanted = vec![(parts.bad, 4), (nulls, 4), (bits, bit_bytes)];
    match shape.form {
        Form::Bits | Form::Fixed { .. } | Form::Decimals { .. } => {
            let bytes = count.saturating_mul(usize::try_from(width).unwrap_or(usize::MAX));
            let out = run.take(bytes)?;
            args.out = out;
            let kernel = match shape.form {
                Form::Decimals { .. } => GATHER_DECIMALS,
                _ => GATHER_FIXED,
            };
            run.launch(kernel, blocks, &args)?;
            if shape.form == Form::Bits {
                let packed = run.take(bit_bytes)?;
                run.pack(out, count, packed, nulls.offset(4))?;
                wanted.push((packed, bit_bytes));
            } else {
                wanted.push((out, bytes));
            }
        }
        Form::Bytes { large, utf8 } => {
            let offsets = run.take((count + 1) * 8)?;
            (args.offsets, args.utf8) = (offsets, utf8);
            run.launch(GATHER_LENS, blocks, &args)?;
            run.scan(offsets, count)?;
            let total = run.fetch(&[(offsets.offset(count as u64 * 8), 8)])?;
            let total = number(&total[0], 0);
            if !large && total > run.options.offset_max {
                return Err(Halt::TooLarge);
            }
            let total = usize::try_from(total).unwrap_or(usize::MAX);
            let out = run.take(total)?;
            args.out = out;
            if large {
                wanted.push((offsets, (count + 1) * 8));
            } else {
                let narrow = run.take((count + 1) * 4)?;
                args.narrow = narrow;
                wanted.push((narrow, (count + 1) * 4));
            }
            run.launch(GATHER_TEXT, blocks, &args)?;
            wanted.push((out, total));
        }
    }
    Ok(wanted)
}

/// The array on the host.
fn fetched(run: &mut Run<'_>, shape: &Shape, made: &Made) -> Result<ArrayRef, Halt> {
    let count = made.rows;
    if count == 0 {
        let data_type = if shape.keys.is_some() { &DataType::Int32 } else { &shape.data_type };
        return Ok(new_empty_array(data_type));
    }
    let mut fetched = run.fetch(&made.parts)?.into_iter();
    let mut next = || fetched.next().unwrap_or_default();
    if next().iter().any(|byte| *byte != 0) {
        return Err(Halt::Unsure);
    }
    let has_nulls = next().iter().any(|byte| *byte != 0);
    let bits = next();
    let data_type = if shape.keys.is_some() { DataType::Int32 } else { shape.made.clone() };
    let mut data = ArrayData::builder(data_type).len(count);
    if has_nulls && shape.nullable {
        data = data.null_bit_buffer(Some(Buffer::from(bits)));
    } else if has_nulls && shape.ancestors.is_empty() && shape.slots == (0, 0) && shape.def_max <= 1
    {
        // Nothing else can be null here.
        return Err(Halt::Unsure);
    }
    for part in fetched {
        data = data.add_buffer(Buffer::from(part));
    }
    // Validated by Arrow: an invalid array is not returned.
    let array = make_array(data.build().map_err(|_| Halt::Unsure)?);
    if shape.keys.is_some() || shape.made == shape.data_type {
        return Ok(array);
    }
    arrow_cast::cast(&array, &shape.data_type).map_err(|_| Halt::Unsure)
}
