// SPDX-License-Identifier: Apache-2.0
//! String views: short strings are inlined in the view, long ones stay in the page.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{BinaryViewArray, StringViewArray};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer};

use super::dictionary::Gather;
use super::read::{Decode, Rows, Scratch, read};
use super::{CHUNK, ColumnError, Delta, Hybrid, Result, Strings};
use crate::Buf;
use crate::isa::{Isa, Level};

/// The longest string that is inlined in its view.
const INLINE_MAX: usize = 12;

/// A growing column of views, and the buffers that they point into.
#[derive(Debug)]
pub struct Views {
    views: Buf<u128>,
    buffers: Vec<Buffer>,
    utf8: bool,
    /// Identifies the column, so that a decoder knows whether its page is one of the buffers.
    id: u64,
    failed: bool,
}

/// The index of a page among the buffers of a column.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    id: u64,
    index: u32,
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Views {
    /// An empty column with room for `rows` strings. With `utf8`, all strings are validated.
    pub fn new(utf8: bool, rows: usize) -> Self {
        // Bounded: by the caller; growth passes the gate.
        let views = Buf::with_capacity(rows);
        Self { views, buffers: Vec::new(), utf8, id: next_id(), failed: false }
    }

    /// Strings in the column, nulls included.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// Makes room for `rows` more strings.
    pub fn reserve(&mut self, rows: usize) {
        // Bounded: by the caller; growth passes the gate.
        self.views.reserve(rows);
    }

    /// Finds a page among the buffers, or adds it.
    fn place(&mut self, page: &Buffer, place: &mut Place) -> Result<u32> {
        if place.id != self.id {
            if i32::try_from(page.len()).is_err() {
                return Err(ColumnError::Offset);
            }
            let index = i32::try_from(self.buffers.len()).map_err(|_| ColumnError::Offset)?;
            *place = Place { id: self.id, index: index.cast_unsigned() };
            self.buffers.push(page.clone());
        }
        Ok(place.index)
    }

    /// Appends the next rows of a page; null rows become empty.
    ///
    /// # Errors
    /// Errors in the page, [`ColumnError::Utf8`], or [`ColumnError::Offset`] for a page of 2 GiB or
    /// more. The column cannot be used after an error.
    pub fn read(&mut self, level: Level, page: &mut ViewPage, rows: Rows<'_>) -> Result<()> {
        let index = self.place(&page.data, &mut page.place)?;
        let utf8 = self.utf8;
        let mut decoder = Pointers { page, index, utf8 };
        let done = read(level, &mut decoder, rows, &mut self.views);
        self.failed |= done.is_err();
        done
    }

    /// Appends the strings of the next indices; null rows become empty.
    ///
    /// # Errors
    /// Errors in the indices, or [`ColumnError::Utf8`] if the dictionary was not validated.
    pub fn read_dictionary(
        &mut self,
        level: Level,
        indices: &mut Hybrid<'_>,
        dictionary: &mut ViewDictionary,
        rows: Rows<'_>,
    ) -> Result<()> {
        if self.utf8 && !dictionary.utf8 {
            return Err(ColumnError::Utf8);
        }
        if dictionary.place.id != self.id {
            let index = self.place(&dictionary.bytes, &mut dictionary.place)?;
            for view in &mut dictionary.views {
                if len_of(*view) > INLINE_MAX {
                    *view = *view & !(0xFFFF_FFFF << 64) | u128::from(index) << 64;
                }
            }
        }
        let mut gather = Gather::new(indices.clone(), &dictionary.views);
        let done = read(level, &mut gather, rows, &mut self.views);
        *indices = gather.into_hybrid();
        self.failed |= done.is_err();
        done
    }

    /// Appends all strings of a column, and takes its bytes.
    ///
    /// # Errors
    /// [`ColumnError::Utf8`] if they were not validated, but have to be.
    pub fn append(&mut self, strings: &mut Strings<i32>) -> Result<()> {
        let (offsets, bytes, utf8) = strings.take_parts()?;
        if self.utf8 && !utf8 {
            return Err(ColumnError::Utf8);
        }
        let index = self.place(&bytes, &mut Place::default())?;
        self.views.reserve(offsets.len() - 1);
        for ends in offsets.windows(2) {
            let (start, end) = (ends[0].as_usize(), ends[1].as_usize());
            let Some(string) = bytes.get(start..end) else { return Err(ColumnError::Length) };
            self.views.push(view_of(string, index, start));
        }
        Ok(())
    }

    /// Appends `count` empty strings, for rows that are null.
    pub fn push_nulls(&mut self, count: usize) {
        self.views.push_n(0, count);
    }

    fn check(&self, nulls: Option<&NullBuffer>) -> Result<()> {
        if self.failed {
            return Err(ColumnError::Utf8);
        }
        if nulls.is_some_and(|nulls| nulls.len() != self.len()) {
            return Err(ColumnError::Count);
        }
        Ok(())
    }

    /// Takes the strings out as an Arrow array, and leaves an empty column.
    ///
    /// # Errors
    /// [`ColumnError::Utf8`] if the column does not validate UTF-8, or after an earlier error;
    /// [`ColumnError::Count`] if there are not as many `nulls` as strings.
    pub fn take_strings(&mut self, nulls: Option<NullBuffer>) -> Result<StringViewArray> {
        if !self.utf8 {
            return Err(ColumnError::Utf8);
        }
        self.check(nulls.as_ref())?;
        self.id = next_id();
        let (views, buffers) = (self.views.take(), std::mem::take(&mut self.buffers));
        // SAFETY: every view points into its buffer and was checked to be UTF-8.
        Ok(unsafe { StringViewArray::new_unchecked(views, buffers, nulls) })
    }

    /// Takes the byte strings out as an Arrow array, and leaves an empty column.
    ///
    /// # Errors
    /// As [`Views::take_strings`], whether UTF-8 or not.
    pub fn take_binary(&mut self, nulls: Option<NullBuffer>) -> Result<BinaryViewArray> {
        self.check(nulls.as_ref())?;
        self.id = next_id();
        let (views, buffers) = (self.views.take(), std::mem::take(&mut self.buffers));
        // SAFETY: every view points into its buffer.
        Ok(unsafe { BinaryViewArray::new_unchecked(views, buffers, nulls) })
    }
}

