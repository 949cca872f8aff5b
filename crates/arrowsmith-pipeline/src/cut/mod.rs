// SPDX-License-Identifier: Apache-2.0
//! Splits inputs, in order, into pieces of whole records.
//!
//! Inputs in memory are split in place. Streams are read into buffers: a piece owns its buffer, the
//! incomplete record after it is copied to the next one, and decoders return buffers. Inputs whose
//! records are below a path are streams, too: their envelope is masked in the buffers. Only one
//! thread at a time runs this.

mod stream;

use std::collections::VecDeque;
use std::io::Cursor;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrowsmith_core::{DataError, Error, Framing, Limits, Result, memory};
use arrowsmith_json::frame::{Cut, Documents, Envelope, Framer, Places, Step};
use arrowsmith_source::{Content, OpenOptions, SharedBytes, Source};

use self::stream::Stream;
use crate::Origin;

/// Whole records of one source.
pub(crate) struct Piece {
    pub(crate) text: Text,
    /// The records are `text[start..start + len]`.
    pub(crate) start: usize,
    pub(crate) len: usize,
    pub(crate) framing: Framing,
    pub(crate) source: Option<Arc<str>>,
    /// Number of the source among the inputs.
    pub(crate) source_number: u32,
    /// Of the first byte, in its source.
    pub(crate) offset: u64,
    /// Where the text was in its source, if something was inserted.
    places: Places,
    pub(crate) first: bool,
    pub(crate) lines_before: u64,
    pub(crate) lines_after: u64,
}

/// Where a piece's bytes are.
pub(crate) enum Text {
    Shared(SharedBytes),
    Owned(Vec<u8>),
}

impl Piece {
    /// The records.
    pub(crate) fn data(&self) -> &[u8] {
        let all = match &self.text {
            Text::Shared(owner) => (**owner).as_ref(),
            Text::Owned(buffer) => buffer,
        };
        let from = all.get(self.start..).unwrap_or_default();
        from.get(..self.len).unwrap_or(from)
    }

    /// The offset in the source of a byte that is `offset - self.offset` bytes after the first one.
    pub(crate) fn origin(&self, offset: u64) -> u64 {
        self.places.origin(offset)
    }

    /// Gives an error the offset in the source in place of that in the text.
    pub(crate) fn place(&self, error: &mut DataError) {
        error.position.offset = self.origin(error.position.offset);
    }

    /// Memory that the piece owns, in bytes.
    pub(crate) fn owned_bytes(&self) -> usize {
        self.text.owned_bytes() + self.places.bytes()
    }
}

impl Text {
    /// Memory that the text owns, in bytes.
    fn owned_bytes(&self) -> usize {
        match self {
            Self::Shared(_) => 0,
            Self::Owned(buffer) => buffer.capacity(),
        }
    }
}

/// Used buffers for reuse.
#[derive(Clone, Default)]
pub(crate) struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

/// Maximum number of buffers kept; more are freed.
const BUFFERS_KEPT: usize = 8;

impl Buffers {
    /// Keeps the buffer of a piece for reuse.
    pub(crate) fn recycle(&self, piece: Piece) {
        if let Text::Owned(buffer) = piece.text {
            let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if free.len() < BUFFERS_KEPT {
                free.push(buffer);
            }
        }
    }

    /// A buffer of `len` bytes of any value; one that is much larger is not kept.
    ///
    /// # Errors
    /// If the system has no memory for it.
    fn take(&self, len: usize) -> Result<Vec<u8>> {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let used = free.pop().filter(|buffer| buffer.capacity() <= len.saturating_mul(2));
        drop(free);
        let mut buffer = used.unwrap_or_default();
        memory::resize(&mut buffer, len)?;
        Ok(buffer)
    }
}

