// SPDX-License-Identifier: Apache-2.0
//! Why an engine gives no decoder: it declines, and another may be asked, or the work fails.

use std::fmt;

use arrowsmith_core::{Error, FileErrorKind};
use arrowsmith_parquet::Column;

/// What an engine does not decode, and why. Another engine may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declined {
    /// Path of the field or column, dotted; empty for the plan as a whole, or for an option.
    pub path: String,
    /// The reason, in words.
    pub reason: String,
}

impl Declined {
    /// The field or column at `path` (dotted, empty for the whole plan), for a reason.
    pub fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { path: path.into(), reason: reason.into() }
    }

    /// The same of a column, for reasons that name no place in it.
    pub(crate) fn of_column(mut self, column: &Column) -> Self {
        if self.path.is_empty() {
            self.path.clone_from(column.field().name());
        }
        self
    }

    /// The error of a JSON plan that every engine declines, and this is why.
    pub(crate) fn json_error(self) -> Error {
        if self.path.is_empty() {
            return Error::Config(self.reason);
        }
        Error::Schema { path: self.path, message: self.reason }
    }

    /// The error of a Parquet column that every engine declines, and this is why.
    pub(crate) fn parquet_error(self) -> Error {
        let Self { path, reason } = self;
        Error::file(FileErrorKind::Unsupported, format!("column {path}: {reason}"))
    }
}

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.reason),
            path => write!(f, "{path}: {}", self.reason),
        }
    }
}

/// What an engine says when it is asked.
pub type Answer<T> = Result<T, EngineError>;

/// Why an engine gives no decoder.
#[derive(Debug)]
pub enum EngineError {
    /// It does not decode this; the next engine of a chain is asked.
    Declined(Declined),
    /// It would decode this, and cannot: options, limits, a file that is not sound, a device that
    /// fails. Nobody else is asked.
    Failed(Error),
}

impl EngineError {
    /// A schema error declines the plan; every other is a failure.
    pub fn of_schema(error: Error) -> Self {
        match error {
            Error::Schema { path, message } => Declined::new(path, message).into(),
            other => other.into(),
        }
    }

    /// The same of a column, for reasons that name no place in it.
    pub(crate) fn of_column(self, column: &Column) -> Self {
        match self {
            Self::Declined(declined) => Self::Declined(declined.of_column(column)),
            failed @ Self::Failed(_) => failed,
        }
    }

    /// The error of JSON that nobody else is asked about.
    pub(crate) fn of_json(self) -> Error {
        match self {
            Self::Declined(declined) => declined.json_error(),
            Self::Failed(error) => error,
        }
    }

    /// The error of a Parquet column that nobody else is asked about.
    pub(crate) fn of_parquet(self) -> Error {
        match self {
            Self::Declined(declined) => declined.parquet_error(),
            Self::Failed(error) => error,
        }
    }
}

impl From<Declined> for EngineError {
    fn from(declined: Declined) -> Self {
        Self::Declined(declined)
    }
}

impl From<Error> for EngineError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
