// SPDX-License-Identifier: Apache-2.0
//! Lockstep: eight lines at once, if records look alike.
//!
//! The state of the predictors is compiled to a *script*: the texts between the values of a whole
//! record, nested objects included, in the order of their appearance. The script runs over eight
//! lines side by side; each step finds the lanes that have its text, reads their values and appends
//! nulls for the others. So a field costs one branch for eight records, and one that is often
//! missing costs no misprediction.
//!
//! The objects of a list are read in the same way, up to eight at once, if they contain no lists of
//! objects themselves.
//!
//! This affects only speed: at the first surprise (a text that is not in the script, a value that
//! fails) the eight records are rolled back, and the walker reads them one by one.

#![expect(clippy::needless_range_loop, reason = "a lane is a place in several arrays")]

mod lists;
mod script;

use arrowsmith_core::Framing;
use arrowsmith_simd::isa::{Isa, Kernel};
use arrowsmith_simd::lanes::{self, LANES, Positions, has};
use arrowsmith_simd::skip;

use self::script::{Action, Script};
use super::build::Values;
use super::program::{Code, Fast, Id, ROOT, ROOT_OBJECT};
use super::walk::{Any, FAIL, Timestamp, Walker};

/// Minimum number of list elements for lockstep.
const ELEMENTS_MIN: usize = 2;

/// Maximum nesting of objects in a script.
const DEPTH_MAX: usize = 16;

/// Maximum number of steps of a script.
const STEPS_MAX: usize = 1024;

/// Maximum size of eight records, in bytes: larger ones gain nothing and do not stay in the cache.
const GROUP_BYTES_MAX: usize = 16 << 10;

/// Maximum number of groups that are read record by record before the next try.
const PENALTY_MAX: usize = 64;

/// Maximum number of numbers in an inner list.
const ROW_MAX: usize = 4;

/// All lanes.
const ALL: u8 = u8::MAX;

/// Decides whether and when to read objects of one kind in lockstep.
#[derive(Debug, Default)]
pub(crate) struct Lockstep {
    script: Option<Script>,
    /// Records or lists to read one by one before the next try.
    wait: usize,
    penalty: usize,
}

impl Lockstep {
    /// Counts a record that was read alone; returns whether to try lockstep again.
    #[inline(always)]
    pub fn due(&mut self) -> bool {
        if self.wait == 0 {
            return true;
        }
        self.wait -= 1;
        false
    }

    fn failed(&mut self) {
        self.penalty = (self.penalty * 2).clamp(1, PENALTY_MAX);
        self.wait = LANES * self.penalty;
        self.script = None;
    }
}

/// The result of reading values.
pub(super) enum Read {
    /// The values are in the column; nulls are not marked yet.
    Values,
    /// The values are in the column, with nulls marked.
    Complete,
    Failed,
}

/// Reads as many groups of records from `pos` on as it can; returns their number, and the position
/// after them.
pub(crate) struct Groups<'w, 'a, I> {
    pub walker: &'w mut Walker<'a, I>,
    pub pos: usize,
}

impl<I: Isa> Kernel for Groups<'_, '_, I> {
    type Output = (usize, usize);

    #[inline(always)]
    fn run<J: Isa>(self, _isa: J) -> (usize, usize) {
        self.walker.groups(self.pos)
    }
}

/// Reads a list of integers in each lane; returns the number of lanes before the first without such
/// a list.
struct IntLists<'w, 'a, I> {
    walker: &'w mut Walker<'a, I>,
    id: Id,
    pos: &'w mut Positions,
    /// The lanes that have a list; the others get an empty one.
    there: u8,
}

impl<I: Isa> Kernel for IntLists<'_, '_, I> {
    type Output = usize;

    #[inline(always)]
    fn run<J: Isa>(self, _isa: J) -> usize {
        self.walker.int_lists(self.id, self.pos, self.there)
    }
}

