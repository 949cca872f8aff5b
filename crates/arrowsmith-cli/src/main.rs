// SPDX-License-Identifier: Apache-2.0
//! The `arrowsmith` command: the library's sources, engines and sinks, put together on a command line.
//!
//! Results go to files or standard output, all else to standard error. What it prints, its options and
//! its exit status are a contract (docs/guide/convert.md); it never decodes anything itself.

#![forbid(unsafe_code)]

mod args;
#[cfg(feature = "bench")]
mod bench;
mod convert;
mod failure;
mod features;
mod fetch;
mod generate;
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

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::failure::Outcome;
use crate::interrupt::Interrupt;

fn main() -> ExitCode {
    // Clap itself ends the process with status 2 when the call is wrong.
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => match features::lacking_subcommand(&error) {
            Some(failure) => return failure.report(),
            None => error.exit(),
        },
    };
    let outcome = match cli.command {
        // These have their own answer to signals.
        Command::Ingest(args) => ingest::run(&args),
        Command::Serve(args) => serve::run(&args),
        command => interruptible(command, &Interrupt::install()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn interruptible(command: Command, interrupt: &Interrupt) -> Outcome {
    match command {
        Command::Convert(args) => convert::run(&args, interrupt),
        Command::Infer(args) => infer::run(&args, interrupt),
        Command::Inspect(args) => inspect::run(&args),
        Command::Ingest(args) => ingest::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Fetch(args) => fetch::run(&args, interrupt),
        Command::Generate(args) => generate::run(&args, interrupt),
        #[cfg(feature = "objects")]
        Command::Objects(args) => objects::run(&args),
        #[cfg(feature = "bench")]
        Command::Bench(args) => bench::run(&args),
        #[cfg(feature = "jvm")]
        Command::Jvm(args) => jvm::run(&args),
        #[cfg(feature = "rtl")]
        Command::Rtl(args) => rtl::run(&args),
    }
}
