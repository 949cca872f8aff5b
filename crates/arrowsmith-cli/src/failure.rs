// SPDX-License-Identifier: Apache-2.0
//! How a command ends when it does not end well: what is printed, and the exit status.
//!
//! Scripts depend on the status (docs/guide/convert.md): 1 the input or the work failed, 2 the call
//! was wrong, 130 stopped by Ctrl-C.

use std::fmt;
use std::io;
use std::process::ExitCode;

use arrowsmith_core::Error;

use crate::interrupt::STATUS;

/// Why a command did not finish.
#[derive(Debug)]
pub enum Failure {
    /// The call was wrong: an option, a schema, a name.
    Usage(String),
    /// The input, or the work, failed.
    Work(Error),
    /// Whoever read our standard output has gone: nothing to say, nobody to tell.
    BrokenPipe,
}

/// The result of a command.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// An error met while writing: a closed pipe is no failure of ours.
    pub fn output(error: Error) -> Self {
        match &error {
            Error::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => {
                Self::BrokenPipe
            }
            _ => Self::Work(error),
        }
    }

    /// An error met while writing to standard output.
    pub fn stdout(error: io::Error) -> Self {
        Self::output(Error::io("-", error))
    }

    /// Prints to standard error what is to be said, and gives the exit status.
    pub fn report(&self) -> ExitCode {
        match self {
            Self::Usage(message) => {
                eprintln!("error: {message}\n\nFor more information, try '--help'.");
                ExitCode::from(2)
            }
            Self::Work(Error::Cancelled) => {
                eprintln!("interrupted");
                ExitCode::from(STATUS)
            }
            Self::Work(error) => {
                eprint!("{}", Described(error));
                ExitCode::FAILURE
            }
            Self::BrokenPipe => ExitCode::SUCCESS,
        }
    }
}

/// Options and schemas that make no sense are the caller's; all else is the work's.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Config(message) => Self::Usage(message),
            Error::Schema { .. } => Self::Usage(error.to_string()),
            other => Self::Work(other),
        }
    }
}

/// An error in one line, and its hint in another.
struct Described<'a>(&'a Error);

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(data) = self.0.as_data() else { return writeln!(f, "error: {}", self.0) };
        let mut data = data.clone();
        let hint = data.hint.take();
        writeln!(f, "error: {data}")?;
        match hint {
            Some(hint) => writeln!(f, "hint: {hint}"),
            None => Ok(()),
        }
    }
}
