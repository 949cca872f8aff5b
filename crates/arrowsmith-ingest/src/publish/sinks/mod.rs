// SPDX-License-Identifier: Apache-2.0
//! The sinks that a stream can have, by the `type` of their configuration.
//!
//! Directory and standard output are built in. Pulsar and Flight are crates of their own, and cargo
//! features of the same names; this is the only module that knows all of them.

pub mod directory;
mod stdout;

use std::path::Path;

use arrow_schema::SchemaRef;
use arrowsmith_publish::{Publish, PublishError};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use toml::Table;

use self::directory::{Directory, DirectoryOptions, Storage};
use self::stdout::{Stdout, StdoutOptions};
use crate::config::read::{self, Wrong};
use crate::observe::metrics::SinkMetrics;
use crate::{disk, store};

/// What the sinks of a stream require of its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Whether a sink needs messages to be serialized.
    pub(crate) payload: bool,
    /// Minimum over the sinks of their maximum message size, in bytes.
    pub(crate) message_bytes_max: usize,
}

impl Default for Needs {
    fn default() -> Self {
        Self { payload: false, message_bytes_max: usize::MAX }
    }
}

impl Needs {
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            payload: self.payload || other.payload,
            message_bytes_max: self.message_bytes_max.min(other.message_bytes_max),
        }
    }

    /// Those of a sink that is open.
    pub(crate) fn of(sink: &dyn Publish) -> Self {
        Self { payload: sink.needs_payload(), message_bytes_max: sink.message_bytes_max() }
    }
}

#[cfg(not(feature = "pulsar"))]
const LACKS_PULSAR: &str =
    "this build has no `pulsar`: build the command with `--features pulsar` (or `full`)";

#[cfg(not(feature = "flight"))]
const LACKS_FLIGHT: &str =
    "this build has no `flight`: build the command with `--features flight` (or `full`)";

/// Options of a sink that this build lacks, whatever they are.
#[cfg(not(all(feature = "pulsar", feature = "flight")))]
#[derive(Debug, Clone)]
pub struct Lacking {}

/// The setting `type` of a sink.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Directory,
    Stdout,
    Pulsar,
    Flight,
}

/// A directory as the place of a sink: the same whatever symbolic links lead to it.
fn directory_at(path: &Path) -> String {
    let absolute = std::path::absolute(path);
    let path = absolute.as_deref().unwrap_or(path);
    // It may not be there yet, as a whole.
    let resolve = |above: &Path| {
        let rest = path.strip_prefix(above).ok()?;
        Some(above.canonicalize().ok()?.join(rest))
    };
    let resolved = path.ancestors().find_map(resolve);
    let path = resolved.as_deref().unwrap_or(path).components();
    format!("directory {}", path.as_path().display())
}

/// A sink and its options.
#[derive(Debug, Clone)]
pub enum SinkConfig {
    /// Files in a directory.
    Directory(DirectoryOptions),
    /// Standard output.
    Stdout(StdoutOptions),
    /// A topic of Apache Pulsar.
    #[cfg(feature = "pulsar")]
    Pulsar(arrowsmith_publish_pulsar::PulsarOptions),
    /// Refused in builds without the feature, by a message that names it.
    #[cfg(not(feature = "pulsar"))]
    Pulsar(Lacking),
    /// Subscribers of an Arrow Flight endpoint.
    #[cfg(feature = "flight")]
    Flight(arrowsmith_publish_flight::FlightOptions),
    /// Refused in builds without the feature, by a message that names it.
    #[cfg(not(feature = "flight"))]
    Flight(Lacking),
}

/// For programs that have settings of their own.
impl<'de> Deserialize<'de> for SinkConfig {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::of(Table::deserialize(from)?).map_err(D::Error::custom)
    }
}

impl SinkConfig {
    /// The settings of a table.
    pub(crate) fn of(mut table: Table) -> Result<Self, Wrong> {
        let kind = table.remove("type").ok_or_else(|| Wrong::missing_field("type"))?;
        let kind = read::value(kind).map_err(|wrong: Wrong| wrong.within("type"))?;
        let options = table.into();
        match kind {
            Kind::Directory => read::value(options).map(Self::Directory),
            Kind::Stdout => read::value(options).map(Self::Stdout),
            #[cfg(feature = "pulsar")]
            Kind::Pulsar => read::value(options).map(Self::Pulsar),
            #[cfg(not(feature = "pulsar"))]
            Kind::Pulsar => Ok(Self::Pulsar(Lacking {})),
            #[cfg(feature = "flight")]
            Kind::Flight => read::value(options).map(Self::Flight),
            #[cfg(not(feature = "flight"))]
            Kind::Flight => Ok(Self::Flight(Lacking {})),
        }
    }

    /// Files in a directory of this name.
    #[must_use]
    pub fn directory(name: &str) -> Self {
        Self::Directory(DirectoryOptions::new(name))
    }

    /// What it is called in metrics and logs, with its place in the stream's list.
    pub(crate) fn name(&self, number: usize) -> String {
        let kind = match self {
            Self::Directory(_) => "directory",
            Self::Stdout(_) => "stdout",
            Self::Pulsar(_) => "pulsar",
            Self::Flight(_) => "flight",
        };
        if number == 0 { kind.to_owned() } else { format!("{kind}-{number}") }
    }

