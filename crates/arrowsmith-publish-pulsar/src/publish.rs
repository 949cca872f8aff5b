// SPDX-License-Identifier: Apache-2.0
//! [`PulsarPublish`]: the publisher of the ingest service.
//!
//! It turns the service's messages into Pulsar's, order metadata included, and Pulsar's errors into
//! retry, refused and fatal. The service spools and retries.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use arrow_schema::SchemaRef;
use arrowsmith_publish::{BoxFuture, Message, Publish, PublishError, Receipt};
use bytes::Bytes;
use pulsar::message::proto::ServerError;

use crate::error::PulsarError;
use crate::options::{PulsarOptions, SchemaMode};
use crate::schema;
use crate::sink::{Outgoing, PulsarSink};

/// Property with the name of the stream.
pub const PROPERTY_STREAM: &str = "arrowsmith.stream";
/// Property with the number of the message in its stream.
pub const PROPERTY_SEQUENCE: &str = "arrowsmith.sequence";
/// Property with the number of rows.
pub const PROPERTY_ROWS: &str = "arrowsmith.rows";
/// Property with the origins of the rows, see [`Message::origins_text`].
pub const PROPERTY_ORIGINS: &str = "arrowsmith.origins";

/// End of an Arrow IPC stream: the mark of a message, and a length of 0.
const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// Publishes a stream of the ingest service to a Pulsar topic.
pub struct PulsarPublish {
    sink: PulsarSink,
    schema: SchemaRef,
    /// The schema as the start of an IPC stream.
    schema_message: Bytes,
}

impl PulsarPublish {
    /// Connects, see [`PulsarSink::open`]. May be called again after [`PublishError::Retry`].
    ///
    /// # Errors
    /// [`PublishError::Fatal`] for permanent errors, else [`PublishError::Retry`].
    pub async fn open(
        options: PulsarOptions,
        stream: &str,
        schema: SchemaRef,
    ) -> Result<Box<dyn Publish>, PublishError> {
        let opened = async {
            let schema_message = schema::message(&schema)?;
            let sink = PulsarSink::open(options.named(stream), &schema).await?;
            Ok::<_, PulsarError>(Self { sink, schema, schema_message })
        };
        match opened.await {
            Ok(publish) => Ok(Box::new(publish)),
            Err(error) if error.is_permanent() => Err(PublishError::fatal(error)),
            Err(error) => Err(PublishError::retry(error)),
        }
    }

    fn outgoing(&mut self, message: &Message) -> Result<Outgoing, PublishError> {
        if message.schema != self.schema {
            let options = self.sink.options();
            if options.schema == SchemaMode::First {
                return Err(PublishError::fatal(format!(
                    "pulsar: topic {} begins with the schema, which has changed; give it another \
                     topic",
                    options.topic
                )));
            }
            self.sink.set_schema(&message.schema).map_err(PublishError::fatal)?;
            self.schema = Arc::clone(&message.schema);
        }
        let options = self.sink.options();
        let connection = message.origins.first().map_or(0, |origin| origin.connection);
        let connection = usize::try_from(connection).unwrap_or(0);
        let event_time = message.received_at.duration_since(UNIX_EPOCH).ok();
        Ok(Outgoing {
            producer: connection % options.producers,
            sequence: message.sequence,
            key: message.key.as_deref().map(str::to_owned),
            properties: vec![
                (PROPERTY_STREAM.to_owned(), message.stream.to_string()),
                (PROPERTY_SEQUENCE.to_owned(), message.sequence.to_string()),
                (PROPERTY_ROWS.to_owned(), message.rows().to_string()),
                (PROPERTY_ORIGINS.to_owned(), message.origins_text()),
            ],
            event_time_ms: event_time.and_then(|since| u64::try_from(since.as_millis()).ok()),
            payload: self.payload(&message.payload),
        })
    }

    /// The payload with or without its schema, as the topic requires, whichever form it has.
    fn payload(&self, payload: &Bytes) -> Bytes {
        let has_schema = payload.starts_with(&self.schema_message);
        match self.sink.options().schema {
            SchemaMode::First if has_schema => {
                let batch = payload.slice(self.schema_message.len()..);
                let ends = batch.ends_with(&END_OF_STREAM);
                let bytes = batch.len() - if ends { END_OF_STREAM.len() } else { 0 };
                batch.slice(..bytes)
            }
            _ => payload.clone(),
        }
    }
}

/// What a failed message means for the service, once the sink was open.
fn publish_error(error: &PulsarError, backoff_max: Duration) -> PublishError {
    match error {
        PulsarError::TooLarge { .. }
        | PulsarError::Refused { code: Some(ServerError::NotAllowedError), .. } => {
            PublishError::Refused(error.to_string().into())
        }
        PulsarError::Closed => PublishError::fatal(error),
        // Permissions and topics that were there may come back.
        error if error.is_permanent() => {
            PublishError::Retry { reason: error.to_string().into(), after: Some(backoff_max) }
        }
        error => PublishError::retry(error),
    }
}

impl Publish for PulsarPublish {
    fn publish<'a>(
        &'a mut self,
        message: &'a Message,
    ) -> BoxFuture<'a, Result<Receipt, PublishError>> {
        Box::pin(async move {
            let outgoing = self.outgoing(message)?;
            let backoff_max = Duration::from_millis(self.sink.options().backoff_max_ms);
            match self.sink.send(outgoing).await {
                Ok(sent) => Ok(Box::pin(async move {
                    sent.await.map(drop).map_err(|error| publish_error(&error, backoff_max))
                }) as Receipt),
                Err(error) => Err(publish_error(&error, backoff_max)),
            }
        })
    }

    fn flush(&mut self) -> BoxFuture<'_, Result<(), PublishError>> {
        Box::pin(async { self.sink.flush().await.map_err(PublishError::fatal) })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), PublishError>> {
        Box::pin(async move {
            self.sink.close().await;
            Ok(())
        })
    }

    fn message_bytes_max(&self) -> usize {
        self.sink.payload_bytes_max()
    }

    fn in_flight_max(&self) -> usize {
        self.sink.options().in_flight_messages_max.saturating_mul(self.sink.options().producers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_again_never_this_or_never_anything() {
        let wait = Duration::from_secs(9);
        let of = |error: PulsarError| publish_error(&error, wait);
        let refused = |code| PulsarError::Refused { code: Some(code), message: String::new() };
        assert!(matches!(
            of(PulsarError::TooLarge { bytes: 2, bytes_max: 1 }),
            PublishError::Refused(_)
        ));
        assert!(matches!(of(refused(ServerError::NotAllowedError)), PublishError::Refused(_)));
        assert!(matches!(of(PulsarError::Closed), PublishError::Fatal(_)));
        let again = of(refused(ServerError::AuthenticationError));
        assert!(matches!(again, PublishError::Retry { after: Some(after), .. } if after == wait));
        let again = of(PulsarError::Timeout { waited: wait });
        assert!(matches!(again, PublishError::Retry { after: None, .. }));
    }
}
