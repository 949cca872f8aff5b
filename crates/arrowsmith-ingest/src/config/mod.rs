// SPDX-License-Identifier: Apache-2.0
//! The configuration: settings, defaults, checks.
//!
//! A TOML file, then the environment, then flags; the later wins ([`layer`]). Names and units are a
//! contract, described for users in docs/guide/ingest.md.

mod check;
pub mod layer;
pub(crate) mod read;
mod stream;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrowsmith_core::{Error, Result};
use serde::Deserialize;
use toml::{Table, Value};

use self::read::Wrong;
pub use self::stream::{
    AUTO, BadRequests, LayoutConfig, OnErrorConfig, OrderConfig, SpoolConfig, SpoolWhen,
    StreamConfig,
};
use crate::publish::sinks::SinkConfig;
pub use crate::units::{CompressionConfig, Fsync, Seconds, Size};

/// The whole configuration.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Settings of the process.
    pub service: ServiceConfig,
    /// Certificates; with them, TCP and HTTP speak TLS only.
    pub tls: Option<TlsConfig>,
    /// Limits on senders.
    pub limits: LimitsConfig,
    /// The streams, by name: the tables `stream.NAME`.
    #[serde(skip)]
    pub streams: BTreeMap<String, StreamConfig>,
}

/// Settings of the process.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceConfig {
    /// Address of HTTP: records, metrics, dashboard. Empty for none. Default `127.0.0.1:8080`.
    pub http: String,
    /// Another address for metrics, health and dashboard, without TLS; then `http` takes records
    /// only.
    pub admin: String,
    /// Token that metrics, status and dashboard require. `/healthz` and `/readyz` are always open.
    pub admin_token: Option<String>,
    /// JSON text held in memory at a time, in bytes. Its Arrow data is in addition: up to the same
    /// number of bytes, and as many again where a schema is wide. Default 64 MiB.
    pub memory: Size,
    /// Threads that parse, resize and serialize. Default: the cores.
    pub threads: usize,
    /// How buffers are assigned to parser threads.
    pub parsing: Parsing,
    /// Maximum duration of a shutdown. Default 30 s.
    pub drain_seconds: Seconds,
    /// A file for the times of each message, as CSV.
    pub latency_csv: Option<PathBuf>,
    /// An OpenTelemetry collector to which metrics are sent (OTLP over HTTP), as
    /// `http://host:4318`.
    pub otlp: Option<String>,
}

impl Default for ServiceConfig {
    fn default() -> Self {
        Self {
            http: "127.0.0.1:8080".to_owned(),
            admin: String::new(),
            admin_token: None,
            memory: Size(64 << 20),
            threads: 0,
            parsing: Parsing::Shared,
            drain_seconds: Seconds(30.0),
            latency_csv: None,
            otlp: None,
        }
    }
}

/// How buffers are assigned to parser threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Parsing {
    /// A free thread takes the next buffers, small ones together.
    #[default]
    Shared,
    /// A free thread takes the next buffer, and each buffer becomes a batch.
    OneToOne,
    /// One thread takes all buffers that are there, and makes one batch of them.
    AllToOne,
}

/// Certificates of the listeners.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// Chain of certificates, PEM.
    pub certificates: PathBuf,
    /// Private key, PEM.
    pub key: PathBuf,
    /// Authorities of clients, PEM; with them every client has to show a certificate.
    pub client_authorities: Option<PathBuf>,
}

/// Limits on senders.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Maximum number of connections that send lines, and of those that speak HTTP. Connections
    /// that have not authenticated yet have slots of their own: the oldest is closed for the
    /// newest. Default 16384.
    pub connections: usize,
    /// Maximum size of a record, in bytes of JSON. Default 16 MiB.
    pub record_bytes: Size,
    /// Maximum depth of nesting. Default 128.
    pub depth: usize,
    /// Largest body of a request, in bytes, also when decompressed. Default 32 MiB.
    pub body_bytes: Size,
    /// Time limit of the start of a connection: the TLS handshake, a token, the header of its first
    /// request. Default 5 s.
    pub greeting_seconds: Seconds,
    /// A connection without data for this long is closed. Default 300 s.
    pub idle_seconds: Seconds,
    /// Time limit for receiving a record or request. Default 60 s.
    pub record_seconds: Seconds,
    /// Maximum bytes per second of a connection; 0, the default, for no limit.
    pub rate_bytes_per_second: Size,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            connections: 16384,
            record_bytes: Size(16 << 20),
            depth: 128,
            body_bytes: Size(32 << 20),
            greeting_seconds: Seconds(5.0),
            idle_seconds: Seconds(300.0),
            record_seconds: Seconds(60.0),
            rate_bytes_per_second: Size(0),
        }
    }
}

impl Config {
    /// Reads a file, the environment, and settings `a.b=value`, the later over the earlier.
    ///
    /// # Errors
    /// [`Error::Config`] names the file and place, and what is wrong there.
    pub fn load(file: Option<&Path>, settings: &[String]) -> Result<Self> {
        let environment = std::env::vars_os()
            .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
        let table = layer::read(file, environment, settings)?;
        let config = Self::of(table).map_err(|wrong| {
            let origin = file.map_or("configuration".to_owned(), |f| f.display().to_string());
            Error::Config(format!("{origin}: {wrong}"))
        })?;
        let config = config.completed();
        config.check()?;
        Ok(config)
    }

    /// The settings of a table.
    pub(crate) fn of(mut table: Table) -> Result<Self, Wrong> {
        let streams = table.remove("stream").unwrap_or_else(|| Table::new().into());
        let mut config: Self =
            read::value(table.into()).map_err(|wrong: Wrong| wrong.or("stream"))?;
        let streams: BTreeMap<String, Value> =
            read::value(streams).map_err(|wrong: Wrong| wrong.within("stream"))?;
        for (name, stream) in streams {
            let stream = read::value(stream).and_then(StreamConfig::of);
            let stream = stream.map_err(|wrong| wrong.within(&*name).within("stream"))?;
            config.streams.insert(name, stream);
        }
        Ok(config)
    }

    /// With the defaults that depend on others filled in.
    #[must_use]
    pub fn completed(mut self) -> Self {
        if self.service.threads == 0 {
            self.service.threads =
                std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        }
        if self.service.parsing == Parsing::AllToOne {
            self.service.threads = 1;
        }
        for (name, stream) in &mut self.streams {
            if !stream.follow.is_empty() && stream.follow_state.is_none() {
                stream.follow_state = Some(PathBuf::from(format!("{name}.places")));
            }
            if stream.sinks.is_empty() {
                stream.sinks.push(SinkConfig::directory(name));
            }
            for (number, sink) in stream.sinks.iter_mut().enumerate() {
                sink.complete(name, number);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests;
