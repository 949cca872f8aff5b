// SPDX-License-Identifier: Apache-2.0
//! The oracle's records: rules 1 to 5 (framing, limits) and 19 to 21 (handling of bad records).

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, SchemaRef};
use arrowsmith_core::{
    Chunk, DataError, DecodeOptions, Decoder, ErrorKind, Framing, OnError, Position, Reject,
    Report, Result,
};
use arrowsmith_plan::{Op, Plan};

use super::array;
use super::cell::Cell;
use super::reader::{Fault, Reader, is_space};
use super::skip::record_end;

/// A plan, and the rows since the last flush.
pub(super) struct OracleDecoder {
    plan: Arc<Plan>,
    options: DecodeOptions,
    rows: Vec<Cell>,
}

/// The position of a record in its chunk.
struct Place {
    /// Its first byte.
    start: usize,
    /// The end of its line, or of the chunk.
    end: usize,
    /// The line without the white space around it, if records are lines.
    line: Option<(usize, usize)>,
    /// Whether an unexpected comma is an empty record.
    in_array: bool,
}

impl OracleDecoder {
    pub(super) fn new(plan: Arc<Plan>, options: DecodeOptions) -> Self {
        Self { plan, options, rows: Vec::new() }
    }

    fn lines(&mut self, chunk: &Chunk<'_>, mut at: usize, report: &mut Report) -> Result<()> {
        let data = chunk.data();
        while at < data.len() {
            let rest = &data[at..];
            let feed = rest.iter().position(|&byte| byte == b'\n').map(|len| at + len);
            let end = feed.unwrap_or(data.len());
            let line = &data[at..end];
            if let Some(blank) = line.iter().position(|&byte| !is_space(byte)) {
                let used = line.iter().rposition(|&byte| !is_space(byte)).unwrap_or(blank);
                let line = Some((at + blank, at + used + 1));
                let place = Place { start: at + blank, end, line, in_array: false };
                self.record(chunk, &place, report)?;
            }
            at = end + 1;
        }
        Ok(())
    }

    fn concatenated(&mut self, chunk: &Chunk<'_>, at: usize, report: &mut Report) -> Result<()> {
        let data = chunk.data();
        let mut at = skip_space(data, at);
        while at < data.len() {
            let place = Place { start: at, end: data.len(), line: None, in_array: false };
            at = skip_space(data, self.record(chunk, &place, report)?);
        }
        Ok(())
    }

    fn array(&mut self, chunk: &Chunk<'_>, at: usize, report: &mut Report) -> Result<()> {
        let data = chunk.data();
        let mut at = skip_space(data, at);
        if at == data.len() {
            return Ok(());
        }
        loop {
            let place = Place { start: at, end: data.len(), line: None, in_array: true };
            at = skip_space(data, self.record(chunk, &place, report)?);
            // Text in place of a comma is a bad record of its own.
            while at < data.len() && data[at] != b',' {
                let place = Place { start: at, end: data.len(), line: None, in_array: true };
                let fault = Fault { kind: ErrorKind::Syntax, offset: at, path: String::new() };
                at = skip_space(data, self.bad_record(chunk, &place, fault, report)?);
            }
            if at == data.len() {
                return Ok(());
            }
            at = skip_space(data, at + 1);
            if at == data.len() {
                let place = Place { start: at, end: at, line: None, in_array: true };
                let fault = Fault { kind: ErrorKind::Syntax, offset: at, path: String::new() };
                self.bad_record(chunk, &place, fault, report)?;
                return Ok(());
            }
        }
    }

    /// Decodes one record; returns its end.
    fn record(&mut self, chunk: &Chunk<'_>, place: &Place, report: &mut Report) -> Result<usize> {
        let plan = Arc::clone(&self.plan);
        let options = self.options.clone();
        let mut reader = Reader::new(chunk.data(), place.start, place.end, &options);
        let result = reader.value(plan.root()).and_then(|cell| {
            let end = reader.at;
            reader.space();
            if place.line.is_some() && reader.at < place.end {
                return Err(reader.fault(ErrorKind::TrailingData, reader.at));
            }
            if end - place.start > options.limits.record_bytes_max {
                return Err(reader.fault(ErrorKind::RecordTooLong, place.start));
            }
            Ok((cell, end))
        });
        match result {
            Ok((cell, end)) => {
                if let Some(fault) = reader.replaced {
                    let text = place.line.unwrap_or((place.start, end));
                    self.reject(chunk, fault, text, true, report);
                }
                report.records += 1;
                self.rows.push(cell);
                Ok(end)
            }
            Err(fault) => {
                let fault = reader.replaced.unwrap_or(fault);
                self.bad_record(chunk, place, fault, report)
            }
        }
    }

