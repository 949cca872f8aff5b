// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith serve`: serves datasets as Arrow Flight and Flight SQL, with arrowsmith-flight.
//!
//! Logs go to standard error. The first line on standard output is the address, for scripts that
//! request port 0.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrowsmith_core::whole::{self, WRITTEN_BYTES_MAX};
use arrowsmith_core::{Error, duration};
use arrowsmith_flight::dataset::{FileAccess, Format};
use arrowsmith_flight::{
    Access, Catalog, Compression, Extension, Options, Origin, Server, Spec, Tls,
};
use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

use crate::args::{BufferCompression, ReadArgs, Serving};
use crate::failure::{Failure, Outcome};
use crate::{schema, size};

/// Serve files as Arrow Flight, and as tables of Flight SQL
///
/// A PATH is a file, a quoted glob pattern or a folder of Parquet, Arrow or JSON files, or
/// grpc://HOST:PORT/STREAM for a live stream of `arrowsmith ingest`. A dataset is named after its
/// file or folder; NAME=PATH gives it another name. Without --tokens or --users, all clients may
/// read.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// What to serve: PATH or NAME=PATH
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<String>,

    /// Address to listen on; port 0 selects a free port
    #[arg(short, long, value_name = "ADDRESS", default_value = "127.0.0.1:8815")]
    pub listen: SocketAddr,

    /// Format of the files [default: by their names]
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    pub format: Option<FormatArg>,

    /// Schema of JSON files: a file, text as `infer` prints it, or a workload's name [default:
    /// inferred]
    #[arg(short, long, value_name = "SCHEMA")]
    pub schema: Option<String>,

    #[command(flatten)]
    pub read: ReadArgs<Serving>,

    /// Read everything into memory at the start
    #[arg(long)]
    pub preload: bool,

    /// Memory-map Arrow files instead of reading them (zero-copy). Never modify mapped files in
    /// place; replace them by rename
    #[arg(long, conflicts_with = "preload")]
    pub map: bool,

    /// Let clients append files to the folders
    #[arg(long)]
    pub writable: bool,

    /// Disable Flight SQL
    #[arg(long)]
    pub no_sql: bool,

    /// Certificate chain of the server, PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// Private key of the server, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    /// CA that client certificates are verified against, PEM; clients must then present one
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_client_ca: Option<PathBuf>,

    /// File with the accepted bearer tokens, one per line
    #[arg(long, value_name = "FILE")]
    pub tokens: Option<PathBuf>,

    /// File with the accepted users, one USER:PASSWORD per line
    #[arg(long, value_name = "FILE")]
    pub users: Option<PathBuf>,

    /// File with the key that signs tickets, for servers that share it [default: a random key]
    #[arg(long, value_name = "FILE")]
    pub ticket_key: Option<PathBuf>,

    /// Location advertised to clients: grpc+tls://HOST:PORT [default: the address they connected
    /// to]
    #[arg(long, value_name = "URL")]
    pub location: Option<String>,

    /// Address of the HTTP server of metrics, at /metrics
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<SocketAddr>,

    /// Maximum number of endpoints per flight [default: one per core]
    #[arg(long, value_name = "N")]
    pub endpoints: Option<usize>,

    /// Compression of Arrow buffers on the wire
    #[arg(long, value_enum, value_name = "COMPRESSION", default_value_t = BufferCompression::None)]
    pub buffer_compression: BufferCompression,

    /// Approximate size of a message
    #[arg(long, value_name = "SIZE", value_parser = size::parse_memory)]
    pub message_bytes: Option<usize>,

    /// Memory limit for decoding streams, and a second one of the same size for SQL
    #[arg(long, value_name = "SIZE", value_parser = size::parse_memory, default_value = "1GiB")]
    pub memory: usize,

    /// Maximum memory of one SQL query
    #[arg(long, value_name = "SIZE", value_parser = size::parse_memory, default_value = "512MiB")]
    pub query_memory: usize,

    /// Timeout of one SQL query; 0 for none
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "300s")]
    pub query_seconds: Duration,

    /// Maximum size of one upload
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_value = "4GiB")]
    pub put_bytes: u64,

    /// Maximum number of connections
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub connections: usize,

    /// Time after which a client that reads nothing is disconnected
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "60s")]
    pub stall_timeout: Duration,

    /// Number of decoder threads [default: one per core]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,

    /// Log level: error, warn, info, debug, or a filter such as arrowsmith_flight=debug
    #[arg(long, value_name = "FILTER", default_value = "info")]
    pub log: String,
}

/// The format of the served files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    Parquet,
    Arrow,
    Json,
}

pub fn run(args: &ServeArgs) -> Outcome {
    let filter = EnvFilter::try_new(&args.log)
        .map_err(|error| Failure::Usage(format!("--log {}: {error}", args.log)))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .try_init()
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let catalog = Arc::new(Catalog::open(specs(args)?)?);
    let options = options(args)?;
    let sql = if args.no_sql { None } else { sql(args, &catalog)? };
    let runtime = tokio::runtime::Runtime::new().map_err(Error::from)?;
    runtime.block_on(async {
        let server = Server::start(catalog, options, sql).await?;
        let mut stdout = std::io::stdout();
        // An error means that standard output is closed: then the address is not needed.
        let scheme = if args.tls_cert.is_some() { "grpc+tls" } else { "grpc" };
        let line = writeln!(stdout, "listening on {scheme}://{}", server.address());
        let _ = line.and_then(|()| stdout.flush());
        if let Some(address) = server.metrics_address() {
            tracing::info!(%address, "metrics");
        }
        stop().await.map_err(Error::from)?;
        tracing::info!("ending");
        server.shutdown().await;
        Ok(())
    })
}

