// SPDX-License-Identifier: Apache-2.0
//! The streaming reader: an iterator of batches, or once an Arrow stream.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use arrow_schema::SchemaRef;
use arrowsmith::Progress;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::batches::{Batches, Stream};
use crate::export::{schema_capsule, stream_capsule};
use crate::rejects::Kept;
use crate::schema::Schema;
use crate::table::{Batch, Table, stays};
use crate::wait::{attended, signals};

/// The owner of the batches.
enum State {
    /// This reader.
    Open(Box<Batches>),
    /// The consumer of the Arrow stream.
    Taken,
    /// The reader is closed.
    Closed,
}

/// Yields batches as they are decoded.
#[pyclass(module = "arrowsmith", frozen)]
pub(crate) struct Reader {
    /// Used only with `try_lock`: a thread that waits here would hold the GIL, which the owner of
    /// the lock may need.
    state: Mutex<State>,
    schema: SchemaRef,
    progress: Arc<Progress>,
    kept: Kept,
    cancel: Arc<AtomicBool>,
    on_device: bool,
}

impl Reader {
    pub(crate) fn new(batches: Batches) -> Self {
        Self {
            schema: batches.schema(),
            progress: batches.progress(),
            kept: batches.kept(),
            cancel: batches.cancel(),
            on_device: batches.on_device(),
            state: Mutex::new(State::Open(Box::new(batches))),
        }
    }

    fn state(&self) -> PyResult<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(PyValueError::new_err("the reader is in use: another call has not returned"))
            }
        }
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("the reader is closed")
}

fn taken() -> PyErr {
    PyValueError::new_err(
        "the reader was already exported as an Arrow stream, which is possible only once",
    )
}

#[pymethods]
impl Reader {
    /// The columns and their types.
    #[getter]
    fn schema(&self) -> Schema {
        Schema::new(Arc::clone(&self.schema))
    }

    /// Number of rows decoded so far.
    #[getter]
    fn num_rows(&self) -> u64 {
        self.progress.rows()
    }

    /// Number of records so far that were skipped, or in which a value became null.
    #[getter]
    fn num_rejects(&self) -> u64 {
        self.progress.rejects()
    }

    /// The first of those records, and why, as a table.
    #[getter]
    fn rejects(&self, py: Python<'_>) -> PyResult<Table> {
        Table::of_rejects(py, &self.kept)
    }

    /// Bytes of the source that were read so far, as they are stored.
    #[getter]
    fn bytes_read(&self) -> u64 {
        self.progress.bytes()
    }

    /// Bytes of the source that will be read, unless reading ends early; `None` if that is not
    /// known.
    #[getter]
    fn bytes_total(&self) -> Option<u64> {
        self.progress.bytes_total()
    }

    /// Number of values so far that were skipped because the schema has no such key.
    #[getter]
    fn num_left_out(&self) -> u64 {
        self.progress.left_out().0
    }

    /// Whether `close` was called.
    #[getter]
    fn closed(&self) -> bool {
        let cancelled = self.cancel.load(Ordering::SeqCst);
        match self.state.try_lock() {
            Ok(state) => match *state {
                State::Open(_) => cancelled,
                State::Taken => false,
                State::Closed => true,
            },
            Err(_) => cancelled,
        }
    }

    /// Stops decoding. An Arrow stream that was exported before continues.
    fn close(&self, py: Python<'_>) {
        let Ok(mut state) = self.state() else {
            // A call in progress ends immediately.
            self.cancel.store(true, Ordering::SeqCst);
            return;
        };
        if !matches!(*state, State::Taken) {
            self.cancel.store(true, Ordering::SeqCst);
        }
        let before = std::mem::replace(&mut *state, State::Closed);
        drop(state);
        py.detach(|| drop(before));
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let mut state = self.state()?;
        let mut batches = match std::mem::replace(&mut *state, State::Closed) {
            State::Open(batches) => batches,
            State::Taken => {
                *state = State::Taken;
                return Err(taken());
            }
            State::Closed => return Err(closed()),
        };
        // An exception of a signal closes the reader.
        let place = batches.place_of_next();
        let (next, batches) = attended(py, place, &self.cancel, signals, move || {
            let next = batches.next();
            (next, batches)
        })?;
        *state = State::Open(batches);
        Ok(next.map_err(|failure| failure.raised(py))?.map(Batch::new))
    }

    fn __aiter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    /// The next batch, decoded while the event loop runs.
    fn __anext__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("arrowsmith._async")?.call_method1("next_batch", (slf,))
    }

    fn __aenter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("arrowsmith._async")?.call_method1("entered", (slf,))
    }

    #[pyo3(signature = (*_exception))]
    fn __aexit__<'py>(
        slf: &Bound<'py, Self>,
        _exception: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("arrowsmith._async")?.call_method1("closed", (slf,))
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
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
        if self.on_device {
            return Err(stays());
        }
        let mut state = self.state()?;
        match std::mem::replace(&mut *state, State::Taken) {
            State::Open(batches) => stream_capsule(py, Stream::new(*batches)),
            State::Taken => Err(taken()),
            State::Closed => {
                *state = State::Closed;
                Err(closed())
            }
        }
    }

    fn __repr__(&self) -> String {
        let text = arrowsmith::plan::text::format_schema(&self.schema);
        format!("<arrowsmith.Reader: {} rows so far>\n{text}", self.progress.rows())
    }
}
