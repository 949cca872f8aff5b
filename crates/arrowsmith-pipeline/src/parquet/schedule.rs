// SPDX-License-Identifier: Apache-2.0
//! The schedule: portions in flight, their fields, their memory, and the next job.
//!
//! This is a plain structure without threads or locks. Jobs are returned oldest portion first; a
//! job that the next batch waits for is always returned, any other only while there is memory.
//!
//! A job has a limit on its bytes. A field whose rows are larger than expected returns fewer of
//! them; then the batch is that short, and so are those after it.
//!
//! Portions share the memory of one pool, see `arrowsmith_parquet`'s `budget`. A younger one for
//! which there is no memory, or whose memory the oldest one needs, is restarted; from then on fewer
//! run at once.

use std::collections::VecDeque;
use std::sync::Arc;

use arrowsmith_core::Result;
use arrowsmith_parquet::{Claim, Pool};

use super::cursor::Cursor;
use super::field::FieldTask;
use super::in_flight::{InFlight, Pieces, Ready, Stage};
use super::portion::{Portion, Started};

/// Maximum batches of one field that wait for those of others.
const AHEAD_MAX: usize = 8;

/// Minimum limit on the bytes of a batch, however little memory there is.
const BATCH_BYTES_MIN: usize = 8 << 20;

/// Portions that have to finish, at first, before one more may run concurrently.
const CALM_PORTIONS: usize = 4;

/// One thing to do, outside of any lock.
pub(crate) enum Job {
    /// Advance to the next portion.
    Advance(Box<Cursor>),
    /// Start a portion.
    Start(Turn, Arc<Portion>),
    /// Decode a batch of a field.
    Decode { portion: Turn, field: usize, rows: usize, bytes_max: usize, task: Box<FieldTask> },
}

/// A portion's number, and the claim with which it was started: a restart has another one.
#[derive(Clone)]
pub(crate) struct Turn {
    pub(crate) number: u64,
    pub(crate) claim: Arc<Claim>,
}

/// The result of a job.
pub(crate) enum Done {
    Advanced(Box<Cursor>, Result<Option<Portion>>),
    Started(Turn, Result<Started>),
    Decoded { portion: Turn, field: usize, task: Box<FieldTask>, array: Result<Ready> },
}

/// All that is in flight.
pub(crate) struct Schedule {
    /// `None` while a thread advances it, and at the end.
    cursor: Option<Box<Cursor>>,
    advancing: bool,
    portions: VecDeque<InFlight>,
    /// Number of the first of `portions`.
    first: u64,
    /// Bytes decoded and not returned yet, and expected of running jobs.
    bytes: usize,
    bytes_max: usize,
    bytes_peak: usize,
    /// The memory of all portions.
    pool: Arc<Pool>,
    portions_max: usize,
    /// Maximum number of portions that run concurrently: reduced when memory was short.
    begun_max: usize,
    /// Portions finished since then, and how many it takes until one more may run.
    calm: usize,
    calm_wanted: usize,
    moves: u64,
    /// Maximum rows of a batch, reduced when batches had to be shorter.
    rows_max: usize,
}

impl Schedule {
    pub(crate) fn new(cursor: Cursor, pool: Arc<Pool>, bytes_max: usize, threads: usize) -> Self {
        Self {
            cursor: Some(Box::new(cursor)),
            advancing: false,
            portions: VecDeque::new(),
            first: 0,
            bytes: 0,
            bytes_max,
            bytes_peak: 0,
            pool,
            portions_max: if threads == 1 { 1 } else { threads + 2 },
            begun_max: usize::MAX,
            calm: 0,
            calm_wanted: CALM_PORTIONS,
            moves: 0,
            rows_max: usize::MAX,
        }
    }

    /// Whether jobs that the consumer does not wait for may run, of the oldest portion and of
    /// younger ones: the memory of the oldest one does not count against itself.
    fn room(&self) -> [bool; 2] {
        let budgets = self.portions.iter().filter_map(|portion| portion.work.budget.as_ref());
        let excess = budgets.fold(0_usize, |sum, budget| sum.saturating_add(budget.excess()));
        let oldest = self.bytes.saturating_add(excess) < self.bytes_max;
        [oldest, oldest && self.pool.used() < self.pool.bytes_max()]
    }

    /// The pool that portions share.
    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// Revokes the memory of the youngest portion that has some, which the oldest one waits for: at
    /// once if no thread works on it. Returns whether there was one.
    pub(crate) fn press(&mut self) -> bool {
        let pressed = |portion: &InFlight| {
            let begun = matches!(portion.stage, Stage::Starting | Stage::Running);
            begun && !portion.claim.is_revoked()
        };
        let Some(place) = (1..self.portions.len()).rev().find(|at| pressed(&self.portions[*at]))
        else {
            return false;
        };
        self.portions[place].claim.revoke();
        if matches!(self.portions[place].stage, Stage::Running) {
            self.begin_again(place);
        }
        true
    }

