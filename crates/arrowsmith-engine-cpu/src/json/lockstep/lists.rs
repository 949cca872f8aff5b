// SPDX-License-Identifier: Apache-2.0
//! Lockstep within a list: its objects, or its lists of floating-point numbers, up to eight at
//! once.

use arrowsmith_simd::isa::Isa;
use arrowsmith_simd::lanes::{self, Elements, LANES, Positions};

use super::{ALL, ELEMENTS_MIN, ROW_MAX, Script};
use crate::json::build::{Values, offset};
use crate::json::program::{Code, Id};
use crate::json::walk::{FAIL, Walker};

impl<I: Isa> Walker<'_, I> {
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
}
