// SPDX-License-Identifier: Apache-2.0
//! A position in the text of a record: values are skipped by their quotes and brackets.

use crate::frame::scan::{State, balanced_end, string_end, word_end};
use crate::frame::skip_space;

/// A position in a text.
pub(crate) struct Cursor<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Cursor<'a> {
    /// The next byte that is not white space.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        self.at = skip_space(self.text, self.at);
        self.text.get(self.at).copied()
    }

    pub(crate) fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// The text of the next value.
    pub(crate) fn skip(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        self.at = match self.peek()? {
            b'{' | b'[' => balanced_end(self.text, self.at, &mut State::default()).ok()?,
            b'"' => string_end(self.text, self.at + 1).ok()?,
            _ => word_end(self.text, self.at),
        };
        self.text.get(start..self.at).map(<[u8]>::trim_ascii_start)
    }

    /// Whether there is another key or element: skips the comma before it, or the end.
    pub(crate) fn more(&mut self, end: u8) -> Option<bool> {
        let byte = self.peek()?;
        if byte == end || byte == b',' {
            self.at += 1;
        }
        Some(byte != end)
    }
}
