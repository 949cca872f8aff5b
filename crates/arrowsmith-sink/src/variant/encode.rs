// SPDX-License-Identifier: Apache-2.0
//! [`Encoder`]: one JSON text → the metadata and the value of a VARIANT (Parquet's "Variant Binary
//! Encoding", version 1).
//!
//! Integers take the least width that has them. A number without an exponent is a decimal, so that
//! it stays exact; one with an exponent is the nearest double. Text that is not JSON becomes a
//! string, as it does in files of JSON.

use std::collections::HashMap;

use serde::de::IgnoredAny;

/// Maximum nesting of a value.
pub(super) const DEPTH_MAX: usize = 1000;

/// Maximum bytes of the values of a batch.
const BYTES_MAX: usize = 1 << 31;

/// Digits of the largest decimal.
const DIGITS_MAX: usize = 38;

/// Bytes of a string whose length is in its first byte.
const SHORT_MAX: usize = 63;

/// Elements of an array or object whose number is one byte.
const SMALL_MAX: usize = 255;

/// Types of values that are neither short strings nor nested, in the first byte of a value.
mod primitive {
    pub(super) const NULL: u8 = 0;
    pub(super) const TRUE: u8 = 1 << 2;
    pub(super) const FALSE: u8 = 2 << 2;
    pub(super) const INT8: u8 = 3 << 2;
    pub(super) const INT16: u8 = 4 << 2;
    pub(super) const INT32: u8 = 5 << 2;
    pub(super) const INT64: u8 = 6 << 2;
    pub(super) const DOUBLE: u8 = 7 << 2;
    pub(super) const DECIMAL4: u8 = 8 << 2;
    pub(super) const DECIMAL8: u8 = 9 << 2;
    pub(super) const DECIMAL16: u8 = 10 << 2;
    pub(super) const STRING: u8 = 16 << 2;
}

/// The other types.
const SHORT_STRING: u8 = 1;
const OBJECT: u8 = 2;
const ARRAY: u8 = 3;

/// Encodes values one after the other.
#[derive(Default)]
pub(super) struct Encoder {
    keys: Keys,
    /// The metadata of the value before.
    metadata: Vec<u8>,
    /// The number of the key and the offset of the value, of each field of the objects that are
    /// open; of arrays the offsets.
    fields: Vec<(usize, usize)>,
    /// A string without its escapes.
    string: Vec<u8>,
    /// What an object or array begins with.
    head: Vec<u8>,
}

/// The keys of a value, numbered in the order in which they come. Mostly they are those of the
/// value before, in the same order, and then nothing is looked up.
#[derive(Default)]
struct Keys {
    /// Keys in the order of their numbers, one after the other, and their ends.
    names: Vec<u8>,
    ends: Vec<usize>,
    /// The numbers of all keys as they came; of those that come next in the value before.
    read: Vec<usize>,
    /// Keys of this value that have come, and how many of them are different.
    at: usize,
    count: usize,
    /// Whether this value has other keys than the one before; only then the numbers by name are
    /// known.
    differs: bool,
    numbers: HashMap<Box<[u8]>, usize>,
}

/// A text, and how much of it has been encoded.
struct Text<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Encoder {
    /// Appends the metadata and the value of a JSON text.
    ///
    /// # Errors
    /// Why VARIANT does not have the value.
    pub(super) fn encode(
        &mut self,
        text: &str,
        metadata: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        self.keys.start();
        self.fields.clear();
        // It is that of the keys only if nothing fails.
        let mut own = std::mem::take(&mut self.metadata);
        if serde_json::from_str::<IgnoredAny>(text).is_ok() {
            self.value(&mut Text { bytes: text.as_bytes(), at: 0 }, value, 0)?;
        } else {
            string(text.as_bytes(), value)?;
        }
        if self.keys.end() || own.is_empty() {
            own.clear();
            self.keys.metadata(&mut own)?;
        }
        metadata.extend_from_slice(&own);
        self.metadata = own;
        Ok(())
    }

