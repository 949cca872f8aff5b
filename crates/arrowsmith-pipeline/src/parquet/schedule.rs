// SPDX-License-Identifier: Apache-2.0
//! What to do next: portions in flight, their fields, and how much memory they hold.
//!
//! This is a plain structure without threads or locks. Jobs are given out oldest portion first; a job that
//! the next batch waits for is given out always, any other only while there is room.

use std::collections::{BTreeSet, VecDeque};

use arrow_array::ArrayRef;
use arrowsmith_core::{Error, Result};

use super::cursor::Cursor;
use super::field::FieldTask;
use super::portion::{BatchRows, Portion, Started};

/// Batches of one field that may wait for those of others.
const AHEAD_MAX: usize = 8;

/// One thing to do, outside of any lock.
pub(crate) enum Job {
    /// Ask for the next portion.
    Advance(Box<Cursor>),
    /// Begin with a portion.
    Start(u64, Box<Portion>),
    /// Decode a batch of a field.
    Decode { portion: u64, field: usize, rows: usize, task: Box<FieldTask> },
}

/// What a job came to.
pub(crate) enum Done {
    Advanced(Box<Cursor>, Result<Option<Portion>>),
    Started(u64, Result<Started>),
    Decoded { portion: u64, field: usize, task: Box<FieldTask>, array: Result<(ArrayRef, usize)> },
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
    batches: Vec<BatchRows>,
    /// Batches that were handed out.
    taken: usize,
    /// Fields that somebody could go on with, by the batches that were begun: there may be thousands of
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
            batches: Vec::new(),
            taken: 0,
            idle: BTreeSet::new(),
            empty: 0,
            failed: 0,
        }
    }
}

/// A field of a portion.
struct Slot {
    /// Away while somebody decodes.
    task: Option<Box<FieldTask>>,
    /// Batches that were begun.
    begun: usize,
    ready: VecDeque<(ArrayRef, usize)>,
    /// Why there are no more.
    failed: Option<Error>,
    /// Bytes of the last batch: what the next will probably be.
    bytes_last: usize,
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
        }
    }

    /// The next job, if there is one now.
    pub(crate) fn job(&mut self) -> Option<Job> {
        for place in 0..self.portions.len() {
            let room = self.bytes < self.bytes_max;
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
            if !urgent && (!room || ahead >= AHEAD_MAX) {
                continue;
            }
            portion.idle.pop_first();
            let slot = &mut portion.fields[field];
            if let Some(task) = slot.task.take() {
                let rows = portion.batches[slot.begun].decoded;
                slot.begun += 1;
                self.bytes += slot.bytes_last;
                self.bytes_peak = self.bytes_peak.max(self.bytes);
                return Some(Job::Decode { portion: number, field, rows, task });
            }
        }
        let room = self.portions.is_empty() || self.bytes < self.bytes_max;
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
                let Some(portion) = self.portion(number) else { return };
                match result {
                    Ok(started) => {
                        let slots = started.fields.into_iter().map(|task| Slot {
                            task: Some(Box::new(task)),
                            begun: 0,
                            ready: VecDeque::new(),
                            failed: None,
                            bytes_last: 0,
                        });
                        portion.fields = slots.collect();
                        portion.batches = started.batches;
                        portion.empty = portion.fields.len();
                        if !portion.batches.is_empty() {
                            portion.idle = (0..portion.fields.len()).map(|at| (0, at)).collect();
                        }
                        portion.stage = Stage::Running;
                    }
                    Err(error) => portion.stage = Stage::Failed(error),
                }
            }
            Done::Decoded { portion, field, task, array } => {
                let Some(portion) = self.portion(portion) else { return };
                let Some(slot) = portion.fields.get_mut(field) else { return };
                let before = slot.bytes_last;
                let mut after = 0;
                match array {
                    Ok((array, bytes)) => {
                        slot.task = Some(task);
                        slot.bytes_last = bytes;
                        after = bytes;
                        slot.ready.push_back((array, bytes));
                        portion.empty -= usize::from(slot.ready.len() == 1);
                        if slot.begun < portion.batches.len() {
                            portion.idle.insert((slot.begun, field));
                        }
                    }
                    Err(error) => {
                        slot.failed = Some(error);
                        portion.failed += 1;
                    }
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
                Stage::Running if portion.taken == portion.batches.len() => {
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
                    let rows = portion.batches[portion.taken].kept;
                    portion.taken += 1;
                    self.moves += 1;
                    let mut columns = Vec::with_capacity(portion.fields.len());
                    for slot in &mut portion.fields {
                        let Some((array, bytes)) = slot.ready.pop_front() else { continue };
                        columns.push(array);
                        portion.empty += usize::from(slot.ready.is_empty());
                        self.bytes = self.bytes.saturating_sub(bytes);
                    }
                    if rows > 0 {
                        return Some(Ok(Pieces { columns, rows }));
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
