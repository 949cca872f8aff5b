// SPDX-License-Identifier: Apache-2.0
//! How the oracle skips values that are not decoded (rules 15 and 18), and the text of a skipped
//! record (rule 20).

use arrowsmith_core::ErrorKind;

use super::reader::{Fault, Reader, Segment, is_space};

/// The checks of a value that is not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// A value that no column needs: the grammar, less with `trust`, more with `allow_nan`.
    Skipped,
    /// A value kept as JSON text: the grammar and UTF-8, whatever the options.
    Text,
}

impl Reader<'_> {
    /// Skips the value at the cursor.
    pub(super) fn skip(&mut self, check: Check) -> Result<(), Fault> {
        let start = self.at;
        match self.peek() {
            None => Err(self.truncated()),
            Some(b'"') if check == Check::Text => self.json_string(),
            Some(b'"') => self.string(false).map(|_| ()),
            Some(b'{' | b'[') if check == Check::Skipped && self.options.trust => {
                self.at = match balanced_end(&self.data[..self.end], start) {
                    Some(end) => end,
                    None => return Err(self.truncated()),
                };
                Ok(())
            }
            Some(b'{') => self.nested(start, |reader| reader.skip_object(check)),
            Some(b'[') => self.nested(start, |reader| reader.skip_array(check)),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            Some(b'N' | b'I' | b'-' | b'0'..=b'9') => {
                let nan = check == Check::Skipped && self.options.allow_nan;
                self.number(nan).map(|_| ())
            }
            Some(_) => Err(self.fault(ErrorKind::Syntax, start)),
        }
    }

    /// A string of a JSON text: UTF-8, but lone surrogates stay.
    fn json_string(&mut self) -> Result<(), Fault> {
        let body = self.at + 1;
        self.string(false)?;
        match std::str::from_utf8(&self.data[body..self.at - 1]) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.fault(ErrorKind::InvalidUtf8, body + error.valid_up_to())),
        }
    }

    fn skip_object(&mut self, check: Check) -> Result<(), Fault> {
        self.entries(|reader, key_at| {
            if check == Check::Text {
                reader.json_string()?;
                reader.at = key_at;
            }
            let key = reader.string(false)?;
            reader.colon()?;
            let key = String::from_utf8_lossy(&key.bytes).into_owned();
            reader.within(Segment::Key(key), |reader| reader.skip(check))
        })
        .map(|_| ())
    }

    fn skip_array(&mut self, check: Check) -> Result<(), Fault> {
        self.elements(|reader| reader.skip(check))
    }
}

/// The end of the object or array at `start`: brackets of both kinds are counted outside strings.
/// `None` if they do not balance.
pub(super) fn balanced_end(data: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = start;
    while let Some(&byte) = data.get(at) {
        match byte {
            b'"' => at = string_end(data, at)? - 1,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return Some(at + 1),
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    None
}

fn string_end(data: &[u8], quote: usize) -> Option<usize> {
    let mut at = quote + 1;
    loop {
        match data.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The end of the bad record at `start`, if records are not lines: of the balanced text, or of the
/// data if it is unbalanced. In an array a comma makes it empty.
pub(super) fn record_end(data: &[u8], start: usize, in_array: bool) -> usize {
    let end = match data.get(start) {
        None => None,
        Some(b',') if in_array => Some(start),
        Some(b'{' | b'[') => balanced_end(data, start),
        Some(b'"') => string_end(data, start),
        Some(_) => {
            let rest = &data[start + 1..];
            let len = rest.iter().position(|&byte| ends_token(byte)).unwrap_or(rest.len());
            Some(start + 1 + len)
        }
    };
    end.unwrap_or(data.len())
}

fn ends_token(byte: u8) -> bool {
    byte < 0x20 || is_space(byte) || matches!(byte, b',' | b':' | b'"' | b'{' | b'}' | b'[' | b']')
}
