// SPDX-License-Identifier: Apache-2.0
//! The command line of `arrowsmith rtl`, as clap reads it.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Circuits: SystemVerilog for a schema, and its simulation
#[derive(Debug, Args)]
pub struct RtlArgs {
    #[command(subcommand)]
    pub command: RtlCommand,
}

#[derive(Debug, Subcommand)]
pub enum RtlCommand {
    Generate(GenerateArgs),
    Simulate(SimulateArgs),
}

/// What a circuit decodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RtlFormat {
    /// JSON records, one a line
    Json,
    /// Column chunks of Parquet files, a decoder a column
    Parquet,
}

/// Which circuit.
#[derive(Debug, Args)]
pub struct CircuitArgs {
    /// The schema: a file (text, Arrow or Parquet), text as `infer` prints it, or a workload's name
    ///
    /// For a circuit of Parquet a Parquet file also says which encodings and codec its columns have. `simulate` of Parquet takes all
    /// of that from its input.
    #[arg(short, long, value_name = "SCHEMA")]
    pub schema: Option<String>,

    /// What the circuit decodes
    #[arg(long, value_enum, default_value_t = RtlFormat::Json, value_name = "FORMAT")]
    pub format: RtlFormat,

    /// Parsers of JSON side by side, which share the way to memory
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub parsers: usize,

    /// Bytes that a parser takes in a cycle: 8 [default], 16, 32 or 64; for Parquet always 64
    #[arg(long, value_name = "BYTES")]
    pub width: Option<usize>,
}

/// Write the circuit for a schema: sources, the library that they use, drivers, project files, a README
#[derive(Debug, Args)]
pub struct GenerateArgs {
    #[command(flatten)]
    pub circuit: CircuitArgs,

    /// Name of the design [default: the workload's, or `records`, or `columns`]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// For Parquet: chunks are compressed with Snappy; a Parquet file as the schema says so itself
    #[arg(long)]
    pub snappy: bool,

    /// The folder to write to
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
}

/// Run records or columns through the circuit, cycle by cycle, and compare with the engine `cpu`
///
/// Prints cycles, bytes a cycle, and where it stalled. Needs a Verilator, as the engine `rtl` does.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    #[command(flatten)]
    pub circuit: CircuitArgs,

    /// Cycles from the address of a read to its data
    #[arg(long, value_name = "CYCLES", default_value_t = 2)]
    pub read_latency: u32,

    /// Of the cycles, how many per cent a memory channel pauses, by chance
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..95))]
    pub stalls: u32,

    /// A file of records, one a line, or a Parquet file
    #[arg(value_name = "INPUT")]
    pub input: PathBuf,
}
