// SPDX-License-Identifier: Apache-2.0
//! Entries: what the broker stores and confirms as one, a message or a batch of messages.
//!
//! An entry is encoded once and keeps its bytes until it is confirmed, so that sending it again
//! after a broken connection costs no more than writing it. When it is sent is decided elsewhere.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use pulsar::message::proto::{
    CommandSend, CompressionType, KeyValue, MessageMetadata, SingleMessageMetadata,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::error::{PulsarError, Result};
use crate::options::{Batch, Compression};
use crate::wire::{Frame, batch_head, message_frame};

/// Room for the metadata of a message: the broker's frame limit exceeds its message limit by this
/// much. (Pulsar, `Commands.MESSAGE_SIZE_FRAME_PADDING`.)
pub(crate) const METADATA_BYTES_MAX: usize = 10 << 10;

/// Confirmation of a message by the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// Where it is stored: ledger and entry. `None` if the broker had the message already.
    pub place: Option<(u64, u64)>,
}

/// A message on its way, and who waits for it.
pub(crate) struct Item {
    pub(crate) sequence: u64,
    pub(crate) key: Option<String>,
    pub(crate) properties: Vec<(String, String)>,
    /// Milliseconds since 1970 at which it happened; none for "when it was published".
    pub(crate) event_time: Option<u64>,
    pub(crate) payload: Bytes,
    /// When it is returned unconfirmed.
    pub(crate) deadline: Instant,
    pub(crate) reply: oneshot::Sender<Result<Receipt>>,
}

/// A waiter for a message: its sequence number, and the channel of the result.
type Waiter = (u64, oneshot::Sender<Result<Receipt>>);

/// What the broker stores as one.
pub(crate) struct Entry {
    pub(crate) sequence: u64,
    pub(crate) frame: Frame,
    /// Bytes in memory, roughly those of the frame.
    pub(crate) bytes: usize,
    pub(crate) deadline: Instant,
    waiters: Vec<Waiter>,
}

impl Entry {
    /// Notifies all waiters.
    pub(crate) fn settle(self, result: &Result<Receipt>) {
        for (_, reply) in self.waiters {
            // The receiver may have been dropped.
            let _ = reply.send(result.clone());
        }
    }

    /// The sequence numbers in it.
    pub(crate) fn sequences(&self) -> impl Iterator<Item = u64> {
        self.waiters.iter().map(|(sequence, _)| *sequence)
    }

    /// Adds a waiter if this entry has the message already. Otherwise returns the message.
    pub(crate) fn join(&mut self, item: Item) -> Option<Item> {
        if self.sequences().all(|sequence| sequence != item.sequence) {
            return Some(item);
        }
        self.waiters.push((item.sequence, item.reply));
        None
    }
}

/// Makes entries of one producer on one topic.
pub(crate) struct Packer {
    pub(crate) producer_name: String,
    pub(crate) compression: Compression,
    pub(crate) batch: Batch,
    pub(crate) message_bytes_max: usize,
    open: Vec<Item>,
    open_bytes: usize,
}

impl Packer {
    pub(crate) fn new(
        producer_name: String,
        compression: Compression,
        batch: Batch,
        message_bytes_max: usize,
    ) -> Self {
        let (open, open_bytes) = (Vec::new(), 0);
        Self { producer_name, compression, batch, message_bytes_max, open, open_bytes }
    }

    /// When the open batch has to be sent, or one of its messages returned.
    pub(crate) fn due(&self) -> Option<Instant> {
        let first = self.open.first()?;
        Some(first.deadline)
    }

