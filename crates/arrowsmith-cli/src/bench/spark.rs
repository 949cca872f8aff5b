// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench spark`: the options of the suite.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use arrowsmith_bench::spark::{Options, html};
use clap::Args;

use super::{RunArgs, all_right, failure, print_goals, print_missing, write_report};
use crate::failure::Outcome;
use crate::size;

/// JSON and Parquet in Apache Spark: by Arrowsmith inside Spark and by Spark's own readers
///
/// Both take turns in one session, with equal results and the wanted reader in every plan. Needs a
/// JDK, and a Python with the package arrowsmith[spark] and jars that arrowsmith.spark.configure
/// finds; nothing is installed. Without --json, --csv and --report the JSON result goes to standard
/// output.
#[derive(Debug, Args)]
#[command(mut_arg("rounds", |arg| arg.help("Timed rounds [default: 3]")))]
#[command(mut_arg("peers_dir", |arg| arg.hide(true)))]
pub struct SparkBenchArgs {
    #[command(flatten)]
    run: RunArgs,

    /// The interpreter
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: PathBuf,

    /// Size of the JSON of each workload [default: 4GiB]
    #[arg(long, alias = "bytes", value_name = "SIZE", value_parser = size::parse)]
    size: Option<u64>,

    /// Only these workloads: lineitem,logs,taxi
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    workloads: Vec<String>,

    /// Only these formats: json,parquet
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    formats: Vec<String>,

    /// Only these queries: schema,script,rows,aggregates,one,count
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    queries: Vec<String>,

    /// Tasks that Spark runs at a time [default: 1]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
}

pub fn run(args: &SparkBenchArgs) -> Outcome {
    let default = Options::default();
    let options = Options {
        python: args.python.clone(),
        size_bytes: args.size.unwrap_or(default.size_bytes),
        rounds: args.run.rounds(default.rounds),
        workloads: args.workloads.clone(),
        formats: args.formats.clone(),
        queries: args.queries.clone(),
        threads: args.threads.unwrap_or(default.threads),
        folder: None,
    };
    let mut progress = |line: &str| eprintln!("{line}");
    let report = arrowsmith_bench::spark::run(&options, &mut progress).map_err(failure)?;
    write_report(&args.run.outputs, &report, || html(&report))?;
    for row in &report.rows {
        let (seconds, cpu) = (row.seconds_median(), row.number("cpu_seconds_median"));
        let (label, cpu) = (row.workload(), cpu.unwrap_or_default());
        eprintln!("{label:<28} {:<10} {seconds:>9.3} s {cpu:>9.2} s of CPU", row.engine());
    }
    print_goals(&report.extra.goals);
    print_missing(&report.not_measured);
    let wrong = report.rows.iter().find(|row| !row.valid());
    all_right(wrong, |row| {
        format!("{} on {}: not the result of Spark's own reader", row.engine(), row.workload())
    })
}
