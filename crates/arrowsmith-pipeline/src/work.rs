// SPDX-License-Identifier: Apache-2.0
//! The work of one decoder thread: a piece of text in, its output out.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch};
use arrowsmith_core::memory::Refused;
use arrowsmith_core::{
    Chunk, DataError, Decoder, Error, ErrorKind, Framing, PADDING_BYTES, Position, Reject, Report,
    Result, memory,
};
use arrowsmith_plan::Plan;

use crate::cut::{Piece, Text};
use crate::faults::Faults;
use crate::grow::Grower;
use crate::select::{Part, Selector};

/// A decoder and its scratch memory: one per thread, used for all of its pieces.
pub(crate) struct Worker {
    decoder: Box<dyn Decoder>,
    scratch: Vec<u8>,
    /// Maximum records that are decoded at once, if the engine does not limit memory itself.
    records_max: usize,
    /// About this many bytes fill a batch.
    batch_bytes: usize,
    /// Whether a record is decoded that takes more by itself.
    oversize: bool,
    /// What lines are for those who share the files.
    strict: Strict,
    /// What widens the schema, where it grows.
    grower: Option<Box<Grower>>,
    /// What tells why records were refused, where the schema was inferred and does not grow.
    faults: Option<(Faults, Arc<Plan>)>,
    /// What leaves of decoded batches, unless it is everything.
    selector: Option<Box<Selector>>,
}

/// What callers expect of lines who share the files with other programs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Strict {
    /// A carriage return that is not before a line feed is an error.
    pub(crate) refuse_lone_cr: bool,
    /// The text of a reject is its whole line, with the white space around the record.
    pub(crate) reject_lines: bool,
}

/// The output of one piece, or of a part of it that filled a batch. Positions count records and
/// lines from the start of the part; the consumer, which restores the order, adds the earlier ones.
#[derive(Default)]
pub(crate) struct Output {
    /// Start of the next part of the piece, if there is one.
    pub(crate) next: Option<usize>,
    pub(crate) batches: Vec<RecordBatch>,
    /// For each batch the records of its rows, if that has to be known.
    pub(crate) numbers: Vec<Int64Array>,
    /// Number of rows for which the condition is not true.
    pub(crate) filtered: u64,
    /// Why the condition does not suit what the schema was when this was decoded.
    pub(crate) refused: Option<Error>,
    pub(crate) report: Report,
    pub(crate) error: Option<Error>,
    /// Whether a source starts here, so that records and lines are counted from zero.
    pub(crate) first: bool,
    /// The first value that made the schema grow.
    pub(crate) late: Option<Box<DataError>>,
    /// Whether nothing was decoded: the next record takes more than a batch by itself.
    pub(crate) oversize: bool,
    /// Line ends that the framer skipped, before and after the piece.
    pub(crate) lines_before: u64,
    pub(crate) lines_after: u64,
}

/// What is found where lone carriage returns are refused.
pub(crate) const LONE_CR: &str = "a lone carriage return";

/// Approximate bytes of a reject besides its text: its strings are short.
const REJECT_BYTES: usize = 256;

impl Output {
    /// The output that ends the pipeline with an error.
    pub(crate) fn failed(error: Error) -> Self {
        Self { error: Some(error), ..Self::default() }
    }

    /// Gives its errors their offsets in the source.
    fn place(&mut self, piece: &Piece) {
        let rejects = self.report.rejects.iter_mut().map(|reject| &mut reject.error);
        let late = self.late.as_deref_mut();
        let error = match &mut self.error {
            Some(Error::Data(error)) => Some(&mut **error),
            _ => None,
        };
        rejects.chain(late).chain(error).for_each(|error| piece.place(error));
    }

    /// Memory held, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let batches = self.batches.iter().map(RecordBatch::get_array_memory_size).sum::<usize>();
        let rejects = self.report.rejects.iter().map(|reject| REJECT_BYTES + reject.record.len());
        batches + rejects.sum::<usize>()
    }
}

impl Worker {
    /// A worker whose batches take about `batch_bytes` bytes at most, with rows of at least
    /// `row_bytes`. It decodes records of any size.
    pub(crate) fn new(decoder: Box<dyn Decoder>, batch_bytes: usize, row_bytes: usize) -> Self {
        let (scratch, oversize) = (Vec::new(), true);
        let mut worker = Self {
            decoder,
            scratch,
            records_max: 1,
            batch_bytes,
            oversize,
            strict: Strict::default(),
            grower: None,
            faults: None,
            selector: None,
        };
        worker.prepare(row_bytes);
        worker
    }

