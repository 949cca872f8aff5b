// SPDX-License-Identifier: Apache-2.0
//! Delta and Iceberg tables as sources, and parts of tables and of several files for other
//! processes.

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

/// Files of a table, with the columns of the table, or some of several files, with those of all.
#[pyclass(module = "arrowsmith._lib", frozen)]
pub(crate) struct TableFiles {
    files: Vec<Py<File>>,
    schema: Py<Schema>,
    columns: Found,
}

/// How columns are found in files: those of a table, or exactly these, by their names.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Found {
    Mapped(ColumnMapping),
    Exactly,
}

/// Names for pickled [`TableFiles`].
const FOUND: [(&str, Found); 4] = [
    ("none", Found::Mapped(ColumnMapping::None)),
    ("name", Found::Mapped(ColumnMapping::Name)),
    ("id", Found::Mapped(ColumnMapping::Id)),
    ("exactly", Found::Exactly),
];

#[pymethods]
impl TableFiles {
    #[new]
    fn new(files: Vec<Py<File>>, schema: Py<Schema>, columns: &str) -> PyResult<Self> {
        let known = FOUND.iter().find(|(name, _)| *name == columns);
        let (_, columns) = known.ok_or_else(|| PyValueError::new_err("no column mapping"))?;
        Ok(Self { files, schema, columns: *columns })
    }

    fn __getnewargs__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyList>, Py<Schema>, &'static str)> {
        let files = PyList::new(py, &self.files)?;
        let known = FOUND.iter().find(|(_, columns)| *columns == self.columns);
        Ok((files, self.schema.clone_ref(py), known.map_or("", |(name, _)| name)))
    }

    /// The name of the first file, for the settings of its store.
    #[getter]
    fn name(&self) -> &str {
        self.files.first().map_or("", |file| &file.get().name)
    }

    /// Names of columns of folders whose types the schema does not have.
    #[getter]
    fn untyped(&self) -> Vec<String> {
        let first = self.files.first().filter(|_| self.columns == Found::Exactly);
        let partitions = first.map(|file| file.get().partitions.iter());
        partitions.into_iter().flatten().map(|(name, _)| name.clone()).collect()
    }

    fn __repr__(&self) -> String {
        let count = self.files.len();
        match self.columns {
            Found::Mapped(_) => format!("<{count} files of a table>"),
            Found::Exactly => format!("<{count} of several files>"),
        }
    }
}

impl TableFiles {
    /// A part of a table or of several files.
    pub(crate) fn of(
        py: Python<'_>,
        files: Vec<File>,
        (schema, columns): (&SchemaRef, Found),
    ) -> PyResult<Self> {
        let files = files.into_iter().map(|file| Py::new(py, file)).collect::<PyResult<_>>()?;
        Ok(Self { files, schema: Py::new(py, Schema::new(Arc::clone(schema)))?, columns })
    }
}

/// The table that a source is, or a part, and how its columns are found; `None` if it is something
/// else.
pub(crate) fn table(source: &Bound<'_, PyAny>) -> PyResult<Option<(Table, Found)>> {
    let py = source.py();
    let (place, options) = source::unwrapped(source);
    let opened = if let Ok(source) = place.cast::<TableSource>() {
        let source = source.get();
        py.detach(|| {
            let table = Table::open_with(source.format, &source.name, &options)?;
            let mapping = table.mapping;
            Ok((table, Found::Mapped(mapping)))
        })
    } else if let Ok(part) = place.cast::<TableFiles>() {
        let TableFiles { files, schema, columns } = part.get();
        let schema = Arc::clone(schema.get().arrow());
        let files: Vec<&File> = files.iter().map(Py::get).collect();
        py.detach(|| {
            let files = files.into_iter().map(|file| file.open(&options));
            let files = files.collect::<arrowsmith::Result<_>>()?;
            let mapping = match *columns {
                Found::Mapped(mapping) => mapping,
                Found::Exactly => ColumnMapping::None,
            };
            Ok((Table { schema, files, mapping }, *columns))
        })
    } else {
        return Ok(None);
    };
    opened.map(Some).map_err(|error| raised(py, error))
}
