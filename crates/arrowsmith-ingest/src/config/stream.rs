// SPDX-License-Identifier: Apache-2.0
//! The configuration of one stream.

use std::path::{Path, PathBuf};

use arrow_schema::{Schema, SchemaRef};
use arrowsmith::options::JSON;
use arrowsmith::{JsonReadOptions, Plan};
use arrowsmith_core::Result;
use serde::Deserialize;
use serde::de::Error as _;
use toml::Table;

use super::read::{self, Wrong};
use crate::publish::sinks::SinkConfig;
use crate::units::{CompressionConfig, Fsync, Size};

/// The schema that is inferred from what is received, and grows with it.
pub const AUTO: &str = "auto";

/// One stream: where its records come from, what they are, where they go.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StreamConfig {
    /// A file (text, Arrow or Parquet), the name of a workload, the text itself, or [`AUTO`].
    pub schema: String,
    /// The options of reading that apply to records which are received
    /// ([`receives`](arrowsmith::options::OptionInfo::receives)): settings of the stream, too.
    #[serde(skip)]
    pub read: JsonReadOptions,
    /// Addresses to listen on for lines of JSON.
    pub tcp: Vec<String>,
    /// Addresses of sources to connect to, which send lines of JSON; tried again when they go.
    pub dial: Vec<String>,
    /// Certificate authorities (PEM) for TLS to dialled sources; `webpki` for the public ones.
    pub dial_tls: Option<String>,
    /// Files and glob patterns that are read as they grow.
    pub follow: Vec<String>,
    /// Where the offsets of followed files are stored. Default: `NAME.places` in the folder that
    /// the service is started in.
    pub follow_state: Option<PathBuf>,
    /// Tokens, one of which an HTTP request has to carry, or a TCP connection to send as its first
    /// line.
    pub tokens: Vec<String>,
    /// Whether TCP connections are sent the number of their settled records.
    pub acknowledge: bool,
    /// How the good records of a request with bad ones are handled.
    pub bad_requests: BadRequests,
    /// How a value that does not match the schema is handled.
    pub on_error: OnErrorConfig,
    /// How the order of records is conveyed.
    pub order: OrderConfig,
    /// Maximum number of rows of a message; 0 for no limit.
    pub message_rows: usize,
    /// Largest message, in bytes; a sink may have a smaller limit.
    pub message_bytes: Size,
    /// What messages consist of.
    pub layout: LayoutConfig,
    /// Compression of messages.
    pub compression: CompressionConfig,
    /// Field by whose values messages are divided. Needs a sink that has keys.
    pub key: Option<String>,
    /// Folder for rejected records. Default `rejects`.
    pub rejects: PathBuf,
    /// Maximum size of the rejects of the stream, and of those of each of its sinks: beyond it the
    /// oldest files are removed. Default 0, no limit.
    pub rejects_bytes: Size,
    /// Where messages wait while a sink is away.
    pub spool: Option<SpoolConfig>,
    /// Where messages go: the list `sink`. Default: a directory named as the stream.
    #[serde(skip)]
    pub sinks: Vec<SinkConfig>,
}

impl Default for StreamConfig {
    fn default() -> Self {
        Self {
            schema: String::new(),
            read: JsonReadOptions::default(),
            tcp: Vec::new(),
            dial: Vec::new(),
            dial_tls: None,
            follow: Vec::new(),
            follow_state: None,
            tokens: Vec::new(),
            acknowledge: false,
            bad_requests: BadRequests::Refuse,
            on_error: OnErrorConfig::Reject,
            order: OrderConfig::Metadata,
            message_rows: 0,
            message_bytes: Size(usize::MAX),
            layout: LayoutConfig::SelfContained,
            compression: CompressionConfig::None,
            key: None,
            rejects: PathBuf::from("rejects"),
            rejects_bytes: Size(0),
            spool: None,
            sinks: Vec::new(),
        }
    }
}

impl StreamConfig {
    /// The settings of a table.
    pub(super) fn of(mut table: Table) -> std::result::Result<Self, Wrong> {
        let mut options = JsonReadOptions::default();
        let known = || JSON.iter().filter(|option| option.receives).map(|option| option.name);
        for name in known() {
            if let Some(value) = table.remove(name) {
                let value = read::value(value).map_err(|wrong| wrong.within(name))?;
                options.set(name, value).map_err(Wrong::custom)?;
            }
        }
        let sinks = table.remove("sink").unwrap_or_else(|| Vec::<toml::Value>::new().into());
        let mut config: Self = read::value(table.into()).map_err(|wrong: Wrong| {
            let known = known().collect::<Vec<_>>().join(", ");
            wrong.or(&format!("sink; and as options of reading {known}"))
        })?;
        let sinks: Vec<Table> = read::value(sinks).map_err(|wrong: Wrong| wrong.within("sink"))?;
        for (number, sink) in sinks.into_iter().enumerate() {
            let sink = SinkConfig::of(sink);
            let sink = sink.map_err(|wrong| wrong.within(number.to_string()).within("sink"))?;
            config.sinks.push(sink);
        }
        config.read = options;
        Ok(config)
    }
}

/// How the good records of a request with bad ones are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BadRequests {
    /// Nothing of the request is kept.
    Refuse,
    /// They are published, the bad ones go to the rejects.
    Keep,
}

/// How a value that does not match the schema is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnErrorConfig {
    /// Its record goes to the rejects.
    Reject,
    /// It becomes null, where that is allowed.
    Null,
}

/// How the order of records is conveyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrderConfig {
    /// By the origins of a message, which sinks may write as properties.
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
    /// Maximum size, in bytes; when it is full, senders have to wait. Default 1 GiB.
    #[serde(default = "spool_bytes")]
    pub bytes: Size,
    /// When data is synced to disk.
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
    /// Whether the schema is inferred, and grows.
    #[must_use]
    pub fn is_auto(&self) -> bool {
        self.schema == AUTO
    }

    /// The schema that is named; without columns if it is [`AUTO`].
    ///
    /// # Errors
    /// [`arrowsmith_core::Error::Config`] without a schema, or the error of reading it.
    pub fn load_schema(&self) -> Result<SchemaRef> {
        if self.is_auto() {
            return Ok(Schema::empty().into());
        }
        if !Path::new(&self.schema).exists()
            && let Ok(workload) = self.schema.parse::<arrowsmith_workload::Workload>()
        {
            return Ok(workload.schema().into());
        }
        Ok(arrowsmith_plan::load::load_schema(&self.schema)?.into())
    }

    /// The plan of its records.
    ///
    /// # Errors
    /// As [`StreamConfig::load_schema`], and options that do not go with the schema.
    pub fn plan(&self) -> Result<Plan> {
        self.read.plan(self.read.given(self.load_schema()?)?)
    }
}
