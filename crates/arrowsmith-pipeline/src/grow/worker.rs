// SPDX-License-Identifier: Apache-2.0
//! What a worker does where the schema grows: it decodes with what is known, and where a piece does
//! not match, widens that and decodes the piece again.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrowsmith_core::{
    Chunk, DataError, DecodeOptions, Decoder, Error, ErrorKind, Framing, OnError, Position, Result,
};
use arrowsmith_engine::{Chain, Engine};
use arrowsmith_json::infer::has_long_integer;

use super::growth::{Growth, Place, Version};
use super::watch::{self, Alarm};
use crate::cut::Piece;
use crate::faults::{Faults, InferredKeys, refusing_unknown_keys};
use crate::work::{Output, Worker};

/// Widens the schema for one worker.
pub(crate) struct Grower {
    growth: Growth,
    /// What tells why records are refused; it has the engine and the options of the caller.
    faults: Faults,
    /// With them a key that is new is an error, which every engine reports.
    options: DecodeOptions,
    version: Arc<Version>,
}

impl Grower {
    pub(crate) fn new(growth: Growth, engine: &Chain, given: &DecodeOptions) -> Self {
        let version = growth.version();
        let options = match version.projected {
            true => given.clone(),
            false => refusing_unknown_keys(given),
        };
        let keys = InferredKeys::All;
        let faults = Faults { engine: engine.clone(), options: given.clone(), keys };
        Self { growth, faults, options, version }
    }

    /// A decoder for the version in use, and the least width of its rows.
    ///
    /// # Errors
    /// What the engine says of the plan.
    pub(crate) fn decoder(&self) -> Result<(Box<dyn Decoder>, usize)> {
        let plan = &self.version.plan;
        Ok((self.faults.engine.decoder(plan, &self.options)?, plan.row_bytes()))
    }

    /// Decodes a part of a piece, with the current version or one that matches it.
    pub(crate) fn run(
        &mut self,
        worker: &mut Worker,
        piece: &Piece,
        from: usize,
    ) -> Result<Output> {
        let mut seen = Seen { first: None, fault: None, range: 0..0, window: WINDOW_BYTES };
        loop {
            if self.growth.number() != self.version.number {
                self.version = self.growth.version();
                let (decoder, row_bytes) = self.decoder()?;
                worker.set_decoder(decoder, row_bytes);
            }
            let mut output = worker.decode(piece, from);
            if output.oversize {
                return Ok(output);
            }
            let alarm = self.alarm(&output, piece, from);
            let early = place(piece, from) < self.version.newest;
            if alarm == Alarm::None {
                if early && seen.range != (from..piece.len) {
                    // It matches, and may have keys that pieces after it taught, before them.
                    self.observe(piece, from, from..piece.len)?;
                }
                output.late = seen.first;
                return Ok(output);
            }
            let all = early || self.version.observe_all;
            let bad = if all { None } else { self.stopped_at(&output, piece, from) };
            let is_seen = match bad {
                Some(bad) => seen.range.contains(&bad),
                None => seen.range == (from..piece.len),
            };
            if !is_seen {
                seen.range = match bad {
                    Some(bad) => lines_around(piece.data(), from, bad, seen.window),
                    None => from..piece.len,
                };
                seen.window = seen.window.saturating_mul(4);
                let fault = self.observe(piece, from, seen.range.clone())?;
                seen.fault = seen.fault.or(fault);
            }
            if self.growth.number() == self.version.number {
                // Nothing widens: the records are bad.
                self.faults.explain(worker, &self.version.plan, (piece, from), &mut output)?;
                if self.options.on_error == OnError::Fail && output.error.is_none() {
                    output.error = seen.fault;
                }
                output.late = seen.first;
                return Ok(output);
            }
            seen.first = seen.first.or_else(|| first_late(&output, piece, from));
        }
    }

    /// Where decoding stopped, as a byte of the piece, if everything before it matches: then
    /// records from there on are enough to infer from, at first.
    fn stopped_at(&self, output: &Output, piece: &Piece, from: usize) -> Option<usize> {
        let error = output.error.as_ref().and_then(Error::as_data)?;
        let at = usize::try_from(error.position.offset.checked_sub(piece.offset)?).ok()?;
        let watched = self.version.watch.as_ref();
        let clean = |batch: &RecordBatch| {
            watched.is_none_or(|watch| watch::batch(watch, batch) == Alarm::None)
        };
        let whole = piece.framing == Framing::Lines
            && self.options.on_error == OnError::Fail
            && (from..piece.len).contains(&at)
            && output.batches.iter().all(clean);
        whole.then_some(at)
    }

