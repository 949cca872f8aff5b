// SPDX-License-Identifier: Apache-2.0
//! The last step of a chunk: the values of its pages, as the array has them.

use std::ops::Range;

use arrow_buffer::Buffer;

use super::super::pages::{Host, HostPage};
use super::super::shape::{Form, Shape};
use super::dictionary::Dictionary;
use super::run::{Halt, Run, number};
use super::values::{Direct, Entries, Values};
use crate::abi::*;
use crate::device::Ptr;

/// The output rows.
pub(super) struct Rows {
    pub(super) count: usize,
    /// The entry of each; 0 where all entries are rows.
    pub(super) entry_of: Ptr,
    /// The number of rows before each entry; 0 likewise.
    pub(super) marks: Ptr,
    /// One byte per row; 0 without nulls.
    pub(super) valid: Ptr,
}

/// The decoded pages on the device.
pub(super) struct Parts {
    pub(super) pages: Ptr,
    pub(super) entries: Entries,
    pub(super) values: Values,
    pub(super) dictionary: Dictionary,
    /// If the values of some pages are in the array already.
    pub(super) direct: Option<Direct>,
    pub(super) bad: Ptr,
}

/// Moves the values to the rows. Returns whether anything is malformed, how many nulls there are,
/// validity, and the buffers of the array.
pub(super) fn gather(
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
    let is_dense = rows.valid == Ptr(0);
    // Words of malformed pages must not be used as addresses, nor as indices. (Without nulls,
    // lengths come first.)
    let is_index = |page: &HostPage| page.encoding == PageEncoding::Dictionary;
    let any_index = parts.direct.is_none() && host.pages.iter().any(is_index);
    if if shape.form.is_text() { !is_dense } else { any_index } {
        is_sound(&run.fetch(&[(parts.bad, 4)])?[0])?;
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
        deltas: parts.values.deltas,
        first: 0,
        rows: count as u64,
        entry_of: rows.entry_of,
        marks: rows.marks,
        valid: parts.entries.valid,
        before: parts.entries.before,
        words: parts.values.words,
        lens: parts.values.lens,
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
    let blocks = run.blocks(count as u64);
    let nulls = run.zeros(8)?;
    let bit_bytes = count.div_ceil(32) * 4;
    let mut wanted = vec![(parts.bad, 4), (nulls, 4), (nulls, 0)];
    if !is_dense {
        let bits = run.take(bit_bytes)?;
        run.pack(rows.valid, count, bits, nulls)?;
        wanted[2] = (bits, bit_bytes);
    }
    match shape.form {
        Form::Bits | Form::Fixed { .. } | Form::Decimals { .. } => {
            let bytes = count.saturating_mul(usize::try_from(width).unwrap_or(usize::MAX));
            args.out = match parts.direct {
                Some(direct) => direct.out,
                None => run.take(bytes)?,
            };
            if let Form::Decimals { .. } = shape.form {
                args.offsets = offsets(run, parts, &args, is_dense)?.0;
                run.launch(GATHER_DECIMALS, blocks, &args)?;
            } else {
                for range in ranges(host, parts.direct, args.rows) {
                    (args.first, args.rows) = (range.start, range.end);
                    run.launch(GATHER_FIXED, run.blocks(range.end - range.start), &args)?;
                }
            }
            if shape.form == Form::Bits {
                let packed = run.take(bit_bytes)?;
                run.pack(args.out, count, packed, nulls.offset(4))?;
                wanted.push((packed, bit_bytes));
            } else {
                wanted.push((args.out, bytes));
            }
        }
        Form::Bytes { large, utf8 } => {
            let (offsets, total) = offsets(run, parts, &args, is_dense)?;
            (args.offsets, args.utf8) = (offsets, utf8);
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

/// Nothing is malformed, by what the kernels have noted.
fn is_sound(bad: &Buffer) -> Result<(), Halt> {
    if bad.iter().any(|byte| *byte != 0) { Err(Halt::Unsure) } else { Ok(()) }
}

/// Rows whose values are not in the array yet.
fn ranges(host: &Host, direct: Option<Direct>, rows: u64) -> Vec<Range<u64>> {
    if direct.is_none() {
        return std::iter::once(0..rows).collect();
    }
    let mut ranges: Vec<Range<u64>> = Vec::new();
    let mut first = 0;
    for page in &host.pages {
        let end = first + page.count as u64;
        if !Direct::takes(page) && end > first {
            match ranges.last_mut().filter(|last| last.end == first) {
                Some(last) => last.end = end,
                None => ranges.push(first..end),
            }
        }
        first = end;
    }
    ranges
}

/// The offsets of texts, and their bytes.
fn offsets(
    run: &mut Run<'_>,
    parts: &Parts,
    args: &GatherArgs,
    is_dense: bool,
) -> Result<(Ptr, u64), Halt> {
    let count = usize::try_from(args.rows).unwrap_or(usize::MAX);
    let mut offsets = args.lens;
    if !is_dense {
        offsets = run.take((count + 1) * 8)?;
        let args = GatherArgs { offsets, ..*args };
        run.launch(GATHER_LENS, run.blocks(args.rows), &args)?;
    }
    run.scan(offsets, count)?;
    let fetched = run.fetch(&[(offsets.offset(args.rows * 8), 8), (parts.bad, 4)])?;
    is_sound(&fetched[1])?;
    Ok((offsets, number(&fetched[0], 0)))
}
