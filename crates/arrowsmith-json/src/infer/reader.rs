// SPDX-License-Identifier: Apache-2.0
//! Reads one JSON value and adds it to the lattice.
//!
//! The whole grammar is checked, as `docs/design/0002-json-semantics.md` requires, so that a schema
//! is inferred from valid JSON only. A value is read into a [`Node`], or only checked if its text
//! is kept. Recursion is bounded by `depth_max`.

use std::borrow::Cow;

use arrowsmith_core::{ErrorKind, Limits};
use arrowsmith_number::{
    NumberError, TimeUnit, looks_like_date, looks_like_timestamp, parse_f64, parse_i64,
    parse_timestamp, parse_u64, scan_number,
};

use super::InferOptions;
use super::lattice::{Node, Number, Place, Text};

/// Maximum nesting that becomes types; deeper values are kept as text. A map counts twice in a
/// plan, whose limit is 64 levels.
const NESTING_MAX: usize = 30;

/// Integers with fewer digits are exact in a `float64`, and 64 bits hold them.
const LONG_DIGITS: usize = 16;

/// Numbers of at most this many bytes, and without an exponent, are within a float's range.
const FAR_DIGITS: usize = 300;

/// What is expected where there are too many keys.
pub(super) const FEWER_KEYS: &str = "fewer keys that are new (see --fields-max)";

/// Why a record is not JSON.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub(super) kind: ErrorKind,
    /// Position of the first invalid byte.
    pub(super) at: usize,
    pub(super) expected: &'static str,
}

type Read<T> = Result<T, Fault>;

/// The options that apply here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules<'o> {
    depth_max: usize,
    object_keys_max: usize,
    timestamps: bool,
    allow_nan: bool,
    /// Strings that count as `null`.
    nulls: &'o [String],
    /// Maximum number of columns; records with more become maps.
    columns_max: usize,
    /// Of the first byte of the text.
    place: Place,
}

impl<'o> Rules<'o> {
    pub(super) fn new(options: &'o InferOptions, place: Place) -> Self {
        Self {
            depth_max: options.limits.depth_max.min(Limits::DEPTH_MAX),
            object_keys_max: options.object_keys_max,
            timestamps: options.timestamps,
            allow_nan: options.allow_nan,
            nulls: &options.nulls,
            columns_max: options.limits.fields_max,
            place,
        }
    }
}

/// A position in a text that ends with the record.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
    depth: usize,
    rules: Rules<'a>,
    /// Number of new keys still accepted.
    pub(super) fields_left: usize,
}

