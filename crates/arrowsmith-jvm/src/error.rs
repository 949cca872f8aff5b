// SPDX-License-Identifier: Apache-2.0
//! Errors, worded for the user of the command line.

use std::path::PathBuf;

/// Why something could not be generated, built or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JvmError {
    /// The text is not a valid layout: the error, and its position.
    #[error("layout: {0}")]
    Layout(String),
    /// A class with a field that cannot be transferred: the path, and the reason.
    #[error("layout: {path}: {reason}")]
    Unsupported {
        /// From the root to the field: `Order.lines[].next`.
        path: String,
        /// The reason.
        reason: String,
    },
    /// Objects of a layout would exceed a limit.
    #[error("layout: {what} is more than the limit of {limit}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// The limit.
        limit: u64,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Its path.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A tool (java, javac, cc, mvn) is missing or failed.
    #[error("{tool}: {message}")]
    Tool {
        /// Its name.
        tool: String,
        /// Its output.
        message: String,
    },
    /// The generated program failed.
    #[error("the generated program failed: {0}")]
    Run(String),
}

impl JvmError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    pub(crate) fn unsupported(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Unsupported { path: path.into(), reason: reason.into() }
    }
}
