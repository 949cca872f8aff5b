// SPDX-License-Identifier: Apache-2.0
//! Columns of strings: offsets and bytes, and the decoders that fill them.

use std::mem::MaybeUninit;

use arrow_array::{GenericBinaryArray, GenericStringArray, OffsetSizeTrait};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};

use super::hybrid::indices;
use super::read::{Rows, Scratch};
use super::{CHUNK, ColumnError, Delta, Hybrid, Result};
use crate::Buf;
use crate::isa::{Isa, Kernel, Level};

/// An offset type of Arrow.
pub trait Offset: OffsetSizeTrait {
    /// The greatest value.
    const MAX: usize;

    /// The low bits of an offset that is known to fit.
    fn wrap(offset: usize) -> Self;
}

impl Offset for i32 {
    const MAX: usize = i32::MAX as usize;

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "known to fit")]
    fn wrap(offset: usize) -> Self {
        (offset as u32).cast_signed()
    }
}

impl Offset for i64 {
    const MAX: usize = isize::MAX as usize;

    #[inline(always)]
    fn wrap(offset: usize) -> Self {
        (offset as u64).cast_signed()
    }
}

/// Where the bytes of strings go, and how many there may be.
#[derive(Debug)]
pub struct TextRoom<'a> {
    bytes: &'a mut Buf<u8>,
    max: usize,
    /// Whether the strings have to be UTF-8.
    utf8: bool,
    /// Up to where these are known to be ASCII.
    ascii: usize,
}

impl TextRoom<'_> {
    /// Makes room for `additional` more bytes.
    #[inline(always)]
    fn reserve(&mut self, additional: usize) -> Result<()> {
        if additional > self.max - self.bytes.len().min(self.max) {
            return Err(ColumnError::Offset);
        }
        self.bytes.reserve(additional);
        Ok(())
    }

    /// Appends bytes.
    #[inline(always)]
    fn extend<I: Isa>(&mut self, isa: I, bytes: &[u8]) -> Result<()> {
        self.reserve(bytes.len())?;
        // The source is in the cache now and the copy may not be later.
        if self.utf8 && self.ascii == self.bytes.len() && isa.is_ascii(bytes) {
            self.ascii += bytes.len();
        }
        let streams = self.bytes.streams();
        let room = self.bytes.room(bytes.len());
        if streams {
            isa.stream(bytes, room);
        } else {
            room.write_copy_of_slice(bytes);
        }
        // SAFETY: all of the room was written.
        unsafe { self.bytes.advance(bytes.len()) };
        Ok(())
    }
}

/// A source of strings.
///
/// # Safety
/// When [`DecodeStrings::decode`] returns `Ok`, it has written all of `ends`, in order, the last being
/// the number of bytes.
pub unsafe trait DecodeStrings {
    /// Whether every string is known to be UTF-8.
    fn is_utf8(&self) -> bool {
        false
    }

    /// Appends the next strings and writes where each ends.
    fn decode<I: Isa, O: Offset>(
        &mut self,
        isa: I,
        ends: &mut [MaybeUninit<O>],
        text: &mut TextRoom<'_>,
    ) -> Result<()>;
}

/// A growing column of strings or byte strings.
#[derive(Debug)]
pub struct Strings<O: Offset> {
    offsets: Buf<O>,
    bytes: Buf<u8>,
    bytes_max: usize,
    utf8: bool,
    /// Whether an error left the parts out of step.
    failed: bool,
}

impl<O: Offset> Strings<O> {
    /// An empty column with room for `strings` of `bytes` together. With `utf8`, all are checked to be
    /// that. More than `bytes_max` bytes are an error, and so are more than the offsets can count.
    pub fn new(utf8: bool, strings: usize, bytes: usize, bytes_max: usize) -> Self {
        let mut offsets = Buf::with_capacity(strings.saturating_add(1));
        offsets.push(O::wrap(0));
        let bytes_max = bytes_max.min(O::MAX);
        let bytes = Buf::with_capacity(bytes.min(bytes_max));
        Self { offsets, bytes, bytes_max, utf8, failed: false }
    }