/// The options of a cutter.
pub(crate) struct CutOptions {
    pub(crate) open: OpenOptions,
    /// How records are separated; detected from the first bytes if `None`.
    pub(crate) framing: Option<Framing>,
    /// Where the records of each document are, unless a document is a record. The framing is that
    /// of what is left of it then.
    pub(crate) documents: Option<Documents>,
    pub(crate) allow_nan: bool,
    pub(crate) limits: Limits,
    pub(crate) cancel: Arc<AtomicBool>,
}

/// Inputs that are being split.
pub(crate) struct Cutter {
    origins: VecDeque<Origin>,
    options: CutOptions,
    buffers: Buffers,
    current: Option<Current>,
    /// Number of sources that were opened.
    opened: u32,
    /// Whether a completed source was an array, or had an array of records.
    saw_array: bool,
    /// Whether this thread waits for external bytes, which cannot be interrupted.
    waits: Arc<AtomicBool>,
}

/// The current source.
struct Current {
    name: Option<Arc<str>>,
    number: u32,
    reading: Reading,
    framer: Framer,
    /// Of the first byte after the pieces so far.
    offset: u64,
    first: bool,
    /// See [`Origin::may_wait`].
    may_wait: bool,
}

enum Reading {
    Whole { bytes: SharedBytes, at: usize },
    Stream(Box<Stream>),
}

/// Shared bytes, as `AsRef` for a `Cursor`.
struct Lent(SharedBytes);

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl Cutter {
    pub(crate) fn new(origins: Vec<Origin>, options: CutOptions, buffers: Buffers) -> Self {
        Self {
            origins: origins.into(),
            options,
            buffers,
            current: None,
            opened: 0,
            saw_array: false,
            waits: Arc::default(),
        }
    }

    /// Whether there is no piece of the current source yet: an error now is in its first record.
    pub(crate) fn at_start(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.first)
    }

    /// Whether a completed source was an array, or had an array of records.
    pub(crate) fn saw_array(&self) -> bool {
        self.saw_array
    }

    /// Set while a call of [`Cutter::next`] waits for a reader.
    pub(crate) fn waits(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.waits)
    }

    /// The next piece of about `target` bytes; `None` at the end of the last input.
    pub(crate) fn next(&mut self, target: usize) -> Result<Option<Piece>> {
        loop {
            if self.options.cancel.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            let Some(current) = &mut self.current else {
                let Some(origin) = self.origins.pop_front() else { return Ok(None) };
                let waits = origin.may_wait().then_some(&*self.waits);
                let source = waiting(waits, || origin.open(&self.options.open))?;
                let number = self.opened;
                self.opened = number.saturating_add(1);
                self.current = Some(Current::new(source, number, &self.options, waits.is_some()));
                continue;
            };
            let waits = current.may_wait.then_some(&*self.waits);
            match current.next(target.max(1), &self.options, &self.buffers, waits)? {
                Some(piece) => return Ok(Some(piece)),
                None => {
                    self.saw_array |= current.is_array();
                    self.current = None;
                }
            }
        }
    }
}

/// Marks this thread as waiting for external bytes while `work` runs.
fn waiting<T>(waits: Option<&AtomicBool>, work: impl FnOnce() -> T) -> T {
    let Some(waits) = waits else { return work() };
    waits.store(true, Ordering::SeqCst);
    let result = work();
    waits.store(false, Ordering::SeqCst);
    result
}

impl Current {
    fn new(source: Source, number: u32, options: &CutOptions, may_wait: bool) -> Self {
        let Limits { depth_max, record_bytes_max, .. } = options.limits;
        let envelope = options.documents.as_ref().map(|documents| {
            Envelope::new(documents.clone(), depth_max, options.allow_nan, record_bytes_max)
        });
        let framing = match envelope {
            None => options.framing,
            Some(_) => Some(Framing::Concatenated),
        };
        let reading = match source.content {
            Content::Whole(bytes) if envelope.is_none() => Reading::Whole { bytes, at: 0 },
            Content::Whole(bytes) => {
                let reader = Box::new(Cursor::new(Lent(bytes)));
                Reading::Stream(Box::new(Stream::new(reader, true, envelope)))
            }
            Content::Stream(reader) => {
                Reading::Stream(Box::new(Stream::new(reader, false, envelope)))
            }
        };
        let offset = source.offset;
        let framer = Framer::new(framing, &options.limits, source.name.clone()).starting_at(offset);
        Self { name: source.name, number, reading, framer, offset, first: true, may_wait }
    }

