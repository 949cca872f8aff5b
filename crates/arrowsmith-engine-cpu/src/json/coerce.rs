// SPDX-License-Identifier: Apache-2.0
//! Coerce: values that a column takes beyond those of its type, and null words.
//!
//! Scalar columns with a coercion have an operation of their own, [`Code::Coerced`], so that others
//! cost nothing; what a coercion does not change is left to the operation of the type. Lists,
//! objects and the null type have only null words, which are looked for where a string is an error.

use std::sync::Arc;

use arrowsmith_core::ErrorKind;
use arrowsmith_number::{self as number, NumberError, TextError, TimeUnit};
use arrowsmith_plan::{Coercion, FloatWidth, IntWidth};
use arrowsmith_simd::isa::Isa;
use arrowsmith_simd::skip;
use arrowsmith_simd::text::Fault;

use super::build::Values;
use super::convert::{integer, narrow, number_error, push_bits, text_error};
use super::program::{Code, Id};
use super::walk::{Subject, Walker};

/// A scalar column with a coercion.
#[derive(Debug)]
pub(crate) struct Coerced {
    /// The operation of its type.
    pub code: Code,
    pub coercion: Arc<Coercion>,
}

/// A value of a column.
enum Scalar {
    Bool(bool),
    /// The low bits of a value of a column of up to 64 bits.
    Bits(u64),
}

type Read = Result<Scalar, ErrorKind>;

impl<I: Isa> Walker<'_, I> {
    /// A value of a scalar column with a coercion; `None` if it is read as without.
    #[inline(always)]
    pub fn coerced(&mut self, id: Id, index: usize, pos: usize) -> Option<usize> {
        let program = self.program;
        let Coerced { code, coercion } = &program.coerced[index];
        let code = *code;
        match self.input.at(pos) {
            b'"' => {
                let end = match self.scratch.text_at(self.isa, self.input, pos) {
                    Ok(end) => end,
                    // Half a surrogate pair is kept in JSON text, and not null there.
                    Err(_) if code == Code::Json => return None,
                    Err(Fault { kind, pos }) => {
                        return Some(self.fail(kind, pos, Subject::Value(id)));
                    }
                };
                let text = self.scratch.text.last();
                if is_null(coercion, text) {
                    return Some(self.null_word(id, pos, end));
                }
                match from_string(code, coercion, text, self.options.allow_nan)? {
                    Ok(value) => Some(self.push_scalar(id, value, end)),
                    Err(kind) => Some(self.text_fault(id, kind, pos, end)),
                }
            }
            b'-' | b'0'..=b'9' => self.coerced_number(id, code, coercion, pos),
            b't' | b'f' if coercion.scalars && code == Code::Utf8 => {
                Some(match skip::literal(self.input, pos) {
                    Some(end) => self.push_source(id, pos, end),
                    None => self.fail(ErrorKind::Syntax, pos, Subject::Value(id)),
                })
            }
            _ => None,
        }
    }

    /// A number in a column with a coercion; `None` if it is read as without.
    #[inline(always)]
    fn coerced_number(
        &mut self,
        id: Id,
        code: Code,
        coercion: &Coercion,
        pos: usize,
    ) -> Option<usize> {
        let allowed = match code {
            Code::Utf8 | Code::Bool | Code::Int(_) => coercion.scalars,
            Code::Timestamp(..) => coercion.epoch.is_some(),
            _ => false,
        };
        if !allowed {
            return None;
        }
        let Some(end) = skip::number(self.isa, self.input, pos) else {
            let kind = self.number_fault(pos, NumberError::Syntax);
            return Some(self.fail(kind, pos, Subject::Value(id)));
        };
        if code == Code::Utf8 {
            return Some(self.push_source(id, pos, end));
        }
        let read = match code {
            Code::Bool => bool_of(self.input.slice(pos, end)),
            _ => from_number(code, coercion, self.input.from(pos)),
        };
        Some(match read {
            Ok(value) => self.push_scalar(id, value, end),
            Err(kind) => self.fail(kind, pos, Subject::Value(id)),
        })
    }

    /// Appends the text of the input between these positions, which is ASCII.
    #[inline(always)]
    fn push_source(&mut self, id: Id, pos: usize, end: usize) -> usize {
        if end > self.input.end() {
            return self.fail(ErrorKind::Truncated, end, Subject::Value(id));
        }
        let text = self.input.slice(pos, end);
        if let Values::Text(column) = &mut self.columns.columns[id].values {
            column.push(text);
        }
        end
    }

    #[inline(always)]
    fn push_scalar(&mut self, id: Id, value: Scalar, end: usize) -> usize {
        match (value, &mut self.columns.columns[id].values) {
            (Scalar::Bool(bit), Values::Bits(bits)) => bits.push(bit),
            (Scalar::Bool(bit), values) => push_bits(values, bit.into()),
            (Scalar::Bits(bits), values) => push_bits(values, bits),
        }
        end
    }

    /// A string between these positions that is null.
    #[cold]
    fn null_word(&mut self, id: Id, pos: usize, end: usize) -> usize {
        if !self.program.steps[id].nullable {
            return self.fail(ErrorKind::MissingField, pos, Subject::Value(id));
        }
        self.columns.push_null(self.program, id);
        end
    }

    /// The string at `pos` in a column of objects, lists or nothing: null, or the error that is
    /// due. `None` if the column has no null words.
    #[cold]
    #[inline(never)]
    pub fn string_as_null(&mut self, id: Id, pos: usize) -> Option<usize> {
        let program = self.program;
        if self.input.at(pos) != b'"' {
            return None;
        }
        let coercion = program.steps[id].coercion.as_ref()?;
        match self.scratch.text_at(self.isa, self.input, pos) {
            Ok(end) if is_null(coercion, self.scratch.text.last()) => {
                Some(self.null_word(id, pos, end))
            }
            Ok(end) => Some(self.text_fault(id, ErrorKind::WrongType, pos, end)),
            Err(Fault { kind, pos }) => Some(self.fail(kind, pos, Subject::Value(id))),
        }
    }
}

