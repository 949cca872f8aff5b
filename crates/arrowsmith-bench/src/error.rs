// SPDX-License-Identifier: Apache-2.0
//! Errors that stop a benchmark as a whole. A failure of one engine only is a
//! [`crate::NotMeasured`].

use std::fmt;
use std::path::PathBuf;

/// The reason a benchmark could not be run.
#[derive(Debug)]
#[non_exhaustive]
pub enum BenchError {
    /// The embedded definition cannot be read.
    Definition(String),
    /// A name that is not in the definition.
    UnknownName {
        /// `workload` or `engine`.
        what: &'static str,
        /// The requested name.
        name: String,
        /// The known names.
        known: Vec<String>,
    },
    /// A file could not be read or written.
    Io {
        /// Its path.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The generated input differs from the definition.
    WrongInput {
        /// The workload.
        workload: String,
        /// Expected records.
        expected: u64,
        /// Actual records.
        found: u64,
    },
    /// A service under measurement failed.
    Service {
        /// The failure.
        message: String,
    },
    /// The reference engine failed, so there are no expected results.
    Reference {
        /// The workload.
        workload: String,
        /// Its message.
        message: String,
    },
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Definition(message) => write!(f, "benchmark definition: {message}"),
            Self::UnknownName { what, name, known } => {
                write!(f, "unknown {what} {name:?}; there are {}", known.join(", "))
            }
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::WrongInput { workload, expected, found } => write!(
                f,
                "the input of {workload} has {found} records, but its definition says {expected}"
            ),
            Self::Service { message } => write!(f, "{message}"),
            Self::Reference { workload, message } => {
                write!(f, "the reference engine failed on {workload}: {message}")
            }
        }
    }
}

impl std::error::Error for BenchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl BenchError {
    /// Refuses a name that is not among the known ones.
    pub(crate) fn unless_known(
        what: &'static str,
        names: &[String],
        known: &[&str],
    ) -> Result<(), Self> {
        let unknown = names.iter().find(|name| !known.contains(&name.as_str()));
        unknown.map_or(Ok(()), |name| {
            let known = known.iter().map(|name| (*name).to_owned()).collect();
            Err(Self::UnknownName { what, name: name.clone(), known })
        })
    }

    /// For `map_err`: an I/O error with its path.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
