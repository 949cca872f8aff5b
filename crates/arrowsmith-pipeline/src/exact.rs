// SPDX-License-Identifier: Apache-2.0
//! Casts that keep every value, or fail: those of `arrow-cast` cut fractions, digits and times of
//! day off.
//!
//! Floats may be rounded to other floats, and decimals to floats, as everywhere; not to infinity.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use arrowsmith_core::{Error, FileErrorKind, Result};

/// A column as another type.
///
/// # Errors
/// [`Error::File`] with a value that has no place in the type, without a place.
pub(crate) fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let cast = converted(array, to, false).map_err(wrong)?;
    let from = array.data_type();
    let changed = if is_text(from) {
        match finest(to) {
            // What is beyond the range of the finest type is not looked at.
            Some(finest) => {
                let exact = converted(array, &finest, true).map_err(wrong)?;
                let found = converted(&cast, &finest, true).map_err(wrong)?;
                first_change(&exact, &found).filter(|row| exact.is_valid(*row))
            }
            None => None,
        }
    } else if from.is_floating() && to.is_floating() {
        first_difference(array, &cast, |one, other| one.is_infinite() || !other.is_infinite())
    } else if may_change(from, to) {
        let through = match (from, to) {
            // Another zone changes no instant, but is not always cast back.
            (DataType::Timestamp(_, zone), DataType::Timestamp(unit, _)) => {
                DataType::Timestamp(*unit, zone.clone())
            }
            _ => to.clone(),
        };
        let there = converted(array, &through, true).map_err(wrong)?;
        first_change(array, &converted(&there, from, true).map_err(wrong)?)
    } else {
        None
    };
    match changed {
        Some(row) => {
            let format = FormatOptions::default();
            let shown = ArrayFormatter::try_new(array, &format).map_err(wrong)?;
            let message = format!(
                "{} is not of type {to}, the type of the column in the first file",
                shown.value(row)
            );
            Err(Error::file(FileErrorKind::Overflow, message))
        }
        None => Ok(cast),
    }
}

fn wrong(error: ArrowError) -> Error {
    let message = match error {
        ArrowError::CastError(message) | ArrowError::ParseError(message) => message,
        other => other.to_string(),
    };
    Error::file(FileErrorKind::Overflow, message)
}

fn converted(
    array: &ArrayRef,
    to: &DataType,
    safe: bool,
) -> std::result::Result<ArrayRef, ArrowError> {
    let options = CastOptions { safe, ..CastOptions::default() };
    cast_with_options(array, to, &options)
}

/// Whether a cast may give other values than there were, without an error.
fn may_change(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    match (from, to) {
        (T::Dictionary(_, from), to) => may_change(from, to),
        (from, T::Dictionary(_, to)) => may_change(from, to),
        (from, to) if from.is_temporal() => to.is_temporal(),
        (from, to) if from.is_floating() => !is_text(to),
        (from, to) if from.is_integer() => {
            to.is_floating() || matches!(to, T::Boolean) || scale(to).is_some()
        }
        (from, to) if scale(from).is_some() => {
            to.is_integer() || scale(to).is_some_and(|to| scale(from) > Some(to))
        }
        _ => false,
    }
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_text(values),
        other => other.is_string(),
    }
}

/// The scale of a decimal.
fn scale(data_type: &DataType) -> Option<i8> {
    use DataType as T;
    match data_type {
        T::Decimal32(_, scale)
        | T::Decimal64(_, scale)
        | T::Decimal128(_, scale)
        | T::Decimal256(_, scale) => Some(*scale),
        _ => None,
    }
}

/// The type that has most digits of what a text may be, for types that cut some off.
fn finest(to: &DataType) -> Option<DataType> {
    match to {
        DataType::Timestamp(_, zone) => {
            Some(DataType::Timestamp(TimeUnit::Nanosecond, zone.clone()))
        }
        DataType::Time32(_) | DataType::Time64(_) => Some(DataType::Time64(TimeUnit::Nanosecond)),
        other => {
            let scale = scale(other)?.saturating_add(18).clamp(0, 75);
            Some(DataType::Decimal256(76, scale))
        }
    }
}

/// The first row where arrays of one type differ.
fn first_change(one: &ArrayRef, other: &ArrayRef) -> Option<usize> {
    if one.data_type().is_floating() {
        let is_same = |one: f64, other: f64| one == other || (one.is_nan() && other.is_nan());
        return first_difference(one, other, is_same);
    }
    if one.as_ref() == other.as_ref() {
        return None;
    }
    (0..one.len()).find(|&row| one.slice(row, 1).as_ref() != other.slice(row, 1).as_ref())
}

