// SPDX-License-Identifier: Apache-2.0
//! The decoder: sends pieces of chunks through the device, and doubtful records through the next
//! engine of the chain, which in the library is engine `cpu`, in order.
//!
//! A chunk may be of any size: lines are split at line feeds; in the other framings the device
//! returns where the last record of a piece begins, and the next piece begins there. Rows whose
//! text exceeds 32-bit offsets become several batches.
//!
//! The device marks each record as valid or in doubt. The next engine decodes each record in doubt
//! separately; so the errors, the rejects and the rare values are that engine's, to the byte. Lines
//! are independent. In the other framings a record whose brackets are in doubt puts all later ones
//! in doubt, and the next engine decodes the rest of the chunk.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use arrow_select::concat::concat_batches;
use arrowsmith_core::{Chunk, DecodeOptions, Decoder, Error, Framing, Position, Report, Result};
use arrowsmith_plan::Plan;

use super::assemble;
use super::program::Program;
use super::run::{Halt, Piece, Rules, Run, Suspect, Text};
use super::tables::{LastTables, Resident};
use crate::device::lanes::{Lane, Lanes};
use crate::device::resident::{DeviceBatch, Tree};
use crate::device::{Device, Ptr, Stream};
use crate::{Counters, GpuEngine, OFFSET_MAX};

/// Maximum bytes of text in a piece: positions have 32 bits, and no output is longer than 31 bits
/// can number.
const PIECE_BYTES_MAX: usize = 1 << 30;

/// Bytes of text below which a piece is not split when memory is short: the next engine is as fast.
const PIECE_BYTES_MIN: usize = 4 << 10;

/// Decodes JSON on a device.
#[derive(Debug)]
pub(crate) struct JsonDecoder {
    schema: SchemaRef,
    value_root: bool,
    rules: Rules,
    piece_bytes_max: usize,
    /// Maximum bytes of text in one batch.
    offset_max: u64,
    program: Program,
    device: Arc<dyn Device>,
    lanes: Arc<Lanes>,
    last: Arc<LastTables>,
    /// In device memory from the first piece on: many decoders of a short input get none.
    tables: Option<Arc<Resident>>,
    careful: Careful,
    /// Rows so far, in pieces, each with the bytes of its text.
    batches: Vec<(RecordBatch, u64)>,
    rows: usize,
    /// Rows so far that stay on the device, if they do.
    pub(super) kept: Option<Vec<DeviceBatch>>,
    counters: Arc<Counters>,
}

/// The next engine's decoder, for records in doubt.
struct Careful {
    decoder: Box<dyn Decoder>,
}

impl std::fmt::Debug for Careful {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the next engine")
    }
}

impl JsonDecoder {
    pub fn new(
        plan: &Arc<Plan>,
        options: &DecodeOptions,
        engine: &GpuEngine,
        program: Program,
        host: Box<dyn Decoder>,
    ) -> Result<Self> {
        let (gpu, lanes) = (&engine.options, &engine.lanes);
        let limit = |value: usize| u64::try_from(value).unwrap_or(u64::MAX);
        Ok(Self {
            schema: Arc::clone(plan.schema()),
            value_root: plan.is_value_root(),
            rules: Rules {
                depth_max: limit(options.limits.depth_max),
                record_bytes_max: limit(options.limits.record_bytes_max),
                record_tokens_max: gpu.record_tokens_max,
                refuse_unknown: options.unknown_keys == arrowsmith_core::UnknownKeys::Error,
                allow_nan: options.allow_nan,
                offset_max: gpu.offset_max.min(OFFSET_MAX),
            },
            piece_bytes_max: gpu.piece_bytes_max.clamp(1, PIECE_BYTES_MAX),
            offset_max: gpu.offset_max.min(OFFSET_MAX),
            program,
            device: Arc::clone(lanes.device()),
            lanes: Arc::clone(lanes),
            last: Arc::clone(&engine.tables),
            tables: None,
            careful: Careful { decoder: host },
            batches: Vec::new(),
            rows: 0,
            kept: None,
            counters: Arc::clone(&engine.counters),
        })
    }
}