    /// Where it writes; no two of a stream have the same.
    pub(crate) fn places(&self) -> Vec<String> {
        let mut places = vec![self.place()];
        if let Self::Directory(options) = self
            && options.url().is_some()
        {
            places.push(directory_at(options.folder()));
        }
        places
    }

    /// The place of what it publishes.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::Directory(options) => match options.url() {
                Some(url) => format!("directory {}", url.trim_end_matches('/')),
                None => directory_at(&options.path),
            },
            Self::Stdout(_) => "stdout".to_owned(),
            #[cfg(feature = "pulsar")]
            Self::Pulsar(options) => format!("topic {}", options.topic),
            #[cfg(not(feature = "pulsar"))]
            Self::Pulsar(_) => "pulsar".to_owned(),
            #[cfg(feature = "flight")]
            Self::Flight(options) => format!("flight {}", options.listen),
            #[cfg(not(feature = "flight"))]
            Self::Flight(_) => "flight".to_owned(),
        }
    }

    /// The address at which it takes connections.
    pub(crate) fn listener(&self) -> Option<String> {
        match self {
            #[cfg(feature = "flight")]
            Self::Flight(options) => Some(options.listen.to_string()),
            _ => None,
        }
    }

    /// Whether what it acknowledges outlives a loss of power.
    pub(crate) fn is_durable(&self) -> bool {
        matches!(self, Self::Directory(options) if options.fsync == crate::units::Fsync::Always)
    }

    /// Whether all of its messages have to have the schema of the first.
    pub(crate) fn has_one_schema(&self) -> bool {
        match self {
            Self::Stdout(_) => true,
            #[cfg(feature = "pulsar")]
            Self::Pulsar(options) => options.schema == arrowsmith_publish_pulsar::SchemaMode::First,
            _ => false,
        }
    }

    /// Checks the options.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self {
            Self::Directory(options) => options.check(),
            Self::Stdout(_) => Ok(()),
            #[cfg(feature = "pulsar")]
            Self::Pulsar(options) => options.check().map_err(|error| error.to_string()),
            #[cfg(not(feature = "pulsar"))]
            Self::Pulsar(_) => Err(LACKS_PULSAR.to_owned()),
            #[cfg(feature = "flight")]
            Self::Flight(options) => options.check().map_err(|error| error.to_string()),
            #[cfg(not(feature = "flight"))]
            Self::Flight(_) => Err(LACKS_FLIGHT.to_owned()),
        }
    }

    /// Checks the options against the schema of its messages.
    pub(crate) fn check_schema(&self, schema: &SchemaRef) -> Result<(), String> {
        match self {
            Self::Directory(options) => options.check_schema(schema),
            _ => Ok(()),
        }
    }

    /// Fills in what its name decides; see [`SinkConfig::name`].
    pub(crate) fn complete(&mut self, stream: &str, number: usize) {
        let name = self.name(number);
        if let Self::Directory(options) = self
            && options.url().is_some()
        {
            options.state.get_or_insert_with(|| format!("{stream}.{name}.state").into());
        }
    }

    /// What it requires of messages, as far as its options determine that: also of messages that
    /// are made before it can be opened.
    pub(crate) fn needs(&self) -> Needs {
        match self {
            Self::Directory(_) | Self::Stdout(_) => Needs::default(),
            #[cfg(not(feature = "pulsar"))]
            Self::Pulsar(_) => Needs::default(),
            #[cfg(not(feature = "flight"))]
            Self::Flight(_) => Needs::default(),
            #[cfg(feature = "pulsar")]
            Self::Pulsar(options) => {
                Needs { payload: true, message_bytes_max: options.payload_bytes_max() }
            }
            #[cfg(feature = "flight")]
            Self::Flight(options) => {
                Needs { payload: true, message_bytes_max: options.message_bytes_max }
            }
        }
    }

    /// Opens it; may be called again after an error.
    pub(crate) async fn open(
        &self,
        stream: &str,
        #[cfg_attr(not(any(feature = "pulsar", feature = "flight")), expect(unused_variables))]
        schema: SchemaRef,
        metrics: &SinkMetrics,
    ) -> Result<Box<dyn Publish>, PublishError> {
        match self {
            Self::Directory(options) => {
                let (disk, stores) = (disk::system(), store::system());
                let storage = Storage { disk, stores, waiting: metrics.uploads.clone() };
                Ok(Box::new(Directory::open(storage, options.clone(), stream)?))
            }
            Self::Stdout(options) => Ok(Box::new(Stdout::open(options.clone())?)),
            #[cfg(feature = "pulsar")]
            Self::Pulsar(options) => {
                arrowsmith_publish_pulsar::PulsarPublish::open(options.clone(), stream, schema)
                    .await
            }
            #[cfg(not(feature = "pulsar"))]
            Self::Pulsar(_) => Err(PublishError::fatal(LACKS_PULSAR)),
            #[cfg(feature = "flight")]
            Self::Flight(options) => {
                arrowsmith_publish_flight::FlightPublish::open(options.clone(), stream, schema)
                    .await
            }
            #[cfg(not(feature = "flight"))]
            Self::Flight(_) => Err(PublishError::fatal(LACKS_FLIGHT)),
        }
    }
}