    /// Widens the schema where a piece does not match it.
    pub(crate) fn growing(mut self, grower: Grower) -> Self {
        self.grower = Some(Box::new(grower));
        self
    }

    /// Tells why records were refused whose keys the schema lacks, which was inferred.
    pub(crate) fn explaining(mut self, faults: Option<Faults>, plan: &Arc<Plan>) -> Self {
        self.faults = faults.map(|faults| (faults, Arc::clone(plan)));
        self
    }

    /// Applies `selector` to what was decoded.
    pub(crate) fn selecting(mut self, selector: Option<Selector>) -> Self {
        self.selector = selector.map(Box::new);
        self
    }

    /// For readers that share files with other programs.
    pub(crate) fn being(mut self, strict: Strict) -> Self {
        self.strict = strict;
        self
    }

    /// Goes on with another decoder, whose rows are `row_bytes` wide at least.
    pub(crate) fn set_decoder(&mut self, decoder: Box<dyn Decoder>, row_bytes: usize) {
        self.decoder = decoder;
        self.prepare(row_bytes);
    }

    /// Another worker with the same limits, which decodes only.
    pub(crate) fn like(&self, decoder: Box<dyn Decoder>, row_bytes: usize) -> Self {
        Self::new(decoder, self.batch_bytes, row_bytes).being(self.strict)
    }

    fn prepare(&mut self, row_bytes: usize) {
        self.decoder.set_oversize(self.oversize);
        self.records_max = match self.decoder.set_batch_bytes(self.batch_bytes) {
            true => usize::MAX,
            false => (self.batch_bytes / row_bytes.max(1)).max(1),
        };
    }

    fn set_oversize(&mut self, decoded: bool) {
        self.oversize = decoded;
        self.decoder.set_oversize(decoded);
    }

    /// Leaves records that take more than a batch by themselves to [`Worker::run_oversize`].
    pub(crate) fn without_oversize(mut self) -> Self {
        self.set_oversize(false);
        self
    }

    /// As [`Worker::run`], with a record of any size.
    pub(crate) fn run_oversize(&mut self, piece: &Piece, from: usize) -> Output {
        self.set_oversize(true);
        let output = self.run(piece, from);
        self.set_oversize(false);
        output
    }

    /// Decodes a piece from byte `from` on, up to one batch. The rows before an error are kept; a
    /// panic of the engine is an error too, after which this worker must not be used again.
    pub(crate) fn run(&mut self, piece: &Piece, from: usize) -> Output {
        let decode = || match self.grower.take() {
            None => {
                let mut output = self.decode(piece, from);
                if let Some((faults, plan)) = &self.faults {
                    faults.explain(self, plan, (piece, from), &mut output)?;
                }
                Ok(output)
            }
            Some(mut grower) => {
                let output = grower.run(self, piece, from);
                self.grower = Some(grower);
                output
            }
        };
        let mut output = guarded(decode).unwrap_or_else(Output::failed);
        if let Some(selector) = &mut self.selector {
            output = guarded(|| {
                let text = piece.data().get(from..).unwrap_or_default();
                let counted = self.decoder.counts_left_out();
                selector.apply(&mut output, piece, Part { text, counted });
                Ok(output)
            })
            .unwrap_or_else(Output::failed);
        }
        output.place(piece);
        output
    }

    /// The same with the decoder as it is.
    pub(crate) fn decode(&mut self, piece: &Piece, from: usize) -> Output {
        let offset = piece.offset + from as u64;
        let position = Position { source: piece.source.clone(), record: 0, line: 1, offset };
        let bytes = match padded(piece, &mut self.scratch) {
            Ok(bytes) => bytes.get(from..).unwrap_or_default(),
            Err(error) => return Output::failed(error),
        };
        let left = piece.len.saturating_sub(from);
        if self.strict.refuse_lone_cr
            && from == 0
            && let Some(at) = lone_cr(&bytes[..left.min(bytes.len())])
        {
            return Output::failed(lone_cr_error(piece, bytes, at));
        }
        let len = records(&bytes[..left.min(bytes.len())], piece.framing, self.records_max);
        let chunk = Chunk { bytes, len, framing: piece.framing, position };
        let (mut report, mut error) = match self.decoder.decode(&chunk) {
            Ok(report) => (report, None),
            Err(error) => (Report::default(), Some(error)),
        };
        if self.strict.reject_lines && piece.framing == Framing::Lines {
            report.rejects.iter_mut().for_each(|reject| widen(reject, chunk.data(), offset));
        }
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
        let read = from + len.saturating_sub(report.unread);
        let oversize = error.is_none() && len > 0 && report.unread == len;
        // A part without records would repeat endlessly.
        let next = (error.is_none() && read < piece.len && read > from).then_some(read);
        if oversize {
            return Output { next: Some(from), oversize, ..Output::default() };
        }
        if next.is_none() && error.is_none() && read < piece.len {
            error = Some(io::Error::other("the engine left records undecoded").into());
        }
        Output {
            next,
            batches,
            numbers: Vec::new(),
            filtered: 0,
            refused: None,
            report,
            error,
            first: piece.first && from == 0,
            late: None,
            oversize,
            lines_before: if from == 0 { piece.lines_before } else { 0 },
            lines_after: if next.is_none() { piece.lines_after } else { 0 },
        }
    }
}

