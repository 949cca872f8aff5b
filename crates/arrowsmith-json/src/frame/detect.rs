// SPDX-License-Identifier: Apache-2.0
//! Detects from the first bytes how records are separated.

use arrowsmith_core::Framing;
use memchr::memchr;

use super::scan::Resume;
use super::skip_space;

/// Bytes at the start of a source used for detection. Later bytes are ignored, so that the result
/// does not depend on how many are available.
pub const DETECT_BYTES: usize = 64 << 10;

pub(super) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The result of the detection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detection {
    /// How the records are separated.
    Found(Framing),
    /// More bytes are needed, up to [`DETECT_BYTES`].
    NeedMore,
    /// There is no record.
    Empty,
}

/// Detects how records are separated, from the start of a source; with `eof`, `prefix` is all of
/// it.
///
/// * [`Framing::Array`]: the first value is an array, and the only value, or longer than
///   [`DETECT_BYTES`].
/// * [`Framing::Lines`]: the first value ends on its line; or no valid JSON could continue on the
///   next line, so that the record of this line is malformed.
/// * [`Framing::Concatenated`]: it continues on the next line, or it is an object followed by
///   another one on the same line.
pub fn detect(prefix: &[u8], eof: bool) -> Detection {
    let text = &prefix[..prefix.len().min(DETECT_BYTES)];
    let first = First {
        text,
        whole: eof && prefix.len() <= DETECT_BYTES,
        closed: eof || prefix.len() >= DETECT_BYTES,
    };
    match first.framing() {
        Some(framing) => framing.map_or(Detection::Empty, Detection::Found),
        None => Detection::NeedMore,
    }
}

struct First<'a> {
    text: &'a [u8],
    /// Nothing follows the text.
    whole: bool,
    /// Whether the bytes after `text` are to be ignored.
    closed: bool,
}

impl First<'_> {
    /// `None` if more text is needed, `Some(None)` if there is no record.
    fn framing(&self) -> Option<Option<Framing>> {
        let text = self.text;
        if !self.closed && text.len() < BOM.len() && BOM.starts_with(text) {
            return None;
        }
        let start = skip_space(text, if text.starts_with(BOM) { BOM.len() } else { 0 });
        if start == text.len() {
            let decided = (!self.whole).then_some(Framing::Lines);
            return self.closed.then_some(decided);
        }
        let in_array = text[start] == b'[';
        let end = Resume::at(start).value_end(text, text.len(), self.whole);
        let mut alone = Framing::Lines;
        if let Some(line) = memchr(b'\n', &text[start..end.unwrap_or(text.len())]) {
            match self.is_broken(start, start + line)? {
                true => return Some(Some(Framing::Lines)),
                false if !in_array => return Some(Some(Framing::Concatenated)),
                false => alone = Framing::Concatenated,
            }
        }
        let Some(end) = end else {
            // A record longer than that is taken for a line, an array for the only value.
            let decided = if in_array { Framing::Array } else { Framing::Lines };
            return self.closed.then_some(Some(decided));
        };
        let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r');
        let next = end + text[end..].iter().take_while(blank).count();
        let ends_line = text.get(next) == Some(&b'\n');
        if ends_line && !in_array {
            return Some(Some(Framing::Lines));
        }
        let framing = match text.get(skip_space(text, next)) {
            None if !self.closed => return None,
            None if in_array => Framing::Array,
            None => alone,
            Some(byte) if begins_value(*byte) && ends_line => alone,
            // Writers omit line ends between objects, but not between other values.
            Some(b'{') if text[start] == b'{' => Framing::Concatenated,
            Some(_) if in_array => Framing::Array,
            Some(_) => alone,
        };
        Some(Some(framing))
    }

    /// Whether the value that starts at `start` and is not complete at the line end `line` cannot
    /// continue after it; `None` if more text is needed.
    fn is_broken(&self, start: usize, line: usize) -> Option<bool> {
        let mut scan = Resume::at(start);
        scan.value_end(self.text, line, false);
        if scan.state.in_string || self.text[start] == b'"' {
            return Some(true);
        }
        let before = self.text[..line].iter().rev().find(|byte| !super::is_space(**byte));
        let goes_on = matches!(before, Some(b'{' | b'[' | b',' | b':'));
        match self.text.get(skip_space(self.text, line)) {
            None => self.closed.then_some(false),
            Some(next) => Some(begins_value(*next) && !goes_on),
        }
    }
}

fn begins_value(byte: u8) -> bool {
    matches!(byte, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n')
}
