// SPDX-License-Identifier: Apache-2.0
//! Batches of the Arrow stream, or the one batch, of an object of another library: the unsafe calls
//! of the C interfaces.
//!
//! It does what arrow-rs does with such a stream, and settles offsets before it makes arrays. A
//! slice by pyarrow has its offset in the outermost array; arrow-rs takes it for the children of a
//! struct in that array twice, and panics.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchOptions, StructArray};
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

const STREAM: &str = "__arrow_c_stream__";
const ARRAY: &str = "__arrow_c_array__";

/// The batches of an object. Taking one may run code of Python's.
pub(crate) struct Batches {
    source: Source,
    schema: SchemaRef,
}

enum Source {
    Stream(FFI_ArrowArrayStream),
    One(Option<FFI_ArrowArray>),
}

impl Batches {
    /// The batches of `data`, which has one of the interfaces.
    ///
    /// # Errors `TypeError` for an object with neither of them, or that is not a table; what the
    /// object raises.
    pub(crate) fn of(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (source, described) = if data.hasattr(STREAM)? {
            let mut stream = stream(&data.call_method0(STREAM)?)?;
            let described = described(&mut stream).map_err(|error| wrong(data, &error))?;
            (Source::Stream(stream), described)
        } else if data.hasattr(ARRAY)? {
            let (described, array) = array(&data.call_method0(ARRAY)?)?;
            (Source::One(Some(array)), described)
        } else {
            let name = data.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "data: expected a table, batches, or a reader, with {STREAM} or {ARRAY}, found \
                 {name}"
            )));
        };
        match DataType::try_from(&described) {
            Ok(DataType::Struct(_)) => {}
            Ok(_) => {
                let name = data.get_type().name()?;
                let message = format!("data: expected a table, found a column, of type {name}");
                return Err(PyTypeError::new_err(message));
            }
            Err(error) => return Err(wrong(data, &error.to_string())),
        }
        let schema =
            Schema::try_from(&described).map_err(|error| wrong(data, &error.to_string()))?;
        Ok(Self { source, schema: Arc::new(schema) })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn batch(&self, array: FFI_ArrowArray) -> Result<RecordBatch, ArrowError> {
        let data_type = DataType::Struct(self.schema.fields().clone());
        // SAFETY: by the interface, the array has the type that the same object has described, and
        // is valid until it is released.
        let data = unsafe { from_ffi_and_data_type(array, data_type) }?;
        let rows = data.len();
        if data.null_count() > 0 {
            let message = "a row of the table is null: only its columns may be";
            return Err(ArrowError::InvalidArgumentError(message.to_owned()));
        }
        let (_, columns, _) = StructArray::from(settled(data, 0, rows)).into_parts();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema(), columns, &options)
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let array = match &mut self.source {
            Source::One(array) => array.take()?,
            Source::Stream(stream) => {
                let mut array = FFI_ArrowArray::empty();
                let next = stream.get_next?;
                // SAFETY: the stream is not released, and nothing else uses it.
                if unsafe { next(stream, &raw mut array) } != 0 {
                    return Some(Err(ArrowError::CDataInterface(last_error(stream))));
                }
                if array.is_released() {
                    return None;
                }
                array
            }
        };
        Some(self.batch(array))
    }
}

fn wrong(data: &Bound<'_, PyAny>, reason: &str) -> PyErr {
    let name = data.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    PyTypeError::new_err(format!("data: {name} describes no table: {reason}"))
}

/// The stream of a capsule, which has none afterwards.
fn stream(capsule: &Bound<'_, PyAny>) -> PyResult<FFI_ArrowArrayStream> {
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast();
    // SAFETY: a capsule of this name has a stream, by the interface, which may be moved out of it.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) })
}

/// What a stream says of its batches.
fn described(stream: &mut FFI_ArrowArrayStream) -> Result<FFI_ArrowSchema, String> {
    let mut described = FFI_ArrowSchema::empty();
    let Some(get) = stream.get_schema.filter(|_| stream.release.is_some()) else {
        return Err("its stream has been taken before".to_owned());
    };
    // SAFETY: the stream is not released, and nothing else uses it.
    match unsafe { get(stream, &raw mut described) } {
        0 => Ok(described),
        _ => Err(last_error(stream)),
    }
}

fn last_error(stream: &mut FFI_ArrowArrayStream) -> String {
    let unknown = || "the stream does not say why it failed".to_owned();
    let Some(get) = stream.get_last_error else { return unknown() };
    // SAFETY: the stream is not released, and its last call has failed.
    let text = unsafe { get(stream) };
    if text.is_null() {
        return unknown();
    }
    // SAFETY: by the interface, a string that is valid up to the next call of the stream.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The array and its type of two capsules.
fn array(capsules: &Bound<'_, PyAny>) -> PyResult<(FFI_ArrowSchema, FFI_ArrowArray)> {
    let capsules = capsules.cast::<PyTuple>()?;
    let (described, array) = (capsules.get_item(0)?, capsules.get_item(1)?);
    let described = described.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_schema"))?.cast();
    let array = array.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_array"))?.cast();
    // SAFETY: capsules of these names have a schema and an array, by the interface, which may be
    // moved out of them.
    Ok(unsafe {
        (FFI_ArrowSchema::from_raw(described.as_ptr()), FFI_ArrowArray::from_raw(array.as_ptr()))
    })
}

/// A part of an array, of which no struct or list of fixed size has an offset: their children are
/// those of the part.
fn settled(data: ArrayData, offset: usize, len: usize) -> ArrayData {
    let (data_type, _, nulls, own, buffers, children) = data.into_parts();
    let start = own + offset;
    let nulls = nulls.map(|nulls| nulls.slice(offset, len));
    let (at, children) = match &data_type {
        DataType::Struct(_) => {
            let child = |child| settled(child, start, len);
            (0, children.into_iter().map(child).collect())
        }
        DataType::FixedSizeList(_, size) => {
            let size = usize::try_from(*size).unwrap_or_default();
            let child = |child| settled(child, start * size, len * size);
            (0, children.into_iter().map(child).collect())
        }
        _ => {
            let whole = |child: ArrayData| {
                let all = child.len();
                settled(child, 0, all)
            };
            (start, children.into_iter().map(whole).collect::<Vec<_>>())
        }
    };
    let built = ArrayDataBuilder::new(data_type).len(len).offset(at).nulls(nulls);
    let built = built.buffers(buffers).child_data(children);
    // SAFETY: a part of valid data; offsets have only been moved from parents to children.
    unsafe { built.build_unchecked() }
}
