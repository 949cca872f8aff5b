// SPDX-License-Identifier: Apache-2.0
//! The command line of `arrowsmith rtl`, as clap parses it.

use std::path::PathBuf;

use arrowsmith_engine_rtl::Interface;
use arrowsmith_rtlgen::json::Writers;
use arrowsmith_rtlgen::shell::Shell;
use clap::{Args, Subcommand, ValueEnum};

#[cfg(feature = "bench")]
use crate::bench::Outputs;

/// Generate, simulate and measure FPGA circuits for a schema (SystemVerilog)
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

/// The input format of a circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RtlFormat {
    /// JSON records, one per line
    Json,
    /// Column chunks of Parquet files, one decoder per column
    Parquet,
}

/// Which parsers share a set of writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RtlWriters {
    /// Choose by a model: shared where that is smaller and no slower
    Auto,
    /// Each parser has its own writers
    Own,
    /// The parsers of a port share writers
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

/// What surrounds a circuit on a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RtlShell {
    /// An RTL kernel for AMD's Vitis, run by XRT (Alveo cards)
    Xrt,
    /// A card behind AMD's PCIe bridge, XDMA or QDMA, without a platform
    AxiPcie,
    /// The programmable logic of a Zynq UltraScale+, under Linux
    Zynq,
}

impl From<RtlShell> for Shell {
    fn from(shell: RtlShell) -> Self {
        match shell {
            RtlShell::Xrt => Self::Xrt,
            RtlShell::AxiPcie => Self::AxiPcie,
            RtlShell::Zynq => Self::Zynq,
        }
    }
}

/// An interface to host memory.
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
    /// The model of its timing.
    pub fn model(self) -> Interface {
        match self {
            Self::Pcie3X8 => Interface::PCIE3_X8,
            Self::OpenCapi3 => Interface::OPENCAPI3,
            Self::Pcie5X16 => Interface::PCIE5_X16,
        }
    }
}

/// The parameters of a circuit.
#[derive(Debug, Args)]
pub struct CircuitArgs {
    /// The schema: a file (text, Arrow or Parquet), text as `infer` prints it, or a workload's name
    ///
    /// For a Parquet circuit, a Parquet file also gives the encodings and the codec of its columns.
    /// `simulate` takes all of this from its Parquet input.
    #[arg(short, long, value_name = "SCHEMA")]
    pub schema: Option<String>,

    /// The format that the circuit decodes
    #[arg(long, value_enum, default_value_t = RtlFormat::Json, value_name = "FORMAT")]
    pub format: RtlFormat,

    /// Number of parallel JSON parsers
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub parsers: usize,

    /// Number of memory ports, shared evenly by the parsers
    ///
    /// A port moves twice the width of a parser per cycle in each direction: two or three parsers
    /// saturate it.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub ports: usize,

    /// Memory latency, in cycles, that the parsers' read-ahead covers
    #[arg(long, value_name = "CYCLES", default_value_t = 64)]
    pub read_ahead: usize,

    /// Whether the parsers of a port share their writers
    #[arg(long, value_enum, default_value_t = RtlWriters::Auto, value_name = "WHO")]
    pub writers: RtlWriters,

    /// Bytes that a parser reads per cycle: 8 [default], 16, 32 or 64; for Parquet always 64
    #[arg(long, value_name = "BYTES")]
    pub width: Option<usize>,
}

/// Generate the circuit for a schema: sources, the library that they use, drivers, project files, a
/// README
#[derive(Debug, Args)]
pub struct GenerateArgs {
    #[command(flatten)]
    pub circuit: CircuitArgs,

    /// Name of the design [default: the workload's, or `records`, or `columns`]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// For Parquet: chunks are compressed with Snappy. Not needed if --schema is a Parquet file
    #[arg(long)]
    pub snappy: bool,

    /// Also write what a board needs, to `shell/SHELL`: the top module with the signals of the
    /// shell, scripts for the vendor's tools, a C++ program for the host that tries the circuit,
    /// and a Makefile; `make sim` there simulates all of it
    #[arg(long, value_enum, value_name = "SHELL")]
    pub shell: Option<RtlShell>,

    /// The folder to write to
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
}

/// Simulate the circuit on records or columns, cycle by cycle, and compare with the engine `cpu`
///
/// Prints cycles, bytes per cycle, and the causes of stalls. Needs Verilator, as the engine `rtl`
/// does.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    #[command(flatten)]
    pub circuit: CircuitArgs,

    /// Memory read latency, in cycles
    #[arg(long, value_name = "CYCLES", default_value_t = 2)]
    pub read_latency: u32,

    /// Percentage of cycles in which a memory channel stalls, at random
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..95))]
    pub stalls: u32,

    /// Simulate the JSON circuit behind the model of this interface, and print the throughput
    #[arg(long, value_enum, value_name = "INTERFACE", conflicts_with = "read_latency")]
    pub interface: Option<RtlInterface>,

    /// Simulate the JSON circuit inside the wrapper of a board's shell, through its protocol
    #[arg(long, value_enum, value_name = "SHELL")]
    pub shell: Option<RtlShell>,

    /// Clock frequency, for --interface
    #[arg(long, value_name = "MHZ", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=2000))]
    pub clock: u32,

    /// A file of records, one a line, or a Parquet file
    #[arg(value_name = "INPUT")]
    pub input: PathBuf,
}

/// Measure the FPGA resources and the speed of circuits, in the form of the papers' tables
///
/// Simulates, synthesizes (Yosys, for UltraScale+ and 7-series), places and routes (nextpnr, for
/// ECP5), and derives the rest. Takes hours for all widths; results are cached, so that only
/// changed circuits are measured again. Needs the tools that `tools/hdl` installs in the PATH:
/// `tools/hdl run arrowsmith rtl report`. What is missing is reported as not measured. Without
/// --json, --csv and --report the figures go to standard output as JSON.
#[cfg(feature = "bench")]
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A schema for JSON, as --schema of `rtl generate`; may be repeated [default: battery,
    /// battery-u64, trip]
    #[arg(short, long, value_name = "SCHEMA")]
    pub schema: Vec<String>,

    /// Bytes that a JSON parser reads per cycle [default: 8,16,32,64]
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    pub width: Vec<usize>,

    /// Skip the Parquet decoders
    #[arg(long)]
    pub no_parquet: bool,

    /// Skip the runs of several parsers behind interfaces
    #[arg(long)]
    pub no_end_to_end: bool,

    /// Also place and route each circuit that fits an ECP5-85F, for its clock frequency after
    /// routing; takes minutes each
    #[arg(long)]
    pub place: bool,

    /// Timeout of one run of a tool, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    pub limit: u64,

    #[command(flatten)]
    pub outputs: Outputs,
}
