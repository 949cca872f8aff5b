// SPDX-License-Identifier: Apache-2.0
//! Converts Python sources to inputs of the library: text is a path, a pattern or a URL.
//!
//! `bytes` never change, so their memory is read in place. Other buffers may change while a thread
//! reads them; they and files are copied piece by piece, holding the GIL.

use std::fs::Metadata;
use std::io::{self, Read};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use arrowsmith::json::EXTENSIONS;
use arrowsmith::store::StoreOptions;
use arrowsmith::{DataFile, Input, Ranged};
use bytes::Bytes;
use pyo3::exceptions::{PyBlockingIOError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList, PyMemoryView, PySlice, PyString, PyTuple};

use crate::errors::raised;
use crate::split::File;
use crate::wait::{Place, attended, signals};

/// Bytes per read of a Python file.
const PIECE_BYTES: usize = 8 << 20;

/// `os.SEEK_END`.
const SEEK_END: u8 = 2;

/// The files of JSON that a source stands for, in order.
pub(crate) fn inputs(source: &Bound<'_, PyAny>) -> PyResult<Vec<DataFile>> {
    files(source, EXTENSIONS, unopened)
}

/// Files of up to this many bytes together are read on the caller's thread.
const HERE_BYTES_MAX: u64 = 8 << 20;

/// Where files are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    /// All of them, or what their schema is inferred from.
    pub(crate) whole: Place,
    /// Up to the next batch.
    pub(crate) next: Place,
    /// Whether there may be many records up to it.
    pub(crate) filters: bool,
}

impl Places {
    /// On the caller's thread, with as few turns as there are.
    pub(crate) const HERE: Self = Self { whole: Place::Here, next: Place::Here, filters: false };

    pub(crate) fn of(files: &[DataFile], filters: bool) -> Self {
        let bytes = |file: &DataFile| match &file.input {
            Input::Bytes { bytes, .. } => Some(bytes.as_ref().as_ref().len() as u64),
            // Others may have to wait, for a writer or a server.
            Input::Path(path) => {
                path.metadata().ok().filter(Metadata::is_file).map(|found| found.len())
            }
            _ => None,
        };
        let mut each = files.iter().map(bytes);
        match each.try_fold(0_u64, |all, one| Some(all.saturating_add(one?))) {
            Some(all) if all <= HERE_BYTES_MAX => Self::HERE,
            Some(_) => Self { whole: Place::Apart, next: Place::Here, filters },
            None => Self { whole: Place::Apart, next: Place::Apart, filters },
        }
    }
}

/// The files of a source, in order. Text may be a folder or a pattern, of whose files those count
/// that end in one of `extensions`; `open` makes inputs of all else.
pub(crate) fn files(
    source: &Bound<'_, PyAny>,
    extensions: &'static [&'static str],
    open: impl Fn(&Bound<'_, PyAny>) -> PyResult<Input>,
) -> PyResult<Vec<DataFile>> {
    let py = source.py();
    let one = |source: &Bound<'_, PyAny>| {
        let (source, options) = unwrapped(source);
        if let Ok(name) = source.cast::<PyString>() {
            let name = name.to_str()?;
            let found = match arrowsmith::store::is_url(name) {
                true => {
                    let (name, place) = (name.to_owned(), Place::Apart);
                    attended(py, place, &AtomicBool::default(), signals, move || {
                        arrowsmith::store::expand_url_with(&name, extensions, &options)
                    })?
                }
                false => py.detach(|| arrowsmith::expand_dataset(name, extensions)),
            };
            return found.map_err(|error| raised(py, error));
        }
        if let Ok(file) = source.cast::<File>() {
            let file = file.get();
            let file = py.detach(|| file.open(&options));
            return file.map(|file| vec![file]).map_err(|error| raised(py, error));
        }
        match open(&source)? {
            // The name of a folder is taken literally, even if it looks like a pattern.
            Input::Path(path) if path.is_dir() => {
                arrowsmith::expand_dataset(path, extensions).map_err(|error| raised(py, error))
            }
            input => Ok(vec![input.into()]),
        }
    };
    if !(source.is_instance_of::<PyList>() || source.is_instance_of::<PyTuple>()) {
        return one(source);
    }
    let mut files = Vec::new();
    for item in source.try_iter()? {
        files.extend(one(&item?)?);
    }
    Ok(files)
}