/// One chunk in progress.
struct Pass<'p> {
    chunk: &'p Chunk<'p>,
    data: &'p [u8],
    /// The address of the same bytes on the device, if they are there.
    text: Option<Ptr>,
    report: Report,
    /// The position up to which line feeds were counted, and their number.
    counted: (usize, u64),
    /// Line feeds of the lines so far.
    feeds: u64,
}

impl Pass<'_> {
    /// The position of a byte in a record of the chunk.
    fn position(&mut self, at: usize, record: u64) -> Position {
        let from = self.counted.0.min(at);
        let lines = memchr::memchr_iter(b'\n', &self.data[from..at]).count() as u64;
        self.counted = (at, self.counted.1 + lines);
        let start = &self.chunk.position;
        Position {
            source: start.source.clone(),
            record: start.record + record,
            line: start.line + self.counted.1,
            offset: start.offset + at as u64,
        }
    }
}

impl JsonDecoder {
    /// Decodes a chunk, whose bytes may be on the device too.
    pub(super) fn chunk(&mut self, chunk: &Chunk<'_>, text: Option<Ptr>) -> Result<Report> {
        let data = chunk.data();
        self.counters.add_bytes(data.len() as u64);
        let mut pass =
            Pass { chunk, data, text, report: Report::default(), counted: (0, 0), feeds: 0 };
        let mut from = 0;
        while from < data.len() {
            let mut to = data.len();
            if to - from > self.piece_bytes_max {
                let end = from + self.piece_bytes_max;
                let before = || memchr::memrchr(b'\n', &data[from..end]).map(|at| from + at + 1);
                let behind = || memchr::memchr(b'\n', &data[end..]).map(|at| end + at + 1);
                to = match chunk.framing {
                    Framing::Lines => before().or_else(behind).unwrap_or(to),
                    _ => end,
                };
            }
            let Some(next) = self.part(&mut pass, from, to)? else { break };
            from = next;
        }
        pass.report.lines = match chunk.framing {
            Framing::Lines => pass.feeds,
            _ => feeds(data),
        };
        Ok(pass.report)
    }

    /// Decodes a part of a chunk; returns the start of the next part, or `None` if it was the last.
    /// In lines a part ends after a line feed; else anywhere.
    fn part(&mut self, pass: &mut Pass<'_>, from: usize, to: usize) -> Result<Option<usize>> {
        if pass.chunk.framing == Framing::Lines {
            return self.lines(pass, from, to).map(|()| Some(to));
        }
        let (mut to, mut halved) = (to, false);
        loop {
            let more = to < pass.data.len();
            match self.run(pass, from, to, more)? {
                Some(piece) if piece.unframed => break,
                // Not even one complete record.
                Some(piece) if more && piece.next.is_none() => {
                    let len = (to - from).saturating_mul(2);
                    if halved || len > PIECE_BYTES_MAX {
                        break;
                    }
                    to = from.saturating_add(len).min(pass.data.len());
                }
                Some(piece) => {
                    let next = piece.next.map_or(to, |next| from + next);
                    let settled = self.settle(pass, from, next, &piece)?;
                    return Ok(settled.then_some(next));
                }
                None if to - from <= PIECE_BYTES_MIN => break,
                None => (to, halved) = (from + (to - from) / 2, true),
            }
        }
        self.rest(pass, from).map(|()| None)
    }

    /// Lines are independent: if there is no memory for all, half of them will do.
    fn lines(&mut self, pass: &mut Pass<'_>, from: usize, to: usize) -> Result<()> {
        if to - from <= PIECE_BYTES_MAX
            && let Some(piece) = self.run(pass, from, to, false)?
        {
            pass.feeds += piece.feeds;
            return self.settle(pass, from, to, &piece).map(|_| ());
        }
        let half = from + (to - from) / 2;
        let small = to - from <= PIECE_BYTES_MIN;
        let rest = if small { &[] } else { &pass.data[half..to] };
        let feed = memchr::memchr(b'\n', rest).map(|at| half + at + 1);
        if let Some(middle) = feed.filter(|middle| *middle < to) {
            self.lines(pass, from, middle)?;
            return self.lines(pass, middle, to);
        }
        pass.feeds += feeds(&pass.data[from..to]);
        let asked = self.ask(pass, from, to);
        self.take_careful(to - from)?;
        asked
    }

