// SPDX-License-Identifier: Apache-2.0
//! Convert: lists, fixed-size lists and maps.

use arrow_buffer::ArrowNativeType;
use arrowsmith_core::ErrorKind;
use arrowsmith_number as number;
use arrowsmith_plan::IntWidth;
use arrowsmith_simd::isa::Isa;
use arrowsmith_simd::lanes::has;
use arrowsmith_simd::{Buf, Input, ints};

use super::{NULL, narrow};
use crate::json::build::{Values, offset, wrong_column};
use crate::json::program::{Code, Fast, Id};
use crate::json::walk::{FAIL, Subject, Walker};

/// Appends the integers of the array at `pos`, moves `pos` after it, and returns their number.
/// `None`, with nothing changed, if the kernel does not read it to its end.
#[inline(always)]
fn int_list<I: Isa>(
    isa: I,
    input: Input<'_>,
    pos: &mut usize,
    values: &mut Buf<u64>,
    signed: bool,
) -> Option<usize> {
    match input.word(*pos).to_le_bytes() {
        [b'[', b']', ..] => {
            *pos += 2;
            return Some(0);
        }
        [b'[', ..] => {}
        _ => return None,
    }
    let before = values.len();
    let read = isa.int_list(input, *pos + 1, values, signed);
    if !read.closed {
        values.truncate(before);
        return None;
    }
    *pos = read.pos;
    Some(values.len() - before)
}

