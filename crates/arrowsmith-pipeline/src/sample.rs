// SPDX-License-Identifier: Apache-2.0
//! Samples the first records of the inputs, infers a schema, and rewinds the inputs.
//!
//! Inputs that can be opened twice (files, memory) are. Of others (standard input, readers) the
//! sampled bytes are kept, and read again before the rest.

use std::io::{self, Cursor, Read};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::{Schema, SchemaRef};
use arrowsmith_core::{Chunk, DataError, Error, ErrorKind, Framing, Limits, Position, Result};
use arrowsmith_json::frame::Documents;
use arrowsmith_json::infer::{InferOptions, Inferrer};
use arrowsmith_source::{Content, Input, OpenOptions, Source, Spool};

use crate::Origin;
use crate::cut::{Buffers, CutOptions, Cutter};
use crate::work::{guarded, padded};

/// Options of sampling.
#[derive(Debug, Clone)]
pub struct SampleOptions {
    /// Maximum records; `None` samples all of the input, which for standard input means holding it
    /// in memory. Default 10,000.
    pub records_max: Option<u64>,
    /// Maximum bytes of text, unless all of the input is sampled. Default 16 MiB.
    pub bytes_max: u64,
    /// How records are separated; detected from the first bytes if `None`.
    pub framing: Option<Framing>,
    /// Where the records of each document are, and which fields of the document they have, too;
    /// `None` if documents are records.
    pub documents: Option<Documents>,
    /// How inputs are opened.
    pub open: OpenOptions,
    /// Limits on what input may require.
    pub limits: Limits,
    /// How types are inferred. Its `records_max` and `limits` are ignored in favour of these.
    pub infer: InferOptions,
    /// Maximum bytes to keep of all inputs that can be read only once, for a schema that grows;
    /// with 0 only the sample is kept.
    pub spool_bytes_max: u64,
    /// Stops the sampling once it is true.
    pub cancel: Arc<AtomicBool>,
}

impl Default for SampleOptions {
    fn default() -> Self {
        Self {
            records_max: Some(10_000),
            bytes_max: 16 << 20,
            framing: None,
            documents: None,
            open: OpenOptions::default(),
            limits: Limits::default(),
            infer: InferOptions::default(),
            spool_bytes_max: 0,
            cancel: Arc::default(),
        }
    }
}

/// The result of sampling.
#[derive(Debug)]
pub struct Sample {
    /// A schema that every sampled record matches.
    pub schema: SchemaRef,
    /// The inputs, all of them, from their start.
    pub origins: Vec<Origin>,
    /// Sampled records.
    pub records: u64,
    /// Whether they are all of the input.
    pub complete: bool,
    /// The malformed record at which sampling stopped. Decoding reports the details.
    pub fault: Option<Error>,
    /// What was inferred so far, for a schema that grows.
    pub(crate) inferrer: Inferrer,
}

/// Bytes of text that are sampled at once.
const PIECE_BYTES: usize = 256 << 10;

/// Infers the schema of `inputs` from their first records.
///
/// # Errors
/// Errors of reading the inputs, and malformed JSON if no valid record precedes it.
pub fn sample(inputs: Vec<Input>, options: &SampleOptions) -> Result<Sample> {
    let mut infer = options.infer.clone();
    infer.records_max = options.records_max;
    infer.limits = options.limits.clone();
    let inferrer = Inferrer::new(infer);
    let first = inputs.first().and_then(Input::name);
    let mut sampler = Sampler {
        options,
        spool: Spool::new(options.spool_bytes_max),
        inferrer,
        bytes: 0,
        complete: true,
        fault: None,
        empty_array: false,
        first,
    };
    let mut origins = Vec::with_capacity(inputs.len());
    for (number, input) in inputs.into_iter().enumerate() {
        sampler.inferrer.set_source(u32::try_from(number).unwrap_or(u32::MAX));
        if sampler.is_full() {
            sampler.complete = false;
            origins.push(sampler.unsampled(input));
        } else {
            origins.push(sampler.input(input)?);
        }
    }
    let Sampler { inferrer, complete, fault, empty_array, first, .. } = sampler;
    let records = inferrer.records();
    let schema = match records {
        // An empty array is a valid input; no text at all is not.
        0 if empty_array => Schema::empty(),
        0 => return Err(nothing(first)),
        _ => inferrer.clone().finish()?,
    };
    Ok(Sample { schema: Arc::new(schema), origins, records, complete, fault, inferrer })
}

/// A sample is read again in any case.
fn too_long(name: Option<Arc<str>>) -> Error {
    let message = "the sample of a stream is longer than what may be kept of it";
    let path = name.as_deref().map(Into::into);
    Error::Io { path, source: io::Error::other(message) }
}

/// There are no records to infer a schema from.
fn nothing(source: Option<Arc<str>>) -> Error {
    DataError {
        kind: ErrorKind::Truncated,
        position: Position { source, line: 1, ..Position::default() },
        path: String::new(),
        expected: "a record to infer the schema from".to_owned(),
        found: "end of input".to_owned(),
        hint: Some("--schema gives the columns of an input without records".to_owned()),
    }
    .into()
}

struct Sampler<'a> {
    options: &'a SampleOptions,
    spool: Spool,
    inferrer: Inferrer,
    bytes: u64,
    complete: bool,
    fault: Option<Error>,
    /// Whether an input was an array, or had an array of records.
    empty_array: bool,
    /// Name of the first input.
    first: Option<Arc<str>>,
}