    /// Makes room for `strings` more of `bytes` together.
    pub fn reserve(&mut self, strings: usize, bytes: usize) {
        self.offsets.reserve(strings);
        self.bytes.reserve(bytes.min(self.bytes_max - self.bytes.len().min(self.bytes_max)));
    }

    /// Strings in the column, nulls included.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where each string begins, and the last one ends.
    pub fn offsets(&self) -> &[O] {
        self.offsets.as_slice()
    }

    /// The bytes of all strings.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// The bytes of all strings, if each of them has `width`.
    ///
    /// # Errors
    /// [`ColumnError::Length`].
    pub fn fixed(&self, width: usize) -> Result<&[u8]> {
        let mut same = true;
        for ends in self.offsets.as_slice().windows(2) {
            same &= ends[1] - ends[0] == O::wrap(width);
        }
        if same { Ok(self.bytes()) } else { Err(ColumnError::Length) }
    }

    /// Appends the next rows of a decoder; null rows become empty.
    ///
    /// # Errors
    /// What the decoder finds wrong, [`ColumnError::Utf8`], or [`ColumnError::Offset`] if there are too
    /// many bytes. The column cannot be used after that.
    pub fn read<D: DecodeStrings>(
        &mut self,
        level: Level,
        decoder: &mut D,
        rows: Rows<'_>,
    ) -> Result<()> {
        let done = level.dispatch(Read { strings: self, decoder, rows });
        self.failed |= done.is_err();
        done
    }

    /// Appends `count` empty strings, for rows that are null.
    pub fn push_nulls(&mut self, count: usize) {
        let last = self.offsets.last().unwrap_or_else(|| O::wrap(0));
        self.offsets.push_n(last, count);
    }

    /// Takes offsets and bytes out, and says whether all strings are known to be UTF-8.
    pub(super) fn take_parts(&mut self) -> Result<(OffsetBuffer<O>, Buffer, bool)> {
        let (offsets, bytes) = self.take()?;
        Ok((offsets, bytes, self.utf8))
    }

    fn take(&mut self) -> Result<(OffsetBuffer<O>, Buffer)> {
        if self.failed {
            return Err(ColumnError::Utf8);
        }
        let offsets = self.offsets.take();
        self.offsets.push(O::wrap(0));
        // SAFETY: offsets begin with 0 and never decrease: decoders write them in order.
        let offsets = unsafe { OffsetBuffer::new_unchecked(offsets) };
        Ok((offsets, self.bytes.take().into_inner()))
    }

    /// Takes the strings out as an Arrow array, and begins anew.
    ///
    /// # Errors
    /// [`ColumnError::Utf8`] if the column was not made to check that, or an error came before;
    /// [`ColumnError::Count`] if there are not as many `nulls` as strings.
    pub fn take_strings(&mut self, nulls: Option<NullBuffer>) -> Result<GenericStringArray<O>> {
        if !self.utf8 {
            return Err(ColumnError::Utf8);
        }
        if nulls.as_ref().is_some_and(|nulls| nulls.len() != self.len()) {
            return Err(ColumnError::Count);
        }
        let (offsets, bytes) = self.take()?;
        // SAFETY: the offsets lie within the bytes, `read` has checked every string to be UTF-8, and
        // there are as many nulls.
        Ok(unsafe { GenericStringArray::new_unchecked(offsets, bytes, nulls) })
    }

    /// Takes the byte strings out as an Arrow array, and begins anew.
    ///
    /// # Errors
    /// As [`Strings::take_strings`], whether UTF-8 or not.
    pub fn take_binary(&mut self, nulls: Option<NullBuffer>) -> Result<GenericBinaryArray<O>> {
        if nulls.as_ref().is_some_and(|nulls| nulls.len() != self.len()) {
            return Err(ColumnError::Count);
        }
        let (offsets, bytes) = self.take()?;
        // SAFETY: the offsets lie within the bytes, and there are as many nulls.
        Ok(unsafe { GenericBinaryArray::new_unchecked(offsets, bytes, nulls) })
    }
}

