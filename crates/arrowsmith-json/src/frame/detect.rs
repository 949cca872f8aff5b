// SPDX-License-Identifier: Apache-2.0
//! Tells from the first bytes how records follow one another.

use arrowsmith_core::Framing;
use memchr::memchr;

use super::scan::Resume;
use super::skip_space;

/// Bytes at the start of a source that may decide; what is behind them is not looked at, so that
/// the answer does not depend on how much there is at once.
pub const DETECT_BYTES: usize = 64 << 10;

pub(super) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// What the first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detection {
    /// How the records follow one another.
    Found(Framing),
    /// More bytes are needed, up to [`DETECT_BYTES`].
    NeedMore,
    /// There is no record.
    Empty,
}

/// Tells how records follow one another, from the start of a source; with `eof` it is all of it.
///
/// * [`Framing::Array`]: the first value is an array, and the only value, or longer than one looks.
/// * [`Framing::Lines`]: the first value ends on its line; or the line breaks off where no JSON can
///   go on with the next one, so that it is the line that is broken.
/// * [`Framing::Concatenated`]: it does not, or it is an object that another one follows on its
///   line.
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
    /// Nothing that follows is looked at.
    closed: bool,
}

impl First<'_> {
    /// `None` needs more text, and `Some(None)` is no record.
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
            // A record that long is a line, and an array that long is the only one.
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
            // Writers leave the line ends out between objects, not between other values.
            Some(b'{') if text[start] == b'{' => Framing::Concatenated,
            Some(_) if in_array => Framing::Array,
            Some(_) => alone,
        };
        Some(Some(framing))
    }

    /// Whether the value that begins at `start` cannot go on behind the line end at `line`, which
    /// is before its end; `None` needs more text.
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
