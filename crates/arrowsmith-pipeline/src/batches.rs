// SPDX-License-Identifier: Apache-2.0
//! The batches of a pipeline, in the order of the input.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrowsmith_core::{DataError, Error, Result};

use crate::Progress;
use crate::cut::{Buffers, Cutter, Piece};
use crate::in_flight::{Budget, Load};
use crate::order::Assembler;
use crate::pool::Pool;
use crate::work::{Output, Worker, guarded};

/// Returns the batches of a pipeline in order. An error is the last item, after the rows before it.
/// Dropping it stops the threads.
pub struct BatchIter {
    schema: SchemaRef,
    /// The schema with which decoding begins.
    decoded: SchemaRef,
    runner: Runner,
    assembler: Assembler,
    progress: Arc<Progress>,
    done: bool,
}

/// What [`BatchIter::turn`] returns.
#[derive(Debug)]
pub enum Turn {
    /// The next batch.
    Batch(RecordBatch),
    /// There is none yet, and the caller requested a pause.
    Paused,
    /// There are no more.
    End,
}

/// What decodes.
pub(crate) enum Runner {
    /// This thread, one piece at a time.
    Inline(Box<Inline>),
    /// Threads.
    Pool(Pool),
    /// Nothing: the pipeline has ended.
    Ended,
}

/// The state for decoding on the caller's thread.
pub(crate) struct Inline {
    pub(crate) cutter: Cutter,
    pub(crate) worker: Worker,
    pub(crate) buffers: Buffers,
    pub(crate) budget: Budget,
    pub(crate) load: Load,
    /// The piece of which only a part was decoded, and the byte to continue at.
    pub(crate) part: Option<(Piece, usize)>,
}

impl Inline {
    fn next(&mut self) -> Result<Option<Output>> {
        if let Some((piece, from)) = self.part.take() {
            return Ok(Some(self.decode(piece, from)));
        }
        let target = self.load.target(self.budget);
        let piece = match guarded(|| self.cutter.next(target)) {
            Ok(Some(piece)) => piece,
            Ok(None) => return Ok(None),
            Err(error) => {
                let first = self.cutter.at_start();
                return Ok(Some(Output { first, ..Output::failed(error) }));
            }
        };
        Ok(Some(self.decode(piece, 0)))
    }

    fn decode(&mut self, piece: Piece, from: usize) -> Output {
        let output = self.worker.run(&piece, from);
        let read = output.next.unwrap_or(piece.len) - from;
        self.load.learn(read, output.bytes(), output.next.is_some());
        match output.next {
            Some(next) => self.part = Some((piece, next)),
            None => self.buffers.recycle(piece),
        }
        output
    }
}

impl Runner {
    fn next(&mut self) -> Result<Option<Output>> {
        match self {
            Self::Inline(inline) => inline.next(),
            Self::Pool(pool) => pool.next(),
            Self::Ended => Ok(None),
        }
    }
}

impl BatchIter {
    pub(crate) fn new(
        schema: SchemaRef,
        decoded: SchemaRef,
        runner: Runner,
        assembler: Assembler,
        progress: Arc<Progress>,
    ) -> Self {
        Self { schema, decoded, runner, assembler, progress, done: false }
    }

    /// Stops the threads; waits for them.
    pub(crate) fn stop(&mut self) {
        self.runner = Runner::Ended;
        self.done = true;
    }

    /// The schema of every batch, unless it grows: then that of the first.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The schema with which decoding begins: that of the batches before columns are added and
    /// dropped.
    pub(crate) fn decoded(&self) -> &SchemaRef {
        &self.decoded
    }

    /// Why rows are missing, of which the condition could not be decided.
    pub(crate) fn take_refused(&mut self) -> Option<Error> {
        self.assembler.take_refused()
    }

    /// The first value, in the order of the input, that made the schema grow.
    pub fn late(&self) -> Option<&DataError> {
        self.assembler.late()
    }

    /// The progress of the pipeline.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Maximum bytes in flight so far.
    #[cfg(test)]
    pub(crate) fn bytes_peak(&self) -> usize {
        match &self.runner {
            Runner::Pool(pool) => pool.bytes_peak(),
            _ => 0,
        }
    }
}

impl BatchIter {
    /// The next batch, or a pause where `pause` says so: after a piece of text without one, such as
    /// a piece of rejects only.
    ///
    /// # Errors
    /// As the iterator, after which there is no more.
    pub fn turn(&mut self, pause: &dyn Fn() -> bool) -> Result<Turn> {
        while !self.done {
            if let Some(batch) = self.assembler.pop() {
                self.done = batch.is_err();
                return batch.map(Turn::Batch);
            }
            if self.assembler.has_ended() {
                self.done = true;
                break;
            }
            match self.runner.next() {
                Ok(Some(output)) => self.assembler.push(output),
                Ok(None) => self.assembler.end(),
                Err(error) => self.assembler.fail(error),
            }
            if self.assembler.has_ended() {
                self.runner = Runner::Ended;
            } else if pause() {
                return Ok(Turn::Paused);
            }
        }
        Ok(Turn::End)
    }
}

impl Iterator for BatchIter {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.turn(&|| false) {
            Ok(Turn::Batch(batch)) => Some(Ok(batch)),
            Ok(Turn::Paused | Turn::End) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl std::iter::FusedIterator for BatchIter {}
