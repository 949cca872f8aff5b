// SPDX-License-Identifier: Apache-2.0
//! A literal and a column's type → the test. What is outside of the type is settled here.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, StringArray};
use arrow_cast::{CastOptions, cast, cast_with_options};
use arrow_schema::DataType;
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrowsmith_core::{Error, Result};

use super::{Key, Target, Test};
use crate::predicate::{Comparison, Literal};

/// Digits that an `i128` always holds.
const DIGITS_MAX: u32 = 38;

/// The type of a column's values, without the dictionary around them.
pub(crate) fn value_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    }
}

/// The test of a comparison.
pub(super) fn test(
    column: &str,
    target: &Target,
    comparison: Comparison,
    literal: &Literal,
) -> Result<Test> {
    let refused = |what: &str| {
        Error::Config(format!("condition: column {column} is {what}, which {literal} is not"))
    };
    let Some(leaf) = &target.leaf else {
        return Err(Error::Config(format!(
            "condition: column {column} has columns inside and can only be null or not"
        )));
    };
    let kind = value_type(leaf.field.data_type());
    let key = match (kind, literal) {
        (DataType::Boolean, Literal::Boolean(value)) => Key::Boolean(*value),
        (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View, Literal::Text(text)) => {
            Key::Bytes(text.clone().into_bytes())
        }
        (
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_),
            Literal::Bytes(bytes),
        ) => Key::Bytes(bytes.clone()),
        (DataType::FixedSizeBinary(16), Literal::Text(text))
            if leaf.field.metadata().get(EXTENSION_TYPE_NAME_KEY).map(String::as_str)
                == Some("arrow.uuid") =>
        {
            Key::Bytes(uuid(text).ok_or_else(|| refused("a UUID"))?)
        }
        (
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_),
            Literal::Text(text),
        ) => Key::Bytes(text.clone().into_bytes()),
        (DataType::Float64, Literal::Number(text)) => {
            Key::Float(text.parse().map_err(|_| refused("float64"))?)
        }
        // The nearest number of the type, so that `x = 0.1` finds what was written as 0.1.
        (DataType::Float32, Literal::Number(text)) => {
            Key::Float(text.parse::<f32>().map_err(|_| refused("float32"))?.into())
        }
        (DataType::Float16, Literal::Number(text)) => {
            let value: f64 = text.parse().map_err(|_| refused("float16"))?;
            Key::Float(half::f16::from_f64(value).to_f64())
        }
        (
            DataType::Date32
            | DataType::Date64
            | DataType::Time32(_)
            | DataType::Time64(_)
            | DataType::Timestamp(..),
            Literal::Text(text),
        ) => Key::Integer(temporal(text, kind).ok_or_else(|| refused(&kind.to_string()))?.into()),
        (_, Literal::Number(text)) => {
            let Some((scale, low, high)) = integers(kind) else {
                return Err(refused(&kind.to_string()));
            };
            let number = Exact::parse(text).ok_or_else(|| refused("a number"))?;
            return Ok(number.test(comparison, scale, low, high));
        }
        _ => return Err(refused(&kind.to_string())),
    };
    Ok(Test::Compare(comparison, key))
}

