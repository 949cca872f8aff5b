// SPDX-License-Identifier: Apache-2.0
//! Batches of an earlier schema → batches of a wider one, where the values that were decoded tell
//! exactly what decoding with the wider schema gives.
//!
//! What they do not tell (the text of a string, once its column is `json`) has to be read again.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray,
    new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_cast::cast;
use arrow_schema::{DataType, Field, FieldRef, Fields, SchemaRef, TimeUnit};
use arrowsmith_core::Result;
use arrowsmith_plan::plan::{EXTENSION_NAME_KEY, JSON_EXTENSION_NAME};

use super::watch::empty_objects;

/// The batch as if it had been decoded with `schema`, which is wider than its own; `None` if its
/// values do not tell.
///
/// # Errors
/// Only if Arrow rejects the arrays.
pub fn settle(batch: &RecordBatch, schema: &SchemaRef) -> Result<Option<RecordBatch>> {
    let from = batch.schema_ref();
    if from == schema {
        return Ok(Some(batch.clone()));
    }
    if from.metadata() != schema.metadata() {
        return Ok(None);
    }
    let rows = batch.num_rows();
    let Some(columns) = fields(from.fields(), batch.columns(), schema.fields(), rows)? else {
        return Ok(None);
    };
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(Some(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?))
}

/// As [`settle`], with all of the batch's columns; `None` if one is gone: a column that was
/// flattened out of an object has its values, once the object turns out to be of another type.
///
/// # Errors
/// As [`settle`].
pub(crate) fn settle_whole(batch: &RecordBatch, schema: &SchemaRef) -> Result<Option<RecordBatch>> {
    let mut known = batch.schema_ref().fields().iter();
    match known.all(|field| schema.column_with_name(field.name()).is_some()) {
        true => settle(batch, schema),
        false => Ok(None),
    }
}

/// The columns `to`, by name; those that are new are null, others are omitted.
fn fields(
    from: &Fields,
    arrays: &[ArrayRef],
    to: &Fields,
    rows: usize,
) -> Result<Option<Vec<ArrayRef>>> {
    let mut settled = Vec::with_capacity(to.len());
    for (expected, field) in to.iter().enumerate() {
        // Mostly at the same place.
        let same = |at: &usize| from.get(*at).is_some_and(|known| known.name() == field.name());
        let place = Some(expected).filter(same).or_else(|| (0..from.len()).find(same));
        let known = place.and_then(|at| Some((from.get(at)?, arrays.get(at)?)));
        let array = match known {
            Some((known, array)) => column(array, known, field)?,
            None => nulls(field, rows),
        };
        let Some(array) = array else { return Ok(None) };
        settled.push(array);
    }
    Ok(Some(settled))
}

fn nulls(field: &Field, rows: usize) -> Option<ArrayRef> {
    (field.is_nullable() || rows == 0).then(|| new_null_array(field.data_type(), rows))
}

fn is_json(field: &Field) -> bool {
    field.metadata().get(EXTENSION_NAME_KEY).is_some_and(|name| name == JSON_EXTENSION_NAME)
}

