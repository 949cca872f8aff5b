// SPDX-License-Identifier: Apache-2.0
//! String columns, and the kernel that finds, unescapes and copies a JSON string.
//!
//! The kernel copies 64 bytes at a time to the end of the column and then determines where the
//! string ends, so that a short string costs one load, one store and a few compares. UTF-8 is
//! validated for many strings at once ([`TextBuf::validate`]); an invalid column cannot be taken.

use arrow_array::StringArray;
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrowsmith_core::ErrorKind;

use crate::isa::Isa;
use crate::lanes::{self, LANES, Positions};
use crate::{Buf, Input};

/// The input of lanes without a string.
static QUOTES: [u8; 64] = [b'"'; 64];

/// An error, and its position in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The kind of error.
    pub kind: ErrorKind,
    /// The position, in bytes.
    pub pos: usize,
}

/// A growing column of strings: the bytes of all strings, and the end of each.
#[derive(Debug)]
pub struct TextBuf {
    bytes: Buf<u8>,
    offsets: Buf<i32>,
    /// Bytes and strings that are known to be UTF-8.
    valid_bytes: usize,
    valid_strings: usize,
}

impl Default for TextBuf {
    fn default() -> Self {
        let mut offsets = Buf::default();
        offsets.push(0);
        Self { bytes: Buf::default(), offsets, valid_bytes: 0, valid_strings: 0 }
    }
}

