// SPDX-License-Identifier: Apache-2.0
//! What one decoder thread does: a piece of text in, what became of it out.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::RecordBatch;
use arrowsmith_core::{Chunk, Decoder, Error, PADDING_BYTES, Position, Report, Result};

use crate::cut::{Piece, Text};

/// A decoder and its scratch memory: one a thread, used for every piece that the thread gets.
pub(crate) struct Worker {
    decoder: Box<dyn Decoder>,
    scratch: Vec<u8>,
}

/// What became of one piece. Positions count records and lines from the start of the piece: what came
/// before it is known to the one who puts pieces in order.
#[derive(Default)]
pub(crate) struct Output {
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) report: Report,
    pub(crate) error: Option<Error>,
    /// Whether a source starts here, so that records and lines are counted anew.
    pub(crate) first: bool,
    /// Line ends that the framer left out, before and after the piece.
    pub(crate) lines_before: u64,
    pub(crate) lines_after: u64,
}

/// Memory of a reject beside its text, in bytes, roughly: its strings are short.
const REJECT_BYTES: usize = 256;

impl Output {
    /// The end of everything.
    pub(crate) fn failed(error: Error) -> Self {
        Self { error: Some(error), ..Self::default() }
    }

    /// Memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let batches = self.batches.iter().map(RecordBatch::get_array_memory_size).sum::<usize>();
        let rejects = self.report.rejects.iter().map(|reject| REJECT_BYTES + reject.record.len());
        batches + rejects.sum::<usize>()
    }
}

impl Worker {
    pub(crate) fn new(decoder: Box<dyn Decoder>) -> Self {
        Self { decoder, scratch: Vec::new() }
    }

    /// Decodes a piece. The rows before an error are kept; a panic of the engine is an error too, after
    /// which this worker must not be used again.
    pub(crate) fn run(&mut self, piece: &Piece) -> Output {
        guarded(|| Ok(self.decode(piece))).unwrap_or_else(Output::failed)
    }

    fn decode(&mut self, piece: &Piece) -> Output {
        let position =
            Position { source: piece.source.clone(), record: 0, line: 1, offset: piece.offset };
        let bytes = padded(piece, &mut self.scratch);
        let chunk = Chunk { bytes, len: piece.len, framing: piece.framing, position };
        let (report, mut error) = match self.decoder.decode(&chunk) {
            Ok(report) => (report, None),
            Err(error) => (Report::default(), Some(error)),
        };
        let mut batches = Vec::new();
        while self.decoder.rows() > 0 {
            match self.decoder.flush() {
                Ok(batch) => batches.extend(batch),
                Err(second) => {
                    error.get_or_insert(second);
                    break;
                }
            }
        }
        Output {
            batches,
            report,
            error,
            first: piece.first,
            lines_before: piece.lines_before,
            lines_after: piece.lines_after,
        }
    }
}

/// The piece with readable bytes behind it: in place, except at the end of a mapped file.
pub(crate) fn padded<'a>(piece: &'a Piece, scratch: &'a mut Vec<u8>) -> &'a [u8] {
    let all = match &piece.text {
        Text::Shared(owner) => (**owner).as_ref(),
        Text::Owned(buffer) => buffer,
    };
    let from = all.get(piece.start..).unwrap_or_default();
    if let Some(enough) = from.get(..piece.len.saturating_add(PADDING_BYTES)) {
        return enough;
    }
    scratch.clear();
    scratch.extend_from_slice(&from[..piece.len.min(from.len())]);
    scratch.resize(scratch.len() + PADDING_BYTES, 0);
    scratch
}

/// Runs `work`; a panic becomes an error.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = format!("a decoder thread panicked: {}", words(panic.as_ref()));
        Err(io::Error::other(message).into())
    })
}

fn words(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
