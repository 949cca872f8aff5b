// SPDX-License-Identifier: Apache-2.0
//! How a command fails: what is printed, and the exit status.
//!
//! Scripts depend on the status (docs/guide/convert.md): 1 the input or the work failed, 2 the call
//! was wrong, 130 stopped by Ctrl-C.

use std::fmt;
use std::io;

use arrowsmith_core::Error;
use arrowsmith_core::redact::redacted;

use crate::interrupt::STATUS;

/// The exit status where the input or the work failed.
const FAILED: u8 = 1;

/// The exit status where the call was wrong.
pub const USAGE: u8 = 2;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The call was wrong: an option, a schema, a name.
    Usage(String),
    /// The input, or the work, failed.
    Work(Error),
    /// The reader of our standard output has closed it: nothing is printed.
    BrokenPipe,
}

/// The result of a command.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// An error while writing the output; a closed pipe is [`Failure::BrokenPipe`].
    pub fn output(error: Error) -> Self {
        match &error {
            Error::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => {
                Self::BrokenPipe
            }
            _ => Self::Work(error),
        }
    }

    /// An error while writing to standard output.
    pub fn stdout(error: io::Error) -> Self {
        Self::output(Error::io("-", error))
    }

    /// Prints the failure to standard error, and returns the exit status.
    pub fn report(&self) -> u8 {
        match self {
            Self::Usage(message) => {
                let message = redacted(message);
                eprintln!("error: {message}\n\nFor more information, try '--help'.");
                USAGE
            }
            Self::Work(Error::Cancelled) => {
                eprintln!("interrupted");
                STATUS
            }
            Self::Work(error) => {
                eprint!("{}", Described(error));
                FAILED
            }
            Self::BrokenPipe => 0,
        }
    }
}

/// Invalid options and schemas are [`Failure::Usage`]; every other error is [`Failure::Work`].
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Config(message) => Self::Usage(message),
            Error::Schema { .. } => Self::Usage(error.to_string()),
            other => Self::Work(other),
        }
    }
}

/// An error on one line, and its hint on the next.
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
