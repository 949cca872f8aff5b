// SPDX-License-Identifier: Apache-2.0
//! Records below a path: the elements of the array `data.items` in documents such as
//! `{"meta": …, "data": {"items": [{…}, {…}]}}`, one after another or in an array.
//!
//! The text around the records, their *envelope*, is validated and replaced by spaces, except line
//! ends, where it is: what remains are concatenated records at their positions in the document.
//! Nothing is kept between calls but the open brackets, so documents of any size are read in any
//! portions. Fields beside the records that these are to have are collected ([`parent_fields`]) and
//! inserted into records that leave ([`Envelope::insert`]).

mod grammar;
mod insert;
mod number;
mod parent_fields;

use arrowsmith_core::ErrorKind;

pub use self::insert::{Inserted, Places};
use self::number::Number;
use self::parent_fields::ParentFields;
use super::documents::Documents;
use super::is_space;
use super::scan::{State as Scan, balanced_end, string_end, word_end};

/// What is wrong in an envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvelopeError {
    /// The kind.
    pub kind: ErrorKind,
    /// Bytes of the text that were masked: those before the error, and the first that is wrong.
    pub masked: usize,
    /// Offset of the error in the source. It is on the last line of what was masked.
    pub offset: u64,
    /// Keys on the way to the records, joined by dots.
    pub path: String,
    /// What is expected there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

/// Masks the envelope of the records of one source.
#[derive(Debug)]
pub struct Envelope {
    documents: Documents,
    depth_max: usize,
    allow_nan: bool,
    state: State,
    /// Offset of the first byte of the text.
    offset: u64,
    /// Offset of the value or key that is being read, and of an escape in it.
    start: u64,
    escape: u64,
    /// Whether an array of documents is open. It counts in none of the following.
    in_list: bool,
    /// For each open container around the records or beside them, whether it is an object.
    open: Vec<bool>,
    /// The open objects that have something that matters inside. These are the first of the open
    /// containers.
    way: Vec<usize>,
    /// For each of what is inside of these, whether its key was seen.
    seen: Vec<bool>,
    /// The next value, if it matters: a document, or what has a key on the way.
    next: Option<usize>,
    /// Whether the string that is being read is a key, and its text, up to what a key on the way
    /// can have.
    in_key: bool,
    key: Vec<u8>,
    /// Whether records were looked for successfully at least once.
    found: bool,
    /// The fields beside the records, if these are to have some.
    parent_fields: Option<ParentFields>,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The byte order mark, of which this many bytes were read.
    Mark(u8),
    /// A value; outside of all containers a document, an array of documents, or the end.
    Value,
    /// A value, or the end of the array.
    FirstValue,
    /// A key.
    Key,
    /// A key, or the end of the object.
    FirstKey,
    Colon,
    /// A comma, or the end of the container.
    Next,
    /// The rest of a string.
    String,
    /// The byte after a backslash.
    Escape,
    /// This many hexadecimal digits.
    Hex(u8),
    /// The rest of a literal.
    Literal(&'static [u8]),
    /// The rest of a number.
    Number(Number),
    /// A document in an array of documents.
    Document,
    /// A document, or the end of the array of documents.
    FirstDocument,
    /// A comma, or the end of the array of documents.
    NextDocument,
    /// A record.
    Record,
    /// A record, or the end of the array.
    FirstRecord,
    /// A comma, or the end of the array of records.
    NextRecord,
    /// The rest of a record; whether the byte before was a backslash that escapes the next one.
    Inside(Kind, bool),
}

/// A record, by how its end is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Container(Scan),
    String,
    Word,
}