    /// Whether the schema may have to widen for what was decoded.
    fn alarm(&self, output: &Output, piece: &Piece, from: usize) -> Alarm {
        let error = output.error.as_ref().and_then(Error::as_data).map(|error| error.kind);
        let rejects = output.report.rejects.iter().map(|reject| reject.error.kind);
        if self.version.observe_all || error.into_iter().chain(rejects).any(may_widen) {
            return Alarm::Wider;
        }
        let Some(watch) = &self.version.watch else { return Alarm::None };
        let look = |batch: &RecordBatch| watch::batch(watch, batch);
        let alarm = output.batches.iter().map(look).max().unwrap_or_default();
        let text = piece.data().get(from..).unwrap_or_default();
        if alarm == Alarm::LongIntegers && !has_long_integer(text) {
            return Alarm::None;
        }
        alarm
    }

    /// Infers from records of a piece; returns where they are not JSON.
    fn observe(&self, piece: &Piece, from: usize, range: Range<usize>) -> Result<Option<Error>> {
        let mut inferrer = self.growth.inferrer();
        inferrer.set_source(piece.source_number);
        let offset = piece.offset + range.start as u64;
        let bytes = piece.data().get(range).unwrap_or_default();
        let position = Position { source: piece.source.clone(), record: 0, line: 1, offset };
        let chunk = Chunk { bytes, len: bytes.len(), framing: piece.framing, position };
        let fault = match inferrer.observe(&chunk) {
            Ok(_) => None,
            Err(error) if error.as_data().is_some_and(|data| data.kind != ErrorKind::Limit) => {
                Some(error)
            }
            Err(error) => return Err(error),
        };
        self.growth.add(inferrer, place(piece, from))?;
        Ok(fault)
    }
}

/// Text that is inferred from at once where a record does not match, in bytes; four times as much
/// when the next one does not, either.
const WINDOW_BYTES: usize = 64 << 10;

/// What was inferred from of a piece.
struct Seen {
    /// The first value that does not match.
    first: Option<Box<DataError>>,
    /// Where it is not JSON.
    fault: Option<Error>,
    /// The last records.
    range: Range<usize>,
    /// About how many bytes to take next.
    window: usize,
}

/// The place of a byte of a piece.
fn place(piece: &Piece, at: usize) -> Place {
    (piece.source_number, piece.origin(piece.offset + at as u64))
}

/// The line of a byte, and those after it, `window` bytes in all or a little more.
fn lines_around(text: &[u8], from: usize, at: usize, window: usize) -> Range<usize> {
    let before = text.get(from..at).unwrap_or_default();
    let start = memchr::memrchr(b'\n', before).map_or(from, |end| from + end + 1);
    let goal = start.saturating_add(window).max(at);
    let rest = text.get(goal..).unwrap_or_default();
    start..memchr::memchr(b'\n', rest).map_or(text.len(), |end| goal + end + 1)
}

/// Whether an error of this kind may be the schema's, and not that of the record.
pub fn may_widen(kind: ErrorKind) -> bool {
    use ErrorKind as K;
    !matches!(
        kind,
        K::Syntax
            | K::Truncated
            | K::TrailingData
            | K::InvalidUtf8
            | K::InvalidEscape
            | K::ControlCharacter
            | K::DepthExceeded
    )
}

/// The first value that does not match, as far as the decoder tells.
fn first_late(output: &Output, piece: &Piece, from: usize) -> Option<Box<DataError>> {
    let rejects = output.report.rejects.iter().map(|reject| &reject.error);
    let error = output.error.as_ref().and_then(Error::as_data);
    let found = rejects.chain(error).find(|error| may_widen(error.kind)).cloned();
    Some(Box::new(found.unwrap_or_else(|| DataError {
        kind: ErrorKind::WrongType,
        position: Position {
            source: piece.source.clone(),
            record: 0,
            line: 1,
            offset: piece.offset + from as u64,
        },
        path: String::new(),
        expected: "records that match the schema".to_owned(),
        found: "a value of another type in those after it".to_owned(),
        hint: None,
    })))
}
