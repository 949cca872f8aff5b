// SPDX-License-Identifier: Apache-2.0
//! A producer's connection: opened, registered with the broker, lost, opened again, closed.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use pulsar::message::proto::base_command::Type;
use pulsar::message::proto::{BaseCommand, CommandCloseProducer, CommandProducer};
use tokio::time::Instant;
use tracing::{info, warn};

use super::Producer;
use crate::connection::{Connection, locate};
use crate::error::{PulsarError, Result};
use crate::options::PulsarOptions;
use crate::wire::Outbox;

pub(super) type Connecting = Pin<Box<dyn Future<Output = Result<(Connection, i64)>> + Send>>;

/// A connection with a registered producer.
pub(super) struct Link {
    pub(super) connection: Connection,
    pub(super) outbox: Outbox,
    /// Whether TLS may still buffer written data.
    pub(super) unflushed: bool,
    /// When data last came.
    pub(super) heard: Instant,
    /// Whether a ping was sent since.
    pub(super) asked: bool,
}

impl Producer {
    pub(super) fn connect_if_due(&mut self) {
        if self.is_idle() && Instant::now() >= self.connect_at {
            let options = Arc::clone(&self.options);
            let (topic, name) = (self.topic.clone(), self.name.clone());
            let epoch = self.connections;
            self.connecting =
                Some(Box::pin(async move { connect(&options, &topic, &name, epoch).await }));
        }
    }

    pub(super) fn connected(&mut self, connection: Connection, last_sequence: i64) {
        self.connecting = None;
        let max = connection.message_bytes_max.min(self.options.message_bytes_max);
        self.packer.message_bytes_max = max;
        self.state.message_bytes_max.store(max as u64, Ordering::Release);
        if self.connections == 0 {
            self.state.last_sequence.store(last_sequence, Ordering::Release);
            info!(topic = self.topic, producer = self.name, last_sequence, "connected to Pulsar");
        } else {
            self.state.reconnects.fetch_add(1, Ordering::Relaxed);
            let again = self.entries.len();
            info!(topic = self.topic, producer = self.name, again, "connected to Pulsar again");
        }
        self.connections += 1;
        // Entries for a broker with a larger limit.
        for index in (0..self.entries.len()).rev() {
            let bytes = self.entries.get(index).map_or(0, |entry| entry.bytes);
            if bytes > max
                && let Some(entry) = self.entries.remove(index)
            {
                self.entries_bytes -= entry.bytes;
                entry.settle(&Err(PulsarError::TooLarge { bytes, bytes_max: max }));
            }
        }
        let mut outbox = Outbox::default();
        for entry in &self.entries {
            outbox.push_frame(&entry.frame);
        }
        self.state.resent.fetch_add(self.entries.len() as u64, Ordering::Relaxed);
        self.link = Some(Link {
            connection,
            outbox,
            unflushed: false,
            heard: Instant::now(),
            asked: false,
        });
        self.state.connected.store(true, Ordering::Release);
        self.state.ready.send_replace(Some(Ok(())));
    }

    pub(super) fn not_connected(&mut self, error: PulsarError) {
        self.connecting = None;
        self.wait_before_connecting();
        warn!(topic = self.topic, producer = self.name, %error, attempts = self.attempts, "no Pulsar");
        if error.is_permanent() {
            self.give_up(&error);
            if self.connections == 0 {
                self.state.ready.send_replace(Some(Err(error)));
            }
        }
    }

    pub(super) fn wait_before_connecting(&mut self) {
        self.attempts = self.attempts.saturating_add(1);
        self.connect_at = Instant::now() + self.options.backoff(self.attempts);
    }

    /// The connection is unusable.
    pub(super) fn lost(&mut self, error: &PulsarError) {
        if let Some(link) = self.link.take() {
            let broker = &link.connection.address;
            warn!(topic = self.topic, producer = self.name, broker, %error, "lost Pulsar");
        }
        self.state.connected.store(false, Ordering::Release);
        self.wait_before_connecting();
    }

    /// Closes the producer at the broker, so that another of its name may register at once.
    pub(super) async fn hang_up(&mut self) {
        let Some(Link { mut connection, .. }) = self.link.take() else { return };
        self.state.connected.store(false, Ordering::Release);
        let request_id = connection.request_id();
        let goodbye = BaseCommand {
            r#type: i32::from(Type::CloseProducer),
            close_producer: Some(CommandCloseProducer { producer_id: 0, request_id }),
            ..BaseCommand::default()
        };
        // The broker has all messages; a broken connection has the same effect.
        let _ = connection.request(&self.options, &goodbye).await;
    }
}

/// Connects to the broker of the topic and registers the producer. Returns the last sequence number
/// that the broker has of it, or -1.
async fn connect(
    options: &PulsarOptions,
    topic: &str,
    name: &str,
    epoch: u64,
) -> Result<(Connection, i64)> {
    let address = locate(options, topic).await?;
    let mut connection = Connection::open(options, &address).await?;
    let request_id = connection.request_id();
    let request = BaseCommand {
        r#type: i32::from(Type::Producer),
        producer: Some(CommandProducer {
            topic: topic.to_owned(),
            producer_id: 0,
            request_id,
            producer_name: Some(name.to_owned()),
            epoch: Some(epoch),
            user_provided_producer_name: Some(true),
            ..CommandProducer::default()
        }),
        ..BaseCommand::default()
    };
    let answer = connection.request(options, &request).await?;
    let Some(success) = answer.command.producer_success else {
        return Err(PulsarError::unexpected(&connection.address, "no answer about the producer"));
    };
    Ok((connection, success.last_sequence_id.unwrap_or(-1)))
}
