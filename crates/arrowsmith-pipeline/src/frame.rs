// SPDX-License-Identifier: Apache-2.0
//! Finds where records end, so that text can be cut between them.
//!
//! It looks at line ends, strings and brackets only: whether the text between is JSON is the engine's
//! business, and what does not balance is handed to the engine whole, so that it says what is wrong. It
//! remembers how far it looked, so that a record that comes in many portions is looked at once.

use std::sync::Arc;

use arrowsmith_core::{DataError, ErrorKind, Framing, Limits, Position, Result};
use memchr::{memchr, memchr_iter};

/// Whole records in the text that was looked at.
#[derive(Debug)]
pub(crate) struct Cut {
    /// The records are `available[start..start + len]`.
    pub(crate) start: usize,
    pub(crate) len: usize,
    /// What is not needed again, separators included.
    pub(crate) consumed: usize,
    pub(crate) framing: Framing,
    /// Line ends outside the records, before and after them.
    pub(crate) lines_before: u64,
    pub(crate) lines_after: u64,
}

#[derive(Debug)]
pub(crate) enum Step {
    Cut(Cut),
    /// No record is complete.
    NeedMore,
    /// There are no more records.
    Done,
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Where in its source the framer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    /// Among records.
    Inside,
    /// Behind the closing bracket of the array.
    Behind,
}

/// The framer of one source.
#[derive(Debug)]
pub(crate) struct Frames {
    framing: Option<Framing>,
    record_bytes_max: usize,
    source: Option<Arc<str>>,
    place: Place,
    /// Bytes at the start of the text that are no record: byte order mark, opening bracket.
    lead: usize,
    /// Whether the last cut ended at a comma, so that an element is due.
    after_comma: bool,
    scan: Scan,
}

/// How far the text was looked at, and what was found.
#[derive(Debug, Default)]
struct Scan {
    at: usize,
    depth: usize,
    in_string: bool,
    in_scalar: bool,
    /// Ends of the last complete record, and of the comma behind it in arrays.
    end: Option<(usize, usize)>,
}

impl Frames {
    pub(crate) fn new(framing: Option<Framing>, limits: &Limits, source: Option<Arc<str>>) -> Self {
        let record_bytes_max = limits.record_bytes_max;
        let (place, lead, scan) = (Place::Start, 0, Scan::default());
        Self { framing, record_bytes_max, source, place, lead, after_comma: false, scan }
    }

    /// The next whole records, about `target` bytes of them. `available` begins where the last cut's
    /// `consumed` ended, at `offset` in the source, and only ever grows until the next cut.
    ///
    /// # Errors
    /// Data errors whose record and line count from the start of `available`.
    pub(crate) fn next(
        &mut self,
        available: &[u8],
        eof: bool,
        target: usize,
        offset: u64,
    ) -> Result<Step> {
        if self.place == Place::Start {
            self.begin(available, eof, offset)?;
        }
        let step = match self.place {
            Place::Start => {
                if eof {
                    Step::Done
                } else {
                    Step::NeedMore
                }
            }
            Place::Behind => return self.behind(available, eof, offset),
            Place::Inside
                if self.framing == Some(Framing::Array)
                    && eof
                    && is_blank(&available[self.lead..]) =>
            {
                return Err(self.error(
                    ErrorKind::Truncated,
                    available,
                    available.len(),
                    offset,
                    "']'",
                ));
            }
            _ => match self.framing.unwrap_or_default() {
                Framing::Lines => self.lines(available, eof, target),
                Framing::Concatenated => self.values(available, eof, target, offset)?,
                Framing::Array => self.values(available, eof, target, offset)?,
            },
        };
        let most = self.record_bytes_max.saturating_add(self.lead);
        if matches!(step, Step::NeedMore) && available.len() > most {
            let blank = available[self.lead..].iter().take_while(|byte| is_space(**byte)).count();
            if available.len() - blank > most {
                let expected = format!("at most {} bytes in a record", self.record_bytes_max);
                let at = self.lead + blank;
                return Err(self.error(ErrorKind::RecordTooLong, available, at, offset, &expected));
            }
        }
        Ok(step)
    }

    /// Skips the byte order mark, finds the framing, opens the array, unless that needs more text.
    fn begin(&mut self, available: &[u8], eof: bool, offset: u64) -> Result<()> {
        if available.len() < BOM.len() && BOM.starts_with(available) && !eof {
            return Ok(());
        }
        let bom = if available.starts_with(BOM) { BOM.len() } else { 0 };
        let text = &available[bom..];
        let blank = text.iter().take_while(|byte| is_space(**byte)).count();
        let framing = match self.framing {
            Some(framing) => framing,
            None => match detect(&text[blank..], eof) {
                Some(framing) => framing,
                None => return Ok(()),
            },
        };
        self.lead = bom;
        if framing == Framing::Array {
            match text.get(blank) {
                Some(b'[') => self.lead += blank + 1,
                None if !eof => return Ok(()),
                _ => {
                    let at = bom + blank;
                    return Err(self.error(ErrorKind::Syntax, available, at, offset, "'['"));
                }
            }
        }
        self.framing = Some(framing);
        self.place = Place::Inside;
        self.scan = Scan { at: self.lead, ..Scan::default() };
        Ok(())
    }

    fn lines(&mut self, available: &[u8], eof: bool, target: usize) -> Step {
        let goal = target.min(available.len()).saturating_sub(1).max(self.scan.at);
        let rest = available.get(goal..).unwrap_or_default();
        let end = match memchr(b'\n', rest) {
            Some(found) => goal + found + 1,
            None if eof => available.len(),
            None => {
                match memchr::memrchr(b'\n', available.get(self.lead..goal).unwrap_or_default()) {
                    Some(found) => self.lead + found + 1,
                    None => {
                        self.scan.at = available.len();
                        return Step::NeedMore;
                    }
                }
            }
        };
        if end <= self.lead {
            return Step::Done;
        }
        self.cut(available, end, end)
    }

