// SPDX-License-Identifier: Apache-2.0
//! Writes JSON text in one of three layouts, for the generators of this crate.
//!
//! Strings are written as given: the caller has escaped them, because how a string is escaped is
//! part of a workload. Floats are written as fixed-point integers, so that no platform's rounding
//! can change a byte.

/// The placement of white space. The values are the same in each layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// No white space: one record per line.
    #[default]
    Compact,
    /// `", "` and `": "`, as Python's `json.dumps` writes: one record per line.
    Spaced,
    /// Two spaces of indentation: a record spans lines.
    Pretty,
}

/// An unfinished JSON text.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    layout: Layout,
    depth: usize,
    /// Whether nothing was written since the last opening bracket.
    empty: bool,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>, layout: Layout) -> Self {
        Self { out, layout, depth: 0, empty: true }
    }

    pub(crate) fn object(&mut self, fields: impl FnOnce(&mut Self)) {
        self.nest(b'{', b'}', fields);
    }

    pub(crate) fn array(&mut self, items: impl FnOnce(&mut Self)) {
        self.nest(b'[', b']', items);
    }

    fn nest(&mut self, open: u8, close: u8, inside: impl FnOnce(&mut Self)) {
        self.out.push(open);
        self.depth += 1;
        self.empty = true;
        inside(self);
        self.depth -= 1;
        if !self.empty {
            self.line_break();
        }
        self.out.push(close);
        self.empty = false;
    }

    /// Starts a field: the next write is its value.
    pub(crate) fn key(&mut self, name: &str) {
        self.item();
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        let colon: &[u8] = if self.layout == Layout::Compact { b"\":" } else { b"\": " };
        self.out.extend_from_slice(colon);
    }

    /// Starts an array item.
    pub(crate) fn item(&mut self) {
        if !self.empty {
            let comma: &[u8] = if self.layout == Layout::Spaced { b", " } else { b"," };
            self.out.extend_from_slice(comma);
        }
        self.empty = false;
        self.line_break();
    }

    fn line_break(&mut self) {
        if self.layout == Layout::Pretty {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + 2 * self.depth, b' ');
        }
    }

    /// Writes part of a value, unchanged.
    pub(crate) fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Writes a string that needs no escape, or has been escaped.
    pub(crate) fn string(&mut self, escaped: &str) {
        self.raw("\"");
        self.raw(escaped);
        self.raw("\"");
    }

    pub(crate) fn bool(&mut self, value: bool) {
        self.raw(if value { "true" } else { "false" });
    }

    pub(crate) fn uint(&mut self, value: u64) {
        self.digits(value, 1);
    }

    /// Writes the decimal digits of a number, padded with zeros to `width`, which is at most 20.
    pub(crate) fn digits(&mut self, value: u64, width: usize) {
        let mut text = [b'0'; 20];
        let mut start = text.len();
        let mut rest = value;
        while rest != 0 && start > 0 {
            start -= 1;
            text[start] = DIGITS[usize::try_from(rest % 10).unwrap_or(0)];
            rest /= 10;
        }
        let start = start.min(text.len().saturating_sub(width));
        self.out.extend_from_slice(&text[start..]);
    }

    /// Writes `hundredths` divided by 100, with two digits after the point.
    pub(crate) fn hundredths(&mut self, hundredths: u64) {
        self.digits(hundredths / 100, 1);
        self.raw(".");
        self.digits(hundredths % 100, 2);
    }

    /// `YYYY-MM-DD`.
    pub(crate) fn date(&mut self, year: u64, month: u64, day: u64) {
        self.digits(year, 4);
        self.raw("-");
        self.digits(month, 2);
        self.raw("-");
        self.digits(day, 2);
    }

    /// `hh:mm:ss`.
    pub(crate) fn time(&mut self, hour: u64, minute: u64, second: u64) {
        self.digits(hour, 2);
        self.raw(":");
        self.digits(minute, 2);
        self.raw(":");
        self.digits(second, 2);
    }
}

const DIGITS: [u8; 10] = *b"0123456789";
