// SPDX-License-Identifier: Apache-2.0
//! Dictionary indices to strings.

use std::mem::MaybeUninit;

use super::hybrid::indices;
use super::read::Scratch;
use super::strings::{DecodeStrings, Offset, Strings, TextRoom};
use super::{CHUNK, ColumnError, Hybrid, Result};
use crate::Buf;
use crate::isa::Isa;

/// The strings of a dictionary, in a layout that is fast to copy from.
#[derive(Debug)]
pub struct StringDictionary {
    /// The strings one after another, and padding.
    bytes: Buf<u8>,
    /// Start and length of each string.
    entries: Vec<(u32, u32)>,
    longest: usize,
    utf8: bool,
}

/// Bytes of padding after the strings of a dictionary.
const DICTIONARY_PADDING: usize = 64;

impl StringDictionary {
    /// Builds a dictionary of strings, which are UTF-8 if `strings` checks that.
    ///
    /// # Errors
    /// [`ColumnError::Offset`] if there are 4 GiB or more.
    pub fn new<O: Offset>(strings: &Strings<O>) -> Result<Self> {
        let mut bytes = Buf::with_capacity(strings.bytes().len() + DICTIONARY_PADDING);
        bytes.extend(strings.bytes());
        bytes.push_n(0, DICTIONARY_PADDING);
        let mut entries = Vec::with_capacity(strings.len());
        for ends in strings.offsets().windows(2) {
            let start = u32::try_from(ends[0].as_usize()).map_err(|_| ColumnError::Offset)?;
            let end = u32::try_from(ends[1].as_usize()).map_err(|_| ColumnError::Offset)?;
            entries.push((start, end - start));
        }
        let longest = entries.iter().map(|entry| entry.1).max().unwrap_or(0) as usize;
        Ok(Self { bytes, entries, longest, utf8: strings.is_utf8() })
    }

    /// Length of the longest entry, in bytes.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Appends entries.
    ///
    /// # Safety
    /// Every index is less than the number of entries.
    #[inline(always)]
    unsafe fn copy<O: Offset>(
        &self,
        indices: &[u32],
        ends: &mut [MaybeUninit<O>],
        text: &mut TextRoom<'_>,
    ) -> Result<()> {
        // SAFETY: every index is less than the number of entries, by contract; `longest <= N`, and
        // each branch has checked that `text` has room for `N` bytes per index, or reserves the
        // exact total.
        let len = unsafe {
            if self.longest <= 16 && text.bytes.room_left() >= 16 * indices.len() {
                self.copy_as::<16, O>(indices, ends, text)
            } else if self.longest <= 32 && text.bytes.room_left() >= 32 * indices.len() {
                self.copy_as::<32, O>(indices, ends, text)
            } else if self.longest <= 64 && text.bytes.room_left() >= 64 * indices.len() {
                self.copy_as::<64, O>(indices, ends, text)
            } else {
                let mut total = 0;
                for &index in indices {
                    total += self.entries.get_unchecked(index as usize).1 as usize;
                }
                // Bounded: by the text that the caller allows.
                text.reserve(total)?;
                self.copy_as::<0, O>(indices, ends, text)
            }
        };
        if len > text.max - text.bytes.len().min(text.max) {
            return Err(ColumnError::Offset);
        }
        // SAFETY: `len` bytes were written.
        unsafe { text.bytes.advance(len) };
        Ok(())
    }

    /// Writes entries, each with a copy of `N` bytes, or of its own length if `N` is 0; returns the
    /// sum of their lengths.
    ///
    /// # Safety
    /// Every index is less than the number of entries, which have at most `N` bytes unless `N` is
    /// 0. There is room for `N` bytes per index, or for the exact total if `N` is 0.
    #[inline(always)]
    unsafe fn copy_as<const N: usize, O: Offset>(
        &self,
        indices: &[u32],
        ends: &mut [MaybeUninit<O>],
        text: &mut TextRoom<'_>,
    ) -> usize {
        let base = text.bytes.len();
        let to = text.bytes.spare(0);
        let from = self.bytes.as_slice().as_ptr();
        let mut len = 0;
        for (&index, end) in indices.iter().zip(ends) {
            // SAFETY: the entry is within the dictionary's bytes, which have 64 bytes of padding;
            // there is room for `N` bytes per index, or for the exact total, by contract.
            unsafe {
                let (start, length) = *self.entries.get_unchecked(index as usize);
                let (from, to) = (from.add(start as usize), to.add(len));
                if N == 0 {
                    std::ptr::copy_nonoverlapping(from, to, length as usize);
                } else {
                    let entry = from.cast::<[u8; N]>().read_unaligned();
                    to.cast::<[u8; N]>().write_unaligned(entry);
                }
                len += length as usize;
            }
            end.write(O::wrap(base + len));
        }
        len
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Looks up each index in a dictionary of strings.
#[derive(Debug, Clone)]
pub struct DictionaryStrings<'a, 'd> {
    hybrid: Hybrid<'a>,
    dictionary: &'d StringDictionary,
}

impl<'a, 'd> DictionaryStrings<'a, 'd> {
    /// Indices into `dictionary`.
    pub fn new(hybrid: Hybrid<'a>, dictionary: &'d StringDictionary) -> Self {
        Self { hybrid, dictionary }
    }

    /// The indices not yet decoded.
    pub fn into_hybrid(self) -> Hybrid<'a> {
        self.hybrid
    }
}

// SAFETY: an end is written for each string; they do not decrease.
unsafe impl DecodeStrings for DictionaryStrings<'_, '_> {
    fn is_utf8(&self) -> bool {
        self.dictionary.utf8
    }

    #[inline(always)]
    fn decode<I: Isa, O: Offset>(
        &mut self,
        isa: I,
        ends: &mut [MaybeUninit<O>],
        text: &mut TextRoom<'_>,
    ) -> Result<()> {
        let mut scratch = Scratch::new();
        let entries = self.dictionary.entries.as_slice();
        for ends in ends.chunks_mut(CHUNK + 1) {
            let indices = indices(isa, &mut self.hybrid, entries.len(), &mut scratch, ends.len())?;
            // SAFETY: `indices` has checked that every index is less than the number of entries.
            unsafe { self.dictionary.copy(indices, ends, text)? };
        }
        Ok(())
    }
}