    /// Concatenated values, or the elements of an array.
    fn values(&mut self, available: &[u8], eof: bool, target: usize, offset: u64) -> Result<Step> {
        let array = self.framing == Some(Framing::Array);
        let goal = target.saturating_add(self.lead);
        while let Some(&byte) = available.get(self.scan.at) {
            let scan = &mut self.scan;
            let at = scan.at;
            if scan.in_string {
                scan.at +=
                    memchr::memchr2(b'"', b'\\', &available[at..]).unwrap_or(available.len() - at);
                match available.get(scan.at) {
                    Some(b'"') => scan.in_string = false,
                    Some(_) if scan.at + 1 < available.len() => scan.at += 1,
                    _ => break,
                }
                scan.at += 1;
                if !scan.in_string && scan.depth == 0 && !array {
                    scan.end = Some((scan.at, scan.at));
                }
            } else {
                let in_scalar = std::mem::replace(&mut scan.in_scalar, false);
                match byte {
                    b'"' => scan.in_string = true,
                    b'{' | b'[' => scan.depth += 1,
                    b'}' | b']' if scan.depth > 0 => {
                        scan.depth -= 1;
                        if scan.depth == 0 && !array {
                            scan.end = Some((at + 1, at + 1));
                        }
                    }
                    b']' if array && self.after_comma && is_blank(&available[self.lead..at]) => {
                        return Err(self.error(
                            ErrorKind::Syntax,
                            available,
                            at,
                            offset,
                            "a value",
                        ));
                    }
                    b']' if array => {
                        self.place = Place::Behind;
                        return Ok(self.cut(available, at, at + 1));
                    }
                    b',' if array && scan.depth == 0 => scan.end = Some((at, at + 1)),
                    b' ' | b'\t' | b'\r' | b'\n' => {
                        if in_scalar && scan.depth == 0 && !array {
                            scan.end = Some((at, at));
                        }
                    }
                    _ => scan.in_scalar = true,
                }
                scan.at = at + 1;
            }
            if let Some((end, consumed)) = self.scan.end.filter(|_| self.scan.at >= goal) {
                return Ok(self.cut(available, end, consumed));
            }
        }
        if !eof || (array && self.scan.end.is_some()) {
            return Ok(match self.scan.end {
                Some((end, consumed)) => self.cut(available, end, consumed),
                None => Step::NeedMore,
            });
        }
        if available.len() == self.lead {
            return Ok(Step::Done);
        }
        // The engine says what is missing at the end of a record.
        Ok(self.cut(available, available.len(), available.len()))
    }

    /// What may follow the array: nothing.
    fn behind(&self, available: &[u8], eof: bool, offset: u64) -> Result<Step> {
        match available.iter().position(|byte| !is_space(*byte)) {
            Some(at) => {
                Err(self.error(ErrorKind::TrailingData, available, at, offset, "end of input"))
            }
            None if eof => Ok(Step::Done),
            None => Ok(Step::NeedMore),
        }
    }

    fn cut(&mut self, available: &[u8], end: usize, consumed: usize) -> Step {
        let start = std::mem::take(&mut self.lead);
        self.scan = Scan::default();
        self.after_comma = consumed > end && available[end] == b',';
        let lines = |text: &[u8]| memchr_iter(b'\n', text).count() as u64;
        Step::Cut(Cut {
            start,
            len: end - start,
            consumed,
            framing: self.framing.unwrap_or_default(),
            lines_before: lines(&available[..start]),
            lines_after: lines(&available[end..consumed]),
        })
    }

    fn error(
        &self,
        kind: ErrorKind,
        available: &[u8],
        at: usize,
        offset: u64,
        expected: &str,
    ) -> arrowsmith_core::Error {
        let line = 1 + memchr_iter(b'\n', &available[..at.min(available.len())]).count() as u64;
        let position =
            Position { source: self.source.clone(), record: 0, line, offset: offset + at as u64 };
        let found = match available.get(at) {
            Some(_) if kind == ErrorKind::RecordTooLong => "a longer one".to_owned(),
            Some(byte) => format!("'{}'", byte.escape_ascii()),
            None => "end of input".to_owned(),
        };
        let (path, expected) = (String::new(), expected.to_owned());
        DataError { kind, position, path, expected, found, hint: None }.into()
    }
}

fn is_blank(text: &[u8]) -> bool {
    text.iter().all(|byte| is_space(*byte))
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// The framing of a text that begins with its first value; `None` when that needs more text.
fn detect(text: &[u8], eof: bool) -> Option<Framing> {
    let undecided = eof.then_some(Framing::Lines);
    match text.first() {
        None => return undecided,
        Some(b'[') => return Some(Framing::Array),
        Some(b'{') => {}
        Some(_) => return Some(Framing::Lines),
    }
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'\n' => return Some(Framing::Concatenated),
            _ if in_string => {
                in_string = escaped || byte != b'"';
                escaped = !escaped && byte == b'\\';
            }
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && !in_string {
            let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r');
            let rest = &text[at + 1..];
            return match rest.get(rest.iter().take_while(blank).count()) {
                Some(b'\n') => Some(Framing::Lines),
                Some(b'{') => Some(Framing::Concatenated),
                Some(_) => Some(Framing::Lines),
                None => undecided,
            };
        }
    }
    undecided
}
