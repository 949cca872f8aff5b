// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench jvm`: the options of the suite.

use arrowsmith_bench::jvm::{Options, html};
use clap::Args;

use super::{RunArgs, all_right, failure, print_missing, requested, write_report};
use crate::failure::Outcome;
use crate::size;

/// JVM objects to native memory: the approaches of the paper and today's, on every JDK
///
/// Reproduces the paper's Fig. 3, Fig. 4 and Table 2, with the machine's copy and read bandwidth
/// for comparison, and measures JSON into the JVM against Jackson and Spark. Needs a JDK (17 or
/// newer; every JDK found is measured), a C compiler and Maven; libraries are installed in a folder
/// of their own. Without --json, --csv and --report the JSON result goes to standard output.
#[derive(Debug, Args)]
#[command(mut_arg("rounds", |arg| arg.help("Timed rounds [default: 5]")))]
pub struct JvmBenchArgs {
    #[command(flatten)]
    run: RunArgs,

    /// Only these figures: fig-3a to fig-3f, fig-4-small, fig-4-medium, fig-4-large, json
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    figures: Vec<String>,

    /// Only these approaches: unsafe,direct,columns,…
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    approaches: Vec<String>,

    /// Only these JDKs [default: every JDK found]
    #[arg(long = "jdk", value_name = "VERSIONS", value_delimiter = ',')]
    jdks: Vec<u32>,

    /// Thread counts of Fig. 4 [default: one, and one per core]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Vec<u32>,

    /// Maximum size of the primitives of a collection [default: 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    size: Option<u64>,

    /// Smoke test: small, one round, two figures
    #[arg(long, conflicts_with_all = ["rounds", "size", "figures"])]
    quick: bool,
}

pub fn run(args: &JvmBenchArgs) -> Outcome {
    let mut options = Options::default();
    if args.quick {
        options = options.quick();
    }
    options.figures = requested(&args.figures, options.figures);
    options.approaches.clone_from(&args.approaches);
    options.jdks.clone_from(&args.jdks);
    options.threads = requested(&args.threads, options.threads);
    options.rounds = args.run.rounds(options.rounds);
    options.size_bytes = args.size.unwrap_or(options.size_bytes);
    options.peers_dir = args.run.peers_dir(options.peers_dir);
    let mut progress = |line: &str| eprintln!("{line}");
    let report = arrowsmith_bench::jvm::run(&options, &mut progress).map_err(failure)?;
    write_report(&args.run.outputs, &report, || html(&report))?;
    for row in report.rows.iter().filter(|row| row.count("objects") > 1) {
        eprintln!(
            "{:<13} {:>7} JDK {} {:<18} {:>2} threads {:>8.3} GB/s",
            row.workload(),
            row.count("x"),
            row.count("jdk"),
            row.engine(),
            row.threads(),
            row.gb_per_s()
        );
    }
    for goal in &report.extra.goals {
        eprintln!(
            "{}, {}, JDK {}, {} threads: {:.2} of {}, {}",
            goal.workload,
            goal.what,
            goal.jdk,
            goal.threads,
            goal.found,
            goal.wanted,
            if goal.met { "met" } else { "not met" }
        );
    }
    print_missing(&report.not_measured);
    all_right(report.rows.iter().find(|row| !row.valid()), |row| {
        let (x, jdk) = (row.count("x"), row.count("jdk"));
        format!("{} at {x}, JDK {jdk}: {} comes to a wrong sum", row.workload(), row.engine())
    })
}
