// SPDX-License-Identifier: Apache-2.0
//! Errors, worded for the user of the command line.

use std::fmt;
use std::path::PathBuf;

/// Why something could not be generated, built or run.
#[derive(Debug)]
#[non_exhaustive]
pub enum JvmError {
    /// The text is not a valid layout: the error, and its position.
    Layout(String),
    /// A class with a field that cannot be transferred: the path, and the reason.
    Unsupported {
        /// From the root to the field: `Order.lines[].next`.
        path: String,
        /// The reason.
        reason: String,
    },
    /// Objects of a layout would exceed a limit.
    TooLarge {
        /// What is too large.
        what: String,
        /// The limit.
        limit: u64,
    },
    /// A file could not be read or written.
    Io {
        /// Its path.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A tool (java, javac, cc, mvn) is missing or failed.
    Tool {
        /// Its name.
        tool: String,
        /// Its output.
        message: String,
    },
    /// The generated program failed.
    Run(String),
}

impl fmt::Display for JvmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layout(message) => write!(f, "layout: {message}"),
            Self::Unsupported { path, reason } => write!(f, "layout: {path}: {reason}"),
            Self::TooLarge { what, limit } => {
                write!(f, "layout: {what} is more than the limit of {limit}")
            }
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Tool { tool, message } => write!(f, "{tool}: {message}"),
            Self::Run(message) => write!(f, "the generated program failed: {message}"),
        }
    }
}

impl std::error::Error for JvmError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
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
