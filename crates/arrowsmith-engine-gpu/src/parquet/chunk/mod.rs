// SPDX-License-Identifier: Apache-2.0
//! One column chunk: copies its pages to the device, runs the kernels, and returns an array and its
//! ancestors' nulls and offsets.

mod dictionary;
mod gather;
mod run;
mod slots;
mod unpack;
mod values;

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, make_array, new_empty_array};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use self::dictionary::dictionary;
use self::gather::{Parts, Rows, gather};
pub(super) use self::run::{Halt, Run};
use self::slots::Levels;
pub(super) use self::unpack::unpacked;
use self::unpack::{Packed, unpack};
pub(super) use self::values::{DELTA_BLOCK, RUN_EACH};
use self::values::{Direct, chains};
use super::pages::Host;
use super::shape::Shape;
use super::split::Chains;
use crate::abi::*;
use crate::device::Ptr;
use crate::device::memory::{Refused, Sent};
use crate::device::resident::{Part, Tree};

/// A leaf, as the device has decoded it.
pub(super) struct Decoded {
    pub array: ArrayRef,
    /// Nulls and offsets of its ancestors.
    pub ancestors: Vec<(Option<NullBuffer>, ScalarBuffer<i32>)>,
}

/// Decodes the pages of a chunk.
pub(super) fn decode(run: &mut Run<'_>, shape: &Shape, host: &Host) -> Result<Decoded, Halt> {
    let mut decoded = column(run, shape, host)?;
    let Some(keys) = &shape.keys else { return Ok(decoded) };
    // The decoded values are keys; the dictionary is a page of values.
    let entries = host.entries_of_dictionary().ok_or(Halt::Unsure)?;
    let values = match entries.entries {
        0 => new_empty_array(&shape.data_type),
        _ => column(run, &shape.entries(), &entries)?.array,
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
    let placed = place(run, shape, host)?;
    unpack(run, &[placed.packed(host)])?;
    let made = make(run, shape, host, placed)?;
    let array = fetched(run, shape, &made)?;
    let ancestors = shape.ancestors.iter().map(|ancestor| run.ancestor(made.levels, ancestor));
    Ok(Decoded { array, ancestors: ancestors.collect::<Result<_, _>>()? })
}

/// A column without ancestors whose work is queued, and that stays in the arena.
pub(super) struct Queued {
    shape: Shape,
    made: Made,
}

/// A column without ancestors whose pages are sent.
pub(super) struct Read {
    shape: Shape,
    host: Host,
    placed: Placed,
}

impl Read {
    /// A column, of pages that were read.
    pub fn new(run: &mut Run<'_>, shape: Shape, host: Host) -> Result<Self, Halt> {
        let placed = place(run, &shape, &host)?;
        Ok(Self { shape, host, placed })
    }

    /// Whether the device has pages to decompress.
    pub fn is_packed(&self) -> bool {
        !self.host.tasks.is_empty()
    }

    /// Decompresses the pages of some columns.
    pub fn unpack(run: &mut Run<'_>, columns: &[&Self]) -> Result<(), Refused> {
        let packed: Vec<_> =
            columns.iter().map(|column| column.placed.packed(&column.host)).collect();
        unpack(run, &packed).map(drop)
    }

    /// Queues the work of a column whose pages are decompressed.
    pub fn queue(self, run: &mut Run<'_>) -> Result<Queued, Halt> {
        let made = make(run, &self.shape, &self.host, self.placed)?;
        Ok(Queued { shape: self.shape, made })
    }
}

impl Queued {
    /// Where it is noted whether anything is malformed, and how many nulls there are.
    pub fn notes(&self) -> impl Iterator<Item = (Ptr, u64)> {
        (0..NOTES).map(|part| match self.made.parts.get(part) {
            Some((at, bytes)) => (*at, *bytes as u64),
            None => (Ptr(0), 0),
        })
    }

    /// The column, by its notes; `None` if another engine has to decode it.
    pub fn tree(self, bad: &[u8], nulls: &[u8]) -> Option<Tree> {
        let Self { shape, made } = self;
        let [_, _, bits, buffers @ ..] = &made.parts[..] else { return None };
        let nulls = nulls.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        if bad.iter().any(|byte| *byte != 0) || (nulls > 0 && !shape.nullable) {
            return None;
        }
        let part = |(at, bytes): &(Ptr, usize)| Part { at: *at, bytes: *bytes as u64 };
        Some(Tree {
            data_type: shape.data_type,
            len: made.rows,
            null_count: nulls,
            valid: (nulls > 0).then(|| part(bits)),
            buffers: buffers.iter().map(part).collect(),
            children: Vec::new(),
        })
    }
}

/// Parts of [`Queued::notes`].
const NOTES: usize = 2;

/// The device's result for a chunk.
struct Made {
    levels: Levels,
    rows: usize,
    /// Whether anything is malformed; how many nulls; validity; then the buffers of the array.
    /// Empty without rows.
    parts: Vec<(Ptr, usize)>,
}

/// What of a column is on the device, before its pages are decompressed.
struct Placed {
    /// Memory for the pages that the device decompresses.
    unpacked: Ptr,
    /// Where anything malformed is noted.
    bad: Ptr,
    /// Where its pages are described.
    pages: Ptr,
    chains: Chains,
    chains_at: Ptr,
}

impl Placed {
    fn packed<'h>(&self, host: &'h Host) -> Packed<'h> {
        Packed { host, unpacked: self.unpacked, pages: self.pages, bad: self.bad }
    }
}

