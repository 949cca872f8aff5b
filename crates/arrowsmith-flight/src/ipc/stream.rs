// SPDX-License-Identifier: Apache-2.0
//! [`StreamReader`]: an Arrow stream from a file or a pipe. Messages are checked before the decoder
//! gets them, and bodies are read as far as there are bytes, whatever length is declared.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::SchemaRef;
use arrowsmith_core::{Error, Result};

use super::{Bounds, caught, check};

/// Maximum size of the metadata of a message, in bytes.
const METADATA_BYTES_MAX: u32 = 64 << 20;

/// The marker before the length of a message's metadata, with which a stream starts.
pub const CONTINUATION: [u8; 4] = [0xff; 4];

/// The first bytes of an Arrow file.
const FILE_START: &[u8; 4] = b"ARRO";

/// The message after the last one: a marker and no metadata.
const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// The batches of an Arrow stream; nothing follows an error.
pub struct StreamReader {
    name: String,
    reader: Box<dyn Read>,
    decoder: StreamDecoder,
    bounds: Bounds,
    schema: SchemaRef,
    decoded: VecDeque<RecordBatch>,
    bytes_read: Arc<AtomicU64>,
    is_done: bool,
}

impl StreamReader {
    /// Reads the schema; `name` is the name of the stream in errors.
    ///
    /// # Errors
    /// [`Error::Io`] if the reader fails, or if its bytes are not an Arrow stream.
    pub fn new(name: &str, reader: Box<dyn Read>, bounds: Bounds) -> Result<Self> {
        let mut stream = Self {
            name: name.to_owned(),
            reader,
            decoder: StreamDecoder::new(),
            bounds,
            schema: SchemaRef::new(arrow_schema::Schema::empty()),
            decoded: VecDeque::new(),
            bytes_read: Arc::default(),
            is_done: false,
        };
        loop {
            if let Some(schema) = stream.decoder.schema() {
                stream.schema = schema;
                return Ok(stream);
            }
            if stream.is_done {
                return Err(stream.invalid("the stream ends before its schema"));
            }
            stream.advance()?;
        }
    }

    /// The schema of all batches.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Counts what has been read.
    pub fn bytes_read(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.bytes_read)
    }

    fn invalid(&self, reason: &str) -> Error {
        Error::io(&self.name, io::Error::new(io::ErrorKind::InvalidData, reason))
    }

    /// Exactly `count` bytes; `None` if there is none left.
    fn bytes(&mut self, count: u64) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        let read = Read::take(&mut self.reader, count).read_to_end(&mut bytes);
        read.map_err(|error| Error::io(&self.name, error))?;
        self.bytes_read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        match bytes.len() as u64 {
            found if found == count => Ok(Some(bytes)),
            0 => Ok(None),
            _ => Err(self.truncated()),
        }
    }

    fn truncated(&self) -> Error {
        self.invalid("a message is truncated")
    }

    /// Reads and decodes a message.
    fn advance(&mut self) -> Result<()> {
        let message = self.message()?;
        self.is_done = message.is_none();
        // A message without a body is decoded when the next bytes arrive, at the latest those that
        // mark the end.
        let mut buffer = Buffer::from_vec(message.unwrap_or(END.to_vec()));
        while !buffer.is_empty() {
            let decoder = &mut self.decoder;
            let batch = caught(|| decoder.decode(&mut buffer));
            self.decoded.extend(batch.map_err(|error| self.invalid(&error.to_string()))?);
        }
        Ok(())
    }

    /// The bytes of the next message, whose lengths are checked; `None` at the end.
    fn message(&mut self) -> Result<Option<Vec<u8>>> {
        let Some(prefix) = self.bytes(END.len() as u64)? else { return Ok(None) };
        let (marker, length) = prefix.split_at(CONTINUATION.len());
        let length = length.try_into().map_or(u32::MAX, u32::from_le_bytes);
        if marker == FILE_START {
            return Err(self.invalid("this is an Arrow file, not a stream"));
        }
        if marker != CONTINUATION || length > METADATA_BYTES_MAX {
            return Err(self.invalid("there is no Arrow message"));
        }
        if length == 0 {
            return Ok(None);
        }
        let header = self.bytes(length.into())?.ok_or_else(|| self.truncated())?;
        let message = arrow_ipc::root_as_message(&header);
        let message = message.map_err(|error| self.invalid(&error.to_string()))?;
        if message.header_type() == arrow_ipc::MessageHeader::NONE {
            // The decoder skips it, and rows that were in its place with it.
            return Err(self.invalid("a message is neither schema, dictionary nor batch"));
        }
        let body = u64::try_from(message.bodyLength());
        let body = body.map_err(|_| self.invalid("a length is negative"))?;
        if body > self.bounds.decoded_bytes_max {
            let most = self.bounds.decoded_bytes_max;
            return Err(self.invalid(&format!("a message is longer than {most} bytes")));
        }
        let body = self.bytes(body)?.ok_or_else(|| self.truncated())?;
        check(&header, &body, &self.bounds).map_err(|reason| self.invalid(&reason))?;
        Ok(Some([&prefix[..], &header, &body].concat()))
    }
}

