// SPDX-License-Identifier: Apache-2.0
//! `arrowsmith ingest`: the service of arrowsmith-ingest, set up by file, environment and flags.
//!
//! Logs go to standard error; the summary, one JSON object, too, so that standard output is free
//! for the sink of that name.

use std::io::IsTerminal;
use std::path::PathBuf;

use arrowsmith_core::Error;
use arrowsmith_ingest::{Config, Service};
use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

use crate::failure::{Failure, Outcome};

/// Receive JSON over TCP, HTTP and from files, and publish it as Arrow
///
/// Settings come from --config, then the environment (ARROWSMITH_INGEST_LIMITS__CONNECTIONS=100),
/// then flags; later ones override earlier ones. --schema, --listen, --dial, --follow and --out
/// configure a stream without a file. SIGTERM drains the streams and exits, SIGHUP reloads the
/// schemas.
#[derive(Debug, Args)]
pub struct IngestArgs {
    /// The configuration file (TOML)
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// Set one configuration value: service.memory=256MiB, stream.events.schema=trip
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,

    /// Check the configuration and exit
    #[arg(long)]
    pub check: bool,

    /// Name of the stream that the flags below configure
    #[arg(long, value_name = "NAME", default_value = "events")]
    pub stream: String,

    /// Schema of the stream: a file, text as `infer` prints it, a workload's name, or `auto`, which
    /// infers it from what is received
    #[arg(short, long, value_name = "SCHEMA")]
    pub schema: Option<String>,

    /// Listen on this address for TCP connections that send JSON lines
    #[arg(short, long, value_name = "ADDRESS")]
    pub listen: Vec<String>,

    /// Connect to this address and read JSON lines from it
    #[arg(long, value_name = "ADDRESS")]
    pub dial: Vec<String>,

    /// Read these files as they grow; a quoted glob pattern also includes files created later. The
    /// offsets read so far are stored in NAME.places
    #[arg(long, value_name = "FILES")]
    pub follow: Vec<String>,

    /// Write files to this directory [default: the stream's name]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Address of the HTTP server: records, metrics, dashboard [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<String>,

    /// Log format
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub log_format: LogFormat,

    /// Log level: error, warn, info, debug, or a filter such as arrowsmith_ingest=debug
    #[arg(long, value_name = "FILTER", default_value = "info")]
    pub log: String,
}

/// Log format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

pub fn run(args: &IngestArgs) -> Outcome {
    start_log(args)?;
    let settings = settings(args);
    let read = || Config::load(args.config.as_deref(), &settings);
    let config = read()?;
    if args.check {
        for (name, stream) in &config.streams {
            eprintln!("stream {name}: {} sink(s); the configuration is valid", stream.sinks.len());
        }
        return Ok(());
    }
    let service = Service::start(config)?;
    for (name, address) in service.addresses() {
        tracing::info!(listener = name, %address, "listening");
    }
    let summary = service.run(read)?;
    eprintln!(
        "{}",
        serde_json::to_string(&summary)
            .map_err(|error| Failure::Work(Error::from(std::io::Error::from(error))))?
    );
    if summary.is_complete() {
        return Ok(());
    }
    let message = "records that were not acknowledged are not published";
    Err(Failure::Work(std::io::Error::other(message).into()))
}

fn start_log(args: &IngestArgs) -> Outcome {
    let filter = EnvFilter::try_new(&args.log)
        .map_err(|error| Failure::Usage(format!("--log {}: {error}", args.log)))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let started = match args.log_format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().try_init(),
    };
    started.map_err(|error| Failure::Usage(error.to_string()))
}

/// The flags as settings, applied after those of `--set`.
fn settings(args: &IngestArgs) -> Vec<String> {
    let mut settings = args.settings.clone();
    let key = |name: &str| format!("stream.{}.{name}", args.stream);
    // A setting is parsed as TOML and, if that fails, taken as text: text that could be TOML is
    // quoted.
    let quoted = |text: &str| toml_string(text);
    if let Some(schema) = &args.schema {
        settings.push(format!("{}={}", key("schema"), quoted(schema)));
    }
    let list = |items: &[String]| {
        let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
        format!("[{}]", items.join(","))
    };
    if !args.listen.is_empty() {
        settings.push(format!("{}={}", key("tcp"), list(&args.listen)));
    }
    if !args.dial.is_empty() {
        settings.push(format!("{}={}", key("dial"), list(&args.dial)));
    }
    if !args.follow.is_empty() {
        settings.push(format!("{}={}", key("follow"), list(&args.follow)));
    }
    if let Some(out) = &args.out {
        settings.push(format!("{}=directory", key("sink.0.type")));
        settings.push(format!("{}={}", key("sink.0.path"), quoted(&out.to_string_lossy())));
    }
    if let Some(http) = &args.http {
        settings.push(format!("service.http={}", quoted(http)));
    }
    settings
}

/// A TOML string; JSON's escapes are a part of TOML's.
fn toml_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
