// SPDX-License-Identifier: Apache-2.0
//! The decoder: drives the walker over chunks, and handles records that do not match the schema.
//!
//! UTF-8 is validated for a whole chunk at once. A chunk that fails is rolled back and decoded
//! again with a check for each string, so that the error is located and handled like any other.
//!
//! Memory is bounded in the same way: see `capacity` for a chunk whose columns exceed the budget.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use arrowsmith_core::memory::Budget;
use arrowsmith_core::{
    Chunk, DataError, DecodeOptions, Decoder, ErrorKind, Framing, OnError, PADDING_BYTES, Position,
    Reject, Report, Result, foreign, memory,
};
use arrowsmith_plan::text::format_type;
use arrowsmith_plan::{IntWidth, Plan};
use arrowsmith_simd::{Input, Level};

use super::build::{Columns, Values};
use super::locate;
use super::lockstep::Lockstep;
use super::predict::Predictor;
use super::program::{Code, Id, Program, ROOT, Step};
use super::records::{newlines, record_end, trim_space};
use super::spread::Spread;
use super::walk::{LeftOut, Records, Scratch, State, Stop, Subject};

/// An error this close to the end of a text with unknown padding is checked again in a copy with
/// zero padding.
const END_BYTES: usize = 64 << 10;

/// Decodes JSON on this core.
#[derive(Debug)]
pub(crate) struct JsonDecoder {
    schema: SchemaRef,
    value_root: bool,
    level: Level,
    pub(super) state: State,
    /// The memory held by the columns.
    pub(super) memory: Budget,
    /// Bytes of memory after which a batch ends, between two records.
    pub(super) batch_bytes: usize,
    /// Whether a record that takes more by itself is decoded.
    pub(super) oversize: bool,
    /// Whether the next batch begins with columns that have no capacity yet.
    pub(super) reset: bool,
}

impl JsonDecoder {
    pub fn new(plan: &Plan, options: DecodeOptions, level: Level) -> Result<Self> {
        Level::check_name()?;
        plan.check(&options.limits)?;
        let program = Program::new(plan, options.dialect)?;
        let columns = Columns::new(&program);
        let list = only_list(&program);
        let spread = Spread::new(&program);
        let predictors = program.objects.iter().map(Predictor::new).collect();
        let locksteps = program.objects.iter().map(|_| Lockstep::default()).collect();
        let state = State {
            program,
            predictors,
            columns,
            options,
            scratch: Scratch::default(),
            careful: false,
            not_utf8: false,
            rows: 0,
            list,
            locksteps,
            spread,
            mark: 0,
            base: 0,
            left_out: LeftOut::default(),
        };
        let schema = Arc::clone(plan.schema());
        let memory = Budget::new("batch_bytes_max", 0);
        let value_root = plan.is_value_root();
        let (batch_bytes, oversize) = (usize::MAX, true);
        let reset = false;
        Ok(Self { schema, value_root, level, state, memory, batch_bytes, oversize, reset })
    }

    /// Starts a batch with empty columns, without capacity.
    pub(super) fn reset_columns(&mut self) {
        self.memory.hand_over();
        self.state.columns = Columns::new(&self.state.program);
        self.reset = false;
    }

    /// Decodes a chunk; decodes it again with checks of every string if it is not UTF-8.
    pub(super) fn pass(&mut self, chunk: &Chunk<'_>) -> Result<Report> {
        let rows = self.state.rows;
        // The text of values that become nulls is dropped, so it has to be validated before.
        self.state.careful = self.state.options.on_error == OnError::Null;
        self.state.not_utf8 = false;
        (self.state.mark, self.state.base) = (0, 0);
        let mut outcome = Run::new(self, chunk).chunk();
        if self.state.not_utf8 || !self.state.columns.validate_text() {
            self.truncate_rows(rows);
            self.state.careful = true;
            outcome = Run::new(self, chunk).chunk();
        }
        outcome
    }

