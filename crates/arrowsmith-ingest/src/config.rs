// SPDX-License-Identifier: Apache-2.0
//! The configuration: what can be set, its defaults, and what makes no sense.
//!
//! A TOML file, then the environment, then flags; the later wins ([`layer`]). Names and units are a
//! contract, described for users in docs/guide/ingest.md.

pub mod layer;
mod units;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_schema::SchemaRef;
use arrowsmith_core::{Error, Result};
use serde::Deserialize;

pub use units::{Seconds, Size};

use crate::sinks::SinkConfig;
use crate::width::Width;

/// All of it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What is one for the process.
    pub service: ServiceConfig,
    /// Certificates; with them, TCP and HTTP speak TLS only.
    pub tls: Option<TlsConfig>,
    /// Bounds on what senders may ask for.
    pub limits: LimitsConfig,
    /// The streams, by name.
    #[serde(rename = "stream")]
    pub streams: BTreeMap<String, StreamConfig>,
}

/// What is one for the process.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceConfig {
    /// Address of HTTP: records, metrics, dashboard. Empty for none. Default `127.0.0.1:8080`.
    pub http: String,
    /// Another address for metrics, health and dashboard, without TLS; then `http` takes records
    /// only.
    pub admin: String,
    /// Token that metrics, status and dashboard ask for. `/healthz` and `/readyz` are open always.
    pub admin_token: Option<String>,
    /// JSON text that is inside at a time, in bytes. What it becomes in Arrow comes to it: as many
    /// bytes, and as many again beyond. Default 64 MiB.
    pub memory: Size,
    /// Threads that parse, resize and serialize. Default: the cores.
    pub threads: usize,
    /// How buffers meet parser threads.
    pub parsing: Parsing,
    /// Longest that the end may take. Default 30 s.
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

/// How buffers meet parser threads.
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

/// Bounds on what senders may ask for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Connections at a time that send lines, and as many that speak HTTP. Those that have not said
    /// yet who they are come to it: they make room for each other. Default 16384.
    pub connections: usize,
    /// Longest record, in bytes of JSON. Default 16 MiB.
    pub record_bytes: Size,
    /// Deepest nesting. Default 128.
    pub depth: usize,
    /// Largest body of a request, in bytes, also when decompressed. Default 32 MiB.
    pub body_bytes: Size,
    /// A connection that takes longer to say what it wants is closed: the handshake of TLS, a
    /// token, the head of its first request. Default 5 s.
    pub greeting_seconds: Seconds,
    /// A connection on which nothing comes for so long is closed. Default 300 s.
    pub idle_seconds: Seconds,
    /// A record or request that takes longer to come is given up. Default 60 s.
    pub record_seconds: Seconds,
    /// Bytes of a connection in a second; 0 for no limit, the default.
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

/// One stream: where its records come from, what they are, where they go.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StreamConfig {
    /// A file (text, Arrow or Parquet), the name of a workload, or the text itself.
    pub schema: String,
    /// What decodes: a name of [`arrowsmith::ENGINES`].
    pub engine: String,
    /// Addresses to listen on for lines of JSON.
    pub tcp: Vec<String>,
    /// Addresses of sources to connect to, which send lines of JSON; tried again when they go.
    pub dial: Vec<String>,
    /// Authorities (PEM) by which dialled sources are known: TLS. `webpki` for the public ones.
    pub dial_tls: Option<String>,
    /// Files and patterns that are read as they grow.
    pub follow: Vec<String>,
    /// Where the places in followed files are kept. Default: `NAME.places` in the folder that the
    /// service is started in.
    pub follow_state: Option<PathBuf>,
    /// Tokens, one of which an HTTP request has to bear, or a TCP connection to send as first line.
    pub tokens: Vec<String>,
    /// Whether TCP connections are told how many of their records are settled.
    pub acknowledge: bool,
    /// What becomes of the good records of a request that has bad ones.
    pub bad_requests: BadRequests,
    /// What becomes of a value that does not fit.
    pub on_error: OnErrorConfig,
    /// Whether a key that the schema does not have makes a record bad.
    pub unknown_keys_are_errors: bool,
    /// Whether a key that comes twice makes a record bad.
    pub duplicate_keys_are_errors: bool,
    /// Take NaN and Infinity as numbers.
    pub allow_nan: bool,
    /// How the order of records is told.
    pub order: OrderConfig,
    /// Most rows of a message; 0 for no limit.
    pub message_rows: usize,
    /// Largest message, in bytes; a sink may have a smaller limit.
    pub message_bytes: Size,
    /// What messages consist of.
    pub layout: LayoutConfig,
    /// Compression of messages.
    pub compression: CompressionConfig,
    /// Field by whose values messages are divided. Needs a sink that has keys.
    pub key: Option<String>,
    /// Folder for records that were left out. Default `rejects`.
    pub rejects: PathBuf,
    /// Where messages wait while a sink is away.
    pub spool: Option<SpoolConfig>,
    /// Where messages go. Default: a directory named as the stream.
    #[serde(rename = "sink")]
    pub sinks: Vec<SinkConfig>,
}