struct Read<'a, 'r, O: Offset, D> {
    strings: &'a mut Strings<O>,
    decoder: &'a mut D,
    rows: Rows<'r>,
}

impl<O: Offset, D: DecodeStrings> Kernel for Read<'_, '_, O, D> {
    type Output = Result<()>;

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) -> Result<()> {
        let Self { strings, decoder, rows } = self;
        let Strings { offsets, bytes, bytes_max, utf8, .. } = strings;
        let total = rows.len();
        offsets.reserve(total);
        let mut at = 0;
        while at < total {
            let count = (CHUNK + usize::from(at == 0)).min(total - at);
            let before = bytes.len();
            let checks = *utf8 && !decoder.is_utf8();
            let mut text = TextRoom { bytes, max: *bytes_max, utf8: checks, ascii: before };
            let valid = match rows {
                Rows::All(_) => count,
                Rows::Valid { bits, from, .. } => bits.count_ones(from + at, from + at + count),
            };
            if valid == count {
                let ends = offsets.room(count);
                decoder.decode(isa, ends, &mut text)?;
            } else {
                let mut dense = Scratch::<O, { CHUNK + 2 + 64 }>::new();
                let ends = dense.room(valid + 1);
                ends[0].write(O::wrap(before));
                if valid > 0 {
                    decoder.decode(isa, &mut ends[1..], &mut text)?;
                }
                if let Rows::Valid { bits, from, .. } = rows {
                    // SAFETY: one end and one for each valid row were written; more can be read.
                    unsafe {
                        spread_ends(isa, dense.as_ptr(), bits, from + at, offsets.room(count))
                    };
                }
            }
            // SAFETY: `count` ends were written.
            unsafe { offsets.advance(count) };
            if checks && text.ascii < text.bytes.len() {
                let offsets = offsets.as_slice();
                check_utf8(isa, bytes.as_slice(), before, &offsets[offsets.len() - count..])?;
            }
            at += count;
        }
        if bytes.streams() {
            isa.fence();
        }
        Ok(())
    }
}

/// For each bit from bit `first` on, the end of the last string up to it that is valid.
///
/// # Safety
/// There is one end at `dense`, one more for each bit that is set, and memory for 64 more.
#[inline(always)]
unsafe fn spread_ends<I: Isa, O: Offset>(
    isa: I,
    mut dense: *const O,
    bits: &crate::BitBuffer,
    first: usize,
    out: &mut [MaybeUninit<O>],
) {
    let (mut at, len) = (0, out.len());
    while at < len {
        let rest = len - at;
        let mask = bits.word(first + at);
        let mask = if rest < 64 { mask & ((1 << rest) - 1) } else { mask };
        // SAFETY: the caller's; groups are written whole only where there is room.
        unsafe {
            if rest >= 64 {
                isa.spread_ends(dense, mask, out.as_mut_ptr().add(at).cast());
            } else {
                let mut group = Scratch::<O, 64>::new();
                isa.spread_ends(dense, mask, group.room(64).as_mut_ptr().cast::<O>());
                out[at..].copy_from_slice(group.room(rest));
            }
            dense = dense.add(mask.count_ones() as usize);
        }
        at += 64;
    }
}

/// Checks the strings that follow byte `from`, which end at `ends`.
#[inline(always)]
fn check_utf8<I: Isa, O: Offset>(isa: I, bytes: &[u8], from: usize, ends: &[O]) -> Result<()> {
    let text = &bytes[from..];
    if isa.is_ascii(text) {
        return Ok(());
    }
    check_other(bytes, text, ends)
}

/// As [`check_utf8`], where not all is ASCII.
#[inline(never)]
fn check_other<O: Offset>(bytes: &[u8], text: &[u8], ends: &[O]) -> Result<()> {
    if simdutf8::basic::from_utf8(text).is_err() {
        return Err(ColumnError::Utf8);
    }
    // The whole is UTF-8; so is each string, if none ends within a character.
    for end in ends {
        let byte = bytes.get(end.as_usize()).copied().unwrap_or(0);
        if byte & 0xC0 == 0x80 {
            return Err(ColumnError::Utf8);
        }
    }
    Ok(())
}

