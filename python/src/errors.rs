// SPDX-License-Identifier: Apache-2.0
//! The library's errors as Python's exceptions. The classes are in `python/arrowsmith/errors.py`.

use std::io;
use std::path::{Path, PathBuf};

use arrow_schema::ArrowError;
use arrowsmith::{DataError, Error, FileError};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// Why there is no next batch.
pub(crate) enum Failure {
    /// An error of the library.
    Library(Error),
    /// An exception of Python code that was called.
    Python(PyErr),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl Failure {
    /// The exception to raise.
    pub(crate) fn raised(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Library(error) => raised(py, error),
            Self::Python(error) => error,
        }
    }

    /// The error for an Arrow stream, which keeps only a text and an error class.
    pub(crate) fn into_arrow(self) -> ArrowError {
        // A C string ends at a NUL, which a message that quotes the input may contain.
        let plain = |text: String| text.replace('\0', "\\0");
        match self {
            Self::Library(Error::Io { path, source }) => {
                let text = plain(Error::Io { path, source }.to_string());
                ArrowError::IoError(text.clone(), io::Error::other(text))
            }
            Self::Library(error) => ArrowError::ExternalError(plain(error.to_string()).into()),
            Self::Python(error) => ArrowError::ExternalError(plain(error.to_string()).into()),
        }
    }
}

/// The exception for an error of the library.
pub(crate) fn raised(py: Python<'_>, error: Error) -> PyErr {
    let exception = match error {
        Error::Io { path, source } => return os_error(py, path, source),
        Error::Data(error) => data_error(py, *error),
        Error::Schema { ref path, .. } => exception(py, "SchemaError", &error.to_string())
            .and_then(|exception| {
                exception.setattr("path", path)?;
                Ok(exception)
            }),
        Error::File(error) => file_error(py, &error),
        Error::Config(message) => exception(py, "ConfigError", &in_python(&message)),
        other => exception(py, "ArrowsmithError", &other.to_string()),
    };
    exception.map_or_else(|error| error, PyErr::from_value)
}

/// The exception for an invalid option.
pub(crate) fn config(py: Python<'_>, message: String) -> PyErr {
    raised(py, Error::Config(message))
}

fn exception<'py>(py: Python<'py>, class: &str, message: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("arrowsmith.errors")?.getattr(class)?.call1((message,))
}

fn data_error(py: Python<'_>, mut error: DataError) -> PyResult<Bound<'_, PyAny>> {
    error.hint = error.hint.map(|hint| in_python(&hint));
    let exception = exception(py, "DataError", &error.to_string())?;
    exception.setattr("kind", error.kind.name())?;
    exception.setattr("source", error.position.source.as_deref())?;
    exception.setattr("record", error.position.record)?;
    exception.setattr("line", error.position.line)?;
    exception.setattr("offset", error.position.offset)?;
    exception.setattr("path", error.path)?;
    exception.setattr("expected", error.expected)?;
    exception.setattr("found", error.found)?;
    exception.setattr("hint", error.hint)?;
    Ok(exception)
}

fn file_error<'py>(py: Python<'py>, error: &FileError) -> PyResult<Bound<'py, PyAny>> {
    let exception = exception(py, "FileError", &error.to_string())?;
    exception.setattr("kind", error.kind.name())?;
    exception.setattr("source", error.place.source.as_deref())?;
    exception.setattr("row_group", error.place.row_group)?;
    exception.setattr("column", error.place.column.as_deref())?;
    exception.setattr("page", error.place.page)?;
    exception.setattr("offset", error.place.offset)?;
    Ok(exception)
}

/// Rewrites options in a message from the command line's form to Python's: `--infer-records all`
/// becomes `infer_records="all"`, `--schema` becomes `schema=`.
fn in_python(text: &str) -> String {
    let mut words = text.split(' ').peekable();
    let mut out: Vec<String> = Vec::new();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix("--") else {
            out.push(word.to_owned());
            continue;
        };
        let option = option.replace('-', "_");
        let value = words.next_if(|word| VALUES.contains(word));
        out.push(value.map_or_else(|| format!("{option}="), |value| format!("{option}={value:?}")));
    }
    out.join(" ")
}

/// Values of options that messages name.
const VALUES: [&str; 4] = ["all", "auto", "concatenated", "array"];

/// The message of a store that wants other credentials, and how they are given in Python.
fn with_remedy(path: Option<&Path>, error: &io::Error) -> String {
    let scheme = path.and_then(Path::to_str).and_then(|url| url.split_once("://"));
    let settings = match scheme.map(|(scheme, _)| scheme) {
        Some("s3" | "s3a") => "\"aws_access_key_id\": …, \"aws_secret_access_key\": …",
        Some("gs") => "\"google_service_account\": …",
        Some("az" | "adl" | "azure" | "abfs" | "abfss") => {
            "\"account_name\": …, \"account_key\": …"
        }
        Some("http" | "https") => "\"token\": …",
        _ => return error.to_string(),
    };
    format!("{error}; in Python also storage_options={{{settings}}}")
}

/// `OSError` makes its own subclasses of error numbers: 2 gives `FileNotFoundError`.
fn os_error(py: Python<'_>, path: Option<PathBuf>, source: io::Error) -> PyErr {
    if source.get_ref().is_some_and(|inner| inner.is::<PyErr>()) {
        return PyErr::from(source);
    }
    if cfg!(windows)
        && let Some(number) = source.raw_os_error()
    {
        // A Windows error code, which `OSError` takes as its fourth argument and translates to
        // errno.
        let path = path.map(PathBuf::into_os_string);
        return PyOSError::new_err((0, source.to_string(), path, number));
    }
    let known = match source.raw_os_error() {
        Some(number) => {
            let text = py
                .import("os")
                .and_then(|os| os.call_method1("strerror", (number,))?.extract::<String>());
            Some((number, text.unwrap_or_else(|_| source.to_string())))
        }
        None => match source.kind() {
            io::ErrorKind::NotFound => Some((2, source.to_string())),
            io::ErrorKind::PermissionDenied => Some((13, with_remedy(path.as_deref(), &source))),
            io::ErrorKind::AlreadyExists => Some((17, source.to_string())),
            io::ErrorKind::IsADirectory => Some((21, source.to_string())),
            _ => None,
        },
    };
    match (known, path) {
        (Some((number, text)), Some(path)) => {
            PyOSError::new_err((number, text, path.into_os_string()))
        }
        (Some((number, text)), None) => PyOSError::new_err((number, text)),
        (None, path) => PyOSError::new_err(Error::Io { path, source }.to_string()),
    }
}
