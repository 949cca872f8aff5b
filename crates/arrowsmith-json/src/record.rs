// SPDX-License-Identifier: Apache-2.0
//! The records of a text, whether they are JSON or not: by rule 20 of
//! `docs/design/0002-json-semantics.md`, as the decoders do it, so that they have the same numbers.

use std::ops::Range;

use arrowsmith_core::Framing;

use crate::frame::{is_space, skip_space};

/// The first bytes of the records of a chunk, whether they are JSON or not: of those to which a
/// decoder gives numbers, in order.
pub fn record_starts(text: &[u8], framing: Framing) -> impl Iterator<Item = usize> + '_ {
    records(text, framing).map(|record| skip_space(text, record.start))
}

/// The records of a chunk, as [`record_starts`] finds them.
pub fn records(text: &[u8], framing: Framing) -> impl Iterator<Item = Range<usize>> + '_ {
    Records::new(text, framing)
}

/// Where the records of a chunk are.
pub(crate) struct Records<'a> {
    text: &'a [u8],
    framing: Framing,
    at: usize,
    first: bool,
}

impl<'a> Records<'a> {
    pub(crate) fn new(text: &'a [u8], framing: Framing) -> Self {
        Self { text, framing, at: 0, first: true }
    }

    /// The next line that is not blank.
    fn line(&mut self) -> Option<Range<usize>> {
        loop {
            let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
            let len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let (start, line) = (self.at, &rest[..len]);
            self.at += len + 1;
            if !line.iter().all(|byte| is_space(*byte)) {
                return Some(start..start + len);
            }
        }
    }
}

impl Iterator for Records<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        if self.framing == Framing::Lines {
            return self.line();
        }
        let mut start = skip_space(self.text, self.at);
        if start >= self.text.len() {
            return None;
        }
        // What is there instead of a comma is a record by itself.
        let first = std::mem::replace(&mut self.first, false);
        if self.framing == Framing::Array && !first && self.text[start] == b',' {
            start = skip_space(self.text, start + 1);
        }
        self.at = record_end(self.text, self.framing, start);
        Some(start..self.at)
    }
}

/// The end of the record that starts at `start`; not for lines.
pub(crate) fn record_end(text: &[u8], framing: Framing, start: usize) -> usize {
    let end = match text.get(start) {
        None => None,
        Some(b',') if framing == Framing::Array => Some(start),
        Some(b'{' | b'[') => balanced_end(text, start),
        Some(b'"') => string_end(text, start),
        Some(_) => {
            let ends =
                |b: &u8| matches!(b, b',' | b':' | b'{' | b'}' | b'[' | b']' | b'"' | 0..=b' ');
            text[start + 1..].iter().position(ends).map(|at| start + 1 + at)
        }
    };
    end.unwrap_or(text.len()).min(text.len())
}

/// The end of the container whose bracket is at `start`: as many brackets close as open, of either
/// kind, outside strings.
fn balanced_end(text: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        match text.get(at)? {
            b'"' => {
                at = string_end(text, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return Some(at + 1),
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
}

/// The end of the string whose quote is at `start`, whatever its content.
fn string_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}
