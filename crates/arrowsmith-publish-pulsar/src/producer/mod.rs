// SPDX-License-Identifier: Apache-2.0
//! A producer on one topic: a task that owns the connection and every message not confirmed yet.
//!
//! The crate `pulsar` has a producer too. It counts sequence ids from 0 in each process, so that a
//! broker that deduplicates would drop what a restarted service publishes; here the caller sets the
//! number of each message. Connecting, sending and waiting happen side by side in one loop:
//!
//! ```text
//! loop: whichever comes first
//!     connected           → write all entries that are not confirmed, in order
//!     an answer           → confirm an entry; or the producer was closed: connect again
//!     room in the socket  → write on
//!     a message, if there is room in flight → number in order? pack it, write it
//!     a point in time     → close the batch; give up messages; send a ping; connect
//! ```
//!
//! When a message is late, it and all messages after it are returned to the caller, and are only
//! accepted again in that order: a broker that deduplicates takes an older number after a newer one
//! for a duplicate, confirms it, and does not store it.

mod link;
mod state;

use std::collections::{BTreeSet, VecDeque};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Buf;
use futures_util::StreamExt;
use pulsar::error::ConnectionError;
use pulsar::message::Message;
use pulsar::message::proto::{CommandSendReceipt, ServerError};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio::time::Instant;

use self::link::{Connecting, Link};
pub use self::state::ProducerState;
use crate::connection::{Connection, auth_response, closed, ping, pong};
use crate::entry::{Entry, Item, METADATA_BYTES_MAX, Packer, Receipt};
use crate::error::{PulsarError, Result};
use crate::options::PulsarOptions;
use crate::wire::command_frame;

/// An order to a producer.
pub(crate) enum Order {
    /// Publish this.
    Send(Item),
    /// Send the open batch now.
    Flush,
}

/// Starts the task of a producer. It ends when all senders of `orders` are gone and what was sent
/// is confirmed or given up.
pub(crate) fn spawn(
    options: Arc<PulsarOptions>,
    topic: String,
    name: String,
    state: Arc<ProducerState>,
) -> (mpsc::Sender<Order>, tokio::task::JoinHandle<()>) {
    // One order waits outside of the limits on messages in flight; more would bypass them.
    let (sender, orders) = mpsc::channel(1);
    let packer = Packer::new(
        name.clone(),
        options.compression,
        options.batch.clone(),
        options.message_bytes_max,
    );
    let producer = Producer {
        options,
        topic,
        name,
        state,
        packer,
        batch_due: None,
        entries: VecDeque::new(),
        entries_bytes: 0,
        owed: BTreeSet::new(),
        greatest: None,
        link: None,
        connecting: None,
        attempts: 0,
        connections: 0,
        connect_at: Instant::now(),
    };
    (sender, tokio::spawn(producer.run(orders)))
}

struct Producer {
    options: Arc<PulsarOptions>,
    topic: String,
    name: String,
    state: Arc<ProducerState>,
    packer: Packer,
    /// When the open batch has to be sent.
    batch_due: Option<Instant>,
    /// Sent or to be sent, and not confirmed, in order.
    entries: VecDeque<Entry>,
    entries_bytes: usize,
    /// Numbers of returned messages, which have to be sent again in order before any greater one.
    owed: BTreeSet<u64>,
    /// The highest number taken.
    greatest: Option<u64>,
    link: Option<Link>,
    connecting: Option<Connecting>,
    /// Attempts to connect since the last confirmation.
    attempts: u32,
    connections: u64,
    connect_at: Instant,
}

/// The next event.
enum Event {
    Connected(Result<(Connection, i64)>),
    Heard(Option<std::result::Result<Box<Message>, ConnectionError>>),
    Wrote(std::io::Result<()>),
    Ordered(Option<Order>),
    Time,
}