/// The length in a view.
#[inline(always)]
fn len_of(view: u128) -> usize {
    (view & 0xFFFF_FFFF) as usize
}

/// The view of a string that starts at byte `start` of buffer `index`.
#[inline(always)]
fn view_of(string: &[u8], index: u32, start: usize) -> u128 {
    let len = string.len();
    let mut head = [0; 16];
    let taken = if len <= INLINE_MAX { len } else { 4 };
    head[..taken].copy_from_slice(&string[..taken]);
    view(u128::from_le_bytes(head), len, index, start)
}

/// As [`view_of`]: `head` has the first bytes of the string, and perhaps other bytes after it.
#[inline(always)]
fn view(head: u128, len: usize, index: u32, start: usize) -> u128 {
    let long = u128::from(index) << 64 | (start as u128) << 96 | (head & 0xFFFF_FFFF) << 32;
    let short = (head & ((1 << (8 * len.min(INLINE_MAX))) - 1)) << 32;
    len as u128 | if len <= INLINE_MAX { short } else { long }
}

/// The values of a page, which is kept alive as long as views point into it.
#[derive(Debug, Clone)]
pub struct ViewPage {
    data: Buffer,
    place: Place,
    /// Position of the next string, or of its length.
    pos: usize,
    lengths: Lengths,
}

#[derive(Debug, Clone)]
enum Lengths {
    /// Each length is before its string.
    Between,
    /// All lengths are before the strings.
    Before(Delta<'static>),
}

impl ViewPage {
    /// Strings that are each preceded by their length.
    pub fn plain(data: Buffer) -> Self {
        Self { data, place: Place::default(), pos: 0, lengths: Lengths::Between }
    }