fn is_null(coercion: &Coercion, text: &[u8]) -> bool {
    coercion.nulls.iter().any(|word| word.as_bytes() == text)
}

/// What a string means by the coercion; `None` if it means what it would without.
fn from_string(code: Code, coercion: &Coercion, text: &[u8], nan: bool) -> Option<Read> {
    let scalars = coercion.scalars;
    Some(match code {
        Code::Bool if scalars => {
            if text.eq_ignore_ascii_case(b"true") {
                Ok(Scalar::Bool(true))
            } else if text.eq_ignore_ascii_case(b"false") {
                Ok(Scalar::Bool(false))
            } else {
                bool_of(text)
            }
        }
        Code::Float(width) if scalars => match nan_word(text).filter(|_| nan) {
            Some(value) => Ok(Scalar::Bits(special(value, width))),
            None => whole_number(text).and_then(|()| from_number(code, coercion, text)),
        },
        Code::Int(_) if scalars => {
            whole_number(text).and_then(|()| from_number(code, coercion, text))
        }
        Code::Date32 | Code::Date64 | Code::Time(_) | Code::Timestamp(..) | Code::Duration(_) => {
            for format in &coercion.formats {
                let read = match code {
                    Code::Date32 => format.date(text).map(i64::from),
                    Code::Date64 => {
                        format.timestamp(text, TimeUnit::Millisecond).map(|found| found.value)
                    }
                    Code::Time(unit) => format.time(text, unit),
                    Code::Timestamp(unit, offset) => {
                        format.timestamp(text, unit).and_then(|found| in_zone(found, offset))
                    }
                    _ => Err(TextError::Syntax),
                };
                match read {
                    Ok(value) => return Some(Ok(Scalar::Bits(value.cast_unsigned()))),
                    Err(TextError::Syntax) => {}
                    Err(error) => return Some(Err(text_error(error))),
                }
            }
            if scalars && whole_number(text).is_ok() {
                return Some(from_number(code, coercion, text));
            }
            if coercion.formats.is_empty() {
                return None;
            }
            Err(ErrorKind::InvalidValue)
        }
        _ => return None,
    })
}