/// Copies `len` bytes; sixteen at once if there is room for that on both sides.
///
/// # Safety
/// `len` bytes can be read and written, and sixteen if `room` is at least that.
#[inline(always)]
unsafe fn copy_short(from: *const u8, to: *mut u8, len: usize, room: usize) {
    // SAFETY: the caller's.
    unsafe {
        if len <= 16 && room >= 16 {
            to.cast::<[u8; 16]>().write_unaligned(from.cast::<[u8; 16]>().read_unaligned());
        } else {
            std::ptr::copy_nonoverlapping(from, to, len);
        }
    }
}

/// Stands over strings that follow their length in four bytes.
#[derive(Debug, Clone)]
pub struct PlainStrings<'a> {
    data: &'a [u8],
}

impl<'a> PlainStrings<'a> {
    /// Over the values of a page.
    pub fn new(data: &'a [u8]) -> Self {
        Self { data }
    }
}

// SAFETY: an end is written for each string; they do not decrease.
unsafe impl DecodeStrings for PlainStrings<'_> {
    #[inline(always)]
    fn decode<I: Isa, O: Offset>(
        &mut self,
        _isa: I,
        ends: &mut [MaybeUninit<O>],
        text: &mut TextRoom<'_>,
    ) -> Result<()> {
        let data = self.data;
        // What is left for strings when every length has been read: no string may take more. From
        // that it follows that each length, and each string, lies within the data.
        let lengths = ends.len().checked_mul(4).ok_or(ColumnError::Truncated)?;
        let room = data.len().checked_sub(lengths).ok_or(ColumnError::Truncated)?;
        let base = text.bytes.len();
        let most = room.min(text.max - base.min(text.max));
        // What is left may be the lengths of strings that are not read now: the buffer, which may have
        // been made for the strings alone, grows only if these do not fit.
        let mut limit = most.min(text.bytes.room_left());
        let mut to = text.bytes.spare(0);
        let (mut pos, mut len, mut counted) = (0, 0, 0);
        for end in ends {
            // SAFETY: `pos` is `len` and four for each string before; see above. There is room for
            // `limit` bytes at `to`, of which `len` were written.
            unsafe {
                let length = data.as_ptr().add(pos).cast::<[u8; 4]>().read_unaligned();
                let length = u32::from_le_bytes(length) as usize;
                if length > limit - len {
                    if length > most - len {
                        let beyond = length > room - len;
                        return Err(if beyond { ColumnError::Length } else { ColumnError::Offset });
                    }
                    text.bytes.advance(len - counted);
                    counted = len;
                    limit = most;
                    to = text.bytes.spare(most - len).wrapping_sub(len);
                }
                let from = data.as_ptr().add(pos + 4);
                copy_short(from, to.wrapping_add(len), length, limit - len);
                pos += 4 + length;
                len += length;
            }
            end.write(O::wrap(base + len));
        }
        self.data = &data[pos..];
        // SAFETY: `len` bytes were written.
        unsafe { text.bytes.advance(len - counted) };
        Ok(())
    }
}

/// Stands over strings whose lengths come first, delta-encoded.
#[derive(Debug, Clone)]
pub struct DeltaLengthStrings<'a> {
    lengths: Delta<'a>,
    text: &'a [u8],
}

impl<'a> DeltaLengthStrings<'a> {
    /// Over the values of a page.
    ///
    /// # Errors
    /// What is wrong with the headers of the lengths.
    pub fn new(data: &'a [u8]) -> Result<Self> {
        let lengths = Delta::new(data)?;
        let text = lengths.find_rest::<i32>()?;
        Ok(Self { lengths, text })
    }

    /// Strings that were not taken yet.
    pub fn left(&self) -> usize {
        self.lengths.left()
    }
}

/// Lengths to ends; returns their sum.
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
    // So small that no sum of a chunk can overflow.
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

