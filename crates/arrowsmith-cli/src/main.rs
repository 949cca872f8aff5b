// SPDX-License-Identifier: Apache-2.0
//! The `arrowsmith` command: the library's sources, engines and sinks, put together on a command line.
//!
//! Results go to files or standard output, all else to standard error. What it prints, its options and
//! its exit status are a contract (docs/guide/convert.md); it never decodes anything itself.

#![forbid(unsafe_code)]

mod args;
mod bench;
mod convert;
mod failure;
mod fetch;
mod generate;
mod infer;
mod ingest;
mod input;
mod inspect;
mod interrupt;
mod jvm;
mod objects;
mod progress;
mod rejects;
mod schema;
mod serve;
mod size;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::interrupt::Interrupt;

fn main() -> ExitCode {
    // Clap itself ends the process with status 2 when the call is wrong.
    let cli = Cli::parse();
    if let Command::Ingest(args) = &cli.command {
        // It has its own answer to signals.
        return match ingest::run(args) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failure.report(),
        };
    }
    if let Command::Serve(args) = &cli.command {
        return match serve::run(args) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => failure.report(),
        };
    }
    let interrupt = Interrupt::install();
    let outcome = match cli.command {
        Command::Convert(args) => convert::run(&args, &interrupt),
        Command::Infer(args) => infer::run(&args, &interrupt),
        Command::Inspect(args) => inspect::run(&args),
        Command::Ingest(args) => ingest::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Fetch(args) => fetch::run(&args, &interrupt),
        Command::Objects(args) => objects::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Jvm(args) => jvm::run(&args),
        Command::Generate(args) => generate::run(&args, &interrupt),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
