// SPDX-License-Identifier: Apache-2.0
//! One column chunk: copies its pages to the device, runs the kernels, and returns an array and its
//! ancestors' nulls and offsets.

mod dictionary;
mod gather;
mod run;
mod slots;
mod unpack;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, make_array, new_empty_array};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use self::dictionary::dictionary;
use self::gather::{Parts, Rows, gather};
use self::run::number;
pub(super) use self::run::{Halt, Run};
use self::slots::Levels;
pub(super) use self::unpack::unpacked;
use self::unpack::{Areas, unpack};
use super::pages::Host;
use super::shape::Shape;
use super::split::{Chains, Rule};
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