    /// Strings after all their lengths, which are delta-encoded.
    ///
    /// # Errors
    /// Errors in the headers of the lengths.
    pub fn delta_length(data: Buffer) -> Result<Self> {
        let delta = Delta::new(&data)?;
        let pos = data.len().saturating_sub(delta.find_rest::<i32>()?.len());
        let lengths = Lengths::Before(delta.over(&[]));
        Ok(Self { data, place: Place::default(), pos, lengths })
    }
}

/// Makes views into a page.
struct Pointers<'a> {
    page: &'a mut ViewPage,
    index: u32,
    utf8: bool,
}

impl Pointers<'_> {
    /// The view of the `len` bytes from `start` on.
    #[inline(always)]
    fn point(data: &[u8], index: u32, utf8: bool, start: usize, len: usize) -> Result<u128> {
        let rest = data.get(start..).unwrap_or_default();
        let Some(string) = rest.get(..len) else { return Err(ColumnError::Length) };
        let view = match rest.first_chunk::<16>() {
            Some(head) => view(u128::from_le_bytes(*head), len, index, start),
            None => view_of(string, index, start),
        };
        const TOP: u128 = 0x8080_8080_8080_8080_8080_8080_0000_0000;
        if utf8 && (len > INLINE_MAX || view & TOP != 0) {
            check_utf8(string)?;
        }
        Ok(view)
    }
}

#[inline(never)]
fn check_utf8(string: &[u8]) -> Result<()> {
    if string.is_ascii() || simdutf8::basic::from_utf8(string).is_ok() {
        Ok(())
    } else {
        Err(ColumnError::Utf8)
    }
}

// SAFETY: a view is written for each string.
unsafe impl Decode<u128> for Pointers<'_> {
    #[inline(always)]
    fn decode<I: Isa>(&mut self, isa: I, out: &mut [MaybeUninit<u128>]) -> Result<()> {
        let (index, utf8) = (self.index, self.utf8);
        let ViewPage { data, pos, lengths, .. } = &mut *self.page;
        let data = data.as_slice();
        match lengths {
            Lengths::Between => {
                for out in out {
                    let Some(len) = data.get(*pos..).and_then(<[u8]>::first_chunk::<4>) else {
                        return Err(ColumnError::Truncated);
                    };
                    let len = u32::from_le_bytes(*len) as usize;
                    out.write(Self::point(data, index, utf8, *pos + 4, len)?);
                    *pos += 4 + len;
                }
            }
            Lengths::Before(kept) => {
                let mut delta = kept.over(data);
                let mut scratch = Scratch::<i32, { CHUNK + 1 }>::new();
                for out in out.chunks_mut(CHUNK + 1) {
                    delta.take(isa, scratch.room(out.len()))?;
                    // SAFETY: just written.
                    let lengths = unsafe { scratch.filled(out.len()) };
                    for (&len, out) in lengths.iter().zip(out) {
                        let len = usize::try_from(len).map_err(|_| ColumnError::Length)?;
                        out.write(Self::point(data, index, utf8, *pos, len)?);
                        *pos += len;
                    }
                }
                *kept = delta.over(&[]);
            }
        }
        Ok(())
    }
}

/// The views of a dictionary.
#[derive(Debug)]
pub struct ViewDictionary {
    views: Vec<u128>,
    bytes: Buffer,
    place: Place,
    utf8: bool,
}

impl ViewDictionary {
    /// Builds a dictionary from strings, whose bytes it takes, and which are UTF-8 if the column
    /// validates that.
    ///
    /// # Errors
    /// [`ColumnError::Utf8`] after an earlier error in `strings`.
    pub fn new(strings: &mut Strings<i32>) -> Result<Self> {
        let (offsets, bytes, utf8) = strings.take_parts()?;
        let mut views = Vec::with_capacity(offsets.len());
        for ends in offsets.windows(2) {
            let (start, end) = (ends[0].as_usize(), ends[1].as_usize());
            let Some(string) = bytes.get(start..end) else { return Err(ColumnError::Length) };
            views.push(view_of(string, 0, start));
        }
        Ok(Self { views, bytes, place: Place::default(), utf8 })
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }
}
