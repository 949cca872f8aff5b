// SPDX-License-Identifier: Apache-2.0
//! A portion in flight: its fields, their decoded rows, and the batches made of them.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrowsmith_core::{Error, Result};
use arrowsmith_parquet::{Claim, Held};

use super::field::FieldTask;
use super::portion::{Portion, Started, fewer};

/// Minimum limit on the bytes of a field in a batch, however many fields there are.
const FIELD_BYTES_MIN: usize = 64 << 10;

/// The decoded rows of a field.
pub(crate) struct Ready {
    pub(crate) array: ArrayRef,
    /// Rows that were decoded for it, including those that the mask removed.
    pub(crate) rows: usize,
    /// Memory that it takes up, in bytes.
    pub(crate) bytes: usize,
    /// The same, as a share of all portions' memory.
    pub(crate) held: Held,
}

/// One batch, in pieces.
pub(crate) struct Pieces {
    pub(crate) columns: Vec<ArrayRef>,
    pub(crate) rows: usize,
}

pub(super) enum Stage {
    Waiting(Arc<Portion>),
    Starting,
    Running,
    Failed(Error),
}

pub(super) struct InFlight {
    pub(super) stage: Stage,
    pub(super) claim: Arc<Claim>,
    /// The portion, for a restart; `None` once rows were returned.
    pub(super) portion: Option<Arc<Portion>>,
    /// Fields whose stored bytes were counted, before a restart.
    pub(super) counted: Vec<bool>,
    pub(super) fields: Vec<Slot>,
    /// The started portion, without its fields.
    pub(super) work: Started,
    /// Rows of a batch, counted from row `base`.
    pub(super) batch_rows: usize,
    pub(super) base: usize,
    /// Rows that were returned.
    pub(super) taken: usize,
    /// Decoded bytes of the next batch.
    pub(super) bytes_next: usize,
    /// Idle fields, by the rows that were begun: an ordered set, because there may be thousands of
    /// fields, and each of their batches is looked up here.
    pub(super) idle: BTreeSet<(usize, usize)>,
    /// Fields that have no batch ready.
    pub(super) empty: usize,
    /// Fields that failed.
    pub(super) failed: usize,
}

impl InFlight {
    pub(super) fn new(stage: Stage, claim: Arc<Claim>) -> Self {
        let portion = match &stage {
            Stage::Waiting(portion) => Some(Arc::clone(portion)),
            _ => None,
        };
        Self {
            stage,
            claim,
            portion,
            counted: Vec::new(),
            fields: Vec::new(),
            work: Started::empty(),
            batch_rows: 1,
            base: 0,
            taken: 0,
            bytes_next: 0,
            idle: BTreeSet::new(),
            empty: 0,
            failed: 0,
        }
    }
}

impl InFlight {
    /// Adds the fields, and the limit of each in a batch, in total at most twice `bytes`: an equal
    /// share, or its share of the stored bytes.
    pub(super) fn run(&mut self, mut started: Started, bytes: usize, rows_max: usize) {
        let mut fields = std::mem::take(&mut started.fields);
        for (task, counted) in fields.iter_mut().zip(&self.counted) {
            task.bytes_stored = if *counted { 0 } else { task.bytes_stored };
        }
        let all = fields.iter().fold(0_u64, |sum, task| sum.saturating_add(task.weight)).max(1);
        let even = bytes / fields.len().max(1);
        let slots = fields.into_iter().map(|task| {
            let part = bytes as u128 * u128::from(task.weight) / u128::from(all);
            let part = usize::try_from(part).unwrap_or(bytes);
            Slot {
                task: Some(Box::new(task)),
                begun: 0,
                asked: 0,
                ready: VecDeque::new(),
                failed: None,
                bytes_last: 0,
                bytes_max: even.max(part).max(FIELD_BYTES_MIN),
            }
        });
        self.fields = slots.collect();
        self.batch_rows = started.batch_rows.min(rows_max).max(1);
        self.empty = self.fields.len();
        if started.rows > 0 {
            self.idle = (0..self.fields.len()).map(|at| (0, at)).collect();
        }
        self.work = started;
        self.stage = Stage::Running;
    }

