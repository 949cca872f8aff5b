// SPDX-License-Identifier: Apache-2.0
//! Route: from the text between two values to the next field.
//!
//! Records repeat themselves: the text from the end of one value to the start of the next is mostly
//! the same as in the previous record, white space included. An object keeps these texts, in the
//! order of their appearance, as *slots*. The walker compares the text with the expected slot, and
//! with a few after it (fields are omitted more often than reordered). If none matches, it parses
//! punctuation and key, looks up the key, and adds the text as a new slot, or continues after the
//! slot that has it.

use arrowsmith_core::{DuplicateKeys, ErrorKind, UnknownKeys};
use arrowsmith_simd::isa::{Isa, Kernel};
use arrowsmith_simd::lanes::Literal;
use arrowsmith_simd::skip;
use arrowsmith_simd::text::{Fault, unescape};

use super::build::{Values, offset, wrong_column};
use super::program::{Code, Fast, Id, Object};
use super::walk::{FAIL, Subject, Walker};

/// Number of slots that are compared before the key is looked up.
const TRIES: usize = 4;

/// Maximum number of slots of an object, in addition to two per key.
const SPARE_SLOTS: usize = 32;

/// Added to [`Predictor::misses`] for a lookup that prediction should have avoided; each object
/// read subtracts one.
const MISS: usize = 8;

/// The misses after which the order is learned again: a constant, and more for each slot.
const fn misses_max(slots: usize) -> usize {
    256 + 32 * slots
}

/// What follows a text between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follows {
    /// The value of a field, read by this function.
    Field(Fast),
    /// A value that no column needs.
    Unknown,
    /// Nothing: the text closes the object.
    End,
}

/// A text between two values, from the end of one to the start of the next.
#[derive(Debug, Clone)]
#[repr(C)]
pub(crate) struct Slot {
    /// The first member, so that it starts a cache line.
    pub literal: Literal,
    pub follows: Follows,
    /// The index of the field; 0 if there is none.
    pub field: u32,
    /// Whether the text starts with the object's bracket, and so cannot match between two fields.
    pub opens: bool,
}

impl Slot {
    /// Whether the text at `pos` of the object that starts at `start` is this one.
    #[inline(always)]
    fn is_at<I: Isa>(&self, isa: I, window: &[u8; 64], pos: usize, start: usize) -> bool {
        isa.equal(window, &self.literal.bytes, self.literal.mask) && (!self.opens || pos == start)
    }

    #[inline(always)]
    fn route(&self, pos: usize, due: usize) -> Route {
        let (follows, field) = (self.follows, self.field as usize);
        Route { follows, field, pos: pos + self.literal.len, due }
    }
}

/// The learned texts of one kind of object.
#[derive(Debug, Default)]
pub(crate) struct Predictor {
    pub slots: Vec<Slot>,
    /// Mispredictions, weighted by [`MISS`], less objects read; at the limit the predictor is
    /// reset.
    misses: usize,
    /// The fields from the 64th on that were seen in the current object, one bit each.
    seen: Vec<u64>,
}

impl Predictor {
    pub fn new(object: &Object) -> Self {
        let mut seen = vec![0; object.keys.len().div_ceil(64)];
        seen.pop();
        Self { seen, ..Self::default() }
    }

    /// Adds a text at slot `due`, unless it is a slot already. Returns the slot expected after it.
    fn learn(
        &mut self,
        text: &[u8],
        follows: Follows,
        field: usize,
        due: usize,
        keys: usize,
    ) -> usize {
        let known = self.slots.iter().position(|slot| slot.literal.text() == text);
        if let Some(at) = known {
            self.miss();
            return at + 1;
        }
        let room = self.slots.len() < SPARE_SLOTS + 2 * keys;
        let (Some(literal), Ok(field), true) = (Literal::new(text), u32::try_from(field), room)
        else {
            self.miss();
            return due;
        };
        let at = due.min(self.slots.len());
        let opens = text.first() == Some(&b'{');
        self.slots.insert(at, Slot { literal, follows, field, opens });
        at + 1
    }

    fn miss(&mut self) {
        self.misses += MISS;
        if self.misses > misses_max(self.slots.len()) {
            // This order does not help. The next text starts a new one.
            self.misses = 0;
            self.slots.clear();
        }
    }
}

/// The state of the current object.
struct ObjectState {
    object: usize,
    /// Node of the first field.
    first_child: Id,
    fields: usize,
    /// Its row in its column.
    row: usize,
    /// Number of open containers, including itself.
    depth: usize,
    /// Position of its bracket.
    start: usize,
    /// A bit for each of the first 64 fields that was seen; the others are in the predictor.
    seen: u64,
}

