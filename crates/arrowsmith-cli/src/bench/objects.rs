// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench objects`: C++ object graphs, as arrowsmith-bench measures them; nothing is
//! decoded here.

use std::path::PathBuf;

use arrowsmith_bench::objects::{self, OURS, Options};
use arrowsmith_core::Error;
use clap::Args;

use super::{failure, write_report};
use crate::failure::{Failure, Outcome};

/// C++ object graphs: the generated reader, the paper's software, today's libraries, and the
/// circuit
///
/// The expression tree of MSR-TR-2009-126 out of bytes, over a network of its own (two namespaces,
/// which takes root), and through the generated circuit in simulation and synthesis (with the tools
/// that `tools/hdl` installs in the path: `tools/hdl run arrowsmith bench objects`). Libraries come
/// from Debian's packages; what is not there is listed as not measured. Without --json and --report
/// the JSON result goes to standard output.
#[derive(Debug, Args)]
pub struct ObjectsBenchArgs {
    /// Write an HTML page with plots
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,

    /// Write the figures as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Sizes of the tree, in operations [default: 1,3,7,15,31,63,127]
    #[arg(long, value_name = "COUNTS", value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..=500))]
    pub operations: Vec<u32>,

    /// Measurements of each reader, in turns
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,

    /// Round trips of each network measurement
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(10..))]
    pub trips: u32,

    /// Leave the network out
    #[arg(long)]
    pub no_network: bool,

    /// Leave the circuit out
    #[arg(long)]
    pub no_circuit: bool,

    /// Where the readers are compiled [default: .bench]
    #[arg(long, value_name = "DIR")]
    pub peers_dir: Option<PathBuf>,

    /// A look at whether it works: --operations 1,127 --rounds 1 --no-network --no-circuit
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
    write_report(args.json.as_deref(), args.report.as_deref(), &report, || objects::html(&report))?;
    match report.rows.iter().find(|row| row.codec == OURS && !row.valid) {
        Some(row) => Err(Failure::Work(Error::Config(format!(
            "the tree of {} operations has another value",
            row.operations
        )))),
        None => Ok(()),
    }
}
