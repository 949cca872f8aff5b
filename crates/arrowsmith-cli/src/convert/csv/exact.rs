// SPDX-License-Identifier: Apache-2.0
//! Texts to columns whose type may keep less than a text says: exact, or not at all.
//!
//! arrow-csv drops digits beyond a decimal's scale and a time's unit, and the time of day of a
//! date; a decimal of 256 digits and more becomes another number, a float that is too large
//! infinite. So these columns are read as text, and parsed here, by the parsers that arrow-csv has
//! for the same spellings.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::PrimitiveBuilder;
use arrow_array::cast::AsArray;
use arrow_array::timezone::Tz;
use arrow_array::types::{
    ArrowPrimitiveType, ArrowTimestampType, Date32Type, Date64Type, Decimal32Type, Decimal64Type,
    Decimal128Type, Decimal256Type, Float16Type, Float32Type, Float64Type, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, StringArray};
use arrow_cast::parse::{Parser, string_to_datetime};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use arrowsmith_number::{NumberError, parse_decimal128, parse_decimal256};

use super::zones::says_zone;

/// Whether a column of the type is read as text.
pub(super) fn is_parsed_here(data_type: &DataType) -> bool {
    is_float(data_type)
        || data_type.is_decimal()
        || matches!(
            data_type,
            DataType::Date32
                | DataType::Date64
                | DataType::Time32(_)
                | DataType::Time64(_)
                | DataType::Timestamp(..)
        )
}

/// Whether it is one of the types of which only infinite values need the text.
pub(super) fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float16 | DataType::Float32 | DataType::Float64)
}

/// Whether a column of floats has an infinite value; no other has.
pub(super) fn has_infinite(column: &ArrayRef) -> bool {
    match column.data_type() {
        DataType::Float16 => {
            column.as_primitive::<Float16Type>().values().iter().any(|value| value.is_infinite())
        }
        DataType::Float32 => {
            column.as_primitive::<Float32Type>().values().iter().any(|value| value.is_infinite())
        }
        DataType::Float64 => {
            column.as_primitive::<Float64Type>().values().iter().any(|value| value.is_infinite())
        }
        _ => false,
    }
}

/// Why texts have no column of a type.
pub(super) enum Refused {
    /// The text of this row is not a value of the type.
    Row(usize),
    /// Not for the texts' sake.
    Type(ArrowError),
}

impl From<ArrowError> for Refused {
    fn from(error: ArrowError) -> Self {
        Self::Type(error)
    }
}

/// The column of a type for which [`is_parsed_here`]. If the type `is_guess`, values with a zone
/// and those without one do not go together.
pub(super) fn parsed(
    texts: &StringArray,
    data_type: &DataType,
    is_guess: bool,
) -> Result<ArrayRef, Refused> {
    use DataType::{
        Date32, Date64, Decimal32, Decimal64, Decimal128, Decimal256, Float16, Float32, Float64,
        Time32, Time64, Timestamp,
    };
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    match *data_type {
        Date32 => each::<Date32Type>(texts, data_type, |text| {
            Date32Type::parse(text).filter(|_| is_midnight(text))
        }),
        Date64 => timed::<Date64Type>(texts, data_type, Millisecond),
        Time32(unit @ Second) => timed::<Time32SecondType>(texts, data_type, unit),
        Time32(unit) => timed::<Time32MillisecondType>(texts, data_type, unit),
        Time64(unit @ Microsecond) => timed::<Time64MicrosecondType>(texts, data_type, unit),
        Time64(unit) => timed::<Time64NanosecondType>(texts, data_type, unit),
        Timestamp(Second, _) => instants::<TimestampSecondType>(texts, data_type, is_guess),
        Timestamp(Millisecond, _) => {
            instants::<TimestampMillisecondType>(texts, data_type, is_guess)
        }
        Timestamp(Microsecond, _) => {
            instants::<TimestampMicrosecondType>(texts, data_type, is_guess)
        }
        Timestamp(Nanosecond, _) => instants::<TimestampNanosecondType>(texts, data_type, is_guess),
        Float16 => floats::<Float16Type>(texts, data_type, |value| value.is_infinite()),
        Float32 => floats::<Float32Type>(texts, data_type, f32::is_infinite),
        Float64 => floats::<Float64Type>(texts, data_type, f64::is_infinite),
        Decimal32(precision, scale) => each::<Decimal32Type>(texts, data_type, |text| {
            decimal(text, |number| parse_decimal128(number, precision, scale))?.try_into().ok()
        }),
        Decimal64(precision, scale) => each::<Decimal64Type>(texts, data_type, |text| {
            decimal(text, |number| parse_decimal128(number, precision, scale))?.try_into().ok()
        }),
        Decimal128(precision, scale) => each::<Decimal128Type>(texts, data_type, |text| {
            decimal(text, |number| parse_decimal128(number, precision, scale))
        }),
        Decimal256(precision, scale) => each::<Decimal256Type>(texts, data_type, |text| {
            decimal(text, |number| parse_decimal256(number, precision, scale))
        }),
        _ => Err(ArrowError::NotYetImplemented(format!("{data_type} from text")).into()),
    }
}

