// SPDX-License-Identifier: Apache-2.0
//! Cuts a text into blocks of whole records, which are decoded independently.
//!
//! A record ends with a line end that is not within quotes, by the rules of `csv-core`: a quote
//! opens a value only at its start, two within a value are one.

use std::io::BufRead;
use std::mem;
use std::sync::Arc;

use arrowsmith::{Error, Result};
use memchr::{memchr, memchr2_iter, memrchr2};

use super::decode::Text;
use super::error::invalid;

/// Bytes that are read at once, so that a record without an end is noticed.
const PIECE_BYTES: usize = 256 << 10;

/// Some records of a text.
pub(super) struct Block {
    pub(super) text: Arc<Text>,
    pub(super) bytes: Vec<u8>,
    /// Whether it is the first of its text, which has the header.
    pub(super) is_first: bool,
    /// Whether it is and empty lines before the header were skipped: what looks like a byte order
    /// mark after them is the start of a name.
    pub(super) is_after_empty_lines: bool,
}

/// The blocks of a text; its last one may end within a record. An error is the last item.
pub(super) struct Blocks {
    text: Arc<Text>,
    reader: Box<dyn BufRead + Send>,
    /// Bytes that are not in a block yet, from the start of a record.
    bytes: Vec<u8>,
    /// How many are looked at before a block ends. So blocks do not depend on how much each read
    /// returns.
    bytes_wanted: usize,
    scan: Scan,
    is_first: bool,
    /// Whether empty lines before the header were skipped.
    has_empty_lines: bool,
    /// How the text ended, once it has.
    end: Option<Result<()>>,
}

impl Blocks {
    pub(super) fn new(text: Arc<Text>, reader: Box<dyn BufRead + Send>) -> Self {
        let (bytes, bytes_wanted, scan) = (Vec::new(), text.options.block_bytes, Scan::default());
        let (is_first, has_empty_lines, end) = (true, false, None);
        Self { text, reader, bytes, bytes_wanted, scan, is_first, has_empty_lines, end }
    }

    /// Reads one piece; returns whether there may be more.
    fn read(&mut self) -> Result<bool> {
        let (name, options) = (self.text.name.as_deref(), self.text.options);
        let buffer = self.reader.fill_buf();
        let buffer = buffer.map_err(|error| Error::io(name.unwrap_or_default(), error))?;
        let most = PIECE_BYTES.min(self.bytes_wanted.saturating_sub(self.bytes.len()).max(1));
        let piece = buffer.get(..most).unwrap_or(buffer);
        let read = piece.len();
        // The header is the first record: what a block without one begins with is not.
        let is_start = self.is_first && self.bytes.is_empty();
        let is_empty = |byte: &u8| is_start && matches!(byte, b'\n' | b'\r');
        let skipped = piece.iter().take_while(|byte| is_empty(byte)).count();
        self.has_empty_lines |= skipped > 0;
        self.bytes.extend_from_slice(piece.get(skipped..).unwrap_or_default());
        self.reader.consume(read);
        let most = options.record_bytes_max;
        if !self.scan.go_on(&self.bytes, options.delimiter, most) {
            return Err(invalid(name, &format!("a record is longer than {most} bytes")));
        }
        Ok(read > 0)
    }

    /// Whether there is a block.
    fn is_full(&mut self) -> bool {
        if self.bytes.len() < self.bytes_wanted {
            return false;
        }
        if self.scan.end == 0 {
            self.bytes_wanted = self.bytes.len().saturating_add(self.text.options.block_bytes);
        }
        self.scan.end > 0
    }

    /// The bytes up to the end of the last whole record, or all.
    fn block(&mut self, is_all: bool) -> Block {
        let end = if is_all { self.bytes.len() } else { self.scan.end };
        let rest = self.bytes.split_off(end);
        self.scan.at = self.scan.at.saturating_sub(end);
        self.scan.end = 0;
        self.bytes_wanted = self.text.options.block_bytes;
        Block {
            text: Arc::clone(&self.text),
            bytes: mem::replace(&mut self.bytes, rest),
            is_first: mem::take(&mut self.is_first),
            is_after_empty_lines: mem::take(&mut self.has_empty_lines),
        }
    }
}

