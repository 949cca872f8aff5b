// SPDX-License-Identifier: Apache-2.0
//! What can stop a benchmark as a whole. What stops one engine only is a [`crate::NotMeasured`].

use std::fmt;
use std::path::PathBuf;

/// Why a benchmark could not be run.
#[derive(Debug)]
#[non_exhaustive]
pub enum BenchError {
    /// The embedded definition cannot be read.
    Definition(String),
    /// A name that the definition does not have.
    UnknownName {
        /// `workload` or `engine`.
        what: &'static str,
        /// The name asked for.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A file could not be read or written.
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The generated input is not the one that the definition describes.
    WrongInput {
        /// The workload.
        workload: String,
        /// Records that there should be.
        expected: u64,
        /// Records that there are.
        found: u64,
    },
    /// A service under measurement failed.
    Service {
        /// What happened.
        message: String,
    },
    /// The reference engine failed, so that nothing could be compared.
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
    /// For `map_err`: an I/O error with the path that it belongs to.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
