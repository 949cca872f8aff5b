// SPDX-License-Identifier: Apache-2.0
//! `DELTA_LENGTH_BYTE_ARRAY` and `DELTA_BYTE_ARRAY`: all lengths, then the strings, in full or
//! without the prefix shared with the previous string.

use std::mem::MaybeUninit;

use super::read::Scratch;
use super::strings::{DecodeStrings, Offset, TextRoom};
use super::{CHUNK, ColumnError, Delta, Result};
use crate::isa::Isa;

/// A decoder of strings whose lengths come first, delta-encoded.
#[derive(Debug, Clone)]
pub struct DeltaLengthStrings<'a> {
    lengths: Delta<'a>,
    data: &'a [u8],
    /// Start of the next string.
    at: usize,
}

impl<'a> DeltaLengthStrings<'a> {
    /// A decoder of the values of a page.
    ///
    /// # Errors
    /// Errors in the headers of the lengths.
    pub fn new(data: &'a [u8]) -> Result<Self> {
        let lengths = Delta::new(data)?;
        let at = data.len() - lengths.find_rest::<i32>()?.len();
        Ok(Self { lengths, data, at })
    }

    /// This decoder, continuing in `data`: the same bytes at another address, or an empty slice
    /// while it is not used.
    pub fn over<'b>(&self, data: &'b [u8]) -> DeltaLengthStrings<'b> {
        DeltaLengthStrings { lengths: self.lengths.over(data), data, at: self.at }
    }

    /// The bytes of the strings not yet decoded.
    fn text(&self) -> &'a [u8] {
        self.data.get(self.at..).unwrap_or_default()
    }

    /// Number of strings not yet decoded.
    pub fn left(&self) -> usize {
        self.lengths.left()
    }
}

/// Converts lengths to end offsets; returns the last one.
#[inline(always)]
fn ends_of<I: Isa, O: Offset>(
    isa: I,
    lengths: &[i32],
    base: usize,
    ends: &mut [MaybeUninit<O>],
) -> Result<usize> {
    let bits = isa.or32(lengths);
    if bits < 0 {
        return Err(ColumnError::Length);
    }
    // Small enough that no sum of a chunk can overflow.
    if size_of::<O>() == 4 && bits < 1 << 19 && base < 1 << 30 {
        let ends32 = ends.as_mut_ptr().cast::<MaybeUninit<i32>>();
        // SAFETY: `O` is `i32`.
        let ends32 = unsafe { std::slice::from_raw_parts_mut(ends32, ends.len()) };
        isa.ends32(lengths, <i32 as Offset>::wrap(base), ends32);
        // SAFETY: `ends32` has written all of them.
        let last = ends.last().map_or(base, |end| unsafe { end.assume_init() }.as_usize());
        return Ok(last - base);
    }
    let mut end = base;
    for (&length, out) in lengths.iter().zip(ends) {
        end = end.saturating_add(length.cast_unsigned() as usize);
        out.write(O::wrap(end));
    }
    if end > O::MAX {
        return Err(ColumnError::Offset);
    }
    Ok(end - base)
}

// SAFETY: `ends_of` writes all ends, and has checked that no length is negative.
unsafe impl DecodeStrings for DeltaLengthStrings<'_> {
    #[inline(always)]
    fn decode<I: Isa, O: Offset>(
        &mut self,
        isa: I,
        ends: &mut [MaybeUninit<O>],
        text: &mut TextRoom<'_>,
    ) -> Result<()> {
        let mut scratch = Scratch::<i32, { CHUNK + 1 }>::new();
        for ends in ends.chunks_mut(CHUNK + 1) {
            self.lengths.take(isa, scratch.room(ends.len()))?;
            // SAFETY: just written.
            let lengths = unsafe { scratch.filled(ends.len()) };
            let total = ends_of(isa, lengths, text.bytes.len(), ends)?;
            let bytes = self.text().get(..total).ok_or(ColumnError::Length)?;
            text.extend(isa, bytes)?;
            self.at += total;
        }
        Ok(())
    }
}

