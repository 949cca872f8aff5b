// SPDX-License-Identifier: Apache-2.0
//! [`FlightPublish`]: the publisher of the ingest service.

use std::sync::Arc;
use std::time::Instant;

use arrow_schema::SchemaRef;
use arrowsmith_publish::{BoxFuture, Message, Publish, PublishError, Receipt};
use tracing::warn;

use crate::feed::{Feed, FeedSchema};
use crate::frames;
use crate::options::FlightOptions;
use crate::server::Endpoint;

/// Offers a stream of the ingest service to Flight subscribers.
pub struct FlightPublish {
    options: FlightOptions,
    endpoint: Arc<Endpoint>,
    feed: Arc<Feed>,
    stream: String,
    schema: SchemaRef,
    watch: tokio::task::JoinHandle<()>,
}

impl FlightPublish {
    /// Listens, or joins the other streams that listen on the same address. Call it inside a Tokio
    /// runtime, which runs the server.
    ///
    /// # Errors
    /// [`PublishError::Fatal`] for invalid options, and [`PublishError::Retry`] if the address is
    /// not free.
    pub async fn open(
        options: FlightOptions,
        stream: &str,
        schema: SchemaRef,
    ) -> Result<Box<dyn Publish>, PublishError> {
        Ok(Box::new(Self::start(options, stream, schema).await?))
    }

    /// [`FlightPublish::open`] without the box.
    ///
    /// # Errors
    /// As there.
    pub async fn start(
        options: FlightOptions,
        stream: &str,
        schema: SchemaRef,
    ) -> Result<Self, PublishError> {
        options.check()?;
        let endpoint = Endpoint::at(&options).await?;
        let first = FeedSchema { frame: frames::schema(&schema), schema: Arc::clone(&schema) };
        let feed = Arc::new(Feed::new(
            options.delivery,
            options.buffer_bytes_max,
            options.subscribers_max,
            first,
        ));
        endpoint.add(stream, Arc::clone(&feed));
        let watch = tokio::spawn(watch(Arc::clone(&feed), options.clone(), stream.to_owned()));
        Ok(Self { options, endpoint, feed, stream: stream.to_owned(), schema, watch })
    }

    /// Where the endpoint listens.
    #[must_use]
    pub fn address(&self) -> std::net::SocketAddr {
        self.endpoint.address
    }

    /// Subscribers now.
    #[must_use]
    pub fn subscribers(&self) -> usize {
        self.feed.subscribers()
    }

    async fn push(&mut self, message: &Message) -> Result<Receipt, PublishError> {
        let bytes = message.payload.len();
        if bytes > self.options.message_bytes_max {
            let most = self.options.message_bytes_max;
            let reason = format!("flight: a message of {bytes} bytes is larger than {most}");
            return Err(PublishError::Refused(reason.into()));
        }
        if message.schema != self.schema {
            self.schema = Arc::clone(&message.schema);
            let schema = Arc::clone(&message.schema);
            self.feed.set_schema(FeedSchema { frame: frames::schema(&schema), schema });
        }
        let mut frames = frames::of(message)?;
        loop {
            // Before the check, so that room that comes after it is not missed.
            let mut room = Box::pin(self.feed.room.notified());
            room.as_mut().enable();
            match self.feed.push(message.sequence, frames) {
                Ok(confirmation) => {
                    return Ok(Box::pin(async move {
                        let closed = || PublishError::retry("flight: the endpoint was closed");
                        confirmation.await.unwrap_or_else(|_| Err(closed()))
                    }));
                }
                Err(again) => frames = again,
            }
            room.await;
        }
    }
}

/// Disconnects subscribers that hang, as long as there is a feed.
async fn watch(feed: Arc<Feed>, options: FlightOptions, stream: String) {
    let mut tick = tokio::time::interval(options.stall_timeout() / 4);
    loop {
        tick.tick().await;
        let cut = feed.cut_stalled(Instant::now(), options.stall_timeout());
        if cut > 0 {
            warn!(stream, subscribers = cut, "cut off Flight subscribers that took nothing");
        }
    }
}

impl Drop for FlightPublish {
    fn drop(&mut self) {
        self.watch.abort();
        self.endpoint.remove(&self.stream, &self.feed);
        self.feed.close();
        self.feed.give_up();
    }
}

impl Publish for FlightPublish {
    fn publish<'a>(
        &'a mut self,
        message: &'a Message,
    ) -> BoxFuture<'a, Result<Receipt, PublishError>> {
        Box::pin(self.push(message))
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<(), PublishError>> {
        Box::pin(async move {
            self.feed.close();
            let drained = async {
                loop {
                    let mut room = Box::pin(self.feed.room.notified());
                    room.as_mut().enable();
                    if self.feed.is_idle() {
                        return;
                    }
                    room.await;
                }
            };
            // Receipts of what is left fail when this is dropped.
            let _ = tokio::time::timeout(self.options.drain_timeout(), drained).await;
            Ok(())
        })
    }

    fn message_bytes_max(&self) -> usize {
        self.options.message_bytes_max
    }

    fn in_flight_max(&self) -> usize {
        // The buffer bounds it, by bytes.
        1 << 16
    }
}