/// Runs [`Walker::look_up`] compiled for an instruction set, not inlined.
struct LookUp<'w, 'a, I> {
    walker: &'w mut Walker<'a, I>,
    reading: &'w ObjectState,
    slots: &'w mut Vec<Slot>,
    due: usize,
    pos: usize,
}

impl<I: Isa> Kernel for LookUp<'_, '_, I> {
    type Output = Option<Route>;

    #[inline(always)]
    fn run<J: Isa>(self, _isa: J) -> Option<Route> {
        self.walker.look_up(self.reading, self.slots, self.due, self.pos)
    }
}

/// The next member of an object.
#[derive(Clone, Copy)]
struct Route {
    follows: Follows,
    field: usize,
    /// Position of the value.
    pos: usize,
    /// The slot expected after it.
    due: usize,
}

impl<I: Isa> Walker<'_, I> {
    /// Reads an object with known keys.
    #[inline(always)]
    pub fn object(&mut self, id: Id, start: usize) -> usize {
        let Code::Struct(object) = self.program.steps[id].code else {
            return self.wrong_node(id);
        };
        if self.input.at(start) != b'{' {
            return self.other_type(id, start);
        }
        let depth = self.program.steps[id].depth;
        if depth > self.options.limits.depth_max {
            return self.fail(ErrorKind::DepthExceeded, start, Subject::Value(id));
        }
        let layout = &self.program.objects[object];
        let (first_child, fields) = (layout.first, layout.keys.len());
        let row = self.columns.len(id);
        let reading = ObjectState { object, first_child, fields, row, depth, start, seen: 0 };
        let predictor = &mut self.predictors[object];
        predictor.misses = predictor.misses.saturating_sub(1);
        if fields > 64 {
            predictor.seen.fill(0);
        }
        // The slots are moved out while the object is read, as objects of this kind do not nest.
        let mut slots = std::mem::take(&mut predictor.slots);
        let pos = self.fields(reading, &mut slots);
        self.predictors[object].slots = slots;
        if pos != FAIL
            && let Values::Count(count) = &mut self.columns.columns[id].values
        {
            *count += 1;
        }
        pos
    }

    /// Reads a list of objects, in one function, so that no object costs a call.
    #[inline(always)]
    pub fn objects(&mut self, id: Id, start: usize) -> usize {
        let Code::List(item) = self.program.steps[id].code else { return self.wrong_node(id) };
        let Code::Struct(object) = self.program.steps[item].code else {
            return self.wrong_node(item);
        };
        if self.input.at(start) != b'[' {
            return self.other_type(id, start);
        }
        if self.program.steps[id].depth > self.options.limits.depth_max {
            return self.fail(ErrorKind::DepthExceeded, start, Subject::Value(id));
        }
        let mut pos = self.space(start + 1);
        if self.input.at(pos) == b'{' {
            pos = self.elements_in_lockstep(item, object, pos);
        }
        if self.input.at(pos) == b']' {
            pos += 1;
        } else {
            let mut slots = std::mem::take(&mut self.predictors[object].slots);
            pos = self.object_elements(item, object, &mut slots, pos);
            self.predictors[object].slots = slots;
        }
        if pos == FAIL {
            return FAIL;
        }
        let len = offset(self.columns.len(item));
        match &mut self.columns.columns[id].values {
            Values::Ends(ends) => ends.push(len),
            other => wrong_column(other),
        }
        pos
    }

    /// Reads the elements of an array from `pos` on; returns the position after its bracket.
    #[inline(always)]
    fn object_elements(
        &mut self,
        item: Id,
        object: usize,
        slots: &mut Vec<Slot>,
        mut pos: usize,
    ) -> usize {
        let layout = &self.program.objects[object];
        let (first_child, fields) = (layout.first, layout.keys.len());
        let depth = self.program.steps[item].depth;
        let plain = depth <= self.options.limits.depth_max;
        let mut row = self.columns.len(item);
        loop {
            let from = pos;
            if plain && self.input.at(from) == b'{' {
                let reading =
                    ObjectState { object, first_child, fields, row, depth, start: from, seen: 0 };
                let predictor = &mut self.predictors[object];
                predictor.misses = predictor.misses.saturating_sub(1);
                if fields > 64 {
                    predictor.seen.fill(0);
                }
                pos = self.fields(reading, slots);
                if pos == FAIL {
                    pos = self.recover(item, from);
                } else if let Values::Count(count) = &mut self.columns.columns[item].values {
                    *count += 1;
                }
            } else {
                pos = self.value_or_null(item, Fast::Other, from);
            }
            row += 1;
            if pos == FAIL {
                return FAIL;
            }
            pos = self.space(pos);
            match self.input.at(pos) {
                b',' => pos = self.space(pos + 1),
                b']' => return pos + 1,
                _ => return self.fail(ErrorKind::Syntax, pos, Subject::Grammar("',' or ']'")),
            }
        }
    }

    /// Reads the fields of an object.
    #[inline(always)]
    fn fields(&mut self, mut reading: ObjectState, slots: &mut Vec<Slot>) -> usize {
        let mut pos = reading.start;
        let mut due = 0;
        loop {
            let between = pos;
            let route = match slots.get(due) {
                Some(slot) if slot.is_at(self.isa, self.input.window(pos), pos, reading.start) => {
                    slot.route(pos, due + 1)
                }
                _ => match self.route(&reading, slots, due, pos) {
                    Some(route) => route,
                    None => return FAIL,
                },
            };
            (pos, due) = (route.pos, route.due);
            match route.follows {
                Follows::Field(fast) => {
                    let bit = if route.field < 64 { 1 << route.field } else { 0 };
                    // The bit is set already, or the field is not among the first 64.
                    if reading.seen | bit == reading.seen
                        && !self.see(&mut reading, route.field, between)
                    {
                        return FAIL;
                    }
                    reading.seen |= bit;
                    pos = self.value_or_null(reading.first_child + route.field, fast, pos);
                    if pos == FAIL {
                        return FAIL;
                    }
                }
                Follows::Unknown => {
                    if self.options.unknown_keys == UnknownKeys::Error {
                        return self.refuse_key(ErrorKind::UnknownKey, between);
                    }
                    pos = self.skip(self.space(pos), reading.depth, false);
                    if pos == FAIL {
                        return FAIL;
                    }
                    self.left_out.values += 1;
                }
                Follows::End => break,
            }
        }
        let all = if reading.fields < 64 { (1 << reading.fields) - 1 } else { u64::MAX };
        if (reading.seen != all || reading.fields > 64) && !self.fill(&reading, pos - 1) {
            return FAIL;
        }
        pos
    }

    /// Notes a field that appears twice, or that is not among the first 64.
    #[cold]
    #[inline(never)]
    fn see(&mut self, reading: &mut ObjectState, field: usize, between: usize) -> bool {
        if field >= 64 {
            let word = &mut self.predictors[reading.object].seen[field / 64 - 1];
            let fresh = *word >> (field % 64) & 1 == 0;
            *word |= 1 << (field % 64);
            if fresh {
                return true;
            }
        }
        if self.options.duplicate_keys == DuplicateKeys::Error {
            self.refuse_key(ErrorKind::DuplicateKey, between);
            return false;
        }
        if !self.careful && !self.columns.validate_text() {
            *self.not_utf8 = true;
        }
        self.columns.truncate(self.program, reading.first_child + field, reading.row);
        true
    }

    /// The next member, if it is not at the expected slot.
    #[inline(always)]
    fn route(
        &mut self,
        reading: &ObjectState,
        slots: &mut Vec<Slot>,
        due: usize,
        pos: usize,
    ) -> Option<Route> {
        let window = self.input.window(pos);
        let mut next = due + 1;
        while next < due + TRIES
            && let Some(slot) = slots.get(next)
        {
            if slot.is_at(self.isa, window, pos, reading.start) {
                return Some(slot.route(pos, next + 1));
            }
            next += 1;
        }
        let isa = self.isa;
        isa.vectorize(LookUp { walker: self, reading, slots, due, pos })
    }

    /// Adds a text to the predictor.
    fn learn(
        &mut self,
        reading: &ObjectState,
        slots: &mut Vec<Slot>,
        text: &[u8],
        route: Route,
    ) -> Route {
        let predictor = &mut self.predictors[reading.object];
        std::mem::swap(&mut predictor.slots, slots);
        let Route { follows, field, due, .. } = route;
        let due = predictor.learn(text, follows, field, due, reading.fields);
        std::mem::swap(&mut predictor.slots, slots);
        Route { due, ..route }
    }

    /// Parses punctuation and key.
    #[inline(always)]
    fn look_up(
        &mut self,
        reading: &ObjectState,
        slots: &mut Vec<Slot>,
        due: usize,
        from: usize,
    ) -> Option<Route> {
        let first = from == reading.start;
        let mut pos = if first { from + 1 } else { from };
        pos = self.space(pos);
        match self.input.at(pos) {
            b'}' => {
                let text = self.input.slice(from, pos + 1);
                let route = Route { follows: Follows::End, field: 0, pos: pos + 1, due };
                return Some(self.learn(reading, slots, text, route));
            }
            b',' if !first => pos = self.space(pos + 1),
            _ if first => {}
            _ => {
                self.fail(ErrorKind::Syntax, pos, Subject::Grammar("',' or '}'"));
                return None;
            }
        }
        if self.input.at(pos) != b'"' {
            let wanted = if first { "'\"' or '}'" } else { "'\"'" };
            self.fail(ErrorKind::Syntax, pos, Subject::Grammar(wanted));
            return None;
        }
        let after = match skip::string(self.isa, self.input, pos + 1) {
            Ok(after) => after,
            Err(Fault { kind, pos }) => {
                self.fail(kind, pos, Subject::Grammar("a key"));
                return None;
            }
        };
        let (key_from, key_to) = (pos + 1, after - 1);
        let field = match self.field_of(reading.object, key_from, key_to) {
            Ok(field) => field,
            Err(Fault { kind, pos }) => {
                self.fail(kind, pos, Subject::Grammar("a key"));
                return None;
            }
        };
        pos = self.space(after);
        if self.input.at(pos) != b':' {
            self.fail(ErrorKind::Syntax, pos, Subject::Grammar("':'"));
            return None;
        }
        pos = self.space(pos + 1);
        if pos > self.input.end() {
            self.fail(ErrorKind::Truncated, pos, Subject::Grammar("a value"));
            return None;
        }
        if field.is_none() && self.left_out.key.is_none() {
            let key = self.input.slice(key_from, key_to);
            self.left_out.key = Some(String::from_utf8_lossy(key).into_owned());
        }
        let text = self.input.slice(from, pos);
        let follows = match field {
            Some(field) => Follows::Field(self.program.fast(reading.first_child + field)),
            None => Follows::Unknown,
        };
        let route = Route { follows, field: field.unwrap_or(0), pos, due };
        Some(self.learn(reading, slots, text, route))
    }

    /// The field whose key is the text between these positions, which may contain escapes.
    fn field_of(&self, object: usize, from: usize, to: usize) -> Result<Option<usize>, Fault> {
        let object = &self.program.objects[object];
        let text = self.input.slice(from, to);
        let field = if text.contains(&b'\\') {
            let mut key = Vec::with_capacity(text.len());
            let mut pos = from;
            while pos < to {
                if self.input.at(pos) == b'\\' {
                    let (escaped, end) = match unescape(self.input, pos) {
                        Ok(unescaped) => unescaped,
                        // No key of a schema contains half of a surrogate pair.
                        Err(Fault { kind: ErrorKind::LoneSurrogate, .. }) => {
                            return Ok(None);
                        }
                        Err(fault) => return Err(fault),
                    };
                    let mut utf8 = [0; 4];
                    key.extend_from_slice(escaped.encode_utf8(&mut utf8).as_bytes());
                    pos = end;
                } else {
                    key.push(self.input.at(pos));
                    pos += 1;
                }
            }
            std::str::from_utf8(&key).ok().and_then(|key| object.index.get(key))
        } else {
            std::str::from_utf8(text).ok().and_then(|key| object.index.get(key))
        };
        Ok(field.copied())
    }

    /// Reports the key in the text that starts at `between` as an error.
    #[cold]
    #[inline(never)]
    fn refuse_key(&mut self, kind: ErrorKind, between: usize) -> usize {
        let mut pos = between;
        while pos < self.input.end() && self.input.at(pos) != b'"' {
            pos += 1;
        }
        self.fail(kind, pos, Subject::Grammar("another key"))
    }

    /// Appends nulls for missing fields; the object's bracket is at `pos`.
    #[inline(never)]
    fn fill(&mut self, reading: &ObjectState, pos: usize) -> bool {
        let program = self.program;
        let mut from = 0;
        while from < reading.fields {
            let seen = match from {
                0 => reading.seen,
                _ => self.predictors[reading.object].seen[from / 64 - 1],
            };
            let here = (reading.fields - from).min(64);
            let mut missing = !seen & (u64::MAX >> (64 - here));
            while missing != 0 {
                let field = from + missing.trailing_zeros() as usize;
                let id = reading.first_child + field;
                if !program.steps[id].nullable {
                    let subject = Subject::Missing(reading.object, field);
                    self.fail(ErrorKind::MissingField, pos, subject);
                    return false;
                }
                self.columns.push_null(program, id);
                missing &= missing - 1;
            }
            from += 64;
        }
        true
    }
}
