// SPDX-License-Identifier: Apache-2.0
//! The decoder: pieces of chunks through the device, and what the device is not sure of through the CPU
//! engine, in order.
//!
//! The device says for each record that it is right, or that it does not know. What it does not know is
//! decoded by the CPU engine, alone, at its place; so the errors, the rejects and the rare values are
//! that engine's, to the byte. Lines stand by themselves. In the other framings a record whose brackets
//! are in doubt puts all behind it in doubt, and the CPU engine has the rest of the chunk.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use arrowsmith_core::{
    Chunk, DataError, DecodeOptions, Decoder, Error, ErrorKind, Framing, Position, Report, Result,
};
use arrowsmith_engine_cpu::CpuEngine;
use arrowsmith_plan::{Engine, Plan};

use super::assemble;
use super::program::Program;
use super::run::{Halt, Piece, Rules, Run, Suspect, Tables};
use crate::device::memory::Arena;
use crate::device::{Device, Ptr, Stream};
use crate::{Counters, GpuOptions};

/// Decodes JSON on a device.
#[derive(Debug)]
pub(crate) struct JsonDecoder {
    schema: SchemaRef,
    value_root: bool,
    rules: Rules,
    piece_bytes_max: usize,
    program: Program,
    tables: Tables,
    // Before the memory, which is freed after all work is done.
    stream: Box<dyn Stream>,
    arena: Arena,
    /// Memory of the tables.
    _fixed: Arena,
    careful: Careful,
    /// Rows so far, in pieces.
    batches: Vec<RecordBatch>,
    rows: usize,
    /// Bytes of text whose rows are in `batches`.
    bytes: usize,
    counters: Arc<Counters>,
}

/// The CPU engine, beside the device.
struct Careful {
    decoder: Box<dyn Decoder>,
}

impl std::fmt::Debug for Careful {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the CPU engine")
    }
}

impl JsonDecoder {
    pub fn new(
        plan: &Arc<Plan>,
        options: &DecodeOptions,
        device: &Arc<dyn Device>,
        gpu: &GpuOptions,
        program: Program,
        counters: Arc<Counters>,
    ) -> Result<Self> {
        let mut stream = Arc::clone(device).stream()?;
        let mut fixed = Arena::new(Arc::clone(device), u64::MAX);
        let tables = upload(&program, &mut fixed, stream.as_mut())?;
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
            },
            piece_bytes_max: gpu.piece_bytes_max.clamp(1, 1 << 30),
            program,
            tables,
            stream,
            arena: Arena::new(Arc::clone(device), gpu.memory_bytes_max),
            _fixed: fixed,
            careful: Careful { decoder: CpuEngine::default().decoder(plan, options)? },
            batches: Vec::new(),
            rows: 0,
            bytes: 0,
            counters,
        })
    }
}

/// Copies the tables of a plan to the device.
fn upload(program: &Program, fixed: &mut Arena, stream: &mut dyn Stream) -> Result<Tables> {
    let mut put = |bytes: &[u8]| -> Result<Ptr> {
        let at = fixed.take(bytes.len() as u64).map_err(|refused| match Halt::from(refused) {
            Halt::Failed(error) => error,
            Halt::TooLarge => crate::device::failure("gpu: no memory for the plan"),
        })?;
        fixed.fence(stream, at, bytes.len() as u64)?;
        stream.copy_in(at, bytes)?;
        Ok(at)
    };
    let powers: Vec<u8> = arrowsmith_number::powers_of_five()
        .iter()
        .flat_map(|(high, low)| [high.to_le_bytes(), low.to_le_bytes()])
        .flatten()
        .collect();
    let tables = program.tables();
    Ok(Tables {
        nodes: put(&tables.nodes)?,
        unders: put(&tables.unders)?,
        keys: put(&tables.keys)?,
        key_text: put(&tables.key_text)?,
        tables: put(&tables.tables)?,
        powers: put(&powers)?,
    })
}

/// One chunk on its way.
struct Pass<'p> {
    chunk: &'p Chunk<'p>,
    data: &'p [u8],
    report: Report,
    /// Up to where line feeds were counted for positions, and how many there were.
    counted: (usize, u64),
}

