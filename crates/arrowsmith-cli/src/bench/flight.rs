// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith bench flight`: the options of the suite, and Arrowsmith's client in it.

use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrowsmith_bench::flight::{Options, html};
use arrowsmith_core::Error;
use arrowsmith_flight::client::{Client, ClientOptions};
use arrowsmith_flight::query::Query;
use clap::Args;
use futures_util::TryStreamExt;

use super::{RunArgs, all_right, failure, print_missing, requested, write_report};
use crate::failure::{Failure, Outcome};
use crate::size;

/// Arrow Flight: servers and clients in C++, Java, Python, Rust and arrowsmith, in all pairs
///
/// C++, Java, Python and Rust with their official libraries, and arrowsmith's own. All servers read
/// the same taxi trips, from Parquet files and from memory; Arrow streams without Flight, mapped
/// files and PostgreSQL are measured for comparison. Needs C++ and Rust compilers, a JDK with
/// Maven, and Python 3; libraries are installed in a folder of their own, and what is missing is
/// reported as not measured. When run as root, the processes get a network namespace of their own,
/// which counts their bytes. Without --json, --csv and --report the JSON result goes to standard
/// output.
#[derive(Debug, Args)]
#[command(mut_arg("rounds", |arg| {
    arg.help("Queries per pair of server and client [default: 15]")
}))]
pub struct FlightBenchArgs {
    #[command(flatten)]
    run: RunArgs,

    /// Only these servers: arrowsmith,cpp,java,python,rust
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    servers: Vec<String>,

    /// Only these clients: arrowsmith,cpp,java,python,rust
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    clients: Vec<String>,

    /// Only these workloads: taxi-parquet,taxi-memory,taxi-rows
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    workloads: Vec<String>,

    /// Total size of the Parquet files [default: 1600MB]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    size: Option<u64>,

    /// Rows per batch [default: 65536]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    batch_rows: Option<u64>,

    /// Skip Arrow streams without Flight, and mapped files
    #[arg(long)]
    no_raw: bool,

    /// Record no flame graphs
    #[arg(long)]
    no_flames: bool,

    /// Smoke test of a few seconds: 4 MB, two rounds, only arrowsmith's server and client
    #[arg(long, conflicts_with_all = ["rounds", "size"])]
    quick: bool,

    /// Folder of the generated files [default: `flight/files` in --peers-dir]
    #[arg(long, value_name = "DIR")]
    files_dir: Option<PathBuf>,

    /// Run as the client of a measurement; the suite starts itself this way
    #[arg(long, hide = true)]
    as_client: bool,
}

pub fn run(args: &FlightBenchArgs) -> Outcome {
    if args.as_client {
        return client();
    }
    let program = std::env::current_exe().map_err(|error| Failure::Work(Error::from(error)))?;
    let mut options = Options::new(program);
    if args.quick {
        options = options.quick();
    }
    options.servers = requested(&args.servers, options.servers);
    options.clients = requested(&args.clients, options.clients);
    options.workloads = requested(&args.workloads, options.workloads);
    options.rounds = args.run.rounds(options.rounds);
    options.size_bytes = args.size.unwrap_or(options.size_bytes);
    options.batch_rows = args.batch_rows.unwrap_or(options.batch_rows);
    options.raw &= !args.no_raw;
    options.flames &= !args.no_flames;
    options.peers_dir = args.run.peers_dir(options.peers_dir);
    options.files_dir.clone_from(&args.files_dir);
    let mut progress = |line: &str| eprintln!("{line}");
    let report = arrowsmith_bench::flight::run(&options, &mut progress).map_err(failure)?;
    write_report(&args.run.outputs, &report, || html(&report))?;
    for goal in &report.extra.goals {
        eprintln!(
            "{}, beside {}: {:.2} x, wanted {:.2} x{}",
            goal.goal,
            goal.beside,
            goal.measured,
            goal.wanted,
            if goal.reached { "" } else { ": MISSED" }
        );
    }
    print_missing(&report.not_measured);
    all_right(report.rows.iter().find(|row| !row.valid()), |row| {
        format!("{}: {} with the client {}", row.workload(), row.engine(), row.text("client"))
    })
}

/// Reads whole flights, one endpoint after another, as the suite's other clients do.
fn client() -> Outcome {
    let failed = |message: String| Failure::Work(Error::Config(message));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Work(Error::from(error)))?;
    let mut get = |uri: &str| runtime.block_on(fetch(uri));
    let version = format!("arrowsmith {}", env!("CARGO_PKG_VERSION"));
    let (input, output) = (std::io::stdin(), std::io::stdout());
    arrowsmith_bench::flight::serve_commands(
        &version,
        &mut input.lock(),
        &mut output.lock(),
        &mut get,
    )
    .map_err(failed)
}

async fn fetch(uri: &str) -> Result<Vec<RecordBatch>, String> {
    let client = Client::connect(uri, &ClientOptions::default()).await.map_err(text)?;
    let info = client.info(&Query::all("taxi")).await.map_err(text)?;
    let batches = client.read(info, 1).await.map_err(text)?;
    batches.try_collect().await.map_err(text)
}

fn text(error: impl ToString) -> String {
    error.to_string()
}