/// A kind of error, its offset, and what was expected.
type Wrong = (ErrorKind, u64, &'static str);

impl Envelope {
    /// The envelope at the start of a source. A record waits for fields beside it that come at most
    /// `wait_max` bytes after it.
    pub fn new(documents: Documents, depth_max: usize, allow_nan: bool, wait_max: usize) -> Self {
        Self {
            parent_fields: ParentFields::new(&documents, wait_max),
            seen: vec![false; documents.len()],
            documents,
            depth_max,
            allow_nan,
            state: State::Mark(0),
            offset: 0,
            start: 0,
            escape: 0,
            in_list: false,
            open: Vec::new(),
            way: Vec::new(),
            next: Some(0),
            in_key: false,
            key: Vec::new(),
            found: false,
        }
    }

    /// Whether a document has had an array of records, or a null in its place.
    pub fn found(&self) -> bool {
        self.found
    }

    /// Replaces the envelope in the next bytes of the source by spaces; line ends stay.
    ///
    /// # Errors
    /// What is wrong with the envelope. After that it cannot be used.
    pub fn mask(&mut self, text: &mut [u8]) -> Result<(), EnvelopeError> {
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            let end = match self.state {
                State::Inside(kind, escaped) => self.record(text, at, kind, escaped),
                State::Record | State::FirstRecord if starts_record(byte) => {
                    self.begin_record(byte, at)?;
                    let kind = match byte {
                        b'{' | b'[' => Kind::Container(Scan::default()),
                        b'"' => Kind::String,
                        _ => Kind::Word,
                    };
                    let from = at + usize::from(byte == b'"');
                    self.record(text, from, kind, false)
                }
                State::String => {
                    let ends = |byte: &u8| *byte < b' ' || matches!(byte, b'"' | b'\\');
                    let run = text[at..].iter().position(ends).unwrap_or(text.len() - at).max(1);
                    self.take(&mut text[at..at + run], at)?;
                    at + run
                }
                _ => {
                    self.take(&mut text[at..=at], at)?;
                    at + 1
                }
            };
            at = end;
            if let Some(parent_fields) = &mut self.parent_fields {
                parent_fields.passed(&self.documents, self.offset + at as u64);
            }
        }
        self.offset += text.len() as u64;
        Ok(())
    }

    /// Whether records are to have fields beside them.
    pub fn has_fields(&self) -> bool {
        self.parent_fields.is_some()
    }

    /// Offset of the first record that may not leave yet: fields that it is to have may follow.
    pub fn first_waiting(&self) -> Option<u64> {
        self.parent_fields.as_ref()?.first_waiting()
    }

    /// Number of whole records that may not leave yet.
    pub fn waiting(&self) -> usize {
        let waiting = self.parent_fields.as_ref().map_or(0, ParentFields::waiting);
        waiting.saturating_sub(usize::from(matches!(self.state, State::Inside(..))))
    }

    /// Checks that the source can end here.
    ///
    /// # Errors
    /// `truncated`, inside a document.
    pub fn finish(&self) -> Result<(), EnvelopeError> {
        match self.state {
            State::Mark(0) => Ok(()),
            State::Value if self.open.is_empty() => Ok(()),
            _ => {
                let wrong = (ErrorKind::Truncated, self.offset, "the rest of the document");
                Err(self.error(wrong, 0, None))
            }
        }
    }

    /// Reads a record on from `at`; returns its end, or that of the text.
    fn record(&mut self, text: &[u8], at: usize, kind: Kind, escaped: bool) -> usize {
        let (end, kind) = match kind {
            Kind::Container(mut scan) => {
                // A backslash escapes quotes and backslashes; brackets count wherever they are.
                let skip = escaped && matches!(text.get(at), Some(b'"' | b'\\'));
                let end = balanced_end(text, at + usize::from(skip), &mut scan);
                (end, Kind::Container(scan))
            }
            Kind::String => (string_end(text, at + usize::from(escaped)), kind),
            Kind::Word => {
                let end = word_end(text, at);
                (if end < text.len() { Ok(end) } else { Err(end) }, kind)
            }
        };
        match end {
            Ok(end) => {
                self.state = State::NextRecord;
                end
            }
            Err(stop) => {
                self.state = State::Inside(kind, stop < text.len());
                text.len()
            }
        }
    }

    /// A record starts with this byte, which is at `at` in the text.
    fn begin_record(&mut self, byte: u8, at: usize) -> Result<(), EnvelopeError> {
        let Some(parent_fields) = &mut self.parent_fields else { return Ok(()) };
        let start = self.offset + at as u64;
        if byte == b'{' {
            parent_fields.record(start);
            return Ok(());
        }
        let wrong = (ErrorKind::WrongType, start, "an object, to have fields of its parents");
        Err(self.error(wrong, at, Some(byte)))
    }

    /// Takes a run of bytes of the envelope, which are at `at` in the text: one, or inside strings
    /// several that are like any other there.
    fn take(&mut self, run: &mut [u8], at: usize) -> Result<(), EnvelopeError> {
        let Some(&byte) = run.first() else { return Ok(()) };
        if self.in_key {
            self.note(run);
        }
        let offset = self.offset + at as u64;
        let kept = self.keep(run, byte, offset);
        if let Err(wrong) = kept.and_then(|()| self.byte(byte, offset)) {
            // Even if it is a line end: the error is on the line that it ends.
            run.fill(b' ');
            return Err(self.error(wrong, at + 1, Some(byte)));
        }
        run.iter_mut().filter(|byte| !is_space(**byte)).for_each(|byte| *byte = b' ');
        Ok(())
    }

    /// Keeps a run of bytes that is of the value of a field.
    fn keep(&mut self, run: &[u8], byte: u8, offset: u64) -> Result<(), Wrong> {
        let Some(parent_fields) =
            self.parent_fields.as_mut().filter(|parent_fields| parent_fields.is_reading())
        else {
            return Ok(());
        };
        let is_text = match self.state {
            State::Number(Number::Minus) if byte == b'I' => true,
            // A number ends before the byte that shows it.
            State::Number(number)
                if parent_fields.is_last(self.open.len()) && number.next(byte).is_none() =>
            {
                return Ok(());
            }
            State::String => true,
            _ => !is_space(byte),
        };
        if parent_fields.add(run, is_text) {
            return Ok(());
        }
        Err((ErrorKind::Limit, offset, "at most 64 KiB in all fields beside the records"))
    }

    /// Keeps the text of a key that may be on the way.
    fn note(&mut self, run: &[u8]) {
        // A character takes at most six bytes for each of its own; then the quote, and a byte more.
        let key_max = self.innermost().map_or(0, |node| node.key_bytes_max);
        let room = (6 * key_max + 2).saturating_sub(self.key.len());
        self.key.extend_from_slice(&run[..run.len().min(room)]);
    }

    fn error(&self, wrong: Wrong, masked: usize, byte: Option<u8>) -> EnvelopeError {
        let (kind, offset, expected) = wrong;
        let in_records = matches!(
            self.state,
            State::FirstRecord | State::Record | State::NextRecord | State::Inside(..)
        );
        let node = match self.next.or(self.way.last().copied()) {
            _ if in_records => self.documents.records(),
            number => number.and_then(|number| self.documents.node(number)),
        };
        let path = node.map(|node| node.path.clone()).unwrap_or_default();
        let found = match byte {
            Some(byte) => format!("'{}'", byte.escape_ascii()),
            None => "end of input".to_owned(),
        };
        EnvelopeError { kind, masked, offset, path, expected: expected.to_owned(), found }
    }
}

/// Whether a byte in the array of records starts one, valid or not.
fn starts_record(byte: u8) -> bool {
    !is_space(byte) && !matches!(byte, b',' | b']' | b'}')
}
