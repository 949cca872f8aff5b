// SPDX-License-Identifier: Apache-2.0
//! Record batches to Flight messages, without copying their buffers.
//!
//! A message on the wire is gRPC's prefix (5 bytes), then the fields of `FlightData` in protobuf:
//! `data_header` (the IPC message), `app_metadata`, `data_body` (the buffers, one after another,
//! padded). arrow-ipc returns the buffers of the batch uncopied; here they become the segments of
//! one body, and only small ones are copied together.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_flight::FlightData;
use arrow_ipc::CompressionType;
use arrow_ipc::root_as_message;
use arrow_ipc::writer::{IpcWriteOptions, StreamEncoder};
use arrow_schema::{ArrowError, Schema};
use bytes::{BufMut, Bytes, BytesMut};

/// Segments smaller than this are copied together: handing over a reference costs as much.
const COPY_BYTES: usize = 2 << 10;

/// The prefix of an IPC message: continuation marker and length.
const PREFIX_BYTES: usize = 8;

/// Tags of `FlightData`'s fields, length-delimited: `data_header`, `app_metadata`, `data_body`.
const TAG_HEADER: u8 = 2 << 3 | 2;
const TAG_METADATA: u8 = 3 << 3 | 2;
const TAG_BODY: [u8; 2] = [0xc2, 0x3e];

/// gRPC's prefix: not compressed, and the length.
const GRPC_PREFIX_BYTES: usize = 5;

/// A message that is ready to be sent.
#[derive(Debug, Clone)]
pub struct Message {
    /// The IPC message: schema, dictionary or batch.
    header: Bytes,
    body: Vec<Bytes>,
    body_bytes: usize,
    metadata: Bytes,
}

impl Message {
    /// Of a message and a body that are there already.
    pub(crate) fn stored(header: Bytes, body: Bytes) -> Self {
        let body_bytes = body.len();
        Self { header, body: vec![body], body_bytes, metadata: Bytes::new() }
    }

    /// Of a message of another endpoint.
    pub(crate) fn relayed(data: FlightData) -> Self {
        let mut message = Self::stored(data.data_header, data.data_body);
        message.metadata = data.app_metadata;
        message
    }

    /// Bytes of header and body.
    pub fn bytes(&self) -> usize {
        self.header.len() + self.body_bytes
    }

    /// The message as tonic sends it, its body in one piece.
    pub fn into_flight_data(self) -> FlightData {
        let mut body = self.body;
        let body = match (body.pop(), body.is_empty()) {
            (Some(only), true) => only,
            (last, _) => {
                body.extend(last);
                body.concat().into()
            }
        };
        FlightData::new()
            .with_data_header(self.header)
            .with_data_body(body)
            .with_app_metadata(self.metadata)
    }

    /// The bytes on the wire, in segments; `None` above gRPC's limit of a length.
    pub(crate) fn into_segments(self) -> Option<Vec<Bytes>> {
        let mut head = BytesMut::with_capacity(
            GRPC_PREFIX_BYTES + self.header.len() + self.metadata.len() + 32,
        );
        head.put_bytes(0, GRPC_PREFIX_BYTES);
        head.put_u8(TAG_HEADER);
        put_varint(&mut head, self.header.len());
        head.put_slice(&self.header);
        if !self.metadata.is_empty() {
            head.put_u8(TAG_METADATA);
            put_varint(&mut head, self.metadata.len());
            head.put_slice(&self.metadata);
        }
        if self.body_bytes > 0 {
            head.put_slice(&TAG_BODY);
            put_varint(&mut head, self.body_bytes);
        }
        let length = u32::try_from(head.len() - GRPC_PREFIX_BYTES + self.body_bytes).ok()?;
        head.get_mut(1..GRPC_PREFIX_BYTES)?.copy_from_slice(&length.to_be_bytes());
        let mut segments = Vec::with_capacity(self.body.len() + 1);
        let mut open = head;
        for segment in self.body {
            if segment.len() < COPY_BYTES {
                open.put_slice(&segment);
            } else {
                if !open.is_empty() {
                    segments.push(open.split().freeze());
                }
                segments.push(segment);
            }
        }
        if !open.is_empty() {
            segments.push(open.freeze());
        }
        Some(segments)
    }
}

fn put_varint(out: &mut BytesMut, value: usize) {
    let mut value = value as u64;
    while value >= 0x80 {
        #[expect(clippy::cast_possible_truncation, reason = "seven bits and a flag")]
        out.put_u8(value as u8 | 0x80);
        value >>= 7;
    }
    #[expect(clippy::cast_possible_truncation, reason = "less than 128")]
    out.put_u8(value as u8);
}

/// How buffers are compressed on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// As they are: the default, and the fastest on a network that is not the bottleneck.
    #[default]
    None,
    /// LZ4 frames.
    Lz4,
    /// Zstandard.
    Zstd,
}

