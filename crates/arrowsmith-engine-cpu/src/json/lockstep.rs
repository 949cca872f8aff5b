// SPDX-License-Identifier: Apache-2.0
//! Lockstep: eight lines at once, where records look alike.
//!
//! What the predictors have learned is laid out as a *script*: the texts between the values of a whole
//! record, nested objects included, in the order in which they come. The script runs over eight lines
//! side by side; each step finds the lanes that have its text, reads their values and puts nulls in
//! the place of the others. So a field costs one decision for eight records, and one that is often
//! missing costs no mispredicted branch.
//!
//! This changes speed and nothing else: the first surprise (a text that the script has not got, a value
//! that fails) takes the eight records back, and the walker reads them one by one.

use arrowsmith_core::{Framing, UnknownKeys};
use arrowsmith_simd::isa::{Isa, Kernel};
use arrowsmith_simd::lanes::{self, LANES, Literal, Positions, has};

use super::build::Values;
use super::program::{Code, Fast, Id, ROOT};
use super::route::Follows;
use super::walk::{Any, FAIL, Timestamp, Walker};

/// Objects inside one another that a script follows.
const DEPTH_MAX: usize = 16;

/// Steps of a script at most.
const STEPS_MAX: usize = 1024;

/// Groups of records that are read one by one, at most, before the next try.
const PENALTY_MAX: usize = 64;

/// All lanes.
const ALL: u8 = u8::MAX;

/// What to do where a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    /// Read the value of a field.
    Value(Fast),
    /// Go into the object that is the value of a field.
    Open,
    /// Leave it.
    Close,
    /// Skip a value that nobody asked for, with so many containers around it.
    Skip(usize),
    /// A field that was never seen, and may be null; it has no text.
    Absent,
}

#[derive(Debug)]
#[repr(C)]
struct Step {
    literal: Literal,
    act: Act,
    id: Id,
    nullable: bool,
}

/// What a record looks like.
#[derive(Debug)]
pub(crate) struct Script {
    steps: Vec<Step>,
}

/// Whether, and when, to read records in lockstep.
#[derive(Debug, Default)]
pub(crate) struct Lockstep {
    script: Option<Script>,
    /// Records to read one by one before the next try.
    wait: usize,
    penalty: usize,
}

impl Lockstep {
    /// Counts a record that was read by itself; whether it is time to try.
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

/// What came of values.
enum Read {
    /// They are in the column; nulls are not marked yet.
    Values,
    /// They are in the column, nulls and all.
    Whole,
    Failed,
}

/// Reads as many groups of records from `pos` on as it can: their number, and the position after them.
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

/// Reads a list of integers in each lane.
struct IntLists<'w, 'a, I> {
    walker: &'w mut Walker<'a, I>,
    id: Id,
    pos: &'w mut Positions,
}

impl<I: Isa> Kernel for IntLists<'_, '_, I> {
    type Output = bool;

    #[inline(always)]
    fn run<J: Isa>(self, _isa: J) -> bool {
        for pos in self.pos {
            let mut end = self.walker.ints(self.id, *pos);
            if end == FAIL {
                let isa = self.walker.isa;
                end = isa.vectorize(Any { walker: self.walker, id: self.id, pos: *pos });
            }
            if end == FAIL {
                return false;
            }
            *pos = end;
        }
        true
    }
}

impl<I: Isa> Walker<'_, I> {
    /// Whether records of this kind may be read in lockstep at all.
    pub fn may_lockstep(&self, framing: Framing) -> bool {
        framing == Framing::Lines && !self.careful && self.list.is_none()
    }

