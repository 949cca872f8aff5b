// SPDX-License-Identifier: Apache-2.0
//! Records that are nothing but one array of integers, 4 KiB at a time.
//!
//! In `{"voltage":[12,7]}\n{"voltage":[3]}\n` everything from one array's `]` to the next one's `[`
//! is the same text in every record: the *literal*. With a known literal, a block of text is valid
//! if and only if
//! 1. every comma and every `[` is followed by a digit, and every comma follows a digit,
//! 2. no number has a leading zero or too many digits,
//! 3. every `[` ends the literal, with a digit before its `]`, and
//! 4. all other bytes are digits and commas.
//!
//! All four are checked with bit masks of the whole block, so that validation is cheap. The kernel
//! makes three passes over a block: masks; numbers; records. It stops before the first block that
//! is not valid, and the caller continues record by record.

use crate::ints::Longest;
use crate::isa::Isa;
use crate::{Buf, Input};

/// Bytes in a block.
pub const BLOCK_BYTES: usize = 4096;

/// Windows of 64 bytes in a block.
pub(crate) const WINDOWS: usize = BLOCK_BYTES / 64;

/// Maximum numbers in a block (a digit and a comma each), plus room for whole vectors after them.
pub(crate) const VALUES_MAX: usize = BLOCK_BYTES / 2 + 64;

/// Maximum length of the literal.
pub const LITERAL_BYTES_MAX: usize = 64;

/// The part of the text that is the same in every record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListStream {
    /// The literal at the end of the array: byte 63 is the `[`.
    pub(crate) literal: [u8; 64],
    /// Its length, in bytes.
    pub(crate) len: usize,
    /// Whether the kernel has to stop at values above `i64::MAX`.
    pub(crate) signed: bool,
}

impl ListStream {
    /// A stream with this literal, which runs from a record's `]` to the next one's `[`. `None` if
    /// the literal is too long, or contains a byte that could be part of a number or an array.
    pub fn new(literal: &[u8], signed: bool) -> Option<Self> {
        let len = literal.len();
        let (first, last) = (literal.first()?, literal.last()?);
        let plain = |b: &u8| !b.is_ascii_digit() && *b != b',' && *b != b'[';
        let fits = len <= LITERAL_BYTES_MAX && *first == b']' && *last == b'[';
        if !fits || !literal[..len - 1].iter().all(plain) {
            return None;
        }
        let mut padded = [0; 64];
        padded[64 - len..].copy_from_slice(literal);
        Some(Self { literal: padded, len, signed })
    }
}

/// The result of a stream kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamProgress {
    /// Number of completed records, and of offsets appended.
    pub records: usize,
    /// The position after the `[` of the first record not completed.
    pub pos: usize,
    /// Trying again before this position would fail again.
    pub tried: usize,
}

impl StreamProgress {
    /// The result for no record.
    pub fn none(pos: usize) -> Self {
        Self { records: 0, pos, tried: usize::MAX }
    }
}

/// Masks of a block, one bit per byte.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Masks {
    pub(crate) digit: [u64; WINDOWS],
    pub(crate) comma: [u64; WINDOWS],
    pub(crate) bracket: [u64; WINDOWS],
    pub(crate) zero: [u64; WINDOWS],
    /// The first byte after each number.
    pub(crate) end: [u64; WINDOWS],
}

/// The first two passes over a block, which differ by instruction set. The first block follows a
/// `[`.
pub(crate) trait Passes {
    /// Pass 1: the masks, and the longest number; `None` if the block is not valid. Keeps what the
    /// last window shifts into the next block.
    fn scan(&mut self, block: &[u8; BLOCK_BYTES], masks: &mut Masks) -> Option<Longest>;

    /// Pass 2: writes the numbers of a block to `to`, and the count before each window to `counts`.
    /// `None` if a number does not fit.
    ///
    /// # Safety
    /// There is room for [`VALUES_MAX`] numbers at `to`; the block is preceded by 64 readable
    /// bytes, and has these masks.
    unsafe fn numbers(
        &self,
        block: *const u8,
        masks: &Masks,
        longest: Longest,
        signed: bool,
        to: *mut u64,
        counts: &mut [u32; WINDOWS],
    ) -> Option<usize>;
}

