// SPDX-License-Identifier: Apache-2.0
//! The options of a Pulsar sink, as in a configuration file, and their check.
//!
//! Durations are in milliseconds and sizes in bytes, as the names say. Nothing here connects.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{PulsarError, Result};

/// All options of a Pulsar sink.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PulsarOptions {
    /// Address of the cluster: `pulsar://host:6650`, or `pulsar+ssl://host:6651` for TLS.
    pub url: String,
    /// The topic, with or without `persistent://tenant/namespace/`. Empty: the name of the stream.
    pub topic: String,
    /// Producers that publish side by side, each on connections of its own. Order holds within one
    /// producer only; all messages of a connection go to the same one.
    pub producers: usize,
    /// Start of the producers' names; `-0`, `-1`… is added. Must be the same after a restart and
    /// differ between processes: the broker recognises a message that comes again by the name and
    /// the sequence number. (Pulsar refuses a second producer of the same name.) Empty:
    /// `arrowsmith-` and the name of the stream.
    pub producer_name: String,
    /// How messages are distributed over the partitions of a partitioned topic.
    pub routing: Routing,
    /// Messages in flight per producer and partition: sent, and not confirmed yet.
    pub in_flight_messages_max: usize,
    /// Bytes in flight per producer and partition. One message may exceed it alone.
    pub in_flight_bytes_max: usize,
    /// Maximum size of a message, payload and properties together. Never more than the broker
    /// allows, which is 5 MiB unless its configuration says otherwise.
    pub message_bytes_max: usize,
    /// Messages put together to one entry of the broker. Off by default: Arrow messages are large.
    pub batch: Batch,
    /// Compression of an entry by Pulsar. Arrow IPC can compress its buffers itself, which readers
    /// decompress column by column; choose one of the two.
    pub compression: Compression,
    /// Whether the first message of the topic is the schema, and the others come without it.
    pub schema: SchemaMode,
    /// A message that is not confirmed after this time is returned to the service, with all
    /// messages after it.
    pub send_timeout_ms: u64,
    /// Time limit for connecting, TLS and authentication included.
    pub connect_timeout_ms: u64,
    /// A silent broker is sent a ping after this time; after twice the time, the connection is
    /// closed.
    pub keep_alive_ms: u64,
    /// Wait before the second attempt to connect; doubled from then on.
    pub backoff_min_ms: u64,
    /// Maximum wait between two attempts.
    pub backoff_max_ms: u64,
    /// TLS, for `pulsar+ssl://`.
    pub tls: Tls,
    /// Authentication at the broker.
    pub auth: Auth,
}

/// How messages are distributed over partitions. A message with a key always goes by its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// By the sequence number, so that a message sent again goes to the same partition.
    #[default]
    RoundRobin,
    /// Each producer stays with one partition: its number modulo the number of partitions. Order
    /// per connection then holds on a partitioned topic as well.
    Producer,
}

/// Batches of messages, as Pulsar's other clients make them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Batch {
    /// Whether messages are batched.
    pub enabled: bool,
    /// Maximum number of messages in a batch.
    pub messages_max: usize,
    /// Maximum payload of a batch, in bytes.
    pub bytes_max: usize,
    /// Maximum wait of the first message of a batch for others.
    pub delay_max_ms: u64,
}

impl Default for Batch {
    fn default() -> Self {
        Self { enabled: false, messages_max: 1_000, bytes_max: 128 << 10, delay_max_ms: 10 }
    }
}

/// Compression of an entry by Pulsar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compression {
    /// None.
    #[default]
    None,
    /// LZ4 blocks.
    Lz4,
    /// Zstandard at its default level.
    Zstd,
}

/// Where the schema of a message is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchemaMode {
    /// In each message: it is a whole Arrow IPC stream.
    #[default]
    Each,
    /// In the first message of each partition, which this sink writes and on start compares.
    First,
}

/// TLS to the broker.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tls {
    /// PEM file of the authorities to trust besides the public ones.
    pub ca_file: Option<PathBuf>,
    /// PEM file of a client certificate, with those that signed it.
    pub certificate_file: Option<PathBuf>,
    /// PEM file of the client certificate's key.
    pub key_file: Option<PathBuf>,
}

/// Authentication. At most one of the two tokens; a client certificate of [`Tls`] also counts,
/// where the broker has TLS authentication.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Auth {
    /// A JSON web token.
    #[serde(skip_serializing)]
    pub token: Option<String>,
    /// A file with the token, read again at each connection, so that it can be replaced.
    pub token_file: Option<PathBuf>,
}

/// Written by hand, so that no log shows a token.
impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Auth")
            .field("token", &self.token.as_ref().map(|_| "…"))
            .field("token_file", &self.token_file)
            .finish()
    }
}

