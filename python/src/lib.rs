// SPDX-License-Identifier: Apache-2.0
//! The module `arrowsmith._lib`: the library as Python sees it.
//!
//! It converts Python's values to inputs, schemas and options, runs the reader without the GIL, and
//! exports the batches through the Arrow PyCapsule interface, without a copy. It contains no data
//! logic: options are those of the library's table, types are in `python/arrowsmith`, decoding is
//! in the library.

#![deny(unsafe_code)]

mod batches;
mod errors;
mod export;
mod filter;
mod gpu;
mod html;
#[expect(unsafe_code, reason = "the C interfaces of Arrow")]
mod import;
mod ipc;
mod lake;
mod names;
mod options;
mod parquet;
mod progress;
mod reader;
mod rejects;
mod schema;
mod source;
mod split;
mod table;
mod wait;
mod write;

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrowsmith::json::ReaderBuilder;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::batches::Batches;
use crate::errors::{Failure, raised};
use crate::progress::Watch;
use crate::reader::Reader;
use crate::schema::Schema;
use crate::source::Places;
use crate::table::{Batch, Table};
use crate::wait::{attended, signals};

// musl's allocator has one lock for all threads.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Reads everything.
#[pyfunction]
#[pyo3(signature = (source, schema, rejects, on_device, options, cancel=None, progress=None))]
fn read_json(
    source: &Bound<'_, PyAny>,
    schema: &Bound<'_, PyAny>,
    rejects: &Bound<'_, PyAny>,
    on_device: bool,
    options: &Bound<'_, PyDict>,
    cancel: Option<&Bound<'_, Cancel>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Table> {
    let (flag, watch) = (flag(cancel), Watch::new(progress));
    batches::collect(source, schema, rejects, on_device, options, flag, watch)
}

/// Stops a call of another thread, which then raises an exception.
#[pyclass(module = "arrowsmith", frozen)]
#[derive(Default)]
struct Cancel(Arc<AtomicBool>);

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn flag(cancel: Option<&Bound<'_, Cancel>>) -> Arc<AtomicBool> {
    cancel.map(|cancel| Arc::clone(&cancel.get().0)).unwrap_or_default()
}

fn read_all(py: Python<'_>, mut batches: Batches, mut watch: Watch) -> PyResult<Table> {
    let (schema, progress, kept) = (batches.schema(), batches.progress(), batches.kept());
    let (place, cancel) = (batches.place(), batches.cancel());
    let read = attended(
        py,
        place,
        &cancel,
        |py| watch.turn(py, &progress),
        move || {
            let mut read = Vec::new();
            while let Some(batch) = batches.next()? {
                read.push(batch);
            }
            Ok(read)
        },
    )?;
    let read = read.map_err(|failure: Failure| failure.raised(py))?;
    watch.end(py, &progress)?;
    Ok(Table::new(schema, read, &progress, kept))
}

/// Opens a reader.
#[pyfunction]
fn open_json(
    source: &Bound<'_, PyAny>,
    schema: &Bound<'_, PyAny>,
    rejects: &Bound<'_, PyAny>,
    on_device: bool,
    options: &Bound<'_, PyDict>,
) -> PyResult<Reader> {
    Ok(Reader::new(Batches::json(source, schema, rejects, on_device, options)?))
}

/// Reads everything.
#[pyfunction]
#[pyo3(signature = (source, on_device, options, cancel=None, progress=None))]
fn read_parquet(
    source: &Bound<'_, PyAny>,
    on_device: bool,
    options: &Bound<'_, PyDict>,
    cancel: Option<&Bound<'_, Cancel>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Table> {
    let batches = Batches::parquet(source, on_device, options, flag(cancel))?;
    read_all(source.py(), batches, Watch::new(progress))
}

/// What a reader would do.
#[pyfunction]
fn explain_json(
    source: &Bound<'_, PyAny>,
    schema: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
) -> PyResult<String> {
    batches::explain(source, schema, options)
}

/// Opens a reader.
#[pyfunction]
fn open_parquet(
    source: &Bound<'_, PyAny>,
    on_device: bool,
    options: &Bound<'_, PyDict>,
) -> PyResult<Reader> {
    Ok(Reader::new(Batches::parquet(source, on_device, options, Arc::default())?))
}

/// Infers a schema.
#[pyfunction]
fn infer_schema(source: &Bound<'_, PyAny>, options: &Bound<'_, PyDict>) -> PyResult<Schema> {
    let py = source.py();
    let options = options::inference(options)?;
    let inputs = source::inputs(source)?;
    let (place, cancel) = (Places::of(&inputs, false).whole, Arc::<AtomicBool>::default());
    let builder = ReaderBuilder::new().options(options).cancel(Arc::clone(&cancel));
    let found = attended(py, place, &cancel, signals, move || {
        builder.infer_schema(inputs).map(|sample| sample.schema)
    })?;
    Ok(Schema::new(found.map_err(|error| raised(py, error))?))
}

/// Runs the command, and returns its exit status.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| arrowsmith_cli::run(arguments))
}

#[pymodule]
fn _lib(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let exits = wrap_pyfunction!(batches::exits, module)?;
    module.py().import("atexit")?.call_method1("register", (exits,))?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    module.add_function(wrap_pyfunction!(read_json, module)?)?;
    module.add_function(wrap_pyfunction!(open_json, module)?)?;
    module.add_function(wrap_pyfunction!(infer_schema, module)?)?;
    module.add_function(wrap_pyfunction!(open_parquet, module)?)?;
    module.add_function(wrap_pyfunction!(explain_json, module)?)?;
    module.add_function(wrap_pyfunction!(parquet::explain_parquet, module)?)?;
    module.add_function(wrap_pyfunction!(parquet::parquet_metadata, module)?)?;
    module.add_function(wrap_pyfunction!(options::read_options, module)?)?;
    module.add_function(wrap_pyfunction!(filter::text, module)?)?;
    module.add_function(wrap_pyfunction!(read_parquet, module)?)?;
    module.add_function(wrap_pyfunction!(split::split_json, module)?)?;
    module.add_function(wrap_pyfunction!(split::split_parquet, module)?)?;
    module.add_function(wrap_pyfunction!(schema::schema_from_ipc, module)?)?;
    module.add_function(wrap_pyfunction!(table::batch_from_ipc, module)?)?;
    module.add_function(wrap_pyfunction!(table::table_from_ipc, module)?)?;
    module.add_function(wrap_pyfunction!(write::write_parquet, module)?)?;
    module.add_function(wrap_pyfunction!(write::convert_json, module)?)?;
    module.add_class::<Batch>()?;
    module.add_class::<Cancel>()?;
    module.add_class::<split::File>()?;
    module.add_class::<source::Stored>()?;
    module.add_class::<lake::TableSource>()?;
    module.add_class::<lake::TableFiles>()?;
    module.add_class::<Reader>()?;
    module.add_class::<Schema>()?;
    module.add_class::<Table>()?;
    // For tests only; not in the stub.
    #[cfg(feature = "shim")]
    module.setattr("_shim_live", wrap_pyfunction!(gpu::shim::shim_live, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
