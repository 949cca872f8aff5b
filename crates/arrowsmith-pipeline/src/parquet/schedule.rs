// SPDX-License-Identifier: Apache-2.0
//! What to do next: portions in flight, their fields, and how much memory they hold.
//!
//! This is a plain structure without threads or locks. Jobs are given out oldest portion first; a job that
//! the next batch waits for is given out always, any other only while there is room.
//!
//! A job is told how many bytes it may come to. A field whose rows are larger than the file let expect gives
//! fewer of them; then the batch is as short as that, and so are those behind it.

use std::collections::{BTreeSet, VecDeque};

use arrow_array::ArrayRef;
use arrowsmith_core::{Error, Result};

use super::cursor::Cursor;
use super::field::FieldTask;
use super::portion::{Portion, Started, fewer};

/// Batches of one field that may wait for those of others.
const AHEAD_MAX: usize = 8;

/// Bytes that a field may come to in a batch, however many fields there are.
const FIELD_BYTES_MIN: usize = 64 << 10;

/// Bytes that all fields may come to in a batch, however little memory there is.
const BATCH_BYTES_MIN: usize = 8 << 20;

/// One thing to do, outside of any lock.
pub(crate) enum Job {
    /// Ask for the next portion.
    Advance(Box<Cursor>),
    /// Begin with a portion.
    Start(u64, Box<Portion>),
    /// Decode a batch of a field.
    Decode { portion: u64, field: usize, rows: usize, bytes_max: usize, task: Box<FieldTask> },
}

/// What a job came to.
pub(crate) enum Done {
    Advanced(Box<Cursor>, Result<Option<Portion>>),
    Started(u64, Result<Started>),
    Decoded { portion: u64, field: usize, task: Box<FieldTask>, array: Result<Ready> },
}

/// What a field has decoded.
pub(crate) struct Ready {
    pub(crate) array: ArrayRef,
    /// Rows that were decoded for it: some of them may have been taken out.
    pub(crate) rows: usize,
    /// Memory that it takes up, in bytes.
    pub(crate) bytes: usize,
}

/// One batch, in pieces.
pub(crate) struct Pieces {
    pub(crate) columns: Vec<ArrayRef>,
    pub(crate) rows: usize,
}

enum Stage {
    Waiting(Box<Portion>),
    Starting,
    Running,
    Failed(Error),
}

struct InFlight {
    stage: Stage,
    fields: Vec<Slot>,
    /// What is decoded, without its fields.
    work: Started,
    /// Rows of a batch, counted from row `base`.
    batch_rows: usize,
    base: usize,
    /// Rows that were handed out.
    taken: usize,
    /// Bytes of what is ready of the next batch.
    bytes_next: usize,
    /// Fields that somebody could go on with, by the rows that were begun: there may be thousands of
    /// fields, and each of their batches comes by here.
    idle: BTreeSet<(usize, usize)>,
    /// Fields that have no batch ready.
    empty: usize,
    /// Fields that failed.
    failed: usize,
}

