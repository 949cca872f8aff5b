// SPDX-License-Identifier: Apache-2.0
//! One connection to one broker: TCP or TLS, authentication, and requests that are answered one by
//! one.
//!
//! Also topic lookup: the number of partitions, and the broker of each. How a connection is used
//! afterwards, and how a broken one is handled, is up to the callers.

use std::io;

use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use pulsar::message::Message;
use pulsar::message::proto::base_command::Type;
use pulsar::message::proto::command_lookup_topic_response::LookupType;
use pulsar::message::proto::{
    AuthData, BaseCommand, CommandAuthResponse, CommandConnect, CommandLookupTopic,
    CommandPartitionedTopicMetadata, CommandPing, CommandPong, FeatureFlags,
};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_util::codec::FramedRead;

use crate::address::{Address, address};
use crate::credentials::{tls, token};
use crate::error::{PulsarError, Result};
use crate::options::PulsarOptions;
use crate::wire::{ANSWER_BYTES_MAX, Answers, command_frame};

/// The protocol version: the newest in which brokers answer a move of a topic with "closed" alone.
const PROTOCOL_VERSION: i32 = 19;

/// Maximum redirections of one lookup: more is a cycle.
const REDIRECTIONS_MAX: usize = 20;

/// Maximum message size of a broker that does not state it.
const MESSAGE_BYTES_MAX: usize = 5 << 20;

type Reader = FramedRead<Box<dyn AsyncRead + Send + Unpin>, Answers>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// An authenticated connection.
pub(crate) struct Connection {
    pub(crate) address: String,
    pub(crate) reader: Reader,
    pub(crate) writer: Writer,
    /// Maximum message size of this broker.
    pub(crate) message_bytes_max: usize,
    requests: u64,
}

impl Connection {
    /// Connects and authenticates.
    pub(crate) async fn open(options: &PulsarOptions, address: &Address) -> Result<Self> {
        let opening = Self::open_patiently(options, address);
        match tokio::time::timeout(options.connect_timeout(), opening).await {
            Ok(result) => result,
            Err(_) => Err(PulsarError::io(
                &address.to_string(),
                &io::Error::new(io::ErrorKind::TimedOut, "no connection within the time allowed"),
            )),
        }
    }

    async fn open_patiently(options: &PulsarOptions, address: &Address) -> Result<Self> {
        let name = address.to_string();
        let io = |error: &io::Error| PulsarError::io(&name, error);
        let stream = TcpStream::connect((address.host.as_str(), address.port))
            .await
            .map_err(|error| io(&error))?;
        stream.set_nodelay(true).map_err(|error| io(&error))?;
        let (reader, writer): (Box<dyn AsyncRead + Send + Unpin>, Writer) = if options.is_tls() {
            let host = ServerName::try_from(address.host.clone())
                .map_err(|error| PulsarError::unexpected(&name, &error.to_string()))?;
            let stream = TlsConnector::from(tls(&options.tls)?)
                .connect(host, stream)
                .await
                .map_err(|error| io(&error))?;
            let (reader, writer) = tokio::io::split(stream);
            (Box::new(reader), Box::new(writer))
        } else {
            let (reader, writer) = stream.into_split();
            (Box::new(reader), Box::new(writer))
        };
        let answers = Answers { frame_bytes_max: ANSWER_BYTES_MAX };
        let reader = FramedRead::new(reader, answers);
        let message_bytes_max = MESSAGE_BYTES_MAX;
        let mut connection =
            Self { address: name.clone(), reader, writer, message_bytes_max, requests: 0 };
        connection.introduce(options, address).await?;
        Ok(connection)
    }