/// Flight SQL over the catalog.
#[cfg(feature = "sql")]
fn sql(args: &ServeArgs, catalog: &Arc<Catalog>) -> Outcome<Option<Arc<dyn Extension>>> {
    use arrowsmith_flight_sql::{FlightSql, SqlOptions};

    let mut options = SqlOptions {
        memory_bytes_max: args.memory,
        query_bytes_max: args.query_memory,
        query_time: Some(args.query_seconds).filter(|time| !time.is_zero()),
        ..SqlOptions::default()
    };
    options.threads = args.threads.unwrap_or(options.threads);
    Ok(Some(Arc::new(FlightSql::new(Arc::clone(catalog), &options)?)))
}

/// Without the feature there is no Flight SQL; the log reports it.
#[cfg(not(feature = "sql"))]
#[expect(clippy::unnecessary_wraps, reason = "as its twin")]
fn sql(_args: &ServeArgs, _catalog: &Arc<Catalog>) -> Outcome<Option<Arc<dyn Extension>>> {
    tracing::info!(
        "this build has no `sql`: files are served as Flight, not as tables of Flight SQL"
    );
    Ok(None)
}

/// Waits for Ctrl-C or SIGTERM.
async fn stop() -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => interrupted,
            _ = terminate.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}

fn specs(args: &ServeArgs) -> Outcome<Vec<Spec>> {
    let format = args.format.map(|format| match format {
        FormatArg::Parquet => Format::Parquet,
        FormatArg::Arrow => Format::Ipc,
        FormatArg::Json => Format::Json,
    });
    let mut json = args.read.json()?;
    json.schema = args.schema.as_deref().map(schema::load).transpose()?;
    if args.writable && json.records.is_some() {
        let message = "--records is not for --writable: what is appended is a file of records";
        return Err(Failure::Usage(message.to_owned()));
    }
    let mut specs = Vec::with_capacity(args.paths.len());
    for path in &args.paths {
        let mut spec = Spec::parse(path, format)?;
        spec.json = json.clone();
        spec.access = match (args.preload, args.map) {
            (true, _) => FileAccess::Preload,
            (_, true) => FileAccess::Map,
            _ => FileAccess::Read,
        };
        spec.writable = args.writable;
        specs.push(spec);
    }
    let is_json = |spec: &Spec| matches!(spec.origin, Origin::Files { format: Format::Json, .. });
    let given = args.schema.as_ref().map(|_| "schema".to_owned()).or_else(|| args.read.first());
    if let Some(flag) = given
        && !specs.iter().any(is_json)
    {
        return Err(Failure::Usage(format!("--{flag} is for JSON files, and none are served")));
    }
    Ok(specs)
}

fn options(args: &ServeArgs) -> Outcome<Options> {
    let read =
        |path: &Path| whole::read_text(path).map_err(|error| Failure::Work(Error::io(path, error)));
    let mut access = Access::default();
    if let Some(path) = &args.tokens {
        let text = read(path)?;
        let tokens = text.lines().map(str::trim).filter(|line| !line.is_empty());
        access.tokens = tokens.map(str::to_owned).collect();
    }
    if let Some(path) = &args.users {
        access.users = Access::users_of(&read(path)?).map_err(|line| {
            Failure::Usage(format!("{}, line {line}: not USER:PASSWORD", path.display()))
        })?;
    }
    if (args.tokens.is_some() || args.users.is_some())
        && access.tokens.is_empty()
        && access.users.is_empty()
    {
        // An empty file must not disable authentication.
        return Err(Failure::Usage("these files contain no token and no user".to_owned()));
    }
    let mut options = Options::default();
    options.listen = args.listen;
    options.metrics_listen = args.metrics;
    options.location.clone_from(&args.location);
    options.tls = Tls {
        certificate_file: args.tls_cert.clone(),
        key_file: args.tls_key.clone(),
        client_ca_file: args.tls_client_ca.clone(),
    };
    options.access = access;
    if let Some(path) = &args.ticket_key {
        let key = whole::read(path, WRITTEN_BYTES_MAX);
        let key = key.map_err(|error| Failure::Work(Error::io(path, error)))?;
        if key.len() < 32 {
            return Err(Failure::Usage(format!("{}: fewer than 32 bytes", path.display())));
        }
        options.ticket_key = Some(key);
    }
    options.endpoints_max = args.endpoints.unwrap_or(0);
    options.compression = match args.buffer_compression {
        BufferCompression::None => Compression::None,
        BufferCompression::Lz4 => Compression::Lz4,
        BufferCompression::Zstd => Compression::Zstd,
    };
    options.message_bytes = args.message_bytes.unwrap_or(options.message_bytes);
    options.memory_bytes_max = args.memory as u64;
    options.put_bytes_max = args.put_bytes;
    options.connections_max = args.connections;
    options.stall_timeout = args.stall_timeout;
    options.threads = args.threads.unwrap_or(0);
    Ok(options)
}
