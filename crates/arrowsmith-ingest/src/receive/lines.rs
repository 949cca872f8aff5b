// SPDX-License-Identifier: Apache-2.0
//! Bytes in portions of any size → buffers of whole lines. No I/O: the framing that is fuzzed.
//!
//! Text that has no line end yet is kept: small pieces in memory of their own size, so that ten
//! thousand idle connections cost little. A line longer than the maximum size of a record is
//! skipped, and becomes one reject with the start of its text.

use arrowsmith_core::{DataError, ErrorKind, Position, Reject};

use crate::job::Sender;

/// Text of an overlong line that is kept, in bytes.
pub(crate) const OVERLONG_KEPT_BYTES: usize = 64 << 10;

/// Position of the next byte, and the line that is being skipped.
#[derive(Debug)]
pub(crate) struct Lines {
    /// Offset of the first byte that is not handed over.
    pub(crate) offset: u64,
    /// Its line, from 1.
    pub(crate) line: u64,
    record_bytes_max: usize,
    overlong: Option<Overlong>,
}

#[derive(Debug)]
struct Overlong {
    text: Vec<u8>,
    offset: u64,
    line: u64,
    bytes: u64,
}

/// What to do with the text at hand.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Hand over the first bytes; the rest is the start of a line.
    Whole(usize),
    /// There is no line end yet.
    More,
    /// The line at hand is too long: drop all of it, and call [`Lines::pass_over`].
    TooLong,
}

impl Lines {
    pub(crate) fn new(record_bytes_max: usize) -> Self {
        Self { offset: 0, line: 1, record_bytes_max, overlong: None }
    }

    /// Where to split text whose first `known` bytes contain no line end.
    pub(crate) fn cut(&self, text: &[u8], known: usize) -> Cut {
        let fresh = text.get(known..).unwrap_or_default();
        match memchr::memrchr(b'\n', fresh) {
            Some(found) => Cut::Whole(known + found + 1),
            None if text.len() > self.record_bytes_max => Cut::TooLong,
            None => Cut::More,
        }
    }

    /// Notes that text was handed over. Returns the line ends in it.
    pub(crate) fn advance(&mut self, text: &[u8]) -> u64 {
        let lines = memchr::memchr_iter(b'\n', text).count() as u64;
        self.offset += text.len() as u64;
        self.line += lines;
        lines
    }

    /// Whether a line is being skipped.
    pub(crate) fn is_passing(&self) -> bool {
        self.overlong.is_some()
    }

    /// Continues in a line that is too long. Returns the bytes of `text` that belong to it, and the
    /// reject if the line ends there; with `end` it ends in any case.
    pub(crate) fn pass_over(
        &mut self,
        text: &[u8],
        end: bool,
        sender: &Sender,
    ) -> (usize, Option<Box<Reject>>) {
        let found = memchr::memchr(b'\n', text);
        let used = found.map_or(text.len(), |at| at + 1);
        let (offset, line) = (self.offset, self.line);
        let overlong = self.overlong.get_or_insert_with(|| Overlong {
            text: Vec::new(),
            offset,
            line,
            bytes: 0,
        });
        let room = OVERLONG_KEPT_BYTES - overlong.text.len();
        let body = found.unwrap_or(used);
        overlong.text.extend_from_slice(&text[..body.min(room)]);
        overlong.bytes += body as u64;
        self.advance(&text[..used]);
        if found.is_none() && !end {
            return (used, None);
        }
        let reject = self.overlong.take().map(|overlong| {
            let error = DataError {
                kind: ErrorKind::RecordTooLong,
                position: Position {
                    source: Some(sender.name.clone()),
                    record: overlong.line - 1,
                    line: overlong.line,
                    offset: overlong.offset,
                },
                path: String::new(),
                expected: format!("a record of at most {} bytes", self.record_bytes_max),
                found: format!("{} bytes", overlong.bytes),
                hint: Some("limits.record_bytes".to_owned()),
            };
            Box::new(Reject { error, record: overlong.text, kept_as_null: false })
        });
        (used, reject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_at_the_last_end() {
        let lines = Lines::new(10);
        assert_eq!(lines.cut(b"a\nbc\nd", 0), Cut::Whole(5));
        assert_eq!(lines.cut(b"abc", 0), Cut::More);
        assert_eq!(lines.cut(b"abcdefghijk", 3), Cut::TooLong);
        assert_eq!(lines.cut(b"abcdefghijk\n", 11), Cut::Whole(12));
    }

    #[test]
    fn a_long_line_is_one_reject_wherever_it_is_cut() {
        let sender = Sender { name: "s".into(), number: 1 };
        let mut text = vec![b'x'; 200_000];
        text.extend_from_slice(b"\nnext\n");
        for portion in [1000, 70_000, 300_000] {
            let mut lines = Lines::new(10);
            lines.advance(b"ok\n");
            let mut rejects = Vec::new();
            let mut rest = &text[..];
            while rejects.is_empty() {
                let now = &rest[..portion.min(rest.len())];
                let (used, reject) = lines.pass_over(now, false, &sender);
                rest = &rest[used..];
                rejects.extend(reject);
            }
            assert_eq!(rest, b"next\n");
            let error = &rejects[0].error;
            assert_eq!((error.position.line, error.position.offset), (2, 3));
            assert_eq!(error.found, "200000 bytes");
            assert_eq!(rejects[0].record.len(), OVERLONG_KEPT_BYTES);
            assert_eq!((lines.line, lines.offset), (3, 200_004));
            assert!(!lines.is_passing());
        }
    }
}
