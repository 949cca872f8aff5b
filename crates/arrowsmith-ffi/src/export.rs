// SPDX-License-Identifier: Apache-2.0
//! Batches and schemas as structs of the C Data Interface, without copying what can be shared.

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrowsmith::{Error, Result};

/// A schema, as that of a struct that is not nullable.
pub(crate) fn schema(schema: &Schema) -> Result<FFI_ArrowSchema> {
    let spelled = schema.flattened_fields().into_iter().find(|field| has_nul(field));
    if let Some(field) = spelled {
        let name = field.name().replace('\0', "\\0");
        return Err(Error::schema(name, "a C string cannot have a NUL in it"));
    }
    Ok(FFI_ArrowSchema::try_from(schema)?)
}

/// Names and time zones are C strings.
fn has_nul(field: &Field) -> bool {
    fn zone(data_type: &DataType) -> Option<&str> {
        match data_type {
            DataType::Timestamp(_, zone) => zone.as_deref(),
            DataType::Dictionary(_, values) => zone(values),
            _ => None,
        }
    }
    field.name().contains('\0') || zone(field.data_type()).is_some_and(|zone| zone.contains('\0'))
}

/// A batch, as a struct array. Arrays with an offset are copied, because Arrow Java does not
/// support them.
pub(crate) fn batch(batch: RecordBatch) -> Result<FFI_ArrowArray> {
    let data = StructArray::from(batch).into_data();
    Ok(FFI_ArrowArray::new(&from_start(data)?))
}

/// The same data with no offset, in it or below.
fn from_start(data: ArrayData) -> Result<ArrayData> {
    if !begins_within(&data) {
        return Ok(data);
    }
    if data.offset() != 0 {
        let mut copy = MutableArrayData::new(vec![&data], false, data.len());
        copy.try_extend(0, 0, data.len())?;
        return from_start(copy.freeze());
    }
    let children: Result<_> = data.child_data().iter().cloned().map(from_start).collect();
    Ok(data.into_builder().child_data(children?).build()?)
}

fn begins_within(data: &ArrayData) -> bool {
    data.offset() != 0 || data.child_data().iter().any(begins_within)
}

/// An error for a C stream: a message that quotes the input may have a NUL.
pub(crate) fn stream_error(error: Error) -> ArrowError {
    match error {
        Error::Arrow(error) => error,
        other => ArrowError::ExternalError(other.to_string().replace('\0', "\\0").into()),
    }
}