    /// Drops what was decoded, for a restart with another claim; returns how many bytes were
    /// expected. Running tasks are dropped when they finish: their claim is the old one.
    pub(super) fn begin_again(&mut self, claim: Arc<Claim>) -> usize {
        let Some(portion) = self.portion.clone() else { return 0 };
        let fields = std::mem::take(&mut self.fields);
        let mut bytes = 0;
        self.counted.resize(fields.len().max(self.counted.len()), false);
        for (slot, counted) in fields.iter().zip(&mut self.counted) {
            *counted |= slot.begun > 0;
            bytes += slot.ready.iter().map(|ready| ready.bytes).sum::<usize>();
            bytes += if slot.task.is_none() && slot.failed.is_none() { slot.bytes_last } else { 0 };
        }
        let counted = std::mem::take(&mut self.counted);
        *self = Self { counted, ..Self::new(Stage::Waiting(portion), claim) };
        bytes
    }

    /// Rows from `begun` to the end of a batch.
    pub(super) fn rows_from(&self, begun: usize) -> usize {
        let batch = begun.saturating_sub(self.base) / self.batch_rows;
        let end = batch.saturating_add(1).saturating_mul(self.batch_rows).saturating_add(self.base);
        end.min(self.work.rows) - begun
    }

    /// Adds the decoded rows of a field; returns their bytes.
    pub(super) fn decoded(
        &mut self,
        field: usize,
        task: Box<FieldTask>,
        array: Result<Ready>,
    ) -> usize {
        let limit = self.work.budget.as_ref();
        let next = self.bytes_next;
        let Some(slot) = self.fields.get_mut(field) else { return 0 };
        let first = slot.ready.is_empty();
        let array = array.and_then(|ready| match limit {
            _ if ready.rows == 0 || ready.rows > slot.asked => Err(fewer()),
            Some(limit) if first && next.saturating_add(ready.bytes) > limit.bytes_max() => {
                Err(limit.exceeded(next.saturating_add(ready.bytes)))
            }
            _ => Ok(ready),
        });
        match array {
            Ok(ready) => {
                let (rows, bytes) = (ready.rows, ready.bytes);
                slot.begun = slot.begun - slot.asked + rows;
                slot.task = Some(task);
                slot.bytes_last = bytes;
                slot.ready.push_back(ready);
                if first {
                    self.empty -= 1;
                    self.bytes_next += bytes;
                }
                let (begun, short) = (slot.begun, rows < slot.asked);
                if begun < self.work.rows {
                    self.idle.insert((begun, field));
                }
                if short && rows < self.batch_rows {
                    (self.batch_rows, self.base) = (rows, self.taken);
                }
                bytes
            }
            Err(error) => {
                slot.failed = Some(error);
                self.failed += 1;
                0
            }
        }
    }

    /// Takes the next batch from the decoded rows, which every field has; returns its bytes.
    pub(super) fn next_batch(&mut self) -> (Pieces, usize) {
        let ready = self.fields.iter().filter_map(|slot| slot.ready.front());
        let rows = ready.map(|ready| ready.rows).min();
        let rows = rows.unwrap_or_else(|| self.rows_from(self.taken));
        let kept = self.work.kept(self.taken..self.taken + rows);
        self.taken += rows;
        self.portion = None;
        self.bytes_next = 0;
        let mut bytes = 0;
        let mut columns = Vec::with_capacity(self.fields.len());
        for slot in &mut self.fields {
            if let Some(front) = slot.ready.front_mut()
                && front.rows > rows
            {
                columns.push(front.array.slice(0, kept));
                front.array = front.array.slice(kept, front.array.len() - kept);
                front.rows -= rows;
            } else if let Some(front) = slot.ready.pop_front() {
                columns.push(front.array);
                bytes += front.bytes;
                drop(front.held);
            }
            self.bytes_next += slot.ready.front().map_or(0, |front| front.bytes);
            self.empty += usize::from(slot.ready.is_empty());
        }
        (Pieces { columns, rows: kept }, bytes)
    }
}

/// A field of a portion.
pub(super) struct Slot {
    /// `None` while a thread decodes it.
    pub(super) task: Option<Box<FieldTask>>,
    /// Rows that were begun, and of them those of the last job.
    pub(super) begun: usize,
    pub(super) asked: usize,
    pub(super) ready: VecDeque<Ready>,
    /// The error after which there are no more.
    pub(super) failed: Option<Error>,
    /// Bytes of the last batch: the estimate for the next one.
    pub(super) bytes_last: usize,
    /// Maximum bytes of a batch.
    pub(super) bytes_max: usize,
}