impl Default for PulsarOptions {
    fn default() -> Self {
        Self {
            url: "pulsar://127.0.0.1:6650".to_owned(),
            topic: String::new(),
            producers: 1,
            producer_name: String::new(),
            routing: Routing::default(),
            in_flight_messages_max: 256,
            in_flight_bytes_max: 32 << 20,
            message_bytes_max: 5 << 20,
            batch: Batch::default(),
            compression: Compression::default(),
            schema: SchemaMode::default(),
            send_timeout_ms: 30_000,
            connect_timeout_ms: 10_000,
            keep_alive_ms: 30_000,
            backoff_min_ms: 100,
            backoff_max_ms: 30_000,
            tls: Tls::default(),
            auth: Auth::default(),
        }
    }
}

impl PulsarOptions {
    /// Maximum size of a payload that is sure to fit into a message, unless the broker has a
    /// smaller limit.
    #[must_use]
    pub fn payload_bytes_max(&self) -> usize {
        crate::producer::payload_bytes_max(self.message_bytes_max)
    }

    /// Checks what can be checked without a broker, files included.
    ///
    /// # Errors
    /// [`PulsarError::Option`], which names the option.
    pub fn check(&self) -> Result<()> {
        let fault = |option: &'static str, reason: &str| {
            Err(PulsarError::Option { option, reason: reason.to_owned() })
        };
        let (scheme, rest) = self.url.split_once("://").unwrap_or_default();
        if !matches!(scheme, "pulsar" | "pulsar+ssl") || rest.is_empty() || rest.starts_with('/') {
            return fault("url", "must be pulsar://host:port or pulsar+ssl://host:port");
        }
        let is_none = |c: char| c.is_whitespace() || c.is_control();
        if self.topic.contains(is_none) {
            return fault("topic", "must be a name without white space");
        }
        if self.producer_name.contains(is_none) {
            return fault("producer_name", "must be a name without white space");
        }
        let positive: [(&'static str, bool); 8] = [
            ("producers", self.producers > 0),
            ("in_flight_messages_max", self.in_flight_messages_max > 0),
            ("in_flight_bytes_max", self.in_flight_bytes_max > 0),
            ("batch.messages_max", self.batch.messages_max > 0),
            ("batch.bytes_max", self.batch.bytes_max > 0),
            ("send_timeout_ms", self.send_timeout_ms > 0),
            ("connect_timeout_ms", self.connect_timeout_ms > 0),
            ("keep_alive_ms", self.keep_alive_ms > 0),
        ];
        if let Some((option, _)) = positive.iter().find(|(_, positive)| !positive) {
            return fault(option, "must be at least 1");
        }
        if self.producers > 256 {
            return fault("producers", "must be at most 256");
        }
        if !(MESSAGE_BYTES_MIN..=MESSAGE_BYTES_MAX).contains(&self.message_bytes_max) {
            return fault("message_bytes_max", "must be between 16 KiB and 1 GiB");
        }
        if self.backoff_min_ms == 0 || self.backoff_min_ms > self.backoff_max_ms {
            return fault("backoff_min_ms", "must be at least 1 and at most backoff_max_ms");
        }
        if self.auth.token.is_some() && self.auth.token_file.is_some() {
            return fault("auth", "must have one of token and token_file");
        }
        if self.tls.certificate_file.is_some() != self.tls.key_file.is_some() {
            return fault("tls", "must have both of certificate_file and key_file, or none");
        }
        if !self.is_tls() && self.tls != Tls::default() {
            return fault("tls", "needs a url that begins with pulsar+ssl://");
        }
        if self.is_tls() {
            crate::credentials::tls(&self.tls)?;
        }
        crate::credentials::token(&self.auth)?;
        Ok(())
    }

    /// These options with the names that an empty topic and producer name stand for.
    #[must_use]
    pub fn named(mut self, stream: &str) -> Self {
        if self.topic.is_empty() {
            stream.clone_into(&mut self.topic);
        }
        if self.producer_name.is_empty() {
            self.producer_name = format!("arrowsmith-{stream}");
        }
        self
    }

    /// Whether the URL is one of TLS.
    pub(crate) fn is_tls(&self) -> bool {
        self.url.starts_with("pulsar+ssl://")
    }

    /// The name of one producer.
    pub(crate) fn name(&self, producer: usize) -> String {
        format!("{}-{producer}", self.producer_name)
    }

    pub(crate) fn send_timeout(&self) -> Duration {
        Duration::from_millis(self.send_timeout_ms)
    }

    pub(crate) fn connect_timeout(&self) -> Duration {
        Duration::from_millis(self.connect_timeout_ms)
    }

