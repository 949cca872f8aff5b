// SPDX-License-Identifier: Apache-2.0
//! What the tests with a broker share: settings, rows and their payloads.

use std::sync::Arc;

use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, ListArray, RecordBatch, StringArray, StructArray, UInt64Array};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrowsmith_publish_pulsar::{Outgoing, PulsarOptions, SchemaMode};
use arrowsmith_testkit::pulsar::Broker;
use bytes::Bytes;

/// A broker, as [`Broker::start`] gives it; what the sink logs is shown for a test that fails, with
/// RUST_LOG=info.
pub fn start(name: &'static str, port: u16, secure: bool) -> Option<Broker> {
    let filter = tracing_subscriber::EnvFilter::from_default_env();
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_test_writer().try_init();
    Broker::start(name, port, secure)
}

pub fn settings(broker: &Broker, topic: &str) -> PulsarOptions {
    PulsarOptions {
        url: format!("pulsar://127.0.0.1:{}", broker.port),
        topic: topic.to_owned(),
        producer_name: format!("test-{topic}"),
        backoff_max_ms: 1_000,
        // A machine that is busy with other tests takes its time.
        connect_timeout_ms: 60_000,
        ..PulsarOptions::default()
    }
}

/// A number, a nested list and a struct.
pub fn schema() -> SchemaRef {
    let list = DataType::new_list(DataType::UInt64, false);
    let inner = vec![Field::new("name", DataType::Utf8, true), Field::new("readings", list, true)];
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::UInt64, false),
        Field::new("device", DataType::Struct(inner.into()), false),
    ]))
}

/// Rows `from..from + count`, told apart by all their columns.
pub fn batch(from: u64, count: u64) -> RecordBatch {
    let ids = from..from + count;
    let names: StringArray =
        ids.clone().map(|id| (id % 3 != 0).then(|| format!("device-{id}"))).collect();
    let lists = ids.clone().map(|id| (id % 5 != 0).then(|| (0..id % 4).map(Some)));
    let readings = ListArray::from_iter_primitive::<UInt64Type, _, _>(lists);
    let item = Arc::new(Field::new_list_field(DataType::UInt64, false));
    let (_, offsets, values, nulls) = readings.into_parts();
    let readings = ListArray::new(item, offsets, values, nulls);
    let schema = schema();
    let DataType::Struct(inner) = schema.field(1).data_type() else { unreachable!() };
    let device = StructArray::new(inner.clone(), vec![Arc::new(names), Arc::new(readings)], None);
    let columns: Vec<ArrayRef> =
        vec![Arc::new(UInt64Array::from_iter_values(ids)), Arc::new(device)];
    RecordBatch::try_new(schema, columns).unwrap()
}

/// The payload of a batch: an IPC stream, or for a topic that begins with the schema what comes
/// after its schema.
pub fn payload(batch: &RecordBatch, mode: SchemaMode) -> Bytes {
    let head = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    let head_bytes = head.get_ref().len();
    let mut writer = head;
    writer.write(batch).unwrap();
    let bytes = Bytes::from(writer.into_inner().unwrap());
    match mode {
        SchemaMode::Each => bytes,
        // Without the end of the stream, 8 bytes, so that the next batch may follow.
        SchemaMode::First => bytes.slice(head_bytes..bytes.len() - 8),
    }
}

/// A message of producer 0 without key and properties.
pub fn outgoing(sequence: u64, payload: Bytes) -> Outgoing {
    Outgoing { producer: 0, sequence, key: None, properties: vec![], event_time_ms: None, payload }
}