// SAFETY: `ends_of` writes all ends, of lengths that are not negative.
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
            let (bytes, rest) = self.text.split_at_checked(total).ok_or(ColumnError::Length)?;
            text.extend(isa, bytes)?;
            self.text = rest;
        }
        Ok(())
    }
}

/// Stands over strings of which each begins with a part of the one before.
#[derive(Debug, Clone)]
pub struct DeltaStrings<'a> {
    prefixes: Delta<'a>,
    suffixes: DeltaLengthStrings<'a>,
    last: Vec<u8>,
}

impl<'a> DeltaStrings<'a> {
    /// Over the values of a page.
    ///
    /// # Errors
    /// What is wrong with the headers of the lengths.
    pub fn new(data: &'a [u8]) -> Result<Self> {
        let prefixes = Delta::new(data)?;
        let suffixes = DeltaLengthStrings::new(prefixes.find_rest::<i32>()?)?;
        Ok(Self { prefixes, suffixes, last: Vec::new() })
    }

    /// Strings that were not taken yet.
    pub fn left(&self) -> usize {
        self.suffixes.left()
    }
}

/// Strings that begin with a part of the one before.
#[derive(Debug, Clone, Copy)]
pub struct Prefixed<'a> {
    /// How much each has of the one before; not negative.
    pub prefixes: &'a [i32],
    /// How much is its own; not negative.
    pub suffixes: &'a [i32],
    /// What is their own, one after another.
    pub source: &'a [u8],
    /// The string before the first.
    pub before: &'a [u8],
    /// What to add to each end.
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
            let source = self.suffixes.text;
            if new > source.len() {
                return Err(ColumnError::Length);
            }
            text.reserve(total)?;
            let base = text.bytes.len();
            let to = text.bytes.spare(total);
            // SAFETY: the sums of both lengths were reserved and compared with the source.
            let (len, pos, before_len) = unsafe {
                let texts = Prefixed { prefixes, suffixes, source, before: &self.last, base };
                isa.join_prefixes(&texts, ends, to, total).ok_or(ColumnError::Length)?
            };
            // SAFETY: `len` bytes were written, the last `before_len` of them being the last string.
            unsafe { text.bytes.advance(len) };
            let bytes = text.bytes.as_slice();
            self.last.clear();
            self.last.extend_from_slice(&bytes[bytes.len() - before_len..]);
            self.suffixes.text = &source[pos..];
        }
        Ok(())
    }
}

/// The strings of a dictionary, made for being copied.
#[derive(Debug)]
pub struct StringDictionary {
    /// The strings one after another, and readable bytes behind them.
    bytes: Buf<u8>,
    /// Where each begins, and its length.
    entries: Vec<(u32, u32)>,
    longest: usize,
    utf8: bool,
}

/// Readable bytes behind the strings of a dictionary.
const DICTIONARY_PADDING: usize = 64;

impl StringDictionary {
    /// From strings, which are UTF-8 if `strings` was made to check that.
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
        Ok(Self { bytes, entries, longest, utf8: strings.utf8 && !strings.failed })
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Appends entries.
    ///
    /// # Safety
    /// Every index is less than their number.
    #[inline(always)]
    unsafe fn copy<O: Offset>(
        &self,
        indices: &[u32],
        ends: &mut [MaybeUninit<O>],
        text: &mut TextRoom<'_>,
    ) -> Result<()> {
        // SAFETY: the caller's; `copy_as` is told of room that is there, and `N` is as long as any.
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

    /// Writes entries, `N` bytes at a time, or as many as each has if `N` is 0; says how many count.
    ///
    /// # Safety
    /// Every index is less than the number of entries, which have `N` bytes at most. There is room for
    /// `N` bytes for each, or exactly for all.
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
            // SAFETY: the entry lies within the dictionary's bytes, which are padded; the room is the
            // caller's.
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

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// Looks each index up in a dictionary of strings.
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
            // SAFETY: `indices` has compared them with the number of entries.
            unsafe { self.dictionary.copy(indices, ends, text)? };
        }
        Ok(())
    }
}
