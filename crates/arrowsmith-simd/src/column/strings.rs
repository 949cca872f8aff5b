// SPDX-License-Identifier: Apache-2.0
//! Columns of strings: offsets and bytes, and the decoders that fill them.

use std::mem::MaybeUninit;

use arrow_array::{GenericBinaryArray, GenericStringArray, OffsetSizeTrait};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};

use super::read::{Rows, Scratch};
use super::{CHUNK, ColumnError, Result};
use crate::Buf;
use crate::isa::{Isa, Kernel, Level};

/// An offset type of Arrow: `i32` or `i64`.
pub trait Offset: OffsetSizeTrait {
    /// The maximum value.
    const MAX: usize;

    /// Converts an offset that is known to fit.
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

/// The destination of strings' bytes, with its limit.
#[derive(Debug)]
pub struct TextRoom<'a> {
    pub(super) bytes: &'a mut Buf<u8>,
    pub(super) max: usize,
    /// Whether the strings have to be UTF-8.
    utf8: bool,
    /// Number of leading bytes that are known to be ASCII.
    ascii: usize,
}

impl TextRoom<'_> {
    /// Makes room for `additional` more bytes.
    #[inline(always)]
    pub(super) fn reserve(&mut self, additional: usize) -> Result<()> {
        if additional > self.max - self.bytes.len().min(self.max) {
            return Err(ColumnError::Offset);
        }
        // Bounded: by what was compared above.
        self.bytes.reserve(additional);
        Ok(())
    }

    /// Appends bytes.
    #[inline(always)]
    pub(super) fn extend<I: Isa>(&mut self, isa: I, bytes: &[u8]) -> Result<()> {
        self.reserve(bytes.len())?;
        // The check is cheapest now, while the source is in the cache.
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
/// When [`DecodeStrings::decode`] returns `Ok`, it has written all of `ends`, in ascending order;
/// the last is the number of bytes.
pub unsafe trait DecodeStrings {
    /// Whether every string is known to be UTF-8.
    fn is_utf8(&self) -> bool {
        false
    }

    /// Appends the next strings and writes the end of each.
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
    /// Whether an error has left offsets and bytes inconsistent.
    failed: bool,
}

impl<O: Offset> Strings<O> {
    /// An empty column with room for `strings` strings of `bytes` bytes in total. With `utf8`, all
    /// strings are validated. More than `bytes_max` bytes, or more than the offset type can count,
    /// are an error.
    pub fn new(utf8: bool, strings: usize, bytes: usize, bytes_max: usize) -> Self {
        // Bounded: by the caller; growth passes the gate.
        let mut offsets = Buf::with_capacity(strings.saturating_add(1));
        offsets.push(O::wrap(0));
        let bytes_max = bytes_max.min(O::MAX);
        let bytes = Buf::with_capacity(bytes.min(bytes_max));
        Self { offsets, bytes, bytes_max, utf8, failed: false }
    }

    /// Makes room for `strings` more strings of `bytes` bytes in total.
    pub fn reserve(&mut self, strings: usize, bytes: usize) {
        // Bounded: by the caller; growth passes the gate.
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

    /// The start of each string, and the end of the last one.
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
    /// Errors of the decoder, [`ColumnError::Utf8`], or [`ColumnError::Offset`] if there are too
    /// many bytes. The column cannot be used after an error.
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

    /// Whether all strings so far are known to be UTF-8.
    pub(super) fn is_utf8(&self) -> bool {
        self.utf8 && !self.failed
    }

    /// Takes offsets and bytes out, and whether all strings are known to be UTF-8.
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
        // SAFETY: offsets start with 0 and never decrease: decoders write them in order.
        let offsets = unsafe { OffsetBuffer::new_unchecked(offsets) };
        Ok((offsets, self.bytes.take().into_inner()))
    }

    /// Takes the strings out as an Arrow array, and leaves an empty column.
    ///
    /// # Errors
    /// [`ColumnError::Utf8`] if the column does not validate UTF-8, or after an earlier error;
    /// [`ColumnError::Count`] if there are not as many `nulls` as strings.
    pub fn take_strings(&mut self, nulls: Option<NullBuffer>) -> Result<GenericStringArray<O>> {
        if !self.utf8 {
            return Err(ColumnError::Utf8);
        }
        if nulls.as_ref().is_some_and(|nulls| nulls.len() != self.len()) {
            return Err(ColumnError::Count);
        }
        let (offsets, bytes) = self.take()?;
        // SAFETY: the offsets lie within the bytes, `read` has checked every string to be UTF-8,
        // and there are as many nulls.
        Ok(unsafe { GenericStringArray::new_unchecked(offsets, bytes, nulls) })
    }

    /// Takes the byte strings out as an Arrow array, and leaves an empty column.
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
        // Bounded: by the rows, which the caller has a budget for; growth passes the gate.
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

/// Writes, for each bit from bit `first` on, the end of the last valid string up to it.
///
/// # Safety
/// `dense` has one end, and one more for each set bit; 64 more elements can be read.
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
        // SAFETY: by contract `dense` has an end, one more for each bit set, and 64 readable
        // elements after them; whole groups are written only where `out` has 64 elements left.
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

/// Validates the strings after byte `from`, which end at `ends`.
#[inline(always)]
fn check_utf8<I: Isa, O: Offset>(isa: I, bytes: &[u8], from: usize, ends: &[O]) -> Result<()> {
    let text = &bytes[from..];
    if isa.is_ascii(text) {
        return Ok(());
    }
    check_other(bytes, text, ends)
}

/// As [`check_utf8`], for text that is not all ASCII.
#[inline(never)]
fn check_other<O: Offset>(bytes: &[u8], text: &[u8], ends: &[O]) -> Result<()> {
    if simdutf8::basic::from_utf8(text).is_err() {
        return Err(ColumnError::Utf8);
    }
    // The whole text is UTF-8; so is each string, if none ends inside a character.
    for end in ends {
        let byte = bytes.get(end.as_usize()).copied().unwrap_or(0);
        if byte & 0xC0 == 0x80 {
            return Err(ColumnError::Utf8);
        }
    }
    Ok(())
}

/// Copies `len` bytes; sixteen at once if `room` allows it.
///
/// # Safety
/// `len` bytes can be read and written, and sixteen if `room` is at least that.
#[inline(always)]
unsafe fn copy_short(from: *const u8, to: *mut u8, len: usize, room: usize) {
    // SAFETY: `len` bytes can be read and written, and 16 if `room >= 16`, by contract.
    unsafe {
        if len <= 16 && room >= 16 {
            to.cast::<[u8; 16]>().write_unaligned(from.cast::<[u8; 16]>().read_unaligned());
        } else {
            std::ptr::copy_nonoverlapping(from, to, len);
        }
    }
}

/// A decoder of strings that are each preceded by their length in four bytes.
#[derive(Debug, Clone)]
pub struct PlainStrings<'a> {
    data: &'a [u8],
}

impl<'a> PlainStrings<'a> {
    /// A decoder of the values of a page.
    pub fn new(data: &'a [u8]) -> Self {
        Self { data }
    }

    /// The data not yet decoded.
    pub fn rest(&self) -> &'a [u8] {
        self.data
    }

    /// Skips the next `count` strings.
    ///
    /// # Errors
    /// [`ColumnError::Truncated`], [`ColumnError::Length`].
    pub fn skip(&mut self, count: usize) -> Result<()> {
        for _ in 0..count {
            let Some((length, rest)) = self.data.split_first_chunk() else {
                return Err(ColumnError::Truncated);
            };
            let length = u32::from_le_bytes(*length) as usize;
            self.data = rest.get(length..).ok_or(ColumnError::Length)?;
        }
        Ok(())
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
        // The bytes left for strings after all lengths: no string may be longer. It follows that
        // every length and every string is within the data.
        let lengths = ends.len().checked_mul(4).ok_or(ColumnError::Truncated)?;
        let room = data.len().checked_sub(lengths).ok_or(ColumnError::Truncated)?;
        let base = text.bytes.len();
        let most = room.min(text.max - base.min(text.max));
        // Some of these bytes may be lengths and strings that are not read now: the buffer grows
        // only if the strings do not fit.
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
