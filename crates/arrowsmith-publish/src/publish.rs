// SPDX-License-Identifier: Apache-2.0
//! [`Publish`]: the interface of the service's publishers.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::Message;

/// A boxed future: one allocation per message is small against publishing it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Ready when a message is stored, or cannot be.
pub type Receipt = BoxFuture<'static, Result<(), PublishError>>;

/// The receipt of a message that is stored already.
#[must_use]
pub fn done() -> Receipt {
    Box::pin(std::future::ready(Ok(())))
}

/// Why a message is not stored.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// It may succeed later: this message and all after it are to be published again, in order. The
    /// service waits at least this long, if the sink knows, and longer each time.
    #[error("{reason}")]
    Retry {
        /// What happened.
        reason: Arc<str>,
        /// Time after which it may be over.
        after: Option<Duration>,
    },
    /// This message will never be accepted, others may be: it goes to the rejects.
    #[error("the message was refused: {0}")]
    Refused(Arc<str>),
    /// No message will be accepted any more, for example because a topic has another schema.
    #[error("the sink cannot go on: {0}")]
    Fatal(Arc<str>),
}

impl PublishError {
    /// [`PublishError::Retry`] without a time.
    pub fn retry(reason: impl fmt::Display) -> Self {
        Self::Retry { reason: reason.to_string().into(), after: None }
    }

    /// [`PublishError::Fatal`].
    pub fn fatal(reason: impl fmt::Display) -> Self {
        Self::Fatal(reason.to_string().into())
    }
}

/// Stores messages. Each publisher has a thread of its own, inside a Tokio runtime, and may block
/// it.
pub trait Publish: Send {
    /// Takes a message. The future waits for room; the receipt that it returns is ready when the
    /// message is stored. Receipts are awaited in order. After a receipt or call that fails with
    /// [`PublishError::Retry`], the service drops the later receipts and publishes from that
    /// message on again.
    fn publish<'a>(
        &'a mut self,
        message: &'a Message,
    ) -> BoxFuture<'a, Result<Receipt, PublishError>>;

    /// Sends what is held back to form larger units; called periodically, and when the service
    /// waits for receipts.
    fn flush(&mut self) -> BoxFuture<'_, Result<(), PublishError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Closes the publisher: all receipts are ready afterwards.
    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), PublishError>>;

    /// The number up to which messages of earlier processes are stored, if known: those that are
    /// also in the spool are not published again.
    fn stored(&self) -> Option<u64> {
        None
    }

    /// Whether it needs the payload of messages.
    fn needs_payload(&self) -> bool {
        true
    }

    /// Maximum size of a payload, in bytes.
    fn message_bytes_max(&self) -> usize {
        usize::MAX
    }

    /// Maximum number of messages in flight.
    fn in_flight_max(&self) -> usize {
        64
    }
}