fn each<T: ArrowPrimitiveType>(
    texts: &StringArray,
    data_type: &DataType,
    parse: impl Fn(&str) -> Option<T::Native>,
) -> Result<ArrayRef, Refused> {
    // Bounded: by the texts.
    let mut values = PrimitiveBuilder::<T>::with_capacity(texts.len());
    for (row, text) in texts.iter().enumerate() {
        match text {
            None => values.append_null(),
            Some(text) => values.append_value(parse(text).ok_or(Refused::Row(row))?),
        }
    }
    let values: PrimitiveArray<T> = values.finish().with_data_type(data_type.clone());
    Ok(Arc::new(values))
}

fn timed<T: Parser>(
    texts: &StringArray,
    data_type: &DataType,
    unit: TimeUnit,
) -> Result<ArrayRef, Refused> {
    each::<T>(texts, data_type, |text| T::parse(text).filter(|_| keeps_fraction(text, unit)))
}

fn instants<T: ArrowTimestampType>(
    texts: &StringArray,
    data_type: &DataType,
    is_guess: bool,
) -> Result<ArrayRef, Refused> {
    let (zone, has_zone): (Tz, bool) = match data_type {
        DataType::Timestamp(_, Some(zone)) => (zone.parse()?, true),
        _ => (UTC.parse()?, false),
    };
    each::<T>(texts, data_type, |text| {
        if is_guess && says_zone(text) != has_zone {
            return None;
        }
        let time = string_to_datetime(&zone, text).ok()?;
        let value = match T::UNIT {
            TimeUnit::Second => time.timestamp(),
            TimeUnit::Millisecond => time.timestamp_millis(),
            TimeUnit::Microsecond => time.timestamp_micros(),
            TimeUnit::Nanosecond => time.timestamp_nanos_opt()?,
        };
        Some(value).filter(|_| keeps_fraction(text, T::UNIT))
    })
}

fn floats<T: Parser>(
    texts: &StringArray,
    data_type: &DataType,
    is_infinite: impl Fn(T::Native) -> bool,
) -> Result<ArrayRef, Refused> {
    // The word is as good as the value.
    let is_number = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit());
    each::<T>(texts, data_type, |text| {
        T::parse(text).filter(|value| !(is_infinite(*value) && is_number(text)))
    })
}

const UTC: &str = "+00:00";

/// Whether the text of a date says no time of day, or midnight.
fn is_midnight(text: &str) -> bool {
    const DATE: &str = "2024-02-29";
    if text.len() <= DATE.len() {
        return true;
    }
    let Ok(zone) = UTC.parse::<Tz>() else { return false };
    match string_to_datetime(&zone, text) {
        Ok(time) => time.timestamp().rem_euclid(86_400) == 0 && time.timestamp_subsec_nanos() == 0,
        // Dates have spellings that times do not have.
        Err(_) => true,
    }
}

/// Whether a unit keeps all digits of the seconds in a text.
fn keeps_fraction(text: &str, unit: TimeUnit) -> bool {
    let Some((_, fraction)) = text.split_once('.') else { return true };
    let kept = match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    };
    let mut dropped = fraction.bytes().take_while(u8::is_ascii_digit).skip(kept);
    dropped.all(|digit| digit == b'0')
}

fn decimal<T>(
    text: &str,
    parse: impl FnOnce(&[u8]) -> Result<(T, usize), NumberError>,
) -> Option<T> {
    let number = as_json(text)?;
    let (value, len) = parse(number.as_bytes()).ok()?;
    (len == number.len()).then_some(value)
}

