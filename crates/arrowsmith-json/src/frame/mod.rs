// SPDX-License-Identifier: Apache-2.0
//! Finds the ends of records, so that text can be split between them.
//!
//! It is between source and engine: bytes go in, positions to split at come out. Only line ends,
//! quotes and brackets are examined. The engine checks whether the text between is JSON: unbalanced
//! text is passed on unchanged, so that the engine reports the error. Results never depend on where
//! the bytes were split or how many arrived at once.

mod array;
mod concatenated;
mod detect;
mod documents;
mod envelope;
mod lines;
mod records_path;
pub mod scan;

use std::sync::Arc;

use arrowsmith_core::{DataError, Error, ErrorKind, Framing, Limits, Position, Reject, Result};

pub use detect::{DETECT_BYTES, Detection, detect};
pub use documents::{Documents, ParentField};
pub use envelope::{Envelope, EnvelopeError, Inserted, Places};
pub use records_path::RecordsPath;

use detect::BOM;
use scan::Resume;

/// Whole records in the available text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The records are `available[start..start + len]`; `len` may be 0.
    pub start: usize,
    /// Length of the records, in bytes.
    pub len: usize,
    /// Bytes to consume, separators included.
    pub consumed: usize,
    /// How the records are separated.
    pub framing: Framing,
    /// Line ends before the records, in `available[..start]`.
    pub lines_before: u64,
    /// Line ends after them, in `available[start + len..consumed]`.
    pub lines_after: u64,
}

/// The result of one step of a framer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Whole records.
    Cut(Cut),
    /// Bytes of a line longer than the maximum record, which are skipped. Only with
    /// [`Framer::skip_overlong`].
    Skipped {
        /// Bytes to consume.
        consumed: usize,
        /// Line ends in them.
        lines: u64,
        /// At the end of the line: the reject, with the first 64 KiB of its text.
        reject: Option<Box<Reject>>,
    },
    /// No record is complete.
    NeedMore,
    /// There are no more records.
    Done,
}

/// Splits one source into whole records.
#[derive(Debug)]
pub struct Framer {
    framing: Option<Framing>,
    record_bytes_max: usize,
    skip_overlong: bool,
    source: Option<Arc<str>>,
    place: Place,
    /// Offset of the first byte of `available` in its source.
    offset: u64,
    /// Bytes at the start of the text that are not part of a record: byte order mark, opening
    /// bracket.
    lead: usize,
    resume: Resume,
    /// The overlong line that is being skipped.
    overlong: Option<Box<Reject>>,
}

/// The state of a framer within its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    Inside,
    /// After the closing bracket of an array.
    After,
}

/// White space allowed around a record in addition to its maximum size, and text kept of an
/// overlong record, in bytes.
const SLACK_BYTES: usize = 64 << 10;

impl Framer {
    /// A framer at the start of a source, named `source` in errors. Without `framing` it is
    /// detected from the first bytes, see [`detect`].
    pub fn new(framing: Option<Framing>, limits: &Limits, source: Option<Arc<str>>) -> Self {
        Self {
            framing,
            record_bytes_max: limits.record_bytes_max,
            skip_overlong: false,
            source,
            place: Place::Start,
            offset: 0,
            lead: 0,
            resume: Resume::default(),
            overlong: None,
        }
    }

    /// Skips lines longer than the maximum record instead of failing. In other framings an overlong
    /// record is always an error, because its end is unknown.
    #[must_use]
    pub fn skip_overlong(mut self, skip: bool) -> Self {
        self.skip_overlong = skip;
        self
    }

