// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench write`: the options of the suite.

use arrowsmith_bench::write::{self, Options};
use clap::Args;

use super::{RunArgs, failure, finish_with_goals};
use crate::failure::Outcome;
use crate::size;

/// Arrow to Parquet, encoding alone, against the parquet crate
///
/// Columns of many kinds without a codec, and tables with several, from memory to memory, with one
/// and two threads of ours and one of the crate, in alternating rounds; each written file is read
/// back and compared. Nothing is installed. Without --json, --csv and --report the JSON result goes
/// to standard output.
#[derive(Debug, Args)]
#[command(mut_arg("rounds", |arg| arg.help("Timed files per writer [default: 7]")))]
#[command(mut_arg("peers_dir", |arg| arg.hide(true)))]
pub struct WriteBenchArgs {
    #[command(flatten)]
    run: RunArgs,

    /// Arrow size of each workload [default: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    size: Option<u64>,

    /// Only these workloads: int64-random,strings-few,lists,logs,…
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    workloads: Vec<String>,

    /// Only these writers: arrowsmith,arrowsmith-2-threads,parquet-rs
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    engines: Vec<String>,
}

pub fn run(args: &WriteBenchArgs) -> Outcome {
    let default = Options::default();
    let options = Options {
        size_bytes: args.size.unwrap_or(default.size_bytes),
        rounds: args.run.rounds(default.rounds),
        workloads: args.workloads.clone(),
        engines: args.engines.clone(),
    };
    let report = write::run(&options, &mut |line| eprintln!("{line}")).map_err(failure)?;
    finish_with_goals(&report, &args.run.outputs, || write::html(&report))
}