impl<I: Isa> Walker<'_, I> {
    #[inline(always)]
    pub fn list(&mut self, id: Id, pos: usize) -> usize {
        let Code::List(item) = self.program.steps[id].code else { return self.wrong_node(id) };
        let Some((count, end)) = self.elements(id, item, pos) else { return FAIL };
        if count == NULL {
            return end;
        }
        let len = offset(self.columns.len(item));
        match self.values(id) {
            Values::Ends(ends) => ends.push(len),
            other => wrong_column(other),
        }
        end
    }

    #[inline(always)]
    pub fn fixed_list(&mut self, id: Id, item: Id, len: usize, pos: usize) -> usize {
        let Some((count, end)) = self.elements(id, item, pos) else { return FAIL };
        if count == NULL {
            return end;
        }
        if count != len {
            return self.fail(ErrorKind::LengthMismatch, pos, Subject::Value(id));
        }
        match self.values(id) {
            Values::Count(lists) => *lists += 1,
            other => wrong_column(other),
        }
        end
    }

    /// An array of 64-bit integers that a kernel reads to its end; else [`FAIL`], with nothing
    /// changed.
    #[inline(always)]
    pub fn ints(&mut self, id: Id, mut pos: usize) -> usize {
        let positions = std::slice::from_mut(&mut pos);
        if self.int_lists(id, positions, u8::MAX) == 1 { pos } else { FAIL }
    }

    /// Arrays of 64-bit integers, one after another, that a kernel reads to their ends: returns how
    /// many, up to the first that it does not. A lane that is not `there` gets an empty list; lists
    /// of fixed size have to be all there.
    #[inline(always)]
    pub fn int_lists(&mut self, id: Id, positions: &mut [usize], there: u8) -> usize {
        let step = &self.program.steps[id];
        let (item, len) = match step.code {
            Code::List(item) => (item, None),
            Code::FixedList(item, len) => (item, Some(len)),
            _ => return 0,
        };
        let (isa, input) = (self.isa, self.input);
        let signed = self.program.steps[item].code == Code::Int(IntWidth::I64);
        let Ok([list, items]) = self.columns.columns.get_disjoint_mut([id, item]) else {
            return 0;
        };
        let values = match &mut items.values {
            Values::W64(values) => values,
            other => {
                wrong_column(other);
                return 0;
            }
        };
        if step.depth > self.options.limits.depth_max {
            return 0;
        }
        match (&mut list.values, len) {
            (Values::Ends(ends), None) => {
                for (done, pos) in positions.iter_mut().enumerate() {
                    if has(there, done) && int_list(isa, input, pos, values, signed).is_none() {
                        return done;
                    }
                    ends.push(offset(values.len()));
                }
            }
            (Values::Count(lists), Some(len)) => {
                for (done, pos) in positions.iter_mut().enumerate() {
                    let (from, before) = (*pos, values.len());
                    if int_list(isa, input, pos, values, signed) != Some(len) {
                        values.truncate(before);
                        *pos = from;
                        return done;
                    }
                    *lists += 1;
                }
            }
            _ => return 0,
        }
        positions.len()
    }

    /// An array of 64-bit floating-point numbers, separated by nothing but commas; else [`FAIL`],
    /// with nothing changed.
    #[inline(always)]
    pub fn floats(&mut self, id: Id, start: usize) -> usize {
        let step = &self.program.steps[id];
        let Code::List(item) = step.code else { return self.wrong_node(id) };
        if self.input.at(start) != b'[' || step.depth > self.options.limits.depth_max {
            return FAIL;
        }
        let Ok([list, items]) = self.columns.columns.get_disjoint_mut([id, item]) else {
            return FAIL;
        };
        let (Values::Ends(ends), Values::W64(values)) = (&mut list.values, &mut items.values)
        else {
            return FAIL;
        };
        let before = values.len();
        let mut pos = start + 1;
        if self.input.at(pos) == b']' {
            ends.push(offset(before));
            return pos + 1;
        }
        while let Ok((value, len)) = number::parse_f64(self.input.from(pos)) {
            values.push(value.to_bits());
            pos += len;
            match self.input.at(pos) {
                b',' => {
                    pos += 1;
                    pos += usize::from(self.input.at(pos) == b' ');
                }
                b']' => {
                    ends.push(offset(values.len()));
                    return pos + 1;
                }
                _ => break,
            }
        }
        values.truncate(before);
        FAIL
    }

    /// Reads the elements of the array at `pos`: their number, or [`NULL`] for a null, which is
    /// then appended to the list's column, and the position after it.
    #[inline(always)]
    fn elements(&mut self, id: Id, item: Id, pos: usize) -> Option<(usize, usize)> {
        if self.input.at(pos) != b'[' {
            let end = self.other_type(id, pos);
            return (end != FAIL).then_some((NULL, end));
        }
        if self.program.steps[id].depth > self.options.limits.depth_max {
            self.fail(ErrorKind::DepthExceeded, pos, Subject::Value(id));
            return None;
        }
        let before = self.columns.len(item);
        let mut pos = self.space(pos + 1);
        if self.input.at(pos) == b']' {
            return Some((0, pos + 1));
        }
        let code = self.program.steps[item].code;
        if let Code::Int(width) = code {
            let list = self.int_elements(item, width, pos);
            if list.closed {
                return Some((self.columns.len(item) - before, list.pos));
            }
            pos = self.space(list.pos);
        }
        let fast = self.program.fast(item);
        if fast == Fast::Floats && self.input.at(pos) == b'[' {
            pos = self.float_lists_in_lockstep(item, pos);
            if self.input.at(pos) == b']' {
                return Some((self.columns.len(item) - before, pos + 1));
            }
        }
        loop {
            pos = self.value_or_null(item, fast, pos);
            if pos == FAIL {
                return None;
            }
            pos = self.space(pos);
            match self.input.at(pos) {
                b',' => pos = self.space(pos + 1),
                b']' => return Some((self.columns.len(item) - before, pos + 1)),
                _ => {
                    self.fail(ErrorKind::Syntax, pos, Subject::Grammar("',' or ']'"));
                    return None;
                }
            }
        }
    }

    /// As many elements as the integer kernel reads.
    #[inline(always)]
    fn int_elements(&mut self, item: Id, width: IntWidth, pos: usize) -> ints::IntList {
        let (isa, input, signed) = (self.isa, self.input, width.is_signed());
        match &mut self.columns.columns[item].values {
            Values::W64(values) => isa.int_list(input, pos, values, signed),
            values => {
                let wide = &mut self.scratch.ints;
                wide.truncate(0);
                let list = isa.int_list(input, pos, wide, signed);
                if wide.as_slice().iter().any(|&value| narrow(width, value).is_none()) {
                    // Continues value by value, to find the one.
                    return ints::IntList { pos, closed: false };
                }
                push_narrowed(values, wide);
                list
            }
        }
    }

    /// An object with any keys.
    #[inline(always)]
    pub fn map(&mut self, id: Id, key: Id, value: Id, start: usize) -> usize {
        if self.input.at(start) != b'{' {
            return self.other_type(id, start);
        }
        if self.program.steps[id].depth > self.options.limits.depth_max {
            return self.fail(ErrorKind::DepthExceeded, start, Subject::Value(id));
        }
        let mut pos = self.space(start + 1);
        if self.input.at(pos) != b'}' {
            loop {
                if self.input.at(pos) != b'"' {
                    return self.fail(ErrorKind::Syntax, pos, Subject::Grammar("'\"'"));
                }
                pos = self.utf8(key, pos);
                if pos == FAIL {
                    self.fault.subject = Subject::Grammar("a key");
                    return FAIL;
                }
                pos = self.space(pos);
                if self.input.at(pos) != b':' {
                    return self.fail(ErrorKind::Syntax, pos, Subject::Grammar("':'"));
                }
                pos = self.space(pos + 1);
                pos = self.value_or_null(value, self.program.fast(value), pos);
                if pos == FAIL {
                    return FAIL;
                }
                pos = self.space(pos);
                match self.input.at(pos) {
                    b',' => pos = self.space(pos + 1),
                    b'}' => break,
                    _ => return self.fail(ErrorKind::Syntax, pos, Subject::Grammar("',' or '}'")),
                }
            }
        }
        let len = offset(self.columns.len(key));
        match self.values(id) {
            Values::Ends(ends) => ends.push(len),
            other => wrong_column(other),
        }
        pos + 1
    }
}

#[expect(clippy::cast_possible_truncation, reason = "`narrow` has checked every value")]
fn push_narrowed(values: &mut Values, wide: &Buf<u64>) {
    fn all<T: ArrowNativeType>(buf: &mut Buf<T>, wide: &Buf<u64>, narrow: impl Fn(u64) -> T) {
        buf.reserve(wide.len());
        for &value in wide.as_slice() {
            buf.push(narrow(value));
        }
    }
    match values {
        Values::W32(buf) => all(buf, wide, |value| value as u32),
        Values::W16(buf) => all(buf, wide, |value| value as u16),
        Values::W8(buf) => all(buf, wide, |value| value as u8),
        other => wrong_column(other),
    }
}