impl Pass<'_> {
    /// The position of a byte, in a record of the chunk.
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
    /// The part of a chunk between two places, the second at the end of a record.
    fn part(&mut self, pass: &mut Pass<'_>, from: usize, to: usize) -> Result<bool> {
        let mut run = Run {
            stream: self.stream.as_mut(),
            arena: &mut self.arena,
            program: &self.program,
            tables: self.tables,
            rules: self.rules,
            framing: pass.chunk.framing,
        };
        let outcome = run.piece(&pass.data[from..to]);
        self.arena.reset(self.stream.as_mut())?;
        match outcome {
            Ok(piece) if piece.unframed => self.rest(pass, from),
            Ok(piece) => self.settle(pass, from, &piece),
            Err(Halt::TooLarge) => {
                // In lines, half of it is as good.
                let half = from + (to - from) / 2;
                let feed = memchr::memchr(b'\n', &pass.data[half..to]).map(|at| half + at + 1);
                match feed {
                    Some(middle) if pass.chunk.framing == Framing::Lines && middle < to => {
                        Ok(self.part(pass, from, middle)? && self.part(pass, middle, to)?)
                    }
                    _ if pass.chunk.framing == Framing::Lines => {
                        let asked = self.ask(pass, from, to);
                        self.take_careful()?;
                        asked.map(|()| true)
                    }
                    _ => self.rest(pass, from),
                }
            }
            Err(Halt::Failed(error)) => Err(named(error, &pass.chunk.position, from)),
        }
    }

    /// The CPU engine has all from here on.
    fn rest(&mut self, pass: &mut Pass<'_>, from: usize) -> Result<bool> {
        let asked = self.ask(pass, from, pass.data.len());
        self.take_careful()?;
        asked.map(|()| false)
    }

    /// Asks the CPU engine about a part of the chunk.
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

    /// Takes over the rows that the CPU engine has.
    fn take_careful(&mut self) -> Result<()> {
        if let Some(batch) = self.careful.decoder.flush()? {
            self.push(batch);
        }
        Ok(())
    }

    fn push(&mut self, batch: RecordBatch) {
        if batch.num_rows() > 0 {
            self.rows += batch.num_rows();
            self.batches.push(batch);
        }
    }

    /// Puts the rows of the device and of the CPU engine together; whether the chunk goes on.
    fn settle(&mut self, pass: &mut Pass<'_>, base: usize, piece: &Piece) -> Result<bool> {
        if piece.records == 0 {
            return Ok(true);
        }
        let batch = assemble::batch(
            &self.program,
            &piece.columns,
            &self.schema,
            self.value_root,
            piece.records,
        )?;
        let mut done = 0;
        let mut at = 0;
        while let Some(suspect) = piece.suspects.get(at) {
            self.push(batch.slice(done, suspect.record - done));
            pass.report.records += (suspect.record - done) as u64;
            let run = self.together(pass, &piece.suspects[at..]);
            let last = piece.suspects[at + run - 1];
            let outcome = if self.stands_alone(pass, suspect) {
                self.ask(pass, base + suspect.from, base + end_of(pass, base, &last)).map(|()| true)
            } else {
                self.ask(pass, base + suspect.from, pass.data.len()).map(|()| false)
            };
            self.take_careful()?;
            if !outcome? {
                return Ok(false);
            }
            done = last.record + 1;
            at += run;
        }
        pass.report.records += (piece.records - done) as u64;
        self.push(if done == 0 { batch } else { batch.slice(done, piece.records - done) });
        Ok(true)
    }

    /// How many suspects, the first among them, follow one another without a record in between and can be
    /// asked about at once.
    fn together(&self, pass: &Pass<'_>, suspects: &[Suspect]) -> usize {
        if pass.chunk.framing != Framing::Lines {
            return 1;
        }
        let first = suspects[0].record;
        suspects.iter().enumerate().take_while(|(i, s)| s.record == first + i).count()
    }

    /// Whether what the record is cannot hang on what follows it, nor the other way round.
    fn stands_alone(&self, pass: &Pass<'_>, suspect: &Suspect) -> bool {
        pass.chunk.framing == Framing::Lines || (suspect.framed && !self.value_root)
    }
}

/// Where the text of a record ends that stands alone.
fn end_of(pass: &Pass<'_>, base: usize, suspect: &Suspect) -> usize {
    let text = &pass.data[base..];
    if pass.chunk.framing == Framing::Lines {
        let feed = memchr::memchr(b'\n', &text[suspect.from..]);
        return feed.map_or(text.len(), |at| suspect.from + at + 1);
    }
    // The bracket: behind it are white space, and in arrays a comma.
    let upto = suspect.upto.min(text.len());
    let bracket = text[suspect.from..upto].iter().rposition(|byte| matches!(byte, b'}' | b']'));
    bracket.map_or(upto, |at| suspect.from + at + 1)
}

/// A failure of the device, with the place of the chunk in which it came.
fn named(error: Error, position: &Position, from: usize) -> Error {
    let source = position.source.as_deref().unwrap_or("input");
    let at = position.offset + from as u64;
    crate::device::failure(format!("{error}, in the chunk at byte {at} of {source}"))
}

impl Decoder for JsonDecoder {
    fn decode(&mut self, chunk: &Chunk<'_>) -> Result<Report> {
        let data = chunk.data();
        let most = self.bytes.saturating_add(data.len());
        if i32::try_from(most).is_err() {
            return Err(DataError {
                kind: ErrorKind::OffsetOverflow,
                position: chunk.position.clone(),
                path: String::new(),
                expected: "less than 2 GiB in one batch".to_owned(),
                found: format!("{most} bytes"),
                hint: Some("flush between chunks".to_owned()),
            }
            .into());
        }
        self.bytes = most;
        self.counters.add_bytes(data.len() as u64);
        let mut pass = Pass { chunk, data, report: Report::default(), counted: (0, 0) };
        let mut from = 0;
        while from < data.len() {
            let mut to = data.len();
            if chunk.framing == Framing::Lines && to - from > self.piece_bytes_max {
                let end = from + self.piece_bytes_max;
                let before = memchr::memrchr(b'\n', &data[from..end]).map(|at| from + at + 1);
                let behind = || memchr::memchr(b'\n', &data[end..]).map(|at| end + at + 1);
                to = before.or_else(behind).unwrap_or(to);
            }
            if !self.part(&mut pass, from, to)? {
                break;
            }
            from = to;
        }
        pass.report.lines = memchr::memchr_iter(b'\n', data).count() as u64;
        Ok(pass.report)
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        self.bytes = 0;
        let rows = std::mem::take(&mut self.rows);
        let mut batches = std::mem::take(&mut self.batches);
        if rows == 0 {
            return Ok(None);
        }
        if batches.len() == 1 {
            return Ok(batches.pop());
        }
        Ok(Some(concat_batches(&self.schema, &batches)?))
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
