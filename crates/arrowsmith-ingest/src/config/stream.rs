// SPDX-License-Identifier: Apache-2.0
//! The configuration of one stream.

use std::path::{Path, PathBuf};

use arrow_schema::SchemaRef;
use arrowsmith_core::Result;
use serde::Deserialize;

use crate::publish::sinks::SinkConfig;
use crate::units::{CompressionConfig, Fsync, Size};

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
}