impl Producer {
    async fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        let mut open = true;
        loop {
            if !open && self.entries.is_empty() && self.packer.waiting().0 == 0 {
                self.hang_up().await;
                return;
            }
            self.connect_if_due();
            let room = open && self.has_room();
            match self.next(&mut orders, room).await {
                Event::Connected(Ok((connection, last))) => self.connected(connection, last),
                Event::Connected(Err(error)) => self.not_connected(error),
                Event::Heard(Some(Ok(message))) => self.heard(*message),
                Event::Heard(Some(Err(error))) => self.lost(&PulsarError::frame("broker", &error)),
                Event::Heard(None) => self.lost(&closed("broker")),
                Event::Wrote(Ok(())) => {}
                Event::Wrote(Err(error)) => self.lost(&PulsarError::io("broker", &error)),
                Event::Ordered(Some(Order::Send(item))) => self.take(item),
                Event::Ordered(Some(Order::Flush)) => self.close_batch(),
                Event::Ordered(None) => {
                    open = false;
                    self.close_batch();
                }
                Event::Time => {}
            }
            self.on_time();
            let bytes = self.entries_bytes + self.packer.waiting().1;
            self.state.in_flight_bytes.store(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Waits for the next event. Every branch is cancel-safe.
    async fn next(&mut self, orders: &mut mpsc::Receiver<Order>, room: bool) -> Event {
        let wake = self.wake_at();
        let (connecting, link) = (&mut self.connecting, &mut self.link);
        let connecting = async {
            match connecting {
                Some(connecting) => connecting.await,
                None => pending().await,
            }
        };
        let (reader, writer) = match link {
            Some(Link { connection, outbox, unflushed, .. }) => {
                let Connection { reader, writer, .. } = connection;
                (Some(reader), Some((writer, outbox, unflushed)))
            }
            None => (None, None),
        };
        let reading = async {
            match reader {
                Some(reader) => reader.next().await.map(|heard| heard.map(Box::new)),
                None => pending().await,
            }
        };
        let writing = async {
            match writer {
                Some((writer, outbox, unflushed)) if *unflushed || outbox.has_remaining() => {
                    *unflushed = true;
                    writer.write_all_buf(outbox).await?;
                    writer.flush().await?;
                    *unflushed = false;
                    Ok(())
                }
                _ => pending().await,
            }
        };
        tokio::select! {
            result = connecting => Event::Connected(result),
            message = reading => Event::Heard(message),
            result = writing => Event::Wrote(result),
            order = orders.recv(), if room => Event::Ordered(order),
            () = tokio::time::sleep_until(wake) => Event::Time,
        }
    }

    fn has_room(&self) -> bool {
        let (messages, bytes) = self.packer.waiting();
        self.entries.len() + messages < self.options.in_flight_messages_max
            && self.entries_bytes + bytes < self.options.in_flight_bytes_max
    }

    /// The next point in time at which something has to be done.
    fn wake_at(&self) -> Instant {
        let deadline = self.entries.front().map(|entry| entry.deadline);
        let keep_alive = self.link.as_ref().map(|link| link.heard + self.keep_alive(link));
        let connect = self.is_idle().then_some(self.connect_at);
        [deadline, self.packer.due(), self.batch_due, keep_alive, connect]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or_else(|| Instant::now() + Duration::from_secs(3_600))
    }

    /// Silence after which a ping is sent, or the connection is closed.
    fn keep_alive(&self, link: &Link) -> Duration {
        self.options.keep_alive() * if link.asked { 2 } else { 1 }
    }

    fn is_idle(&self) -> bool {
        self.link.is_none() && self.connecting.is_none()
    }

    /// Does what is due.
    fn on_time(&mut self) {
        let now = Instant::now();
        if self.batch_due.is_some_and(|due| due <= now) {
            self.close_batch();
        }
        let late = |due: Option<Instant>| due.is_some_and(|due| due <= now);
        if late(self.entries.front().map(|entry| entry.deadline)) || late(self.packer.due()) {
            let waited = self.options.send_timeout();
            self.give_up(&PulsarError::Timeout { waited });
            // A connected broker that does not confirm may have failed; another may serve the topic
            // now.
            if self.link.is_some() {
                self.lost(&PulsarError::Timeout { waited });
            }
        }
        let Some(link) = &self.link else { return };
        if now < link.heard + self.keep_alive(link) {
            return;
        }
        if link.asked {
            self.lost(&PulsarError::Timeout { waited: 2 * self.options.keep_alive() });
        } else if let Some(link) = &mut self.link {
            link.asked = true;
            link.outbox.push(command_frame(&ping()));
        }
    }

    /// Returns everything that is not confirmed, and remembers the numbers.
    fn give_up(&mut self, error: &PulsarError) {
        self.batch_due = None;
        self.entries_bytes = 0;
        for entry in std::mem::take(&mut self.entries) {
            self.owed.extend(entry.sequences());
            entry.settle(&Err(error.clone()));
        }
        for item in self.packer.give_back() {
            self.owed.insert(item.sequence);
            let _ = item.reply.send(Err(error.clone()));
        }
    }

    /// Takes a message, if it is its turn.
    fn take(&mut self, item: Item) {
        if let Some(&expected) = self.owed.first() {
            if item.sequence != expected {
                let found = item.sequence;
                let _ = item.reply.send(Err(PulsarError::OutOfOrder { expected, found }));
                return;
            }
            self.owed.pop_first();
        }
        // A message in flight is not sent again: the broker would refuse the second as long as the
        // first is not stored.
        let Some(item) = self.join(item) else { return };
        self.greatest = self.greatest.max(Some(item.sequence));
        let mut ready = Vec::new();
        self.packer.push(item, &mut ready);
        for entry in ready {
            self.enqueue(entry);
        }
        if self.packer.waiting().0 == 0 {
            self.batch_due = None;
        } else if self.batch_due.is_none() {
            let delay = Duration::from_millis(self.options.batch.delay_max_ms);
            self.batch_due = Some(Instant::now() + delay);
        }
    }

    /// Returns the message unless it is in flight, in which case it gets another waiter.
    fn join(&mut self, item: Item) -> Option<Item> {
        if Some(item.sequence) > self.greatest {
            return Some(item);
        }
        if self.packer.has(item.sequence) {
            self.close_batch();
        }
        self.entries.iter_mut().try_fold(item, |item, entry| entry.join(item))
    }

    fn close_batch(&mut self) {
        self.batch_due = None;
        if let Some(entry) = self.packer.close() {
            self.enqueue(entry);
        }
    }

    fn enqueue(&mut self, entry: Entry) {
        if let Some(link) = &mut self.link {
            link.outbox.push_frame(&entry.frame);
        }
        self.entries_bytes += entry.bytes;
        self.entries.push_back(entry);
    }

    /// Handles a command of the broker.
    fn heard(&mut self, message: Message) {
        let Some(link) = &mut self.link else { return };
        link.heard = Instant::now();
        link.asked = false;
        let command = message.command;
        if let Some(receipt) = command.send_receipt {
            self.confirmed(&receipt);
        } else if let Some(error) = command.send_error {
            let refused = PulsarError::refused(error.error, error.message);
            self.refused(error.sequence_id, error.error, &refused);
        } else if command.pong.is_some() {
            self.attempts = 0;
        } else if command.ping.is_some() {
            link.outbox.push(command_frame(&pong()));
        } else if command.auth_challenge.is_some() {
            match auth_response(&self.options) {
                Ok(response) => link.outbox.push(command_frame(&response)),
                Err(error) => self.lost(&error),
            }
        } else if command.close_producer.is_some() {
            // The topic moves to another broker, or is unloaded.
            let reason = "the broker closed the producer".to_owned();
            self.lost(&PulsarError::Refused {
                code: Some(ServerError::ServiceNotReady),
                message: reason,
            });
        } else if let Some(error) = command.error {
            self.lost(&PulsarError::refused(error.error, error.message));
        }
    }

    fn confirmed(&mut self, receipt: &CommandSendReceipt) {
        // Usually the first; duplicates are confirmed before messages that are still being written.
        // `None`: returned meanwhile.
        let found = self.entries.iter().position(|entry| entry.sequence == receipt.sequence_id);
        let Some(entry) = found.and_then(|index| self.entries.remove(index)) else { return };
        self.attempts = 0;
        self.entries_bytes -= entry.bytes;
        let place = receipt.message_id.as_ref().map(|id| (id.ledger_id, id.entry_id));
        // -1 and -1 mean a duplicate.
        let place = place.filter(|&(ledger, _)| ledger != u64::MAX);
        if place.is_none() {
            let known = entry.sequences().count() as u64;
            self.state.duplicates.fetch_add(known, Ordering::Relaxed);
        }
        entry.settle(&Ok(Receipt { place }));
    }

    fn refused(&mut self, sequence: u64, code: i32, error: &PulsarError) {
        match ServerError::try_from(code) {
            // This message and no other, such as one that is too large.
            Ok(ServerError::NotAllowedError) => {
                let found = self.entries.iter().position(|entry| entry.sequence == sequence);
                if let Some(entry) = found.and_then(|index| self.entries.remove(index)) {
                    self.entries_bytes -= entry.bytes;
                    entry.settle(&Err(error.clone()));
                }
            }
            Ok(ServerError::TopicTerminatedError) => {
                self.give_up(error);
                self.lost(error);
            }
            // What Pulsar's own clients do: connect again and send again.
            _ => self.lost(error),
        }
    }
}

/// Maximum payload of a message of this size.
pub(crate) fn payload_bytes_max(message_bytes_max: usize) -> usize {
    message_bytes_max.saturating_sub(METADATA_BYTES_MAX)
}
