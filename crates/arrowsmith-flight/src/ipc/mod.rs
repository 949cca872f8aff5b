// SPDX-License-Identifier: Apache-2.0
//! Arrow IPC messages from outside: validated before the decoder allocates what they declare.
//!
//! A message declares the lengths of its buffers, stored and decompressed, and Arrow's decoder
//! trusts them. A declared length beyond what the stored bytes could contain makes an allocation
//! fail, which ends the process. So every number of a header is checked against the bytes of the
//! message ([`check`]). If the decoder panics all the same, only the stream ends ([`batches`]).

mod schema;
mod stream;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::panic::AssertUnwindSafe;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, RecordBatch};
use arrow_flight::FlightData;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_ipc::{CompressionType, MessageHeader, root_as_message};
use arrow_schema::DataType;
use arrowsmith_core::memory::Refused;
use futures_util::stream::{BoxStream, StreamExt};

pub(crate) use self::schema::{check_schema, schema};
pub use self::stream::{CONTINUATION, StreamReader};

/// Maximum number of rows that take no bytes, such as those of a column of nulls.
const FREE_ROWS: u64 = 1 << 20;

/// Bytes that one byte can come to: of LZ4, and of Zstandard, whose blocks of one repeated byte are
/// the densest.
const LZ4_RATIO: u64 = 255;
const ZSTD_RATIO: u64 = 32 << 10;

/// Allowance for small compressed buffers, whose frames have a minimum size.
const SLACK_BYTES: u64 = 128 << 10;

/// The decompressed length before a compressed buffer.
const LENGTH_BYTES: usize = 8;

/// Limits of messages.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Maximum size of the decompressed buffers of one message, in bytes.
    pub decoded_bytes_max: u64,
    /// Whether buffers may be compressed.
    pub compression: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { decoded_bytes_max: 1 << 30, compression: true }
    }
}

/// Bytes or elements of one value of a fixed-size type; 1 for other types.
pub fn width(data_type: &DataType) -> u64 {
    match data_type {
        DataType::FixedSizeBinary(bytes) => u64::try_from(*bytes).unwrap_or(u64::MAX),
        DataType::FixedSizeList(field, length) => {
            let length = u64::try_from(*length).unwrap_or(u64::MAX);
            length.saturating_mul(width(field.data_type()))
        }
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::Map(field, _) => width(field.data_type()),
        DataType::Struct(fields) => {
            fields.iter().map(|field| width(field.data_type())).max().unwrap_or(1)
        }
        DataType::Union(fields, _) => {
            fields.iter().map(|(_, field)| width(field.data_type())).max().unwrap_or(1)
        }
        DataType::Dictionary(_, values) => width(values),
        DataType::RunEndEncoded(_, values) => width(values.data_type()),
        _ => 1,
    }
}

/// Refuses a message whose header is inconsistent with its bytes.
///
/// # Errors
/// The inconsistency.
pub fn check(header: &[u8], body: &[u8], bounds: &Bounds) -> Result<(), String> {
    let message = root_as_message(header).map_err(|error| format!("no message: {error}"))?;
    match message.header_type() {
        MessageHeader::Schema => {
            let schema = message.header_as_schema().ok_or("a schema without its fields")?;
            check_schema(schema)
        }
        MessageHeader::RecordBatch => {
            let batch = message.header_as_record_batch().ok_or("a batch without its buffers")?;
            check_batch(&batch, body, bounds)
        }
        MessageHeader::DictionaryBatch => {
            let dictionary = message.header_as_dictionary_batch().ok_or("an empty dictionary")?;
            let batch = dictionary.data().ok_or("a dictionary without values")?;
            check_batch(&batch, body, bounds)
        }
        _ => Ok(()),
    }
}