    #[inline(always)]
    fn groups(&mut self, mut pos: usize) -> (usize, usize) {
        let mut records = 0;
        let script = match self.lockstep.script.take() {
            Some(script) => script,
            None => match self.learn_script() {
                Some(script) => script,
                None => {
                    self.lockstep.failed();
                    return (0, pos);
                }
            },
        };
        while let Some(ends) = lanes::line_feeds(self.isa, self.input, pos) {
            if !self.group(&script, pos, &ends) {
                self.columns.truncate(self.program, ROOT, *self.rows);
                self.lockstep.failed();
                return (records, pos);
            }
            *self.rows += LANES;
            records += LANES;
            pos = ends[LANES - 1] + 1;
            self.lockstep.penalty = 0;
        }
        self.lockstep.script = Some(script);
        self.lockstep.wait = LANES;
        (records, pos)
    }

    /// Reads eight lines, which end at `ends`.
    #[inline(always)]
    fn group(&mut self, script: &Script, start: usize, ends: &Positions) -> bool {
        let record_bytes_max = self.options.limits.record_bytes_max;
        let mut pos = [start; LANES];
        for lane in 1..LANES {
            pos[lane] = ends[lane - 1] + 1;
        }
        for lane in 0..LANES {
            if ends[lane] - pos[lane] > record_bytes_max {
                return false;
            }
        }
        if !self.steps(script, &mut pos) {
            return false;
        }
        for lane in 0..LANES {
            if pos[lane] != ends[lane] && self.space(pos[lane]) != ends[lane] {
                return false;
            }
        }
        true
    }

    #[inline(always)]
    fn steps(&mut self, script: &Script, pos: &mut Positions) -> bool {
        let (isa, input) = (self.isa, self.input);
        let mut around = [ALL; DEPTH_MAX];
        let mut depth = 0_usize;
        // The lanes that have the object that is open.
        let mut inside = ALL;
        let row = self.columns.len(ROOT);
        if let Values::Count(count) = &mut self.columns.columns[ROOT].values {
            *count += LANES;
        }
        for step in &script.steps {
            let id = step.id;
            if step.act == Act::Absent {
                self.absent(id, row);
                continue;
            }
            let found = isa.literal_lanes(input, pos, &step.literal, inside);
            match step.act {
                Act::Close => {
                    if found != inside {
                        return false;
                    }
                    depth = depth.saturating_sub(1);
                    inside = around[depth & (DEPTH_MAX - 1)];
                }
                Act::Skip(outside) => {
                    if !self.skip_lanes(pos, found, outside) {
                        return false;
                    }
                }
                Act::Open => {
                    let nulls = if step.nullable { lanes::null(input, pos, found) } else { 0 };
                    let there = found & !nulls;
                    if !step.nullable && found != inside {
                        return false;
                    }
                    let column = &mut self.columns.columns[id];
                    if let Values::Count(count) = &mut column.values {
                        *count += LANES;
                    }
                    if step.nullable {
                        column.null_lanes(isa, row, !there);
                    }
                    around[depth & (DEPTH_MAX - 1)] = inside;
                    depth += 1;
                    inside = there;
                }
                Act::Value(fast) => {
                    let nulls = if step.nullable { lanes::null(input, pos, found) } else { 0 };
                    if !step.nullable && found != inside {
                        return false;
                    }
                    let there = found & !nulls;
                    match self.value_lanes(id, fast, pos, there) {
                        Read::Values if step.nullable => {
                            self.columns.columns[id].null_lanes(isa, row, !there);
                        }
                        Read::Values | Read::Whole => {}
                        Read::Failed => return false,
                    }
                }
                Act::Absent => {}
            }
        }
        true
    }

    /// Reads the values of these lanes, and puts something in the place of the others.
    #[inline(always)]
    fn value_lanes(&mut self, id: Id, fast: Fast, pos: &mut Positions, there: u8) -> Read {
        let (isa, input) = (self.isa, self.input);
        let values = &mut self.columns.columns[id].values;
        match (fast, values) {
            (Fast::Utf8, Values::Text(text)) => {
                if text.push_lanes(isa, input, pos, there) {
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
                    bits.push_byte(read);
                    return Read::Values;
                }
            }
            (Fast::Ints, _) if there == ALL => {
                return match isa.vectorize(IntLists { walker: self, id, pos }) {
                    true => Read::Whole,
                    false => Read::Failed,
                };
            }
            _ => {}
        }
        self.one_by_one(id, fast, pos, there)
    }