    fn value(
        &mut self,
        text: &mut Text<'_>,
        out: &mut Vec<u8>,
        depth: usize,
    ) -> Result<(), &'static str> {
        if depth > DEPTH_MAX {
            return Err("nested more than 1000 times");
        }
        if out.len() > BYTES_MAX {
            return Err("more than 2 GiB of VARIANT in one batch");
        }
        match text.next() {
            Some(b'{') => self.object(text, out, depth),
            Some(b'[') => self.array(text, out, depth),
            Some(b'"') => {
                text.string(&mut self.string)?;
                string(&self.string, out)
            }
            Some(b't') => text.word("true", primitive::TRUE, out),
            Some(b'f') => text.word("false", primitive::FALSE, out),
            Some(b'n') => text.word("null", primitive::NULL, out),
            _ => any_number(text.number(), out),
        }
    }

    fn object(
        &mut self,
        text: &mut Text<'_>,
        out: &mut Vec<u8>,
        depth: usize,
    ) -> Result<(), &'static str> {
        let (start, first) = (out.len(), self.fields.len());
        text.at += 1;
        while text.next().is_some_and(|byte| byte != b'}') {
            text.string(&mut self.string)?;
            let key = self.keys.number(&self.string);
            self.fields.push((key, out.len() - start));
            text.pass(b':');
            self.value(text, out, depth + 1)?;
            text.pass(b',');
        }
        text.at += 1;
        // Fields are in the order of their keys, values stay where they are.
        let (keys, fields) = (&self.keys, &mut self.fields[first..]);
        fields.sort_unstable_by(|one, other| keys.name(one.0).cmp(keys.name(other.0)));
        if fields.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err("a key is there twice, which VARIANT does not have");
        }
        let last = fields.iter().map(|(key, _)| *key).max();
        let ids = width_of(last.unwrap_or_default())?;
        self.begin(Some(ids), first, start, out)
    }

    fn array(
        &mut self,
        text: &mut Text<'_>,
        out: &mut Vec<u8>,
        depth: usize,
    ) -> Result<(), &'static str> {
        let (start, first) = (out.len(), self.fields.len());
        text.at += 1;
        while text.next().is_some_and(|byte| byte != b']') {
            self.fields.push((0, out.len() - start));
            self.value(text, out, depth + 1)?;
            text.pass(b',');
        }
        text.at += 1;
        self.begin(None, first, start, out)
    }

    /// Puts what an object or array begins with in front of its values: its type, the number of
    /// fields, their keys, of this width, if it is an object, and offsets.
    fn begin(
        &mut self,
        ids: Option<usize>,
        first: usize,
        start: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), &'static str> {
        let (fields, head) = (&self.fields[first..], &mut self.head);
        let bytes = out.len() - start;
        let offsets = width_of(bytes)?;
        let is_large = fields.len() > SMALL_MAX;
        let (large, kind) = (u8::from(is_large), width_bits(offsets));
        head.clear();
        head.push(match ids {
            Some(ids) => (large << 4 | width_bits(ids) << 2 | kind) << 2 | OBJECT,
            None => (large << 2 | kind) << 2 | ARRAY,
        });
        number(fields.len(), if is_large { 4 } else { 1 }, head);
        if let Some(ids) = ids {
            fields.iter().for_each(|(key, _)| number(*key, ids, head));
        }
        fields.iter().for_each(|(_, offset)| number(*offset, offsets, head));
        number(bytes, offsets, head);
        out.splice(start..start, head.iter().copied());
        self.fields.truncate(first);
        Ok(())
    }
}

impl Keys {
    /// Starts a value.
    fn start(&mut self) {
        (self.at, self.count, self.differs) = (0, 0, false);
    }

