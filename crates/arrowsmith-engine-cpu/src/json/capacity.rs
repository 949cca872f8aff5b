// SPDX-License-Identifier: Apache-2.0
//! Chunks whose columns exceed the memory budget.
//!
//! Columns grow within a budget. An allocation that it refuses unwinds to here; the chunk is rolled
//! back, and decoded again up to the record whose allocation was refused. The columns keep their
//! capacity, so that nothing is refused the second time. This happens once a batch at most, and
//! most batches end before.

use arrowsmith_core::memory::Refused;
use arrowsmith_core::{
    Chunk, DataError, ErrorKind, Framing, OnError, Position, Reject, Report, Result,
};

use super::decoder::JsonDecoder;
use super::records::{after_record, before_record, newlines, record_end, trim_space};

impl JsonDecoder {
    /// Decodes a chunk with columns of at most `bytes` bytes; beyond that, what was decoded has to
    /// be rolled back.
    pub(super) fn within(
        &mut self,
        bytes: usize,
        chunk: &Chunk<'_>,
    ) -> Result<Result<Report>, Refused> {
        let mut memory = self.memory.with_limit_bytes(bytes);
        let done = memory.run(|| self.pass(chunk));
        self.memory = memory;
        done
    }

    /// Decodes a chunk that exceeded the budget again: the records before the first that did not
    /// fit. A record that is the only one of its batch may take what limits allow.
    pub(super) fn split_batch(
        &mut self,
        chunk: &Chunk<'_>,
        rows: usize,
        refused: Refused,
    ) -> Result<Report> {
        let bytes_max = self.state.options.limits.batch_bytes_max;
        let ends_early = self.batch_bytes < bytes_max;
        let data = chunk.data();
        let at = (self.state.base + self.state.mark).min(data.len());
        self.truncate_rows(rows);
        self.reset = true;
        let before = Chunk { len: before_record(&data[..at], chunk.framing), ..chunk.clone() };
        let mut report = match self.within(bytes_max, &before) {
            Ok(report) => report?,
            Err(refused) => return Err(self.too_large(&refused, chunk, at, 0).into()),
        };
        report.lines = newlines(&data[..at]);
        report.unread = data.len() - at;
        if ends_early && self.state.rows > 0 {
            return Ok(report);
        }
        let error = self.too_large(&refused, chunk, at, report.records);
        if !ends_early {
            return Err(error.into());
        }
        if !self.oversize {
            return Ok(report);
        }
        self.reset_columns();
        let end = record_end(data, chunk.framing, at);
        let next = after_record(data, chunk.framing, end);
        let bytes = &chunk.bytes[at..];
        let position = Position { source: chunk.position.source.clone(), ..error.position };
        // With its line end, which errors tell of.
        let len = if chunk.framing == Framing::Lines { next - at } else { end - at };
        let one = Chunk { bytes, len, framing: chunk.framing, position };
        match self.within(bytes_max, &one) {
            Ok(said) => {
                let said = said?;
                report.records += said.records;
                report.rejects.extend(said.rejects);
                report.left_out += said.left_out;
                report.left_out_key = report.left_out_key.or(said.left_out_key);
            }
            Err(refused) => {
                self.truncate_rows(0);
                let error = self.too_large(&refused, chunk, at, report.records);
                if self.state.options.on_error == OnError::Fail {
                    return Err(error.into());
                }
                let record = trim_space(&data[at..end]).to_vec();
                report.rejects.push(Reject { error, record, kept_as_null: false });
                report.records += 1;
            }
        }
        report.lines = newlines(&data[..next]);
        report.unread = data.len() - next;
        Ok(report)
    }

    /// The error of a record, the one at byte `at` of a chunk, that takes more memory than there
    /// is.
    fn too_large(
        &self,
        refused: &Refused,
        chunk: &Chunk<'_>,
        at: usize,
        records: u64,
    ) -> DataError {
        let from = &chunk.position;
        let bytes_max = self.state.options.limits.batch_bytes_max;
        DataError {
            kind: ErrorKind::Limit,
            position: Position {
                source: from.source.clone(),
                record: from.record + records,
                line: from.line + newlines(&chunk.data()[..at]),
                offset: from.offset + at as u64,
            },
            path: String::new(),
            expected: format!("columns of at most {bytes_max} bytes (batch_bytes_max)"),
            found: refused.to_string(),
            hint: Some("--batch-bytes-max sets the limit".to_owned()),
        }
    }
}
