// SPDX-License-Identifier: Apache-2.0
//! The result of reading: one batch, or all of them.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, SchemaRef};
use arrowsmith::Progress;
use arrowsmith::gpu::DeviceBatch;
use arrowsmith::plan::text::format_schema;
use pyo3::exceptions::{PyKeyError, PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PySlice, PyString, PyTuple};

use crate::errors::raised;
use crate::export::{batch_capsules, device_capsules, schema_capsule, stream_capsule};
use crate::names::Names;
use crate::progress::bytes_of;
use crate::rejects::Kept;
use crate::schema::Schema;
use crate::{html, ipc};

/// Some consecutive rows, on the host or on a device.
#[derive(Clone)]
pub(crate) enum Rows {
    Host(RecordBatch),
    Device(DeviceBatch),
}

impl Rows {
    pub(crate) fn count(&self) -> usize {
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

pub(crate) fn arrow(py: Python<'_>, error: ArrowError) -> PyErr {
    raised(py, error.into())
}

/// Restores a pickled batch.
#[pyfunction]
pub(crate) fn batch_from_ipc(py: Python<'_>, stream: &[u8]) -> PyResult<Batch> {
    let (schema, batches) = ipc::read(stream).map_err(|error| arrow(py, error))?;
    let batch = batches.into_iter().next().unwrap_or_else(|| RecordBatch::new_empty(schema));
    Ok(Batch(Rows::Host(batch)))
}

/// Restores a pickled table.
#[pyfunction]
#[pyo3(signature = (stream, rejects, left_out, rejected=None))]
pub(crate) fn table_from_ipc(
    py: Python<'_>,
    stream: &[u8],
    rejects: u64,
    left_out: u64,
    rejected: Option<&[u8]>,
) -> PyResult<Table> {
    let (schema, batches) = ipc::read(stream).map_err(|error| arrow(py, error))?;
    let batches = batches.into_iter().map(Rows::Host).collect();
    let rejected = rejected.map(ipc::read).transpose().map_err(|error| arrow(py, error))?;
    let rejected = rejected.and_then(|(_, batches)| batches.into_iter().next());
    let rejected = match rejected {
        Some(batch) => Rejected::Batch(batch),
        None => Rejected::Kept(Kept::default()),
    };
    Ok(Table { schema, batches, rejects, rejected, left_out })
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

    fn __len__(&self) -> usize {
        self.0.count()
    }

    /// Pickles as an Arrow IPC stream.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, batch) = (slf.py(), slf.get().0.on_host()?);
        let stream = py.detach(|| ipc::write(&batch.schema(), std::slice::from_ref(batch)));
        let stream = stream.map_err(|error| arrow(py, error))?;
        let restore = py.import("arrowsmith._lib")?.getattr("batch_from_ipc")?;
        (restore, (PyBytes::new(py, &stream),)).into_pyobject(py)
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let rows = std::slice::from_ref(&self.0);
        html::table(&self.0.schema(), rows).map_err(|error| arrow(py, error))
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
    rejected: Rejected,
    left_out: u64,
}

/// The first rejects.
#[derive(Clone)]
enum Rejected {
    /// As they came.
    Kept(Kept),
    /// Of a table that was pickled.
    Batch(RecordBatch),
}

impl Rejected {
    fn batch(&self, py: Python<'_>) -> PyResult<RecordBatch> {
        match self {
            Self::Kept(kept) => kept.batch().map_err(|error| arrow(py, error)),
            Self::Batch(batch) => Ok(batch.clone()),
        }
    }
}

impl Table {
    pub(crate) fn new(
        schema: SchemaRef,
        batches: Vec<Rows>,
        progress: &Progress,
        kept: Kept,
    ) -> Self {
        let left_out = progress.left_out().0;
        let rejects = progress.rejects();
        Self { schema, batches, rejects, rejected: Rejected::Kept(kept), left_out }
    }

    /// A table of rejects, which has none itself.
    pub(crate) fn of_rejects(py: Python<'_>, kept: &Kept) -> PyResult<Self> {
        let batch = kept.batch().map_err(|error| arrow(py, error))?;
        Ok(Self::plain(batch))
    }

    fn plain(batch: RecordBatch) -> Self {
        let rejected = Rejected::Kept(Kept::default());
        let schema = batch.schema();
        Self { schema, batches: vec![Rows::Host(batch)], rejects: 0, rejected, left_out: 0 }
    }

    /// At most `length` rows from the row `offset` on.
    fn rows(&self, offset: usize, length: usize) -> PyResult<Self> {
        let (mut before, mut left) = (offset, length);
        let mut batches = Vec::new();
        for rows in &self.batches {
            let batch = rows.on_host()?;
            let start = before.min(batch.num_rows());
            let taken = left.min(batch.num_rows() - start);
            if taken > 0 {
                batches.push(Rows::Host(batch.slice(start, taken)));
            }
            before -= start;
            left -= taken;
        }
        Ok(self.part(Arc::clone(&self.schema), batches))
    }

    /// Other rows or columns of this table.
    fn part(&self, schema: SchemaRef, batches: Vec<Rows>) -> Self {
        let rejected = self.rejected.clone();
        Self { schema, batches, rejects: self.rejects, rejected, left_out: self.left_out }
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

    /// The first of those records, and why, as a table: at most 10,000, and 16 MiB of their text.
    #[getter]
    fn rejects(&self, py: Python<'_>) -> PyResult<Self> {
        self.rejected.batch(py).map(Self::plain)
    }

    /// The Arrow size of the rows, in bytes.
    #[getter]
    fn nbytes(&self) -> PyResult<u64> {
        let sizes = self.batches.iter().map(|rows| rows.on_host().map(bytes_of));
        sizes.sum()
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

    /// The names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The columns with these names, in this order. Nothing is copied.
    fn select(&self, py: Python<'_>, names: Names) -> PyResult<Self> {
        let positions = names.0.iter().map(|name| {
            let mut found = self.schema.fields().iter().enumerate();
            let found = found.find(|(_, field)| field.name() == name);
            found.map(|(position, _)| position).ok_or_else(|| PyKeyError::new_err(name.clone()))
        });
        let positions = positions.collect::<PyResult<Vec<_>>>()?;
        let project = |error| arrow(py, error);
        let schema = Arc::new(self.schema.project(&positions).map_err(project)?);
        let batches = self
            .batches
            .iter()
            .map(|rows| rows.on_host()?.project(&positions).map(Rows::Host).map_err(project));
        Ok(self.part(schema, batches.collect::<PyResult<_>>()?))
    }

    /// At most `length` rows from the row `offset` on, which is counted from the end if it is
    /// negative. Nothing is copied.
    #[pyo3(signature = (offset=0, length=None))]
    fn slice(&self, offset: i128, length: Option<i128>) -> PyResult<Self> {
        let rows = self.num_rows();
        let length = match length {
            Some(length) if length < 0 => {
                return Err(PyValueError::new_err("length: must not be negative"));
            }
            Some(length) => usize::try_from(length).unwrap_or(usize::MAX),
            None => usize::MAX,
        };
        let last = i128::try_from(rows)?;
        let offset = if offset < 0 { (last + offset).max(0) } else { offset.min(last) };
        self.rows(usize::try_from(offset)?, length)
    }

    /// The first `length` rows, or all but the last `-length` if it is negative.
    #[pyo3(signature = (length=5))]
    fn head(&self, length: i128) -> PyResult<Self> {
        let rows = i128::try_from(self.num_rows())?;
        let length = if length < 0 { (rows + length).max(0) } else { length.min(rows) };
        self.rows(0, usize::try_from(length)?)
    }

    fn __len__(&self) -> usize {
        self.num_rows()
    }

    /// A column as a `pyarrow.ChunkedArray` (a name), some columns (a list of names), or some
    /// consecutive rows (a slice).
    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, table) = (slf.py(), slf.get());
        if let Ok(name) = key.cast::<PyString>() {
            let column = Bound::new(py, table.select(py, Names(vec![name.to_string()]))?)?;
            return column.call_method0("to_pyarrow")?.call_method1("column", (0,));
        }
        let selected = if let Ok(slice) = key.cast::<PySlice>() {
            let count = isize::try_from(table.num_rows())?;
            let rows = slice.indices(count)?;
            if rows.step != 1 {
                return Err(PyNotImplementedError::new_err("the step of a slice must be 1"));
            }
            table.rows(rows.start.unsigned_abs(), rows.slicelength)?
        } else {
            let names = key.extract::<Names>().map_err(|_| {
                PyTypeError::new_err(format!(
                    "a table has columns by their names, table[\"id\"] or table[[\"id\", \"name\"]], \
                     and rows by a slice, table[10:20]; found {}",
                    key.repr().map_or_else(|_| "another object".to_owned(), |text| text.to_string())
                ))
            })?;
            table.select(py, names)?
        };
        Ok(Bound::new(py, selected)?.into_any())
    }

    /// Pickles as an Arrow IPC stream.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, table) = (slf.py(), slf.get());
        let batches = table.batches.iter().map(|rows| rows.on_host().cloned());
        let batches = batches.collect::<PyResult<Vec<_>>>()?;
        let stream = py.detach(|| ipc::write(&table.schema, &batches));
        let stream = PyBytes::new(py, &stream.map_err(|error| arrow(py, error))?);
        let rejected = match table.rejects {
            0 => None,
            _ => {
                let batch = table.rejected.batch(py)?;
                let stream = ipc::write(&batch.schema(), std::slice::from_ref(&batch));
                Some(PyBytes::new(py, &stream.map_err(|error| arrow(py, error))?))
            }
        };
        let restore = py.import("arrowsmith._lib")?.getattr("table_from_ipc")?;
        (restore, (stream, table.rejects, table.left_out, rejected)).into_pyobject(py)
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        html::table(&self.schema, &self.batches).map_err(|error| arrow(py, error))
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