/// A string between its quotes, which is UTF-8.
#[derive(Clone, Copy)]
struct Str<'a> {
    text: &'a [u8],
    escapes: bool,
    /// Whether it contains half a surrogate pair, which is not valid Unicode.
    lone: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize, rules: Rules<'a>) -> Self {
        Self { bytes, at, depth: 0, rules, fields_left: usize::MAX }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Whether the value that starts here is an object.
    pub(super) fn is_object(&self) -> bool {
        self.peek() == Some(b'{')
    }

    /// The error here: the text ends, or something else was expected.
    fn fault<T>(&self, expected: &'static str) -> Read<T> {
        let ends = self.at >= self.bytes.len();
        let kind = if ends { ErrorKind::Truncated } else { ErrorKind::Syntax };
        Err(Fault { kind, at: self.at, expected })
    }

    /// A comma, and the white space around it.
    pub(super) fn comma(&mut self) -> Read<()> {
        if self.peek() != Some(b',') {
            return self.fault("','");
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    /// Reads the value that starts here, inside `nesting` containers.
    pub(super) fn value(&mut self, node: Option<&mut Node>, nesting: usize) -> Read<()> {
        match self.peek() {
            Some(b'{') => self.object(node, nesting),
            Some(b'[') => self.list(node, nesting),
            Some(b'"') => {
                let string = self.string()?;
                if let Some(node) = node {
                    self.note_string(string, node);
                }
                Ok(())
            }
            Some(b'-' | b'0'..=b'9') => self.number(node),
            Some(b't') => self.literal("true", node, Node::bool),
            Some(b'f') => self.literal("false", node, Node::bool),
            Some(b'n') => self.literal("null", node, Node::null),
            Some(b'N') if self.rules.allow_nan => self.literal("NaN", node, float),
            Some(b'I') if self.rules.allow_nan => self.literal("Infinity", node, float),
            _ => self.fault("a value"),
        }
    }

    fn literal(
        &mut self,
        word: &'static str,
        node: Option<&mut Node>,
        note: impl Fn(&mut Node),
    ) -> Read<()> {
        let rest = &self.bytes[self.at..];
        if !rest.starts_with(word.as_bytes()) {
            if word.as_bytes().starts_with(rest) {
                self.at = self.bytes.len();
            }
            return self.fault(word);
        }
        self.at += word.len();
        if let Some(node) = node {
            note(node);
        }
        Ok(())
    }

    fn number(&mut self, node: Option<&mut Node>) -> Read<()> {
        let text = &self.bytes[self.at..];
        if self.rules.allow_nan && text.starts_with(b"-I") {
            return self.literal("-Infinity", node, float);
        }
        let Ok(shape) = scan_number(text) else {
            let kind = ErrorKind::Syntax;
            return Err(Fault { kind, at: self.at, expected: "a number" });
        };
        self.at += shape.len;
        let Some(node) = node else { return Ok(()) };
        let mut number = Number { negative: shape.negative, ..Number::default() };
        if !shape.is_integer() {
            number.float = true;
        } else if shape.len < LONG_DIGITS {
            // It fits into every type that inference chooses.
        } else if let Ok((value, _)) = parse_i64(text) {
            number.inexact = !is_exact(value.unsigned_abs());
        } else if let Ok((value, _)) = parse_u64(text) {
            (number.large, number.inexact) = (true, !is_exact(value));
        } else {
            number.float = true;
            // Rust writes all digits of a float.
            let digits = &self.bytes[self.at - shape.len..self.at];
            number.inexact =
                parse_f64(text).is_ok_and(|(value, _)| format!("{value:.0}").as_bytes() != digits);
        }
        // Without an exponent it takes more than 300 digits to be beyond a float's range.
        let far = number.float && (shape.has_exponent || shape.len > FAR_DIGITS);
        if far && matches!(parse_f64(text), Err(NumberError::Range)) {
            // No number type can represent it; its text can.
            node.json();
        } else {
            node.number(number);
        }
        Ok(())
    }

    fn note_string(&self, string: Str<'_>, node: &mut Node) {
        if !self.rules.nulls.is_empty() && !string.lone && self.is_null(string) {
            node.null();
        } else if string.lone {
            // A string column cannot hold it; JSON text can.
            node.json();
        } else if self.rules.timestamps && !string.escapes && node.may_be_time() {
            node.text(times(string.text));
        } else {
            node.text(Text::default());
        }
    }

    #[cold]
    fn is_null(&self, string: Str<'_>) -> bool {
        let text = string.unescaped();
        self.rules.nulls.iter().any(|word| *word == text)
    }

    /// Enters a container.
    fn open(&mut self) -> Read<()> {
        if self.depth >= self.rules.depth_max {
            let kind = ErrorKind::DepthExceeded;
            return Err(Fault { kind, at: self.at, expected: "fewer levels (see --depth-max)" });
        }
        self.depth += 1;
        self.at += 1;
        self.space();
        Ok(())
    }

    /// Leaves a container, or continues in it after a comma.
    fn more(&mut self, close: u8, expected: &'static str) -> Read<bool> {
        self.space();
        match self.peek() {
            Some(b',') => {
                self.comma()?;
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.depth -= 1;
                self.at += 1;
                Ok(false)
            }
            _ => self.fault(expected),
        }
    }

    fn list(&mut self, node: Option<&mut Node>, nesting: usize) -> Read<()> {
        self.open()?;
        let mut item = node.and_then(|node| {
            if nesting < NESTING_MAX {
                node.list()
            } else {
                node.json();
                None
            }
        });
        if self.peek() == Some(b']') {
            return self.more(b']', "']'").map(|_| ());
        }
        loop {
            self.value(item.as_deref_mut(), nesting + 1)?;
            if !self.more(b']', "',' or ']'")? {
                return Ok(());
            }
        }
    }

    fn object(&mut self, mut node: Option<&mut Node>, nesting: usize) -> Read<()> {
        self.open()?;
        if let Some(node) = &mut node {
            if nesting < NESTING_MAX { node.object() } else { node.json() }
        }
        if self.peek() == Some(b'}') {
            return self.more(b'}', "'}'").map(|_| ());
        }
        let keys_max =
            if nesting == 0 { self.rules.columns_max } else { self.rules.object_keys_max };
        loop {
            let at = self.at;
            if self.peek() != Some(b'"') {
                return self.fault("'\"'");
            }
            // Records mostly have their keys in the same order.
            if let Some(node) = node.as_deref_mut()
                && let Some(value) = self.expected_key(node)
            {
                self.value(Some(value), nesting + 1)?;
                if !self.more(b'}', "',' or '}'")? {
                    return Ok(());
                }
                continue;
            }
            let key = self.string()?;
            if key.lone && nesting == 0 {
                // It would turn all records into one column of JSON text.
                let kind = ErrorKind::LoneSurrogate;
                return Err(Fault { kind, at, expected: "a key that can be a column's name" });
            }
            self.space();
            if self.peek() != Some(b':') {
                return self.fault("':'");
            }
            self.at += 1;
            self.space();
            let value = match &mut node {
                Some(node) if key.lone => {
                    node.json();
                    None
                }
                Some(node) => {
                    let mut created = 0;
                    let place = (self.rules.place.0, self.rules.place.1 + at as u64);
                    let value = node.key(&key.unescaped(), place, keys_max, &mut created);
                    let Some(left) = self.fields_left.checked_sub(created) else {
                        let expected = FEWER_KEYS;
                        return Err(Fault { kind: ErrorKind::Limit, at, expected });
                    };
                    self.fields_left = left;
                    value
                }
                None => None,
            };
            self.value(value, nesting + 1)?;
            if !self.more(b'}', "',' or '}'")? {
                return Ok(());
            }
        }
    }

    /// Skips the key that follows in the objects before, and its colon, if it is here; returns the
    /// node of its value.
    fn expected_key<'n>(&mut self, node: &'n mut Node) -> Option<&'n mut Node> {
        let key = node.expected()?;
        if key.is_empty() || !starts_with(self.bytes.get(self.at..)?, key) {
            return None;
        }
        self.at += key.len();
        self.space();
        node.take_expected()
    }

    /// Reads the string whose opening quote is here.
    fn string(&mut self) -> Read<Str<'a>> {
        let start = self.at + 1;
        let (mut escapes, mut lone, mut high) = (false, false, 0);
        self.at = start;
        loop {
            self.at += plain_bytes(&self.bytes[self.at..], &mut high);
            match self.peek() {
                None => return self.fault("'\"'"),
                Some(b'"') => break,
                Some(b'\\') => {
                    escapes = true;
                    lone |= self.escape()?;
                }
                Some(0..0x20) => {
                    let kind = ErrorKind::ControlCharacter;
                    return Err(Fault { kind, at: self.at, expected: "an escape" });
                }
                Some(byte) => {
                    high |= u64::from(byte);
                    self.at += 1;
                }
            }
        }
        let text = &self.bytes[start..self.at];
        self.at += 1;
        if high & HIGH != 0
            && let Err(error) = std::str::from_utf8(text)
        {
            let at = start + error.valid_up_to();
            return Err(Fault { kind: ErrorKind::InvalidUtf8, at, expected: "UTF-8" });
        }
        Ok(Str { text, escapes, lone })
    }

    /// Skips an escape; returns whether it is half a surrogate pair.
    fn escape(&mut self) -> Read<bool> {
        let at = self.at;
        let wrong = Fault { kind: ErrorKind::InvalidEscape, at, expected: "an escape of JSON" };
        match self.bytes.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let unit = hex4(self.bytes, at).ok_or(wrong)?;
                self.at += 6;
                if unit & 0xFC00 == 0xD800 {
                    let low = hex4(self.bytes, at + 6).filter(|low| low & 0xFC00 == 0xDC00);
                    self.at += if low.is_some() { 6 } else { 0 };
                    return Ok(low.is_none());
                }
                return Ok(unit & 0xFC00 == 0xDC00);
            }
            Some(_) => return Err(wrong),
            None => {
                self.at = self.bytes.len();
                return self.fault("an escape of JSON");
            }
        }
        Ok(false)
    }
}

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGH: u64 = ONES << 7;