    /// As [`Walker::value_lanes`], without any hurry.
    #[inline(never)]
    fn one_by_one(&mut self, id: Id, fast: Fast, pos: &mut Positions, there: u8) -> Read {
        let isa = self.isa;
        for lane in 0..LANES {
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
        Read::Whole
    }

    #[inline(never)]
    fn skip_lanes(&mut self, pos: &mut Positions, there: u8, outside: usize) -> bool {
        let isa = self.isa;
        for lane in 0..LANES {
            if has(there, lane) {
                let from = pos[lane];
                let end = isa.vectorize(SkipOne { walker: self, pos: from, outside });
                if end == FAIL {
                    return false;
                }
                pos[lane] = end;
            }
        }
        true
    }

    /// Eight nulls.
    #[inline(never)]
    fn absent(&mut self, id: Id, _row: usize) {
        for _ in 0..LANES {
            self.columns.push_null(self.program, id);
        }
    }

    /// Lays out what the predictors know; `None` if that is not one order of fields.
    #[cold]
    #[inline(never)]
    fn learn_script(&self) -> Option<Script> {
        let Code::Struct(object) = self.program.steps[ROOT].code else { return None };
        let mut steps = Vec::new();
        self.learn_object(ROOT, object, 0, &mut steps)?;
        Some(Script { steps })
    }

    fn learn_object(
        &self,
        id: Id,
        object: usize,
        depth: usize,
        steps: &mut Vec<Step>,
    ) -> Option<()> {
        let outside = self.program.steps[id].depth;
        if outside > self.options.limits.depth_max || depth >= DEPTH_MAX {
            return None;
        }
        let layout = &self.program.objects[object];
        let slots = &self.predictors[object].slots;
        let mut seen = vec![false; layout.keys.len()];
        for (at, slot) in slots.iter().enumerate() {
            let literal = slot.literal.clone();
            let last = at + 1 == slots.len();
            if slot.opens != (at == 0) || last != (slot.follows == Follows::End) {
                return None;
            }
            if steps.len() > STEPS_MAX {
                return None;
            }
            match slot.follows {
                Follows::Field(fast) => {
                    let field = slot.field as usize;
                    if std::mem::replace(seen.get_mut(field)?, true) {
                        return None;
                    }
                    let id = layout.first + field;
                    let nullable = self.program.steps[id].nullable;
                    match self.program.steps[id].code {
                        Code::Struct(inner) => {
                            steps.push(Step { literal, act: Act::Open, id, nullable });
                            self.learn_object(id, inner, depth + 1, steps)?;
                        }
                        _ => steps.push(Step { literal, act: Act::Value(fast), id, nullable }),
                    }
                }
                Follows::Unknown if self.options.unknown_keys == UnknownKeys::Error => return None,
                Follows::Unknown => {
                    let act = Act::Skip(outside);
                    steps.push(Step { literal, act, id, nullable: false });
                }
                Follows::End => {
                    for field in (0..seen.len()).filter(|&field| !seen[field]) {
                        let id = layout.first + field;
                        if !self.program.steps[id].nullable {
                            return None;
                        }
                        let (literal, act) = (Literal::new(b"")?, Act::Absent);
                        steps.push(Step { literal, act, id, nullable: true });
                    }
                    steps.push(Step { literal, act: Act::Close, id, nullable: false });
                }
            }
        }
        (!slots.is_empty()).then_some(())
    }
}

/// Skips one value.
struct SkipOne<'w, 'a, I> {
    walker: &'w mut Walker<'a, I>,
    pos: usize,
    outside: usize,
}

impl<I: Isa> Kernel for SkipOne<'_, '_, I> {
    type Output = usize;

    #[inline(always)]
    fn run<J: Isa>(self, _isa: J) -> usize {
        let pos = self.walker.space(self.pos);
        self.walker.skip(pos, self.outside, false)
    }
}

