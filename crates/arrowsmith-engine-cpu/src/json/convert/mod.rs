// SPDX-License-Identifier: Apache-2.0
//! Convert: parses the text of a value and appends the value to its column.
//!
//! Each operation handles only the usual form of its value; everything else goes to the cold
//! functions of `faults`, which distinguish null, another type and malformed text.

mod faults;
mod lists;
mod spark;
mod texts;

pub(in crate::json) use self::faults::{number_error, text_error};

use arrowsmith_core::ErrorKind;
use arrowsmith_number as number;
use arrowsmith_number::NumberError;
use arrowsmith_plan::{FloatWidth, IntWidth};
use arrowsmith_simd::isa::Isa;
use arrowsmith_simd::text::Fault;

use super::build::{Values, wrong_column};
use super::program::Id;
use super::walk::{FAIL, Subject, Walker};

/// Stands for a null in place of a number of elements.
const NULL: usize = usize::MAX;

/// Reads an integer as 64 bits, in two's complement if the column is signed.
#[inline(always)]
pub(in crate::json) fn integer(text: &[u8], width: IntWidth) -> Result<(u64, usize), NumberError> {
    if width.is_signed() {
        let (value, len) = number::parse_i64(text)?;
        Ok((value.cast_unsigned(), len))
    } else {
        number::parse_u64(text)
    }
}

/// A 64-bit integer in two's complement, as the bits of a narrower column; `None` if out of range.
#[inline(always)]
pub(in crate::json) fn narrow(width: IntWidth, value: u64) -> Option<u64> {
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
pub(in crate::json) fn push_bits(values: &mut Values, value: u64) {
    match values {
        Values::W64(buf) => buf.push(value),
        Values::W32(buf) => buf.push(value as u32),
        Values::W16(buf) => buf.push(value as u16),
        Values::W8(buf) => buf.push(value as u8),
        other => wrong_column(other),
    }
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
            return self.no_string(id, pos);
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
        match self.values(id) {
            Values::Text(column) => column.push(text),
            other => wrong_column(other),
        }
        if self.careful { self.check_utf8(id, pos, end) } else { end }
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
}
