// SPDX-License-Identifier: Apache-2.0
//! [`SortSink`]: a file whose rows are sorted, in bounded memory: a sink before another
//! one.
//!
//! Rows are collected up to [`SortOptions::bytes_max`]. If there are more, what has been collected
//! is sorted and written to a temporary file, a *run*; at the end the runs are merged into the
//! next sink. Rows with equal keys keep their order. Nulls are last, in both directions.

mod key;
mod run;
#[cfg(test)]
mod tests;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::interleave::interleave_record_batch;
use arrowsmith_core::sink::{Sink, SinkSummary};
use arrowsmith_core::{Error, Result};

use self::key::Keys;
pub use self::key::SortKey;
use self::run::{Merge, Run};

/// Maximum number of runs that are merged at once; before there are more, they become one.
const RUNS_MAX: usize = 64;

/// Maximum rows of a batch that is written.
const ROWS_MAX: usize = 8192;

/// How the rows of a file are sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortOptions {
    /// The columns, the most significant first.
    pub keys: Vec<SortKey>,
    /// Collected rows of a file, in bytes, above which they are sorted and go to a temporary file.
    /// Sorting and merging need about as much again. Default 256 MiB.
    pub bytes_max: usize,
}

impl Default for SortOptions {
    fn default() -> Self {
        Self { keys: Vec::new(), bytes_max: 256 << 20 }
    }
}

/// Sorts what it is given, and writes it to another sink at the end.
pub struct SortSink {
    sink: Box<dyn Sink>,
    keys: Keys,
    bytes_max: usize,
    waiting: Vec<RecordBatch>,
    waiting_bytes: usize,
    runs: Vec<Run>,
    summary: SinkSummary,
}

impl SortSink {
    /// Sorts the rows of a sink of this schema.
    ///
    /// # Errors
    /// [`Error::Schema`] for a column that does not exist or has no order; [`Error::Config`] for no
    /// columns.
    pub fn new(sink: Box<dyn Sink>, schema: &SchemaRef, options: &SortOptions) -> Result<Self> {
        Ok(Self {
            sink,
            keys: Keys::new(schema, &options.keys)?,
            bytes_max: options.bytes_max.max(1),
            waiting: Vec::new(),
            waiting_bytes: 0,
            runs: Vec::new(),
            summary: SinkSummary::default(),
        })
    }

    /// Sorts what has been collected, and gives it away in order, batch by batch.
    fn sorted(&mut self, mut each: impl FnMut(RecordBatch) -> Result<()>) -> Result<()> {
        let batches = std::mem::take(&mut self.waiting);
        let bytes = std::mem::take(&mut self.waiting_bytes);
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        let keys = batches.iter().map(|batch| self.keys.of(batch)).collect::<Result<Vec<_>>>()?;
        let mut order: Vec<(u32, u32)> = Vec::with_capacity(rows);
        for (number, batch) in (0..).zip(&batches) {
            let rows = u32::try_from(batch.num_rows()).unwrap_or(u32::MAX);
            order.extend((0..rows).map(|row| (number, row)));
        }
        // Stable by the place of a row.
        order.sort_unstable_by(|one, other| {
            let key = |at: &(u32, u32)| keys[at.0 as usize].row(at.1 as usize);
            key(one).cmp(&key(other)).then_with(|| one.cmp(other))
        });
        drop(keys);
        let batches: Vec<&RecordBatch> = batches.iter().collect();
        for chunk in order.chunks(rows_of(self.bytes_max, bytes, rows)) {
            let chunk: Vec<(usize, usize)> =
                chunk.iter().map(|(batch, row)| (*batch as usize, *row as usize)).collect();
            each(interleave_record_batch(&batches, &chunk)?)?;
        }
        Ok(())
    }

    /// Writes what has been collected to a run.
    fn spill(&mut self) -> Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        if self.runs.len() >= RUNS_MAX {
            let mut run = Run::create(self.waiting[0].schema_ref())?;
            let mut merge = Merge::new(std::mem::take(&mut self.runs), &self.keys)?;
            while let Some(batch) = merge.next()? {
                run.write(&batch)?;
            }
            self.runs.push(run);
        }
        let mut run = Run::create(self.waiting[0].schema_ref())?;
        self.sorted(|batch| run.write(&batch))?;
        self.runs.push(run);
        Ok(())
    }
}

impl Sink for SortSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.summary.count(batch);
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.waiting_bytes += slice_bytes(batch);
        self.waiting.push(batch.clone());
        if self.waiting_bytes >= self.bytes_max { self.spill() } else { Ok(()) }
    }

    /// Bytes that the next sink has written: all of them at the end.
    fn bytes(&mut self) -> Result<u64> {
        self.sink.bytes()
    }

    fn held_bytes(&self) -> u64 {
        self.waiting_bytes as u64 + self.sink.held_bytes()
    }

    fn release(&mut self) -> Result<()> {
        if self.waiting.is_empty() { self.sink.release() } else { self.spill() }
    }

    fn finish(mut self: Box<Self>) -> Result<SinkSummary> {
        if self.runs.is_empty() {
            let mut sorted = Vec::new();
            self.sorted(|batch| {
                sorted.push(batch);
                Ok(())
            })?;
            sorted.iter().try_for_each(|batch| self.sink.write(batch))?;
        } else {
            self.spill()?;
            let mut merge = Merge::new(std::mem::take(&mut self.runs), &self.keys)?;
            while let Some(batch) = merge.next()? {
                self.sink.write(&batch)?;
            }
        }
        let bytes = self.sink.finish()?.bytes;
        Ok(SinkSummary { bytes, ..self.summary })
    }
}

/// Rows of a batch of a run, such that a batch of each of [`RUNS_MAX`] runs is within the memory.
fn rows_of(bytes_max: usize, bytes: usize, rows: usize) -> usize {
    let row_bytes = bytes.checked_div(rows).unwrap_or(0).max(1);
    (bytes_max / RUNS_MAX / row_bytes).clamp(1, ROWS_MAX)
}

/// Bytes of the rows of a batch, which may be a part of larger buffers.
fn slice_bytes(batch: &RecordBatch) -> usize {
    let bytes = batch.columns().iter().map(|array| {
        let data = array.to_data();
        data.get_slice_memory_size().unwrap_or_else(|_| data.get_array_memory_size())
    });
    bytes.sum()
}

/// The error for a temporary file.
fn failed(error: std::io::Error) -> Error {
    Error::io(std::env::temp_dir(), error)
}
