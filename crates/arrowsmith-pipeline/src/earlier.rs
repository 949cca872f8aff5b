// SPDX-License-Identifier: Apache-2.0
//! What comes before a byte range in its input: counted only if the position of an error needs it.

use std::io::Read;
use std::sync::OnceLock;

use arrowsmith_core::{DataError, Result};
use arrowsmith_source::{ByteRange, Content, Input, OpenOptions};

/// Size of the buffer of an input that is read, in bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// The lines before a range.
pub(crate) struct Earlier {
    input: Input,
    open: OpenOptions,
    start: u64,
    counted: OnceLock<Option<Count>>,
}

/// A byte order mark, which is not a record if it is alone on the first line.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Records and line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Count {
    records: u64,
    lines: u64,
    /// Whether there was more than white space since the last line end.
    open: bool,
    /// What is left of the mark, as long as the text has begun with the rest.
    mark: &'static [u8],
}

impl Default for Count {
    fn default() -> Self {
        Self { records: 0, lines: 0, open: false, mark: BOM }
    }
}

impl Count {
    fn add(&mut self, mut text: &[u8]) {
        while let ([first, rest @ ..], [expected, mark @ ..]) = (text, self.mark) {
            if first != expected {
                self.open = self.mark.len() < BOM.len();
                self.mark = &[];
                break;
            }
            (text, self.mark) = (rest, mark);
        }
        while let Some(end) = memchr::memchr(b'\n', text) {
            let line = text.get(..end).unwrap_or_default();
            self.records += u64::from(self.open || !is_blank(line));
            self.lines += 1;
            self.open = false;
            text = text.get(end + 1..).unwrap_or_default();
        }
        self.open |= !is_blank(text);
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

impl Earlier {
    /// What is before `range` in `input`, which was opened with these options; `None` if that is
    /// nothing.
    pub(crate) fn new(input: Input, open: &OpenOptions, range: ByteRange) -> Option<Self> {
        let before = Some(ByteRange { start: 0, end: range.start });
        let open = OpenOptions { range: before, bytes_read: Default::default(), ..open.clone() };
        let (start, counted) = (range.start, OnceLock::new());
        (start > 0).then_some(Self { input, open, start, counted })
    }

    /// Makes record and line those of the whole input.
    pub(crate) fn complete(&self, error: &mut DataError) {
        match self.counted.get_or_init(|| self.count().ok()) {
            Some(count) => {
                error.position.record += count.records;
                error.position.line += count.lines;
            }
            None => {
                let hint = format!("record and line are counted from byte {}", self.start);
                error.hint.get_or_insert(hint);
            }
        }
    }

    fn count(&self) -> Result<Count> {
        let mut count = Count::default();
        let Some(input) = self.input.again() else { return Ok(count) };
        match input.open(&self.open)?.content {
            Content::Whole(bytes) => count.add((*bytes).as_ref()),
            Content::Stream(mut stream) => {
                let mut buffer = vec![0; BUFFER_BYTES];
                loop {
                    match stream.read(&mut buffer)? {
                        0 => break,
                        read => count.add(buffer.get(..read).unwrap_or_default()),
                    }
                }
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_lines_with_something_in_them() {
        let cases: [(&[u8], u64, u64); 8] = [
            (b"", 0, 0),
            (b"{}\n", 1, 1),
            (b"\n \t\r\n{}\r\n\n{}\n", 2, 5),
            (b"{}\n{}", 1, 1),
            (b"\xEF\xBB\xBF\n{}\n", 1, 2),
            (b"\xEF\xBB\xBF {}\n", 1, 1),
            (b"\xEF\xBB\n{}\n", 2, 2),
            (b"{}\n\xEF\xBB\xBF\n", 2, 2),
        ];
        for (text, records, lines) in cases {
            for split in 0..=text.len() {
                let mut count = Count::default();
                count.add(&text[..split]);
                count.add(&text[split..]);
                assert_eq!((count.records, count.lines), (records, lines), "{text:?} at {split}");
            }
        }
    }
}
