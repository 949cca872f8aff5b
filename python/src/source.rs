// SPDX-License-Identifier: Apache-2.0
//! What Python calls a source, as inputs of the library.
//!
//! `bytes` never change, so their memory is read as it is. Other buffers may change under a thread that
//! reads them; they and files are copied piece by piece, holding the GIL.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use arrowsmith::Input;
use pyo3::exceptions::{PyBlockingIOError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList, PyMemoryView, PySlice, PyString, PyTuple};

use crate::errors::raised;

/// The inputs that a source stands for, in order.
pub(crate) fn inputs(source: &Bound<'_, PyAny>) -> PyResult<Vec<Input>> {
    if !(source.is_instance_of::<PyList>() || source.is_instance_of::<PyTuple>()) {
        return one(source);
    }
    let mut inputs = Vec::new();
    for item in source.try_iter()? {
        inputs.extend(one(&item?)?);
    }
    Ok(inputs)
}

fn one(source: &Bound<'_, PyAny>) -> PyResult<Vec<Input>> {
    let py = source.py();
    if let Ok(pattern) = source.cast::<PyString>() {
        // Only text is taken for a pattern: a `Path` means one file.
        return arrowsmith::expand(pattern.to_str()?).map_err(|error| raised(py, error));
    }
    let input = if let Ok(bytes) = source.cast::<PyBytes>() {
        Input::bytes(PyBackedBytes::from(bytes.clone()))
    } else if let Ok(view) = PyMemoryView::from(source) {
        Input::reader(BufferReader::new(&view)?)
    } else if source.hasattr("read")? {
        let name = source.getattr("name").and_then(|name| name.extract::<String>());
        let reader = FileReader { file: source.clone().unbind() };
        Input::Reader { name: name.ok().map(Arc::from), reader: Box::new(reader) }
    } else if source.hasattr("__fspath__")? {
        Input::Path(source.extract::<PathBuf>()?)
    } else {
        return Err(PyTypeError::new_err(format!(
            "source: expected a path, a pattern, bytes, a buffer, a binary file, or a list of these, found {}",
            source.get_type().name()?
        )));
    };
    Ok(vec![input])
}

/// Runs `work` with the GIL, wherever this thread comes from.
fn attached<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> io::Result<T> {
    match Python::try_attach(|py| work(py).map_err(io::Error::from)) {
        Some(result) => result,
        None => Err(io::Error::other("Python is shutting down")),
    }
}

/// A buffer, from its start.
struct BufferReader {
    /// A memoryview of bytes, in one piece.
    view: Py<PyAny>,
    at: usize,
    len: usize,
}

impl BufferReader {
    fn new(view: &Bound<'_, PyMemoryView>) -> PyResult<Self> {
        let view = view.call_method1("cast", ("B",))?;
        Ok(Self { len: view.len()?, view: view.unbind(), at: 0 })
    }
}

impl Read for BufferReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let end = self.len.min(self.at.saturating_add(buffer.len()));
        if end == self.at {
            return Ok(0);
        }
        let read = attached(|py| {
            let slice = PySlice::new(py, self.at.try_into()?, end.try_into()?, 1);
            let piece = self.view.bind(py).get_item(slice)?.call_method0("tobytes")?;
            fill(buffer, piece.cast::<PyBytes>()?.as_bytes())
        })?;
        self.at += read;
        Ok(read)
    }
}

/// A binary file, from where it stands.
struct FileReader {
    file: Py<PyAny>,
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        attached(|py| {
            let piece = self.file.bind(py).call_method1("read", (buffer.len(),))?;
            if piece.is_none() {
                return Err(PyBlockingIOError::new_err("source: read() has no data yet"));
            }
            let Ok(bytes) = piece.cast::<PyBytes>() else {
                return Err(PyTypeError::new_err(format!(
                    "source: read() must give bytes, not {}; is the file open in binary mode?",
                    piece.get_type().name()?
                )));
            };
            fill(buffer, bytes.as_bytes())
        })
    }
}

/// Copies a piece to the start of `buffer`, where it has to fit.
fn fill(buffer: &mut [u8], piece: &[u8]) -> PyResult<usize> {
    match buffer.get_mut(..piece.len()) {
        Some(start) => {
            start.copy_from_slice(piece);
            Ok(piece.len())
        }
        None => Err(PyTypeError::new_err("source: read() gave more bytes than were asked for")),
    }
}