/// The same of floats.
fn first_difference(
    one: &ArrayRef,
    other: &ArrayRef,
    is_same: impl Fn(f64, f64) -> bool,
) -> Option<usize> {
    let one = converted(one, &DataType::Float64, true).ok()?;
    let other = converted(other, &DataType::Float64, true).ok()?;
    let pairs = one.as_primitive::<Float64Type>().iter().zip(other.as_primitive::<Float64Type>());
    pairs.enumerate().find_map(|(row, pair)| match pair {
        (Some(one), Some(other)) => (!is_same(one, other)).then_some(row),
        (one, other) => (one != other).then_some(row),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int64Array,
        StringArray, Time64MicrosecondArray, TimestampMicrosecondArray,
    };

    use super::*;

    #[test]
    fn no_value_is_changed() {
        use DataType as T;
        let day = 86_400_000_000;
        let ints = |values: &[i64]| Arc::new(Int64Array::from(values.to_vec())) as ArrayRef;
        let floats = |values: &[f64]| Arc::new(Float64Array::from(values.to_vec())) as ArrayRef;
        let texts = |values: &[&str]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
        let times = |values: &[i64]| -> ArrayRef {
            Arc::new(TimestampMicrosecondArray::from(values.to_vec()))
        };
        let decimals = |values: &[i128]| -> ArrayRef {
            let values = Decimal128Array::from(values.to_vec());
            Arc::new(values.with_precision_and_scale(6, 2).unwrap())
        };
        let clocks: ArrayRef = Arc::new(Time64MicrosecondArray::from(vec![2000, 1500]));
        let yes: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
        let paris = Some("+01:00".into());
        let milli = T::Timestamp(TimeUnit::Millisecond, None);
        for (array, to, wrong) in [
            (floats(&[-0.0, 3.0]), T::Int64, None),
            (floats(&[3.0, 1.5]), T::Int64, Some("1.5")),
            (floats(&[3.0, f64::NAN]), T::Int64, Some("NaN")),
            (floats(&[0.1, 2.5]), T::Decimal128(4, 1), None),
            (floats(&[0.1, 2.55]), T::Decimal128(4, 1), Some("2.55")),
            (floats(&[0.1, f64::INFINITY, f64::NAN]), T::Float32, None),
            (floats(&[0.1, 1e300]), T::Float32, Some("1e300")),
            (ints(&[0, 1]), T::Boolean, None),
            (ints(&[0, 5]), T::Boolean, Some("5")),
            (ints(&[1 << 53, -1]), T::Float64, None),
            (ints(&[1, (1 << 53) + 1]), T::Float64, Some("9007199254740993")),
            (ints(&[i64::MAX]), T::Float64, Some("9223372036854775807")),
            (ints(&[1, 1 << 40]), T::Int32, Some("1099511627776")),
            (decimals(&[120, -300]), T::Decimal128(5, 1), None),
            (decimals(&[120, 125]), T::Decimal128(5, 1), Some("1.25")),
            (decimals(&[100, 150]), T::Int32, Some("1.50")),
            (decimals(&[125]), T::Float64, None),
            (times(&[5000, -1000]), milli.clone(), None),
            (times(&[5000, 5001]), milli.clone(), Some("1970-01-01T00:00:00.005001")),
            (times(&[5000, 0]), T::Timestamp(TimeUnit::Millisecond, paris.clone()), None),
            (times(&[5]), T::Timestamp(TimeUnit::Second, paris), Some("000005")),
            (times(&[day, -day]), T::Date32, None),
            (times(&[day, day + 1]), T::Date32, Some("1970-01-02T00:00:00.000001")),
            (clocks, T::Time32(TimeUnit::Millisecond), Some("00:00:00.001500")),
            (texts(&["7", "-8"]), T::Int64, None),
            (texts(&["7", "x"]), T::Int64, Some("x")),
            (texts(&["1.20", "0.5"]), T::Decimal128(5, 1), None),
            (texts(&["1.20", "1.25"]), T::Decimal128(5, 1), Some("1.25")),
            (texts(&["2024-01-01T00:00:00.5", "3000-01-01"]), milli.clone(), None),
            (texts(&["2024-01-01T00:00:00.0005"]), milli, Some("00.0005")),
            (yes, T::Int8, None),
        ] {
            let found = cast(&array, &to);
            match wrong {
                None => assert_eq!(found.unwrap().len(), array.len(), "{array:?} {to}"),
                Some(value) => {
                    let error = found.unwrap_err().to_string();
                    assert!(error.contains(value), "{array:?} {to}: {error}");
                }
            }
        }
        let narrow: ArrayRef = Arc::new(Float32Array::from(vec![Some(0.1), None]));
        let wide = cast(&narrow, &T::Float64).unwrap();
        assert_eq!(wide.null_count(), 1);
        let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(1), None]));
        cast(&days, &T::Timestamp(TimeUnit::Nanosecond, None)).unwrap();
    }
}