    /// Runs a piece on the device; `None` if there is no memory for it.
    fn run(
        &mut self,
        pass: &Pass<'_>,
        from: usize,
        to: usize,
        more: bool,
    ) -> Result<Option<Piece>> {
        let text = match pass.text {
            Some(at) => Text::Device(at.offset(from as u64), (to - from) as u64),
            None => Text::Host(&pass.data[from..to]),
        };
        // The one that was used last, whose memory is warm.
        let mut leased = self.lanes.lease()?;
        let Lane { stream, arena } = leased.lane()?;
        let tables = match &self.tables {
            Some(tables) => tables.at,
            None => {
                let tables = self.last.of(&self.program, &self.device, stream.as_mut())?;
                self.tables.insert(tables).at
            }
        };
        let mut run = Run {
            stream: stream.as_mut(),
            arena,
            program: &self.program,
            tables,
            rules: self.rules,
            framing: pass.chunk.framing,
            more,
            stay: self.kept.is_some() && self.program.stays(),
            value_root: self.value_root,
        };
        let mut outcome = run.piece(text);
        if let Ok(piece) = &mut outcome
            && let Some(trees) = piece.trees.take()
        {
            let kept = self.keep(stream.as_mut(), trees, piece.records);
            piece.kept = Some(kept.map_err(|error| named(error, &pass.chunk.position, from))?);
        }
        arena.reset(stream.as_mut())?;
        match outcome {
            Ok(piece) => Ok(Some(piece)),
            Err(Halt::TooLarge) => Ok(None),
            Err(Halt::Failed(error)) => Err(named(error, &pass.chunk.position, from)),
        }
    }

    /// Copies the columns of a piece to memory of their own.
    fn keep(&self, stream: &mut dyn Stream, trees: Vec<Tree>, rows: usize) -> Result<DeviceBatch> {
        let root = Tree {
            data_type: DataType::Struct(self.schema.fields().clone()),
            len: rows,
            null_count: 0,
            valid: None,
            buffers: Vec::new(),
            children: trees,
        };
        DeviceBatch::keep(&self.device, stream, &self.schema, root)
    }

    /// The next engine decodes everything from here on.
    fn rest(&mut self, pass: &mut Pass<'_>, from: usize) -> Result<()> {
        let asked = self.ask(pass, from, pass.data.len());
        self.take_careful(pass.data.len() - from)?;
        asked
    }

    /// Decodes a part of the chunk on the next engine.
    fn ask(&mut self, pass: &mut Pass<'_>, from: usize, to: usize) -> Result<()> {
        let position = pass.position(from, pass.report.records);
        let chunk = Chunk {
            bytes: &pass.data[from..to],
            len: to - from,
            framing: pass.chunk.framing,
            position,
        };
        self.counters.add_careful((to - from) as u64);
        let report = self.careful.decoder.decode(&chunk)?;
        pass.report.records += report.records;
        pass.report.rejects.extend(report.rejects);
        Ok(())
    }

    /// Takes the rows that the next engine has decoded from this many bytes of text.
    fn take_careful(&mut self, bytes: usize) -> Result<()> {
        match self.careful.decoder.flush()? {
            Some(batch) => self.push(batch, bytes),
            None => Ok(()),
        }
    }