    fn is_array(&self) -> bool {
        let envelope = match &self.reading {
            Reading::Whole { .. } => None,
            Reading::Stream(stream) => stream.envelope(),
        };
        match envelope {
            Some(envelope) => envelope.found(),
            None => self.framer.framing() == Some(Framing::Array),
        }
    }

    fn next(
        &mut self,
        target: usize,
        options: &CutOptions,
        buffers: &Buffers,
        waits: Option<&AtomicBool>,
    ) -> Result<Option<Piece>> {
        let mut wanted = target;
        loop {
            let (available, eof, held, fitting) = match &mut self.reading {
                Reading::Whole { bytes, at } => {
                    let text = (**bytes).as_ref().get(*at..).unwrap_or_default();
                    (text, true, text.len(), target)
                }
                Reading::Stream(stream) => {
                    stream.fill(wanted, buffers, waits)?;
                    let fitting = stream.fitting(self.offset, target);
                    (stream.available(self.offset), stream.is_all(), stream.held(), fitting)
                }
            };
            let have = available.len();
            if options.cancel.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
            match self.framer.next(available, eof, fitting.min(have.max(1)))? {
                Step::Cut(cut) => return self.take(cut, target, options, buffers).map(Some),
                Step::NeedMore if !eof => {
                    if let Reading::Stream(stream) = &mut self.reading
                        && let Some(error) = stream.failure(&self.name)
                    {
                        return Err(error);
                    }
                    // Doubling keeps the cost of scanning a long record again proportional.
                    wanted = held.saturating_mul(2).max(target);
                }
                // Overlong lines are never skipped: that option of the framer is off.
                Step::NeedMore | Step::Done | Step::Skipped { .. } => {
                    if let Reading::Whole { .. } = self.reading {
                        count(options, have);
                    }
                    return Ok(None);
                }
            }
        }
    }

    /// Builds a piece from a cut of the framer.
    fn take(
        &mut self,
        cut: Cut,
        target: usize,
        options: &CutOptions,
        buffers: &Buffers,
    ) -> Result<Piece> {
        let offset = self.offset + cut.start as u64;
        let mut places = Places::default();
        let Cut { mut len, mut consumed, mut lines_after, .. } = cut;
        let (text, start) = match &mut self.reading {
            Reading::Whole { bytes, at } => {
                let start = *at + cut.start;
                *at += cut.consumed;
                count(options, cut.consumed);
                (Text::Shared(Arc::clone(bytes)), start)
            }
            Reading::Stream(stream) => {
                if stream.in_memory() {
                    count(options, cut.consumed);
                }
                match stream.insert(&cut, offset, buffers)? {
                    None => (Text::Owned(stream.split(consumed, target, buffers)?), cut.start),
                    Some((buffer, inserted)) => {
                        if inserted.read < len {
                            (consumed, lines_after) = (cut.start + inserted.read, 0);
                        }
                        (len, places) = (inserted.len, inserted.places);
                        (Text::Owned(buffer), 0)
                    }
                }
            }
        };
        self.offset += consumed as u64;
        Ok(Piece {
            text,
            start,
            len,
            framing: cut.framing,
            source: self.name.clone(),
            source_number: self.number,
            offset,
            places,
            first: std::mem::replace(&mut self.first, false),
            lines_before: cut.lines_before,
            lines_after,
        })
    }
}

/// Counts the bytes of content in memory as read.
fn count(options: &CutOptions, bytes: usize) {
    options.open.bytes_read.fetch_add(bytes as u64, Ordering::Relaxed);
}
