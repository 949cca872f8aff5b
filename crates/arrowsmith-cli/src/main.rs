// SPDX-License-Identifier: Apache-2.0
//! The `arrowsmith` command: a command line for the library's sources, engines and sinks.
//!
//! Results go to files or standard output, everything else to standard error. The output, the
//! options and the exit status are stable interfaces (docs/guide/convert.md). This crate never
//! decodes anything itself.

#![forbid(unsafe_code)]

mod args;
#[cfg(feature = "bench")]
mod bench;
mod completions;
mod convert;
mod failure;
mod features;
mod fetch;
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

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::interrupt::Interrupt;

// musl's allocator has one lock for all threads.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Clap itself exits with status 2 on a usage error.
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => match features::lacking_subcommand(&error) {
            Some(failure) => return failure.report(),
            None => error.exit(),
        },
    };
    // The services handle signals themselves; the short commands need no handler.
    let outcome = match cli.command {
        Command::Convert(args) => convert::run(&args, &Interrupt::install()),
        Command::Infer(args) => infer::run(&args, &Interrupt::install()),
        Command::Inspect(args) => inspect::run(&args),
        Command::Generate(args) => generate::run(&args, &Interrupt::install()),
        Command::Ingest(args) => ingest::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Fetch(args) => fetch::run(&args, &Interrupt::install()),
        #[cfg(feature = "objects")]
        Command::Objects(args) => objects::run(&args),
        #[cfg(feature = "jvm")]
        Command::Jvm(args) => jvm::run(&args),
        #[cfg(feature = "rtl")]
        Command::Rtl(args) => rtl::run(&args),
        #[cfg(feature = "bench")]
        Command::Bench(args) => bench::run(&args),
        Command::Health(args) => health::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => completions::manual(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