    pub(crate) fn keep_alive(&self) -> Duration {
        Duration::from_millis(self.keep_alive_ms)
    }

    /// Wait before attempt number `attempt`, from 1, with up to a quarter more so that many clients
    /// do not reconnect at once.
    pub(crate) fn backoff(&self, attempt: u32) -> Duration {
        let doubled = self.backoff_min_ms.saturating_mul(1 << attempt.saturating_sub(1).min(20));
        let wait = doubled.min(self.backoff_max_ms);
        // The clock's nanoseconds are random enough for this.
        let nanos = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |now| u64::from(now.subsec_nanos()));
        Duration::from_millis(wait) + Duration::from_micros(nanos % (wait * 250 + 1))
    }
}

/// Smallest limit of a message: its metadata has to fit.
const MESSAGE_BYTES_MIN: usize = 16 << 10;
/// Largest limit of a message; sizes are 32-bit signed in the protocol.
const MESSAGE_BYTES_MAX: usize = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid_and_each_fault_names_its_option() {
        PulsarOptions::default().check().unwrap();
        type Spoil = fn(&mut PulsarOptions);
        let faults: &[(&str, Spoil)] = &[
            ("url", |o| o.url = "localhost:6650".into()),
            ("url", |o| o.url = "http://localhost:8080".into()),
            ("url", |o| o.url = "pulsar://".into()),
            ("topic", |o| o.topic = "a b".into()),
            ("topic", |o| o.topic = "a\0".into()),
            ("producer_name", |o| o.producer_name = "a b".into()),
            ("producers", |o| o.producers = 0),
            ("producers", |o| o.producers = 1_000_000),
            ("in_flight_messages_max", |o| o.in_flight_messages_max = 0),
            ("in_flight_bytes_max", |o| o.in_flight_bytes_max = 0),
            ("batch.messages_max", |o| o.batch.messages_max = 0),
            ("batch.bytes_max", |o| o.batch.bytes_max = 0),
            ("send_timeout_ms", |o| o.send_timeout_ms = 0),
            ("message_bytes_max", |o| o.message_bytes_max = 100),
            ("message_bytes_max", |o| o.message_bytes_max = usize::MAX),
            ("backoff_min_ms", |o| o.backoff_min_ms = o.backoff_max_ms + 1),
            ("auth", |o| o.auth = Auth { token: Some("a".into()), token_file: Some("b".into()) }),
            ("auth.token_file", |o| o.auth.token_file = Some("/does/not/exist".into())),
            ("tls", |o| o.tls.ca_file = Some("ca.pem".into())),
            ("tls", |o| {
                o.url = "pulsar+ssl://h:1".into();
                o.tls.key_file = Some("k".into());
            }),
            ("tls.ca_file", |o| {
                o.url = "pulsar+ssl://h:1".into();
                o.tls.ca_file = Some("/does/not/exist".into());
            }),
        ];
        for (expected, spoil) in faults {
            let mut options = PulsarOptions::default();
            spoil(&mut options);
            match options.check() {
                Err(PulsarError::Option { option, .. }) => assert_eq!(option, *expected),
                other => panic!("{expected}: {other:?}"),
            }
        }
    }

    #[test]
    fn the_wait_doubles_up_to_its_limit() {
        let options =
            PulsarOptions { backoff_min_ms: 100, backoff_max_ms: 3_000, ..Default::default() };
        let expected = [100, 200, 400, 800, 1_600, 3_000, 3_000];
        for (attempt, &expected) in (1..).zip(&expected) {
            let wait = options.backoff(attempt).as_micros();
            let expected = u128::from(expected as u64) * 1_000;
            assert!((expected..=expected * 5 / 4).contains(&wait), "{attempt}: {wait}");
        }
        assert!(options.backoff(u32::MAX) <= Duration::from_millis(3_750));
    }

    #[test]
    fn options_come_from_text_and_unknown_ones_are_refused() {
        let text = r#"{"url": "pulsar://h:1", "schema": "first", "routing": "producer",
            "batch": {"enabled": true}, "compression": "zstd", "auth": {"token": "secret"}}"#;
        let options: PulsarOptions = serde_json::from_str(text).unwrap();
        assert_eq!((options.schema, options.routing), (SchemaMode::First, Routing::Producer));
        assert!(options.batch.enabled && options.batch.messages_max == 1_000);
        assert!(!format!("{options:?}").contains("secret"));
        assert!(!serde_json::to_string(&options).unwrap().contains("secret"));
        assert!(serde_json::from_str::<PulsarOptions>(r#"{"uri": "pulsar://h:1"}"#).is_err());
    }
}
