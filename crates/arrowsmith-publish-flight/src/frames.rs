// SPDX-License-Identifier: Apache-2.0
//! Arrow IPC messages as Flight data: header and body are slices of the payload.

use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_flight::{FlightData, SchemaAsIpc};
use arrow_ipc::writer::IpcWriteOptions;
use arrow_ipc::{MessageHeader, root_as_message};
use arrow_schema::Schema;
use arrowsmith_publish::{Compression, Layout, Message, PublishError, encode};
use bytes::Bytes;
use serde_json::json;

/// The prefix of an IPC message, before the size of its header.
const CONTINUATION: u32 = u32::MAX;

/// The schema as first Flight data of a stream.
pub(crate) fn schema(schema: &Schema) -> FlightData {
    SchemaAsIpc::new(schema, &IpcWriteOptions::default()).into()
}

/// The Flight data of a message, without the schema. Its metadata is a JSON object with what
/// restores the order: stream, sequence, rows, origins, and the key if there is one.
pub(crate) fn of(message: &Message) -> Result<Vec<FlightData>, PublishError> {
    let refuse = |reason: String| PublishError::Refused(format!("flight: {reason}").into());
    let payload = if message.payload.is_empty() {
        encode(&message.batch, Layout::SelfContained, Compression::None)
            .map_err(|error| refuse(error.to_string()))?
    } else {
        message.payload.clone()
    };
    let mut frames = split(&payload)
        .ok_or_else(|| refuse("the payload is not an Arrow IPC stream".to_owned()))?;
    let Some(batch) = frames.last_mut() else {
        return Err(refuse("the payload has no batch".to_owned()));
    };
    let mut metadata = json!({
        "stream": &*message.stream,
        "sequence": message.sequence,
        "run": run(),
        "rows": message.rows(),
        "origins": message.origins_text(),
    });
    if let Some(key) = &message.key {
        metadata["key"] = json!(&**key);
    }
    batch.app_metadata = metadata.to_string().into();
    Ok(frames)
}

/// When this process started to publish, in milliseconds since 1970: distinguishes its messages
/// from those of an earlier run.
fn run() -> u64 {
    static RUN: LazyLock<u64> = LazyLock::new(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
    });
    *RUN
}

/// The messages of an IPC stream without its schema. `None` for anything else.
fn split(payload: &Bytes) -> Option<Vec<FlightData>> {
    let mut frames = Vec::with_capacity(1);
    let mut rest = payload.clone();
    while !rest.is_empty() {
        let mut size = take_u32(&mut rest)?;
        if size == CONTINUATION {
            size = take_u32(&mut rest)?;
        }
        if size == 0 {
            break;
        }
        let header = take(&mut rest, usize::try_from(size).ok()?)?;
        let parsed = root_as_message(&header).ok()?;
        let kind = parsed.header_type();
        let body = take(&mut rest, usize::try_from(parsed.bodyLength()).ok()?)?;
        if kind != MessageHeader::Schema {
            frames.push(FlightData {
                data_header: header,
                data_body: body,
                ..FlightData::default()
            });
        }
    }
    Some(frames)
}

fn take(bytes: &mut Bytes, count: usize) -> Option<Bytes> {
    (count <= bytes.len()).then(|| bytes.split_to(count))
}

fn take_u32(bytes: &mut Bytes) -> Option<u32> {
    let number = take(bytes, 4)?;
    Some(u32::from_le_bytes(*number.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use arrow_array::types::Int32Type;
    use arrow_array::{DictionaryArray, Int64Array, RecordBatch};
    use arrow_flight::decode::FlightRecordBatchStream;
    use futures_util::{StreamExt, TryStreamExt};

    use crate::feed::tests::message;

    async fn decoded(schema: FlightData, frames: Vec<FlightData>) -> Vec<RecordBatch> {
        let all = std::iter::once(schema).chain(frames).map(Ok);
        let stream = futures_util::stream::iter(all).boxed();
        FlightRecordBatchStream::new_from_flight_data(stream).try_collect().await.unwrap()
    }

    #[tokio::test]
    async fn every_layout_comes_out_as_it_went_in() {
        let mut message = message(7, 100);
        for layout in [Layout::SelfContained, Layout::BatchOnly] {
            for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
                message.payload = encode(&message.batch, layout, compression).unwrap();
                let frames = of(&message).unwrap();
                assert_eq!(frames.len(), 1);
                let metadata: serde_json::Value =
                    serde_json::from_slice(&frames[0].app_metadata).unwrap();
                assert_eq!((&metadata["sequence"], &metadata["rows"]), (&json!(7), &json!(100)));
                let found = decoded(schema(&message.schema), frames).await;
                assert_eq!(found, [message.batch.clone()]);
            }
        }
        message.payload = Bytes::new();
        let found = decoded(schema(&message.schema), of(&message).unwrap()).await;
        assert_eq!(found, [message.batch]);
    }

    #[tokio::test]
    async fn dictionaries_come_along() {
        let words: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
        let numbers = Int64Array::from(vec![1, 2, 3]);
        let columns = [("w", Arc::new(words) as _), ("n", Arc::new(numbers) as _)];
        let mut message = message(1, 1);
        message.batch = RecordBatch::try_from_iter(columns).unwrap();
        message.schema = message.batch.schema();
        message.payload = Bytes::new();
        let frames = of(&message).unwrap();
        assert_eq!(frames.len(), 2);
        assert!(frames[0].app_metadata.is_empty() && !frames[1].app_metadata.is_empty());
        let found = decoded(schema(&message.schema), frames).await;
        assert_eq!(found, [message.batch]);
    }

    #[test]
    fn any_bytes_are_an_error_and_never_a_panic() {
        let mut message = message(1, 10);
        let good = message.payload.clone();
        for end in 0..good.len() {
            message.payload = good.slice(..end.max(1));
            let _ = of(&message);
        }
        for at in 0..good.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bytes = good.to_vec();
                bytes[at] = value;
                message.payload = bytes.into();
                let _ = of(&message);
            }
        }
        message.payload = Bytes::from_static(b"garbage that is not a stream");
        assert!(matches!(of(&message), Err(PublishError::Refused(_))));
    }
}