    /// Handles a bad record as the options require; returns its end.
    fn bad_record(
        &mut self,
        chunk: &Chunk<'_>,
        place: &Place,
        fault: Fault,
        report: &mut Report,
    ) -> Result<usize> {
        let end = match place.line {
            Some(_) => place.end,
            None => record_end(chunk.data(), place.start, place.in_array),
        };
        let text = place.line.unwrap_or((place.start, end));
        let null = self.options.on_error == OnError::Null;
        let row = if null { self.null_row() } else { None };
        if self.options.on_error == OnError::Fail {
            return Err(self.error(chunk, fault, report.records).into());
        }
        self.reject(chunk, fault, text, row.is_some(), report);
        self.rows.extend(row);
        report.records += 1;
        Ok(end)
    }

    /// A row of nulls, if every column may be null.
    fn null_row(&self) -> Option<Cell> {
        match (&self.plan.root().op, self.plan.is_value_root()) {
            (_, true) => self.plan.root().nullable.then_some(Cell::Null),
            (Op::Struct(fields), false) => {
                let all = fields.iter().all(|field| field.node.nullable);
                all.then(|| Cell::Struct(vec![Cell::Null; fields.len()]))
            }
            _ => None,
        }
    }

    fn reject(
        &self,
        chunk: &Chunk<'_>,
        fault: Fault,
        text: (usize, usize),
        kept_as_null: bool,
        report: &mut Report,
    ) {
        let record = chunk.data()[text.0..text.1].to_vec();
        let error = self.error(chunk, fault, report.records);
        report.rejects.push(Reject { error, record, kept_as_null });
    }

    fn error(&self, chunk: &Chunk<'_>, fault: Fault, record: u64) -> DataError {
        let data = chunk.data();
        let start = &chunk.position;
        let position = Position {
            source: start.source.clone(),
            record: start.record + record,
            line: start.line + newlines(&data[..fault.offset]),
            offset: start.offset + fault.offset as u64,
        };
        let shown = &data[fault.offset..data.len().min(fault.offset + 20)];
        DataError {
            kind: fault.kind,
            position,
            path: fault.path,
            expected: "what docs/design/0002-json-semantics.md says".to_owned(),
            found: format!("{:?}", String::from_utf8_lossy(shown)),
            hint: None,
        }
    }
}

impl Decoder for OracleDecoder {
    fn decode(&mut self, chunk: &Chunk<'_>) -> Result<Report> {
        let data = chunk.data();
        let mut report = Report { lines: newlines(data), ..Report::default() };
        let marked = chunk.position.offset == 0 && data.starts_with(b"\xEF\xBB\xBF");
        let at = if marked { 3 } else { 0 };
        match chunk.framing {
            Framing::Lines => self.lines(chunk, at, &mut report)?,
            Framing::Concatenated => self.concatenated(chunk, at, &mut report)?,
            Framing::Array => self.array(chunk, at, &mut report)?,
        }
        Ok(report)
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>> {
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() { Ok(None) } else { batch(&self.plan, &rows).map(Some) }
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(self.plan.schema())
    }
}

/// The batch of these rows, each the cell of a record.
///
/// # Errors
/// If Arrow rejects them: more distinct values than a dictionary has keys.
pub fn batch(plan: &Plan, rows: &[Cell]) -> Result<RecordBatch> {
    let schema = plan.schema();
    let cells: Vec<&Cell> = rows.iter().collect();
    let columns = if plan.is_value_root() {
        vec![array::build(schema.field(0).data_type(), &cells)?]
    } else {
        let root = array::build(&DataType::Struct(schema.fields().clone()), &cells)?;
        arrow_array::cast::AsArray::as_struct(&root).columns().to_vec()
    };
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

fn skip_space(data: &[u8], at: usize) -> usize {
    at + data[at..].iter().take_while(|&&byte| is_space(byte)).count()
}

fn newlines(data: &[u8]) -> u64 {
    data.iter().filter(|&&byte| byte == b'\n').count() as u64
}
