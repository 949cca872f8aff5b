// SPDX-License-Identifier: Apache-2.0
//! The oracle's strings: rule 11, and two modes. *Strict* is for decoded strings; skipped strings,
//! and keys of objects, may contain lone surrogates and invalid UTF-8.

use arrowsmith_core::ErrorKind;

use super::reader::{Fault, Reader};

/// A string without its quotes and escapes.
pub(super) struct Unescaped {
    /// The bytes; UTF-8 if the string was read strictly. A lone surrogate is U+FFFD here.
    pub(super) bytes: Vec<u8>,
    /// Whether there was a lone surrogate.
    pub(super) lone: bool,
}

impl Reader<'_> {
    /// Reads the string whose quote is at the cursor.
    pub(super) fn string(&mut self, strict: bool) -> Result<Unescaped, Fault> {
        self.at += 1;
        let body = self.at;
        let mut out = Unescaped { bytes: Vec::new(), lone: false };
        loop {
            match self.peek() {
                None => return Err(self.truncated()),
                Some(b'"') => break,
                Some(byte) if byte < 0x20 => {
                    return Err(self.fault(ErrorKind::ControlCharacter, self.at));
                }
                Some(b'\\') => self.escape(strict, &mut out)?,
                Some(byte) => {
                    out.bytes.push(byte);
                    self.at += 1;
                }
            }
        }
        if strict && let Err(error) = std::str::from_utf8(&self.data[body..self.at]) {
            return Err(self.fault(ErrorKind::InvalidUtf8, body + error.valid_up_to()));
        }
        self.at += 1;
        Ok(out)
    }

    /// Reads the escape whose backslash is at the cursor.
    fn escape(&mut self, strict: bool, out: &mut Unescaped) -> Result<(), Fault> {
        let backslash = self.at;
        self.at += 1;
        let byte = self.peek().ok_or_else(|| self.truncated())?;
        let simple = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => return self.unicode_escape(backslash, strict, out),
            _ => return Err(self.fault(ErrorKind::InvalidEscape, backslash)),
        };
        self.at += 1;
        out.bytes.push(simple);
        Ok(())
    }

    fn unicode_escape(
        &mut self,
        backslash: usize,
        strict: bool,
        out: &mut Unescaped,
    ) -> Result<(), Fault> {
        let unit = self.four_digits(backslash)?;
        let mut code = unit;
        if (0xD800..0xDC00).contains(&unit)
            && let Some(low) = self.low_surrogate(strict)?
        {
            code = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        }
        let char = match char::from_u32(code) {
            Some(char) => char,
            None if strict => return Err(self.fault(ErrorKind::LoneSurrogate, backslash)),
            None => {
                out.lone = true;
                char::REPLACEMENT_CHARACTER
            }
        };
        out.bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    /// The digits after `\u`, whose `u` is at the cursor.
    fn four_digits(&mut self, backslash: usize) -> Result<u32, Fault> {
        self.at += 1;
        let mut unit = 0;
        for _ in 0..4 {
            let byte = self.peek().ok_or_else(|| self.truncated())?;
            let digit = char::from(byte).to_digit(16);
            let digit = digit.ok_or_else(|| self.fault(ErrorKind::InvalidEscape, backslash))?;
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }

    /// The low surrogate that has to follow a high one directly; `None` if there is none. If the
    /// text ends before it could be complete, it is `truncated` in strict mode.
    fn low_surrogate(&mut self, strict: bool) -> Result<Option<u32>, Fault> {
        let mut unit = 0;
        for place in 0..6 {
            let Some(&byte) = self.data[..self.end].get(self.at + place) else {
                return if strict { Err(self.truncated()) } else { Ok(None) };
            };
            let digit = char::from(byte).to_digit(16);
            let fits = match place {
                0 => byte == b'\\',
                1 => byte == b'u',
                2 => digit == Some(0xD),
                3 => digit >= Some(0xC),
                _ => digit.is_some(),
            };
            if !fits {
                return Ok(None);
            }
            if place >= 2 {
                unit = unit * 16 + digit.unwrap_or(0);
            }
        }
        self.at += 6;
        Ok(Some(unit))
    }
}
