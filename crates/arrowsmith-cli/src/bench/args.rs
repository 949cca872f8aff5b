// SPDX-License-Identifier: Apache-2.0
//! The options of `arrowsmith bench` and of its suites over JSON, Parquet and the ingest service.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use arrowsmith_bench::Options;
use arrowsmith_core::duration;
use arrowsmith_workload::Workload;
use clap::{Args, Subcommand};

use crate::args::workload;
use crate::size;

/// Where the results go.
#[derive(Debug, Args)]
pub struct Outputs {
    /// Write an HTML page with plots
    #[arg(long, alias = "html", value_name = "FILE.html")]
    pub report: Option<PathBuf>,

    /// Write the figures as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the figures as CSV, one row per measurement
    #[arg(long, value_name = "FILE.csv")]
    pub csv: Option<PathBuf>,
}

/// The options of every suite with peers. A suite says its own defaults in the help.
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub outputs: Outputs,

    /// Timed rounds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,

    /// Folder where other libraries are installed [default: .bench]
    #[arg(long, value_name = "DIR")]
    pub peers_dir: Option<PathBuf>,
}

impl RunArgs {
    /// The requested number of rounds, or the suite's.
    pub fn rounds<N: TryFrom<u32>>(&self, default: N) -> N {
        self.rounds.and_then(|rounds| N::try_from(rounds).ok()).unwrap_or(default)
    }

    /// The requested folder, or the suite's.
    pub fn peers_dir(&self, default: PathBuf) -> PathBuf {
        self.peers_dir.clone().unwrap_or(default)
    }
}

/// The options of the suites in which engines take turns on one input.
#[derive(Debug, Args)]
pub struct CommonBenchArgs {
    #[command(flatten)]
    pub run: RunArgs,

    /// Input size of each workload [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub size: Option<u64>,

    /// Only these workloads: battery-8,trip,…
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub workloads: Vec<String>,

    /// Only these engines: arrowsmith-cpu,pyarrow,…
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub engines: Vec<String>,

    /// Thread counts [default: one, and one per core]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub threads: Vec<NonZeroUsize>,
}

impl CommonBenchArgs {
    /// The requested options; the suite supplies the others.
    pub fn options(&self) -> Options {
        Options {
            size_bytes: self.size,
            rounds: self.run.rounds,
            workloads: self.workloads.clone(),
            engines: self.engines.clone(),
            threads: self.threads.clone(),
            peers_dir: self.run.peers_dir(Options::default().peers_dir),
            ..Options::default()
        }
    }
}

/// What was requested, or the default if nothing was.
pub fn requested<T: Clone>(requested: &[T], default: Vec<T>) -> Vec<T> {
    if requested.is_empty() { default } else { requested.to_vec() }
}

/// Benchmark against other libraries
#[derive(Debug, Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    pub suite: BenchSuite,
}

#[derive(Debug, Subcommand)]
pub enum BenchSuite {
    Json(JsonBenchArgs),
    Ingest(IngestBenchArgs),
    Parquet(ParquetBenchArgs),
    Convert(super::convert::ConvertBenchArgs),
    Write(super::write::WriteBenchArgs),
    Objects(super::objects::ObjectsBenchArgs),
    Jvm(super::jvm::JvmBenchArgs),
    Gpu(super::gpu::GpuBenchArgs),
    Flight(super::flight::FlightBenchArgs),
    Python(super::python::PythonBenchArgs),
    Spark(super::spark::SparkBenchArgs),
}

/// JSON over TCP to Arrow files: the ingest service, run as a process on this machine
///
/// Measures throughput by size and threads, time per stage, latency at fixed rates, loss and CPU
/// cost, alternating between both engines and Redpanda Connect (HTTP to Parquet). Redpanda Connect
/// is built with Go, if installed, in a folder of its own. Without --json, --csv and --report the
/// JSON result goes to standard output.
#[derive(Debug, Args)]
#[command(mut_arg("rounds", |arg| arg.help("Runs per configuration [default: 5]")))]
pub struct IngestBenchArgs {
    #[command(flatten)]
    pub run: RunArgs,

    /// Input sizes [default: 1MiB,4MiB,16MiB,64MiB,256MiB,1GiB]
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = size::parse)]
    pub sizes: Vec<u64>,

    /// Workloads, by their names in `generate` [default: battery,trip]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = workload)]
    pub workloads: Vec<Workload>,

    /// Engines of the service, and Redpanda Connect [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',',
        value_parser = arrowsmith_bench::ingest::ENGINES)]
    pub engines: Vec<String>,

    /// Numbers of parser threads [default: one, and one per core]
    #[arg(long, value_name = "COUNTS", value_delimiter = ',')]
    pub threads: Vec<NonZeroUsize>,

    /// Duration of the latency measurement at each rate
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration::parse)]
    pub seconds: Duration,

    /// Smoke test of a few seconds: --sizes 1MiB,4MiB --rounds 1 --seconds 1 --engines
    /// cpu,reference
    #[arg(long, conflicts_with_all = ["sizes", "rounds", "seconds", "engines"])]
    pub quick: bool,
}

/// JSON to Arrow, against pyarrow, polars, DuckDB, arrow-json, simdjson and others
///
/// All convert the same bytes from memory to memory, in alternating rounds. Other libraries are
/// installed in a folder of their own; one that cannot be installed is reported as not measured.
/// Without --json, --csv and --report the JSON result goes to standard output.
#[derive(Debug, Args)]
#[command(mut_arg("rounds", |arg| arg.help("Timed conversions per engine [default: 7]")))]
pub struct JsonBenchArgs {
    #[command(flatten)]
    pub common: CommonBenchArgs,

    /// Folder with the public files of the real-… workloads
    #[arg(long, value_name = "DIR")]
    pub corpora_dir: Option<PathBuf>,
}

/// Parquet to Arrow, against pyarrow, polars, DuckDB and the parquet crate
///
/// All read the same files from the page cache, in alternating rounds; the files are generated from
/// a seed. Other libraries are installed in a folder of their own; one that cannot be installed is
/// reported as not measured. Without --json, --csv and --report the JSON result goes to standard
/// output.
#[derive(Debug, Args)]
#[command(mut_arg("rounds", |arg| arg.help("Timed reads per engine [default: 7]")))]
#[command(mut_arg("size", |arg| arg.help(
    "Arrow size of each workload, and the maximum of the plots over size [default: 256MiB]"
)))]
#[command(mut_arg("workloads", |arg| arg.help(
    "Only these workloads or plots: int64-plain,taxi-snappy,output-size,page-size,…"
)))]
pub struct ParquetBenchArgs {
    #[command(flatten)]
    pub common: CommonBenchArgs,

    /// Smoke test: small files, one round, one thread, only libraries that need no installation
    #[arg(long, conflicts_with_all = ["size", "rounds", "threads"])]
    pub quick: bool,

    /// Folder of the generated files [default: `parquet` in --peers-dir]
    #[arg(long, value_name = "DIR")]
    pub files_dir: Option<PathBuf>,

    /// Keep the files for the next run
    #[arg(long)]
    pub keep_files: bool,
}