impl Iterator for StreamReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.decoded.pop_front() {
                return Some(Ok(batch));
            }
            if self.is_done {
                return None;
            }
            if let Err(error) = self.advance() {
                self.is_done = true;
                return Some(Err(error));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use arrow_array::types::Int8Type;
    use arrow_array::{ArrayRef, DictionaryArray, Int64Array, NullArray, RecordBatchOptions};
    use arrow_ipc::reader::StreamReader as Reference;
    use arrow_ipc::writer::StreamWriter;
    use arrow_schema::Schema;

    use super::*;

    fn written(batches: &[RecordBatch], schema: &Schema) -> Vec<u8> {
        let mut writer = StreamWriter::try_new(Vec::new(), schema).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.into_inner().unwrap()
    }

    fn read(bytes: &[u8]) -> Result<Vec<RecordBatch>> {
        let reader = Box::new(Cursor::new(bytes.to_vec()));
        StreamReader::new("x", reader, Bounds::default())?.collect()
    }

    fn column(column: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter([("a", column)]).unwrap()
    }

    /// Of batches without rows, of columns without bytes and of no columns, bodies are empty.
    #[test]
    fn batches_without_a_body_are_read() {
        let number = |rows: i64| column(Arc::new(Int64Array::from_iter_values(0..rows)));
        let null = |rows| column(Arc::new(NullArray::new(rows)));
        let none = |rows| {
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            RecordBatch::try_new_with_options(Schema::empty().into(), Vec::new(), &options)
        };
        let kinds = |kinds: [&str; 2]| {
            column(Arc::new(kinds.into_iter().collect::<DictionaryArray<Int8Type>>()))
        };
        for batches in [
            [0, 2, 0, 3, 0].map(number).to_vec(),
            [1, 2, 3, 4].map(null).to_vec(),
            [5, 0, 6].map(|rows| none(rows).unwrap()).to_vec(),
            [["", ""], ["a", "b"], ["", ""], ["b", "c"]].map(kinds).to_vec(),
        ] {
            let bytes = written(&batches, &batches[0].schema());
            assert_eq!(read(&bytes).unwrap(), batches);
            // A stream may end without a mark.
            assert_eq!(read(&bytes[..bytes.len() - END.len()]).unwrap(), batches);
            let reference = Reference::try_new(Cursor::new(&bytes), None).unwrap();
            assert_eq!(reference.collect::<Result<Vec<_>, _>>().unwrap(), batches);
        }
        let schema = number(0).schema();
        let bytes = written(&[], &schema);
        let reader = StreamReader::new("x", Box::new(Cursor::new(bytes)), Bounds::default());
        let mut reader = reader.unwrap();
        assert_eq!(reader.schema(), schema);
        assert!(reader.next().is_none());
    }

    #[test]
    fn what_is_no_stream_is_an_error() {
        let batch = column(Arc::new(Int64Array::from_iter_values(0..100)));
        let bytes = written(&[batch.clone(), batch.clone()], &batch.schema());
        let mut complete = Vec::new();
        for end in 0..bytes.len() {
            if let Ok(batches) = read(&bytes[..end]) {
                complete.push(batches.len());
            }
        }
        // Between messages a stream may end.
        assert_eq!(complete, [0, 1, 2]);
        for (bytes, expected) in [
            (&b"ARROW1\0\0more"[..], "x: this is an Arrow file"),
            (b"{\"a\": 1}", "x: there is no Arrow message"),
            (&END, "x: the stream ends before its schema"),
            (b"", "x: the stream ends before its schema"),
        ] {
            let error = read(bytes).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