fn check_batch(
    batch: &arrow_ipc::RecordBatch<'_>,
    body: &[u8],
    bounds: &Bounds,
) -> Result<(), String> {
    let compression = batch.compression().map(|compression| compression.codec());
    if compression.is_some() && !bounds.compression {
        return Err("compressed buffers are not taken here".to_owned());
    }
    let (mut stored, mut decoded) = (0_u64, 0_u64);
    for buffer in batch.buffers().iter().flatten() {
        let bytes = usize::try_from(buffer.offset())
            .ok()
            .zip(usize::try_from(buffer.length()).ok())
            .and_then(|(offset, length)| body.get(offset..offset.checked_add(length)?))
            .ok_or("a buffer lies outside of its message")?;
        stored = stored.saturating_add(bytes.len() as u64);
        let its = match compression {
            Some(codec) if !bytes.is_empty() => decompressed(codec, bytes)?,
            _ => bytes.len() as u64,
        };
        decoded = decoded.saturating_add(its);
    }
    // Buffers that share their bytes would make many of few.
    if stored > body.len() as u64 {
        return Err("its buffers are more than its body".to_owned());
    }
    // Uncompressed buffers need no more memory.
    let decoded_max = bounds.decoded_bytes_max.max(body.len() as u64);
    if decoded > decoded_max {
        return Err(format!("its buffers come to {decoded} bytes, of {decoded_max} at most"));
    }
    let rows_max = FREE_ROWS.saturating_add(decoded.saturating_mul(8));
    let fits = |rows: i64| u64::try_from(rows).is_ok_and(|rows| rows <= rows_max);
    if !fits(batch.length()) {
        return Err(format!("{} rows, which its bytes cannot be", batch.length()));
    }
    for node in batch.nodes().iter().flatten() {
        if !fits(node.length()) || node.null_count() < 0 || node.null_count() > node.length() {
            return Err(format!("a column of {} rows, {} null", node.length(), node.null_count()));
        }
    }
    let buffers = batch.buffers().map_or(0, |buffers| buffers.len());
    let mut variadic = 0_u64;
    for count in batch.variadicBufferCounts().iter().flatten() {
        variadic = variadic.saturating_add(u64::try_from(count).map_err(|_| "a negative count")?);
    }
    if variadic > buffers as u64 {
        return Err("more buffers are counted than there are".to_owned());
    }
    Ok(())
}

/// Maximum decompressed size of a buffer; an error if it declares an impossible size.
fn decompressed(codec: CompressionType, bytes: &[u8]) -> Result<u64, String> {
    let (declared, inside) =
        bytes.split_at_checked(LENGTH_BYTES).ok_or("a compressed buffer without its length")?;
    let declared = declared.try_into().map_or(i64::MIN, i64::from_le_bytes);
    let stored = inside.len() as u64;
    // Not compressed after all.
    if declared == -1 {
        return Ok(stored);
    }
    let declared = u64::try_from(declared).map_err(|_| format!("a length of {declared}"))?;
    let (ratio, most) = match codec {
        CompressionType::LZ4_FRAME => (LZ4_RATIO, lz4_most(inside)),
        CompressionType::ZSTD => (ZSTD_RATIO, declared),
        other => return Err(format!("compression {other:?} is not known")),
    };
    if declared > stored.saturating_mul(ratio).saturating_add(SLACK_BYTES) {
        return Err(format!("{stored} compressed bytes that declare {declared}"));
    }
    Ok(declared.max(most))
}

/// Maximum decompressed size of LZ4 frames, by their blocks: the decoder continues past the
/// declared size.
fn lz4_most(mut bytes: &[u8]) -> u64 {
    const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
    let mut most = 0_u64;
    while let Some(after) = bytes.strip_prefix(&MAGIC) {
        let Some((block_max, blocks, flags)) = lz4_header(after) else { break };
        bytes = blocks;
        // A block's size; its highest bit marks an uncompressed block.
        while let Some((size, rest)) = bytes.split_first_chunk() {
            let size = u32::from_le_bytes(*size);
            let length = u64::from(size & 0x7fff_ffff);
            bytes = rest;
            if size == 0 {
                let checksum = if flags & 0x04 != 0 { 4 } else { 0 };
                bytes = bytes.get(checksum..).unwrap_or_default();
                break;
            }
            let plain = size >> 31 != 0;
            let its = if plain { length } else { length.saturating_mul(LZ4_RATIO) };
            most = most.saturating_add(its.min(block_max));
            let checksum = if flags & 0x10 != 0 { 4 } else { 0 };
            let end = usize::try_from(length).ok().and_then(|end| end.checked_add(checksum));
            bytes = end.and_then(|end| bytes.get(end..)).unwrap_or_default();
        }
    }
    // The decoder refuses anything else; it is counted here, so as not to depend on that.
    most.saturating_add((bytes.len() as u64).saturating_mul(LZ4_RATIO))
}

/// A frame's maximum block size, the bytes after its header, and its flags.
fn lz4_header(bytes: &[u8]) -> Option<(u64, &[u8], u8)> {
    let (&flags, rest) = bytes.split_first()?;
    let (&descriptor, _) = rest.split_first()?;
    let block_max = match descriptor >> 4 & 7 {
        4 => 64 << 10,
        5 => 256 << 10,
        6 => 1 << 20,
        _ => 4 << 20,
    };
    let size = if flags & 0x08 != 0 { 8 } else { 0 };
    let dictionary = if flags & 0x01 != 0 { 4 } else { 0 };
    // Flags, descriptor, and the header's checksum.
    Some((block_max, bytes.get(3 + size + dictionary..)?, flags))
}

