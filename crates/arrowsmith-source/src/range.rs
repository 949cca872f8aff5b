// SPDX-License-Identifier: Apache-2.0
//! The lines of a byte range of an input, so that several readers share one file.
//!
//! A line belongs to the range in which it begins *after* the first byte of the range, or at the
//! start of the input; its reader reads on to its end. So any cuts of an input give every line
//! once, and no reader has to know what another one read: whoever begins at `start` skips the rest
//! of the line in which that byte lies, which the reader of the range before takes. Only `\n` ends
//! a line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use memchr::memchr;

use crate::file::FileMap;
use crate::{Content, SharedBytes};

/// Bytes beyond a range that are read ahead of use: the end of its last line.
const TAIL_BYTES: u64 = 1 << 20;

/// Size of the buffer of a file that is read, in bytes.
const BUFFER_BYTES: usize = 64 << 10;

/// A range of bytes: the lines that begin in `start + 1..=end`, and if `start` is 0 the first one.
/// An empty range has no line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    /// The byte after which its lines begin.
    pub start: u64,
    /// The last byte at which one of its lines may begin; beyond the end of the input is allowed.
    pub end: u64,
}

impl ByteRange {
    /// Whether no line can be in it.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

/// The content of a range, and the offset of its first byte in the input.
type Part = (Content, u64);

/// Part of bytes in memory.
struct Lines {
    owner: SharedBytes,
    from: usize,
    to: usize,
}

impl AsRef<[u8]> for Lines {
    fn as_ref(&self) -> &[u8] {
        (*self.owner).as_ref().get(self.from..self.to).unwrap_or_default()
    }
}

/// The range of bytes that are those of the input from `first` on, which is not after the range;
/// the offset of the result is that in the bytes.
fn lines(owner: SharedBytes, range: ByteRange, first: u64) -> Part {
    let bytes = (*owner).as_ref();
    // The first byte that belongs to ranges from `offset` on.
    let bound = |offset: u64| {
        let at = usize::try_from(offset - first).unwrap_or(usize::MAX);
        match bytes.get(at..) {
            _ if offset == 0 => 0,
            None => bytes.len(),
            Some(rest) => memchr(b'\n', rest).map_or(bytes.len(), |found| at + found + 1),
        }
    };
    let (from, to) = match range.is_empty() {
        true => (0, 0),
        false => (bound(range.start), bound(range.end)),
    };
    (Content::Whole(Arc::new(Lines { owner, from, to })), from as u64)
}

/// The range of bytes in memory.
pub(crate) fn of_bytes(owner: SharedBytes, range: ByteRange) -> Part {
    lines(owner, range, 0)
}

/// The range of a regular file, mapped from its start on.
pub(crate) fn of_map(file: &File, range: ByteRange) -> io::Result<Part> {
    let len = file.metadata()?.len();
    let start = range.start.min(len);
    let soon = range.end.saturating_add(TAIL_BYTES).min(len).saturating_sub(start);
    let map: SharedBytes = Arc::new(FileMap::open_from(file, start, soon)?);
    let (content, from) = lines(map, range, start);
    Ok((content, start + from))
}

/// The range of a file that is read.
pub(crate) fn of_file(mut file: File, range: ByteRange) -> io::Result<Part> {
    file.seek(SeekFrom::Start(range.start))?;
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
    let mut at = range.start;
    if range.start > 0 && !range.is_empty() {
        at += reader.skip_until(b'\n')? as u64;
    }
    let done = range.is_empty() || at > range.end;
    Ok((Content::Stream(Box::new(Reading { reader, at, end: range.end, done })), at))
}

/// Reads to the end of the line that begins at `end` or before it.
struct Reading {
    reader: BufReader<File>,
    /// Offset of the next byte in the file.
    at: u64,
    end: u64,
    done: bool,
}

impl Read for Reading {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.done {
            return Ok(0);
        }
        let read = self.reader.read(buffer)?;
        // A line end at `end` or after it is that of the last line.
        let from = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let last = buffer.get(from..read).and_then(|text| memchr(b'\n', text));
        let read = last.map_or(read, |found| from + found + 1);
        self.done = last.is_some();
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::{Input, OpenOptions, Source};

    /// Texts with what moves line ends about.
    fn texts() -> Vec<String> {
        let lines = ["a", "", "bcd", "\r", "e\rf", &"long".repeat(40_000), "g", "", ""];
        let mut texts = vec![String::new(), "\n".to_owned(), "one line".to_owned()];
        for end in ["\n", "\r\n"] {
            texts.push(lines.join(end) + end);
            texts.push(lines.join(end) + end + "no end");
        }
        texts
    }

    fn read(source: Source, expected: &str) -> String {
        let mut text = String::new();
        match source.content {
            Content::Whole(bytes) => text += std::str::from_utf8((*bytes).as_ref()).unwrap(),
            Content::Stream(mut stream) => drop(stream.read_to_string(&mut text).unwrap()),
        }
        if !text.is_empty() {
            assert!(expected[usize::try_from(source.offset).unwrap()..].starts_with(&text));
        }
        text
    }

    /// The parts between these cuts, by each way to read them.
    fn check(text: &str, cuts: &[u64]) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        for way in 0..3 {
            let mut all = String::new();
            for ends in cuts.windows(2) {
                let range = Some(ByteRange { start: ends[0], end: ends[1] });
                let options = OpenOptions { range, map_files: way == 0, ..OpenOptions::default() };
                let input = match way {
                    2 => Input::bytes(text.as_bytes().to_vec()),
                    _ => Input::Path(file.path().to_owned()),
                };
                let part = read(input.open(&options).unwrap(), text);
                assert!(part.is_empty() || part.ends_with('\n') || text.ends_with(&part));
                all += &part;
            }
            assert!(all == text, "way {way}, cuts {cuts:?} of {} bytes", text.len());
        }
    }

    #[test]
    fn any_cuts_give_every_line_once() {
        for text in texts() {
            let len = text.len() as u64;
            check(&text, &[0, u64::MAX]);
            for cut in (0..=len.min(40)).chain(len.saturating_sub(20)..len + 3) {
                check(&text, &[0, cut, len]);
                check(&text, &[0, cut, cut, cut + 1, len.max(cut + 1)]);
            }
            let mut random = 7_u64;
            for parts in 1..40 {
                let mut cuts = vec![0, len];
                for _ in 0..parts {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    cuts.push((random >> 33) % (len + 1));
                }
                cuts.sort_unstable();
                check(&text, &cuts);
            }
        }
    }

    #[test]
    fn what_has_no_middle_is_refused() {
        let range = Some(ByteRange { start: 0, end: 10 });
        let options = OpenOptions { range, ..OpenOptions::default() };
        let gzip = b"\x1f\x8b\x08\0\0\0\0\0".to_vec();
        for (input, why) in [
            (Input::reader(io::empty()), "this is a stream"),
            (Input::bytes(gzip), "this is compressed"),
        ] {
            let error = input.open(&options).unwrap_err().to_string();
            assert!(error.contains("needs an uncompressed local file"), "{error}");
            assert!(error.contains(why), "{error}");
        }
    }
}