    /// Removes the rows beyond the first `rows`.
    pub(super) fn truncate_rows(&mut self, rows: usize) {
        self.state.columns.truncate(&self.state.program, ROOT, rows);
        self.state.rows = rows;
    }
}

/// The only list of a record, and its items, if they are 64-bit integers.
fn only_list(program: &Program) -> Option<(Id, Id)> {
    let Code::Struct(object) = program.steps[ROOT].code else { return None };
    let object = &program.objects[object];
    let Code::List(item) = program.steps.get(object.first)?.code else { return None };
    let wide = matches!(program.steps[item].code, Code::Int(IntWidth::I64 | IntWidth::U64));
    (object.keys.len() == 1 && wide).then_some((object.first, item))
}

impl Decoder for JsonDecoder {
    fn decode(&mut self, chunk: &Chunk<'_>) -> Result<Report> {
        let most = self.state.columns.offset_max().saturating_add(chunk.data().len());
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
        let rows = self.state.rows;
        let bytes = self.batch_bytes.min(self.state.options.limits.batch_bytes_max);
        match self.within(bytes, chunk) {
            Ok(outcome) => outcome,
            Err(refused) => self.split_batch(chunk, rows, refused),
        }
    }

    fn set_batch_bytes(&mut self, bytes: usize) -> bool {
        self.batch_bytes = bytes;
        true
    }

    fn counts_left_out(&self) -> bool {
        true
    }

    fn set_oversize(&mut self, decoded: bool) {
        self.oversize = decoded;
    }

