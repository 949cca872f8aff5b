// SPDX-License-Identifier: Apache-2.0
//! [`Run`]: sorted rows in a temporary file, and [`Merge`]: several of them as one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Seek};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_row::Rows;
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::interleave::interleave_record_batch;
use arrowsmith_core::{Error, Result};

use super::key::Keys;
use super::{ROWS_MAX, failed};

/// Batches that are kept for the next batch of a merge, for each run.
const KEPT_MAX: usize = 4;

/// Sorted rows in a file without a name, which the system removes when it is closed.
pub(super) struct Run(StreamWriter<BufWriter<File>>);

impl Run {
    pub(super) fn create(schema: &SchemaRef) -> Result<Self> {
        let file = tempfile::tempfile().map_err(failed)?;
        StreamWriter::try_new(BufWriter::new(file), schema).map(Self).map_err(plain)
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.0.write(batch).map_err(plain)
    }

    fn read(self) -> Result<StreamReader<BufReader<File>>> {
        let file = self.0.into_inner().map_err(plain)?.into_inner();
        let mut file = file.map_err(|error| failed(error.into_error()))?;
        file.rewind().map_err(failed)?;
        StreamReader::try_new(BufReader::new(file), None).map_err(plain)
    }
}

/// An error of a run: of the disk, most likely.
fn plain(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, source) => failed(source),
        other => Error::Arrow(other),
    }
}

/// The rows of several runs in order. Of equal ones those of the first run are first.
pub(super) struct Merge<'a> {
    keys: &'a Keys,
    runs: Vec<Cursor>,
    /// The key of each run's next row, and the run.
    heap: BinaryHeap<Reverse<(Box<[u8]>, usize)>>,
    /// Batches that the rows of the next batch are in.
    batches: Vec<RecordBatch>,
}

/// The place in a run.
struct Cursor {
    reader: StreamReader<BufReader<File>>,
    keys: Option<Rows>,
    row: usize,
    /// Where its batch is among those of the merge.
    batch: usize,
}

impl<'a> Merge<'a> {
    pub(super) fn new(runs: Vec<Run>, keys: &'a Keys) -> Result<Self> {
        let mut merge =
            Self { keys, runs: Vec::new(), heap: BinaryHeap::new(), batches: Vec::new() };
        for (number, run) in runs.into_iter().enumerate() {
            let reader = run.read()?;
            merge.runs.push(Cursor { reader, keys: None, row: 0, batch: 0 });
            merge.load(number)?;
        }
        Ok(merge)
    }

    /// The next batch of a run, if it has one.
    fn load(&mut self, number: usize) -> Result<()> {
        let run = &mut self.runs[number];
        run.keys = None;
        for batch in run.reader.by_ref() {
            let batch = batch.map_err(plain)?;
            if batch.num_rows() == 0 {
                continue;
            }
            let keys = self.keys.of(&batch)?;
            self.heap.push(Reverse((keys.row(0).data().into(), number)));
            (run.keys, run.row, run.batch) = (Some(keys), 0, self.batches.len());
            self.batches.push(batch);
            break;
        }
        Ok(())
    }

    /// The next rows.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>> {
        let mut rows: Vec<(usize, usize)> = Vec::new();
        let kept_max = KEPT_MAX * self.runs.len();
        while rows.len() < ROWS_MAX && self.batches.len() <= kept_max {
            let Some(Reverse((_, number))) = self.heap.pop() else { break };
            let run = &mut self.runs[number];
            rows.push((run.batch, run.row));
            run.row += 1;
            match run.keys.as_ref().filter(|keys| run.row < keys.num_rows()) {
                Some(keys) => {
                    self.heap.push(Reverse((keys.row(run.row).data().into(), number)));
                }
                None => self.load(number)?,
            }
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let batches: Vec<&RecordBatch> = self.batches.iter().collect();
        let batch = interleave_record_batch(&batches, &rows)?;
        // Only those that still have rows are needed.
        let mut kept = Vec::with_capacity(self.runs.len());
        for run in self.runs.iter_mut().filter(|run| run.keys.is_some()) {
            kept.push(self.batches[run.batch].clone());
            run.batch = kept.len() - 1;
        }
        self.batches = kept;
        Ok(Some(batch))
    }
}
