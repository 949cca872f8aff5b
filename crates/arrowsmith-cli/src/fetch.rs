// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith fetch`: reads a flight from any Flight server into a file, several endpoints
//! concurrently.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use arrow_schema::Schema;
use arrowsmith_core::{Error, whole};
use arrowsmith_flight::client::{Client, ClientOptions, schema_of};
use arrowsmith_flight::query::Query;
use clap::Args;
use futures_util::StreamExt;

use crate::args::OutputArgs;
use crate::convert::Target;
use crate::failure::{Failure, Outcome};
use crate::interrupt::Interrupt;
use crate::size::{display, grouped};

/// Read a dataset from an Arrow Flight server into a file
///
/// URL is grpc://HOST:PORT/DATASET, or grpc+tls:// for TLS; without a dataset, the flights are
/// listed. A token can also be set in the environment variable ARROWSMITH_FLIGHT_TOKEN.
#[derive(Debug, Args)]
pub struct FetchArgs {
    /// grpc://HOST:PORT/DATASET
    #[arg(value_name = "URL")]
    pub url: String,

    /// The file to write (its extension is one of --to), or `-` for standard output
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub output: PathBuf,

    /// Read only these columns, in this order
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub columns: Vec<String>,

    /// Keep only rows that match this condition: "fare > 10 and zone = 'A'"
    #[arg(long = "where", value_name = "CONDITION")]
    pub condition: Option<String>,

    /// Read at most this many rows
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,

    /// Number of endpoints read concurrently
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub parallel: usize,

    /// File with a bearer token
    #[arg(long, value_name = "FILE")]
    pub token: Option<PathBuf>,

    /// File with USER:PASSWORD
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    pub user: Option<PathBuf>,

    /// CA certificates (PEM) that the server's certificate is verified against [default: the public
    /// CAs]
    #[arg(long, value_name = "FILE")]
    pub tls_ca: Option<PathBuf>,

    /// Client certificate (PEM), for a server that requires one
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// Private key of the client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    #[command(flatten)]
    pub out: OutputArgs,

    /// Accepted without effect: batches are as the server sends them.
    #[arg(long, hide = true)]
    pub batch_rows: Option<u32>,

    /// As `batch_rows`.
    #[arg(long, hide = true)]
    pub batch_bytes: Option<String>,

    /// Print nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
}

pub fn run(args: &FetchArgs, interrupt: &Interrupt) -> Outcome {
    let options = options(args)?;
    let dataset = args.url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    let dataset = dataset.map_or("", |(_, dataset)| dataset).to_owned();
    let runtime = tokio::runtime::Runtime::new().map_err(Error::from)?;
    if dataset.is_empty() {
        return runtime.block_on(list(&args.url, &options));
    }
    let query = Query {
        dataset,
        columns: (!args.columns.is_empty()).then(|| args.columns.clone()),
        filter: args.condition.clone(),
        limit: args.limit,
    };
    let target = Target::new(&args.output, &args.out)?;
    runtime.block_on(fetch(args, &options, &query, &target, interrupt))
}

async fn fetch(
    args: &FetchArgs,
    options: &ClientOptions,
    query: &Query,
    target: &Target,
    interrupt: &Interrupt,
) -> Outcome {
    let started = Instant::now();
    let client = connect(&args.url, options).await?;
    let info = client.info(query).await.map_err(failure)?;
    let schema: Schema = schema_of(&info).map_err(failure)?;
    let mut sink = target.open(&Arc::new(schema), interrupt)?;
    let mut batches = client.read(info, args.parallel).await.map_err(failure)?;
    let mut bytes = 0;
    while let Some(batch) = batches.next().await {
        if interrupt.stop().load(std::sync::atomic::Ordering::Relaxed) {
            return Err(Error::Cancelled.into());
        }
        let batch = batch.map_err(failure)?;
        bytes += batch.get_array_memory_size() as u64;
        // Writing blocks on the disk; reading continues in tasks of its own.
        tokio::task::block_in_place(|| sink.write(&batch)).map_err(Failure::output)?;
    }
    let summary = tokio::task::block_in_place(|| sink.finish()).map_err(Failure::output)?;
    if !args.quiet {
        eprintln!(
            "{} rows; {} in, {} out; {:.3} s",
            grouped(summary.rows),
            display(bytes),
            display(summary.bytes),
            started.elapsed().as_secs_f64(),
        );
    }
    Ok(())
}

async fn list(url: &str, options: &ClientOptions) -> Outcome {
    let client = connect(url, options).await?;
    for info in client.list().await.map_err(failure)? {
        let descriptor = info.flight_descriptor.clone().unwrap_or_default();
        let line = serde_json::json!({
            "dataset": descriptor.path.first(),
            "rows": (info.total_records >= 0).then_some(info.total_records),
            "bytes": (info.total_bytes >= 0).then_some(info.total_bytes),
            "endpoints": info.endpoint.len(),
        });
        println!("{line}");
    }
    Ok(())
}

fn options(args: &FetchArgs) -> Outcome<ClientOptions> {
    let read = |path: &PathBuf| {
        whole::read_text(path)
            .map(|text| text.trim().to_owned())
            .map_err(|error| Failure::Work(Error::io(path, error)))
    };
    let token = match &args.token {
        Some(path) => Some(read(path)?),
        None => std::env::var("ARROWSMITH_FLIGHT_TOKEN").ok(),
    };
    let user = match &args.user {
        Some(path) => {
            let text = read(path)?;
            let pair = text
                .split_once(':')
                .ok_or_else(|| Failure::Usage(format!("{}: not USER:PASSWORD", path.display())))?;
            Some((pair.0.to_owned(), pair.1.to_owned()))
        }
        None => None,
    };
    Ok(ClientOptions {
        token: token.filter(|_| user.is_none()),
        user,
        ca_file: args.tls_ca.clone(),
        identity: args.tls_cert.clone().zip(args.tls_key.clone()),
    })
}

/// A connection, whose errors are not the server's: files of TLS, the address, the network.
async fn connect(url: &str, options: &ClientOptions) -> Outcome<Client> {
    let connected = Client::connect(url, options).await;
    connected.map_err(|status| coded(status.code(), status.message().to_owned()))
}

/// A failure reported by the server or by the connection to it.
fn failure(status: tonic::Status) -> Failure {
    coded(status.code(), format!("the server says: {}", status.message()))
}

fn coded(code: tonic::Code, text: String) -> Failure {
    match code {
        tonic::Code::InvalidArgument => Failure::Usage(text),
        _ => Failure::Work(std::io::Error::other(text).into()),
    }
}
