// SPDX-License-Identifier: Apache-2.0
//! Records below a path: the elements of the array `data.items` in documents such as
//! `{"meta": …, "data": {"items": [{…}, {…}]}}`.
//!
//! The text around the records, their *envelope*, is validated and replaced by spaces, except line
//! ends, where it is: what remains are concatenated records at their positions in the document.
//! Nothing is kept between calls but the open brackets, so documents of any size are read in any
//! portions.

use arrowsmith_core::ErrorKind;

use super::RecordsPath;
use super::is_space;
use super::scan::{State as Scan, balanced_end, string_end, word_end};
use crate::key::unescaped;

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
    path: RecordsPath,
    depth_max: usize,
    allow_nan: bool,
    state: State,
    /// Offset of the first byte of the text.
    offset: u64,
    /// Offset of the value or key that is being read, and of an escape in it.
    start: u64,
    escape: u64,
    /// For each open container around the records or beside them, whether it is an object.
    open: Vec<bool>,
    /// For each open object on the way to the records, whether its key on the way was seen. These
    /// are the first of the open containers.
    way: Vec<bool>,
    /// Whether the next value is on the way: a document, or the value of a key on the way.
    on_way: bool,
    /// Whether the string that is being read is a key, and its text, up to what a key on the way
    /// can have.
    in_key: bool,
    key: Vec<u8>,
    /// Whether records were looked for successfully at least once.
    found: bool,
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The byte order mark, of which this many bytes were read.
    Mark(u8),
    /// A value; outside of all containers a document, or the end.
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

/// The part of a number that was read last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

impl Number {
    fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Minus, b'0') => Self::Zero,
            (Self::Minus, b'1'..=b'9') | (Self::Integer, b'0'..=b'9') => Self::Integer,
            (Self::Zero | Self::Integer, b'.') => Self::Point,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Integer | Self::Fraction, b'e' | b'E') => Self::E,
            (Self::E, b'+' | b'-') => Self::Sign,
            (Self::E | Self::Sign | Self::Exponent, b'0'..=b'9') => Self::Exponent,
            _ => return None,
        })
    }

    fn is_whole(self) -> bool {
        matches!(self, Self::Zero | Self::Integer | Self::Fraction | Self::Exponent)
    }
}

