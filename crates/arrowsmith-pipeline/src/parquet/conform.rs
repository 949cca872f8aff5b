// SPDX-License-Identifier: Apache-2.0
//! The columns of a file as the type that the batches have.
//!
//! Fields of structs are found by name, at any depth, as columns are: those that a file lacks are
//! null, those that the type lacks are omitted. (The cast of `arrow-cast` takes fields of other
//! names by their place.) Values are cast, and one without a place in its type is an error.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray, make_array, new_null_array,
};
use arrow_cast::can_cast_types;
use arrow_schema::{DataType, FieldRef, Fields, Schema, SchemaRef};
use arrowsmith_core::Result;

use crate::exact::cast;

/// Whether columns of a type can be made those of another.
pub(super) fn conforms(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (from, to) if from == to => true,
        (DataType::Null, _) => true,
        (DataType::Struct(from), DataType::Struct(to)) => to.iter().all(|field| {
            let stored = find(from, field.name());
            stored.map_or(field.is_nullable(), |(_, stored)| {
                conforms(stored.data_type(), field.data_type())
            })
        }),
        (DataType::Map(from, _), DataType::Map(to, _)) => {
            match (from.data_type(), to.data_type()) {
                (DataType::Struct(from), DataType::Struct(to)) if from.len() == to.len() => {
                    from.iter().zip(to).all(|(from, to)| conforms(from.data_type(), to.data_type()))
                }
                _ => false,
            }
        }
        _ => match (item(from), item(to)) {
            (Some(inner), Some(wanted)) => {
                conforms(inner.data_type(), wanted.data_type())
                    && can_cast_types(&with_item(from, wanted), to)
            }
            (None, None) => can_cast_types(from, to) && is_of_a_kind(from, to),
            _ => false,
        },
    }
}

/// Whether values may be cast. A number is not a time: it does not say its unit; and a time without
/// a zone is not an instant. What has names is not cast, and what becomes null would be lost.
fn is_of_a_kind(from: &DataType, to: &DataType) -> bool {
    let plain = |data_type: &DataType| match data_type {
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        other => other.clone(),
    };
    let (from, to) = (plain(from), plain(to));
    let is_unclear = |one: &DataType, other: &DataType| one.is_numeric() && other.is_temporal();
    let is_told = |one: &DataType, other: &DataType| {
        !(is_unclear(one, other) || is_local(one) && is_instant(other))
    };
    !matches!(to, DataType::Null | DataType::Struct(_) | DataType::Map(..))
        && is_told(&from, &to)
        && is_told(&to, &from)
}

/// Whether it is a time of some place.
fn is_local(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, None) | DataType::Date32 | DataType::Date64)
}

fn is_instant(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, Some(_)))
}

/// A column as another type, to which its own [`conforms`].
///
/// # Errors
/// A value that has no place in the type, or is null where nothing may be.
pub(super) fn conform(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    match (array.data_type(), to) {
        (DataType::Null, _) => Ok(new_null_array(to, array.len())),
        (DataType::Struct(_), DataType::Struct(to)) => structs(array.as_struct(), to),
        (DataType::Map(_, _), DataType::Map(entries, _)) => {
            let DataType::Struct(fields) = entries.data_type() else { return cast(array, to) };
            let pairs = array.as_map().entries();
            let parts = pairs.columns().iter().zip(fields);
            let parts = parts.map(|(part, field)| conform(part, field.data_type()));
            let parts = parts.collect::<Result<_>>()?;
            let pairs = StructArray::try_new(fields.clone(), parts, pairs.nulls().cloned())?;
            let data = array.to_data().into_builder().data_type(to.clone());
            Ok(make_array(data.child_data(vec![pairs.to_data()]).build()?))
        }
        (from, _) => match item(to) {
            Some(wanted) if item(from).is_some() => {
                let data = array.to_data();
                let items = make_array(data.child_data()[0].clone());
                let items = conform(&items, wanted.data_type())?;
                let data_type = with_item(from, wanted);
                let data = data.into_builder().data_type(data_type);
                let array = make_array(data.child_data(vec![items.to_data()]).build()?);
                if array.data_type() == to { Ok(array) } else { cast(&array, to) }
            }
            _ => cast(array, to),
        },
    }
}