/// Describes the pages of a chunk.
fn place(run: &mut Run<'_>, shape: &Shape, host: &Host) -> Result<Placed, Halt> {
    let unpacked = run.zeros(host.unpacked_bytes)?;
    let bad = run.zeros(4)?;
    // Where the pages are described, since those that are split are named by their chains.
    let at = run.take(host.pages.len() * PageDesc::BYTES)?;
    let (chains, chain_of) = chains(run, shape, host, at);
    let chains_at = chains.place(run)?;
    let is_dense = host.is_dense(shape);
    let mut pages = Vec::with_capacity(host.pages.len());
    let mut first = 0;
    for (number, page) in host.pages.iter().enumerate() {
        let at = |sent: Sent| (sent.at.0, sent.len as u64);
        let (levels, levels_len) = page.def.map_or((0, 0), at);
        let (reps, reps_len) = page.rep.map_or((0, 0), at);
        pages.push(PageDesc {
            values: page.values.at(unpacked).0,
            values_len: page.values.len() as u64,
            levels,
            levels_len,
            reps,
            reps_len,
            count: page.count as u64,
            first,
            encoding: page.encoding as u64,
            // Else they are found on the device.
            value_first: if is_dense { first } else { 0 },
            value_count: if is_dense { page.count as u64 } else { 0 },
            chain: chain_of[number]
                .map_or(0, |chain| chains_at.offset((chain * ChainTask::BYTES) as u64).0),
        });
        first += page.count as u64;
    }
    run.copy_in(at, &bytes_of(&pages))?;
    Ok(Placed { unpacked, bad, pages: at, chains, chains_at })
}

/// Decodes pages that are decompressed.
fn make(run: &mut Run<'_>, shape: &Shape, host: &Host, placed: Placed) -> Result<Made, Halt> {
    run.sent()?;
    let Placed { unpacked, bad, pages: at, chains, chains_at } = placed;
    let pages = values::Pages { at, count: host.pages.len() as u64, bad };
    let entries = run.entries(shape, host, pages)?;
    let levels = entries.levels;
    // Output rows: all entries, or those at which a value of the leaf begins.
    let mut rows =
        Rows { count: host.entries, entry_of: Ptr(0), marks: Ptr(0), valid: entries.valid };
    if shape.slots != (0, 0) {
        let slots = run.slots(levels, shape.slots)?;
        (rows.count, rows.marks) = (slots.count, slots.marks);
        rows.entry_of = run.take(slots.count * 8)?;
        rows.valid = run.take(slots.count)?;
        let mut args = Run::slot_args(levels, shape.slots, shape.def_max, slots.marks);
        (args.valid, args.entry_of) = (rows.valid, rows.entry_of);
        run.launch(WRITE_SLOTS, run.blocks(host.entries as u64), &args)?;
    }
    let dictionary = dictionary(run, shape, host, unpacked, bad)?;
    let direct = Direct::of(run, shape, host)?;
    let chains = (chains, chains_at);
    let values = run.values((shape, host), pages, entries.values, dictionary, direct, chains)?;
    let parts = Parts { pages: at, entries, values, dictionary, direct, bad };
    let parts = gather(run, shape, host, &parts, &rows)?;
    Ok(Made { levels, rows: rows.count, parts })
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
        data = data.null_bit_buffer(Some(bits));
    } else if has_nulls && shape.ancestors.is_empty() && shape.slots == (0, 0) && shape.def_max <= 1
    {
        // Nothing else can be null here.
        return Err(Halt::Unsure);
    }
    for part in fetched {
        data = data.add_buffer(part);
    }
    // Validated by Arrow: an invalid array is not returned.
    let array = make_array(data.build().map_err(|_| Halt::Unsure)?);
    if shape.keys.is_some() || shape.made == shape.data_type {
        return Ok(array);
    }
    arrow_cast::cast(&array, &shape.data_type).map_err(|_| Halt::Unsure)
}
