// SPDX-License-Identifier: Apache-2.0
//! Casts that keep every value, or fail.

use arrow_array::ArrayRef;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, TimeUnit};
use arrowsmith_core::{Error, Result};

/// A column as another type.
///
/// # Errors
/// [`Error::Arrow`] where a value has no place in the type, and [`Error::Schema`] where a date has
/// a time of day that the type does not.
pub(crate) fn exact(field: &Field, array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let cast = cast_with_options(array, to, &options)?;
    // arrow-cast cuts the time of day off, and does not check times.
    if has_times(array.data_type()) {
        let back = cast_with_options(&cast, array.data_type(), &options)?;
        if back.to_data() != array.to_data() {
            let message = "a date64 that is not a whole day, or seconds beyond the type: make the \
                           column timestamp(ms)";
            return Err(Error::schema(field.name(), message));
        }
    }
    Ok(cast)
}

/// Whether there are dates in milliseconds, or times in seconds, at any depth.
pub(crate) fn has_times(data_type: &DataType) -> bool {
    use DataType as T;
    match data_type {
        T::Date64 | T::Time32(TimeUnit::Second) | T::Timestamp(TimeUnit::Second, _) => true,
        T::Struct(fields) => fields.iter().any(|field| has_times(field.data_type())),
        T::List(item)
        | T::LargeList(item)
        | T::ListView(item)
        | T::LargeListView(item)
        | T::FixedSizeList(item, _)
        | T::Map(item, _) => has_times(item.data_type()),
        T::Dictionary(_, values) => has_times(values),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Date64Array, ListArray, UInt8Array};
    use arrow_buffer::OffsetBuffer;

    use super::*;

    #[test]
    fn no_time_of_day_is_cut_off() {
        let day = 86_400_000;
        let cast = |values: Vec<i64>| {
            let item = Arc::new(Field::new("item", DataType::Date64, true));
            let dates = Arc::new(Date64Array::from(values));
            let ends = OffsetBuffer::from_lengths([dates.len()]);
            let list: ArrayRef = Arc::new(ListArray::new(item, ends, dates, None));
            let field = Field::new("dates", list.data_type().clone(), true);
            exact(&field, &list, &DataType::new_list(DataType::Date32, true))
        };
        assert_eq!(cast(vec![0, -day, 9 * day]).unwrap().len(), 1);
        let error = cast(vec![0, day + 1]).unwrap_err().to_string();
        assert!(error.contains("dates") && error.contains("timestamp(ms)"), "{error}");
    }

    #[test]
    fn values_without_a_place_are_errors() {
        let array: ArrayRef = Arc::new(UInt8Array::from(vec![200]));
        let field = Field::new("a", DataType::UInt8, true);
        assert!(exact(&field, &array, &DataType::Int8).is_err());
        assert_eq!(exact(&field, &array, &DataType::Int16).unwrap().len(), 1);
    }
}
