// SPDX-License-Identifier: Apache-2.0
//! Delta and Iceberg tables as sources, whole and in parts for other processes.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use arrowsmith::parquet::{ColumnMapping, Table, TableFormat};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::errors::raised;
use crate::schema::Schema;
use crate::source;
use crate::split::File;

/// A table: a path or URL, and its format.
#[pyclass(module = "arrowsmith._lib", frozen)]
pub(crate) struct TableSource {
    #[pyo3(get)]
    name: String,
    format: TableFormat,
    /// The format, as it was given.
    text: String,
}

#[pymethods]
impl TableSource {
    #[new]
    fn new(py: Python<'_>, name: String, table: String) -> PyResult<Self> {
        let format = table.parse().map_err(|error| raised(py, error))?;
        Ok(Self { name, format, text: table })
    }

    fn __getnewargs__(&self) -> (&str, &str) {
        (&self.name, &self.text)
    }

    fn __repr__(&self) -> String {
        format!("<{} table {:?}>", self.format, self.name)
    }
}

/// Files of a table, with the columns of the table.
#[pyclass(module = "arrowsmith._lib", frozen)]
pub(crate) struct TableFiles {
    files: Vec<Py<File>>,
    schema: Py<Schema>,
    mapping: ColumnMapping,
}

/// Names for pickled [`TableFiles`].
const MAPPINGS: [(&str, ColumnMapping); 3] =
    [("none", ColumnMapping::None), ("name", ColumnMapping::Name), ("id", ColumnMapping::Id)];

#[pymethods]
impl TableFiles {
    #[new]
    fn new(files: Vec<Py<File>>, schema: Py<Schema>, column_mapping: &str) -> PyResult<Self> {
        let known = MAPPINGS.iter().find(|(name, _)| *name == column_mapping);
        let (_, mapping) = known.ok_or_else(|| PyValueError::new_err("no column mapping"))?;
        Ok(Self { files, schema, mapping: *mapping })
    }

    fn __getnewargs__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyList>, Py<Schema>, &'static str)> {
        let files = PyList::new(py, &self.files)?;
        let known = MAPPINGS.iter().find(|(_, mapping)| *mapping == self.mapping);
        Ok((files, self.schema.clone_ref(py), known.map_or("", |(name, _)| name)))
    }

    /// The name of the first file, for the settings of its store.
    #[getter]
    fn name(&self) -> &str {
        self.files.first().map_or("", |file| &file.get().name)
    }

    fn __repr__(&self) -> String {
        format!("<{} files of a table>", self.files.len())
    }
}

impl TableFiles {
    /// A part of `table`.
    pub(crate) fn of(
        py: Python<'_>,
        files: Vec<File>,
        (schema, mapping): (&SchemaRef, ColumnMapping),
    ) -> PyResult<Self> {
        let files = files.into_iter().map(|file| Py::new(py, file)).collect::<PyResult<_>>()?;
        Ok(Self { files, schema: Py::new(py, Schema::new(Arc::clone(schema)))?, mapping })
    }
}

/// The table that a source is, opened; `None` if it is something else.
pub(crate) fn table(source: &Bound<'_, PyAny>) -> PyResult<Option<Table>> {
    let py = source.py();
    let (place, options) = source::unwrapped(source);
    let opened = if let Ok(source) = place.cast::<TableSource>() {
        let source = source.get();
        py.detach(|| Table::open_with(source.format, &source.name, &options))
    } else if let Ok(part) = place.cast::<TableFiles>() {
        let TableFiles { files, schema, mapping } = part.get();
        let schema = Arc::clone(schema.get().arrow());
        let files: Vec<&File> = files.iter().map(Py::get).collect();
        py.detach(|| {
            let files = files.into_iter().map(|file| file.open(&options));
            let files = files.collect::<arrowsmith::Result<_>>()?;
            Ok(Table { schema, files, mapping: *mapping })
        })
    } else {
        return Ok(None);
    };
    opened.map(Some).map_err(|error| raised(py, error))
}