impl Iterator for Blocks {
    type Item = Result<Block>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.end.is_none() && !self.is_full() {
            match self.read() {
                Ok(true) => {}
                Ok(false) => self.end = Some(Ok(())),
                Err(error) => self.end = Some(Err(error)),
            }
        }
        match &mut self.end {
            None => Some(Ok(self.block(false))),
            Some(Ok(())) if !self.bytes.is_empty() => Some(Ok(self.block(true))),
            Some(Ok(())) => None,
            // The records before the error come first.
            Some(Err(_)) if self.scan.end > 0 => Some(Ok(self.block(false))),
            Some(end) => {
                self.bytes.clear();
                mem::replace(end, Ok(())).err().map(Err)
            }
        }
    }
}

/// Where a scan is within a record.
#[derive(Clone, Copy, Default)]
enum Place {
    #[default]
    Unquoted,
    Quoted,
    /// After a quote within quotes: it ends the value, unless another one follows.
    Quote,
}

/// The search for ends of records.
#[derive(Default)]
struct Scan {
    /// The bytes that were looked at.
    at: usize,
    place: Place,
    /// The end of the last whole record, or 0.
    end: usize,
}

impl Scan {
    /// Goes on to the end of `bytes`, which start with a record; returns whether no record is
    /// longer than `bytes_max`, its line end aside.
    fn go_on(&mut self, bytes: &[u8], delimiter: u8, bytes_max: usize) -> bool {
        while let Some(rest) = bytes.get(self.at..).filter(|rest| !rest.is_empty()) {
            let quote = memchr(b'"', rest);
            match self.place {
                Place::Unquoted => {
                    let plain = rest.get(..quote.unwrap_or(rest.len())).unwrap_or_default();
                    if let Some(last) = memrchr2(b'\n', b'\r', plain) {
                        if self.at + last - self.end > bytes_max {
                            // One of them may be too long.
                            for end in memchr2_iter(b'\n', b'\r', plain) {
                                if self.at + end - self.end > bytes_max {
                                    return false;
                                }
                                self.end = self.at + end + 1;
                            }
                        }
                        self.end = self.at + last + 1;
                    }
                    let before = match plain.last() {
                        None => self.at.checked_sub(1).and_then(|at| bytes.get(at)),
                        last => last,
                    };
                    let is_start =
                        before.is_none_or(|byte| [delimiter, b'\n', b'\r'].contains(byte));
                    if quote.is_some() && is_start {
                        self.place = Place::Quoted;
                    }
                }
                Place::Quoted if quote.is_some() => self.place = Place::Quote,
                Place::Quoted => {}
                Place::Quote if quote == Some(0) => self.place = Place::Quoted,
                Place::Quote => {
                    // What follows is looked at again.
                    self.place = Place::Unquoted;
                    continue;
                }
            }
            self.at += quote.map_or(rest.len(), |quote| quote + 1);
        }
        bytes.len() - self.end <= bytes_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_end_outside_of_quotes() {
        for (text, expected) in [
            ("", 0),
            ("a,b", 0),
            ("a,b\n", 4),
            ("a\rb", 2),
            ("a\r\nb", 3),
            ("\"a\n", 0),
            ("\"a\n\"", 0),
            ("\"a\n\"\n1", 5),
            ("\"a\"\"\n\"\n1", 7),
            ("a\"\n1", 3),
            ("a,\"\n1", 0),
            ("\"a\"b\"\n1", 6),
            ("a\n\"\n", 2),
            ("\"\"\n1", 3),
            ("\"\"\"\n1", 0),
        ] {
            for split in 0..=text.len() {
                let mut scan = Scan::default();
                assert!(scan.go_on(&text.as_bytes()[..split], b',', 100));
                assert!(scan.go_on(text.as_bytes(), b',', 100));
                assert_eq!(scan.end, expected, "{text:?} {split}");
            }
        }
    }

    #[test]
    fn records_have_a_maximum_size() {
        for (text, longest) in
            [("a\nbcd\ne\n", 3), ("a\n\"b\n\"\nc", 4), ("\nabc", 3), ("ab\"\n", 3)]
        {
            for split in 0..=text.len() {
                for most in 0..8 {
                    let mut scan = Scan::default();
                    let is_right = scan.go_on(&text.as_bytes()[..split], b',', most)
                        && scan.go_on(text.as_bytes(), b',', most);
                    assert_eq!(is_right, longest <= most, "{text:?} {split} {most}");
                }
            }
        }
    }
}
