// SPDX-License-Identifier: Apache-2.0
//! Where values end, by quotes and brackets alone.
//!
//! The functions stop where the text does and go on from there when there is more of it, so that a long
//! record is looked at once, however many pieces it comes in.

use super::skip_space;

/// What is open at some place inside a container.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct State {
    /// Brackets of either kind.
    pub depth: usize,
    /// Whether a string is.
    pub in_string: bool,
}

/// What a byte outside of strings means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Other,
    Quote,
    Open,
    Close,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    classes[b'"' as usize] = Class::Quote;
    classes[b'{' as usize] = Class::Open;
    classes[b'[' as usize] = Class::Open;
    classes[b'}' as usize] = Class::Close;
    classes[b']' as usize] = Class::Close;
    classes
};

/// Finds the end of the container that `state` is inside of, or whose bracket is at `at`.
///
/// Gives the position behind the bracket that closes it, where `state` is back to its default. Without
/// one, gives how far the text was looked at, from where to go on with `state`: that is the end, or the
/// byte before it if that is a backslash inside a string.
///
/// # Errors
/// The position to go on from.
pub fn balanced_end(text: &[u8], mut at: usize, state: &mut State) -> Result<usize, usize> {
    loop {
        if state.in_string {
            at = string_end(text, at)?;
            state.in_string = false;
        }
        let rest = text.get(at..).unwrap_or_default();
        // Most bytes are neither brackets nor quotes.
        let Some(run) = rest.iter().position(|byte| CLASSES[usize::from(*byte)] != Class::Other)
        else {
            return Err(text.len().max(at));
        };
        at += run;
        match CLASSES[usize::from(text[at])] {
            Class::Quote => state.in_string = true,
            Class::Open => state.depth += 1,
            _ => state.depth = state.depth.saturating_sub(1),
        }
        at += 1;
        if state.depth == 0 && !state.in_string {
            return Ok(at);
        }
    }
}

/// Finds the end of the string that `at` is inside of: the position behind its closing quote.
///
/// # Errors
/// The position to go on from, as [`balanced_end`] has it.
pub fn string_end(text: &[u8], mut at: usize) -> Result<usize, usize> {
    loop {
        let rest = text.get(at..).unwrap_or_default();
        match memchr::memchr2(b'"', b'\\', rest) {
            None => return Err(text.len().max(at)),
            Some(run) if rest[run] == b'"' => return Ok(at + run + 1),
            // What is escaped is not there yet.
            Some(run) if run + 1 == rest.len() => return Err(at + run),
            Some(run) => at += run + 2,
        }
    }
}

/// Finds the end of the run of bytes at `at` that are no white space, quotes, brackets or commas: a
/// number or a literal, if it is JSON. It may go on where the text ends.
pub(super) fn word_end(text: &[u8], at: usize) -> usize {
    let ends = |byte: &u8| {
        matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',')
            || CLASSES[usize::from(*byte)] != Class::Other
    };
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(ends).unwrap_or(rest.len())
}

/// Whether a value is told from one that is cut off. Of a literal that is not spelled out, which is
/// wrong where it begins if something follows, nobody could say.
pub(super) fn is_whole(value: &[u8]) -> bool {
    match value.strip_prefix(b"-").unwrap_or(value).first() {
        Some(b't' | b'f' | b'n') => matches!(value, b"true" | b"false" | b"null"),
        Some(b'N' | b'I') => matches!(value, b"NaN" | b"Infinity" | b"-Infinity"),
        _ => true,
    }
}

/// How far a text was looked at that ended before a record did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Resume {
    /// The start of the record.
    pub(super) record: usize,
    /// Where to go on.
    pub(super) at: usize,
    /// What is open there; nothing at the start of the record.
    pub(super) state: State,
    /// In arrays, whether there is an element since the last comma.
    pub(super) element: bool,
}

impl Resume {
    /// A place between values.
    pub(super) fn at(at: usize) -> Self {
        Self { record: at, at, ..Self::default() }
    }

    /// Goes to the next value, unless this is inside of one.
    pub(super) fn skip_space(&mut self, text: &[u8]) {
        if self.at == self.record {
            let at = skip_space(text, self.at);
            *self = Self { element: self.element, ..Self::at(at) };
        }
    }

    /// Finds the end of the value that begins at `record`; `None` when the text, of which no more than
    /// `limit` bytes are looked at, ends before it. Words end where the text does only with `eof`.
    pub(super) fn value_end(&mut self, text: &[u8], limit: usize, eof: bool) -> Option<usize> {
        let eof = eof && limit >= text.len();
        let text = &text[..limit.min(text.len())];
        let end = match text.get(self.record) {
            Some(b'{' | b'[') => balanced_end(text, self.at, &mut self.state),
            Some(b'"') => string_end(text, self.at.max(self.record + 1)),
            // What no value begins with is passed byte by byte.
            Some(b'}' | b']' | b',') => Ok(self.record + 1),
            _ => {
                let end = word_end(text, self.at);
                if end < text.len() || eof { Ok(end) } else { Err(end) }
            }
        };
        match end {
            Ok(end) => Some(end),
            Err(at) => {
                self.at = at;
                None
            }
        }
    }
}