    /// Bytes and messages that wait in the open batch.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        (self.open.len(), self.open_bytes)
    }

    /// Takes a message; returns entries that are ready. A message that is too large fails, and
    /// makes none.
    pub(crate) fn push(&mut self, item: Item, ready: &mut Vec<Entry>) {
        if !self.batch.enabled {
            ready.extend(self.pack(vec![item]));
            return;
        }
        // A batch has one key, or subscriptions that share a topic by key would see mixed ones. It
        // also has to fit into one message.
        let bytes = item.payload.len() + METADATA_BYTES_MAX.min(item_overhead(&item));
        let other_key = self.open.first().is_some_and(|first| first.key != item.key);
        if other_key || self.open_bytes + bytes > self.batch.bytes_max.min(self.message_bytes_max) {
            ready.extend(self.close());
        }
        self.open_bytes += bytes;
        self.open.push(item);
        if self.open.len() >= self.batch.messages_max || self.open_bytes >= self.batch.bytes_max {
            ready.extend(self.close());
        }
    }

    /// Closes the open batch.
    pub(crate) fn close(&mut self) -> Option<Entry> {
        self.open_bytes = 0;
        let items = std::mem::take(&mut self.open);
        if items.is_empty() { None } else { self.pack(items) }
    }

    /// Whether the open batch has the message already.
    pub(crate) fn has(&self, sequence: u64) -> bool {
        self.open.iter().any(|item| item.sequence == sequence)
    }

    /// Returns the messages of the open batch.
    pub(crate) fn give_back(&mut self) -> Vec<Item> {
        self.open_bytes = 0;
        std::mem::take(&mut self.open)
    }

    /// Encodes. The items are not empty.
    fn pack(&self, items: Vec<Item>) -> Option<Entry> {
        let (first, last) = (items.first()?, items.last()?);
        let (sequence, highest, deadline) = (first.sequence, last.sequence, first.deadline);
        let batched = self.batch.enabled;
        let mut metadata = MessageMetadata {
            producer_name: self.producer_name.clone(),
            sequence_id: sequence,
            publish_time: now_ms(),
            partition_key: first.key.clone(),
            ..MessageMetadata::default()
        };
        let mut send = CommandSend {
            producer_id: 0,
            sequence_id: sequence,
            num_messages: i32::try_from(items.len()).ok(),
            ..CommandSend::default()
        };
        let mut payload = Vec::with_capacity(2 * items.len());
        let mut waiters = Vec::with_capacity(items.len());
        if batched {
            metadata.num_messages_in_batch = send.num_messages;
            metadata.highest_sequence_id = Some(highest);
            send.highest_sequence_id = Some(highest);
        }
        for item in items {
            let properties = item.properties.into_iter();
            let properties = properties.map(|(key, value)| KeyValue { key, value }).collect();
            if batched {
                payload.push(batch_head(&SingleMessageMetadata {
                    properties,
                    partition_key: item.key,
                    payload_size: i32::try_from(item.payload.len()).unwrap_or(i32::MAX),
                    event_time: item.event_time,
                    sequence_id: Some(item.sequence),
                    ..SingleMessageMetadata::default()
                }));
            } else {
                metadata.properties = properties;
                metadata.event_time = item.event_time;
            }
            payload.push(item.payload);
            waiters.push((item.sequence, item.reply));
        }
        self.compress(&mut metadata, &mut payload);
        let payload_bytes: usize = payload.iter().map(Bytes::len).sum();
        let metadata_bytes = prost::Message::encoded_len(&metadata);
        let bytes = payload_bytes + metadata_bytes;
        if bytes > self.message_bytes_max || metadata_bytes > METADATA_BYTES_MAX {
            let bytes_max = if metadata_bytes > METADATA_BYTES_MAX {
                METADATA_BYTES_MAX
            } else {
                self.message_bytes_max
            };
            for (_, reply) in waiters {
                let _ = reply.send(Err(PulsarError::TooLarge { bytes, bytes_max }));
            }
            return None;
        }
        let frame = message_frame(send, &metadata, payload);
        Some(Entry { sequence, frame, bytes, deadline, waiters })
    }

    /// Compresses the payload, and notes that in the metadata. It stays as it is if compression
    /// fails or does not make it smaller.
    fn compress(&self, metadata: &mut MessageMetadata, payload: &mut Vec<Bytes>) {
        let kind = match self.compression {
            Compression::None => return,
            Compression::Lz4 => CompressionType::Lz4,
            Compression::Zstd => CompressionType::Zstd,
        };
        let whole: Bytes = match payload.as_slice() {
            [one] => one.clone(),
            pieces => pieces.concat().into(),
        };
        let compressed = match self.compression {
            Compression::Lz4 => Some(lz4_flex::block::compress(&whole)),
            _ => zstd::bulk::compress(&whole, zstd::DEFAULT_COMPRESSION_LEVEL).ok(),
        };
        let Some(compressed) = compressed.filter(|bytes| bytes.len() < whole.len()) else { return };
        metadata.compression = Some(i32::from(kind));
        metadata.uncompressed_size = u32::try_from(whole.len()).ok();
        *payload = vec![compressed.into()];
    }
}

/// Bytes that a message adds to a batch besides its payload, roughly.
fn item_overhead(item: &Item) -> usize {
    let properties: usize = item.properties.iter().map(|(k, v)| k.len() + v.len() + 8).sum();
    properties + item.key.as_ref().map_or(0, String::len) + 64
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