/// Whether a text starts with another one. Faster than that of slices for keys, which are short.
fn starts_with(text: &[u8], start: &[u8]) -> bool {
    let Some(text) = text.get(..start.len()) else { return false };
    let word = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
    let (Some(one), Some(other)) = (text.last_chunk(), start.last_chunk()) else {
        return text.iter().zip(start).all(|(one, other)| one == other);
    };
    let (ones, others) = (text.as_chunks().0.iter(), start.as_chunks().0);
    word(one) == word(other) && ones.zip(others).all(|(one, other)| word(one) == word(other))
}

/// The number of bytes before the first that ends or interrupts a string: a quote, a backslash or a
/// control character. It looks at eight at once, and may stop up to seven early at the end. `high`
/// is joined with these bytes, and maybe some after them.
fn plain_bytes(text: &[u8], high: &mut u64) -> usize {
    let mut at = 0;
    while let Some(bytes) = text[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*bytes);
        let quote = word ^ (ONES * u64::from(b'"'));
        let backslash = word ^ (ONES * u64::from(b'\\'));
        // The lowest bit that is set is exact: a borrow only reaches the bytes above it.
        let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGH;
        let ends = zero(quote) | zero(backslash) | control;
        if ends != 0 {
            // What is before the lowest bit that is set.
            *high |= word & (ends & ends.wrapping_neg()).wrapping_sub(1);
            return at + (ends.trailing_zeros() / 8) as usize;
        }
        *high |= word;
        at += 8;
    }
    at
}