    fn begin_again(&mut self, place: usize) {
        let claim = self.pool.claim();
        if place == 0 {
            claim.set_oldest();
        } else {
            self.begun_max = self.begun_max.min(place);
            self.calm = 0;
            self.calm_wanted = self.calm_wanted.saturating_mul(2);
        }
        let bytes = self.portions[place].begin_again(claim);
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Advances to the next portion.
    fn advance(&mut self) -> Option<InFlight> {
        let gone = self.portions.pop_front();
        self.first += 1;
        self.calm += 1;
        if self.calm >= self.calm_wanted {
            self.calm = 0;
            self.begun_max = self.begun_max.saturating_add(1);
        }
        if self.portions.front().is_some_and(|oldest| !oldest.claim.set_oldest()) {
            self.begin_again(0);
        }
        gone
    }

    /// The next job, if there is one now.
    pub(crate) fn job(&mut self) -> Option<Job> {
        let [room_oldest, room_younger] = self.room();
        for place in 0..self.portions.len() {
            let number = self.first + place as u64;
            let portion = &mut self.portions[place];
            let room = if place == 0 { room_oldest } else { room_younger };
            let turn = Turn { number, claim: Arc::clone(&portion.claim) };
            let begins = place == 0 || (room && place < self.begun_max);
            if matches!(portion.stage, Stage::Waiting(_)) && begins {
                let before = std::mem::replace(&mut portion.stage, Stage::Starting);
                if let Stage::Waiting(waiting) = before {
                    return Some(Job::Start(turn, waiting));
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
                return Some(Job::Decode { portion: turn, field, rows, bytes_max, task });
            }
        }
        if (room_younger || self.portions.is_empty()) && self.portions.len() < self.portions_max {
            let cursor = self.cursor.take()?;
            self.advancing = true;
            return Some(Job::Advance(cursor));
        }
        None
    }

    /// Handles the result of a job.
    pub(crate) fn done(&mut self, done: Done) {
        match done {
            Done::Advanced(cursor, result) => {
                self.advancing = false;
                let stage = match result {
                    Ok(Some(portion)) => {
                        self.cursor = Some(cursor);
                        Stage::Waiting(Arc::new(portion))
                    }
                    Ok(None) => return,
                    Err(error) => Stage::Failed(error),
                };
                let claim = self.pool.claim();
                if self.portions.is_empty() {
                    claim.set_oldest();
                }
                self.portions.push_back(InFlight::new(stage, claim));
            }
            Done::Started(turn, result) => {
                let Some(place) = self.place(&turn) else { return };
                let bytes = (self.bytes_max / 2).max(BATCH_BYTES_MIN);
                // The long rows may have ended.
                let rows_max = self.rows_max.saturating_mul(2);
                self.rows_max = rows_max;
                let portion = &mut self.portions[place];
                match result {
                    Ok(started) => portion.run(started, bytes, rows_max),
                    Err(error) => portion.stage = Stage::Failed(error),
                }
            }
            Done::Decoded { portion, field, task, array } => {
                let Some(place) = self.place(&portion) else { return };
                let portion = &mut self.portions[place];
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

    /// The index of a job's portion. `None` if it was restarted, or is restarted now, because its
    /// claim was revoked.
    fn place(&mut self, turn: &Turn) -> Option<usize> {
        let place = usize::try_from(turn.number.checked_sub(self.first)?).ok()?;
        let portion = self.portions.get(place)?;
        if !Arc::ptr_eq(&portion.claim, &turn.claim) {
            return None;
        }
        if turn.claim.is_revoked() {
            self.begin_again(place);
            return None;
        }
        Some(place)
    }

    /// The next batch in order, if it is complete.
    pub(crate) fn take(&mut self) -> Option<Result<Pieces>> {
        loop {
            let portion = self.portions.front_mut()?;
            match &mut portion.stage {
                Stage::Waiting(_) | Stage::Starting => return None,
                Stage::Failed(_) => {
                    if let Some(InFlight { stage: Stage::Failed(error), .. }) = self.advance() {
                        return Some(Err(error));
                    }
                }
                Stage::Running if portion.taken == portion.work.rows => {
                    self.advance();
                    self.moves += 1;
                }
                Stage::Running => {
                    // The first field in order without rows decides, independent of thread timing:
                    // while it is being decoded, an error of a later field waits.
                    if portion.failed > 0
                        && let Some(slot) =
                            portion.fields.iter_mut().find(|slot| slot.ready.is_empty())
                        && let Some(error) = slot.failed.take()
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

    /// Whether [`Schedule::take`] would return something, or free memory.
    pub(crate) fn can_take(&self) -> bool {
        let Some(portion) = self.portions.front() else { return self.ended() };
        match portion.stage {
            Stage::Waiting(_) | Stage::Starting => false,
            Stage::Failed(_) => true,
            Stage::Running => {
                let all = portion.taken == portion.work.rows || portion.empty == 0;
                all || portion.failed > 0
            }
        }
    }

    /// How often [`Schedule::take`] has freed memory.
    pub(crate) fn moves(&self) -> u64 {
        self.moves
    }

    /// Whether there is nothing left.
    pub(crate) fn ended(&self) -> bool {
        self.portions.is_empty() && self.cursor.is_none() && !self.advancing
    }

    /// Maximum bytes that were in flight.
    #[cfg(test)]
    pub(crate) fn bytes_peak(&self) -> usize {
        self.bytes_peak
    }
}
