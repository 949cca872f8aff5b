// SPDX-License-Identifier: Apache-2.0
//! The schema as first message of a topic: written where the topic is empty, else compared.
//!
//! A payload that holds the schema, followed by payloads that hold one batch each, is an Arrow IPC
//! stream. Pulsar drops messages that every subscription has acknowledged, so a topic may start
//! with a batch; each message therefore carries a fingerprint of the schema, and if that is the
//! same the schema is written again. Batches are not decoded.

use std::io::Cursor;
use std::sync::Arc;

use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions, write_message};
use arrow_schema::{Schema, SchemaRef};
use arrowsmith_core::hash::fnv1a;
use bytes::Bytes;
use pulsar::message::Payload;
use pulsar::message::proto::base_command::Type;
use pulsar::message::proto::command_subscribe::{InitialPosition, SubType};
use pulsar::message::proto::{
    BaseCommand, CommandFlow, CommandGetLastMessageId, CommandSubscribe, MessageIdData,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::connection::{Connection, locate};
use crate::entry::{Item, METADATA_BYTES_MAX, now_ms};
use crate::error::{PulsarError, Result};
use crate::options::{Batch, Compression, PulsarOptions};
use crate::producer::{self, Order, ProducerState};

/// Property with the kind of a message.
pub const PROPERTY_KIND: &str = "arrowsmith.kind";
/// Property with the fingerprint of the schema, 16 hexadecimal digits.
pub const PROPERTY_SCHEMA: &str = "arrowsmith.schema";
/// Value of [`PROPERTY_KIND`]: the schema, as the start of an Arrow IPC stream.
pub const KIND_SCHEMA: &str = "schema";
/// Value of [`PROPERTY_KIND`]: an Arrow record batch.
pub const KIND_BATCH: &str = "batch";

/// Ledger and entry of "before all messages", and of "no message".
const NOWHERE: u64 = u64::MAX;

/// The start of an Arrow IPC stream: the schema as an encapsulated message.
pub(crate) fn message(schema: &Schema) -> Result<Bytes> {
    let options = IpcWriteOptions::default();
    let mut tracker = DictionaryTracker::new(false);
    let encoded =
        IpcDataGenerator {}.schema_to_bytes_with_dictionary_tracker(schema, &mut tracker, &options);
    let mut bytes = Vec::new();
    write_message(&mut bytes, encoded, &options)?;
    Ok(bytes.into())
}

/// The fingerprint of a schema: FNV-1a of its IPC form. It detects accidental differences; a
/// collision on purpose gains nothing.
pub(crate) fn fingerprint(message: &[u8]) -> String {
    format!("{:016x}", fnv1a(message.iter().copied()))
}

/// The first message of a topic.
enum First {
    Nothing,
    /// Exactly our schema, or one with the fingerprint of ours on a batch.
    Same {
        is_schema: bool,
    },
}

/// Ensures that the topic, one partition, starts with this schema.
pub(crate) async fn ensure(
    options: &Arc<PulsarOptions>,
    topic: &str,
    schema: &SchemaRef,
) -> Result<()> {
    let message = message(schema)?;
    if let First::Same { is_schema: true } = first(options, topic, schema, &message).await? {
        return Ok(());
    }
    // Alone, neither batched nor compressed, so that it can be read with nothing but this.
    let plain = Arc::new(PulsarOptions {
        batch: Batch { enabled: false, ..options.batch.clone() },
        compression: Compression::None,
        ..options.as_ref().clone()
    });
    let state = Arc::new(ProducerState::new(plain.message_bytes_max));
    // A name of its own, because the numbers of the others belong to their messages.
    let name = format!("{}-schema", plain.producer_name);
    let deadline = Instant::now() + plain.send_timeout();
    let (orders, task) = producer::spawn(plain, topic.to_owned(), name, state);
    let (reply, receipt) = oneshot::channel();
    let item = Item {
        sequence: now_ms(),
        key: None,
        properties: vec![
            (PROPERTY_KIND.to_owned(), KIND_SCHEMA.to_owned()),
            (PROPERTY_SCHEMA.to_owned(), fingerprint(&message)),
        ],
        event_time: None,
        payload: message,
        deadline,
        reply,
    };
    let _ = orders.send(Order::Send(item)).await;
    let result = receipt.await.unwrap_or(Err(PulsarError::Closed));
    drop(orders);
    // Until it is closed at the broker, its name is taken.
    let _ = task.await;
    result.map(drop)
}

/// Reads the first message of the topic, if there is one, and compares.
async fn first(
    options: &PulsarOptions,
    topic: &str,
    schema: &SchemaRef,
    ours: &[u8],
) -> Result<First> {
    let Some(payload) = read_first(options, topic).await? else { return Ok(First::Nothing) };
    let property = |name: &str| {
        let found = payload.metadata.properties.iter().find(|property| property.key == name);
        found.map(|property| property.value.as_str())
    };
    if property(PROPERTY_KIND) == Some(KIND_SCHEMA) {
        let reader = StreamReader::try_new(Cursor::new(payload.data), None)?;
        return match difference(schema, &reader.schema()) {
            None => Ok(First::Same { is_schema: true }),
            Some(difference) => {
                Err(PulsarError::SchemaMismatch { topic: topic.to_owned(), difference })
            }
        };
    }
    match property(PROPERTY_SCHEMA) {
        Some(theirs) if theirs == fingerprint(ours) => Ok(First::Same { is_schema: false }),
        Some(theirs) => Err(PulsarError::SchemaMismatch {
            topic: topic.to_owned(),
            difference: format!("its fingerprint is {theirs}, ours is {}", fingerprint(ours)),
        }),
        None => Err(PulsarError::SchemaMissing { topic: topic.to_owned() }),
    }
}

/// The first message that the topic still has.
async fn read_first(options: &PulsarOptions, topic: &str) -> Result<Option<Payload>> {
    let address = locate(options, topic).await?;
    let mut connection = Connection::open(options, &address).await?;
    let frame_bytes_max = connection.message_bytes_max.saturating_add(2 * METADATA_BYTES_MAX);
    connection.reader.decoder_mut().frame_bytes_max = frame_bytes_max;
    let request_id = connection.request_id();
    let subscribe = BaseCommand {
        r#type: i32::from(Type::Subscribe),
        subscribe: Some(CommandSubscribe {
            topic: topic.to_owned(),
            // Not durable: it ends with the connection. The name only has to be unused.
            subscription: format!("arrowsmith-schema-{}-{}", std::process::id(), now_ms()),
            sub_type: i32::from(SubType::Exclusive),
            consumer_id: 0,
            request_id,
            durable: Some(false),
            start_message_id: Some(MessageIdData {
                ledger_id: NOWHERE,
                entry_id: NOWHERE,
                ..MessageIdData::default()
            }),
            initial_position: Some(i32::from(InitialPosition::Earliest)),
            ..CommandSubscribe::default()
        }),
        ..BaseCommand::default()
    };
    connection.request(options, &subscribe).await?;
    let request_id = connection.request_id();
    let ask = BaseCommand {
        r#type: i32::from(Type::GetLastMessageId),
        get_last_message_id: Some(CommandGetLastMessageId { consumer_id: 0, request_id }),
        ..BaseCommand::default()
    };
    let answer = connection.request(options, &ask).await?;
    let last = answer.command.get_last_message_id_response.map(|answer| answer.last_message_id);
    if last.is_none_or(|id| id.entry_id == NOWHERE) {
        return Ok(None);
    }
    let flow = BaseCommand {
        r#type: i32::from(Type::Flow),
        flow: Some(CommandFlow { consumer_id: 0, message_permits: 1 }),
        ..BaseCommand::default()
    };
    connection.send(&flow).await?;
    let message = async {
        loop {
            let message = connection.answer().await?;
            if message.payload.is_some() {
                return Ok(message.payload);
            }
        }
    };
    // The last message may have been deleted.
    tokio::time::timeout(options.connect_timeout(), message).await.unwrap_or(Ok(None))
}

/// A description of the difference between `theirs` and `ours`.
fn difference(ours: &Schema, theirs: &Schema) -> Option<String> {
    if ours == theirs {
        return None;
    }
    let (ours_count, theirs_count) = (ours.fields().len(), theirs.fields().len());
    if ours_count != theirs_count {
        return Some(format!("it has {theirs_count} fields, ours has {ours_count}"));
    }
    let mut pairs = ours.fields().iter().zip(theirs.fields());
    Some(match pairs.find(|(our, their)| our != their) {
        Some((our, their)) => format!("its field is {their}, ours is {our}"),
        None => "its metadata differ".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::{DataType, Field};

    #[test]
    fn the_message_is_the_beginning_of_a_stream() {
        let schema = Schema::new(vec![Field::new("a", DataType::Int64, false)]);
        let bytes = message(&schema).unwrap();
        let reader = StreamReader::try_new(Cursor::new(&bytes), None).unwrap();
        assert_eq!(reader.schema().as_ref(), &schema);
        assert_eq!(fingerprint(&bytes).len(), 16);
        let other = Schema::new(vec![Field::new("b", DataType::Int64, false)]);
        assert_ne!(fingerprint(&bytes), fingerprint(&message(&other).unwrap()));
        // The value of the algorithm's authors for "foobar".
        assert_eq!(fingerprint(b"foobar"), "85944171f73967e8");
    }

    #[test]
    fn the_difference_names_the_field() {
        let field = |name, nullable| Field::new(name, DataType::Int64, nullable);
        let ours = Schema::new(vec![field("a", false), field("b", false)]);
        assert_eq!(difference(&ours, &ours), None);
        let said = |theirs: Schema| difference(&ours, &theirs).unwrap();
        assert!(said(Schema::new(vec![field("a", false)])).contains("1 fields"));
        assert!(said(Schema::new(vec![field("a", false), field("b", true)])).contains('b'));
        let metadata = [("k".to_owned(), "v".to_owned())].into();
        assert!(said(ours.clone().with_metadata(metadata)).contains("metadata"));
    }
}
