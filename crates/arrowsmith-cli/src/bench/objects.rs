// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench objects`: C++ object graphs, as arrowsmith-bench measures them; nothing is
//! decoded here.

use std::path::PathBuf;

use arrowsmith_bench::objects::{self, OURS, Options};
use clap::Args;

use super::{Outputs, all_right, failure, write_report};
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
pub struct ObjectsBenchArgs {
    #[command(flatten)]
    pub outputs: Outputs,

    /// Tree sizes, in operations [default: 1,3,7,15,31,63,127]
    #[arg(long, value_name = "COUNTS", value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=500))]
    pub operations: Vec<u32>,

    /// Measurements per reader, in alternating rounds
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,

    /// Round trips per network measurement
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(10..))]
    pub trips: u32,

    /// Skip the network measurements
    #[arg(long)]
    pub no_network: bool,

    /// Skip the circuit
    #[arg(long)]
    pub no_circuit: bool,

    /// Folder where the readers are compiled [default: .bench]
    #[arg(long, value_name = "DIR")]
    pub peers_dir: Option<PathBuf>,

    /// Smoke test: --operations 1,127 --rounds 1 --no-network --no-circuit
    #[arg(long, conflicts_with_all = ["operations", "rounds", "no_network", "no_circuit"])]
    pub quick: bool,
}

pub fn run(args: &ObjectsBenchArgs) -> Outcome {
    let mut options = Options {
        rounds: args.rounds,
        trips: args.trips,
        network: !args.no_network,
        circuit: !args.no_circuit,
        ..Options::default()
    };
    if !args.operations.is_empty() {
        options.operations.clone_from(&args.operations);
    }
    if let Some(folder) = &args.peers_dir {
        options.peers_dir.clone_from(folder);
    }
    if args.quick {
        options.operations = vec![1, 127];
        options.rounds = 1;
        options.network = false;
        options.circuit = false;
    }
    let mut progress = |line: &str| eprintln!("{line}");
    let report = objects::run(&options, &mut progress).map_err(failure)?;
    write_report(&args.outputs, &report, || objects::html(&report))?;
    let wrong = report.rows.iter().find(|row| row.text("codec") == OURS && !row.valid());
    all_right(wrong, |row| {
        format!("the tree of {} operations has another value", row.count("operations"))
    })
}
