// SPDX-License-Identifier: Apache-2.0
//! Errors between this crate and the broker, and whether a retry can help.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use pulsar::message::proto::ServerError;

/// The result of an operation of this crate.
pub type Result<T> = std::result::Result<T, PulsarError>;

/// An error of the Pulsar sink.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum PulsarError {
    /// An invalid option.
    Option {
        /// Its name.
        option: &'static str,
        /// What it must be.
        reason: String,
    },
    /// A file named by an option could not be used.
    File {
        /// The file.
        path: PathBuf,
        /// What happened.
        reason: String,
    },
    /// No connection, or a broken one.
    Connection {
        /// Host and port, or the url.
        address: String,
        /// The kind of the operating system's error.
        kind: io::ErrorKind,
        /// What happened.
        reason: String,
    },
    /// The broker refused.
    Refused {
        /// Its error code; `None` for one that this client does not know.
        code: Option<ServerError>,
        /// Its message.
        message: String,
    },
    /// The broker did not confirm a message in time.
    Timeout {
        /// The time waited.
        waited: Duration,
    },
    /// The message exceeds the broker's limit.
    TooLarge {
        /// Bytes of the message, payload and metadata.
        bytes: usize,
        /// Maximum size of a message, in bytes.
        bytes_max: usize,
    },
    /// An earlier message of this producer was not confirmed; that one has to come first. Sent in
    /// another order the broker would take the earlier one for a duplicate and drop it.
    OutOfOrder {
        /// The sequence number that has to come next.
        expected: u64,
        /// The one that came.
        found: u64,
    },
    /// The topic begins with another schema.
    SchemaMismatch {
        /// The topic.
        topic: String,
        /// What differs.
        difference: String,
    },
    /// The topic starts with a message that is neither a schema nor has the fingerprint of one.
    SchemaMissing {
        /// The topic.
        topic: String,
    },
    /// An Arrow operation failed, such as writing a schema or grouping rows by a field.
    Arrow {
        /// Its message.
        message: String,
    },
    /// The sink was closed.
    Closed,
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

impl std::fmt::Display for PulsarError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Option { option, reason } => write!(f, "pulsar: option {option} {reason}"),
            Self::File { path, reason } => write!(f, "pulsar: {}: {reason}", path.display()),
            Self::Connection { address, reason, .. } => write!(f, "pulsar: {address}: {reason}"),
            Self::Refused { code: Some(code), message } => {
                write!(f, "pulsar: the broker refused ({}): {message}", code.as_str_name())
            }
            Self::Refused { code: None, message } => {
                write!(f, "pulsar: the broker refused: {message}")
            }
            Self::Timeout { waited } => {
                write!(f, "pulsar: not confirmed within {} ms", waited.as_millis())
            }
            Self::TooLarge { bytes, bytes_max } => write!(
                f,
                "pulsar: a message of {bytes} bytes is larger than the {bytes_max} that the broker takes"
            ),
            Self::OutOfOrder { expected, found } => write!(
                f,
                "pulsar: message {found} cannot be sent before message {expected}, which was not confirmed"
            ),
            Self::SchemaMismatch { topic, difference } => {
                write!(f, "pulsar: topic {topic} begins with another schema: {difference}")
            }
            Self::SchemaMissing { topic } => write!(
                f,
                "pulsar: topic {topic} begins with a message that is no schema of this service"
            ),
            Self::Arrow { message } => write!(f, "pulsar: {message}"),
            Self::Closed => write!(f, "pulsar: the sink is closed"),
        }
    }
}

impl std::error::Error for PulsarError {}

impl From<arrow_schema::ArrowError> for PulsarError {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Self::Arrow { message: error.to_string() }
    }
}
