// SPDX-License-Identifier: Apache-2.0
//! Errors between this crate and the broker, and whether a retry can help.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use pulsar::message::proto::ServerError;

/// The result of an operation of this crate.
pub type Result<T> = std::result::Result<T, PulsarError>;

/// An error of the Pulsar sink.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum PulsarError {
    /// An invalid option.
    #[error("pulsar: option {option} {reason}")]
    Option {
        /// Its name.
        option: &'static str,
        /// What it must be.
        reason: String,
    },
    /// A file named by an option could not be used.
    #[error("pulsar: {}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What happened.
        reason: String,
    },
    /// No connection, or a broken one.
    #[error("pulsar: {address}: {reason}")]
    Connection {
        /// Host and port, or the url.
        address: String,
        /// The kind of the operating system's error.
        kind: io::ErrorKind,
        /// What happened.
        reason: String,
    },
    /// The broker refused.
    #[error("pulsar: the broker refused{}: {message}", named(*code))]
    Refused {
        /// Its error code; `None` for one that this client does not know.
        code: Option<ServerError>,
        /// Its message.
        message: String,
    },
    /// The broker did not confirm a message in time.
    #[error("pulsar: not confirmed within {} ms", waited.as_millis())]
    Timeout {
        /// The time waited.
        waited: Duration,
    },
    /// The message exceeds the broker's limit.
    #[error(
        "pulsar: a message of {bytes} bytes is larger than the {bytes_max} that the broker takes"
    )]
    TooLarge {
        /// Bytes of the message, payload and metadata.
        bytes: usize,
        /// Maximum size of a message, in bytes.
        bytes_max: usize,
    },
    /// An earlier message of this producer was not confirmed; that one has to come first. Sent in
    /// another order the broker would take the earlier one for a duplicate and drop it.
    #[error(
        "pulsar: message {found} cannot be sent before message {expected}, which was not confirmed"
    )]
    OutOfOrder {
        /// The sequence number that has to come next.
        expected: u64,
        /// The one that came.
        found: u64,
    },
    /// The topic begins with another schema.
    #[error("pulsar: topic {topic} begins with another schema: {difference}")]
    SchemaMismatch {
        /// The topic.
        topic: String,
        /// What differs.
        difference: String,
    },
    /// The topic starts with a message that is neither a schema nor has the fingerprint of one.
    #[error("pulsar: topic {topic} begins with a message that is not a schema of this service")]
    SchemaMissing {
        /// The topic.
        topic: String,
    },
    /// An Arrow operation failed, such as writing a schema or grouping rows by a field.
    #[error("pulsar: {message}")]
    Arrow {
        /// Its message.
        message: String,
    },
    /// The sink was closed.
    #[error("pulsar: the sink is closed")]
    Closed,
}

/// ` (CODE)`, if this client knows it.
fn named(code: Option<ServerError>) -> String {
    code.map(|code| format!(" ({})", code.as_str_name())).unwrap_or_default()
}

impl PulsarError {
    /// Whether a retry cannot help until something is changed: an option, a permission, a message.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Refused { code, .. } => matches!(
                code,
                Some(
                    ServerError::AuthenticationError
                        | ServerError::AuthorizationError
                        | ServerError::IncompatibleSchema
                        | ServerError::InvalidTopicName
                        | ServerError::NotAllowedError
                        | ServerError::TopicNotFound
                        | ServerError::TopicTerminatedError
                        | ServerError::UnsupportedVersionError
                        | ServerError::ProducerFenced
                )
            ),
            Self::Connection { .. } | Self::Timeout { .. } | Self::OutOfOrder { .. } => false,
            Self::Option { .. }
            | Self::File { .. }
            | Self::TooLarge { .. }
            | Self::SchemaMismatch { .. }
            | Self::SchemaMissing { .. }
            | Self::Arrow { .. }
            | Self::Closed => true,
        }
    }

    pub(crate) fn refused(code: i32, message: impl Into<String>) -> Self {
        Self::Refused { code: ServerError::try_from(code).ok(), message: message.into() }
    }

    pub(crate) fn io(address: &str, error: &io::Error) -> Self {
        Self::Connection {
            address: address.to_owned(),
            kind: error.kind(),
            reason: error.to_string(),
        }
    }

    /// A frame that could not be read.
    pub(crate) fn frame(address: &str, error: &pulsar::error::ConnectionError) -> Self {
        match error {
            pulsar::error::ConnectionError::Io(error) => Self::io(address, error),
            other => Self::Connection {
                address: address.to_owned(),
                kind: io::ErrorKind::InvalidData,
                reason: other.to_string(),
            },
        }
    }

    /// A response that the protocol does not allow here.
    pub(crate) fn unexpected(address: &str, what: &str) -> Self {
        Self::Connection {
            address: address.to_owned(),
            kind: io::ErrorKind::InvalidData,
            reason: what.to_owned(),
        }
    }
}

impl From<arrow_schema::ArrowError> for PulsarError {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Self::Arrow { message: error.to_string() }
    }
}
