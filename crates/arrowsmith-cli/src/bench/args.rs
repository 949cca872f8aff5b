// SPDX-License-Identifier: Apache-2.0
//! The options of `arrowsmith bench` and of its suites over JSON, Parquet and the ingest service.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use arrowsmith_workload::Workload;
use clap::{Args, Subcommand};

use crate::args::{seconds, workload};
use crate::size;

/// Measure beside the libraries that one would use instead
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
    Objects(super::objects::ObjectsBenchArgs),
    Jvm(super::jvm::JvmBenchArgs),
    Gpu(super::gpu::GpuBenchArgs),
    Flight(super::flight::FlightBenchArgs),
}

/// JSON over TCP to Arrow files: the ingest service as a process, on this machine
///
/// Throughput by size and threads, time of the stages, latency at fixed rates, loss, and what it
/// costs, with both engines and Redpanda Connect (HTTP to Parquet) in turns. The peer is built by
/// Go, where there is Go, into a folder of its own. Without --json and --report the JSON result
/// goes to standard output.
#[derive(Debug, Args)]
pub struct IngestBenchArgs {
    /// Write an HTML page with plots
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,

    /// Write the figures as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Text of a run [default: 1MiB,4MiB,16MiB,64MiB,256MiB,1GiB]
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = size::parse)]
    pub sizes: Vec<u64>,

    /// Runs of each
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub rounds: usize,

    /// Workloads, as `generate` names them [default: battery,trip]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = workload)]
    pub workloads: Vec<Workload>,

    /// Engines of the service, and the peer [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',',
        value_parser = ["cpu", "reference", arrowsmith_bench::ingest::REDPANDA_CONNECT])]
    pub engines: Vec<String>,

    /// Parser threads [default: one, and all there are]
    #[arg(long, value_name = "COUNTS", value_delimiter = ',')]
    pub threads: Vec<NonZeroUsize>,

    /// How long latency is measured at each rate, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    pub seconds: Duration,

    /// Where the peer is built [default: .bench]
    #[arg(long, value_name = "DIR")]
    pub peers_dir: Option<PathBuf>,

    /// A look in seconds at whether all of it works: --sizes 1MiB,4MiB --rounds 1 --seconds 1
    /// --engines cpu,reference
    #[arg(long, conflicts_with_all = ["sizes", "rounds", "seconds", "engines"])]
    pub quick: bool,
}

/// JSON to Arrow, beside pyarrow, polars, DuckDB, arrow-json, simdjson and others
///
/// All convert the same bytes from memory to memory, taking turns. Peers are installed into a
/// folder of their own; one that cannot be is reported as not measured. Without --json and --report
/// the JSON result goes to standard output.
#[derive(Debug, Args)]
pub struct JsonBenchArgs {
    /// Write an HTML page with plots
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,

    /// Write the figures as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Text of each workload [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub size: Option<u64>,

    /// Timed conversions of each engine [default: 7]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,

    /// Only these workloads: battery-8,trip,…
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub workloads: Vec<String>,

    /// Only these engines: arrowsmith-cpu,pyarrow,…
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub engines: Vec<String>,

    /// Thread counts [default: one, and all there are]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub threads: Vec<NonZeroUsize>,

    /// Where peers are installed [default: .bench]
    #[arg(long, value_name = "DIR")]
    pub peers_dir: Option<PathBuf>,

    /// Where the public files of the real-… workloads are
    #[arg(long, value_name = "DIR")]
    pub corpora_dir: Option<PathBuf>,
}

/// Parquet to Arrow, beside pyarrow, polars, DuckDB and the parquet crate
///
/// All read the same files from the page cache, taking turns; files are made from a seed. Peers are
/// installed into a folder of their own; one that cannot be is reported as not measured. Without
/// --json and --report the JSON result goes to standard output.
#[derive(Debug, Args)]
pub struct ParquetBenchArgs {
    /// Write an HTML page with plots
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,

    /// Write the figures as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Arrow output of each workload, and the largest of the plots [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub size: Option<u64>,

    /// Timed readings by each engine [default: 7]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,

    /// Only these workloads or plots: int64-plain,taxi-snappy,output-size,page-size,…
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub workloads: Vec<String>,

    /// Only these engines: arrowsmith-cpu,pyarrow,…
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub engines: Vec<String>,

    /// Thread counts [default: one, and all there are]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub threads: Vec<NonZeroUsize>,

    /// Small files, one round, one thread, no peers that need an installation
    #[arg(long, conflicts_with_all = ["size", "rounds", "threads"])]
    pub quick: bool,

    /// Where peers are installed [default: .bench]
    #[arg(long, value_name = "DIR")]
    pub peers_dir: Option<PathBuf>,

    /// Where the files are made [default: parquet, among the peers]
    #[arg(long, value_name = "DIR")]
    pub files_dir: Option<PathBuf>,

    /// Keep the files for the next run
    #[arg(long)]
    pub keep_files: bool,
}