/// The batches in validated messages; nothing follows an error.
pub fn batches(
    messages: BoxStream<'static, Result<FlightData, FlightError>>,
    bounds: Bounds,
) -> BoxStream<'static, Result<RecordBatch, FlightError>> {
    let checked = messages.map(move |message| {
        let message = message?;
        if !message.data_header.is_empty() {
            check(&message.data_header, &message.data_body, &bounds)
                .map_err(FlightError::DecodeError)?;
        }
        Ok(message)
    });
    let decoded = FlightRecordBatchStream::new_from_flight_data(checked);
    let bounded = decoded.map(move |batch| {
        let batch = batch?;
        // Views and dictionaries share values, which a writer may repeat for each row.
        let (bytes, most) = (written_bytes(&batch), bounds.decoded_bytes_max);
        if bytes > most {
            let reason = format!("a batch comes to {bytes} bytes, of {most} at most");
            return Err(FlightError::DecodeError(reason));
        }
        Ok(batch)
    });
    let caught = AssertUnwindSafe(bounded).catch_unwind();
    caught
        .map(|batch| batch.unwrap_or_else(|panic| Err(FlightError::DecodeError(said(panic)))))
        .scan(false, |failed, batch| {
            let next = (!*failed).then_some(batch);
            *failed |= matches!(next, Some(Err(_)));
            std::future::ready(next)
        })
        .boxed()
}

/// Upper bound of the bytes of a batch if every row has its own values, as in most file formats.
fn written_bytes(batch: &RecordBatch) -> u64 {
    let columns = batch.columns().iter().map(expanded);
    columns.fold(0, u64::saturating_add)
}

fn expanded(array: &ArrayRef) -> u64 {
    let rows = array.len() as u64;
    let of_lengths = |lengths: &mut dyn Iterator<Item = u32>| {
        lengths.fold(0_u64, |sum, length| sum.saturating_add(length.into()))
    };
    match array.data_type() {
        DataType::Utf8View => of_lengths(&mut array.as_string_view().lengths()),
        DataType::BinaryView => of_lengths(&mut array.as_binary_view().lengths()),
        DataType::Dictionary(..) => {
            let Some(dictionary) = array.as_any_dictionary_opt() else { return u64::MAX };
            let values = dictionary.values();
            let sizes: Vec<u64> = match values.data_type() {
                DataType::Utf8 => lengths(values.as_string::<i32>().offsets()),
                DataType::LargeUtf8 => lengths(values.as_string::<i64>().offsets()),
                DataType::Binary => lengths(values.as_binary::<i32>().offsets()),
                DataType::LargeBinary => lengths(values.as_binary::<i64>().offsets()),
                data_type if data_type.is_primitive() => return rows.saturating_mul(32),
                _ => return rows.saturating_mul(expanded(values)),
            };
            if sizes.is_empty() {
                // All are null, and their keys cannot be normalized.
                return 0;
            }
            let keys = dictionary.normalized_keys();
            let keys = keys.iter().enumerate().filter(|(row, _)| array.is_valid(*row));
            keys.fold(0, |sum, (_, key)| sum.saturating_add(sizes.get(*key).copied().unwrap_or(0)))
        }
        DataType::RunEndEncoded(..) | DataType::ListView(_) | DataType::LargeListView(_) => {
            let bytes = array.get_array_memory_size() as u64;
            bytes.saturating_mul(rows.max(1))
        }
        DataType::Struct(_) => {
            array.as_struct().columns().iter().map(expanded).fold(0, u64::saturating_add)
        }
        DataType::List(_) => expanded(array.as_list::<i32>().values()),
        DataType::LargeList(_) => expanded(array.as_list::<i64>().values()),
        DataType::FixedSizeList(..) => expanded(array.as_fixed_size_list().values()),
        DataType::Map(..) => {
            let entries = array.as_map().entries();
            entries.columns().iter().map(expanded).fold(0, u64::saturating_add)
        }
        _ => array.to_data().get_slice_memory_size().map_or(u64::MAX, |bytes| bytes as u64),
    }
}

fn lengths<O: OffsetSizeTrait>(offsets: &[O]) -> Vec<u64> {
    let one = |pair: &[O]| match pair {
        [from, to] => to.as_usize().saturating_sub(from.as_usize()) as u64,
        _ => 0,
    };
    offsets.windows(2).map(one).collect()
}

/// The error of a panic at a message.
fn said(panic: Box<dyn Any + Send>) -> String {
    Refused::caught(panic).map_or_else(|_| unsound(), |refused| refused.to_string())
}

fn unsound() -> String {
    "a malformed message".to_owned()
}

/// Runs code that panics on invalid input, where the library below has no error for it.
pub(crate) fn caught<T>(
    work: impl FnOnce() -> Result<T, arrow_schema::ArrowError>,
) -> Result<T, arrow_schema::ArrowError> {
    std::panic::catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(arrow_schema::ArrowError::IpcError(said(panic))))
}
