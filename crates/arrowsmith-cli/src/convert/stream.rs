// SPDX-License-Identifier: Apache-2.0
//! An Arrow stream as an input: messages are checked before the decoder gets them, and bodies are
//! read as far as there are bytes, whatever length is declared.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::SchemaRef;
use arrowsmith::Error;
use arrowsmith_flight::ipc::{Bounds, check};

use super::csv::invalid;
use crate::failure::{Failure, Outcome};

/// Maximum size of the metadata of a message.
const METADATA_BYTES_MAX: u32 = 64 << 20;

/// The marker before the length of a message's metadata.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// The batches of a stream.
pub struct Messages {
    name: String,
    reader: Box<dyn Read>,
    decoder: StreamDecoder,
    bounds: Bounds,
    next: Option<RecordBatch>,
    bytes_read: Arc<AtomicU64>,
    is_done: bool,
}

impl Messages {
    /// The stream of a file or of standard input; `None` if it is a file of another form.
    pub fn open(name: &str) -> Outcome<Option<Self>> {
        let reader: Box<dyn Read> = if name == "-" {
            Box::new(BufReader::new(io::stdin()))
        } else {
            if !Path::new(name).is_file() {
                return Ok(None);
            }
            let mut file = File::open(name).map_err(|error| Error::io(name, error))?;
            let mut start = Vec::new();
            let read = Read::take(&mut file, 4).read_to_end(&mut start);
            read.map_err(|error| Error::io(name, error))?;
            if start != CONTINUATION {
                return Ok(None);
            }
            Box::new(BufReader::with_capacity(1 << 20, io::Cursor::new(start).chain(file)))
        };
        Ok(Some(Self {
            name: name.to_owned(),
            reader,
            decoder: StreamDecoder::new(),
            bounds: Bounds::default(),
            next: None,
            bytes_read: Arc::default(),
            is_done: false,
        }))
    }

    /// The schema, which is the first message.
    pub fn schema(&mut self) -> Outcome<SchemaRef> {
        loop {
            if let Some(schema) = self.decoder.schema() {
                return Ok(schema);
            }
            self.next = self.advance()?;
            if self.is_done {
                return Err(self.failed("the stream ends before its schema"));
            }
        }
    }

    /// Counts what has been read.
    pub fn bytes_read(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.bytes_read)
    }

    fn failed(&self, reason: &str) -> Failure {
        invalid(Some(&self.name), reason)
    }

    /// Exactly `count` bytes, or none at the end.
    fn bytes(&mut self, count: u64) -> Outcome<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = Read::take(&mut self.reader, count).read_to_end(&mut bytes);
        read.map_err(|error| Error::io(&self.name, error))?;
        self.bytes_read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if bytes.len() as u64 == count || bytes.is_empty() {
            return Ok(bytes);
        }
        Err(self.failed("a message is cut off"))
    }

    /// Reads a message; a batch, if it is one.
    fn advance(&mut self) -> Outcome<Option<RecordBatch>> {
        let prefix = self.bytes(8)?;
        let Ok(prefix) = <[u8; 8]>::try_from(prefix) else {
            self.is_done = true;
            return Ok(None);
        };
        let [.., a, b, c, d] = prefix;
        let length = u32::from_le_bytes([a, b, c, d]);
        if prefix[..4] != CONTINUATION || length > METADATA_BYTES_MAX {
            return Err(self.failed("what is there is no message"));
        }
        if length == 0 {
            self.is_done = true;
            return Ok(None);
        }
        let header = self.bytes(length.into())?;
        let message = arrow_ipc::root_as_message(&header);
        let message = message.map_err(|error| self.failed(&error.to_string()))?;
        let body = u64::try_from(message.bodyLength());
        let body = body.map_err(|_| self.failed("a length is negative"))?;
        if body > self.bounds.decoded_bytes_max {
            let most = self.bounds.decoded_bytes_max;
            return Err(self.failed(&format!("a message is longer than {most} bytes")));
        }
        let body = self.bytes(body)?;
        check(&header, &body, &self.bounds).map_err(|reason| self.failed(&reason))?;
        let whole = [&prefix[..], &header, &body].concat();
        let decoder = &mut self.decoder;
        // What the check does not know of could still make the decoder panic.
        let decoded = catch_unwind(AssertUnwindSafe(|| {
            let mut buffer = Buffer::from_vec(whole);
            decoder.decode(&mut buffer)
        }));
        match decoded {
            Ok(Ok(batch)) => Ok(batch),
            Ok(Err(error)) => Err(self.failed(&error.to_string())),
            Err(_) => Err(self.failed("a malformed message")),
        }
    }
}

impl Iterator for Messages {
    type Item = Outcome<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.next.take() {
                return Some(Ok(batch));
            }
            if self.is_done {
                return None;
            }
            match self.advance() {
                Ok(batch) => self.next = batch,
                Err(error) => {
                    self.is_done = true;
                    return Some(Err(error));
                }
            }
        }
    }
}
