// SPDX-License-Identifier: Apache-2.0
//! A source that is read piece by piece: what surrounds its records is masked, and fields of it are
//! inserted into them.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrowsmith_core::{DataError, Error, PADDING_BYTES, Position, Result, memory};
use arrowsmith_json::frame::{Cut, Envelope, EnvelopeError, Inserted};

use super::{Buffers, waiting};

/// A source that is read piece by piece.
pub(super) struct Stream {
    reader: Box<dyn Read + Send>,
    /// Whether the reader reads memory, and does not count what it reads.
    in_memory: bool,
    /// What surrounds the records, unless there are only records.
    envelope: Option<Envelope>,
    /// Bytes `at..filled` are the text that did not leave yet.
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    eof: bool,
    /// Why reading ended; reported after the whole records before it.
    failure: Option<Failure>,
}

enum Failure {
    Io(io::Error),
    /// With the number of records before it that wait for fields.
    Envelope(EnvelopeError, u64),
}

impl Stream {
    pub(super) fn new(
        reader: Box<dyn Read + Send>,
        in_memory: bool,
        envelope: Option<Envelope>,
    ) -> Self {
        let (buffer, at, filled, eof, failure) = (Vec::new(), 0, 0, false, None);
        Self { reader, in_memory, envelope, buffer, at, filled, eof, failure }
    }

    /// The text, which starts at `offset`, up to the first record that waits for fields.
    pub(super) fn available(&self, offset: u64) -> &[u8] {
        let text = &self.buffer[self.at..self.filled];
        let waiting = self.envelope.as_ref().and_then(Envelope::first_waiting);
        let before = waiting.and_then(|first| usize::try_from(first.checked_sub(offset)?).ok());
        before.and_then(|before| text.get(..before)).unwrap_or(text)
    }

    /// Copies a cut and gives the records in it their fields, if they are to have some. What
    /// follows an error is dropped.
    pub(super) fn insert(
        &mut self,
        cut: &Cut,
        offset: u64,
        buffers: &Buffers,
    ) -> Result<Option<(Vec<u8>, Inserted)>> {
        let envelope = self.envelope.as_mut().filter(|envelope| envelope.has_fields());
        let Some(envelope) = envelope else { return Ok(None) };
        let start = self.at + cut.start;
        let text = &self.buffer[start..start + cut.len];
        let room = envelope.inserts(offset + cut.len as u64).saturating_add(cut.len);
        let mut buffer = buffers.take(room.saturating_add(PADDING_BYTES))?;
        let mut inserted = envelope.insert(text, offset, &mut buffer);
        self.at += cut.consumed;
        if let Some(error) = inserted.error.take() {
            // Its line is counted from the record on.
            self.at = start + inserted.read;
            let before = usize::try_from(error.offset - offset).unwrap_or(cut.len);
            self.filled = (start + before).clamp(self.at, self.filled);
            self.failure = Some(Failure::Envelope(error, 0));
        }
        Ok(Some((buffer, inserted)))
    }

    /// Reads until there are `wanted` bytes, or no more.
    pub(super) fn fill(
        &mut self,
        wanted: usize,
        buffers: &Buffers,
        waits: Option<&AtomicBool>,
    ) -> Result<()> {
        if self.at > 0 && self.filled - self.at < wanted {
            self.buffer.copy_within(self.at..self.filled, 0);
            (self.at, self.filled) = (0, self.filled - self.at);
        }
        let len = wanted.saturating_add(PADDING_BYTES);
        if self.buffer.is_empty() {
            self.buffer = buffers.take(len)?;
        } else if self.buffer.len() < len {
            memory::resize(&mut self.buffer, len)?;
        }
        while self.filled < wanted && !self.eof && self.failure.is_none() {
            let room = &mut self.buffer[self.filled..wanted];
            match waiting(waits, || self.reader.read(room)) {
                Ok(read) => {
                    self.eof = read == 0;
                    self.take_in(read.min(wanted - self.filled));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.failure = Some(Failure::Io(error)),
            }
        }
        Ok(())
    }

    /// Adds bytes that were read, up to an error in what surrounds the records.
    fn take_in(&mut self, read: usize) {
        let text = &mut self.buffer[self.filled..self.filled + read];
        let masked = match &mut self.envelope {
            None => Ok(()),
            Some(envelope) if self.eof => envelope.finish(),
            Some(envelope) => envelope.mask(text),
        };
        self.filled += masked.as_ref().map_or_else(|error| error.masked, |()| read);
        let waiting = self.envelope.as_ref().map_or(0, Envelope::waiting) as u64;
        self.failure = masked.err().map(|error| Failure::Envelope(error, waiting));
    }

    /// Returns the buffer; the bytes after the first `consumed` are copied to another one.
    pub(super) fn split(
        &mut self,
        consumed: usize,
        target: usize,
        buffers: &Buffers,
    ) -> Result<Vec<u8>> {
        let rest = &self.buffer[consumed.min(self.filled)..self.filled];
        let mut next = buffers.take(target.max(rest.len()).saturating_add(PADDING_BYTES))?;
        next[..rest.len()].copy_from_slice(rest);
        self.filled = rest.len();
        Ok(std::mem::replace(&mut self.buffer, next))
    }

    pub(super) fn envelope(&self) -> Option<&Envelope> {
        self.envelope.as_ref()
    }

    pub(super) fn in_memory(&self) -> bool {
        self.in_memory
    }

    /// Whether everything is read, without an error.
    pub(super) fn is_all(&self) -> bool {
        self.eof && self.failure.is_none()
    }

    /// Bytes of text that did not leave yet.
    pub(super) fn held(&self) -> usize {
        self.filled - self.at
    }

    /// How much of the text, which starts at `offset`, gives about `target` bytes with the fields
    /// that its records are to have.
    pub(super) fn fitting(&self, offset: u64, target: usize) -> usize {
        let fitting = self.envelope.as_ref().map(|envelope| envelope.fitting(offset, target));
        fitting.map_or(target, |fitting| fitting.min(target))
    }

    /// Why there is no more to read, if it is not the end. Its record and line are relative to the
    /// start of what is available.
    pub(super) fn failure(&mut self, name: &Option<Arc<str>>) -> Option<Error> {
        Some(match self.failure.take()? {
            Failure::Io(source) => Error::Io { path: name.as_deref().map(PathBuf::from), source },
            Failure::Envelope(error, record) => {
                let text = &self.buffer[self.at..self.filled];
                let line = 1 + memchr::memchr_iter(b'\n', text).count() as u64;
                let (source, offset) = (name.clone(), error.offset);
                DataError {
                    kind: error.kind,
                    position: Position { source, record, line, offset },
                    path: error.path,
                    expected: error.expected,
                    found: error.found,
                    hint: None,
                }
                .into()
            }
        })
    }
}