/// How batches are written.
///
/// # Errors
/// None: the options are ours.
fn options(compression: Compression) -> Result<IpcWriteOptions, ArrowError> {
    IpcWriteOptions::default().try_with_compression(match compression {
        Compression::None => None,
        Compression::Lz4 => Some(CompressionType::LZ4_FRAME),
        Compression::Zstd => Some(CompressionType::ZSTD),
    })
}

/// Batches of one schema, to messages.
pub struct Encoder {
    encoder: StreamEncoder,
    bytes_max: usize,
    /// Whether the schema has not been sent.
    first: bool,
    schema: arrow_schema::SchemaRef,
}

impl Encoder {
    /// Batches whose buffers are larger than `bytes_max` are split.
    ///
    /// # Errors
    /// A schema that IPC does not support.
    pub fn new(
        schema: &arrow_schema::SchemaRef,
        compression: Compression,
        bytes_max: usize,
    ) -> Result<Self, ArrowError> {
        let encoder = StreamEncoder::try_new_with_options(schema, options(compression)?)?;
        Ok(Self { encoder, bytes_max, first: true, schema: schema.clone() })
    }

    /// The schema, if no batch has been written before.
    ///
    /// # Errors
    /// None that this type makes possible.
    pub fn schema(&mut self) -> Result<Vec<Message>, ArrowError> {
        if !self.first {
            return Ok(Vec::new());
        }
        // An empty batch makes the encoder emit its schema and dictionaries, which it considers
        // sent from then on.
        let empty = RecordBatch::new_empty(self.schema.clone());
        let mut messages = self.encode(&empty)?;
        messages.pop();
        Ok(messages)
    }

    /// The messages of a batch: the schema if it has not been sent, dictionaries that are new, the
    /// rows.
    ///
    /// # Errors
    /// A batch that does not have the schema.
    pub fn batch(&mut self, batch: &RecordBatch) -> Result<Vec<Message>, ArrowError> {
        let rows = batch.num_rows();
        let bytes: usize = batch
            .columns()
            .iter()
            .map(|column| column.to_data().get_slice_memory_size().unwrap_or(0))
            .sum();
        let pieces = bytes.div_ceil(self.bytes_max.max(1)).max(1);
        // Whole bytes of bitmaps, so that slices need no shifting.
        let step = (rows.div_ceil(pieces).max(1) + 63) & !63;
        let mut messages = Vec::new();
        let mut at = 0;
        while at < rows {
            let length = step.min(rows - at);
            messages.extend(self.encode(&batch.slice(at, length))?);
            at += length;
        }
        Ok(messages)
    }

    fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<Message>, ArrowError> {
        let buffers = self.encoder.encode(batch)?;
        self.first = false;
        messages(buffers).ok_or_else(|| {
            ArrowError::IpcError("the encoder's buffers are not a sequence of messages".to_owned())
        })
    }
}

/// The schema alone, as a message.
///
/// # Errors
/// A schema that IPC does not support.
pub fn schema_message(schema: &Schema) -> Result<Message, ArrowError> {
    let mut encoder =
        Encoder::new(&std::sync::Arc::new(schema.clone()), Compression::None, usize::MAX)?;
    let mut messages = encoder.schema()?;
    messages.pop().ok_or_else(|| ArrowError::IpcError("no schema message".to_owned()))
}

/// A buffer as bytes that are shared.
struct Owner(Buffer);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

/// Takes the buffers of a stream apart: prefix, header, body, and again.
fn messages(buffers: Vec<Buffer>) -> Option<Vec<Message>> {
    let mut buffers = buffers.into_iter();
    let mut messages = Vec::with_capacity(1);
    while let Some(prefix) = buffers.next() {
        // A column without values has buffers without bytes, also after the last that has some.
        if prefix.is_empty() {
            continue;
        }
        let length = prefix.as_slice().get(4..PREFIX_BYTES)?.try_into().ok()?;
        let length = usize::try_from(u32::from_le_bytes(length)).ok()?;
        // Bounded: by the header that the encoder has made.
        let mut header = BytesMut::with_capacity(length);
        while header.len() < length {
            header.put_slice(buffers.next()?.as_slice());
        }
        let body_bytes = usize::try_from(root_as_message(&header).ok()?.bodyLength()).ok()?;
        let (mut body, mut left) = (Vec::new(), body_bytes);
        while left > 0 {
            let buffer = buffers.next()?;
            left = left.checked_sub(buffer.len())?;
            if !buffer.is_empty() {
                body.push(Bytes::from_owner(Owner(buffer)));
            }
        }
        messages.push(Message {
            header: header.freeze(),
            body,
            body_bytes,
            metadata: Bytes::new(),
        });
    }
    Some(messages)
}