/// The first column of a file that cannot be made one of a schema.
#[must_use]
pub fn misfit<'a>(own: &'a Schema, schema: &Schema) -> Option<&'a FieldRef> {
    let fields = schema.fields().iter();
    let all: HashMap<&str, &FieldRef> =
        fields.map(|field| (field.name().as_str(), field)).collect();
    own.fields().iter().find(|own| {
        let field = all.get(own.name().as_str());
        field.is_some_and(|field| !conforms(own.data_type(), field.data_type()))
    })
}

/// The columns of a file, of which none is a [`misfit`], as those of a schema: what the file lacks
/// is null.
///
/// # Errors
/// [`Error::File`](arrowsmith_core::Error::File) for a value that has no place in the type of its
/// column; [`Error::Arrow`](arrowsmith_core::Error::Arrow) for nulls in one that may have none.
pub fn conform_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let own = batch.schema();
    let fields = own.fields().iter().zip(batch.columns());
    let found: HashMap<&str, &ArrayRef> =
        fields.map(|(field, column)| (field.name().as_str(), column)).collect();
    let column = |field: &FieldRef| match found.get(field.name().as_str()) {
        Some(column) => conform(column, field.data_type())
            .map_err(|error| error.at(|place| place.column = Some(field.name().clone()))),
        None => Ok(new_null_array(field.data_type(), batch.num_rows())),
    };
    let columns = schema.fields().iter().map(column).collect::<Result<_>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

fn structs(array: &StructArray, to: &Fields) -> Result<ArrayRef> {
    let fields = to.iter().map(|field| match find(array.fields(), field.name()) {
        Some((place, _)) => conform(array.column(place), field.data_type()),
        None => Ok(new_null_array(field.data_type(), array.len())),
    });
    let fields = fields.collect::<Result<_>>()?;
    let nulls = array.nulls().cloned();
    let array = StructArray::try_new_with_length(to.clone(), fields, nulls, array.len())?;
    Ok(Arc::new(array))
}

pub(super) fn find<'a>(fields: &'a Fields, name: &str) -> Option<(usize, &'a FieldRef)> {
    fields.iter().enumerate().find(|(_, field)| field.name() == name)
}

/// The items' field of a list.
pub(super) fn item(list: &DataType) -> Option<&FieldRef> {
    match list {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => Some(item),
        _ => None,
    }
}

/// The same kind of list, of other items.
pub(super) fn with_item(list: &DataType, item: &FieldRef) -> DataType {
    let item = Arc::clone(item);
    match list {
        DataType::LargeList(_) => DataType::LargeList(item),
        DataType::ListView(_) => DataType::ListView(item),
        DataType::LargeListView(_) => DataType::LargeListView(item),
        DataType::FixedSizeList(_, size) => DataType::FixedSizeList(item, *size),
        _ => DataType::List(item),
    }
}

/// Whether a type is wider than that of a file: one to which the type of a table can have been
/// changed, or that values of several files have in common.
pub(super) fn is_wider(stored: &DataType, wider: &DataType) -> bool {
    use DataType as T;
    match (stored, wider) {
        (stored, wider) if stored == wider => false,
        (T::Null, _)
        | (T::Int8, T::Int16 | T::Int32 | T::Int64)
        | (T::Int16, T::Int32 | T::Int64)
        | (T::Int32, T::Int64)
        | (T::UInt8, T::UInt16 | T::UInt32 | T::UInt64 | T::Int16 | T::Int32 | T::Int64)
        | (T::UInt16, T::UInt32 | T::UInt64 | T::Int32 | T::Int64)
        | (T::UInt32, T::UInt64 | T::Int64)
        | (T::Float16, T::Float32 | T::Float64)
        | (T::Float32, T::Float64)
        | (T::Utf8, T::LargeUtf8)
        | (T::Binary, T::LargeBinary)
        | (T::Date32, T::Timestamp(_, None)) => true,
        // Values that a float does not hold are an error.
        (stored, T::Float64) => stored.is_integer(),
        (stored, wider) if is_text(wider) => has_a_text(stored),
        (T::Timestamp(unit, zone), T::Timestamp(finer, other)) => zone == other && unit < finer,
        (stored, wider) => {
            let (Some((whole, scale)), Some((wholes, scales))) = (digits(stored), digits(wider))
            else {
                return false;
            };
            matches!(wider, T::Decimal128(..) | T::Decimal256(..))
                && whole <= wholes
                && scale <= scales
        }
    }
}

