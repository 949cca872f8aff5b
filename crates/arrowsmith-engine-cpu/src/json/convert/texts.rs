// SPDX-License-Identifier: Apache-2.0
//! Convert: values that are texts in JSON (dates, times, binary) and decimals.

use arrowsmith_core::{Dialect, ErrorKind};
use arrowsmith_number as number;
use arrowsmith_number::{NumberError, TextError};
use arrowsmith_plan::BinaryEncoding;
use arrowsmith_simd::isa::Isa;
use arrowsmith_simd::text::Fault;

use super::faults::{number_error, text_error};
use super::push_bits;
use crate::json::build::{Values, offset, wrong_column};
use crate::json::program::{Code, Id};
use crate::json::walk::{FAIL, Subject, Walker};

impl<I: Isa> Walker<'_, I> {
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
            Code::SparkTimestamp(unit, zone) => self.spark_timestamp(id, unit, zone, pos),
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
    pub(super) fn scratch_text(&mut self, id: Id, pos: usize) -> usize {
        match self.scratch.text_at(self.isa, self.input, pos) {
            Ok(end) => end,
            Err(Fault { kind, pos }) => self.fail(kind, pos, Subject::Value(id)),
        }
    }

    /// The text of the string at `pos`, if it is short and has no escapes, and the position after
    /// it.
    #[inline(always)]
    pub(super) fn plain_string(&self, pos: usize) -> Option<(&[u8], usize)> {
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
        if self.program.dialect == Dialect::Spark {
            return self.spark_date(id, pos);
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
        match self.values(id) {
            Values::W64(buf) => buf.push(value.cast_unsigned()),
            other => wrong_column(other),
        }
        end
    }

    /// A string that `parse` takes.
    #[inline(always)]
    pub(super) fn text_by(
        &mut self,
        id: Id,
        pos: usize,
        parse: impl Fn(&[u8]) -> Result<i64, TextError>,
    ) -> usize {
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
        match parse(self.scratch.text.last()) {
            Ok(value) => {
                push_bits(self.values(id), value.cast_unsigned());
                end
            }
            Err(error) => self.text_fault(id, text_error(error), pos, end),
        }
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
            return self.text_by(id, pos, parse);
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
        let fits = match self.program.code(id) {
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
            (Ok(_), other) => wrong_column(other),
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
            BinaryEncoding::Base64 if self.program.dialect == Dialect::Spark => {
                number::decode_spark_base64(scratch.text.last(), &mut scratch.bytes)
            }
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
}

/// A decimal of either width.
enum Decimal {
    Small(i128),
    Large(arrow_buffer::i256),
}