    fn rows(&self) -> usize {
        self.state.rows
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        let rows = std::mem::take(&mut self.state.rows);
        if rows == 0 {
            return Ok(None);
        }
        let State { program, columns, .. } = &mut self.state;
        let mut arrays: Vec<ArrayRef> = Vec::new();
        match program.steps[ROOT].code {
            Code::Struct(object) if !self.value_root => {
                columns.columns[ROOT].values = Values::Count(0);
                let object = &program.objects[object];
                for id in object.first..object.first + object.keys.len() {
                    arrays.push(columns.take(program, id)?);
                }
            }
            _ => arrays.push(columns.take(program, ROOT)?),
        }
        self.memory.hand_over();
        if self.reset {
            self.reset_columns();
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(&self.schema);
        Ok(Some(RecordBatch::try_new_with_options(schema, arrays, &options)?))
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// The result of reading a piece of a chunk.
enum Piece {
    Done,
    /// From this position on it has to be read again, with zero padding.
    Again(usize),
}

/// One pass over one chunk.
struct Run<'d, 'c> {
    decoder: &'d mut JsonDecoder,
    chunk: &'c Chunk<'c>,
    data: &'c [u8],
    report: Report,
    /// Number of records so far in this chunk.
    records: u64,
    after_record: bool,
    /// The position up to which line feeds were counted, and their number.
    counted: (usize, u64),
}

impl<'d, 'c> Run<'d, 'c> {
    fn new(decoder: &'d mut JsonDecoder, chunk: &'c Chunk<'c>) -> Self {
        decoder.state.left_out.values = 0;
        Self {
            decoder,
            chunk,
            data: chunk.data(),
            report: Report::default(),
            records: 0,
            after_record: false,
            counted: (0, 0),
        }
    }

    /// Reads the chunk: in place as far as the padding allows it, the rest from a copy.
    fn chunk(mut self) -> Result<Report> {
        let len = self.data.len();
        let padded = self.chunk.bytes.len().saturating_sub(PADDING_BYTES).min(len);
        let lines = self.chunk.framing == Framing::Lines;
        // Reading a line that ends inside the text does not depend on the bytes after it.
        let in_place = if lines {
            memchr::memrchr(b'\n', &self.data[..padded]).map_or(0, |at| at + 1)
        } else if padded == len {
            len
        } else {
            0
        };
        let mut rest = 0;
        // A source may start with a byte order mark.
        let mark = b"\xEF\xBB\xBF";
        let from =
            if self.chunk.position.offset == 0 && self.data.starts_with(mark) { 3 } else { 0 };
        if in_place > 0
            && let Some(input) = Input::new(self.chunk.bytes, in_place)
        {
            rest = match self.piece(input, 0, from, lines)? {
                Piece::Done => in_place,
                Piece::Again(from) => from,
            };
        }
        if rest < len {
            let mut copy = Vec::new();
            memory::resize(&mut copy, len - rest + PADDING_BYTES)?;
            copy[..len - rest].copy_from_slice(&self.data[rest..]);
            if let Some(input) = Input::new(&copy, len - rest) {
                self.piece(input, rest, from.saturating_sub(rest), true)?;
            }
        }
        self.report.records = self.records;
        if !lines {
            self.report.lines = newlines(self.data);
        }
        let left_out = &self.decoder.state.left_out;
        if left_out.values > 0 {
            self.report.left_out = left_out.values;
            self.report.left_out_key.clone_from(&left_out.key);
        }
        Ok(self.report)
    }

    /// Reads one piece, which starts at `base` of the chunk, from `from` on. `clean` is whether the
    /// bytes after it cannot affect the result.
    fn piece(&mut self, input: Input<'_>, base: usize, from: usize, clean: bool) -> Result<Piece> {
        let framing = self.chunk.framing;
        let mut pos = from;
        (self.decoder.state.mark, self.decoder.state.base) = (from, base);
        loop {
            let state = &mut self.decoder.state;
            let after_record = self.after_record;
            let progress =
                self.decoder.level.dispatch(Records { input, state, framing, pos, after_record });
            self.records += progress.records;
            self.report.lines += progress.lines;
            self.after_record |= progress.records > 0;
            pos = progress.pos;
            let Some(stop) = progress.stop else {
                let Some(fault) = progress.nulled else { return Ok(Piece::Done) };
                let error = self.error(fault, input, base, progress.start, self.records - 1);
                let end = match framing {
                    Framing::Lines => record_end(input.text(), framing, pos),
                    _ => pos,
                };
                let record = trim_space(input.slice(progress.start, end)).to_vec();
                self.report.rejects.push(Reject { error, record, kept_as_null: true });
                continue;
            };
            let state = &mut self.decoder.state;
            state.not_utf8 |= !state.careful && !state.columns.validate_text();
            let rows = state.rows;
            self.decoder.truncate_rows(rows);
            if !clean && !progress.between && stop.pos + END_BYTES >= input.end() {
                // A comma before the record was skipped.
                self.after_record = false;
                return Ok(Piece::Again(base + pos));
            }
            let fault = progress.nulled.unwrap_or(stop);
            let error = self.error(fault, input, base, pos, self.records);
            if self.decoder.state.options.on_error == OnError::Fail {
                return Err(error.into());
            }
            let end = record_end(input.text(), framing, pos);
            let record = match framing {
                Framing::Lines => trim_space(input.slice(pos, end)),
                _ => input.slice(pos, end),
            };
            let record = record.to_vec();
            let kept_as_null = self.null_row();
            self.report.rejects.push(Reject { error, record, kept_as_null });
            self.records += 1;
            self.after_record = true;
            pos = end;
        }
    }

    /// Appends a row of nulls for a malformed record, if options and columns allow it.
    fn null_row(&mut self) -> bool {
        let value_root = self.decoder.value_root;
        let state = &mut self.decoder.state;
        let program = &state.program;
        let nullable = match program.steps[ROOT].code {
            Code::Struct(object) if !value_root => {
                let object = &program.objects[object];
                (object.first..object.first + object.keys.len())
                    .all(|id| program.steps[id].nullable)
            }
            _ => program.steps[ROOT].nullable,
        };
        if state.options.on_error != OnError::Null || !nullable {
            return false;
        }
        state.columns.push_null(&state.program, ROOT);
        state.rows += 1;
        true
    }

    /// The error of the record that starts at `start` of a piece.
    fn error(
        &mut self,
        fault: Stop,
        input: Input<'_>,
        base: usize,
        start: usize,
        record: u64,
    ) -> DataError {
        let text = &input.text()[start.min(input.end())..];
        let text = match self.chunk.framing {
            Framing::Lines => memchr::memchr(b'\n', text).map_or(text, |at| &text[..at]),
            _ => text,
        };
        let offset = fault.pos - start;
        let mut path = locate::path(text, offset);
        let state = &self.decoder.state;
        let (mut expected, mut hint) = (String::new(), None);
        match fault.subject {
            Subject::Value(id) => expected = wanted(&state.program.steps[id]),
            Subject::Missing(object, field) => {
                let object = &state.program.objects[object];
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&object.keys[field]);
                expected = wanted(&state.program.steps[object.first + field]);
            }
            Subject::Grammar(wanted) => expected.push_str(wanted),
        }
        let limits = &state.options.limits;
        match fault.kind {
            ErrorKind::InvalidUtf8 => expected = "UTF-8".to_owned(),
            ErrorKind::InvalidEscape => expected = "an escape of JSON".to_owned(),
            ErrorKind::LoneSurrogate => expected = "both halves of a surrogate pair".to_owned(),
            ErrorKind::ControlCharacter => expected = "control characters escaped".to_owned(),
            ErrorKind::MissingField => expected.push_str(" that is not null"),
            ErrorKind::DepthExceeded => {
                expected = format!("at most {} nested levels", limits.depth_max);
                hint = Some("--depth-max sets the limit".to_owned());
            }
            ErrorKind::RecordTooLong => {
                expected = format!("a record of at most {} bytes", limits.record_bytes_max);
                hint = Some("--record-bytes-max sets the limit".to_owned());
            }
            ErrorKind::TrailingData => {
                hint = Some("--format concatenated takes several values on a line".to_owned());
            }
            ErrorKind::Truncated if self.chunk.framing == Framing::Lines => {
                hint = Some("--format concatenated takes values over several lines".to_owned());
            }
            _ => {}
        }
        let mut found = locate::found(text, offset);
        match fault.subject {
            Subject::Missing(..) => found = "no such key".to_owned(),
            _ if offset >= text.len() && start + offset < input.end() => {
                found = "end of line".to_owned();
            }
            _ => {}
        }
        if self.chunk.position.offset == 0 && base + start == 0 && offset == 0 {
            hint = foreign::guess(text).or(hint);
        }
        if matches!(found.as_str(), "NaN" | "Infinity") || found.starts_with("number -Inf") {
            hint = Some("--allow-nan takes it in floating-point fields".to_owned());
        }
        let position = self.position(base + fault.pos, record);
        DataError { kind: fault.kind, position, path, expected, found, hint }
    }

    /// The position of a byte of the chunk, in record `record` of it.
    fn position(&mut self, at: usize, record: u64) -> Position {
        let at = at.min(self.data.len());
        if at < self.counted.0 {
            self.counted = (0, 0);
        }
        let lines = memchr::memchr_iter(b'\n', &self.data[self.counted.0..at]).count() as u64;
        self.counted = (at, self.counted.1 + lines);
        let from = &self.chunk.position;
        Position {
            source: from.source.clone(),
            record: from.record + record,
            line: from.line + self.counted.1,
            offset: from.offset + at as u64,
        }
    }
}

/// The values that a node accepts, in the terms of schemas.
fn wanted(step: &Step) -> String {
    match step.code {
        Code::Struct(_) => "an object".to_owned(),
        Code::Json => "a JSON value".to_owned(),
        _ => format_type(&step.data_type),
    }
}