impl<I: Isa> Walker<'_, I> {
    /// Whether records can be read in lockstep.
    pub fn may_lockstep(&self, framing: Framing) -> bool {
        let object = matches!(self.program.steps[ROOT].code, Code::Struct(ROOT_OBJECT));
        framing == Framing::Lines && object && !self.careful && self.list.is_none()
    }

    /// Takes the script of an object, if there is one.
    #[inline(always)]
    fn take_script(&mut self, object: usize, id: Id) -> Option<Script> {
        match self.locksteps[object].script.take() {
            Some(script) => Some(script),
            None => self.learn_script(object, id),
        }
    }

    #[inline(always)]
    fn groups(&mut self, mut pos: usize) -> (usize, usize) {
        let object = ROOT_OBJECT;
        let Some(mut script) = self.take_script(object, ROOT) else {
            self.locksteps[object].failed();
            return (0, pos);
        };
        let mut records = 0;
        while let Some(ends) = lanes::line_feeds(self.isa, self.input, pos) {
            *self.mark = pos;
            let left_out = self.left_out.values;
            if !self.group(&mut script, pos, &ends) {
                self.columns.truncate(self.program, ROOT, *self.rows);
                self.left_out.values = left_out;
                self.locksteps[object].failed();
                return (records, pos);
            }
            *self.rows += LANES;
            records += LANES;
            pos = ends[LANES - 1] + 1;
            self.predictors[object].passed(LANES);
            self.locksteps[object].penalty = 0;
        }
        let lockstep = &mut self.locksteps[object];
        lockstep.script = Some(script);
        lockstep.wait = LANES;
        (records, pos)
    }

    /// Reads eight lines, which end at `ends`.
    #[inline(always)]
    fn group(&mut self, script: &mut Script, start: usize, ends: &Positions) -> bool {
        let record_bytes_max = self.options.limits.record_bytes_max;
        let mut pos = [start; LANES];
        for lane in 1..LANES {
            pos[lane] = ends[lane - 1] + 1;
        }
        let longest = record_bytes_max.min(GROUP_BYTES_MAX);
        for lane in 0..LANES {
            if ends[lane] - pos[lane] > longest {
                return false;
            }
        }
        if ends[LANES - 1] - start > GROUP_BYTES_MAX {
            return false;
        }
        if !self.steps(script, ROOT, &mut pos) {
            return false;
        }
        for lane in 0..LANES {
            if pos[lane] != ends[lane] && self.space(pos[lane]) != ends[lane] {
                return false;
            }
        }
        true
    }

    /// Reads an object of node `id` in each lane.
    #[inline(always)]
    fn steps(&mut self, script: &mut Script, id: Id, pos: &mut Positions) -> bool {
        let (isa, input) = (self.isa, self.input);
        let mut around = [(ALL, 0); DEPTH_MAX];
        let mut depth = 0_usize;
        // The lanes that have the open object, and those of them that are at its bracket.
        let mut inside = ALL;
        let mut fresh = ALL;
        let row = self.columns.len(id);
        if let Values::Count(count) = &mut self.columns.columns[id].values {
            *count += LANES;
        }
        for (step, opening) in script.steps.iter_mut().zip(&script.openings) {
            let id = step.id;
            if step.action == Action::Absent {
                self.absent(id);
                continue;
            }
            let mut found = 0;
            if fresh != 0 {
                found = isa.literal_lanes(input, pos, opening, fresh, !step.partial);
            }
            let begun = inside & !fresh;
            if begun != 0 {
                found |= isa.literal_lanes(input, pos, &step.literal, begun, !step.partial);
            }
            fresh &= !found;
            step.partial = found != inside;
            if step.action == Action::Close {
                if found != inside {
                    return false;
                }
                depth = depth.saturating_sub(1);
                (inside, fresh) = around[depth & (DEPTH_MAX - 1)];
                continue;
            }
            if let Action::Skip(outside) = step.action {
                if !self.skip_lanes(pos, found, outside) {
                    return false;
                }
                continue;
            }
            let nulls = if step.nullable {
                lanes::null(input, pos, found)
            } else if found != inside {
                return false;
            } else {
                0
            };
            let there = found & !nulls;
            match step.action {
                Action::Value(fast) => match self.value_lanes(id, fast, pos, there, row) {
                    Read::Values if step.nullable => {
                        self.columns.columns[id].null_lanes(isa, row, !there);
                    }
                    Read::Values | Read::Complete => {}
                    Read::Failed => return false,
                },
                _ => {
                    let column = &mut self.columns.columns[id];
                    if let Values::Count(count) = &mut column.values {
                        *count += LANES;
                    }
                    if step.nullable {
                        column.null_lanes(isa, row, !there);
                    }
                    around[depth & (DEPTH_MAX - 1)] = (inside, fresh);
                    depth += 1;
                    (inside, fresh) = (there, there);
                }
            }
        }
        true
    }

    /// Reads the values of these lanes, and appends a placeholder for each other lane.
    #[inline(always)]
    pub(super) fn value_lanes(
        &mut self,
        id: Id,
        fast: Fast,
        pos: &mut Positions,
        there: u8,
        row: usize,
    ) -> Read {
        let (isa, input) = (self.isa, self.input);
        let values = &mut self.columns.columns[id].values;
        match (fast, values) {
            (Fast::Utf8, Values::Text(text)) => {
                let read = text.push_lanes(isa, input, pos, there);
                if read {
                    return Read::Values;
                }
            }
            (Fast::I64 | Fast::U64, Values::W64(buf)) => {
                if let Some(read) = isa.int_lanes(input, pos, there, fast == Fast::I64) {
                    buf.extend_array(&read);
                    return Read::Values;
                }
            }
            (Fast::I32, Values::W32(buf)) => {
                let before = *pos;
                if let Some(read) = isa.int_lanes(input, pos, there, true) {
                    let mut wrong = false;
                    let mut narrow = [0; LANES];
                    for lane in 0..LANES {
                        let value = read[lane].cast_signed();
                        let low = i32::try_from(value).ok();
                        wrong |= low.is_none();
                        narrow[lane] = low.unwrap_or(0).cast_unsigned();
                    }
                    if !wrong {
                        buf.extend_array(&narrow);
                        return Read::Values;
                    }
                    *pos = before;
                }
            }
            (Fast::F64, Values::W64(buf)) => {
                if let Some(read) = isa.float_lanes(input, pos, there) {
                    buf.extend_array(&read);
                    return Read::Values;
                }
            }
            (Fast::Date32, Values::W32(buf)) => {
                if let Some(read) = isa.date_lanes(input, pos, there) {
                    buf.extend_array(&read);
                    return Read::Values;
                }
            }
            (Fast::Bool, Values::Bits(bits)) => {
                if let Some(read) = lanes::bools(input, pos, there) {
                    bits.push_bits(u64::from(read), LANES);
                    return Read::Values;
                }
            }
            (Fast::Ints, Values::Ends(_)) => {
                let done = isa.vectorize(IntLists { walker: self, id, pos, there });
                if done == LANES {
                    return Read::Values;
                }
                if self.program.steps[id].nullable {
                    // Now, because the other lanes mark theirs.
                    self.columns.columns[id].null_lanes(isa, row, !there & !(ALL << done));
                }
                return self.one_by_one(id, fast, pos, there, done);
            }
            (Fast::Ints, _) if there == ALL => {
                let done = isa.vectorize(IntLists { walker: self, id, pos, there });
                if done == LANES {
                    return Read::Values;
                }
                return self.one_by_one(id, fast, pos, there, done);
            }
            // Operations without a kernel, and fixed-size lists that some lanes lack.
            _ => {}
        }
        self.one_by_one(id, fast, pos, there, 0)
    }

    /// As [`Walker::value_lanes`], one lane after another, from the lane `done` on.
    #[inline(never)]
    fn one_by_one(
        &mut self,
        id: Id,
        fast: Fast,
        pos: &mut Positions,
        there: u8,
        done: usize,
    ) -> Read {
        let isa = self.isa;
        for lane in done..LANES {
            if !has(there, lane) {
                self.columns.push_null(self.program, id);
                continue;
            }
            let from = pos[lane];
            let mut end = FAIL;
            if fast == Fast::Timestamp {
                end = isa.vectorize(Timestamp { walker: self, id, pos: from });
            }
            if end == FAIL {
                end = isa.vectorize(Any { walker: self, id, pos: from });
            }
            if end == FAIL {
                return Read::Failed;
            }
            pos[lane] = end;
        }
        Read::Complete
    }

    #[inline(never)]
    fn skip_lanes(&mut self, pos: &mut Positions, there: u8, outside: usize) -> bool {
        let isa = self.isa;
        if !isa.vectorize(SkipLanes { walker: self, pos, there, outside }) {
            return false;
        }
        self.left_out.values += u64::from((there & self.left_out.lanes).count_ones());
        true
    }

    /// Eight nulls.
    #[inline(never)]
    fn absent(&mut self, id: Id) {
        self.columns.push_nulls(self.program, id, LANES);
    }
}

