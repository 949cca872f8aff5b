// SPDX-License-Identifier: Apache-2.0
//! The command line as a whole: the subcommands, and what runs each. Only `lib` uses this module.

use clap::{CommandFactory, Parser, Subcommand};

use crate::args::{ConvertArgs, GenerateArgs, InferArgs, InspectArgs};
#[cfg(feature = "bench")]
use crate::bench::{self, BenchArgs};
use crate::completions::{self, CompletionsArgs, ManArgs};
use crate::failure::Outcome;
use crate::fetch::{self, FetchArgs};
use crate::health::{self, HealthArgs};
use crate::ingest::{self, IngestArgs};
use crate::interrupt::Interrupt;
#[cfg(feature = "jvm")]
use crate::jvm::{self, JvmArgs};
#[cfg(feature = "objects")]
use crate::objects::{self, ObjectsArgs};
#[cfg(feature = "rtl")]
use crate::rtl::{self, RtlArgs};
use crate::serve::{self, ServeArgs};
use crate::{convert, features, generate, infer, inspect};

/// Bytes in any shape, Arrow out, at the speed of the hardware.
#[derive(Debug, Parser)]
#[command(
    name = "arrowsmith",
    version,
    long_version = features::long_version(),
    max_term_width = 100
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Convert(Box<ConvertArgs>),
    Infer(InferArgs),
    Inspect(InspectArgs),
    Generate(Box<GenerateArgs>),
    Ingest(IngestArgs),
    Serve(Box<ServeArgs>),
    Fetch(Box<FetchArgs>),
    #[cfg(feature = "objects")]
    Objects(ObjectsArgs),
    #[cfg(feature = "jvm")]
    Jvm(JvmArgs),
    #[cfg(feature = "rtl")]
    Rtl(RtlArgs),
    #[cfg(feature = "bench")]
    Bench(BenchArgs),
    Health(HealthArgs),
    Completions(CompletionsArgs),
    #[command(hide = true)]
    Man(ManArgs),
}

impl Command {
    /// Runs the subcommand.
    pub fn run(self) -> Outcome {
        // The services handle signals themselves; the short commands need no handler.
        match self {
            Self::Convert(args) => convert::run(&args, &Interrupt::install()),
            Self::Infer(args) => infer::run(&args, &Interrupt::install()),
            Self::Inspect(args) => inspect::run(&args),
            Self::Generate(args) => generate::run(&args, &Interrupt::install()),
            Self::Ingest(args) => ingest::run(&args),
            Self::Serve(args) => serve::run(&args),
            Self::Fetch(args) => fetch::run(&args, &Interrupt::install()),
            #[cfg(feature = "objects")]
            Self::Objects(args) => objects::run(&args),
            #[cfg(feature = "jvm")]
            Self::Jvm(args) => jvm::run(&args),
            #[cfg(feature = "rtl")]
            Self::Rtl(args) => rtl::run(&args),
            #[cfg(feature = "bench")]
            Self::Bench(args) => bench::run(&args),
            Self::Health(args) => health::run(&args),
            Self::Completions(args) => completions::run(&args, Cli::command()),
            Self::Man(args) => completions::manual(&args, Cli::command()),
        }
    }
}