impl TextBuf {
    /// Strings in the column.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all strings together.
    #[inline(always)]
    pub fn bytes_len(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes of the last string.
    pub fn last(&self) -> &[u8] {
        let offsets = self.offsets.as_slice();
        let start = offsets.len().checked_sub(2).map_or(0, |i| offset(offsets[i]));
        &self.bytes.as_slice()[start..]
    }

    /// Keeps the first `len` strings.
    pub fn truncate(&mut self, len: usize) {
        if len < self.len() {
            self.offsets.truncate(len + 1);
            self.valid_strings = self.valid_strings.min(len);
        }
        // Running out of memory can leave a partial string, too.
        self.drop_partial();
        self.valid_bytes = self.valid_bytes.min(self.bytes.len());
    }

    /// Drops the partial string of a failed [`TextBuf::push_json`].
    fn drop_partial(&mut self) {
        self.bytes.truncate(offset(self.offsets.last().unwrap_or(0)));
    }

    /// Ends the string that was appended to `bytes`.
    #[inline(always)]
    fn end(&mut self) {
        self.offsets.push(end_offset(self.bytes.len()));
    }

    /// Appends a string unchanged.
    #[inline]
    pub fn push(&mut self, text: &[u8]) {
        self.bytes.extend(text);
        self.end();
    }

    /// Appends an empty string, for a null.
    #[inline(always)]
    pub fn push_empty(&mut self) {
        self.end();
    }

    /// Appends `count` empty strings.
    pub fn push_empties(&mut self, count: usize) {
        let end = self.offsets.last().unwrap_or(0);
        self.offsets.push_n(end, count);
    }

    /// Moves the strings from `first` on to the places whose bits are set, as [`Buf::expand`]; the
    /// others are empty.
    #[inline(always)]
    pub fn expand(&mut self, first: usize, places: u64, count: usize) {
        self.offsets.expand_ends(first, places, count);
    }

    /// Appends the JSON string whose first byte after the opening quote is at `pos`; returns the
    /// position after the closing quote. UTF-8 is checked later, by [`TextBuf::validate`].
    ///
    /// # Errors
    /// `control-character` (also for a line feed or a zero byte, which the caller has to
    /// distinguish from the end of the text), `invalid-escape`, `lone-surrogate`; the column is
    /// then unchanged.
    #[inline(always)]
    pub fn push_json<I: Isa>(
        &mut self,
        isa: I,
        input: Input<'_>,
        pos: usize,
    ) -> Result<usize, Fault> {
        let read = self.copy_json(isa, input, pos);
        match read {
            Ok(_) => self.end(),
            Err(_) => self.drop_partial(),
        }
        read
    }

    /// As [`TextBuf::push_json`], without appending the end; bytes copied before an error stay.
    #[inline(always)]
    fn copy_json<I: Isa>(
        &mut self,
        isa: I,
        input: Input<'_>,
        mut pos: usize,
    ) -> Result<usize, Fault> {
        loop {
            let window = input.window(pos);
            let stop = isa.string_stop(window);
            // SAFETY: `spare` has room for 64 bytes, and a window is 64 bytes.
            unsafe {
                self.bytes.spare(64).copy_from_nonoverlapping(window.as_ptr(), 64);
            }
            let count = stop.trailing_zeros() as usize;
            // SAFETY: 64 bytes were written to the spare room, and `count` is no more.
            unsafe { self.bytes.advance(count) };
            pos += count;
            if stop == 0 {
                continue;
            }
            match window[count & 63] {
                b'"' => return Ok(pos + 1),
                b'\\' => {}
                _ => return Err(Fault { kind: ErrorKind::ControlCharacter, pos }),
            }
            let (escaped, end) = unescape(input, pos)?;
            let mut utf8 = [0; 4];
            for &byte in escaped.encode_utf8(&mut utf8).as_bytes() {
                self.bytes.push(byte);
            }
            pos = end;
        }
    }

    /// Appends the JSON strings of these lanes, and an empty string for each other lane; moves each
    /// position from the opening quote to after the closing one. If one of them is not a complete
    /// string, changes nothing and returns `false`.
    #[inline(always)]
    pub fn push_lanes<I: Isa>(
        &mut self,
        isa: I,
        input: Input<'_>,
        pos: &mut Positions,
        lanes: u8,
    ) -> bool {
        if lanes == u8::MAX {
            self.push_eight::<I, true>(isa, input, pos, lanes)
        } else {
            self.push_eight::<I, false>(isa, input, pos, lanes)
        }
    }

    #[inline(always)]
    fn push_eight<I: Isa, const ALL: bool>(
        &mut self,
        isa: I,
        input: Input<'_>,
        pos: &mut Positions,
        lanes: u8,
    ) -> bool {
        let before = self.bytes.len();
        let mut next = *pos;
        let mut ends = [0; LANES];
        let mut to = self.bytes.spare(LANES * 64);
        let mut room = LANES;
        for lane in 0..LANES {
            // A lane outside the set reads an empty string.
            let there = ALL || lanes::has(lanes, lane);
            let from = pos[lane];
            let text = if there { input.window(from + 1) } else { &QUOTES };
            let quote = if there { input.at(from) } else { b'"' };
            let stop = isa.string_stop(text);
            // SAFETY: there is room for `LANES` windows from `to` on, each of 64 bytes; `room` are
            // left, at least one for each lane to come.
            unsafe { to.copy_from_nonoverlapping(text.as_ptr(), 64) };
            let count = stop.trailing_zeros() as usize;
            if quote != b'"' || stop == 0 || text[count & 63] != b'"' {
                // A long string, one with an escape, or not a string.
                next[lane] = match quote {
                    b'"' => self.copy_json(isa, input, from + 1).unwrap_or(0),
                    _ => 0,
                };
                if next[lane] == 0 {
                    self.bytes.truncate(before);
                    return false;
                }
                to = self.bytes.spare(room * 64);
            } else {
                // SAFETY: 64 bytes were written to the spare room, and `count` is less.
                unsafe {
                    self.bytes.advance(count);
                    to = to.add(count);
                }
                next[lane] += if there { count + 2 } else { 0 };
            }
            room -= 1;
            ends[lane] = end_offset(self.bytes.len());
        }
        self.offsets.extend_array(&ends);
        *pos = next;
        true
    }

    /// Whether everything appended so far is UTF-8, string by string.
    pub fn validate(&mut self) -> bool {
        let bytes = &self.bytes.as_slice()[self.valid_bytes..];
        if !bytes.is_ascii() {
            if simdutf8::basic::from_utf8(bytes).is_err() {
                return false;
            }
            // If all bytes together are UTF-8, each string is, unless one starts inside a
            // character.
            let all = self.bytes.as_slice();
            let starts = &self.offsets.as_slice()[self.valid_strings..];
            let inside = |start: &i32| all.get(offset(*start)).is_some_and(|b| b & 0xC0 == 0x80);
            if starts.iter().any(inside) {
                return false;
            }
        }
        self.valid_bytes = self.bytes.len();
        self.valid_strings = self.len();
        true
    }

    /// Takes the column out as an Arrow array; `None` if it is not UTF-8, or if `nulls` has another
    /// length.
    pub fn take(&mut self, nulls: Option<NullBuffer>) -> Option<StringArray> {
        if !self.validate() || nulls.as_ref().is_some_and(|nulls| nulls.len() != self.len()) {
            return None;
        }
        let bytes: Buffer = self.bytes.take().into_inner();
        let offsets: ScalarBuffer<i32> = self.offsets.take();
        self.offsets.push(0);
        self.valid_bytes = 0;
        self.valid_strings = 0;
        // SAFETY: `end` and `truncate` keep the offsets ascending from 0 to the number of bytes,
        // `validate` has just checked UTF-8, and `nulls` has the same length.
        Some(unsafe {
            StringArray::new_unchecked(OffsetBuffer::new_unchecked(offsets), bytes, nulls)
        })
    }
}

/// The number of bytes as an offset. The engine refuses batches of more than `i32::MAX` bytes
/// before it decodes them.
#[inline(always)]
fn end_offset(bytes: usize) -> i32 {
    debug_assert!(i32::try_from(bytes).is_ok(), "the engine has not refused {bytes} bytes");
    i32::try_from(bytes).unwrap_or(i32::MAX)
}

#[inline(always)]
fn offset(offset: i32) -> usize {
    usize::try_from(offset).unwrap_or(0)
}

/// The character that the escape at `pos` (its backslash) stands for, and the position after it.
///
/// # Errors
/// `invalid-escape` and `lone-surrogate`, at the backslash.
#[inline]
pub fn unescape(input: Input<'_>, pos: usize) -> Result<(char, usize), Fault> {
    let simple = match input.at(pos + 1) {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unescape_unicode(input, pos),
        _ => return Err(Fault { kind: ErrorKind::InvalidEscape, pos }),
    };
    Ok((simple, pos + 2))
}

/// As [`unescape`], for `\uXXXX` and pairs of them.
fn unescape_unicode(input: Input<'_>, pos: usize) -> Result<(char, usize), Fault> {
    let unit = hex4(input, pos + 2).ok_or(Fault { kind: ErrorKind::InvalidEscape, pos })?;
    let lone = Fault { kind: ErrorKind::LoneSurrogate, pos };
    if !(0xD800..0xE000).contains(&unit) {
        return Ok((char::from_u32(unit).ok_or(lone)?, pos + 6));
    }
    if unit >= 0xDC00 || input.at(pos + 6) != b'\\' || input.at(pos + 7) != b'u' {
        return Err(lone);
    }
    let low = hex4(input, pos + 8).ok_or(lone)?;
    if !(0xDC00..0xE000).contains(&low) {
        return Err(lone);
    }
    let code = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    Ok((char::from_u32(code).ok_or(lone)?, pos + 12))
}

/// The end of the text (by `ends`) if it truncates the escape, or surrogate pair, at `pos`; `None`
/// for any other error.
pub fn cut_escape(input: Input<'_>, pos: usize, ends: impl Fn(usize) -> bool) -> Option<usize> {
    // The pattern is at most `\uXXXX\uXXXX`; checks up to the first byte that differs.
    for i in 1..12 {
        let (at, byte) = (pos + i, input.at(pos + i));
        let high = i != 6 || hex4(input, pos + 2).is_some_and(|unit| unit & 0xFC00 == 0xD800);
        // A low surrogate without a high one is alone, whatever would follow.
        if ends(at) {
            return high.then_some(at);
        }
        let fits = match i {
            1 | 7 => byte == b'u',
            6 => high && byte == b'\\',
            // The second of a pair is a low surrogate.
            8 => matches!(byte, b'd' | b'D'),
            9 => matches!(byte, b'c'..=b'f' | b'C'..=b'F'),
            _ => byte.is_ascii_hexdigit(),
        };
        if !fits {
            return None;
        }
    }
    None
}

/// Four hexadecimal digits.
#[inline]
pub fn hex4(input: Input<'_>, pos: usize) -> Option<u32> {
    let mut value = 0;
    for i in 0..4 {
        value = value << 4 | char::from(input.at(pos + i)).to_digit(16)?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_could_become_a_character_is_truncated() {
        for (text, truncated) in [
            ("\\", true),
            ("\\u", true),
            ("\\ud8", true),
            ("\\ud800", true),
            ("\\ud800\\", true),
            ("\\ud800\\ud", true),
            ("\\ud800\\udc0", true),
            ("\\ud800\\ua", false),
            ("\\ud800x", false),
            ("\\udc00", false),
            ("\\udc00\\", false),
            ("\\x", false),
        ] {
            let mut bytes = text.as_bytes().to_vec();
            bytes.resize(text.len() + arrowsmith_core::PADDING_BYTES, b'0');
            let input = Input::new(&bytes, text.len()).unwrap();
            let found = cut_escape(input, 0, |at| at >= text.len());
            assert_eq!(found, truncated.then_some(text.len()), "{text}");
        }
    }
}