fn column(array: &ArrayRef, from: &Field, to: &Field) -> Result<Option<ArrayRef>> {
    use DataType as T;
    let nulls_fit = to.is_nullable() || array.null_count() == 0;
    if from.data_type() == to.data_type() && is_json(from) == is_json(to) {
        return Ok(nulls_fit.then(|| Arc::clone(array)));
    }
    if array.null_count() == array.len() {
        return Ok(nulls(to, array.len()));
    }
    if !nulls_fit {
        return Ok(None);
    }
    let settled = match (from.data_type(), to.data_type()) {
        (T::Utf8, T::Struct(fields)) if is_json(from) => empty_structs(array, fields),
        (T::Utf8, T::Map(entries, _)) if is_json(from) => empty_maps(array, entries)?,
        (T::Int64, T::UInt64) => {
            let fits = array.as_primitive::<Int64Type>().iter().flatten().all(|value| value >= 0);
            if fits { Some(cast(array, to.data_type())?) } else { None }
        }
        (T::Int64, T::Float64) => {
            let mut values = array.as_primitive::<Int64Type>().iter().flatten();
            let fits = values.all(|value| is_exact(value.unsigned_abs()));
            if fits { Some(cast(array, to.data_type())?) } else { None }
        }
        (T::UInt64, T::Float64) => {
            let fits = array.as_primitive::<UInt64Type>().iter().flatten().all(is_exact);
            if fits { Some(cast(array, to.data_type())?) } else { None }
        }
        // There is one way to write these, `-0` aside.
        (T::Boolean | T::Int64 | T::UInt64, T::Utf8) if is_json(to) => Some(cast(array, &T::Utf8)?),
        // Only strings were dates: a number would have made them `json`.
        (T::Date32, T::Utf8) if !is_json(to) => Some(cast(array, &T::Utf8)?),
        (T::Date32, T::Timestamp(TimeUnit::Microsecond, None)) => {
            Some(cast(array, to.data_type())?)
        }
        (T::Struct(known), T::Struct(wanted)) => {
            let of = array.as_struct();
            let children = fields(known, of.columns(), wanted, of.len())?;
            match children {
                Some(children) => Some(Arc::new(StructArray::try_new_with_length(
                    wanted.clone(),
                    children,
                    of.nulls().cloned(),
                    of.len(),
                )?) as ArrayRef),
                None => None,
            }
        }
        (T::List(known), T::List(wanted)) => {
            let list = array.as_list::<i32>();
            match column(list.values(), known, wanted)? {
                Some(items) => {
                    let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
                    let list = ListArray::try_new(Arc::clone(wanted), offsets, items, nulls)?;
                    Some(Arc::new(list) as ArrayRef)
                }
                None => None,
            }
        }
        (T::Map(..), T::Map(wanted, sorted)) => maps(array, wanted, *sorted)?,
        _ => None,
    };
    Ok(settled)
}

/// Whether a `float64` represents an integer of this absolute value.
fn is_exact(value: u64) -> bool {
    value == 0 || u64::BITS - value.leading_zeros() - value.trailing_zeros() <= f64::MANTISSA_DIGITS
}

/// Structs without any value, for texts that are objects without keys.
fn empty_structs(array: &ArrayRef, fields: &Fields) -> Option<ArrayRef> {
    if !empty_objects(array.as_string::<i32>()) {
        return None;
    }
    let children: Option<Vec<_>> = fields.iter().map(|field| nulls(field, array.len())).collect();
    let (nulls, len) = (array.nulls().cloned(), array.len());
    let structs = StructArray::try_new_with_length(fields.clone(), children?, nulls, len);
    structs.ok().map(|structs| Arc::new(structs) as ArrayRef)
}

/// Maps without entries, for the same.
fn empty_maps(array: &ArrayRef, entries: &FieldRef) -> Result<Option<ArrayRef>> {
    let none = new_null_array(entries.data_type(), 0);
    if !empty_objects(array.as_string::<i32>()) {
        return Ok(None);
    }
    let offsets = OffsetBuffer::new_zeroed(array.len());
    let (entries, nulls) = (Arc::clone(entries), array.nulls().cloned());
    let maps = MapArray::try_new(entries, offsets, none.as_struct().clone(), nulls, false)?;
    Ok(Some(Arc::new(maps)))
}

fn maps(array: &ArrayRef, wanted: &FieldRef, sorted: bool) -> Result<Option<ArrayRef>> {
    let map = array.as_map();
    let (DataType::Struct(known), DataType::Struct(fields)) =
        (map.entries().data_type(), wanted.data_type())
    else {
        return Ok(None);
    };
    let (Some(from), Some(to)) = (known.get(1), fields.get(1)) else { return Ok(None) };
    let Some(values) = column(map.values(), from, to)? else { return Ok(None) };
    let entries = vec![Arc::clone(map.keys()), values];
    let entries = StructArray::try_new(fields.clone(), entries, None)?;
    let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
    let map = MapArray::try_new(Arc::clone(wanted), offsets, entries, nulls, sorted)?;
    Ok(Some(Arc::new(map)))
}

#[cfg(test)]
mod tests;