    async fn introduce(&mut self, options: &PulsarOptions, address: &Address) -> Result<()> {
        let (auth_method_name, auth_data) = credentials(options)?;
        let connect = CommandConnect {
            client_version: concat!("arrowsmith-", env!("CARGO_PKG_VERSION")).to_owned(),
            auth_method_name,
            auth_data,
            protocol_version: Some(PROTOCOL_VERSION),
            proxy_to_broker_url: address.behind_proxy.clone(),
            feature_flags: Some(FeatureFlags {
                supports_auth_refresh: Some(true),
                ..FeatureFlags::default()
            }),
            ..CommandConnect::default()
        };
        self.send(&BaseCommand {
            r#type: i32::from(Type::Connect),
            connect: Some(connect),
            ..BaseCommand::default()
        })
        .await?;
        loop {
            let command = self.answer().await?.command;
            if let Some(connected) = command.connected {
                let stated = connected.max_message_size.and_then(|max| usize::try_from(max).ok());
                self.message_bytes_max = stated.filter(|&max| max > 0).unwrap_or(MESSAGE_BYTES_MAX);
                return Ok(());
            }
            if command.auth_challenge.is_some() {
                self.send(&auth_response(options)?).await?;
            } else {
                return Err(PulsarError::unexpected(&self.address, "no answer to our greeting"));
            }
        }
    }

    /// A number for the next request.
    pub(crate) fn request_id(&mut self) -> u64 {
        self.requests += 1;
        self.requests
    }

    /// Writes a command.
    pub(crate) async fn send(&mut self, command: &BaseCommand) -> Result<()> {
        let mut frame: Bytes = command_frame(command);
        while frame.has_remaining() {
            self.writer
                .write_all_buf(&mut frame)
                .await
                .map_err(|error| PulsarError::io(&self.address, &error))?;
        }
        self.writer.flush().await.map_err(|error| PulsarError::io(&self.address, &error))
    }

    /// The next command of the broker that is not a ping or pong. A refusal is an error.
    pub(crate) async fn answer(&mut self) -> Result<Message> {
        loop {
            let message = match self.reader.next().await {
                Some(Ok(message)) => message,
                Some(Err(error)) => return Err(PulsarError::frame(&self.address, &error)),
                None => return Err(closed(&self.address)),
            };
            if message.command.ping.is_some() {
                self.send(&pong()).await?;
            } else if let Some(error) = message.command.error {
                return Err(PulsarError::refused(error.error, error.message));
            } else if message.command.pong.is_none() {
                return Ok(message);
            }
        }
    }

    /// Sends a request and waits for its answer, as long as a connection may take.
    pub(crate) async fn request(
        &mut self,
        options: &PulsarOptions,
        command: &BaseCommand,
    ) -> Result<Message> {
        let asked = async {
            self.send(command).await?;
            self.answer().await
        };
        match tokio::time::timeout(options.connect_timeout(), asked).await {
            Ok(result) => result,
            Err(_) => Err(PulsarError::Timeout { waited: options.connect_timeout() }),
        }
    }
}

/// The error of a broker that has hung up.
pub(crate) fn closed(address: &str) -> PulsarError {
    let error = io::Error::new(io::ErrorKind::UnexpectedEof, "the broker closed the connection");
    PulsarError::io(address, &error)
}

pub(crate) fn ping() -> BaseCommand {
    BaseCommand {
        r#type: i32::from(Type::Ping),
        ping: Some(CommandPing {}),
        ..BaseCommand::default()
    }
}

pub(crate) fn pong() -> BaseCommand {
    BaseCommand {
        r#type: i32::from(Type::Pong),
        pong: Some(CommandPong {}),
        ..BaseCommand::default()
    }
}

/// Name of the authentication method, and its data.
fn credentials(options: &PulsarOptions) -> Result<(Option<String>, Option<Vec<u8>>)> {
    Ok(match token(&options.auth)? {
        Some(token) => (Some("token".to_owned()), Some(token.into_bytes())),
        // The certificate of the TLS connection is the proof.
        None if options.tls.certificate_file.is_some() => {
            (Some("tls".to_owned()), Some(Vec::new()))
        }
        None => (None, None),
    })
}

/// The answer to a broker's authentication challenge, which it sends before a token expires.
pub(crate) fn auth_response(options: &PulsarOptions) -> Result<BaseCommand> {
    let (auth_method_name, auth_data) = credentials(options)?;
    Ok(BaseCommand {
        r#type: i32::from(Type::AuthResponse),
        auth_response: Some(CommandAuthResponse {
            client_version: None,
            response: Some(AuthData { auth_method_name, auth_data }),
            protocol_version: Some(PROTOCOL_VERSION),
        }),
        ..BaseCommand::default()
    })
}

