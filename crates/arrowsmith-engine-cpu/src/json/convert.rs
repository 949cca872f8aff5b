// SPDX-License-Identifier: Apache-2.0
//! Convert: parses the text of a value and appends the value to its column.
//!
//! Each operation handles only the usual form of its value; everything else goes to the cold
//! functions at the end, which distinguish null, another type and malformed text.

use arrow_buffer::ArrowNativeType;
use arrowsmith_core::ErrorKind;
use arrowsmith_number as number;
use arrowsmith_number::{NumberError, TextError};
use arrowsmith_plan::{BinaryEncoding, FloatWidth, IntWidth};
use arrowsmith_simd::isa::Isa;
use arrowsmith_simd::lanes::has;
use arrowsmith_simd::skip;
use arrowsmith_simd::text::Fault;
use arrowsmith_simd::{Buf, Input, ints};

use super::build::{Values, offset, wrong_column};
use super::program::{Code, Fast, Id};
use super::walk::{FAIL, Subject, Walker};

/// Stands for a null in place of a number of elements.
const NULL: usize = usize::MAX;

/// Reads an integer as 64 bits, in two's complement if the column is signed.
#[inline(always)]
fn integer(text: &[u8], width: IntWidth) -> Result<(u64, usize), NumberError> {
    if width.is_signed() {
        let (value, len) = number::parse_i64(text)?;
        Ok((value.cast_unsigned(), len))
    } else {
        number::parse_u64(text)
    }
}

/// A 64-bit integer in two's complement, as the bits of a narrower column; `None` if out of range.
#[inline(always)]
fn narrow(width: IntWidth, value: u64) -> Option<u64> {
    let signed = value.cast_signed();
    let fits = match width {
        IntWidth::I64 | IntWidth::U64 => true,
        IntWidth::U32 => u32::try_from(value).is_ok(),
        IntWidth::U16 => u16::try_from(value).is_ok(),
        IntWidth::U8 => u8::try_from(value).is_ok(),
        IntWidth::I32 => i32::try_from(signed).is_ok(),
        IntWidth::I16 => i16::try_from(signed).is_ok(),
        IntWidth::I8 => i8::try_from(signed).is_ok(),
    };
    fits.then_some(value)
}

/// Appends the low bits of `value`, as wide as the column.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "`narrow` has checked the range")]
fn push_bits(values: &mut Values, value: u64) {
    match values {
        Values::W64(buf) => buf.push(value),
        Values::W32(buf) => buf.push(value as u32),
        Values::W16(buf) => buf.push(value as u16),
        Values::W8(buf) => buf.push(value as u8),
        other => wrong_column(other),
    }
}

fn number_error(error: NumberError) -> ErrorKind {
    match error {
        NumberError::Range | NumberError::Negative => ErrorKind::Overflow,
        NumberError::Inexact => ErrorKind::Inexact,
        NumberError::NotInteger => ErrorKind::WrongType,
        _ => ErrorKind::Syntax,
    }
}

fn text_error(error: TextError) -> ErrorKind {
    match error {
        TextError::Range => ErrorKind::Overflow,
        TextError::Inexact => ErrorKind::Inexact,
        _ => ErrorKind::InvalidValue,
    }
}

/// Appends the integers of the array at `pos`, moves `pos` after it, and returns their number.
/// `None`, with nothing changed, if the kernel does not read it to its end.
#[inline(always)]
fn int_list<I: Isa>(
    isa: I,
    input: Input<'_>,
    pos: &mut usize,
    values: &mut Buf<u64>,
    signed: bool,
) -> Option<usize> {
    match input.word(*pos).to_le_bytes() {
        [b'[', b']', ..] => {
            *pos += 2;
            return Some(0);
        }
        [b'[', ..] => {}
        _ => return None,
    }
    let before = values.len();
    let read = isa.int_list(input, *pos + 1, values, signed);
    if !read.closed {
        values.truncate(before);
        return None;
    }
    *pos = read.pos;
    Some(values.len() - before)
}

