// SPDX-License-Identifier: Apache-2.0
//! The last step of a chunk: the values of its pages, as the array has them.

use super::super::pages::Host;
use super::super::shape::{Form, Shape};
use super::dictionary::Dictionary;
use super::run::{Halt, Run, number};
use crate::abi::*;
use crate::device::Ptr;

/// The output rows.
pub(super) struct Rows {
    pub(super) count: usize,
    /// The entry of each; 0 where all entries are rows.
    pub(super) entry_of: Ptr,
    /// One byte per row.
    pub(super) valid: Ptr,
}

/// The decoded pages on the device.
pub(super) struct Parts {
    pub(super) pages: Ptr,
    pub(super) valid: Ptr,
    pub(super) before: Ptr,
    pub(super) words: Ptr,
    pub(super) lens: Ptr,
    pub(super) dictionary: Dictionary,
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
