// SPDX-License-Identifier: Apache-2.0
//! The `arrowsmith` command: a command line for the library's sources, engines and sinks.
//!
//! It is a library so that the executable and the Python package, whose wheel has no executable of
//! its own, are the same code: [`run`] is all that it exports.
//!
//! Results go to files or standard output, everything else to standard error. The output, the
//! options and the exit status are stable interfaces (docs/guide/convert.md). This crate never
//! decodes anything itself.

#![forbid(unsafe_code)]

mod args;
#[cfg(feature = "bench")]
mod bench;
mod cli;
mod completions;
mod convert;
mod failure;
mod features;
mod fetch;
/// What the fuzz target of CSV calls.
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::convert::csv;
}
mod generate;
mod health;
mod infer;
mod ingest;
mod input;
mod inspect;
mod interrupt;
#[cfg(feature = "jvm")]
mod jvm;
#[cfg(feature = "objects")]
mod objects;
mod progress;
mod rejects;
#[cfg(feature = "rtl")]
mod rtl;
mod schema;
mod serve;
mod size;

use std::ffi::OsString;
use std::io::{self, Write};

use arrowsmith_core::redact::redacted;
use clap::Parser;

use crate::cli::Cli;
use crate::failure::Failure;

/// Runs the command with these arguments, of which the first is the program's name, and returns the
/// exit status (docs/guide/convert.md).
///
/// It prints to the process's standard output and standard error and handles its signals: SIGINT
/// ends the process where the work does not stop by itself. A process runs it once.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    interrupt::ignore_file_size_limit();
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => match features::lacking_subcommand(&error) {
            Some(failure) => return failure.report(),
            None => return usage(&error),
        },
    };
    let outcome = cli.command.run();
    // The process flushes only what an executable of Rust's has left.
    match outcome.and_then(|()| io::stdout().flush().map_err(Failure::stdout)) {
        Ok(()) => 0,
        Err(failure) => failure.report(),
    }
}

/// Prints a usage error, or the requested help or version.
fn usage(error: &clap::Error) -> u8 {
    // It repeats the arguments. If its stream is closed, the message is lost.
    let text = error.render().to_string();
    if redacted(&text) == text {
        drop(error.print().and_then(|()| io::stdout().flush()));
    } else {
        eprint!("{}", redacted(&text));
    }
    u8::try_from(error.exit_code()).unwrap_or(failure::USAGE)
}