impl<I: Isa> Walker<'_, I> {
    #[inline(always)]
    fn values(&mut self, id: Id) -> &mut Values {
        &mut self.columns.columns[id].values
    }

    #[inline(always)]
    pub fn int(&mut self, id: Id, width: IntWidth, pos: usize) -> usize {
        if let Ok((value, len)) = integer(self.input.from(pos), width)
            && let Some(value) = narrow(width, value)
        {
            push_bits(self.values(id), value);
            return pos + len;
        }
        self.other_int(id, width, pos)
    }

    #[inline(always)]
    pub fn bool(&mut self, id: Id, pos: usize) -> usize {
        let word = self.input.word(pos);
        let yes = word & 0xFFFF_FFFF == u64::from(u32::from_le_bytes(*b"true"));
        let no = word & 0xFF_FFFF_FFFF == u64::from_le_bytes(*b"false\0\0\0");
        if !(yes | no) {
            return self.other_type(id, pos);
        }
        if let Values::Bits(bits) = self.values(id) {
            bits.push(yes);
        }
        pos + 4 + usize::from(no)
    }

    #[inline(always)]
    pub fn float(&mut self, id: Id, width: FloatWidth, pos: usize) -> usize {
        let text = self.input.from(pos);
        let read = match width {
            FloatWidth::F64 => number::parse_f64(text).map(|(v, len)| (v.to_bits(), len)),
            FloatWidth::F32 => {
                number::parse_f32(text).map(|(v, len)| (u64::from(v.to_bits()), len))
            }
            FloatWidth::F16 => {
                number::parse_f16(text).map(|(v, len)| (u64::from(v.to_bits()), len))
            }
        };
        match read {
            Ok((bits, len)) => {
                push_bits(self.values(id), bits);
                pos + len
            }
            Err(error) => self.other_float(id, width, pos, error),
        }
    }

    #[inline(always)]
    pub fn utf8(&mut self, id: Id, pos: usize) -> usize {
        if self.input.at(pos) != b'"' {
            return self.other_type(id, pos);
        }
        let (isa, input) = (self.isa, self.input);
        let Values::Text(text) = self.values(id) else { return self.wrong_node(id) };
        match text.push_json(isa, input, pos + 1) {
            Ok(end) if !self.careful => end,
            Ok(end) => self.check_utf8(id, pos, end),
            Err(Fault { kind, pos }) => self.fail(kind, pos, Subject::Value(id)),
        }
    }

    /// Any value, kept as text.
    #[inline(always)]
    pub fn json(&mut self, id: Id, pos: usize) -> usize {
        let nullable = self.program.steps[id].nullable;
        if nullable && self.input.at(pos) == b'n' {
            return self.other_type(id, pos);
        }
        let end = self.skip(pos, self.program.steps[id].depth, true);
        if end == FAIL {
            return self.json_fault(id, pos);
        }
        if end > self.input.end() {
            return self.fail(ErrorKind::Truncated, end, Subject::Value(id));
        }
        let text = self.input.slice(pos, end);
        if let Values::Text(column) = self.values(id) {
            column.push(text);
        }
        if self.careful { self.check_utf8(id, pos, end) } else { end }
    }

    /// The first error of the JSON text at `pos`: the given one, unless a string before it is not
    /// UTF-8.
    #[cold]
    #[inline(never)]
    fn json_fault(&mut self, id: Id, pos: usize) -> usize {
        let text = self.input.slice(pos, self.fault.pos);
        let checked = match std::str::from_utf8(&text[..unfinished_string(text)]) {
            Ok(_) => return FAIL,
            Err(error) => error.valid_up_to(),
        };
        self.fail(ErrorKind::InvalidUtf8, pos + checked, Subject::Value(id))
    }

    /// Validates the string just appended, whose source is between these positions.
    #[cold]
    #[inline(never)]
    fn check_utf8(&mut self, id: Id, from: usize, to: usize) -> usize {
        let source = self.input.slice(from, to);
        match std::str::from_utf8(source) {
            Ok(_) => to,
            Err(error) => {
                let len = self.columns.len(id) - 1;
                self.columns.truncate(self.program, id, len);
                let pos = from + error.valid_up_to();
                self.fail(ErrorKind::InvalidUtf8, pos, Subject::Value(id))
            }
        }
    }

    #[inline(always)]
    pub fn list(&mut self, id: Id, pos: usize) -> usize {
        let Code::List(item) = self.program.steps[id].code else { return self.wrong_node(id) };
        let Some((count, end)) = self.elements(id, item, pos) else { return FAIL };
        if count == NULL {
            return end;
        }
        let len = offset(self.columns.len(item));
        match self.values(id) {
            Values::Ends(ends) => ends.push(len),
            other => wrong_column(other),
        }
        end
    }

    #[inline(always)]
    pub fn fixed_list(&mut self, id: Id, item: Id, len: usize, pos: usize) -> usize {
        let Some((count, end)) = self.elements(id, item, pos) else { return FAIL };
        if count == NULL {
            return end;
        }
        if count != len {
            return self.fail(ErrorKind::LengthMismatch, pos, Subject::Value(id));
        }
        if let Values::Count(lists) = self.values(id) {
            *lists += 1;
        }
        end
    }

    /// An array of 64-bit integers that a kernel reads to its end; else [`FAIL`], with nothing
    /// changed.
    #[inline(always)]
    pub fn ints(&mut self, id: Id, mut pos: usize) -> usize {
        let positions = std::slice::from_mut(&mut pos);
        if self.int_lists(id, positions, u8::MAX) == 1 { pos } else { FAIL }
    }

    /// Arrays of 64-bit integers, one after another, that a kernel reads to their ends: returns how
    /// many, up to the first that it does not. A lane that is not `there` gets an empty list; lists
    /// of fixed size have to be all there.
    #[inline(always)]
    pub fn int_lists(&mut self, id: Id, positions: &mut [usize], there: u8) -> usize {
        let step = &self.program.steps[id];
        let (item, len) = match step.code {
            Code::List(item) => (item, None),
            Code::FixedList(item, len) => (item, Some(len)),
            _ => return 0,
        };
        let (isa, input) = (self.isa, self.input);
        let signed = self.program.steps[item].code == Code::Int(IntWidth::I64);
        let Ok([list, items]) = self.columns.columns.get_disjoint_mut([id, item]) else {
            return 0;
        };
        let Values::W64(values) = &mut items.values else { return 0 };
        if step.depth > self.options.limits.depth_max {
            return 0;
        }
        match (&mut list.values, len) {
            (Values::Ends(ends), None) => {
                for (done, pos) in positions.iter_mut().enumerate() {
                    if has(there, done) && int_list(isa, input, pos, values, signed).is_none() {
                        return done;
                    }
                    ends.push(offset(values.len()));
                }
            }
            (Values::Count(lists), Some(len)) => {
                for (done, pos) in positions.iter_mut().enumerate() {
                    let (from, before) = (*pos, values.len());
                    if int_list(isa, input, pos, values, signed) != Some(len) {
                        values.truncate(before);
                        *pos = from;
                        return done;
                    }
                    *lists += 1;
                }
            }
            _ => return 0,
        }
        positions.len()
    }

    /// An array of 64-bit floating-point numbers, separated by nothing but commas; else [`FAIL`],
    /// with nothing changed.
    #[inline(always)]
    pub fn floats(&mut self, id: Id, start: usize) -> usize {
        let step = &self.program.steps[id];
        let Code::List(item) = step.code else { return self.wrong_node(id) };
        if self.input.at(start) != b'[' || step.depth > self.options.limits.depth_max {
            return FAIL;
        }
        let Ok([list, items]) = self.columns.columns.get_disjoint_mut([id, item]) else {
            return FAIL;
        };
        let (Values::Ends(ends), Values::W64(values)) = (&mut list.values, &mut items.values)
        else {
            return FAIL;
        };
        let before = values.len();
        let mut pos = start + 1;
        if self.input.at(pos) == b']' {
            ends.push(offset(before));
            return pos + 1;
        }
        while let Ok((value, len)) = number::parse_f64(self.input.from(pos)) {
            values.push(value.to_bits());
            pos += len;
            match self.input.at(pos) {
                b',' => {
                    pos += 1;
                    pos += usize::from(self.input.at(pos) == b' ');
                }
                b']' => {
                    ends.push(offset(values.len()));
                    return pos + 1;
                }
                _ => break,
            }
        }
        values.truncate(before);
        FAIL
    }

    /// Reads the elements of the array at `pos`: their number, or [`NULL`] for a null, which is
    /// then appended to the list's column, and the position after it.
    #[inline(always)]
    fn elements(&mut self, id: Id, item: Id, pos: usize) -> Option<(usize, usize)> {
        if self.input.at(pos) != b'[' {
            let end = self.other_type(id, pos);
            return (end != FAIL).then_some((NULL, end));
        }
        if self.program.steps[id].depth > self.options.limits.depth_max {
            self.fail(ErrorKind::DepthExceeded, pos, Subject::Value(id));
            return None;
        }
        let before = self.columns.len(item);
        let mut pos = self.space(pos + 1);
        if self.input.at(pos) == b']' {
            return Some((0, pos + 1));
        }
        let code = self.program.steps[item].code;
        if let Code::Int(width) = code {
            let list = self.int_elements(item, width, pos);
            if list.closed {
                return Some((self.columns.len(item) - before, list.pos));
            }
            pos = self.space(list.pos);
        }
        let fast = self.program.fast(item);
        if fast == Fast::Floats && self.input.at(pos) == b'[' {
            pos = self.float_lists_in_lockstep(item, pos);
            if self.input.at(pos) == b']' {
                return Some((self.columns.len(item) - before, pos + 1));
            }
        }
        loop {
            pos = self.value_or_null(item, fast, pos);
            if pos == FAIL {
                return None;
            }
            pos = self.space(pos);
            match self.input.at(pos) {
                b',' => pos = self.space(pos + 1),
                b']' => return Some((self.columns.len(item) - before, pos + 1)),
                _ => {
                    self.fail(ErrorKind::Syntax, pos, Subject::Grammar("',' or ']'"));
                    return None;
                }
            }
        }
    }

    /// As many elements as the integer kernel reads.
    #[inline(always)]
    fn int_elements(&mut self, item: Id, width: IntWidth, pos: usize) -> ints::IntList {
        let (isa, input, signed) = (self.isa, self.input, width.is_signed());
        match &mut self.columns.columns[item].values {
            Values::W64(values) => isa.int_list(input, pos, values, signed),
            values => {
                let wide = &mut self.scratch.ints;
                wide.truncate(0);
                let list = isa.int_list(input, pos, wide, signed);
                if wide.as_slice().iter().any(|&value| narrow(width, value).is_none()) {
                    // Continues value by value, to find the one.
                    return ints::IntList { pos, closed: false };
                }
                push_narrowed(values, wide);
                list
            }
        }
    }

    /// An object with any keys.
    #[inline(always)]
    pub fn map(&mut self, id: Id, key: Id, value: Id, start: usize) -> usize {
        if self.input.at(start) != b'{' {
            return self.other_type(id, start);
        }
        if self.program.steps[id].depth > self.options.limits.depth_max {
            return self.fail(ErrorKind::DepthExceeded, start, Subject::Value(id));
        }
        let mut pos = self.space(start + 1);
        if self.input.at(pos) != b'}' {
            loop {
                if self.input.at(pos) != b'"' {
                    return self.fail(ErrorKind::Syntax, pos, Subject::Grammar("'\"'"));
                }
                pos = self.utf8(key, pos);
                if pos == FAIL {
                    self.fault.subject = Subject::Grammar("a key");
                    return FAIL;
                }
                pos = self.space(pos);
                if self.input.at(pos) != b':' {
                    return self.fail(ErrorKind::Syntax, pos, Subject::Grammar("':'"));
                }
                pos = self.space(pos + 1);
                pos = self.value_or_null(value, self.program.fast(value), pos);
                if pos == FAIL {
                    return FAIL;
                }
                pos = self.space(pos);
                match self.input.at(pos) {
                    b',' => pos = self.space(pos + 1),
                    b'}' => break,
                    _ => return self.fail(ErrorKind::Syntax, pos, Subject::Grammar("',' or '}'")),
                }
            }
        }
        let len = offset(self.columns.len(key));
        match self.values(id) {
            Values::Ends(ends) => ends.push(len),
            other => wrong_column(other),
        }
        pos + 1
    }

    /// The operations that are not inlined into the loops.
    #[inline(always)]
    pub fn rare(&mut self, id: Id, code: Code, pos: usize) -> usize {
        match code {
            Code::Decimal128 { precision, scale } => self.decimal(id, pos, |text| {
                number::parse_decimal128(text, precision, scale)
                    .map(|(value, len)| (Decimal::Small(value), len))
            }),
            Code::Decimal256 { precision, scale } => self.decimal(id, pos, |text| {
                number::parse_decimal256(text, precision, scale)
                    .map(|(value, len)| (Decimal::Large(value), len))
            }),
            Code::Date32 => self.date32(id, pos),
            Code::Date64 => self.instant(id, pos, number::parse_date64),
            Code::Time(unit) => self.instant(id, pos, |text| number::parse_time(text, unit)),
            Code::Duration(unit) => {
                self.instant(id, pos, |text| number::parse_duration(text, unit))
            }
            Code::Timestamp(unit, offset) => self.instant(id, pos, |text| {
                let parsed = number::parse_timestamp(text, unit)?;
                if parsed.had_offset {
                    return Ok(parsed.value);
                }
                let offset = offset.ok_or(TextError::Syntax)?;
                parsed.value.checked_sub(offset).ok_or(TextError::Range)
            }),
            Code::Binary(encoding) | Code::FixedBinary(encoding, _) => {
                self.binary(id, encoding, pos)
            }
            _ => self.other_type(id, pos),
        }
    }

    /// Reads a string into scratch space; returns its text, and the position after it.
    #[inline(always)]
    fn scratch_text(&mut self, id: Id, pos: usize) -> usize {
        self.scratch.text.truncate(0);
        match self.scratch.text.push_json(self.isa, self.input, pos + 1) {
            Ok(end) => end,
            Err(Fault { kind, pos }) => self.fail(kind, pos, Subject::Value(id)),
        }
    }

    /// The text of the string at `pos`, if it is short and has no escapes, and the position after
    /// it.
    #[inline(always)]
    fn plain_string(&self, pos: usize) -> Option<(&[u8], usize)> {
        let stop = self.isa.string_stop(self.input.window(pos + 1));
        let len = stop.trailing_zeros() as usize;
        let end = pos + 1 + len;
        if len < 64 && self.input.at(end) == b'"' {
            Some((self.input.slice(pos + 1, end), end + 1))
        } else {
            None
        }
    }

    /// A date: the text of one has a fixed length, and no escapes.
    #[inline(always)]
    pub fn date32(&mut self, id: Id, pos: usize) -> usize {
        let end = pos + 11;
        if self.input.at(pos) == b'"'
            && self.input.at(end) == b'"'
            && let Ok(days) = number::parse_date32(self.input.slice(pos + 1, end))
            && let Values::W32(buf) = self.values(id)
        {
            buf.push(days.cast_unsigned());
            return end + 1;
        }
        self.instant(id, pos, |text| number::parse_date32(text).map(i64::from))
    }

    /// A timestamp without escapes that parses; else [`FAIL`], with nothing changed.
    #[inline(always)]
    pub fn timestamp(&mut self, id: Id, pos: usize) -> usize {
        let Code::Timestamp(unit, offset) = self.program.steps[id].code else {
            return self.wrong_node(id);
        };
        if self.input.at(pos) != b'"' {
            return FAIL;
        }
        let Some((text, end)) = self.plain_string(pos) else { return FAIL };
        let Ok(parsed) = number::parse_timestamp(text, unit) else { return FAIL };
        let value = match (parsed.had_offset, offset) {
            (true, _) => parsed.value,
            (false, Some(0)) => parsed.value,
            _ => return FAIL,
        };
        if let Values::W64(buf) = self.values(id) {
            buf.push(value.cast_unsigned());
        }
        end
    }

    /// A string, or an integer in the column's unit.
    #[inline(always)]
    fn instant(
        &mut self,
        id: Id,
        pos: usize,
        parse: impl Fn(&[u8]) -> Result<i64, TextError>,
    ) -> usize {
        let first = self.input.at(pos);
        if first == b'"' {
            if let Some((text, end)) = self.plain_string(pos)
                && let Ok(value) = parse(text)
            {
                push_bits(self.values(id), value.cast_unsigned());
                return end;
            }
            let end = self.scratch_text(id, pos);
            if end == FAIL {
                return FAIL;
            }
            return match parse(self.scratch.text.last()) {
                Ok(value) => {
                    push_bits(self.values(id), value.cast_unsigned());
                    end
                }
                Err(error) => self.text_fault(id, text_error(error), pos, end),
            };
        }
        if first != b'-' && !first.is_ascii_digit() {
            return self.other_type(id, pos);
        }
        let (value, end) = match number::parse_i64(self.input.from(pos)) {
            Ok((value, len)) => (value, pos + len),
            Err(error) => {
                let kind = self.number_fault(pos, error);
                return self.fail(kind, pos, Subject::Value(id));
            }
        };
        let day = |unit: number::TimeUnit| 86_400 * unit.per_second();
        let fits = match self.program.steps[id].code {
            Code::Date32 => i32::try_from(value).is_ok(),
            Code::Time(unit) => (0..day(unit)).contains(&value),
            _ => true,
        };
        if !fits {
            return self.fail(ErrorKind::Overflow, pos, Subject::Value(id));
        }
        push_bits(self.values(id), value.cast_unsigned());
        end
    }

    /// The error of the string between these positions: invalid UTF-8 in preference to `kind`.
    #[cold]
    #[inline(never)]
    fn text_fault(&mut self, id: Id, kind: ErrorKind, pos: usize, end: usize) -> usize {
        match std::str::from_utf8(self.input.slice(pos, end)) {
            Ok(_) => self.fail(kind, pos, Subject::Value(id)),
            Err(error) => {
                let at = pos + error.valid_up_to();
                self.fail(ErrorKind::InvalidUtf8, at, Subject::Value(id))
            }
        }
    }

    /// A malformed number is reported as a syntax error in preference to `error`.
    fn number_fault(&self, pos: usize, error: NumberError) -> ErrorKind {
        match skip::number(self.isa, self.input, pos) {
            Some(_) => number_error(error),
            None if self.options.allow_nan && self.nan_word(pos) => ErrorKind::WrongType,
            None => ErrorKind::Syntax,
        }
    }

    /// A number, or a string that contains one.
    #[inline(always)]
    fn decimal(
        &mut self,
        id: Id,
        pos: usize,
        parse: impl Fn(&[u8]) -> Result<(Decimal, usize), NumberError>,
    ) -> usize {
        let first = self.input.at(pos);
        let (parsed, end) = if first == b'"' {
            let end = self.scratch_text(id, pos);
            if end == FAIL {
                return FAIL;
            }
            let text = self.scratch.text.last();
            let parsed = match parse(text) {
                Ok((value, len)) if len == text.len() => Ok(value),
                Ok(_) | Err(NumberError::Syntax) => Err(ErrorKind::InvalidValue),
                Err(error) => {
                    let whole = number::scan_number(text).is_ok_and(|n| n.len == text.len());
                    Err(if whole { number_error(error) } else { ErrorKind::InvalidValue })
                }
            };
            if let Err(kind) = parsed {
                return self.text_fault(id, kind, pos, end);
            }
            (parsed, end)
        } else if first == b'-' || first.is_ascii_digit() {
            match parse(self.input.from(pos)) {
                Ok((value, len)) => (Ok(value), pos + len),
                Err(error) => (Err(self.number_fault(pos, error)), pos),
            }
        } else {
            return self.other_type(id, pos);
        };
        match (parsed, self.values(id)) {
            (Ok(Decimal::Small(value)), Values::W128(buf)) => buf.push(value),
            (Ok(Decimal::Large(value)), Values::W256(buf)) => buf.push(value),
            (Ok(_), _) => {}
            (Err(kind), _) => return self.fail(kind, pos, Subject::Value(id)),
        }
        end
    }

    /// A string that encodes bytes.
    fn binary(&mut self, id: Id, encoding: BinaryEncoding, pos: usize) -> usize {
        if self.input.at(pos) != b'"' {
            return self.other_type(id, pos);
        }
        let end = self.scratch_text(id, pos);
        if end == FAIL {
            return FAIL;
        }
        let scratch = &mut *self.scratch;
        scratch.bytes.clear();
        let decoded = match encoding {
            BinaryEncoding::Base64 => {
                number::decode_base64(scratch.text.last(), &mut scratch.bytes)
            }
            BinaryEncoding::Hex => number::decode_hex(scratch.text.last(), &mut scratch.bytes),
        };
        if decoded.is_err() {
            return self.text_fault(id, ErrorKind::InvalidValue, pos, end);
        }
        let bytes = &scratch.bytes;
        match &mut self.columns.columns[id].values {
            Values::Bytes(buf, ends) => {
                buf.extend(bytes);
                ends.push(offset(buf.len()));
            }
            Values::Fixed(buf, width) if bytes.len() == *width => buf.extend(bytes),
            _ => return self.fail(ErrorKind::LengthMismatch, pos, Subject::Value(id)),
        }
        end
    }

    /// An integer column's value that the fast path did not accept.
    #[cold]
    #[inline(never)]
    fn other_int(&mut self, id: Id, width: IntWidth, pos: usize) -> usize {
        let first = self.input.at(pos);
        if first != b'-' && !first.is_ascii_digit() {
            return self.other_type(id, pos);
        }
        let kind = match integer(self.input.from(pos), width) {
            Ok(_) => ErrorKind::Overflow,
            Err(error) => self.number_fault(pos, error),
        };
        self.fail(kind, pos, Subject::Value(id))
    }

    /// A floating-point column's value that is not a number in range.
    #[cold]
    #[inline(never)]
    fn other_float(&mut self, id: Id, width: FloatWidth, pos: usize, error: NumberError) -> usize {
        let first = self.input.at(pos);
        if self.options.allow_nan {
            let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
            for (text, value) in skip::NAN_WORDS.into_iter().zip(values) {
                if self.input.slice(pos, pos + text.len()) == text.as_bytes() {
                    let bits = match width {
                        FloatWidth::F64 => value.to_bits(),
                        #[expect(clippy::cast_possible_truncation, reason = "not a finite value")]
                        FloatWidth::F32 => u64::from((value as f32).to_bits()),
                        FloatWidth::F16 if value.is_nan() => 0x7E00,
                        FloatWidth::F16 if value > 0.0 => 0x7C00,
                        FloatWidth::F16 => 0xFC00,
                    };
                    push_bits(self.values(id), bits);
                    return pos + text.len();
                }
            }
        }
        if first != b'-' && !first.is_ascii_digit() {
            return self.other_type(id, pos);
        }
        let kind = self.number_fault(pos, error);
        self.fail(kind, pos, Subject::Value(id))
    }

    /// Whether the column accepts numbers.
    fn takes_number(&self, id: Id) -> bool {
        !matches!(
            self.program.steps[id].code,
            Code::Null
                | Code::Bool
                | Code::Utf8
                | Code::Json
                | Code::Binary(_)
                | Code::FixedBinary(..)
                | Code::List(_)
                | Code::FixedList(..)
                | Code::Struct(_)
                | Code::Map(..)
        )
    }

    /// Whether `NaN`, `Infinity` or `-Infinity` is at `pos`.
    fn nan_word(&self, pos: usize) -> bool {
        let is = |word: &&str| self.input.slice(pos, pos + word.len()) == word.as_bytes();
        skip::NAN_WORDS.iter().any(is)
    }

    /// A value of another JSON type: null, or an error.
    #[inline(never)]
    pub fn other_type(&mut self, id: Id, pos: usize) -> usize {
        let is_literal = skip::literal(self.input, pos);
        if self.input.at(pos) == b'n'
            && let Some(end) = is_literal
            && self.program.steps[id].nullable
        {
            self.columns.push_null(self.program, id);
            return end;
        }
        let kind = match self.input.at(pos) {
            b'n' if is_literal.is_some() => ErrorKind::MissingField,
            b'n' => ErrorKind::Syntax,
            b't' | b'f' if self.program.steps[id].code == Code::Bool => ErrorKind::Syntax,
            b't' | b'f' | b'"' | b'{' | b'[' | b'-' | b'0'..=b'9' => ErrorKind::WrongType,
            b'N' | b'I' if self.options.allow_nan => {
                let text = !self.takes_number(id) || self.nan_word(pos);
                if text { ErrorKind::WrongType } else { ErrorKind::Syntax }
            }
            _ => ErrorKind::Syntax,
        };
        self.fail(kind, pos, Subject::Value(id))
    }
}