/// Makes the text of a reject its whole line, without the line end; `text` begins at `offset`.
fn widen(reject: &mut Reject, text: &[u8], offset: u64) {
    let at = usize::try_from(reject.error.position.offset.saturating_sub(offset));
    let Some((before, after)) = at.ok().and_then(|at| text.split_at_checked(at)) else { return };
    let start = memchr::memrchr(b'\n', before).map_or(0, |found| found + 1);
    let end = memchr::memchr(b'\n', after).map_or(text.len(), |found| before.len() + found);
    let line = text.get(start..end).unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // An error at a line end may be reported beyond it.
    if line.trim_ascii() == reject.record.trim_ascii() {
        reject.record = line.to_vec();
    }
}

/// The first carriage return that neither a line feed nor the end follows.
fn lone_cr(text: &[u8]) -> Option<usize> {
    let lone = |at: &usize| text.get(at + 1).is_some_and(|next| *next != b'\n');
    memchr::memchr_iter(b'\r', text).find(lone)
}

/// Its position has the line, not the record.
fn lone_cr_error(piece: &Piece, text: &[u8], at: usize) -> Error {
    let before = memchr::memchr_iter(b'\n', text.get(..at).unwrap_or_default()).count();
    DataError {
        kind: ErrorKind::Syntax,
        position: Position {
            source: piece.source.clone(),
            record: 0,
            line: 1 + before as u64,
            offset: piece.offset + at as u64,
        },
        path: String::new(),
        expected: "a line feed after a carriage return".to_owned(),
        found: LONE_CR.to_owned(),
        hint: None,
    }
    .into()
}

/// Length of the first `most` records of a text of lines; of other framings of all of it.
fn records(text: &[u8], framing: Framing, most: usize) -> usize {
    // A record and its line end have at least two bytes.
    if framing != Framing::Lines || text.len() / 2 <= most {
        return text.len();
    }
    let ends = || memchr::memchr_iter(b'\n', text);
    // To count is many times faster than to look for one after another.
    if ends().count() < most {
        return text.len();
    }
    ends().nth(most - 1).map_or(text.len(), |at| at + 1)
}

/// The piece with readable padding after it: in place, except at the end of a mapped file.
pub(crate) fn padded<'a>(piece: &'a Piece, scratch: &'a mut Vec<u8>) -> Result<&'a [u8]> {
    let all = match &piece.text {
        Text::Shared(owner) => (**owner).as_ref(),
        Text::Owned(buffer) => buffer,
    };
    let from = all.get(piece.start..).unwrap_or_default();
    if let Some(enough) = from.get(..piece.len.saturating_add(PADDING_BYTES)) {
        return Ok(enough);
    }
    let text = &from[..piece.len.min(from.len())];
    memory::resize(scratch, text.len() + PADDING_BYTES)?;
    scratch[..text.len()].copy_from_slice(text);
    scratch[text.len()..].fill(0);
    Ok(scratch)
}

/// Runs `work`; a panic, or refused memory, becomes an error.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let panic = match Refused::caught(panic) {
            Ok(refused) => return Err(refused.into()),
            Err(panic) => panic,
        };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_as_many_lines_as_it_may() {
        for lines in 0..6 {
            let text = b"{\"a\":1}\n".repeat(lines);
            for most in 1..7 {
                let len = |text: &[u8]| records(text, Framing::Lines, most);
                let whole = text.len() / lines.max(1) * most.min(lines);
                assert_eq!(len(&text), whole, "{most} of {lines}");
                // The last one without a line end is one more.
                let open = [&text[..], b"{\"a\":2}"].concat();
                let expected = if most > lines { open.len() } else { whole };
                assert_eq!(len(&open), expected, "{most} of {lines} and an open one");
                assert_eq!(records(&open, Framing::Concatenated, most), open.len());
            }
        }
    }
}
