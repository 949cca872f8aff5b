// SPDX-License-Identifier: Apache-2.0
//! Parts of a table for other processes: what is pickled names files, and holds none open.

use std::path::{self, PathBuf};

use arrowsmith::split::{self, Part, Split};
use arrowsmith::store::{self, StoreOptions};
use arrowsmith::{DataFile, Error, Input};
use arrowsmith_core::size;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::errors::{config, raised};
use crate::lake::{self, Found, TableFiles};
use crate::{options, parquet, source};

/// A file of a table, with the values of its partition columns.
#[pyclass(module = "arrowsmith._lib", frozen, eq)]
#[derive(PartialEq)]
pub(crate) struct File {
    /// A path or a URL.
    #[pyo3(get)]
    pub(crate) name: String,
    #[pyo3(get)]
    pub(crate) partitions: Vec<(String, Option<String>)>,
    /// The rows that a table no longer has: the first, and the one after the last, of each range.
    deleted: Option<Vec<(u64, u64)>>,
}

/// Name, partitions and deleted rows of a [`File`].
type NewArguments = (String, Vec<(String, Option<String>)>, Option<Vec<(u64, u64)>>);

#[pymethods]
impl File {
    #[new]
    #[pyo3(signature = (name, partitions, deleted=None))]
    fn new(
        name: String,
        partitions: Vec<(String, Option<String>)>,
        deleted: Option<Vec<(u64, u64)>>,
    ) -> Self {
        Self { name, partitions, deleted }
    }

    fn __getnewargs__(&self) -> NewArguments {
        (self.name.clone(), self.partitions.clone(), self.deleted.clone())
    }

    fn __repr__(&self) -> String {
        format!("<arrowsmith.File {}>", self.name)
    }
}

impl File {
    /// The same file again: the name is taken literally, even if it looks like a pattern.
    pub(crate) fn open(&self, options: &StoreOptions) -> arrowsmith::Result<DataFile> {
        let input = match store::is_url(&self.name) {
            false => Input::Path(PathBuf::from(&self.name)),
            true => match store::expand_url_with(&self.name, &[], options)?.pop() {
                Some(file) => file.input,
                None => return Err(Error::Config(format!("{}: no object", self.name))),
            },
        };
        let deleted = self.deleted.as_ref();
        let deleted = deleted.map(|rows| rows.iter().map(|&(start, end)| start..end).collect());
        Ok(DataFile { input, partitions: self.partitions.clone(), deleted })
    }
}

impl From<&DataFile> for File {
    fn from(file: &DataFile) -> Self {
        let mut name = file.input.name().unwrap_or_default().to_string();
        if let Input::Path(path) = &file.input
            && let Ok(path) = path::absolute(path)
        {
            // Another process has another working folder.
            name = path.to_string_lossy().into_owned();
        }
        let deleted = file.deleted.as_ref();
        let deleted = deleted.map(|rows| rows.iter().map(|rows| (rows.start, rows.end)).collect());
        Self { name, partitions: file.partitions.clone(), deleted }
    }
}

/// Files, or [`TableFiles`], and the options that select a part of one.
type PyPart<'py> = (Bound<'py, PyAny>, Bound<'py, PyDict>);

/// Splits JSON into parts of about `size` bytes.
#[pyfunction]
pub(crate) fn split_json<'py>(
    source: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
    size: &Bound<'py, PyAny>,
) -> PyResult<Vec<PyPart<'py>>> {
    let (py, options) = (source.py(), options::json(options)?);
    let (files, bytes) = (source::inputs(source)?, bytes_of(size)?);
    let splits = py.detach(|| split::split_json(files, &options, bytes));
    parts(py, splits.map_err(|error| raised(py, error))?, |files| files.into_bound_py_any(py))
}

/// Splits Parquet into parts of about `size` bytes.
#[pyfunction]
pub(crate) fn split_parquet<'py>(
    source: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
    size: &Bound<'py, PyAny>,
) -> PyResult<Vec<PyPart<'py>>> {
    let (py, options) = (source.py(), options::parquet(options)?);
    let bytes = bytes_of(size)?;
    let (files, table) = match lake::table(source)? {
        Some((table, found)) => (table.files, Some((table.schema, found))),
        None => {
            let files = parquet::files(source)?;
            let found = py.detach(|| {
                let schema = split::parquet_schema(&files, &options)?;
                Ok((files, schema.map(|schema| (schema, Found::Exactly))))
            });
            found.map_err(|error| raised(py, error))?
        }
    };
    let splits = py.detach(|| split::split_parquet(files, &options, bytes));
    parts(py, splits.map_err(|error| raised(py, error))?, |files| match &table {
        None => files.into_bound_py_any(py),
        Some((schema, found)) => TableFiles::of(py, files, (schema, *found))?.into_bound_py_any(py),
    })
}

fn parts<'py>(
    py: Python<'py>,
    splits: Vec<Split>,
    source: impl Fn(Vec<File>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Vec<PyPart<'py>>> {
    let part = |split: Split| {
        let options = PyDict::new(py);
        match split.part {
            None => {}
            Some(Part::Range(start, end)) => {
                options.set_item("range_start", start)?;
                options.set_item("range_end", end)?;
            }
            Some(Part::RowGroups(groups)) => {
                options.set_item("row_groups", groups)?;
            }
        }
        Ok((source(split.files.iter().map(File::from).collect())?, options))
    };
    splits.into_iter().map(part).collect()
}

/// A size: a number of bytes, or text such as `64MiB`.
fn bytes_of(size: &Bound<'_, PyAny>) -> PyResult<u64> {
    let py = size.py();
    let bytes = match size.cast::<PyString>() {
        Ok(text) => size::parse(text.to_str()?).map_err(|error| config(py, error))?,
        Err(_) => size.extract().map_err(|_| {
            PyTypeError::new_err("size: expected a number of bytes, or text such as '64MiB'")
        })?,
    };
    match bytes {
        0 => Err(config(py, "size: expected at least one byte".to_owned())),
        bytes => Ok(bytes),
    }
}