/// The four digits of the `\u` escape at `at`, if there is one.
fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, byte| Some(unit * 16 + char::from(*byte).to_digit(16)?))
}

impl<'a> Str<'a> {
    /// The unescaped text; the escapes are known to be valid.
    fn unescaped(&self) -> Cow<'a, str> {
        let bytes = self.text;
        // It was validated.
        let whole = std::str::from_utf8(bytes).unwrap_or_default();
        if !self.escapes {
            return Cow::Borrowed(whole);
        }
        let mut text = String::with_capacity(bytes.len());
        let mut at = 0;
        while let Some(run) = whole.get(at..) {
            let Some(plain) = run.find('\\') else {
                text.push_str(run);
                break;
            };
            text.push_str(&run[..plain]);
            at += plain;
            let unit = hex4(bytes, at);
            let low = unit.filter(|unit| unit & 0xFC00 == 0xD800).and(hex4(bytes, at + 6));
            let code = match (unit, low, bytes.get(at + 1)) {
                (Some(high), Some(low), _) => 0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF),
                (Some(unit), None, _) => unit,
                (_, _, Some(b'b')) => 0x8,
                (_, _, Some(b'f')) => 0xC,
                (_, _, Some(b'n')) => 0xA,
                (_, _, Some(b'r')) => 0xD,
                (_, _, Some(b't')) => 0x9,
                (_, _, other) => u32::from(other.copied().unwrap_or(b'\\')),
            };
            text.extend(char::from_u32(code));
            at += match (unit, low) {
                (Some(_), Some(_)) => 12,
                (Some(_), None) => 6,
                _ => 2,
            };
        }
        Cow::Owned(text)
    }
}

/// Whether a `float64` represents an integer of this absolute value.
fn is_exact(value: u64) -> bool {
    // As many bits as the significand has, and zeros after them.
    value == 0 || u64::BITS - value.leading_zeros() - value.trailing_zeros() <= f64::MANTISSA_DIGITS
}

fn float(node: &mut Node) {
    node.number(Number { float: true, ..Number::default() });
}

/// Classifies a string as date or timestamp.
fn times(text: &[u8]) -> Text {
    let date = looks_like_date(text);
    let offset = looks_like_timestamp(text);
    if !date && offset.is_none() {
        return Text::default();
    }
    let fits = |unit| parse_timestamp(text, unit).is_ok();
    Text {
        date,
        micros: fits(TimeUnit::Microsecond),
        nanos: fits(TimeUnit::Nanosecond),
        offset: offset == Some(true),
        local: offset != Some(true),
    }
}
