// SPDX-License-Identifier: Apache-2.0
//! [`PulsarSink`]: the producers of a topic behind one interface.
//!
//! It decides which producer and partition a message goes to, and waits for their confirmations.
//! Serializing, spooling and retries are up to the caller.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use arrow_schema::SchemaRef;
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::connection::partitions;
use crate::entry::{Item, Receipt};
use crate::error::{PulsarError, Result};
use crate::key;
use crate::options::{PulsarOptions, Routing, SchemaMode};
use crate::producer::{self, Order, ProducerState, payload_bytes_max};
use crate::schema::{self, KIND_BATCH, PROPERTY_KIND, PROPERTY_SCHEMA};

/// A message to publish.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// Which of the producers, from 0.
    pub producer: usize,
    /// Number of the message: greater than that of any message of this producer before, also of
    /// earlier runs; the same when it is sent again. Gaps are allowed.
    pub sequence: u64,
    /// Key of its rows, see [`key::split`].
    pub key: Option<String>,
    /// Properties of the message, which consumers see.
    pub properties: Vec<(String, String)>,
    /// Event time of its records, in milliseconds since 1970.
    pub event_time_ms: Option<u64>,
    /// An Arrow IPC stream, or with [`SchemaMode::First`] one encapsulated batch.
    pub payload: Bytes,
}

/// Waits for the confirmation of a message. May be dropped: the message is still sent.
#[derive(Debug)]
pub struct SendFuture(oneshot::Receiver<Result<Receipt>>);

impl Future for SendFuture {
    type Output = Result<Receipt>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|result| result.unwrap_or(Err(PulsarError::Closed)))
    }
}

/// One producer on one partition.
struct Lane {
    orders: mpsc::Sender<Order>,
    state: Arc<ProducerState>,
    task: JoinHandle<()>,
}

/// Publishes to one topic. Made inside of a Tokio runtime, which runs its tasks.
pub struct PulsarSink {
    options: Arc<PulsarOptions>,
    /// By producer, then by partition.
    lanes: Vec<Vec<Lane>>,
    fingerprint: String,
}

impl PulsarSink {
    /// Connects all producers to all partitions, and with [`SchemaMode::First`] ensures that the
    /// topic starts with the schema.
    ///
    /// # Errors
    /// [`PulsarError::Option`] for invalid options, [`PulsarError::SchemaMismatch`] and
    /// [`PulsarError::SchemaMissing`] for a topic of another kind, else errors of the broker or the
    /// connection; [`PulsarError::is_permanent`] returns whether a retry is useless.
    pub async fn open(options: PulsarOptions, schema: &SchemaRef) -> Result<Self> {
        options.check()?;
        let options = Arc::new(options.named("arrowsmith"));
        let topics = partitions(&options).await?;
        let fingerprint = schema::fingerprint(&schema::message(schema)?);
        if options.schema == SchemaMode::First {
            for topic in &topics {
                schema::ensure(&options, topic, schema).await?;
            }
        }
        let lane = |topic: &String, name: String| {
            let state = Arc::new(ProducerState::new(options.message_bytes_max));
            let (orders, task) =
                producer::spawn(Arc::clone(&options), topic.clone(), name, Arc::clone(&state));
            Lane { orders, state, task }
        };
        let lanes: Vec<Vec<Lane>> = (0..options.producers)
            .map(|producer| {
                topics.iter().map(|topic| lane(topic, options.name(producer))).collect()
            })
            .collect();
        // Dropped on an error, the lanes end by themselves.
        let sink = Self { options, lanes, fingerprint };
        let limit = sink.options.connect_timeout();
        for state in sink.states() {
            match tokio::time::timeout(limit, state.ready()).await {
                Ok(result) => result?,
                Err(_) => return Err(PulsarError::Timeout { waited: limit }),
            }
        }
        Ok(sink)
    }

    /// Sets the schema of the messages that follow: their fingerprint is of it.
    ///
    /// # Errors
    /// [`PulsarError::Arrow`] for a schema that has no IPC form; with [`SchemaMode::First`]
    /// [`PulsarError::Option`], since the topic has a schema.
    pub fn set_schema(&mut self, schema: &SchemaRef) -> Result<()> {
        if self.options.schema == SchemaMode::First {
            let reason = format!("topic {} begins with another schema", self.options.topic);
            return Err(PulsarError::Option { option: "schema", reason });
        }
        self.fingerprint = schema::fingerprint(&schema::message(schema)?);
        Ok(())
    }

