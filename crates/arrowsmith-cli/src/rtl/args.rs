// SPDX-License-Identifier: Apache-2.0
//! The command line of `arrowsmith rtl`, as clap reads it.

use std::path::PathBuf;

use arrowsmith_engine_rtl::Interface;
use arrowsmith_rtlgen::json::Writers;
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
    #[cfg(feature = "bench")]
    Report(ReportArgs),
}

/// What a circuit decodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RtlFormat {
    /// JSON records, one a line
    Json,
    /// Column chunks of Parquet files, a decoder a column
    Parquet,
}

/// Who has a set of writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RtlWriters {
    /// As a model says: shared where that is smaller and costs no time
    Auto,
    /// Each parser has its own
    Own,
    /// The parsers of a port share one
    Shared,
}

impl From<RtlWriters> for Writers {
    fn from(writers: RtlWriters) -> Self {
        match writers {
            RtlWriters::Auto => Self::Auto,
            RtlWriters::Own => Self::Own,
            RtlWriters::Shared => Self::Shared,
        }
    }
}

/// A link to host memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RtlInterface {
    /// PCI Express 3.0, 8 lanes
    #[value(name = "pcie3-x8")]
    Pcie3X8,
    /// OpenCAPI 3.0
    #[value(name = "opencapi3")]
    OpenCapi3,
    /// PCI Express 5.0, 16 lanes
    #[value(name = "pcie5-x16")]
    Pcie5X16,
}

impl RtlInterface {
    /// Its model.
    pub fn model(self) -> Interface {
        match self {
            Self::Pcie3X8 => Interface::PCIE3_X8,
            Self::OpenCapi3 => Interface::OPENCAPI3,
            Self::Pcie5X16 => Interface::PCIE5_X16,
        }
    }
}

/// Which circuit.
#[derive(Debug, Args)]
pub struct CircuitArgs {
    /// The schema: a file (text, Arrow or Parquet), text as `infer` prints it, or a workload's name
    ///
    /// For a circuit of Parquet a Parquet file also says which encodings and codec its columns
    /// have. `simulate` of Parquet takes all of that from its input.
    #[arg(short, long, value_name = "SCHEMA")]
    pub schema: Option<String>,

    /// What the circuit decodes
    #[arg(long, value_enum, default_value_t = RtlFormat::Json, value_name = "FORMAT")]
    pub format: RtlFormat,

    /// Parsers of JSON side by side
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub parsers: usize,

    /// Ports to memory, which the parsers share evenly
    ///
    /// A port moves twice the width of a parser in a cycle, each way: two parsers or three fill it.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub ports: usize,

    /// Cycles of a read from memory that parsers read ahead for: the latency of the interface, in
    /// cycles
    #[arg(long, value_name = "CYCLES", default_value_t = 64)]
    pub read_ahead: usize,

    /// Whether the parsers of a port share a set of writers
    #[arg(long, value_enum, default_value_t = RtlWriters::Auto, value_name = "WHO")]
    pub writers: RtlWriters,

    /// Bytes that a parser takes in a cycle: 8 [default], 16, 32 or 64; for Parquet always 64
    #[arg(long, value_name = "BYTES")]
    pub width: Option<usize>,
}

/// Write the circuit for a schema: sources, the library that they use, drivers, project files, a
/// README
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

    /// Put the model of an interface behind the circuit of JSON, and say what it lets through
    #[arg(long, value_enum, value_name = "INTERFACE", conflicts_with = "read_latency")]
    pub interface: Option<RtlInterface>,

    /// The clock, for an interface
    #[arg(long, value_name = "MHZ", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=2000))]
    pub clock: u32,

    /// A file of records, one a line, or a Parquet file
    #[arg(value_name = "INPUT")]
    pub input: PathBuf,
}

/// Say what circuits take of an FPGA and how fast they are, beside the papers' tables
///
/// Simulates, synthesizes (Yosys, for UltraScale+ and 7-series), places and routes (nextpnr, for
/// ECP5), and derives the rest. Takes hours for all widths; what tools found is kept, so that only
/// changed circuits are done again. Needs what `tools/hdl` installs in the path: `tools/hdl run
/// arrowsmith rtl report`. What cannot be had is listed as not measured. Without --json and --html
/// the figures go to standard output as JSON.
#[cfg(feature = "bench")]
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A schema of JSON, as --schema of the others; may be repeated [default: battery, battery-u64,
    /// trip]
    #[arg(short, long, value_name = "SCHEMA")]
    pub schema: Vec<String>,

    /// Bytes that a JSON parser takes in a cycle [default: 8,16,32,64]
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    pub width: Vec<usize>,

    /// Leave the Parquet converters out
    #[arg(long)]
    pub no_parquet: bool,

    /// Leave the runs of several parsers behind interfaces out
    #[arg(long)]
    pub no_end_to_end: bool,

    /// Also place and route each circuit that fits an ECP5-85F, for the clock that its wires allow;
    /// minutes for each
    #[arg(long)]
    pub place: bool,

    /// Seconds that one run of a tool may take
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    pub limit: u64,

    /// Write an HTML page with plots
    #[arg(long, value_name = "FILE.html")]
    pub html: Option<PathBuf>,

    /// Write the figures as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}