/// The full name of a topic: `events` is `persistent://public/default/events`.
pub(crate) fn full_name(topic: &str) -> String {
    if topic.contains("://") {
        topic.to_owned()
    } else if topic.contains('/') {
        format!("persistent://{topic}")
    } else {
        format!("persistent://public/default/{topic}")
    }
}

/// The topics to publish to: the partitions of a partitioned topic in order, else the topic itself.
pub(crate) async fn partitions(options: &PulsarOptions) -> Result<Vec<String>> {
    let topic = full_name(&options.topic);
    let mut connection = Connection::open(options, &address(&options.url)?).await?;
    let request_id = connection.request_id();
    let request = BaseCommand {
        r#type: i32::from(Type::PartitionedMetadata),
        partition_metadata: Some(CommandPartitionedTopicMetadata {
            topic: topic.clone(),
            request_id,
            ..CommandPartitionedTopicMetadata::default()
        }),
        ..BaseCommand::default()
    };
    let answer = connection.request(options, &request).await?;
    let Some(answer) = answer.command.partition_metadata_response else {
        return Err(PulsarError::unexpected(&connection.address, "no answer about partitions"));
    };
    if let Some(code) = answer.error {
        return Err(PulsarError::refused(code, answer.message.unwrap_or_default()));
    }
    Ok(match answer.partitions.unwrap_or(0) {
        0 => vec![topic],
        count => (0..count).map(|partition| format!("{topic}-partition-{partition}")).collect(),
    })
}

/// Address of the broker that serves a topic now.
pub(crate) async fn locate(options: &PulsarOptions, topic: &str) -> Result<Address> {
    let service = address(&options.url)?;
    let mut asked = service.clone();
    let mut authoritative = false;
    for _ in 0..REDIRECTIONS_MAX {
        let mut connection = Connection::open(options, &asked).await?;
        let request_id = connection.request_id();
        let request = BaseCommand {
            r#type: i32::from(Type::Lookup),
            lookup_topic: Some(CommandLookupTopic {
                topic: topic.to_owned(),
                request_id,
                authoritative: Some(authoritative),
                ..CommandLookupTopic::default()
            }),
            ..BaseCommand::default()
        };
        let answer = connection.request(options, &request).await?;
        let Some(answer) = answer.command.lookup_topic_response else {
            return Err(PulsarError::unexpected(&connection.address, "no answer to a look-up"));
        };
        let kind = answer.response.and_then(|kind| LookupType::try_from(kind).ok());
        if kind.is_none_or(|kind| kind == LookupType::Failed) {
            let message = answer.message.unwrap_or_else(|| format!("no broker for {topic}"));
            return Err(PulsarError::refused(answer.error.unwrap_or(0), message));
        }
        let url = if options.is_tls() {
            answer.broker_service_url_tls
        } else {
            answer.broker_service_url
        };
        let Some(url) = url.filter(|url| !url.is_empty()) else {
            let what = "the broker tells no address for this kind of url: has it TLS?";
            return Err(PulsarError::unexpected(&connection.address, what));
        };
        let mut found = address(&url)
            .map_err(|_| PulsarError::unexpected(&connection.address, "an address of no form"))?;
        if answer.proxy_through_service_url.unwrap_or(false) {
            let broker = found.to_string();
            found = Address { behind_proxy: Some(broker), ..service.clone() };
        }
        if kind == Some(LookupType::Connect) {
            return Ok(found);
        }
        authoritative = answer.authoritative.unwrap_or(false);
        asked = found;
    }
    Err(PulsarError::unexpected(&asked.to_string(), "the look-up of the topic goes in a circle"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_have_full_names() {
        assert_eq!(full_name("t"), "persistent://public/default/t");
        assert_eq!(full_name("a/b/t"), "persistent://a/b/t");
        assert_eq!(full_name("non-persistent://a/b/t"), "non-persistent://a/b/t");
    }
}