/// A kind of error, its offset, and what was expected.
type Wrong = (ErrorKind, u64, &'static str);

impl Envelope {
    /// The envelope at the start of a source.
    pub fn new(path: RecordsPath, depth_max: usize, allow_nan: bool) -> Self {
        Self {
            path,
            depth_max,
            allow_nan,
            state: State::Mark(0),
            offset: 0,
            start: 0,
            escape: 0,
            open: Vec::new(),
            way: Vec::new(),
            on_way: true,
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
        }
        self.offset += text.len() as u64;
        Ok(())
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

    /// Takes a run of bytes of the envelope, which are at `at` in the text: one, or inside strings
    /// several that are like any other there.
    fn take(&mut self, run: &mut [u8], at: usize) -> Result<(), EnvelopeError> {
        let Some(&byte) = run.first() else { return Ok(()) };
        if self.in_key {
            self.note(run);
        }
        if let Err(wrong) = self.byte(byte, self.offset + at as u64) {
            // Even if it is a line end: the error is on the line that it ends.
            run.fill(b' ');
            return Err(self.error(wrong, at + 1, Some(byte)));
        }
        run.iter_mut().filter(|byte| !is_space(**byte)).for_each(|byte| *byte = b' ');
        Ok(())
    }

    /// Keeps the text of a key that may be on the way.
    fn note(&mut self, run: &[u8]) {
        // A character takes at most six bytes for each of its own.
        let key_max = self.due().map_or(0, |key| 6 * key.len() + 1);
        let room = (key_max + 1).saturating_sub(self.key.len());
        self.key.extend_from_slice(&run[..run.len().min(room)]);
    }

    /// Takes one byte, which is at `offset`.
    fn byte(&mut self, byte: u8, offset: u64) -> Result<(), Wrong> {
        let syntax = |expected| Err((ErrorKind::Syntax, offset, expected));
        match (self.state, byte) {
            (State::Mark(0), b'\xEF') => self.state = State::Mark(1),
            (State::Mark(1), b'\xBB') => self.state = State::Mark(2),
            (State::Mark(2), b'\xBF') => self.state = State::Value,
            (State::Mark(0), _) => {
                self.state = State::Value;
                return self.byte(byte, offset);
            }
            (State::Mark(_), _) => return syntax("a byte order mark"),

            (State::String, b'"') if self.in_key => self.end_key()?,
            (State::String, b'"') => self.end_value(),
            (State::String, b'\\') => (self.state, self.escape) = (State::Escape, offset),
            (State::String, ..b' ') => {
                return Err((ErrorKind::ControlCharacter, offset, "an escape"));
            }
            (State::String, _) => {}
            (State::Escape, b'u') => self.state = State::Hex(4),
            (State::Escape, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.state = State::String;
            }
            (State::Hex(1), _) if byte.is_ascii_hexdigit() => self.state = State::String,
            (State::Hex(left), _) if byte.is_ascii_hexdigit() => self.state = State::Hex(left - 1),
            (State::Escape | State::Hex(_), _) => {
                return Err((ErrorKind::InvalidEscape, self.escape, "an escape of JSON"));
            }

            (State::Literal([last]), _) if byte == *last => self.end_value(),
            (State::Literal([next, rest @ ..]), _) if byte == *next => {
                self.state = State::Literal(rest);
            }
            (State::Literal(_), _) => return Err((ErrorKind::Syntax, self.start, "a value")),
            (State::Number(number), _) => match number.next(byte) {
                Some(number) => self.state = State::Number(number),
                None if number == Number::Minus && byte == b'I' && self.allow_nan => {
                    self.state = State::Literal(b"nfinity");
                }
                None if !number.is_whole()
                    || matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E') =>
                {
                    return Err((ErrorKind::Syntax, self.start, "a number"));
                }
                None => {
                    self.end_value();
                    return self.byte(byte, offset);
                }
            },

            (_, b' ' | b'\t' | b'\r' | b'\n') => {}

            (State::FirstValue, b']') | (State::FirstKey, b'}') => self.close(offset)?,
            (State::Value | State::FirstValue, _) => return self.value(byte, offset),
            (State::Key | State::FirstKey, b'"') => {
                (self.state, self.start) = (State::String, offset);
                (self.in_key, self.key) = (true, Vec::new());
            }
            (State::Key, _) => return syntax("a key"),
            (State::FirstKey, _) => return syntax("a key or '}'"),
            (State::Colon, b':') => self.state = State::Value,
            (State::Colon, _) => return syntax("':'"),
            (State::Next, b',') => {
                let in_object = self.open.last() == Some(&true);
                self.state = if in_object { State::Key } else { State::Value };
            }
            (State::Next, b'}') if self.open.last() == Some(&true) => self.close(offset)?,
            (State::Next, b']') if self.open.last() == Some(&false) => self.close(offset)?,
            (State::Next, _) if self.open.last() == Some(&true) => return syntax("',' or '}'"),

            (State::FirstRecord | State::NextRecord, b']') => self.end_value(),
            (State::NextRecord, b',') => self.state = State::Record,
            (State::Next | State::NextRecord, _) => return syntax("',' or ']'"),
            (State::FirstRecord | State::Record, _) => return syntax("a record"),
            // Records are read elsewhere.
            (State::Inside(..), _) => {}
        }
        Ok(())
    }

    /// The first byte of a value.
    fn value(&mut self, byte: u8, offset: u64) -> Result<(), Wrong> {
        let on_way = self.on_way;
        let at_records = on_way && self.way.len() == self.path.keys.len();
        self.start = offset;
        let expected = match (on_way, at_records) {
            (_, true) => "an array of records",
            (true, _) => "an object",
            _ => "a value",
        };
        self.state = match byte {
            b'[' if at_records => {
                self.found = true;
                State::FirstRecord
            }
            b'{' if on_way && !at_records => {
                self.enter(true, offset)?;
                self.way.push(false);
                State::FirstKey
            }
            b'n' => {
                self.found |= on_way;
                State::Literal(b"ull")
            }
            b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' if on_way => {
                return Err((ErrorKind::WrongType, offset, expected));
            }
            b'{' => {
                self.enter(true, offset)?;
                State::FirstKey
            }
            b'[' => {
                self.enter(false, offset)?;
                State::FirstValue
            }
            b'"' => State::String,
            b'-' => State::Number(Number::Minus),
            b'0' => State::Number(Number::Zero),
            b'1'..=b'9' => State::Number(Number::Integer),
            b't' => State::Literal(b"rue"),
            b'f' => State::Literal(b"alse"),
            b'N' if self.allow_nan && !on_way => State::Literal(b"aN"),
            b'I' if self.allow_nan && !on_way => State::Literal(b"nfinity"),
            _ => return Err((ErrorKind::Syntax, offset, expected)),
        };
        // What is wrong with a null on the way is on the way.
        self.on_way = on_way && byte == b'n';
        Ok(())
    }

    fn enter(&mut self, object: bool, offset: u64) -> Result<(), Wrong> {
        if self.open.len() >= self.depth_max {
            return Err((ErrorKind::DepthExceeded, offset, "less nesting (see --depth-max)"));
        }
        self.open.push(object);
        Ok(())
    }

    /// The end of the innermost container.
    fn close(&mut self, offset: u64) -> Result<(), Wrong> {
        if self.open.len() == self.way.len() {
            if self.way.last() == Some(&false) {
                self.on_way = true;
                return Err((ErrorKind::MissingField, offset, "the records"));
            }
            self.way.pop();
        }
        self.open.pop();
        self.end_value();
        Ok(())
    }

    fn end_value(&mut self) {
        self.on_way = self.open.is_empty();
        self.state = if self.open.is_empty() { State::Value } else { State::Next };
    }

    /// The end of a key.
    fn end_key(&mut self) -> Result<(), Wrong> {
        self.in_key = false;
        self.state = State::Colon;
        // The closing quote was kept, too.
        let key = self.key.strip_suffix(b"\"").and_then(unescaped);
        if key.is_some_and(|key| self.due() == Some(key.as_ref()))
            && let Some(seen) = self.way.last_mut()
        {
            if std::mem::replace(seen, true) {
                return Err((ErrorKind::DuplicateKey, self.start, "this key once"));
            }
            self.on_way = true;
        }
        Ok(())
    }

    /// The key that is on the way in the innermost object, if that is on the way.
    fn due(&self) -> Option<&str> {
        let level = self.way.len().checked_sub(1)?;
        let key = self.path.keys.get(level).filter(|_| self.open.len() == self.way.len())?;
        Some(key)
    }

    fn error(&self, wrong: Wrong, masked: usize, byte: Option<u8>) -> EnvelopeError {
        let (kind, offset, expected) = wrong;
        let in_records = matches!(
            self.state,
            State::FirstRecord | State::Record | State::NextRecord | State::Inside(..)
        );
        let keys = match self.on_way || in_records {
            true => self.way.len(),
            false => self.way.len().saturating_sub(1),
        };
        let path = self.path.keys[..keys.min(self.path.keys.len())].join(".");
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