/// The start of the unterminated string at the end of `text`; its length if there is none.
fn unfinished_string(text: &[u8]) -> usize {
    let mut string = None;
    let mut pos = 0;
    while pos < text.len() {
        match (text[pos], string) {
            (b'"', None) => string = Some(pos),
            (b'"', Some(_)) => string = None,
            (b'\\', Some(_)) => pos += 1,
            _ => {}
        }
        pos += 1;
    }
    string.unwrap_or(text.len())
}

/// A decimal of either width.
enum Decimal {
    Small(i128),
    Large(arrow_buffer::i256),
}

#[expect(clippy::cast_possible_truncation, reason = "`narrow` has checked every value")]
fn push_narrowed(values: &mut Values, wide: &Buf<u64>) {
    fn all<T: ArrowNativeType>(buf: &mut Buf<T>, wide: &Buf<u64>, narrow: impl Fn(u64) -> T) {
        buf.reserve(wide.len());
        for &value in wide.as_slice() {
            buf.push(narrow(value));
        }
    }
    match values {
        Values::W32(buf) => all(buf, wide, |value| value as u32),
        Values::W16(buf) => all(buf, wide, |value| value as u16),
        Values::W8(buf) => all(buf, wide, |value| value as u8),
        other => wrong_column(other),
    }
}