    /// The number of the key that comes next.
    fn number(&mut self, key: &[u8]) -> usize {
        if !self.differs {
            let expected = self.read.get(self.at).copied();
            if let Some(number) = expected.filter(|number| self.name(*number) == key) {
                self.at += 1;
                self.count = self.count.max(number + 1);
                return number;
            }
            self.forget();
            self.numbers.clear();
            for number in 0..self.count {
                let name = self.name(number).into();
                self.numbers.insert(name, number);
            }
            self.differs = true;
        }
        let number = match self.numbers.get(key) {
            Some(number) => *number,
            None => {
                let number = self.ends.len();
                self.numbers.insert(key.into(), number);
                self.names.extend_from_slice(key);
                self.ends.push(self.names.len());
                number
            }
        };
        self.read.push(number);
        number
    }

    /// Ends a value; returns whether its keys are not those of the value before.
    fn end(&mut self) -> bool {
        let is_less = !self.differs && self.at < self.read.len();
        if is_less {
            self.forget();
        }
        is_less || self.differs
    }

    /// Forgets what is left of the value before.
    fn forget(&mut self) {
        self.read.truncate(self.at);
        self.ends.truncate(self.count);
        self.names.truncate(self.ends.last().copied().unwrap_or_default());
    }

    fn name(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.names[start..self.ends[number]]
    }

    fn metadata(&self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        let count = self.ends.len();
        let width = width_of(self.names.len().max(count))?;
        let sorted = (1..count).all(|number| self.name(number - 1) < self.name(number));
        out.push(1 | u8::from(sorted) << 4 | width_bits(width) << 6);
        number(count, width, out);
        number(0, width, out);
        self.ends.iter().for_each(|end| number(*end, width, out));
        out.extend_from_slice(&self.names);
        Ok(())
    }
}

impl Text<'_> {
    /// The first byte of what comes after white space, which is passed.
    fn next(&mut self) -> Option<u8> {
        let rest = self.bytes.get(self.at..)?;
        self.at += rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        self.bytes.get(self.at).copied()
    }

    /// Passes a byte, if it comes next.
    fn pass(&mut self, byte: u8) {
        if self.next() == Some(byte) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &str, kind: u8, out: &mut Vec<u8>) -> Result<(), &'static str> {
        self.at += word.len();
        out.push(kind);
        Ok(())
    }

    fn number(&mut self) -> &[u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let len = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        // One at least, so that nothing can go on without end.
        self.at += len.max(1);
        &rest[..len]
    }

    /// Passes a string, and writes it without its escapes.
    fn string(&mut self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        out.clear();
        self.at += 1;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
            let end = end.ok_or("a string without an end")?;
            out.extend_from_slice(&rest[..end]);
            self.at += end + 1;
            if rest[end] == b'"' {
                return Ok(());
            }
            self.escape(out)?;
        }
    }

    /// What comes after a backslash.
    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        let escape = self.bytes.get(self.at).copied().unwrap_or_default();
        self.at += 1;
        let plain = match escape {
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let character =
                    self.unicode().ok_or("half of a surrogate pair is not a character")?;
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            other => other,
        };
        out.push(plain);
        Ok(())
    }

    /// The character of `\u`, whose backslash and letter are passed; of two for a pair.
    fn unicode(&mut self) -> Option<char> {
        let high = self.hexadecimal()?;
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high);
        }
        if self.bytes.get(self.at..self.at + 2) != Some(b"\\u") {
            return None;
        }
        self.at += 2;
        let low = self.hexadecimal()?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
        char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + low)
    }

    fn hexadecimal(&mut self) -> Option<u32> {
        let digits = self.bytes.get(self.at..self.at + 4)?;
        self.at += 4;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    }
}

/// Bytes of the least width that has a number.
fn width_of(number: usize) -> Result<usize, &'static str> {
    match number {
        0..=0xff => Ok(1),
        0x100..=0xffff => Ok(2),
        0x1_0000..=0xff_ffff => Ok(3),
        0x100_0000..=0xffff_ffff => Ok(4),
        _ => Err("a value of more than 4 GiB"),
    }
}

