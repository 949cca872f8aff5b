// SPDX-License-Identifier: Apache-2.0
//! Parquet: its reader, its sources, and the metadata of a file.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrowsmith::options::PARQUET;
use arrowsmith::parquet::{EXTENSIONS, ParquetReader, ReaderBuilder, describe, open_file};
use arrowsmith::{DataFile, Limits};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{config, raised};
use crate::gpu::{self, RowGroups};
use crate::lake::{self, Found};
use crate::options::{engine, parquet, refuse_host_only};
use crate::source::{self, Places};
use crate::wait::{attended, signals};

/// The source of the batches.
pub(crate) enum Opened {
    Host(Box<ParquetReader>),
    /// Row groups that stay on a device.
    Device(Box<RowGroups>),
}

/// Opens a reader of all files of a source.
pub(crate) fn open(
    source: &Bound<'_, PyAny>,
    on_device: bool,
    given: &Bound<'_, PyDict>,
    cancel: &Arc<AtomicBool>,
) -> PyResult<(Opened, Places)> {
    let py = source.py();
    let mut options = parquet(given)?;
    let table = lake::table(source)?;
    if on_device {
        refuse_host_only(py, &options.engine, PARQUET, |option| options.get(option))?;
        gpu::refuse("table", table.is_some()).map_err(|error| raised(py, error))?;
    }
    let (engine, gpu) = engine(py, &options.engine, options.gpu_memory_bytes_max, on_device)?;
    let (cancel, filters) = (Arc::clone(cancel), options.filter.is_some());
    if let Some((table, found)) = table {
        let partitions = options.partitions.take();
        options.partitions = partitions.or_else(|| table.partitions().map(Into::into));
        let builder =
            ReaderBuilder::new().options(options).engine(engine).cancel(Arc::clone(&cancel));
        let places = Places::of(&table.files, filters);
        let reader = attended(py, places.whole, &cancel, signals, move || match found {
            Found::Mapped(_) => table.reader(builder),
            Found::Exactly => builder.exact_schema(table.schema).open(table.files),
        })?;
        let reader = reader.map_err(|error| raised(py, error))?;
        return Ok((Opened::Host(Box::new(reader)), places));
    }
    let files = files(source)?;
    if let Some(gpu) = gpu {
        let groups = py.detach(|| RowGroups::open((gpu, engine), files, &options, cancel));
        let groups = groups.map_err(|error| raised(py, error))?;
        // The calls of a device stay on their thread.
        return Ok((Opened::Device(Box::new(groups)), Places::HERE));
    }
    let places = Places::of(&files, filters);
    let builder = ReaderBuilder::new().options(options).engine(engine).cancel(Arc::clone(&cancel));
    let reader = attended(py, places.whole, &cancel, signals, move || builder.open(files))?;
    Ok((Opened::Host(Box::new(reader.map_err(|error| raised(py, error))?)), places))
}

/// The files of a source; text may be a folder or a pattern.
pub(crate) fn files(source: &Bound<'_, PyAny>) -> PyResult<Vec<DataFile>> {
    source::files(source, EXTENSIONS, source::random_access)
}

/// What a reader would do, by the first file: its row groups, columns and engines.
#[pyfunction]
pub(crate) fn explain_parquet(
    source: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
) -> PyResult<String> {
    match open(source, false, options, &Arc::default())? {
        (Opened::Host(reader), _) => Ok(reader.explanation().to_string()),
        (Opened::Device(_), _) => Ok(String::new()),
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