/// Skips a value in each of these lanes: short strings and lists by one look, numbers together.
/// What this does not recognise is skipped as any other value is.
struct SkipLanes<'w, 'a, 'p, I> {
    walker: &'w mut Walker<'a, I>,
    pos: &'p mut Positions,
    there: u8,
    outside: usize,
}

impl<I: Isa> Kernel for SkipLanes<'_, '_, '_, I> {
    type Output = bool;

    #[inline(always)]
    fn run<J: Isa>(self, _isa: J) -> bool {
        let Self { walker, pos, there, outside } = self;
        let (isa, input) = (walker.isa, walker.input);
        let lists = outside < walker.options.limits.depth_max;
        let mut numbers = 0;
        for lane in 0..LANES {
            let first = input.at(pos[lane]);
            numbers |= u8::from(first == b'-' || first.is_ascii_digit()) << lane;
        }
        if numbers & there == there && isa.float_lanes(input, pos, there).is_some() {
            return true;
        }
        for lane in 0..LANES {
            if !has(there, lane) {
                continue;
            }
            let from = pos[lane];
            let end = match skip::short(isa, input.window(from)) {
                Some(len) if lists || input.at(from) == b'"' => from + len,
                _ => walker.skip(walker.space(from), outside, false),
            };
            if end == FAIL {
                return false;
            }
            pos[lane] = end;
        }
        true
    }
}

/// Skips one value.
pub(super) struct SkipOne<'w, 'a, I> {
    pub walker: &'w mut Walker<'a, I>,
    pub pos: usize,
    pub outside: usize,
}

impl<I: Isa> Kernel for SkipOne<'_, '_, I> {
    type Output = usize;

    #[inline(always)]
    fn run<J: Isa>(self, _isa: J) -> usize {
        let pos = self.walker.space(self.pos);
        self.walker.skip(pos, self.outside, false)
    }
}
