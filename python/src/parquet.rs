// SPDX-License-Identifier: Apache-2.0
//! Parquet: the options of its reader, its sources, and the metadata of a file.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_schema::TimeUnit;
use arrowsmith::parquet::{
    Columns, EXTENSIONS, ParquetReader, ReadOptions, ReaderBuilder, StringForm, describe, open_file,
};
use arrowsmith::{DataFile, Input, Limits};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple};

use crate::errors::{config, raised};
use crate::filter::predicate;
use crate::gpu::{self, RowGroups};
use crate::options::{choice, get, threads, value};
use crate::schema::schema_of;
use crate::source;

/// The source of the batches.
pub(crate) enum Opened {
    Host(Box<ParquetReader>),
    /// Row groups that stay on a device.
    Device(Box<RowGroups>),
}

/// Opens a reader of all files of a source.
pub(crate) fn open(
    source: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    cancel: &Arc<AtomicBool>,
) -> PyResult<Opened> {
    let py = source.py();
    let name: String = get(options, "engine")?;
    let on_device = get(options, "on_device")?;
    if on_device {
        let given = |option: &str| Ok::<_, PyErr>(!value(options, option)?.is_none());
        gpu::refuse_host(&name).map_err(|error| raised(py, error))?;
        for option in ["filter", "limit", "batch_rows", "partitions"] {
            gpu::refuse(option, given(option)?).map_err(|error| raised(py, error))?;
        }
    }
    let filter = value(options, "filter")?;
    let filter = if filter.is_none() { None } else { Some(predicate(&filter)?) };
    let partitions = value(options, "partitions")?;
    let partition_types = match partitions.is_none() {
        true => Vec::new(),
        false => schema_of(&partitions)?.fields().iter().cloned().collect(),
    };
    let limits = Limits::default().with_memory_bytes_max(get(options, "memory_bytes_max")?);
    let memory = get(options, "gpu_memory_bytes_max")?;
    let opened = py.detach(|| gpu::open(&name, memory, on_device));
    let (engine, gpu) = opened.map_err(|error| raised(py, error))?;
    let (read, row_groups) = (read_options(options)?, get(options, "row_groups")?);
    if let Some(gpu) = gpu {
        let (files, cancel) = (files(source)?, Arc::clone(cancel));
        let of = (gpu, engine);
        let groups = py.detach(|| RowGroups::open(of, files, row_groups, read, limits, cancel));
        return Ok(Opened::Device(Box::new(groups.map_err(|error| raised(py, error))?)));
    }
    let builder = ReaderBuilder::new()
        .options(read)
        .filter(filter)
        .row_groups(row_groups)
        .partition_types(partition_types)
        .limit(get(options, "limit")?)
        .engine(engine)
        .threads(threads(options)?)
        .batch_rows(get(options, "batch_rows")?)
        .limits(limits)
        .cancel(Arc::clone(cancel));
    let files = files(source)?;
    let reader = py.detach(|| builder.open(files)).map_err(|error| raised(py, error))?;
    Ok(Opened::Host(Box::new(reader)))
}

fn read_options(options: &Bound<'_, PyDict>) -> PyResult<ReadOptions> {
    let mut read = ReadOptions::default()
        .with_arrow_schema(get(options, "arrow_schema")?)
        .with_verify_checksums(get(options, "verify_checksums")?)
        .with_dictionary(dictionary(&value(options, "dictionary")?)?)
        .with_strings(choice(
            options,
            "strings",
            &[
                ("auto", StringForm::AsFile),
                ("small", StringForm::Small),
                ("large", StringForm::Large),
                ("view", StringForm::View),
            ],
        )?);
    if let Some(columns) = get::<Option<Vec<String>>>(options, "columns")? {
        read = read.with_columns(columns);
    }
    if !value(options, "timestamp_unit")?.is_none() {
        read = read.with_timestamp_unit(choice(
            options,
            "timestamp_unit",
            &[
                ("s", TimeUnit::Second),
                ("ms", TimeUnit::Millisecond),
                ("us", TimeUnit::Microsecond),
                ("ns", TimeUnit::Nanosecond),
            ],
        )?);
    }
    Ok(read)
}

/// `True` means every string column, `False` none; otherwise names of columns.
fn dictionary(value: &Bound<'_, PyAny>) -> PyResult<Columns> {
    if let Ok(all) = value.cast::<PyBool>() {
        return Ok(if all.is_true() { Columns::All } else { Columns::None });
    }
    if value.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("dictionary: expected a bool or a list of columns"));
    }
    Ok(Columns::Paths(value.extract()?))
}

/// The files of a source; text may be a folder or a pattern.
fn files(source: &Bound<'_, PyAny>) -> PyResult<Vec<DataFile>> {
    if !(source.is_instance_of::<PyList>() || source.is_instance_of::<PyTuple>()) {
        return one(source);
    }
    let mut files = Vec::new();
    for item in source.try_iter()? {
        files.extend(one(&item?)?);
    }
    Ok(files)
}

fn one(source: &Bound<'_, PyAny>) -> PyResult<Vec<DataFile>> {
    let py = source.py();
    if let Ok(pattern) = source.cast::<PyString>() {
        let found = arrowsmith::expand_dataset(pattern.to_str()?, EXTENSIONS);
        return found.map_err(|error| raised(py, error));
    }
    match source::random_access(source)? {
        // The name of a folder is taken literally, even if it looks like a pattern.
        Input::Path(path) if path.is_dir() => {
            arrowsmith::expand_dataset(path, EXTENSIONS).map_err(|error| raised(py, error))
        }
        input => Ok(vec![input.into()]),
    }
}

/// The metadata of a file, as JSON text.
#[pyfunction]
pub(crate) fn parquet_metadata(source: &Bound<'_, PyAny>, pages: bool) -> PyResult<String> {
    let py = source.py();
    let mut files = files(source)?;
    let (Some(file), true) = (files.pop(), files.is_empty()) else {
        return Err(config(py, "source: expected a single file for its metadata".to_owned()));
    };
    let report = py.detach(|| describe(&open_file(file.input, &Limits::default())?, pages));
    let report = report.map_err(|error| raised(py, error))?;
    serde_json::to_string(&report).map_err(|error| config(py, error.to_string()))
}