/// A width as the first byte of a value has it.
fn width_bits(width: usize) -> u8 {
    u8::try_from(width - 1).unwrap_or_default()
}

/// Appends a number that has this width.
fn number(number: usize, width: usize, out: &mut Vec<u8>) {
    out.extend(number.to_le_bytes().into_iter().take(width));
}

fn string(text: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    match u8::try_from(text.len()) {
        Ok(len) if text.len() <= SHORT_MAX => out.push(len << 2 | SHORT_STRING),
        _ => {
            let len = u32::try_from(text.len()).map_err(|_| "a string of more than 4 GiB")?;
            out.push(primitive::STRING);
            out.extend_from_slice(&len.to_le_bytes());
        }
    }
    out.extend_from_slice(text);
    Ok(())
}

fn any_number(text: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if digits.iter().any(|byte| matches!(byte, b'e' | b'E')) {
        return double(text, out);
    }
    let (whole, fraction) = match digits.iter().position(|byte| *byte == b'.') {
        Some(point) => (&digits[..point], &digits[point + 1..]),
        None => (digits, &[][..]),
    };
    // JSON has no zeros before others, so that only a fraction has some.
    let significant = whole.iter().chain(fraction).skip_while(|digit| **digit == b'0').count();
    if significant.max(fraction.len()) > DIGITS_MAX {
        return Err("a number of more than 38 digits, which VARIANT has not exactly");
    }
    let unscaled = whole.iter().chain(fraction).fold(0_i128, |value, digit| {
        // Bounded: by the number of digits.
        value.wrapping_mul(10).wrapping_add(i128::from(digit.wrapping_sub(b'0')))
    });
    if negative && unscaled == 0 && !fraction.is_empty() {
        return double(text, out);
    }
    let unscaled = if negative { -unscaled } else { unscaled };
    if fraction.is_empty() {
        integer(unscaled, out);
    } else {
        decimal(unscaled, significant.max(fraction.len()), fraction.len(), out);
    }
    Ok(())
}

fn integer(value: i128, out: &mut Vec<u8>) {
    if let Ok(value) = i8::try_from(value) {
        out.push(primitive::INT8);
        out.extend_from_slice(&value.to_le_bytes());
    } else if let Ok(value) = i16::try_from(value) {
        out.push(primitive::INT16);
        out.extend_from_slice(&value.to_le_bytes());
    } else if let Ok(value) = i32::try_from(value) {
        out.push(primitive::INT32);
        out.extend_from_slice(&value.to_le_bytes());
    } else if let Ok(value) = i64::try_from(value) {
        out.push(primitive::INT64);
        out.extend_from_slice(&value.to_le_bytes());
    } else {
        decimal(value, DIGITS_MAX, 0, out);
    }
}

/// A decimal of this many digits, the last `scale` of them after the point.
fn decimal(unscaled: i128, digits: usize, scale: usize, out: &mut Vec<u8>) {
    let scale = u8::try_from(scale).unwrap_or_default();
    match (i32::try_from(unscaled), i64::try_from(unscaled)) {
        (Ok(unscaled), _) if digits <= 9 => {
            out.extend_from_slice(&[primitive::DECIMAL4, scale]);
            out.extend_from_slice(&unscaled.to_le_bytes());
        }
        (_, Ok(unscaled)) if digits <= 18 => {
            out.extend_from_slice(&[primitive::DECIMAL8, scale]);
            out.extend_from_slice(&unscaled.to_le_bytes());
        }
        _ => {
            out.extend_from_slice(&[primitive::DECIMAL16, scale]);
            out.extend_from_slice(&unscaled.to_le_bytes());
        }
    }
}

fn double(text: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    match std::str::from_utf8(text).map(str::parse::<f64>) {
        Ok(Ok(value)) if value.is_finite() => {
            out.push(primitive::DOUBLE);
            out.extend_from_slice(&value.to_le_bytes());
            Ok(())
        }
        _ => Err("a number beyond what a double has"),
    }
}