impl Sampler<'_> {
    fn is_full(&self) -> bool {
        self.fault.is_some()
            || self.options.records_max.is_some_and(|most| {
                self.inferrer.records() >= most || self.bytes >= self.options.bytes_max
            })
    }

    /// An input after those that were sampled.
    fn unsampled(&self, input: Input) -> Origin {
        let SampleOptions { open, spool_bytes_max, .. } = self.options;
        if *spool_bytes_max == 0 || input.again().is_some() {
            return input.into();
        }
        Origin::spooled(input.name(), self.spool.stream(input.stream(open)), 0)
    }

    /// Samples an input, and returns it rewound.
    fn input(&mut self, input: Input) -> Result<Origin> {
        // An input that is opened again must not be counted twice.
        let uncounted = OpenOptions { bytes_read: Arc::default(), ..self.options.open.clone() };
        match input.again() {
            Some(again) => {
                self.infer(Origin::from(input), uncounted)?;
                Ok(Origin::from(again))
            }
            None => {
                let Source { name, content, offset } = input.open(&self.options.open)?;
                match content {
                    Content::Whole(bytes) => {
                        let content = Content::Whole(Arc::clone(&bytes));
                        self.infer(
                            Source { name: name.clone(), content, offset }.into(),
                            uncounted,
                        )?;
                        let content = Content::Whole(bytes);
                        Ok(Source { name, content, offset }.into())
                    }
                    Content::Stream(reader) if self.options.spool_bytes_max > 0 => {
                        let spooled = self.spool.stream(reader);
                        let again = spooled.again();
                        let content = Content::Stream(Box::new(spooled));
                        self.infer(
                            Source { name: name.clone(), content, offset }.into(),
                            uncounted,
                        )?;
                        let spooled = again.and_then(|first| first.again());
                        let Some(spooled) = spooled else { return Err(too_long(name)) };
                        Ok(Origin::spooled(name, spooled, offset))
                    }
                    Content::Stream(reader) => {
                        let tape = Tape::new(reader);
                        let content = Content::Stream(Box::new(tape.clone()));
                        self.infer(
                            Source { name: name.clone(), content, offset }.into(),
                            uncounted,
                        )?;
                        let content = Content::Stream(tape.rewound());
                        Ok(Source { name, content, offset }.into())
                    }
                }
            }
        }
    }

    /// Passes records to the inferrer until it has enough.
    fn infer(&mut self, origin: Origin, open: OpenOptions) -> Result<()> {
        let options = CutOptions {
            open,
            framing: self.options.framing,
            documents: self.options.documents.clone(),
            allow_nan: self.options.infer.allow_nan,
            limits: self.options.limits.clone(),
            cancel: Arc::clone(&self.options.cancel),
        };
        let buffers = Buffers::default();
        let mut cutter = Cutter::new(vec![origin], options, buffers.clone());
        let mut scratch = Vec::new();
        let mut before = Position { line: 1, ..Position::default() };
        loop {
            let piece = match guarded(|| cutter.next(PIECE_BYTES)) {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(error) if is_no_json(&error) && self.inferrer.records() > 0 => {
                    self.complete = false;
                    self.fault = Some(after(&before, error));
                    break;
                }
                Err(error) => return Err(after(&before, error)),
            };
            if self.is_full() {
                self.complete = false;
                break;
            }
            before.source.clone_from(&piece.source);
            before.line += piece.lines_before;
            before.offset = piece.offset;
            let bytes = padded(&piece, &mut scratch)?;
            let position = before.clone();
            let chunk = Chunk { bytes, len: piece.len, framing: piece.framing, position };
            let observed = self.inferrer.observe(&chunk).map_err(|mut error| {
                if let Error::Data(data) = &mut error {
                    piece.place(data);
                }
                error
            });
            let seen = match observed {
                Ok(seen) => seen,
                Err(error) if is_no_json(&error) && self.inferrer.records() > 0 => {
                    self.fault = Some(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            self.complete &= seen.complete;
            before.record += seen.records;
            before.line += newlines(chunk.data()) + piece.lines_after;
            self.bytes += piece.len as u64;
            buffers.recycle(piece);
        }
        self.empty_array |= cutter.saw_array();
        Ok(())
    }
}

/// An error between records, whose record and line are relative to the end of the last piece,
/// with those of the input.
fn after(before: &Position, mut error: Error) -> Error {
    if let Error::Data(data) = &mut error {
        data.position.record += before.record;
        data.position.line += before.line - 1;
    }
    error
}

/// Whether the record is malformed, rather than a limit exceeded.
fn is_no_json(error: &Error) -> bool {
    error.as_data().is_some_and(|data| data.kind != ErrorKind::Limit)
}

fn newlines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// A reader that keeps what was read.
#[derive(Clone)]
struct Tape(Arc<Mutex<Recording>>);

struct Recording {
    reader: Box<dyn Read + Send>,
    seen: Vec<u8>,
}

impl Tape {
    fn new(reader: Box<dyn Read + Send>) -> Self {
        Self(Arc::new(Mutex::new(Recording { reader, seen: Vec::new() })))
    }

    /// Everything from the start.
    fn rewound(self) -> Box<dyn Read + Send> {
        let mut recording = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = std::mem::take(&mut recording.seen);
        let rest = std::mem::replace(&mut recording.reader, Box::new(io::empty()));
        Box::new(Cursor::new(seen).chain(rest))
    }
}

impl Read for Tape {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut recording = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let read = recording.reader.read(buffer)?;
        recording.seen.extend_from_slice(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}
