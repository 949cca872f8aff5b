// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench convert`: the options of the suite.

use std::num::NonZeroUsize;

use arrowsmith_bench::convert::{self, Options};
use arrowsmith_core::Error;
use clap::Args;

use super::{RunArgs, failure, finish_with_goals};
use crate::failure::{Failure, Outcome};
use crate::size;

/// JSON and CSV files to Parquet and Arrow, the whole command, against DuckDB, polars and pyarrow
///
/// All convert the same files in memory with the same schema, in alternating rounds; each written
/// file is read back and compared. Other libraries are installed in a folder of their own; one that
/// cannot be installed is reported as not measured. Without --json, --csv and --report the JSON
/// result goes to standard output.
#[derive(Debug, Args)]
#[command(mut_arg("rounds", |arg| arg.help("Timed conversions per engine [default: 5]")))]
pub struct ConvertBenchArgs {
    #[command(flatten)]
    run: RunArgs,

    /// Size of the JSON of each workload [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    size: Option<u64>,

    /// Only these workloads: logs,lineitem,trip,taxi
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    workloads: Vec<String>,

    /// Only these tasks: parquet and arrow, from JSON; csv, to Parquet
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tasks: Vec<String>,

    /// Codecs of Parquet [default: zstd:1,zstd:3,snappy,none]
    #[arg(long, value_name = "CODECS", value_delimiter = ',')]
    codecs: Vec<String>,

    /// Only these engines: arrowsmith,arrowsmith-reference-writer,duckdb,polars,pyarrow
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    engines: Vec<String>,

    /// Threads of each engine [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

pub fn run(args: &ConvertBenchArgs) -> Outcome {
    let program = std::env::current_exe().map_err(|error| Failure::Work(Error::from(error)))?;
    let default = Options::new(program);
    let options = Options {
        size_bytes: args.size.unwrap_or(default.size_bytes),
        rounds: args.run.rounds(default.rounds),
        workloads: args.workloads.clone(),
        tasks: args.tasks.clone(),
        codecs: args.codecs.clone(),
        engines: args.engines.clone(),
        threads: args.threads,
        peers_dir: args.run.peers_dir(default.peers_dir),
        program: default.program,
    };
    let report = convert::run(&options, &mut |line| eprintln!("{line}")).map_err(failure)?;
    finish_with_goals(&report, &args.run.outputs, || convert::html(&report))
}