    fn push(&mut self, batch: RecordBatch, bytes: usize) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        if let Some(kept) = &mut self.kept {
            let mut leased = self.lanes.lease()?;
            let stream = leased.lane()?.stream.as_mut();
            kept.push(DeviceBatch::from_host(&self.device, stream, &batch)?);
            return Ok(());
        }
        self.rows += batch.num_rows();
        self.batches.push((batch, bytes as u64));
        Ok(())
    }

    /// Merges the rows of the device and of the next engine, for the text up to `end`; returns
    /// whether the chunk continues.
    fn settle(
        &mut self,
        pass: &mut Pass<'_>,
        base: usize,
        end: usize,
        piece: &Piece,
    ) -> Result<bool> {
        if piece.records == 0 {
            return Ok(true);
        }
        if let Some(batch) = &piece.kept {
            pass.report.records += piece.records as u64;
            self.kept.get_or_insert_default().push(batch.clone());
            return Ok(true);
        }
        let batch = assemble::batch(
            &self.program,
            &piece.columns,
            &self.schema,
            self.value_root,
            piece.records,
        )?;
        // Records, and the bytes before them, whose rows are here.
        let (mut done, mut behind) = (0, base);
        let mut at = 0;
        while let Some(suspect) = piece.suspects.get(at) {
            self.push(batch.slice(done, suspect.record - done), base + suspect.from - behind)?;
            pass.report.records += (suspect.record - done) as u64;
            let run = self.together(pass, &piece.suspects[at..]);
            let last = piece.suspects[at + run - 1];
            if !self.stands_alone(pass, suspect) {
                return self.rest(pass, base + suspect.from).map(|()| false);
            }
            behind = base + end_of(pass, base, &last);
            let asked = self.ask(pass, base + suspect.from, behind);
            self.take_careful(behind - base - suspect.from)?;
            asked?;
            done = last.record + 1;
            at += run;
        }
        pass.report.records += (piece.records - done) as u64;
        let left = if done == 0 { batch } else { batch.slice(done, piece.records - done) };
        self.push(left, end.saturating_sub(behind))?;
        Ok(true)
    }

    /// How many records in doubt, beginning with the first, are adjacent and can be decoded
    /// together.
    fn together(&self, pass: &Pass<'_>, suspects: &[Suspect]) -> usize {
        if pass.chunk.framing != Framing::Lines {
            return 1;
        }
        let first = suspects[0].record;
        suspects.iter().enumerate().take_while(|(i, s)| s.record == first + i).count()
    }

    /// Whether the record is independent of the text after it, and the other way round.
    fn stands_alone(&self, pass: &Pass<'_>, suspect: &Suspect) -> bool {
        pass.chunk.framing == Framing::Lines || (suspect.framed && !self.value_root)
    }
}

/// Where the text of an independent record ends.
fn end_of(pass: &Pass<'_>, base: usize, suspect: &Suspect) -> usize {
    let text = &pass.data[base..];
    if pass.chunk.framing == Framing::Lines {
        let feed = memchr::memchr(b'\n', &text[suspect.from..]);
        return feed.map_or(text.len(), |at| suspect.from + at + 1);
    }
    // The bracket: after it come white space, and in arrays a comma.
    let upto = suspect.upto.min(text.len());
    let bracket = text[suspect.from..upto].iter().rposition(|byte| matches!(byte, b'}' | b']'));
    bracket.map_or(upto, |at| suspect.from + at + 1)
}

fn feeds(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// A failure of the device, with the chunk's position.
fn named(error: Error, position: &Position, from: usize) -> Error {
    let source = position.source.as_deref().unwrap_or("input");
    let at = position.offset + from as u64;
    crate::device::failure(format!("{error}, in the chunk at byte {at} of {source}"))
}

impl Decoder for JsonDecoder {
    fn decode(&mut self, chunk: &Chunk<'_>) -> Result<Report> {
        self.chunk(chunk, None)
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        // As many pieces as 32-bit offsets can number, at least one.
        let mut bytes = 0_u64;
        let fits = |(_, text): &&(RecordBatch, u64)| {
            bytes = bytes.saturating_add(*text);
            bytes <= self.offset_max
        };
        let count = self.batches.iter().take_while(fits).count().max(1).min(self.batches.len());
        let mut taken: Vec<_> = self.batches.drain(..count).map(|(batch, _)| batch).collect();
        self.rows -= taken.iter().map(RecordBatch::num_rows).sum::<usize>();
        if taken.len() < 2 {
            return Ok(taken.pop());
        }
        Ok(Some(concat_batches(&self.schema, &taken)?))
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