    /// Begins at this offset of the source. A byte order mark can be at its start only.
    #[must_use]
    pub fn starting_at(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// How records are separated, once that is known.
    pub fn framing(&self) -> Option<Framing> {
        self.framing
    }

    /// The next whole records: as many as fit into `target_bytes`, or a single longer one.
    ///
    /// `available` starts after the consumed bytes; after [`Step::NeedMore`] it has to be longer,
    /// or `eof` true. `eof` means that nothing follows `available`.
    ///
    /// # Errors
    /// [`Error::Data`], with record and line relative to the start of `available`, and the offset
    /// in the source: `record-too-long`; in arrays `syntax` if the text is not an array,
    /// `truncated` at its end, `trailing-data` after it. After an error the framer cannot be used.
    pub fn next(&mut self, available: &[u8], eof: bool, target_bytes: usize) -> Result<Step> {
        if self.place == Place::Start && !self.begin(available, eof)? {
            return Ok(if eof { Step::Done } else { Step::NeedMore });
        }
        let step = match (self.place, self.framing) {
            (Place::After, _) => self.after_array(available, eof),
            (_, Some(Framing::Array)) => self.elements(available, eof, target_bytes),
            (_, Some(Framing::Concatenated)) => self.values(available, eof, target_bytes),
            _ => self.lines(available, eof, target_bytes),
        }?;
        if let Step::Cut(Cut { consumed, .. }) | Step::Skipped { consumed, .. } = &step {
            self.offset += *consumed as u64;
            self.lead = 0;
            self.resume = Resume::default();
        }
        Ok(step)
    }

    /// Skips the byte order mark, detects the framing, enters the array; `false` if there is too
    /// little text for that.
    fn begin(&mut self, available: &[u8], eof: bool) -> Result<bool> {
        let marked = self.offset == 0;
        if marked && !eof && available.len() < BOM.len() && BOM.starts_with(available) {
            return Ok(false);
        }
        let framing = match self.framing {
            Some(framing) => framing,
            None => match detect(available, eof) {
                Detection::Found(framing) => framing,
                Detection::NeedMore | Detection::Empty => return Ok(false),
            },
        };
        self.lead = if marked && available.starts_with(BOM) { BOM.len() } else { 0 };
        self.place = Place::Inside;
        if framing == Framing::Array {
            let start = skip_space(available, self.lead);
            match available.get(start) {
                Some(b'[') => self.lead = start + 1,
                Some(_) => return Err(self.error(ErrorKind::Syntax, available, start, "'['")),
                None if start - self.lead > self.most() => {
                    return Err(self.too_long(available, self.lead).into());
                }
                // An empty source has no records, as in the other framings.
                None if eof => self.place = Place::After,
                None => {
                    self.place = Place::Start;
                    return Ok(false);
                }
            }
        }
        self.framing = Some(framing);
        self.resume = Resume::at(self.lead);
        Ok(true)
    }

    /// A cut from the first record to `end`; the text continues at `consumed`.
    fn cut(&self, available: &[u8], end: usize, consumed: usize) -> Step {
        let start = self.lead.min(end);
        Step::Cut(Cut {
            start,
            len: end - start,
            consumed,
            framing: self.framing.unwrap_or_default(),
            lines_before: newlines(&available[..start]),
            lines_after: newlines(&available[end..consumed]),
        })
    }

    /// A cut of white space only.
    fn cut_blank(&self, blank: &[u8]) -> Step {
        Step::Cut(Cut {
            start: blank.len(),
            len: 0,
            consumed: blank.len(),
            framing: self.framing.unwrap_or_default(),
            lines_before: newlines(blank),
            lines_after: 0,
        })
    }

    /// White space before possible records, which must not accumulate.
    fn blank(&self, available: &[u8]) -> Step {
        if available.len() < SLACK_BYTES { Step::NeedMore } else { self.cut_blank(available) }
    }

    /// Maximum bytes of a record, surrounding white space included.
    fn most(&self) -> usize {
        self.record_bytes_max.saturating_add(SLACK_BYTES)
    }

    fn too_long(&self, available: &[u8], at: usize) -> DataError {
        let expected = format!("at most {} bytes in a record", self.record_bytes_max);
        let mut error = self.data_error(ErrorKind::RecordTooLong, available, at, &expected);
        error.found = "a longer one".to_owned();
        error.hint = Some("see --record-bytes-max".to_owned());
        error
    }

    fn error(&self, kind: ErrorKind, available: &[u8], at: usize, expected: &str) -> Error {
        self.data_error(kind, available, at, expected).into()
    }

    fn data_error(
        &self,
        kind: ErrorKind,
        available: &[u8],
        at: usize,
        expected: &str,
    ) -> DataError {
        let found = match available.get(at) {
            Some(byte) => format!("'{}'", byte.escape_ascii()),
            None => "end of input".to_owned(),
        };
        let position = Position {
            source: self.source.clone(),
            record: 0,
            line: 1 + newlines(&available[..at.min(available.len())]),
            offset: self.offset + at as u64,
        };
        let expected = expected.to_owned();
        DataError { kind, position, path: String::new(), expected, found, hint: None }
    }
}

fn newlines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// The first byte from `at` on that is not white space, or the end.
pub(crate) fn skip_space(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| is_space(**byte)).count()
}

pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

#[cfg(test)]
mod tests;
