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

use arrowsmith_core::{Framing, UnknownKeys};
use arrowsmith_simd::isa::{Isa, Kernel};
use arrowsmith_simd::lanes::{self, Elements, LANES, Literal, Positions, has};

use super::build::{Values, offset};
use super::predict::Follows;
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

/// The action after a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    /// Read the value of a field.
    Value(Fast),
    /// Enter the object that is the value of a field.
    Open,
    /// Leave the object.
    Close,
    /// Skip a value that no column needs, inside this many containers.
    Skip(usize),
    /// Append nulls for a nullable field that was never seen; it has no text.
    Absent,
}

#[derive(Debug)]
#[repr(C)]
struct Step {
    literal: Literal,
    action: Action,
    id: Id,
    nullable: bool,
    /// Whether some lanes did not have the text last time.
    partial: bool,
}

impl Step {
    fn new(literal: Literal, action: Action, id: Id, nullable: bool) -> Self {
        Self { literal, action, id, nullable, partial: false }
    }
}

/// The expected form of a record.
#[derive(Debug)]
pub(crate) struct Script {
    steps: Vec<Step>,
    /// The text of each step in objects of which it is the first member.
    openings: Vec<Literal>,
}

impl Script {
    fn push(&mut self, step: Step, opening: Literal) {
        self.steps.push(step);
        self.openings.push(opening);
    }
}

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

    /// Reads elements of a list of objects, the first of them at `pos`, as far as lockstep allows;
    /// returns the position of the next one, or of the bracket after the last.
    #[inline(always)]
    pub fn elements_in_lockstep(&mut self, item: Id, object: usize, mut pos: usize) -> usize {
        if self.careful || !self.locksteps[object].due() {
            return pos;
        }
        let mut script = None;
        while let Some(elements) = lanes::elements(self.isa, self.input, pos, *b"{}")
            && elements.count >= ELEMENTS_MIN
        {
            if script.is_none() {
                script = self.take_script(object, item);
            }
            let Some(script) = &mut script else {
                self.locksteps[object].failed();
                return pos;
            };
            let row = self.columns.len(item);
            let (left_out, lanes) = (self.left_out.values, self.left_out.lanes);
            self.left_out.lanes = ALL >> (LANES - elements.count.min(LANES));
            let end = self.element_group(script, item, &elements);
            self.left_out.lanes = lanes;
            if end == FAIL {
                self.columns.truncate(self.program, item, row);
                self.left_out.values = left_out;
                self.locksteps[object].failed();
                return pos;
            }
            if elements.count < LANES {
                self.columns.truncate(self.program, item, row + elements.count);
            }
            self.locksteps[object].penalty = 0;
            self.predictors[object].passed(elements.count);
            pos = end;
            if elements.next.is_none() {
                break;
            }
        }
        if script.is_some() {
            self.locksteps[object].script = script;
        }
        pos
    }

    /// Reads these elements; returns the position of the next one, or of the bracket after the
    /// last; else [`FAIL`].
    #[inline(always)]
    fn element_group(&mut self, script: &mut Script, item: Id, elements: &Elements) -> usize {
        let mut pos = elements.starts;
        // Lanes without an element of their own repeat the first; their values are truncated again.
        if !self.steps(script, item, &mut pos) {
            return FAIL;
        }
        self.after_elements(elements, &pos)
    }

    /// Checks that each element ends, at `pos`, where the next one starts; returns the start of the
    /// one after them, or of the bracket after the last; else [`FAIL`].
    #[inline(always)]
    fn after_elements(&self, elements: &Elements, pos: &Positions) -> usize {
        let Elements { starts, count, next } = *elements;
        for lane in 0..LANES {
            if lane + 1 < count {
                let gap = starts[lane + 1].wrapping_sub(pos[lane]);
                let comma = self.input.at(pos[lane]) == b',';
                let space = gap == 1 || (gap == 2 && self.input.at(pos[lane] + 1) == b' ');
                if !comma || !space {
                    return FAIL;
                }
            }
        }
        let last = pos[(count - 1) & (LANES - 1)];
        match next {
            None if self.input.at(last) == b']' => last,
            Some(next) if self.input.at(last) == b',' && self.space(last + 1) == next => next,
            _ => FAIL,
        }
    }

    /// Reads elements of a list of lists of 64-bit floating-point numbers, the first of them at
    /// `pos`, as far as they are of one length, up to [`ROW_MAX`]; returns the position of the next
    /// one, or of the bracket after the last.
    #[inline(always)]
    pub fn float_lists_in_lockstep(&mut self, item: Id, mut pos: usize) -> usize {
        let step = &self.program.steps[item];
        let Code::List(leaf) = step.code else { return pos };
        if step.depth > self.options.limits.depth_max {
            return pos;
        }
        while let Some(elements) = lanes::elements(self.isa, self.input, pos, *b"[]")
            && elements.count >= ELEMENTS_MIN
        {
            let mut row = [[0; LANES]; ROW_MAX];
            let mut at = elements.starts;
            let Some(len) = self.float_rows(&mut at, &mut row) else { return pos };
            let end = self.after_elements(&elements, &at);
            let Ok([list, items]) = self.columns.columns.get_disjoint_mut([item, leaf]) else {
                return pos;
            };
            let (Values::Ends(ends), Values::W64(values)) = (&mut list.values, &mut items.values)
            else {
                return pos;
            };
            if end == FAIL {
                return pos;
            }
            for lane in 0..elements.count {
                for values_of in row.iter().take(len) {
                    values.push(values_of[lane & (LANES - 1)]);
                }
                ends.push(offset(values.len()));
            }
            pos = end;
            if elements.next.is_none() {
                break;
            }
        }
        pos
    }

    /// Reads a list of numbers in each lane, all of one length; returns the length.
    #[inline(always)]
    fn float_rows(
        &mut self,
        pos: &mut Positions,
        row: &mut [[u64; LANES]; ROW_MAX],
    ) -> Option<usize> {
        let (isa, input) = (self.isa, self.input);
        for (done, values) in row.iter_mut().enumerate() {
            // The bracket, or the comma.
            for lane in pos.iter_mut() {
                *lane += 1;
            }
            *values = isa.float_lanes(input, pos, ALL)?;
            match lanes::same_byte(input, pos)? {
                b',' => {}
                b']' => {
                    for lane in pos.iter_mut() {
                        *lane += 1;
                    }
                    return Some(done + 1);
                }
                _ => return None,
            }
        }
        None
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
        self.left_out.values += u64::from((there & self.left_out.lanes).count_ones());
        true
    }

    /// Eight nulls.
    #[inline(never)]
    fn absent(&mut self, id: Id) {
        self.columns.push_nulls(self.program, id, LANES);
    }

    /// Compiles the state of the predictors to a script; `None` if there is no single order of
    /// fields.
    #[cold]
    #[inline(never)]
    fn learn_script(&self, object: usize, id: Id) -> Option<Script> {
        let mut script = Script { steps: Vec::new(), openings: Vec::new() };
        self.learn_object(id, object, 0, &mut script)?;
        Some(script)
    }

    fn learn_object(&self, id: Id, object: usize, depth: usize, script: &mut Script) -> Option<()> {
        let outside = self.program.steps[id].depth;
        if outside > self.options.limits.depth_max || depth >= DEPTH_MAX {
            return None;
        }
        let layout = &self.program.objects[object];
        let (first, members) = self.predictors[object].slots.split_first()?;
        if !first.literal.text().starts_with(b"{") {
            return None;
        }
        let head = before_quote(first.literal.text());
        let mut seen = vec![false; layout.keys.len()];
        for (at, slot) in members.iter().enumerate() {
            let literal = slot.literal.clone();
            let last = at + 1 == members.len();
            if last != (slot.follows == Follows::End) || script.steps.len() > STEPS_MAX {
                return None;
            }
            let text = literal.text();
            let tail = text.get(before_quote(text).len()..).unwrap_or_default();
            let opening = match slot.follows {
                Follows::End => Literal::new(b"{}")?,
                // An opening text that is too long matches nothing.
                _ => Literal::new(&[head, tail].concat()).or(Literal::new(b"\0"))?,
            };
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
                            script.push(Step::new(literal, Action::Open, id, nullable), opening);
                            self.learn_object(id, inner, depth + 1, script)?;
                        }
                        _ => {
                            let action = Action::Value(fast);
                            script.push(Step::new(literal, action, id, nullable), opening);
                        }
                    }
                }
                Follows::Unknown if self.options.unknown_keys == UnknownKeys::Error => return None,
                Follows::Unknown => {
                    let action = Action::Skip(outside);
                    script.push(Step::new(literal, action, id, false), opening);
                }
                Follows::End => {
                    for field in (0..seen.len()).filter(|&field| !seen[field]) {
                        let id = layout.first + field;
                        if !self.program.steps[id].nullable {
                            return None;
                        }
                        let step = Step::new(Literal::EMPTY, Action::Absent, id, true);
                        script.push(step, Literal::EMPTY);
                    }
                    script.push(Step::new(literal, Action::Close, id, false), opening);
                }
            }
        }
        (!members.is_empty()).then_some(())
    }
}

/// The text before the quote of a key.
fn before_quote(text: &[u8]) -> &[u8] {
    text.split(|b| *b == b'"').next().unwrap_or_default()
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