/// Whether it is text, as it is or as a dictionary.
fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// Whether each of its values has one form as text.
fn has_a_text(data_type: &DataType) -> bool {
    use DataType as T;
    data_type.is_numeric()
        || matches!(data_type, T::Boolean | T::Date32 | T::Date64)
        || matches!(data_type, T::Time32(_) | T::Time64(_) | T::Timestamp(_, _))
}

/// Maximum number of digits before and after the point, of decimals and integers.
pub(super) fn digits(data_type: &DataType) -> Option<(i16, i16)> {
    use DataType as T;
    match data_type {
        T::Int8 | T::Int16 | T::Int32 | T::UInt8 | T::UInt16 | T::UInt32 => Some((10, 0)),
        T::Int64 | T::UInt64 => Some((20, 0)),
        T::Decimal32(precision, scale)
        | T::Decimal64(precision, scale)
        | T::Decimal128(precision, scale)
        | T::Decimal256(precision, scale) => {
            Some((i16::from(*precision) - i16::from(*scale), i16::from(*scale)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int32Array, Int64Array, ListArray, StringArray};
    use arrow_buffer::{NullBuffer, OffsetBuffer};
    use arrow_schema::Field;

    use super::*;

    fn fields(all: &[(&str, DataType)]) -> Fields {
        all.iter().map(|(name, kind)| Field::new(*name, kind.clone(), true)).collect()
    }

    fn rows(nulls: Option<Vec<bool>>) -> ArrayRef {
        let a: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let b: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None]));
        let fields = fields(&[("a", DataType::Int32), ("b", DataType::Utf8)]);
        Arc::new(StructArray::new(fields, vec![a, b], nulls.map(NullBuffer::from)))
    }

    #[test]
    fn fields_are_found_by_name() {
        let rows = rows(Some(vec![true, false]));
        let to = fields(&[("c", DataType::Int8), ("a", DataType::Int64)]);
        let to = DataType::Struct(to);
        assert!(conforms(rows.data_type(), &to));
        let found = conform(&rows, &to).unwrap();
        let found = found.as_struct();
        assert_eq!((found.is_null(0), found.is_null(1)), (false, true));
        assert_eq!(found.column(0).null_count(), 2);
        let expected: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        assert_eq!(found.column(1), &expected);
        // As many fields, and types that would fit by place.
        let other = DataType::Struct(fields(&[("x", DataType::Int32), ("y", DataType::Utf8)]));
        let found = conform(&rows, &other).unwrap();
        assert!(found.as_struct().columns().iter().all(|column| column.null_count() == 2));
        // A field that may not be null is not made up.
        let required = DataType::Struct(vec![Field::new("c", DataType::Int8, false)].into());
        assert!(!conforms(rows.data_type(), &required));
        assert!(!conforms(&DataType::Utf8, &required) && !conforms(&required, &DataType::Utf8));
        // No field at all.
        let none = DataType::Struct(Fields::empty());
        assert_eq!(conform(&rows, &none).unwrap().len(), 2);
    }

    #[test]
    fn fields_in_lists_and_maps_are_found_by_name() {
        let rows = rows(None);
        let item = Arc::new(Field::new("element", rows.data_type().clone(), true));
        let ends = OffsetBuffer::from_lengths([0, 2, 0]);
        let nulls = NullBuffer::from(vec![true, true, false]);
        let list: ArrayRef = Arc::new(ListArray::new(item, ends, rows, Some(nulls)));
        let wanted = DataType::Struct(fields(&[("b", DataType::LargeUtf8)]));
        for to in [
            DataType::new_list(wanted.clone(), true),
            DataType::new_large_list(wanted.clone(), true),
        ] {
            assert!(conforms(list.data_type(), &to));
            let found = conform(&list.slice(1, 2), &to).unwrap();
            assert_eq!((found.data_type(), found.len(), found.null_count()), (&to, 2, 1));
        }
        let three = DataType::new_fixed_size_list(wanted.clone(), 3, true);
        assert!(conform(&list, &three).is_err());

        let map = |value: &DataType| {
            let pair = vec![
                Field::new("key", DataType::Utf8, false),
                Field::new("value", value.clone(), true),
            ];
            let pair = Field::new("key_value", DataType::Struct(pair.into()), false);
            DataType::Map(Arc::new(pair), false)
        };
        let one = new_null_array(&map(&DataType::new_list(wanted.clone(), true)), 2);
        let to = map(&DataType::new_list(DataType::Struct(fields(&[("z", DataType::Int8)])), true));
        assert!(conforms(one.data_type(), &to));
        assert_eq!(conform(&one, &to).unwrap().data_type(), &to);
        assert!(!conforms(&map(&DataType::Utf8), &map(&wanted)));
    }

    #[test]
    fn what_would_mean_something_else_is_not_cast() {
        let list = |item: DataType| DataType::new_list(item, true);
        let time = DataType::Timestamp(arrow_schema::TimeUnit::Second, None);
        let zoned =
            |zone: &str| DataType::Timestamp(arrow_schema::TimeUnit::Second, Some(zone.into()));
        let words = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        for (from, to, is_it) in [
            (DataType::Int64, time.clone(), false),
            (time.clone(), DataType::Int64, false),
            (list(time.clone()), list(DataType::Int64), false),
            (DataType::Decimal128(5, 2), DataType::Date32, false),
            (DataType::Decimal128(5, 2), DataType::Null, false),
            (DataType::Int64, list(DataType::Int64), false),
            (list(DataType::Int64), DataType::Utf8, false),
            (zoned("UTC"), time.clone(), false),
            (time.clone(), zoned("Europe/Paris"), false),
            (zoned("UTC"), DataType::Date32, false),
            (zoned("UTC"), zoned("Europe/Paris"), true),
            (DataType::Null, list(DataType::Int64), true),
            (list(DataType::Null), list(time.clone()), true),
            (words.clone(), time.clone(), true),
            (time, words, true),
        ] {
            assert_eq!(conforms(&from, &to), is_it, "{from} {to}");
        }
        let nothing = new_null_array(&DataType::Null, 3);
        let found = conform(&nothing, &list(DataType::Int64)).unwrap();
        assert_eq!((found.len(), found.null_count()), (3, 3));
    }

    #[test]
    fn a_table_may_be_wider_than_its_file() {
        let decimal = DataType::Decimal128;
        for (from, to, is_it) in [
            (DataType::Int32, decimal(12, 2), true),
            (DataType::Int32, decimal(11, 2), false),
            (DataType::Int64, decimal(20, 0), true),
            (decimal(5, 2), decimal(7, 4), true),
            (decimal(5, 2), decimal(6, 4), false),
            (decimal(5, 2), decimal(5, 2), false),
            (DataType::Utf8, DataType::LargeUtf8, true),
            (DataType::LargeUtf8, DataType::Utf8, false),
            (DataType::Null, DataType::Boolean, true),
            (DataType::UInt32, DataType::Int32, false),
            (DataType::UInt64, decimal(20, 0), true),
            (DataType::Int8, DataType::Utf8, true),
            (DataType::Date32, DataType::LargeUtf8, true),
            (DataType::Utf8, DataType::Int8, false),
            (DataType::Binary, DataType::Utf8, false),
        ] {
            assert_eq!(is_wider(&from, &to), is_it, "{from} {to}");
        }
    }
}