impl Default for StreamConfig {
    fn default() -> Self {
        Self {
            schema: String::new(),
            engine: arrowsmith::ENGINES[0].name.to_owned(),
            tcp: Vec::new(),
            dial: Vec::new(),
            dial_tls: None,
            follow: Vec::new(),
            follow_state: None,
            tokens: Vec::new(),
            acknowledge: false,
            bad_requests: BadRequests::Refuse,
            on_error: OnErrorConfig::Reject,
            unknown_keys_are_errors: false,
            duplicate_keys_are_errors: false,
            allow_nan: false,
            order: OrderConfig::Metadata,
            message_rows: 0,
            message_bytes: Size(usize::MAX),
            layout: LayoutConfig::SelfContained,
            compression: CompressionConfig::None,
            key: None,
            rejects: PathBuf::from("rejects"),
            spool: None,
            sinks: Vec::new(),
        }
    }
}

/// What becomes of the good records of a request that has bad ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BadRequests {
    /// Nothing of the request is kept.
    Refuse,
    /// They are published, the bad ones go to the rejects.
    Keep,
}

/// What becomes of a value that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnErrorConfig {
    /// Its record goes to the rejects.
    Reject,
    /// It becomes null, where that is allowed.
    Null,
}

/// How the order of records is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrderConfig {
    /// By the origins of a message, which sinks may write as its properties.
    Metadata,
    /// By two more columns, `_connection` and `_sequence`.
    Column,
}

/// What messages consist of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayoutConfig {
    /// Schema and batch.
    SelfContained,
    /// The batch; the schema is the first message of a topic.
    BatchOnly,
}

/// Compression of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum CompressionConfig {
    /// None.
    #[default]
    None,
    /// LZ4 frames.
    Lz4,
    /// Zstandard.
    Zstd,
}

impl From<CompressionConfig> for arrowsmith_publish::Compression {
    fn from(config: CompressionConfig) -> Self {
        match config {
            CompressionConfig::None => Self::None,
            CompressionConfig::Lz4 => Self::Lz4,
            CompressionConfig::Zstd => Self::Zstd,
        }
    }
}

/// Where messages wait.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpoolConfig {
    /// The folder.
    pub path: PathBuf,
    /// Most that is kept, in bytes; then senders have to wait. Default 1 GiB.
    #[serde(default = "spool_bytes")]
    pub bytes: Size,
    /// When the disk is told to write.
    #[serde(default)]
    pub fsync: Fsync,
    /// When messages go there.
    #[serde(default)]
    pub when: SpoolWhen,
}

fn spool_bytes() -> Size {
    Size(1 << 30)
}

/// When the disk is told to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum Fsync {
    /// Before anything is acknowledged: outlives a loss of power.
    #[default]
    Always,
    /// Once a second.
    Second,
    /// When the system likes: outlives `kill -9` only.
    Never,
}

