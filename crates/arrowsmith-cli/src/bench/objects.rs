// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench objects`: C++ object graphs, as arrowsmith-bench measures them; nothing is
//! decoded here.

use arrowsmith_bench::objects::{self, OURS, Options};
use clap::Args;

use super::{RunArgs, all_right, failure, requested, write_report};
use crate::failure::Outcome;

/// C++ object graphs: the generated reader, the paper's software, today's libraries, and the
/// circuit
///
/// Reads the expression tree of MSR-TR-2009-126 from bytes in memory, over a network between two
/// namespaces (needs root), and through the generated circuit in simulation and synthesis (needs
/// the tools that `tools/hdl` installs in the PATH: `tools/hdl run arrowsmith bench objects`).
/// Libraries come from Debian's packages; what is missing is reported as not measured. Without
/// --json, --csv and --report the JSON result goes to standard output.
#[derive(Debug, Args)]
#[command(mut_arg("rounds", |arg| {
    arg.help("Measurements per reader, in alternating rounds [default: 15]")
}))]
pub struct ObjectsBenchArgs {
    #[command(flatten)]
    pub run: RunArgs,

    /// Tree sizes, in operations [default: 1,3,7,15,31,63,127]
    #[arg(long, value_name = "COUNTS", value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=500))]
    pub operations: Vec<u32>,

    /// Round trips per network measurement
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(10..))]
    pub trips: u32,

    /// Skip the network measurements
    #[arg(long)]
    pub no_network: bool,

    /// Skip the circuit
    #[arg(long)]
    pub no_circuit: bool,

    /// Smoke test: --operations 1,127 --rounds 1 --no-network --no-circuit
    #[arg(long, conflicts_with_all = ["operations", "rounds", "no_network", "no_circuit"])]
    pub quick: bool,
}

pub fn run(args: &ObjectsBenchArgs) -> Outcome {
    let default = Options::default();
    let mut options = Options {
        rounds: args.run.rounds(default.rounds),
        trips: args.trips,
        network: !args.no_network,
        circuit: !args.no_circuit,
        operations: requested(&args.operations, default.operations),
        peers_dir: args.run.peers_dir(default.peers_dir),
        span_ms: default.span_ms,
    };
    if args.quick {
        options.operations = vec![1, 127];
        options.rounds = 1;
        options.network = false;
        options.circuit = false;
    }
    let mut progress = |line: &str| eprintln!("{line}");
    let report = objects::run(&options, &mut progress).map_err(failure)?;
    write_report(&args.run.outputs, &report, || objects::html(&report))?;
    let wrong = report.rows.iter().find(|row| row.text("codec") == OURS && !row.valid());
    all_right(wrong, |row| {
        format!("the tree of {} operations has another value", row.count("operations"))
    })
}