/// A time in the column's zone.
fn in_zone(found: number::ParsedTimestamp, offset: Option<i64>) -> Result<i64, TextError> {
    match offset {
        _ if found.had_offset => Ok(found.value),
        // It matches the format; that the zone is unknown no other format can mend.
        None => Err(TextError::Syntax),
        Some(offset) => found.value.checked_sub(offset).ok_or(TextError::Range),
    }
}

/// Whether a text is nothing but a number.
fn whole_number(text: &[u8]) -> Result<(), ErrorKind> {
    let whole = number::scan_number(text).is_ok_and(|shape| shape.len == text.len());
    if whole { Ok(()) } else { Err(ErrorKind::InvalidValue) }
}

/// The number at the start of a text in a column of integers, floats, dates or times.
fn from_number(code: Code, coercion: &Coercion, text: &[u8]) -> Read {
    let signed = |value: i64| Scalar::Bits(value.cast_unsigned());
    Ok(match code {
        Code::Int(width) => Scalar::Bits(exact_integer(width, text)?),
        Code::Float(width) => {
            let bits = match width {
                FloatWidth::F64 => number::parse_f64(text).map(|(value, _)| value.to_bits()),
                FloatWidth::F32 => number::parse_f32(text).map(|(v, _)| v.to_bits().into()),
                FloatWidth::F16 => number::parse_f16(text).map(|(v, _)| v.to_bits().into()),
            };
            Scalar::Bits(bits.map_err(number_error)?)
        }
        Code::Timestamp(unit, _) if coercion.epoch.is_some() => {
            let finer = digits(unit) - coercion.epoch.map_or(0, epoch_digits);
            let value = number::parse_decimal128(text, 38, finer).map_err(number_error)?.0;
            signed(i64::try_from(value).map_err(|_| ErrorKind::Overflow)?)
        }
        _ => {
            let value = number::parse_i64(text).map_err(number_error)?.0;
            let fits = match code {
                Code::Date32 => i32::try_from(value).is_ok(),
                Code::Time(unit) => (0..86_400 * unit.per_second()).contains(&value),
                _ => true,
            };
            if !fits {
                return Err(ErrorKind::Overflow);
            }
            signed(value)
        }
    })
}

/// A number whose value is an integer, however it is written.
fn exact_integer(width: IntWidth, text: &[u8]) -> Result<u64, ErrorKind> {
    if let Ok((value, _)) = integer(text, width) {
        return narrow(width, value).ok_or(ErrorKind::Overflow);
    }
    let value = number::parse_decimal128(text, 38, 0).map_err(number_error)?.0;
    if !width.is_signed() && text.starts_with(b"-") {
        return Err(ErrorKind::Overflow);
    }
    let bits = if width.is_signed() {
        i64::try_from(value).map(i64::cast_unsigned)
    } else {
        u64::try_from(value)
    };
    bits.ok().and_then(|bits| narrow(width, bits)).ok_or(ErrorKind::Overflow)
}

/// `0` or `1`.
fn bool_of(text: &[u8]) -> Read {
    match text {
        b"0" => Ok(Scalar::Bool(false)),
        b"1" => Ok(Scalar::Bool(true)),
        _ => Err(ErrorKind::InvalidValue),
    }
}

/// `NaN`, `Infinity` or `-Infinity`.
fn nan_word(text: &[u8]) -> Option<f64> {
    let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let mut words = skip::NAN_WORDS.into_iter().zip(values);
    words.find(|(word, _)| word.as_bytes() == text).map(|(_, value)| value)
}

/// The bits of a value that is not finite.
pub(super) fn special(value: f64, width: FloatWidth) -> u64 {
    match width {
        FloatWidth::F64 => value.to_bits(),
        #[expect(clippy::cast_possible_truncation, reason = "not a finite value")]
        FloatWidth::F32 => u64::from((value as f32).to_bits()),
        FloatWidth::F16 if value.is_nan() => 0x7E00,
        FloatWidth::F16 if value > 0.0 => 0x7C00,
        FloatWidth::F16 => 0xFC00,
    }
}

/// Digits of a fraction of a second that a unit counts.
fn digits(unit: TimeUnit) -> i8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    }
}

fn epoch_digits(unit: arrow_schema::TimeUnit) -> i8 {
    digits(super::program::convert_unit(unit))
}
