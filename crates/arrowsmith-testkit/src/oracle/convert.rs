// SPDX-License-Identifier: Apache-2.0
//! The oracle's scalars: the JSON types that a column accepts, and their conversion.

use arrow_schema::{DataType, TimeUnit};
use arrowsmith_core::{Dialect, ErrorKind};
use arrowsmith_plan::{BinaryEncoding, FloatWidth, IntWidth, Node, Op};

use super::cell::Cell;
use super::number::{self, Grammar};
use super::reader::{Fault, Reader};
use super::{binary, spark, time};

impl Reader<'_> {
    /// Reads the scalar at the cursor, which starts with `first` and is not `null`.
    pub(super) fn scalar(&mut self, node: &Node, first: u8) -> Result<Cell, Fault> {
        let start = self.at;
        let wrong_type = self.fault(ErrorKind::WrongType, start);
        let cell = match first {
            b'"' if takes_string(&node.op) => {
                let bytes = self.string(true)?.bytes;
                // A strict string is UTF-8, so that nothing is lost here.
                from_string(node, &String::from_utf8_lossy(&bytes), self.options.dialect)
            }
            b't' | b'f' if node.op == Op::Bool => {
                self.literal(if first == b't' { "true" } else { "false" })?;
                Ok(Cell::Bool(first == b't'))
            }
            b'"' | b't' | b'f' => return Err(wrong_type),
            b'N' | b'I' if !self.options.allow_nan => {
                return Err(self.fault(ErrorKind::Syntax, start));
            }
            b'-' | b'0'..=b'9' | b'N' | b'I' => {
                let dialect = self.options.dialect;
                if !takes_number(&node.op, dialect) {
                    return Err(wrong_type);
                }
                from_number(&node.op, self.number(self.options.allow_nan)?, dialect)
            }
            _ => return Err(self.fault(ErrorKind::Syntax, start)),
        };
        cell.map_err(|kind| self.fault(kind, start))
    }

    /// Skips the number at the cursor; returns its text. With `nan` Python's three words are
    /// numbers.
    pub(super) fn number(&mut self, nan: bool) -> Result<&str, Fault> {
        let start = self.at;
        let rest = &self.data[start..self.end];
        let special = match rest {
            [b'N', ..] => Some("NaN"),
            [b'I', ..] => Some("Infinity"),
            [b'-', b'I', ..] => Some("-Infinity"),
            _ => None,
        };
        if let Some(word) = special {
            if !nan {
                return Err(self.fault(ErrorKind::Syntax, start));
            }
            self.literal(word)?;
            return Ok(word);
        }
        let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
        let len = rest.iter().take_while(|byte| is_part(byte)).count();
        let token = std::str::from_utf8(&rest[..len]).unwrap_or_default();
        match number::grammar(token) {
            Grammar::Number => {
                self.at += len;
                Ok(token)
            }
            Grammar::Prefix if len == rest.len() => Err(self.truncated()),
            _ => Err(self.fault(ErrorKind::Syntax, start)),
        }
    }
}

fn takes_string(op: &Op) -> bool {
    matches!(op, Op::Utf8 | Op::Binary(_) | Op::Decimal128 { .. } | Op::Decimal256 { .. })
        || is_temporal(op)
}

fn takes_number(op: &Op, dialect: Dialect) -> bool {
    if dialect == Dialect::Spark && matches!(op, Op::Date32 | Op::Timestamp { zone: None, .. }) {
        return false;
    }
    matches!(op, Op::Int(_) | Op::Float(_) | Op::Decimal128 { .. } | Op::Decimal256 { .. })
        || is_temporal(op)
}

pub(super) fn is_temporal(op: &Op) -> bool {
    matches!(op, Op::Date32 | Op::Date64 | Op::Time(_) | Op::Timestamp { .. } | Op::Duration(_))
}

pub(super) fn from_number(op: &Op, text: &str, dialect: Dialect) -> Result<Cell, ErrorKind> {
    let special = text.ends_with('N') || text.ends_with('y');
    match op {
        Op::Float(width) => float(*width, text),
        _ if special => Err(ErrorKind::WrongType),
        Op::Decimal128 { precision, scale } | Op::Decimal256 { precision, scale } => {
            number::decimal(text, *precision, *scale).map(Cell::Decimal)
        }
        Op::Int(width) => {
            let unsigned = !width.is_signed();
            let value = number::integer(text)?;
            if unsigned && text.starts_with('-') {
                return Err(ErrorKind::Overflow);
            }
            let (min, max) = int_range(*width);
            in_range(value, min, max)
        }
        Op::Timestamp { unit, .. } if dialect == Dialect::Spark => {
            spark::seconds(number::integer(text)?, *unit).map(|value| Cell::Int(value.into()))
        }
        Op::Date32 => in_range(number::integer(text)?, i32::MIN.into(), i32::MAX.into()),
        Op::Time(unit) => {
            let units = i128::from(time::units_per_second(*unit));
            in_range(number::integer(text)?, 0, 86_400 * units - 1)
        }
        _ => in_range(number::integer(text)?, i64::MIN.into(), i64::MAX.into()),
    }
}