/// Scale and range of the types that are compared as integers.
fn integers(kind: &DataType) -> Option<(i32, i128, i128)> {
    let decimal = |precision: u8, scale: i8| {
        let digits = u32::from(precision).min(DIGITS_MAX);
        let high = 10_i128.pow(digits) - 1;
        let wide = u32::from(precision) > DIGITS_MAX;
        let (low, high) = if wide { (i128::MIN, i128::MAX) } else { (-high, high) };
        (i32::from(scale), low, high)
    };
    Some(match kind {
        DataType::Int8 => (0, i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (0, i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (0, i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 | DataType::Duration(_) => (0, i64::MIN.into(), i64::MAX.into()),
        DataType::UInt8 => (0, 0, u8::MAX.into()),
        DataType::UInt16 => (0, 0, u16::MAX.into()),
        DataType::UInt32 => (0, 0, u32::MAX.into()),
        DataType::UInt64 => (0, 0, u64::MAX.into()),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => decimal(*precision, *scale),
        _ => return None,
    })
}

/// A number as it is written: `mantissa` times ten to the `exponent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Exact {
    mantissa: i128,
    exponent: i32,
}

impl Exact {
    fn parse(text: &str) -> Option<Self> {
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        // Zeros at the end say nothing and would use up digits.
        let fraction = fraction.trim_end_matches('0');
        if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let mantissa = format!("{whole}{fraction}").parse().ok()?;
        let places = i32::try_from(fraction.len()).ok()?;
        Some(Self { mantissa, exponent: exponent.checked_sub(places)? })
    }

    /// The test on integers that are the values times ten to the `scale`.
    fn test(self, comparison: Comparison, scale: i32, low: i128, high: i128) -> Test {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let shift = self.exponent.saturating_add(scale);
        let power = 10_i128.checked_pow(shift.unsigned_abs());
        let (floor, exact) = match power {
            _ if self.mantissa == 0 => (Some(0), true),
            Some(power) if shift >= 0 => (self.mantissa.checked_mul(power), true),
            None if shift >= 0 => (None, true),
            Some(power) => {
                (Some(self.mantissa.div_euclid(power)), self.mantissa.rem_euclid(power) == 0)
            }
            None => (Some(if self.mantissa < 0 { -1 } else { 0 }), false),
        };
        let below = floor.map_or(self.mantissa < 0, |floor| floor < low);
        let above = floor.map_or(self.mantissa > 0, |floor| floor > high);
        if below || above {
            let holds = match comparison {
                Equal => false,
                NotEqual => true,
                Less | LessOrEqual => above,
                Greater | GreaterOrEqual => below,
            };
            return if holds { Test::Always } else { Test::Never };
        }
        let Some(floor) = floor else { return Test::Never };
        let comparison = match comparison {
            Equal if !exact => return Test::Never,
            NotEqual if !exact => return Test::Always,
            Less if !exact => LessOrEqual,
            GreaterOrEqual if !exact => Greater,
            same => same,
        };
        Test::Compare(comparison, Key::Integer(floor))
    }
}

/// A date, time or timestamp in the units of its type. A text without a time zone is local time in the
/// column's zone; where that time does not exist or comes twice there, it means nothing.
fn temporal(text: &str, kind: &DataType) -> Option<i64> {
    let DataType::Timestamp(unit, Some(zone)) = kind else { return instant(text, kind) };
    let at = |zone: &str| instant(text, &DataType::Timestamp(*unit, Some(zone.into())));
    if ["UTC", "Etc/UTC", "Z", "GMT"].contains(&&**zone) {
        return at("+00:00");
    }
    at(zone).or_else(|| at("+00:00").filter(|found| at("+01:00") == Some(*found)))
}

fn instant(text: &str, kind: &DataType) -> Option<i64> {
    let array: ArrayRef = Arc::new(StringArray::from(vec![text]));
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let value = cast_with_options(&array, kind, &options).ok()?;
    let value = match kind {
        DataType::Date32 | DataType::Time32(_) => cast(&value, &DataType::Int32).ok()?,
        _ => value,
    };
    let value = cast(&value, &DataType::Int64).ok()?;
    Some(value.as_primitive::<Int64Type>().value(0))
}

fn uuid(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<char> = text.chars().filter(|c| *c != '-').collect();
    if digits.len() != 32 {
        return None;
    }
    let pair = |pair: &[char]| {
        let value = pair.iter().try_fold(0, |value, digit| Some(value * 16 + digit.to_digit(16)?));
        u8::try_from(value?).ok()
    };
    digits.chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_as_they_are_written() {
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let test = |text: &str, comparison, scale| {
            Exact::parse(text).unwrap().test(comparison, scale, -128, 127)
        };
        let compare = |comparison, value| Test::Compare(comparison, Key::Integer(value));
        assert_eq!(test("5", Equal, 0), compare(Equal, 5));
        assert_eq!(test("5.00", Equal, 0), compare(Equal, 5));
        assert_eq!(test("+0.5e1", Equal, 0), compare(Equal, 5));
        assert_eq!(test("1.5", Equal, 0), Test::Never);
        assert_eq!(test("1.5", NotEqual, 0), Test::Always);
        assert_eq!(test("1.5", Less, 0), compare(LessOrEqual, 1));
        assert_eq!(test("1.5", GreaterOrEqual, 0), compare(Greater, 1));
        assert_eq!(test("-1.5", Less, 0), compare(LessOrEqual, -2));
        assert_eq!(test("-1.5", Greater, 0), compare(Greater, -2));
        assert_eq!(test("-0.5", GreaterOrEqual, 0), compare(Greater, -1));
        assert_eq!(test("1.25", Equal, 2), compare(Equal, 125));
        assert_eq!(test("1.255", Equal, 2), Test::Never);
        assert_eq!(test("1000", Less, 0), Test::Always);
        assert_eq!(test("1000", Greater, 0), Test::Never);
        assert_eq!(test("-1e300", Greater, 0), Test::Always);
        assert_eq!(test("1e300", Equal, 0), Test::Never);
        assert_eq!(test("-1e-300", Less, 0), compare(LessOrEqual, -1));
        assert_eq!(test("0e999999", Equal, 0), compare(Equal, 0));
        assert_eq!(Exact::parse("1e99999999999"), None);
        assert_eq!(Exact::parse("1.5x"), None);
    }

    #[test]
    fn uuids_and_times_are_read() {
        let bytes = uuid("00112233-4455-6677-8899-aabbccddeeff").unwrap();
        assert_eq!(bytes[..3], [0x00, 0x11, 0x22]);
        assert!(uuid("00112233").is_none());
        assert_eq!(temporal("1970-01-03", &DataType::Date32), Some(2));
        assert_eq!(temporal("not a date", &DataType::Date32), None);
        let ms = DataType::Timestamp(arrow_schema::TimeUnit::Millisecond, None);
        assert_eq!(temporal("1970-01-01T00:00:01.5", &ms), Some(1500));
        let zoned = |zone: &str| {
            DataType::Timestamp(arrow_schema::TimeUnit::Millisecond, Some(zone.into()))
        };
        assert_eq!(temporal("1970-01-01T00:00:01.5", &zoned("UTC")), Some(1500));
        assert_eq!(temporal("1970-01-01T01:00:00", &zoned("+01:00")), Some(0));
        assert_eq!(temporal("1970-01-01T01:00:00+01:00", &zoned("Europe/Berlin")), Some(0));
        assert_eq!(temporal("1970-01-01T01:00:00", &zoned("Europe/Berlin")), Some(0));
        assert_eq!(temporal("2021-03-28T02:30:00", &zoned("Europe/Berlin")), None);
        assert_eq!(temporal("1970-01-01T01:00:00", &zoned("Europe/Nowhere")), None);
    }
}