    /// Hands a message over. The first wait is for room: it ends when the limits of what is in
    /// flight allow. What is returned then waits for the confirmation.
    ///
    /// # Errors
    /// [`PulsarError::Closed`] after the runtime has ended, [`PulsarError::Option`] for a producer
    /// that does not exist. Other errors come from the returned future: [`PulsarError::TooLarge`]
    /// for a message above the limit, and [`PulsarError::Timeout`] or an error of the broker, with
    /// which all later messages of the producer and partition fail, too. These are accepted again
    /// from the first of them, in order; any other gets [`PulsarError::OutOfOrder`].
    pub async fn send(&self, message: Outgoing) -> Result<SendFuture> {
        let lanes = self.lanes.get(message.producer).ok_or_else(|| PulsarError::Option {
            option: "producers",
            reason: format!("is {}, there is no producer {}", self.lanes.len(), message.producer),
        })?;
        let partition = match (&message.key, self.options.routing) {
            (Some(key), _) => key::partition(key, lanes.len()),
            (None, Routing::RoundRobin) => remainder(message.sequence, lanes.len()),
            (None, Routing::Producer) => message.producer % lanes.len().max(1),
        };
        let lane = lanes.get(partition).ok_or(PulsarError::Closed)?;
        let mut properties = message.properties;
        properties.push((PROPERTY_KIND.to_owned(), KIND_BATCH.to_owned()));
        properties.push((PROPERTY_SCHEMA.to_owned(), self.fingerprint.clone()));
        let (reply, receipt) = oneshot::channel();
        let item = Item {
            sequence: message.sequence,
            key: message.key,
            properties,
            event_time: message.event_time_ms,
            payload: message.payload,
            deadline: Instant::now() + self.options.send_timeout(),
            reply,
        };
        lane.orders.send(Order::Send(item)).await.map_err(|_| PulsarError::Closed)?;
        Ok(SendFuture(receipt))
    }

    /// Sends open batches without waiting for them to fill.
    ///
    /// # Errors
    /// [`PulsarError::Closed`] after the runtime has ended.
    pub async fn flush(&self) -> Result<()> {
        if self.options.batch.enabled {
            for lane in self.lanes.iter().flatten() {
                lane.orders.send(Order::Flush).await.map_err(|_| PulsarError::Closed)?;
            }
        }
        Ok(())
    }

    /// Waits until everything is confirmed or returned, and closes the producers at the broker.
    pub async fn close(self) {
        let mut tasks = Vec::new();
        for lane in self.lanes.into_iter().flatten() {
            drop(lane.orders);
            tasks.push(lane.task);
        }
        for task in tasks {
            // It ends by itself; if it was cancelled, the runtime ends.
            let _ = task.await;
        }
    }

    /// Maximum size of a payload that is sure to fit into a message.
    #[must_use]
    pub fn payload_bytes_max(&self) -> usize {
        let least =
            self.states().map(|state| state.message_bytes_max.load(Ordering::Acquire)).min();
        let least = least.and_then(|bytes| usize::try_from(bytes).ok());
        payload_bytes_max(least.unwrap_or(self.options.message_bytes_max))
    }

    /// The highest number that the broker had of a producer when it connected; `None` for a new
    /// producer, and if the broker does not deduplicate. New messages have to be numbered from
    /// above it.
    #[must_use]
    pub fn last_sequence(&self, producer: usize) -> Option<u64> {
        self.lanes.get(producer)?.iter().filter_map(|lane| lane.state.last_sequence()).max()
    }

    /// What the producers have done, one for each partition.
    pub fn states(&self) -> impl Iterator<Item = &Arc<ProducerState>> {
        self.lanes.iter().flatten().map(|lane| &lane.state)
    }

    /// The options, with all names filled in.
    #[must_use]
    pub fn options(&self) -> &PulsarOptions {
        &self.options
    }

    /// Number of partitions; 1 for a topic that is not partitioned.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.lanes.first().map_or(0, Vec::len)
    }
}

/// `number` modulo `count`, or 0 if `count` is 0.
fn remainder(number: u64, count: usize) -> usize {
    number.checked_rem(count as u64).and_then(|rest| usize::try_from(rest).ok()).unwrap_or(0)
}