/// A source or target in a store, with the settings of the store.
#[pyclass(module = "arrowsmith._lib", frozen)]
pub(crate) struct Stored {
    place: Py<PyAny>,
    options: StoreOptions,
}

#[pymethods]
impl Stored {
    #[new]
    fn new(
        place: Py<PyAny>,
        settings: Vec<(String, String)>,
        headers: Vec<(String, String)>,
    ) -> Self {
        Self { place, options: StoreOptions::new(settings, headers) }
    }
}

/// What may be a [`Stored`], and the settings of its store.
pub(crate) fn unwrapped<'py>(place: &Bound<'py, PyAny>) -> (Bound<'py, PyAny>, StoreOptions) {
    match place.cast::<Stored>() {
        Ok(stored) => {
            let stored = stored.get();
            (stored.place.bind(place.py()).clone(), stored.options.clone())
        }
        Err(_) => (place.clone(), StoreOptions::default()),
    }
}

/// Any source except text, as an input that is read sequentially.
fn unopened(source: &Bound<'_, PyAny>) -> PyResult<Input> {
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
            "source: expected a path, a pattern, a URL, bytes, a buffer, a binary file, or a list of these, found {}",
            source.get_type().name()?
        )));
    };
    Ok(input)
}

/// Any source except text, for a format with random access: a seekable file is read in parts,
/// others entirely.
pub(crate) fn random_access(source: &Bound<'_, PyAny>) -> PyResult<Input> {
    let is_buffer = source.is_instance_of::<PyBytes>() || PyMemoryView::from(source).is_ok();
    if is_buffer || !source.hasattr("seek")? || !source.hasattr("tell")? {
        return unopened(source);
    }
    if source.hasattr("seekable")? && !source.call_method0("seekable")?.is_truthy()? {
        return unopened(source);
    }
    let name = source.getattr("name").and_then(|name| name.extract::<String>());
    source.call_method1("seek", (0, SEEK_END))?;
    let bytes = source.call_method0("tell")?.extract()?;
    let ranged = FileParts { file: source.clone().unbind(), bytes, turn: Mutex::new(()) };
    Ok(Input::Ranged { name: name.ok().map(Arc::from), ranged: Arc::new(ranged) })
}

/// Runs `work` with the GIL, on any thread.
fn attached<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> io::Result<T> {
    match Python::try_attach(|py| work(py).map_err(io::Error::from)) {
        Some(result) => result,
        None => Err(io::Error::other("Python is shutting down")),
    }
}

/// Reads a buffer from its start.
struct BufferReader {
    /// A contiguous memoryview of bytes.
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

/// Reads a binary file from its current position.
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
                    "source: read() must return bytes, not {}; is the file open in binary mode?",
                    piece.get_type().name()?
                )));
            };
            fill(buffer, bytes.as_bytes())
        })
    }
}

/// A seekable binary file.
struct FileParts {
    file: Py<PyAny>,
    bytes: u64,
    /// Locked without the GIL while the file's position must not change.
    turn: Mutex<()>,
}

impl Ranged for FileParts {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut parts = Vec::with_capacity(ranges.len());
        for range in ranges {
            attached(|py| self.file.bind(py).call_method1("seek", (range.start,)).map(drop))?;
            let count = range.end - range.start;
            let mut part = Vec::new();
            let mut reader = FileReader { file: attached(|py| Ok(self.file.clone_ref(py)))? };
            while (part.len() as u64) < count {
                let missing = count - part.len() as u64;
                let piece = usize::try_from(missing).unwrap_or(usize::MAX).min(PIECE_BYTES);
                let start = part.len();
                part.resize(start + piece, 0);
                let read = reader.read(&mut part[start..])?;
                part.truncate(start + read);
                if read == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            parts.push(part.into());
        }
        Ok(parts)
    }
}

/// Copies a piece to the start of `buffer`; an error if it is longer.
fn fill(buffer: &mut [u8], piece: &[u8]) -> PyResult<usize> {
    match buffer.get_mut(..piece.len()) {
        Some(start) => {
            start.copy_from_slice(piece);
            Ok(piece.len())
        }
        None => Err(PyTypeError::new_err("source: read() returned more bytes than requested")),
    }
}
