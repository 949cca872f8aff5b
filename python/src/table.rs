// SPDX-License-Identifier: Apache-2.0
//! The result of reading: one batch, or all of them.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::SchemaRef;
use arrowsmith::Progress;
use arrowsmith::gpu::DeviceBatch;
use arrowsmith::plan::text::format_schema;
use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

use crate::errors::raised;
use crate::export::{batch_capsules, device_capsules, schema_capsule, stream_capsule};
use crate::schema::Schema;

/// Some consecutive rows, on the host or on a device.
#[derive(Clone)]
pub(crate) enum Rows {
    Host(RecordBatch),
    Device(DeviceBatch),
}

impl Rows {
    fn count(&self) -> usize {
        match self {
            Self::Host(batch) => batch.num_rows(),
            Self::Device(batch) => batch.num_rows(),
        }
    }

    fn schema(&self) -> SchemaRef {
        match self {
            Self::Host(batch) => batch.schema(),
            Self::Device(batch) => Arc::clone(batch.schema()),
        }
    }

    /// The device, by its name in PyTorch.
    fn device(&self) -> String {
        match self {
            Self::Device(batch) => match batch.device().arrow_device() {
                (2, number) => format!("cuda:{number}"),
                _ => "cpu".to_owned(),
            },
            Self::Host(_) => "cpu".to_owned(),
        }
    }

    /// The batch, if it is on the host.
    pub(crate) fn on_host(&self) -> PyResult<&RecordBatch> {
        match self {
            Self::Host(batch) => Ok(batch),
            Self::Device(_) => Err(stays()),
        }
    }
}

/// The exception for a consumer that requests host memory.
pub(crate) fn stays() -> PyErr {
    PyNotImplementedError::new_err(
        "the rows are on a device: use __arrow_c_device_array__ or to_host() of each batch",
    )
}

/// Some consecutive rows of the input.
#[pyclass(module = "arrowsmith", frozen)]
pub(crate) struct Batch(Rows);

impl Batch {
    pub(crate) fn new(rows: Rows) -> Self {
        Self(rows)
    }
}

#[pymethods]
impl Batch {
    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.0.count()
    }

    /// The device of the memory.
    #[getter]
    fn device(&self) -> String {
        self.0.device()
    }

    /// The same rows on the host: this batch, if it is there already.
    fn to_host(slf: &Bound<'_, Self>) -> PyResult<Py<Self>> {
        let py = slf.py();
        match &slf.get().0 {
            Rows::Host(_) => Ok(slf.clone().unbind()),
            Rows::Device(batch) => {
                let batch = py.detach(|| batch.to_host()).map_err(|error| raised(py, error))?;
                Py::new(py, Self(Rows::Host(batch)))
            }
        }
    }

    /// The columns and their types.
    #[getter]
    fn schema(&self) -> Schema {
        Schema::new(self.0.schema())
    }

    /// The batch as a `pyarrow.RecordBatch`, without a copy.
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
        batch_capsules(py, self.0.on_host()?)
    }

    #[pyo3(signature = (requested_schema=None, **kwargs))]
    fn __arrow_c_device_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // The interface requires producers to refuse unknown arguments, unless they are None.
        for (name, value) in kwargs.into_iter().flatten() {
            if !value.is_none() {
                return Err(PyNotImplementedError::new_err(format!("{name} is not supported")));
            }
        }
        let _ = requested_schema;
        device_capsules(py, &self.0)
    }

    fn __repr__(&self) -> String {
        let text = format_schema(&self.0.schema());
        format!("<arrowsmith.Batch: {} rows>\n{text}", self.0.count())
    }
}

/// All rows, in the order of the input.
#[pyclass(module = "arrowsmith", frozen)]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<Rows>,
    rejects: u64,
    left_out: u64,
}

impl Table {
    pub(crate) fn new(schema: SchemaRef, batches: Vec<Rows>, progress: &Progress) -> Self {
        let (rejects, (left_out, _)) = (progress.rejects(), progress.left_out());
        Self { schema, batches, rejects, left_out }
    }
}

#[pymethods]
impl Table {
    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(Rows::count).sum()
    }

    /// Number of records that were skipped, or in which a value became null.
    #[getter]
    fn num_rejects(&self) -> u64 {
        self.rejects
    }

    /// Number of values that were skipped because the schema has no such key.
    #[getter]
    fn num_left_out(&self) -> u64 {
        self.left_out
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

    /// The table as a `pyarrow.Table`, without a copy.
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
        let batches = self.batches.iter().map(|rows| rows.on_host().cloned());
        let batches = batches.collect::<PyResult<Vec<_>>>()?.into_iter().map(Ok);
        stream_capsule(py, RecordBatchIterator::new(batches, Arc::clone(&self.schema)))
    }

    fn __repr__(&self) -> String {
        let (rows, batches) = (self.num_rows(), self.batches.len());
        let text = format_schema(&self.schema);
        format!("<arrowsmith.Table: {rows} rows in {batches} batches>\n{text}")
    }
}