/// A number as JSON spells it: without a plus sign or leading zeros, and with digits on both sides
/// of a point.
fn as_json(text: &str) -> Option<Cow<'_, str>> {
    let is_digit = |at: &u8| at.is_ascii_digit();
    let bytes = text.as_bytes();
    let (sign, rest) = match bytes.first()? {
        b'-' => ("-", text.get(1..)?),
        b'+' => ("", text.get(1..)?),
        _ => ("", text),
    };
    let whole_len = rest.bytes().take_while(is_digit).count();
    let (whole, rest) = rest.split_at(whole_len);
    let has_point = rest.starts_with('.');
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.bytes().take_while(is_digit).count()),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let is_whole = whole == "0" || !(whole.is_empty() || whole.starts_with('0'));
    if is_whole && has_point != fraction.is_empty() && !text.starts_with('+') {
        return Some(Cow::Borrowed(text));
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let point = if fraction.is_empty() { "" } else { "." };
    Some(Cow::Owned([sign, whole, point, fraction, rest].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a text becomes, as the type shows it; `None` if it is refused.
    fn shown(text: &str, data_type: &DataType) -> Option<String> {
        let texts = StringArray::from(vec![None, Some(text)]);
        match parsed(&texts, data_type, false) {
            Ok(column) => {
                assert!(column.is_null(0) && column.data_type() == data_type);
                let shown = arrow_cast::display::array_value_to_string(&column, 1);
                Some(shown.unwrap())
            }
            Err(Refused::Row(1)) => None,
            Err(_) => unreachable!(),
        }
    }

    #[test]
    fn what_a_type_does_not_keep_is_refused() {
        let seconds = DataType::Timestamp(TimeUnit::Second, None);
        let millis = DataType::Timestamp(TimeUnit::Millisecond, Some("+02:00".into()));
        let nanos = DataType::Timestamp(TimeUnit::Nanosecond, None);
        let (money, hundreds) = (DataType::Decimal128(5, 2), DataType::Decimal32(3, -2));
        for (data_type, text, expected) in [
            (&DataType::Date32, "2024-02-29", Some("2024-02-29")),
            (&DataType::Date32, "2024-2-9", Some("2024-02-09")),
            (&DataType::Date32, "2024-02-29T00:00:00", Some("2024-02-29")),
            (&DataType::Date32, "2024-02-29 00:00:01", None),
            (&DataType::Date32, "2024-02-29T00:00:00.5", None),
            (&DataType::Date32, "1960-02-29T00:00:00", Some("1960-02-29")),
            (&DataType::Date64, "2024-02-29T01:02:03.4560", Some("2024-02-29T01:02:03.456")),
            (&DataType::Date64, "2024-02-29T01:02:03.4561", None),
            (&DataType::Time32(TimeUnit::Second), "01:02:03.000", Some("01:02:03")),
            (&DataType::Time32(TimeUnit::Second), "01:02:03.5", None),
            (&DataType::Time64(TimeUnit::Nanosecond), "01:02:03.5", Some("01:02:03.500")),
            (&seconds, "2024-02-29T01:02:03", Some("2024-02-29T01:02:03")),
            (&seconds, "2024-02-29 01:02:03.000000", Some("2024-02-29T01:02:03")),
            (&seconds, "2024-02-29T01:02:03.1Z", None),
            (&seconds, "29.2.2024", None),
            (&millis, "2024-02-29T01:02:03.1230Z", Some("2024-02-29T03:02:03.123+02:00")),
            (&millis, "2024-02-29T01:02:03.1234Z", None),
            (&nanos, "2024-02-29T01:02:03.123456789", Some("2024-02-29T01:02:03.123456789")),
            (&nanos, "1500-02-29T01:02:03", None),
            (&DataType::Float64, "1e400", None),
            (&DataType::Float64, "inf", Some("inf")),
            (&DataType::Float32, "-1e39", None),
            (&DataType::Float16, "65504", Some("65504")),
            (&DataType::Float16, "1e5", None),
            (&money, "1.50", Some("1.50")),
            (&money, "-1.5", Some("-1.50")),
            (&money, "+.5", Some("0.50")),
            (&money, "007.", Some("7.00")),
            (&money, "00", Some("0.00")),
            (&money, "1.500", Some("1.50")),
            (&money, "1.505", None),
            (&money, "1000", None),
            (&money, "1e2", Some("100.00")),
            (&money, "01e-3", None),
            (&money, ".", None),
            (&money, "-", None),
            (&money, "-0.5", Some("-0.50")),
            (&money, "-.5", Some("-0.50")),
            (&money, "+1.5", Some("1.50")),
            (&money, "+-1", None),
            (&money, "0.5", Some("0.50")),
            (
                &DataType::Decimal256(76, 1),
                "12345678901234567890123456789012345678901.5",
                Some("12345678901234567890123456789012345678901.5"),
            ),
            (&money, "1,5", None),
            (&money, "1.2.3", None),
            (&money, &"1".repeat(260), None),
            (&hundreds, "1200", Some("1200")),
            (&hundreds, "1201", None),
        ] {
            assert_eq!(shown(text, data_type).as_deref(), expected, "{text} as {data_type}");
        }
    }
}