/// The result of pass 3.
struct Records {
    /// Brackets in the block.
    count: usize,
    /// Position in the block after the last of them.
    last: usize,
}

/// Pass 3: checks the literal before every `[` of the block at `at`, and writes the number of
/// values before it, plus `base`, after `offsets`. `None` if a literal differs.
#[inline(always)]
fn records<I: Isa>(
    isa: I,
    (input, at): (Input<'_>, usize),
    masks: &Masks,
    counts: &[u32; WINDOWS],
    stream: &ListStream,
    base: u32,
    offsets: &mut Buf<i32>,
) -> Option<Records> {
    let mut found = Records { count: 0, last: 0 };
    let mut same = true;
    let compared = u64::MAX << (64 - stream.len);
    let to = offsets.room(BLOCK_BYTES);
    for (i, count_before) in counts.iter().enumerate() {
        let mut brackets = masks.bracket[i];
        let end = masks.end[i];
        while brackets != 0 {
            let place = 64 * i + brackets.trailing_zeros() as usize;
            let below = (brackets & brackets.wrapping_neg()) - 1;
            // The 64 bytes up to the bracket: there are as many before the first block.
            same &= isa.equal(input.window(at + place - 63), &stream.literal, compared);
            let offset = base + count_before + (end & below).count_ones();
            to[found.count].write(offset.cast_signed());
            found.count += 1;
            found.last = place + 1;
            brackets &= brackets - 1;
        }
    }
    same.then_some(found)
}

/// Counts the bytes of the block that are neither digit nor comma: those up to `last`, and those
/// after it.
fn others(masks: &Masks, last: usize) -> (usize, usize) {
    let (mut before, mut after) = (0, 0);
    for i in 0..WINDOWS {
        let other = !(masks.digit[i] | masks.comma[i]);
        let split = last.saturating_sub(64 * i).min(64);
        let low = if split == 64 { u64::MAX } else { (1 << split) - 1 };
        before += (other & low).count_ones() as usize;
        after += (other & !low).count_ones() as usize;
    }
    (before, after)
}

/// The kernel, from the first element after a `[` at `start` on; see the module.
#[inline(always)]
pub(crate) fn list_stream<I: Isa>(
    isa: I,
    mut passes: impl Passes,
    (input, start): (Input<'_>, usize),
    stream: &ListStream,
    values: &mut Buf<u64>,
    offsets: &mut Buf<i32>,
) -> StreamProgress {
    let mut progress = StreamProgress { records: 0, pos: start, tried: start };
    // The first block must exist, with 64 bytes before it.
    if start < 64 {
        progress.tried = 64;
        return progress;
    }
    if input.end() < start + BLOCK_BYTES {
        return StreamProgress::none(start);
    }
    let none = [0; WINDOWS];
    let mut masks = Masks { digit: none, comma: none, bracket: none, zero: none, end: none };
    let mut counts = [0; WINDOWS];
    // The number of values up to the last valid bracket, and the bytes of a literal after it.
    let mut kept = values.len();
    let mut pending = 0;
    let mut at = start;
    while let Some(block) = input.text().get(at..).and_then(<[u8]>::first_chunk::<BLOCK_BYTES>) {
        progress.tried = at + BLOCK_BYTES;
        let Some(longest) = passes.scan(block, &mut masks) else { break };
        let to = values.spare(VALUES_MAX);
        // SAFETY: there is room for as many, and `at` is at least 64.
        let count = unsafe {
            let block = input.text().as_ptr().add(at);
            passes.numbers(block, &masks, longest, stream.signed, to, &mut counts)
        };
        let Some(count) = count else { break };
        let Ok(base) = u32::try_from(values.len()) else { break };
        let found = records(isa, (input, at), &masks, &counts, stream, base, offsets);
        let Some(found) = found else { break };
        let (before, after) = others(&masks, found.last);
        if found.count == 0 {
            pending += after;
        } else if pending + before == stream.len * found.count {
            pending = after;
        } else {
            break;
        }
        // SAFETY: as many were written.
        unsafe {
            values.advance(count);
            offsets.advance(found.count);
        }
        if found.count > 0 {
            progress.records += found.count;
            progress.pos = at + found.last;
            kept = usize::try_from(offsets.last().unwrap_or(0)).unwrap_or(0);
        }
        at += BLOCK_BYTES;
    }
    values.truncate(kept);
    progress
}
