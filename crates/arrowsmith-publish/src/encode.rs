// SPDX-License-Identifier: Apache-2.0
//! Batches to Arrow IPC messages and back.

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{ArrowError, DataType};
use bytes::Bytes;

/// What a payload consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// An Arrow IPC stream of one batch: any reader reads it by itself.
    #[default]
    SelfContained,
    /// The encapsulated batch alone; the schema is known otherwise, as by the first message of a
    /// topic.
    BatchOnly,
}

/// Compression of the buffers of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// None.
    #[default]
    None,
    /// LZ4 frames.
    Lz4,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// As arrow-ipc names it.
    #[must_use]
    pub fn codec(self) -> Option<CompressionType> {
        match self {
            Self::None => None,
            Self::Lz4 => Some(CompressionType::LZ4_FRAME),
            Self::Zstd => Some(CompressionType::ZSTD),
        }
    }
}

/// Approximate size of the metadata, in bytes.
const HEADER_BYTES: usize = 4096;

/// The batch as an Arrow IPC message.
///
/// # Errors
/// For types that IPC does not support, and with [`Layout::BatchOnly`] for dictionaries, which need
/// messages of their own.
pub fn encode(
    batch: &RecordBatch,
    layout: Layout,
    compression: Compression,
) -> Result<Bytes, ArrowError> {
    let options = IpcWriteOptions::default().try_with_compression(compression.codec())?;
    // Bounded: by the batch, which is here.
    let mut out = Vec::with_capacity(batch.get_array_memory_size() + HEADER_BYTES);
    let mut writer = StreamWriter::try_new_with_options(&mut out, &batch.schema(), options)?;
    let schema_bytes = match layout {
        Layout::SelfContained => 0,
        Layout::BatchOnly => {
            let mut dictionary = batch.schema_ref().flattened_fields().into_iter();
            if let Some(field) =
                dictionary.find(|f| matches!(f.data_type(), DataType::Dictionary(..)))
            {
                return Err(ArrowError::IpcError(format!(
                    "a dictionary ({}) has no place in a message without schema",
                    field.name()
                )));
            }
            writer.flush()?;
            writer.get_ref().len()
        }
    };
    writer.write(batch)?;
    if layout == Layout::SelfContained {
        writer.finish()?;
        drop(writer);
        return Ok(Bytes::from(out));
    }
    writer.flush()?;
    drop(writer);
    Ok(Bytes::from(out).slice(schema_bytes..))
}

/// The batches of a self-contained message.
///
/// # Errors
/// If it is not a self-contained message.
pub fn decode(payload: &[u8]) -> Result<Vec<RecordBatch>, ArrowError> {
    StreamReader::try_new(payload, None)?.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringArray};

    use super::*;

    fn batch() -> RecordBatch {
        let n: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let s: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("ccc")]));
        RecordBatch::try_from_iter_with_nullable([("n", n, false), ("s", s, true)]).unwrap()
    }

    #[test]
    fn a_self_contained_message_comes_back() {
        for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
            let slice = batch().slice(1, 2);
            let payload = encode(&slice, Layout::SelfContained, compression).unwrap();
            assert_eq!(decode(&payload).unwrap(), [slice]);
        }
    }

    #[test]
    fn a_batch_alone_is_the_tail_of_the_stream() {
        let whole = encode(&batch(), Layout::SelfContained, Compression::None).unwrap();
        let alone = encode(&batch(), Layout::BatchOnly, Compression::None).unwrap();
        assert!(decode(&alone).is_err());
        let schema = &whole[..whole.len() - alone.len() - 8];
        let again = [schema, &alone].concat();
        assert_eq!(decode(&again).unwrap(), [batch()]);
    }
}
