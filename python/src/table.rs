// SPDX-License-Identifier: Apache-2.0
//! What was read: one batch, or all of them.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::SchemaRef;
use arrowsmith::plan::text::format_schema;
use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

use crate::export::{batch_capsules, device_capsules, schema_capsule, stream_capsule};
use crate::schema::Schema;

/// Some consecutive rows of the input.
#[pyclass(module = "arrowsmith", frozen)]
pub(crate) struct Batch(RecordBatch);

impl Batch {
    pub(crate) fn new(batch: RecordBatch) -> Self {
        Self(batch)
    }
}

#[pymethods]
impl Batch {
    /// Rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.num_rows()
    }

    /// The columns and their types.
    #[getter]
    fn schema(&self) -> Schema {
        Schema::new(self.0.schema())
    }

    /// The same memory as a `pyarrow.RecordBatch`.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("record_batch", (slf,))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.0.schema())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema;
        batch_capsules(py, &self.0)
    }

    #[pyo3(signature = (requested_schema=None, **kwargs))]
    fn __arrow_c_device_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // The interface has producers refuse what they do not know, unless it is None.
        for (name, value) in kwargs.into_iter().flatten() {
            if !value.is_none() {
                return Err(PyNotImplementedError::new_err(format!("{name} is not known")));
            }
        }
        let _ = requested_schema;
        device_capsules(py, &self.0)
    }

    fn __repr__(&self) -> String {
        let text = format_schema(&self.0.schema());
        format!("<arrowsmith.Batch: {} rows>\n{text}", self.0.num_rows())
    }
}

/// Everything that was read, in the order of the input.
#[pyclass(module = "arrowsmith", frozen)]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    rejects: u64,
}

impl Table {
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>, rejects: u64) -> Self {
        Self { schema, batches, rejects }
    }
}

#[pymethods]
impl Table {
    /// Rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Records that were left out, or in which something became null.
    #[getter]
    fn num_rejects(&self) -> u64 {
        self.rejects
    }

    /// The columns and their types.
    #[getter]
    fn schema(&self) -> Schema {
        Schema::new(Arc::clone(&self.schema))
    }

    /// The batches, in the order of the input.
    #[getter]
    fn batches(&self) -> Vec<Batch> {
        self.batches.iter().cloned().map(Batch).collect()
    }

    /// The same memory as a `pyarrow.Table`.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("pyarrow")?.call_method1("table", (slf,))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        stream_capsule(py, RecordBatchIterator::new(batches, Arc::clone(&self.schema)))
    }

    fn __repr__(&self) -> String {
        let (rows, batches) = (self.num_rows(), self.batches.len());
        let text = format_schema(&self.schema);
        format!("<arrowsmith.Table: {rows} rows in {batches} batches>\n{text}")
    }
}
