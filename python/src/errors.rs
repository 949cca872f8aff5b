// SPDX-License-Identifier: Apache-2.0
//! The library's errors as Python's exceptions. The classes are in `python/arrowsmith/errors.py`.

use std::io;
use std::path::{Path, PathBuf};

use arrow_schema::ArrowError;
use arrowsmith::options::{self, Kind};
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
            Self::Library(Error::Data(mut error)) => {
                said_in_python(&mut error);
                ArrowError::ExternalError(plain(error.to_string()).into())
            }
            Self::Library(error) => {
                ArrowError::ExternalError(plain(in_python(&error.to_string())).into())
            }
            Self::Python(error) => ArrowError::ExternalError(plain(error.to_string()).into()),
        }
    }
}

/// The exception for an error of the library.
pub(crate) fn raised(py: Python<'_>, error: Error) -> PyErr {
    let exception = match error {
        Error::Io { path, source } => return os_error(py, path, source),
        Error::Data(error) => data_error(py, *error),
        Error::Schema { ref path, .. } => {
            exception(py, "SchemaError", &in_python(&error.to_string())).and_then(|exception| {
                exception.setattr("path", path)?;
                Ok(exception)
            })
        }
        Error::File(error) => file_error(py, *error),
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

/// Rewrites what the library says of the data, and not what it quotes.
fn said_in_python(error: &mut DataError) {
    error.hint = error.hint.take().map(|hint| in_python(&hint));
    error.expected = in_python(&error.expected);
}

fn data_error(py: Python<'_>, mut error: DataError) -> PyResult<Bound<'_, PyAny>> {
    said_in_python(&mut error);
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

fn file_error(py: Python<'_>, mut error: FileError) -> PyResult<Bound<'_, PyAny>> {
    error.message = in_python(&error.message);
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
/// becomes `infer_records="all"`, `--depth-max` becomes `depth_max`.
///
/// Only what is an option is rewritten: a message may quote the input.
fn in_python(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find("--") {
        let (before, found) = rest.split_at(at);
        let flag = &found[2..];
        let end = flag.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(flag.len());
        let (flag, after) = flag.split_at(end);
        let (before, words, after) = match written(flag, after) {
            Some((words, after)) => (before, words, after),
            // The command's own format is nothing that can be given here.
            None if flag == "format" && before.ends_with(" (") && after.contains(')') => {
                let after = after.split_once(')').map_or("", |(_, after)| after);
                (before.trim_end_matches(" ("), String::new(), after)
            }
            None => (before, format!("--{flag}"), after),
        };
        out.push_str(before);
        out.push_str(&words);
        rest = after;
    }
    out + rest
}

/// An option as Python has it, and what follows it in the message.
fn written<'a>(flag: &str, after: &'a str) -> Option<(String, &'a str)> {
    let value = after.strip_prefix(' ').unwrap_or_default();
    let end = value.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(value.len());
    let (value, rest) = value.split_at(end);
    let infer_or_read = options::JSON.iter().chain(options::PARQUET);
    let (name, kind) = match flag {
        "schema" => return Some(("schema".to_owned(), after)),
        "format" if value == "parquet" => return Some(("read_parquet".to_owned(), rest)),
        "format" if matches!(value, "arrow" | "csv" | "tsv") => return None,
        // Of the two of the command, that of the input.
        "compression-in" => ("compression", None),
        _ => {
            let option = infer_or_read.into_iter().find(|option| option.flag() == flag)?;
            (option.name, Some(option.kind))
        }
    };
    match value {
        "add" | "all" | "auto" | "ignore" | "concatenated" | "array" | "gzip" | "zstd" | "lz4"
        | "bzip2" | "xz" => Some((format!("{name}={value:?}"), rest)),
        _ if matches!(kind, Some(Kind::Flag)) => Some((format!("{name}=True"), after)),
        _ => Some((name.to_owned(), after)),
    }
}

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