pub(super) fn in_range(value: Option<i128>, min: i128, max: i128) -> Result<Cell, ErrorKind> {
    let value = value.filter(|value| (min..=max).contains(value));
    value.map(Cell::Int).ok_or(ErrorKind::Overflow)
}

pub(super) fn int_range(width: IntWidth) -> (i128, i128) {
    match width {
        IntWidth::I8 => (i8::MIN.into(), i8::MAX.into()),
        IntWidth::I16 => (i16::MIN.into(), i16::MAX.into()),
        IntWidth::I32 => (i32::MIN.into(), i32::MAX.into()),
        IntWidth::I64 => (i64::MIN.into(), i64::MAX.into()),
        IntWidth::U8 => (0, u8::MAX.into()),
        IntWidth::U16 => (0, u16::MAX.into()),
        IntWidth::U32 => (0, u32::MAX.into()),
        IntWidth::U64 => (0, u64::MAX.into()),
    }
}

fn float(width: FloatWidth, text: &str) -> Result<Cell, ErrorKind> {
    let special = match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    };
    let bits = match (width, special) {
        (FloatWidth::F64, Some(value)) => value.to_bits(),
        (FloatWidth::F32, Some(value)) if value.is_nan() => f32::NAN.to_bits().into(),
        (FloatWidth::F32, Some(value)) if value > 0.0 => f32::INFINITY.to_bits().into(),
        (FloatWidth::F32, Some(_)) => f32::NEG_INFINITY.to_bits().into(),
        (FloatWidth::F16, Some(value)) => half::f16::from_f64(value).to_bits().into(),
        (FloatWidth::F64, None) => finite(text.parse::<f64>().ok(), f64::is_finite)?.to_bits(),
        (FloatWidth::F32, None) => {
            finite(text.parse::<f32>().ok(), f32::is_finite)?.to_bits().into()
        }
        (FloatWidth::F16, None) => number::half_bits(text).ok_or(ErrorKind::Overflow)?.into(),
    };
    Ok(Cell::Float(bits))
}

/// Whether base64 has all of its padding, and nothing of the alphabet of URLs.
fn is_padded(text: &str) -> bool {
    text.len().is_multiple_of(4) && !text.contains(['-', '_'])
}

fn finite<T: Copy>(value: Option<T>, is_finite: impl Fn(T) -> bool) -> Result<T, ErrorKind> {
    value.filter(|value| is_finite(*value)).ok_or(ErrorKind::Overflow)
}

fn from_string(node: &Node, text: &str, dialect: Dialect) -> Result<Cell, ErrorKind> {
    let int = |value: i64| Cell::Int(value.into());
    let spark = dialect == Dialect::Spark;
    match &node.op {
        Op::Date32 if spark => spark::date(text).map(int),
        Op::Timestamp { unit, zone } if spark => {
            spark::timestamp(text, *unit, zone.as_deref()).map(int)
        }
        Op::Decimal128 { precision, scale } | Op::Decimal256 { precision, scale } => {
            if number::grammar(text) != Grammar::Number {
                return Err(ErrorKind::InvalidValue);
            }
            number::decimal(text, *precision, *scale).map(Cell::Decimal)
        }
        Op::Binary(encoding) => {
            let bytes = match encoding {
                BinaryEncoding::Hex => binary::hex(text.as_bytes()),
                BinaryEncoding::Base64 if spark && !is_padded(text) => None,
                BinaryEncoding::Base64 => binary::base64(text.as_bytes()),
            };
            let bytes = bytes.ok_or(ErrorKind::InvalidValue)?;
            let data_type = match &node.data_type {
                DataType::Dictionary(_, values) => values.as_ref(),
                data_type => data_type,
            };
            match data_type {
                DataType::FixedSizeBinary(len) if usize::try_from(*len) != Ok(bytes.len()) => {
                    Err(ErrorKind::LengthMismatch)
                }
                _ => Ok(Cell::Bytes(bytes)),
            }
        }
        Op::Date32 => time::date(text).map(int),
        Op::Date64 => time::timestamp(text, TimeUnit::Millisecond).map(|found| int(found.value)),
        Op::Time(unit) => time::time_of_day(text, *unit).map(int),
        Op::Timestamp { unit, zone } => {
            time::timestamp_in_zone(text, *unit, zone.as_deref()).map(int)
        }
        Op::Duration(unit) => time::duration(text, *unit).map(int),
        _ => Ok(Cell::Text(text.to_owned())),
    }
}
