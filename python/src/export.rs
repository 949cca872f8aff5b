// SPDX-License-Identifier: Apache-2.0
//! Schemas, batches and streams as capsules of the Arrow C interfaces.
//!
//! A capsule shares the memory of the batches and keeps it alive. `requested_schema` is ignored, as
//! the interface allows: the schema is chosen when reading, where a value that does not match is an
//! error and not a null.

use std::sync::Arc;

use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchReader, StructArray};
use arrow_schema::{Field, SchemaRef};
use arrowsmith::gpu::FfiDeviceArray;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use pyo3_arrow::error::PyArrowError;
use pyo3_arrow::ffi::{to_array_pycapsules, to_schema_pycapsule};

use crate::errors::raised;
use crate::table::Rows;

/// The exception for what Arrow cannot export, such as a name with a NUL, which a C string cannot
/// contain.
fn refused(py: Python<'_>, error: PyArrowError) -> PyErr {
    match error {
        PyArrowError::ArrowError(error) => raised(py, error.into()),
        other => other.into(),
    }
}

/// For `__arrow_c_schema__`.
pub(crate) fn schema_capsule<'py>(
    py: Python<'py>,
    schema: &SchemaRef,
) -> PyResult<Bound<'py, PyCapsule>> {
    to_schema_pycapsule(py, schema.as_ref()).map_err(|error| refused(py, error))
}

/// For `__arrow_c_array__`: the schema and the batch, as a struct array.
pub(crate) fn batch_capsules<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
) -> PyResult<Bound<'py, PyTuple>> {
    let array = StructArray::from(batch.clone());
    to_array_pycapsules(py, Arc::new(root(batch)), &array, None).map_err(|error| refused(py, error))
}

/// For `__arrow_c_device_array__`: the schema and the batch, with the device that it is on.
pub(crate) fn device_capsules<'py>(py: Python<'py>, rows: &Rows) -> PyResult<Bound<'py, PyTuple>> {
    let (described, array) = match rows {
        Rows::Device(batch) => {
            let (schema, array) = batch.export().map_err(|error| raised(py, error))?;
            (PyCapsule::new_with_value(py, schema, c"arrow_schema")?, array)
        }
        Rows::Host(batch) => {
            let array = FFI_ArrowArray::new(&StructArray::from(batch.clone()).to_data());
            let described = to_schema_pycapsule(py, root(batch));
            let described = described.map_err(|error| refused(py, error))?;
            (described, FfiDeviceArray::on_host(array))
        }
    };
    let array = PyCapsule::new_with_value(py, array, c"arrow_device_array")?;
    PyTuple::new(py, [described, array])
}

/// The structure whose fields are the columns.
fn root(batch: &RecordBatch) -> Field {
    let schema = batch.schema();
    Field::new_struct("", schema.fields().clone(), false).with_metadata(schema.metadata().clone())
}

/// For `__arrow_c_stream__`.
pub(crate) fn stream_capsule(
    py: Python<'_>,
    reader: impl RecordBatchReader + Send + 'static,
) -> PyResult<Bound<'_, PyCapsule>> {
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}