/// A decoder of strings that share a prefix with the previous one.
#[derive(Debug, Clone)]
pub struct DeltaStrings<'a> {
    prefixes: Delta<'a>,
    suffixes: DeltaLengthStrings<'a>,
    /// Start of the suffixes.
    at: usize,
    last: Vec<u8>,
}

impl<'a> DeltaStrings<'a> {
    /// A decoder of the values of a page.
    ///
    /// # Errors
    /// Errors in the headers of the lengths.
    pub fn new(data: &'a [u8]) -> Result<Self> {
        let prefixes = Delta::new(data)?;
        let rest = prefixes.find_rest::<i32>()?;
        let suffixes = DeltaLengthStrings::new(rest)?;
        Ok(Self { prefixes, suffixes, at: data.len() - rest.len(), last: Vec::new() })
    }

    /// This decoder, continuing in `data`: the same bytes at another address, or an empty slice
    /// while it is not used.
    pub fn over<'b>(self, data: &'b [u8]) -> DeltaStrings<'b> {
        let suffixes = self.suffixes.over(data.get(self.at..).unwrap_or_default());
        DeltaStrings { prefixes: self.prefixes.over(data), suffixes, at: self.at, last: self.last }
    }

    /// Number of strings not yet decoded.
    pub fn left(&self) -> usize {
        self.suffixes.left()
    }
}

/// Strings that share a prefix with the previous one.
#[derive(Debug, Clone, Copy)]
pub struct Prefixed<'a> {
    /// Length of the prefix that each shares with the previous string; not negative.
    pub prefixes: &'a [i32],
    /// Length of each suffix; not negative.
    pub suffixes: &'a [i32],
    /// The suffixes, one after another.
    pub source: &'a [u8],
    /// The string before the first.
    pub before: &'a [u8],
    /// Added to each end.
    pub base: usize,
}

// SAFETY: an end is written for each string; they do not decrease.
unsafe impl DecodeStrings for DeltaStrings<'_> {
    #[inline(always)]
    fn decode<I: Isa, O: Offset>(
        &mut self,
        isa: I,
        ends: &mut [MaybeUninit<O>],
        text: &mut TextRoom<'_>,
    ) -> Result<()> {
        let mut prefixes = Scratch::<i32, { CHUNK + 1 }>::new();
        let mut suffixes = Scratch::<i32, { CHUNK + 1 }>::new();
        for ends in ends.chunks_mut(CHUNK + 1) {
            let count = ends.len();
            self.prefixes.take(isa, prefixes.room(count))?;
            self.suffixes.lengths.take(isa, suffixes.room(count))?;
            // SAFETY: just written.
            let (prefixes, suffixes) = unsafe { (prefixes.filled(count), suffixes.filled(count)) };
            if isa.or32(prefixes) < 0 || isa.or32(suffixes) < 0 {
                return Err(ColumnError::Length);
            }
            let (mut total, mut new) = (0_usize, 0_usize);
            for (&prefix, &suffix) in prefixes.iter().zip(suffixes) {
                total += prefix.cast_unsigned() as usize + suffix.cast_unsigned() as usize;
                new += suffix.cast_unsigned() as usize;
            }
            let source = self.suffixes.text();
            if new > source.len() {
                return Err(ColumnError::Length);
            }
            // Bounded: by the text that the caller allows.
            text.reserve(total)?;
            let base = text.bytes.len();
            let to = text.bytes.spare(total);
            // SAFETY: the sum of both lengths was reserved, and the sum of the suffixes is at most
            // the source's length.
            let (len, pos, before_len) = unsafe {
                let texts = Prefixed { prefixes, suffixes, source, before: &self.last, base };
                isa.join_prefixes(&texts, ends, to, total).ok_or(ColumnError::Length)?
            };
            // SAFETY: `len` bytes were written, the last `before_len` of them being the last
            // string.
            unsafe { text.bytes.advance(len) };
            let bytes = text.bytes.as_slice();
            self.last.clear();
            self.last.extend_from_slice(&bytes[bytes.len() - before_len..]);
            self.suffixes.at += pos;
        }
        Ok(())
    }
}
