// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench python`: the options of the suite.

use std::path::PathBuf;

use arrowsmith_bench::python::{Options, html};
use clap::Args;

use super::{RunArgs, all_right, failure, print_goals, print_missing, write_report};
use crate::failure::Outcome;
use crate::size;

/// JSON lines in polars, DuckDB and pandas: over Arrowsmith's reader and over their own
///
/// Needs a Python with the packages arrowsmith, polars, duckdb, pandas and pyarrow, such as the one
/// that python/setup.sh makes with the module of a release build; nothing is installed. Without
/// --json, --csv and --report the JSON result goes to standard output.
#[derive(Debug, Args)]
#[command(mut_arg("rounds", |arg| arg.help("Timed rounds [default: 5]")))]
#[command(mut_arg("peers_dir", |arg| arg.hide(true)))]
pub struct PythonBenchArgs {
    #[command(flatten)]
    run: RunArgs,

    /// The interpreter
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: PathBuf,

    /// Size of the JSON of each workload [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    size: Option<u64>,

    /// Only these workloads: lineitem,logs,taxi
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    workloads: Vec<String>,

    /// Only these tasks: polars,duckdb,pandas,first
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tasks: Vec<String>,
}

pub fn run(args: &PythonBenchArgs) -> Outcome {
    let default = Options::default();
    let options = Options {
        python: args.python.clone(),
        size_bytes: args.size.unwrap_or(default.size_bytes),
        rounds: args.run.rounds(default.rounds),
        workloads: args.workloads.clone(),
        tasks: args.tasks.clone(),
        folder: None,
    };
    let mut progress = |line: &str| eprintln!("{line}");
    let report = arrowsmith_bench::python::run(&options, &mut progress).map_err(failure)?;
    write_report(&args.run.outputs, &report, || html(&report))?;
    for row in &report.rows {
        let (seconds, peak) = (row.seconds_median(), row.number("peak_rss_mb").unwrap_or(0.0));
        eprintln!("{:<16} {:<10} {seconds:>9.4} s {peak:>7.0} MB", row.workload(), row.engine());
    }
    print_goals(&report.extra.goals);
    print_missing(&report.not_measured);
    let wrong = report.rows.iter().find(|row| !row.valid());
    all_right(wrong, |row| {
        format!("{} on {}: not the result of the library's reader", row.engine(), row.workload())
    })
}
