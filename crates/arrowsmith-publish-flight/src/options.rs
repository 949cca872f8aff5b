// SPDX-License-Identifier: Apache-2.0
//! The options of a Flight sink, as in a configuration file, and their check.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use arrowsmith_publish::PublishError;
use serde::{Deserialize, Serialize};

/// All options of a Flight sink. Streams with the same address share one server, and have to set
/// the same `tls` and `tokens`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FlightOptions {
    /// Address to listen on. Port 0 selects a free one.
    pub listen: SocketAddr,
    /// What a message needs to count as published.
    pub delivery: Delivery,
    /// Bytes of messages buffered for subscribers that come later, or are slow.
    pub buffer_bytes_max: usize,
    /// Maximum size of a message. Many clients refuse more than 4 MiB by default.
    pub message_bytes_max: usize,
    /// Maximum number of subscribers of this stream.
    pub subscribers_max: usize,
    /// Maximum number of connections. Unauthenticated ones have slots of their own: the oldest is
    /// closed for the newest.
    pub connections_max: usize,
    /// Time limit for the first request of a connection, with a token if there are tokens.
    pub greeting_timeout_ms: u64,
    /// With [`Delivery::Wait`], a subscriber that takes nothing for this long is disconnected, so
    /// that one that hangs does not block the others.
    pub stall_timeout_ms: u64,
    /// A silent client is sent a ping after this time.
    pub keep_alive_ms: u64,
    /// How long a shutdown waits for subscribers to take what is left.
    pub drain_timeout_ms: u64,
    /// TLS.
    pub tls: Tls,
    /// Bearer tokens that may subscribe. Empty: no token is needed.
    #[serde(skip_serializing)]
    pub tokens: Vec<String>,
}

/// What a message needs to count as published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delivery {
    /// Every current subscriber has taken it, and there is at least one. While there is none the
    /// buffer fills, and then the service waits: nothing is lost.
    #[default]
    Wait,
    /// Nothing: the oldest messages are dropped for the newest, and a subscriber that is too slow
    /// gets an error with the number of lost messages.
    Drop,
}

/// TLS of the endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tls {
    /// PEM file of the server's certificate, with those that signed it.
    pub certificate_file: Option<PathBuf>,
    /// PEM file of its key.
    pub key_file: Option<PathBuf>,
    /// PEM file of authorities; if given, clients need a certificate that one of them signed.
    pub client_ca_file: Option<PathBuf>,
}

/// Written by hand, so that no log shows a token.
impl std::fmt::Debug for FlightOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlightOptions")
            .field("listen", &self.listen)
            .field("delivery", &self.delivery)
            .field("buffer_bytes_max", &self.buffer_bytes_max)
            .field("message_bytes_max", &self.message_bytes_max)
            .field("subscribers_max", &self.subscribers_max)
            .field("tls", &self.tls)
            .field("tokens", &self.tokens.len())
            .finish_non_exhaustive()
    }
}

impl Default for FlightOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8815)),
            delivery: Delivery::default(),
            buffer_bytes_max: 64 << 20,
            // 4 MiB, less what the frame adds.
            message_bytes_max: (4 << 20) - (64 << 10),
            subscribers_max: 64,
            connections_max: 1024,
            greeting_timeout_ms: 5_000,
            stall_timeout_ms: 60_000,
            keep_alive_ms: 30_000,
            drain_timeout_ms: 5_000,
            tls: Tls::default(),
            tokens: Vec::new(),
        }
    }
}

impl FlightOptions {
    /// Checks what can be checked without listening, files included.
    ///
    /// # Errors
    /// [`PublishError::Fatal`], which names the option.
    pub fn check(&self) -> Result<(), PublishError> {
        let fault = |what: &str| Err(PublishError::fatal(format!("flight: option {what}")));
        if self.message_bytes_max == 0 || self.message_bytes_max > 1 << 30 {
            return fault("message_bytes_max must be between 1 and 1 GiB");
        }
        if self.buffer_bytes_max == 0 {
            return fault("buffer_bytes_max must be at least 1");
        }
        if self.subscribers_max == 0 {
            return fault("subscribers_max must be at least 1");
        }
        if self.connections_max == 0 || self.greeting_timeout_ms == 0 {
            return fault("connections_max and greeting_timeout_ms must be at least 1");
        }
        if self.stall_timeout_ms == 0 || self.keep_alive_ms == 0 {
            return fault("stall_timeout_ms and keep_alive_ms must be at least 1");
        }
        // A header's value is trimmed, so that a token with space around it would admit no client.
        let usable = |token: &String| {
            let sendable = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
            !token.is_empty() && token.trim() == token && token.bytes().all(sendable)
        };
        if !self.tokens.iter().all(usable) {
            return fault(
                "tokens must be of ASCII letters, without space around them, and not be empty",
            );
        }
        if self.tls.certificate_file.is_some() != self.tls.key_file.is_some() {
            return fault("tls must have both of certificate_file and key_file, or none");
        }
        if self.tls.client_ca_file.is_some() && self.tls.certificate_file.is_none() {
            return fault("tls.client_ca_file needs certificate_file and key_file");
        }
        crate::server::tls(&self.tls).map(drop)
    }

    pub(crate) fn greeting_timeout(&self) -> Duration {
        Duration::from_millis(self.greeting_timeout_ms)
    }

    pub(crate) fn stall_timeout(&self) -> Duration {
        Duration::from_millis(self.stall_timeout_ms)
    }

    pub(crate) fn keep_alive(&self) -> Duration {
        Duration::from_millis(self.keep_alive_ms)
    }

    pub(crate) fn drain_timeout(&self) -> Duration {
        Duration::from_millis(self.drain_timeout_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid_and_each_fault_names_its_option() {
        FlightOptions::default().check().unwrap();
        type Spoil = fn(&mut FlightOptions);
        let faults: &[(&str, Spoil)] = &[
            ("message_bytes_max", |o| o.message_bytes_max = 0),
            ("message_bytes_max", |o| o.message_bytes_max = usize::MAX),
            ("buffer_bytes_max", |o| o.buffer_bytes_max = 0),
            ("subscribers_max", |o| o.subscribers_max = 0),
            ("connections_max", |o| o.connections_max = 0),
            ("stall_timeout_ms", |o| o.stall_timeout_ms = 0),
            ("tokens", |o| o.tokens = vec![String::new()]),
            ("tokens", |o| o.tokens = vec![" a".to_owned()]),
            ("tls", |o| o.tls.key_file = Some("key".into())),
            ("tls.client_ca_file", |o| o.tls.client_ca_file = Some("ca".into())),
            ("/does/not/exist", |o| {
                o.tls.key_file = Some("/does/not/exist".into());
                o.tls.certificate_file = Some("/does/not/exist".into());
            }),
        ];
        for (expected, spoil) in faults {
            let mut options = FlightOptions::default();
            spoil(&mut options);
            let error = options.check().unwrap_err();
            assert!(matches!(error, PublishError::Fatal(_)));
            assert!(error.to_string().contains(expected), "{expected}: {error}");
        }
    }

    #[test]
    fn options_come_from_text_and_show_no_token() {
        let text = r#"{"listen": "0.0.0.0:1", "delivery": "drop", "tokens": ["secret"]}"#;
        let options: FlightOptions = serde_json::from_str(text).unwrap();
        assert_eq!(options.delivery, Delivery::Drop);
        assert!(!format!("{options:?}").contains("secret"));
        assert!(!serde_json::to_string(&options).unwrap().contains("secret"));
        assert!(serde_json::from_str::<FlightOptions>(r#"{"address": "0.0.0.0:1"}"#).is_err());
    }
}