impl InFlight {
    fn new(stage: Stage) -> Self {
        Self {
            stage,
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
    /// Takes in the fields, and what each may come to in a batch, all in all twice `bytes` at most: as much as
    /// any other, or its part of what the file says.
    fn run(&mut self, mut started: Started, bytes: usize, rows_max: usize) {
        let fields = std::mem::take(&mut started.fields);
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

    /// Rows from `begun` to the end of a batch.
    fn rows_from(&self, begun: usize) -> usize {
        let batch = begun.saturating_sub(self.base) / self.batch_rows;
        let end = batch.saturating_add(1).saturating_mul(self.batch_rows).saturating_add(self.base);
        end.min(self.work.rows) - begun
    }

    /// Takes in what a field has decoded; says how many bytes that is.
    fn decoded(&mut self, field: usize, task: Box<FieldTask>, array: Result<Ready>) -> usize {
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

    /// Takes the next batch out of what is ready, which every field has something of; says how many bytes it
    /// was.
    fn next_batch(&mut self) -> (Pieces, usize) {
        let ready = self.fields.iter().filter_map(|slot| slot.ready.front());
        let rows = ready.map(|ready| ready.rows).min();
        let rows = rows.unwrap_or_else(|| self.rows_from(self.taken));
        let kept = self.work.kept(self.taken..self.taken + rows);
        self.taken += rows;
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
            }
            self.bytes_next += slot.ready.front().map_or(0, |front| front.bytes);
            self.empty += usize::from(slot.ready.is_empty());
        }
        (Pieces { columns, rows: kept }, bytes)
    }
}

/// A field of a portion.
struct Slot {
    /// Away while somebody decodes.
    task: Option<Box<FieldTask>>,
    /// Rows that were begun, and of them those that were asked for last.
    begun: usize,
    asked: usize,
    ready: VecDeque<Ready>,
    /// Why there are no more.
    failed: Option<Error>,
    /// Bytes of the last batch: what the next will probably be.
    bytes_last: usize,
    /// Bytes that a batch may come to.
    bytes_max: usize,
}

/// All that is in flight.
pub(crate) struct Schedule {
    /// Away while somebody advances; gone at the end.
    cursor: Option<Box<Cursor>>,
    advancing: bool,
    portions: VecDeque<InFlight>,
    /// Number of the first of `portions`.
    first: u64,
    /// Decoded and not handed out, and what is being decoded, in bytes.
    bytes: usize,
    bytes_max: usize,
    bytes_peak: usize,
    portions_max: usize,
    moves: u64,
    /// Rows of a batch, as short as batches had to be.
    rows_max: usize,
}

impl Schedule {
    pub(crate) fn new(cursor: Cursor, bytes_max: usize, threads: usize) -> Self {
        Self {
            cursor: Some(Box::new(cursor)),
            advancing: false,
            portions: VecDeque::new(),
            first: 0,
            bytes: 0,
            bytes_max,
            bytes_peak: 0,
            portions_max: if threads == 1 { 1 } else { threads + 2 },
            moves: 0,
            rows_max: usize::MAX,
        }
    }

    /// Whether what is not waited for may be done too.
    fn room(&self) -> bool {
        let budgets = self.portions.iter().filter_map(|portion| portion.work.budget.as_ref());
        let excess = budgets.fold(0_usize, |sum, budget| sum.saturating_add(budget.excess()));
        self.bytes.saturating_add(excess) < self.bytes_max
    }

    /// The next job, if there is one now.
    pub(crate) fn job(&mut self) -> Option<Job> {
        let room = self.room();
        for place in 0..self.portions.len() {
            let number = self.first + place as u64;
            let portion = &mut self.portions[place];
            if matches!(portion.stage, Stage::Waiting(_)) && (place == 0 || room) {
                let before = std::mem::replace(&mut portion.stage, Stage::Starting);
                if let Stage::Waiting(waiting) = before {
                    return Some(Job::Start(number, waiting));
                }
            }
            if !matches!(portion.stage, Stage::Running) {
                continue;
            }
            let Some(&(begun, field)) = portion.idle.first() else { continue };
            let urgent = place == 0 && begun == portion.taken;
            let ahead = begun - portion.taken;
            if !urgent && (!room || ahead / AHEAD_MAX >= portion.batch_rows) {
                continue;
            }
            portion.idle.pop_first();
            let rows = portion.rows_from(begun);
            let slot = &mut portion.fields[field];
            if let Some(task) = slot.task.take() {
                slot.asked = rows;
                slot.begun += rows;
                self.bytes += slot.bytes_last;
                self.bytes_peak = self.bytes_peak.max(self.bytes);
                let bytes_max = slot.bytes_max;
                return Some(Job::Decode { portion: number, field, rows, bytes_max, task });
            }
        }
        let room = room || self.portions.is_empty();
        if room && self.portions.len() < self.portions_max {
            let cursor = self.cursor.take()?;
            self.advancing = true;
            return Some(Job::Advance(cursor));
        }
        None
    }

    /// Takes in what a job came to.
    pub(crate) fn done(&mut self, done: Done) {
        match done {
            Done::Advanced(cursor, result) => {
                self.advancing = false;
                let stage = match result {
                    Ok(Some(portion)) => {
                        self.cursor = Some(cursor);
                        Stage::Waiting(Box::new(portion))
                    }
                    Ok(None) => return,
                    Err(error) => Stage::Failed(error),
                };
                self.portions.push_back(InFlight::new(stage));
            }
            Done::Started(number, result) => {
                let bytes = (self.bytes_max / 2).max(BATCH_BYTES_MIN);
                // What made batches short may be over.
                let rows_max = self.rows_max.saturating_mul(2);
                self.rows_max = rows_max;
                let Some(portion) = self.portion(number) else { return };
                match result {
                    Ok(started) => portion.run(started, bytes, rows_max),
                    Err(error) => portion.stage = Stage::Failed(error),
                }
            }
            Done::Decoded { portion, field, task, array } => {
                let Some(portion) = self.portion(portion) else { return };
                let Some(slot) = portion.fields.get(field) else { return };
                let before = slot.bytes_last;
                let rows_before = portion.batch_rows;
                let after = portion.decoded(field, task, array);
                let rows_after = portion.batch_rows;
                if rows_after < rows_before {
                    self.rows_max = rows_after;
                }
                self.bytes = self.bytes.saturating_sub(before).saturating_add(after);
                self.bytes_peak = self.bytes_peak.max(self.bytes);
            }
        }
    }

    fn portion(&mut self, number: u64) -> Option<&mut InFlight> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.portions.get_mut(place)
    }

    /// The next batch in order, if it is whole.
    pub(crate) fn take(&mut self) -> Option<Result<Pieces>> {
        loop {
            let portion = self.portions.front_mut()?;
            match &mut portion.stage {
                Stage::Waiting(_) | Stage::Starting => return None,
                Stage::Failed(_) => {
                    if let Some(InFlight { stage: Stage::Failed(error), .. }) =
                        self.portions.pop_front()
                    {
                        self.first += 1;
                        return Some(Err(error));
                    }
                }
                Stage::Running if portion.taken == portion.work.rows => {
                    self.portions.pop_front();
                    self.first += 1;
                    self.moves += 1;
                }
                Stage::Running => {
                    if portion.failed > 0
                        && let Some(error) = portion
                            .fields
                            .iter_mut()
                            .filter(|slot| slot.ready.is_empty())
                            .find_map(|slot| slot.failed.take())
                    {
                        return Some(Err(error));
                    }
                    if portion.empty > 0 {
                        return None;
                    }
                    let (pieces, bytes) = portion.next_batch();
                    self.moves += 1;
                    self.bytes = self.bytes.saturating_sub(bytes);
                    if pieces.rows > 0 {
                        return Some(Ok(pieces));
                    }
                }
            }
        }
    }

    /// How often [`Schedule::take`] has made room for more.
    pub(crate) fn moves(&self) -> u64 {
        self.moves
    }

    /// Whether nothing more can come.
    pub(crate) fn ended(&self) -> bool {
        self.portions.is_empty() && self.cursor.is_none() && !self.advancing
    }

    /// Most bytes that were in flight.
    #[cfg(test)]
    pub(crate) fn bytes_peak(&self) -> usize {
        self.bytes_peak
    }
}
