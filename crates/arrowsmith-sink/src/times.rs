// SPDX-License-Identifier: Apache-2.0
//! That text can state the dates, times and durations of an array.
//!
//! arrow-json and arrow-cast write a message in place of a value that is beyond the calendar they
//! know (years up to 262142), or beyond a day. What a sink of text cannot state is an error.

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::{as_datetime, as_duration, as_time};
use arrow_array::types::{
    Date32Type, Date64Type, DurationMillisecondType, DurationSecondType, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampSecondType,
};
use arrow_array::{Array, PrimitiveArray, make_array};
use arrow_cast::display::{ArrayFormatter, DurationFormat, FormatOptions};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use arrowsmith_core::{Error, Result};

/// Checks the values of a column, at any depth.
///
/// # Errors
/// [`Error::Arrow`], with the name of the column and the value.
pub(crate) fn check(name: &str, array: &dyn Array) -> Result<()> {
    let Some((value, data_type)) = unstated(array) else { return Ok(()) };
    if has_hidden(array.data_type()) && is_stated(array)? {
        return Ok(());
    }
    Err(Error::Arrow(ArrowError::CastError(format!(
        "column {name}: {value} is beyond what text can state as {data_type}"
    ))))
}

/// Whether the arrays of this type's arrays may have values that belong to no row: below a null,
/// or outside of what was sliced.
fn has_hidden(data_type: &DataType) -> bool {
    data_type.is_nested() || matches!(data_type, DataType::Dictionary(..) | DataType::Union(..))
}

/// Whether every row has a text. It takes long.
fn is_stated(array: &dyn Array) -> Result<bool> {
    let options = FormatOptions::default()
        .with_display_error(false)
        .with_duration_format(DurationFormat::ISO8601);
    let formatter = ArrayFormatter::try_new(array, &options)?;
    let stated = |row| {
        let text = formatter.value(row).try_to_string();
        text.is_ok_and(|text| !text.contains(INVALID))
    };
    Ok((0..array.len()).all(stated))
}

/// What arrow-cast has for a duration without a text.
const INVALID: &str = "<invalid>";

/// A value that cannot be stated, and its type.
fn unstated(array: &dyn Array) -> Option<(i64, DataType)> {
    // What can be stated is one range, so that the ends of the values decide.
    macro_rules! ends {
        ($type:ty, $state:ident) => {
            ends::<$type>(array.as_primitive())
                .into_iter()
                .flatten()
                .find(|value| $state::<$type>(*value).is_none())
                .map(|value| (value, array.data_type().clone()))
        };
    }
    use DataType as T;
    use TimeUnit as U;
    match array.data_type() {
        T::Date32 => ends!(Date32Type, as_datetime),
        T::Date64 => ends!(Date64Type, as_datetime),
        T::Timestamp(U::Second, _) => ends!(TimestampSecondType, as_datetime),
        T::Timestamp(U::Millisecond, _) => ends!(TimestampMillisecondType, as_datetime),
        T::Timestamp(U::Microsecond, _) => ends!(TimestampMicrosecondType, as_datetime),
        T::Time32(U::Second) => ends!(Time32SecondType, as_time),
        T::Time32(_) => ends!(Time32MillisecondType, as_time),
        T::Time64(U::Microsecond) => ends!(Time64MicrosecondType, as_time),
        T::Time64(_) => ends!(Time64NanosecondType, as_time),
        T::Duration(U::Second) => ends!(DurationSecondType, as_duration),
        T::Duration(U::Millisecond) => ends!(DurationMillisecondType, as_duration),
        other if has_hidden(other) => within(array),
        _ => None,
    }
}

/// The same for the arrays that an array consists of.
fn within(array: &dyn Array) -> Option<(i64, DataType)> {
    let data = array.to_data();
    data.child_data().iter().find_map(|child| unstated(&make_array(child.clone())))
}

/// The least and the largest value.
fn ends<T>(array: &PrimitiveArray<T>) -> Option<[i64; 2]>
where
    T: arrow_array::ArrowPrimitiveType<Native: Into<i64>>,
{
    let mut values = array.iter().flatten().map(Into::into);
    let first = values.next()?;
    Some(values.fold([first; 2], |[least, largest], value| [least.min(value), largest.max(value)]))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, Date32Array, DurationSecondArray, ListArray, StructArray, Time32SecondArray,
        TimestampNanosecondArray, TimestampSecondArray,
    };
    use arrow_buffer::{NullBuffer, OffsetBuffer};
    use arrow_schema::Field;

    use super::*;

    #[test]
    fn what_no_calendar_has_is_an_error_at_any_depth() {
        let last = 8_210_266_876_799;
        let times = |value| TimestampSecondArray::from(vec![Some(0), None, Some(value)]);
        let lists = |value| {
            let item =
                Arc::new(Field::new("item", DataType::Timestamp(TimeUnit::Second, None), true));
            ListArray::new(item, OffsetBuffer::from_lengths([1, 2]), Arc::new(times(value)), None)
        };
        // Below a null.
        let hidden = |value| {
            let field = Field::new("t", DataType::Timestamp(TimeUnit::Second, None), true);
            let nulls = NullBuffer::from(vec![true, true, false]);
            StructArray::new(vec![field].into(), vec![Arc::new(times(value))], Some(nulls))
        };
        let stated: [ArrayRef; 8] = [
            Arc::new(times(last)),
            Arc::new(lists(last)),
            // The first of them does not have it.
            Arc::new(lists(last + 1).slice(0, 1)),
            Arc::new(hidden(last + 1)),
            Arc::new(Date32Array::from(vec![0, -1_000_000, 90_000_000])),
            Arc::new(Time32SecondArray::from(vec![86_399, 0])),
            Arc::new(DurationSecondArray::from(vec![i64::MAX / 1000])),
            Arc::new(TimestampNanosecondArray::from(vec![i64::MIN, i64::MAX])),
        ];
        for array in stated {
            check("a", &array).unwrap();
        }
        let beyond: [ArrayRef; 5] = [
            Arc::new(times(last + 1)),
            Arc::new(lists(last + 1)),
            Arc::new(Date32Array::from(vec![0, i32::MAX])),
            Arc::new(Time32SecondArray::from(vec![86_400, 0])),
            Arc::new(DurationSecondArray::from(vec![i64::MAX])),
        ];
        for array in beyond {
            let error = check("a", &array).unwrap_err().to_string();
            assert!(error.contains("column a: ") && error.contains("beyond"), "{error}");
        }
    }
}
