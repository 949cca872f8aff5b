// SPDX-License-Identifier: Apache-2.0
//! Why an engine returns no decoder: it declines, and the next one is tried, or it fails.

use std::fmt;

use arrowsmith_core::{DecodeOptions, Dialect, Error, FileErrorKind, UnknownKeys};
use arrowsmith_parquet::Column;
use arrowsmith_plan::Plan;

/// What an engine does not decode, and why. Another engine may decode it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declined {
    /// Path of the field or column, dotted; empty for the plan as a whole, or for an option.
    pub path: String,
    /// The reason, in words.
    pub reason: String,
}

impl Declined {
    /// Declines the field or column at `path` (dotted, empty for the whole plan), for a reason.
    pub fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { path: path.into(), reason: reason.into() }
    }

    /// Declines dialects other than ISO 8601, for an engine that knows no other.
    ///
    /// # Errors
    /// The reason.
    pub fn other_dialects(options: &DecodeOptions) -> Result<(), Self> {
        match options.dialect {
            Dialect::Iso => Ok(()),
            Dialect::Spark => Err(Self::new("", "it does not read the dialect spark")),
        }
    }

    /// Declines plans of some columns where keys that the schema lacks are errors, for an engine
    /// that cannot tell these from the keys of other columns.
    ///
    /// # Errors
    /// The reason.
    pub fn unselected_keys(plan: &Plan, options: &DecodeOptions) -> Result<(), Self> {
        match options.unknown_keys {
            UnknownKeys::Error if plan.has_unselected() => {
                let reason = "it does not tell unknown keys from those that are not selected";
                Err(Self::new("", reason))
            }
            _ => Ok(()),
        }
    }

    /// The same for a column: its path becomes that of reasons without one.
    pub(crate) fn of_column(mut self, column: &Column) -> Self {
        if self.path.is_empty() {
            self.path.clone_from(column.field().name());
        }
        self
    }

    /// The error for a JSON plan that every engine declines, with this reason.
    pub(crate) fn json_error(self) -> Error {
        if self.path.is_empty() {
            return Error::Config(self.reason);
        }
        Error::Schema { path: self.path, message: self.reason }
    }

    /// The error for a Parquet column that every engine declines, with this reason.
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

/// The answer of an engine that is tried.
pub type Answer<T> = Result<T, EngineError>;

/// Why an engine returns no decoder.
#[derive(Debug)]
pub enum EngineError {
    /// It does not decode this; the next engine of a chain is tried.
    Declined(Declined),
    /// It would decode this, and cannot: options, limits, a file that is malformed, a device that
    /// fails. No other engine is tried.
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

    /// The same for a column: its path becomes that of reasons without one.
    pub(crate) fn of_column(self, column: &Column) -> Self {
        match self {
            Self::Declined(declined) => Self::Declined(declined.of_column(column)),
            failed @ Self::Failed(_) => failed,
        }
    }

    /// The final error for a JSON plan.
    pub(crate) fn of_json(self) -> Error {
        match self {
            Self::Declined(declined) => declined.json_error(),
            Self::Failed(error) => error,
        }
    }

    /// The final error for a Parquet column.
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
