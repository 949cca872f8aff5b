// SPDX-License-Identifier: Apache-2.0
//! [`Publish`]: what a sink of the service has to do.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::Message;

/// A future on the heap: one a message, which is nothing beside publishing it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Ready when a message is stored where the sink brings it, or not to be stored.
pub type Receipt = BoxFuture<'static, Result<(), PublishError>>;

/// The receipt of a message that is stored already.
#[must_use]
pub fn done() -> Receipt {
    Box::pin(std::future::ready(Ok(())))
}

/// Why a message is not stored.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum PublishError {
    /// It may succeed later: this message and all after it are to be published again, in order. The
    /// service waits at least this long, if the sink knows, and longer each time.
    Retry {
        /// What happened.
        reason: Arc<str>,
        /// Time after which it may be over.
        after: Option<Duration>,
    },
    /// This message will never be taken, others may: it goes to the rejects.
    Refused(Arc<str>),
    /// Nothing will be taken any more, for example because a topic has another schema.
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

impl fmt::Display for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retry { reason, .. } => write!(f, "{reason}"),
            Self::Refused(reason) => write!(f, "the message was refused: {reason}"),
            Self::Fatal(reason) => write!(f, "the sink cannot go on: {reason}"),
        }
    }
}

impl std::error::Error for PublishError {}

/// Brings messages somewhere. Each has a thread of its own, from which a Tokio runtime can be
/// reached: a sink may wait as it likes.
pub trait Publish: Send {
    /// Takes a message. The first wait is for room; what comes back is ready when the message is
    /// stored. Receipts are looked at in order. After a receipt or call that fails with
    /// [`PublishError::Retry`], the service drops the later receipts and publishes from that
    /// message on again.
    fn publish<'a>(
        &'a mut self,
        message: &'a Message,
    ) -> BoxFuture<'a, Result<Receipt, PublishError>>;

    /// Hurries what is held back for larger units; called from time to time, and when the service
    /// waits for receipts.
    fn flush(&mut self) -> BoxFuture<'_, Result<(), PublishError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Ends it: all receipts are ready afterwards.
    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), PublishError>>;

    /// Up to which number it has messages of earlier processes, if it knows: those among them that
    /// are also in the spool are not published again.
    fn stored(&self) -> Option<u64> {
        None
    }

    /// Whether messages have to have their payload.
    fn needs_payload(&self) -> bool {
        true
    }

    /// Largest payload that it takes, in bytes.
    fn message_bytes_max(&self) -> usize {
        usize::MAX
    }

    /// Most messages that are on their way at a time.
    fn in_flight_max(&self) -> usize {
        64
    }
}