/// When messages go to the spool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum SpoolWhen {
    /// While the sink is away.
    #[default]
    Away,
    /// Always, first: senders are answered by the disk, not by the sink.
    Always,
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
        let config: Self =
            toml::Value::Table(table).try_into().map_err(|error: toml::de::Error| {
                let origin = file.map_or("configuration".to_owned(), |f| f.display().to_string());
                Error::Config(format!("{origin}: {}", error.to_string().trim()))
            })?;
        let config = config.completed();
        config.check()?;
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
        }
        self
    }

    /// Looks for what makes no sense, without touching anything but the schemas' files.
    ///
    /// # Errors
    /// [`Error::Config`] names the setting.
    pub fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::Config(what));
        if self.streams.is_empty() {
            return wrong(
                "there is no stream: a table [stream.NAME] with a schema is needed".into(),
            );
        }
        if self.service.memory.0 < MEMORY_MIN {
            return wrong(format!("service.memory: has to be {MEMORY_MIN} bytes at least"));
        }
        if self.limits.record_bytes.0 == 0 || self.limits.connections == 0 {
            return wrong("limits.record_bytes and limits.connections: have to be above 0".into());
        }
        let most = self.service.memory.0 / 2;
        if self.limits.record_bytes.0 > most || self.limits.body_bytes.0 > most {
            return wrong(format!(
                "limits.record_bytes and limits.body_bytes: have to be at most half of service.memory \
                 ({most} bytes)"
            ));
        }
        if let Some(token) = &self.service.admin_token
            && !is_token(token)
        {
            return wrong(
                "service.admin_token: is empty, or has space around it: it is no token".into(),
            );
        }
        for (name, stream) in &self.streams {
            stream.check(name)?;
            let row = Width::of(&*stream.load_schema()?).row_bytes();
            if row > most as u64 {
                return wrong(format!(
                    "stream.{name}.schema: a row takes {row} bytes of Arrow data, more than half of \
                     service.memory ({most} bytes)"
                ));
            }
        }
        let mut rejects: Vec<PathBuf> =
            self.streams.iter().flat_map(|(n, s)| s.reject_files(n)).collect();
        rejects.sort();
        if let Some(pair) = rejects.windows(2).find(|pair| pair[0] == pair[1]) {
            return wrong(format!("{}: two streams have these rejects", pair[0].display()));
        }
        let mut listeners: Vec<&String> = self.streams.values().flat_map(|s| &s.tcp).collect();
        listeners.extend([&self.service.http, &self.service.admin]);
        listeners.retain(|address| !address.is_empty() && !address.ends_with(":0"));
        listeners.sort();
        if let Some(pair) = listeners.windows(2).find(|pair| pair[0] == pair[1]) {
            return wrong(format!("{}: two listeners have this address", pair[0]));
        }
        Ok(())
    }
}

/// Whether somebody can be known by it: an empty one is what everybody knows.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.contains(char::is_control)
}

/// Least of `service.memory`, in bytes.
const MEMORY_MIN: usize = 4 << 20;

impl StreamConfig {
    /// The schema that is named.
    ///
    /// # Errors
    /// [`Error::Config`] for none, or what reading it says.
    pub fn load_schema(&self) -> Result<SchemaRef> {
        if !Path::new(&self.schema).exists()
            && let Ok(workload) = self.schema.parse::<arrowsmith_workload::Workload>()
        {
            return Ok(workload.schema().into());
        }
        Ok(arrowsmith_plan::load::load_schema(&self.schema)?.into())
    }

    /// The files of rejects of a stream of this name, and of its sinks, without their ending.
    fn reject_files(&self, name: &str) -> Vec<PathBuf> {
        let of_sink =
            |(number, sink): (usize, &SinkConfig)| format!("{name}.{}", sink.name(number));
        let names = self.sinks.iter().enumerate().map(of_sink);
        names.chain([name.to_owned()]).map(|name| self.rejects.join(name)).collect()
    }

    fn check(&self, name: &str) -> Result<()> {
        let wrong =
            |what: &str, why: String| Err(Error::Config(format!("stream.{name}.{what}: {why}")));
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
            let why =
                "a name has letters, digits, '-', '_' and '.' only, and does not begin with '.'";
            return Err(Error::Config(format!("stream.{name}: {why}")));
        }
        if self.schema.is_empty() {
            return wrong("schema", "is needed".to_owned());
        }
        if let Err(error) = self.load_schema() {
            return wrong("schema", error.to_string());
        }
        if self.key.is_some() && self.order == OrderConfig::Column {
            return wrong("key", "a keyed stream tells its order by metadata".to_owned());
        }
        if let Some(number) = self.tokens.iter().position(|token| !is_token(token)) {
            let why = "is empty, or has space around it or ends of lines in it: it is no token";
            return wrong("tokens", format!("number {number} {why}"));
        }
        let mut places = Vec::new();
        for sink in &self.sinks {
            if let Err(why) = sink.check() {
                return wrong("sink", why);
            }
            places.push(sink.place());
        }
        places.sort();
        if let Some(pair) = places.windows(2).find(|pair| pair[0] == pair[1]) {
            return wrong("sink", format!("two go to {}", pair[0]));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
