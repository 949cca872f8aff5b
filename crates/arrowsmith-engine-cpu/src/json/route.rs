// SPDX-License-Identifier: Apache-2.0
//! Route: from the text between two values to the next field.
//!
//! Records repeat themselves: the text from the end of one value to the start of the next is mostly
//! the same as in the previous record, white space included. An object keeps these texts as *slots*
//! (`predict`). The walker compares the text with the expected slot. If it is another one, the key
//! is found by its hash (`keys`), and the walker continues after the slot that the field has; where
//! members have no order there are no slots, and every key is found so. Unusual white space, and
//! keys that are long or have escapes, are parsed token by token.

use std::borrow::Cow;

use arrowsmith_core::{DuplicateKeys, ErrorKind, UnknownKeys};
use arrowsmith_simd::isa::{Isa, Kernel};
use arrowsmith_simd::skip;
use arrowsmith_simd::text::{Fault, unescape};

use super::build::{Values, offset, wrong_column};
use super::keys::Found;
use super::predict::{Follows, Member, Slot, TRIES};
use super::program::{Code, Fast, Id, Object, Program};
use super::walk::{FAIL, Subject, Walker};

/// The state of the current object.
pub(super) struct ObjectState {
    object: usize,
    /// Node of the first field.
    pub first_child: Id,
    fields: usize,
    /// Its row in its column.
    row: usize,
    /// Number of open containers, including itself.
    pub depth: usize,
    /// Position of its bracket.
    start: usize,
    /// A bit for each of the first 64 fields that was seen; the others are in the predictor.
    seen: u64,
}

impl ObjectState {
    pub fn of(program: &Program, id: Id, object: usize, row: usize, start: usize) -> Self {
        let Object { first: first_child, keys, .. } = &program.objects[object];
        let depth = program.steps[id].depth;
        let (first_child, fields) = (*first_child, keys.len());
        Self { object, first_child, fields, row, depth, start, seen: 0 }
    }
}

/// Runs [`Walker::by_key`] compiled for an instruction set, not inlined.
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
        self.walker.by_key(self.reading, self.slots, self.due, self.pos)
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

impl Route {
    /// The member at `pos` that has the text of this slot.
    #[inline(always)]
    fn to(slot: &Slot, pos: usize) -> Self {
        let (follows, field) = (slot.follows, slot.field as usize);
        Self { follows, field, pos: pos + slot.literal.len, due: slot.next as usize }
    }
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
        let row = self.columns.len(id);
        let reading = ObjectState::of(self.program, id, object, row, start);
        let predictor = &mut self.predictors[object];
        predictor.start();
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
        let depth = self.program.steps[item].depth;
        let plain = depth <= self.options.limits.depth_max;
        let mut row = self.columns.len(item);
        loop {
            let from = pos;
            if plain && self.input.at(from) == b'{' {
                let reading = ObjectState::of(self.program, item, object, row, from);
                self.predictors[object].start();
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
                Some(slot) if slot.is_at(self.isa, self.input.window(pos)) => Route::to(slot, pos),
                _ => match self.route(&reading, slots, due, pos) {
                    Some(route) => route,
                    None => return FAIL,
                },
            };
            (pos, due) = (route.pos, route.due);
            match route.follows {
                Follows::Field(fast) => {
                    let twice = self.mark_seen(&mut reading, route.field);
                    if twice && !self.seen_twice(&reading, route.field, between) {
                        return FAIL;
                    }
                    pos = self.value_or_null(reading.first_child + route.field, fast, pos);
                    if pos == FAIL {
                        return FAIL;
                    }
                }
                Follows::Unknown => {
                    if self.options.unknown_keys == UnknownKeys::Error
                        && !self.is_unselected(reading.object, between)
                    {
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

    /// Notes that a field appears; returns whether it did before.
    #[inline(always)]
    pub(super) fn mark_seen(&mut self, reading: &mut ObjectState, field: usize) -> bool {
        let word = match field / 64 {
            0 => &mut reading.seen,
            word => &mut self.predictors[reading.object].seen[word - 1],
        };
        let bit = 1 << (field % 64);
        let twice = *word & bit != 0;
        *word |= bit;
        twice
    }

    /// Removes the value of a field that appears twice.
    #[cold]
    #[inline(never)]
    fn seen_twice(&mut self, reading: &ObjectState, field: usize, between: usize) -> bool {
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
        // A few fields may be missing.
        let window = self.input.window(pos);
        let mut next = due + 1;
        while due > 0
            && next < due + TRIES
            && let Some(slot) = slots.get(next)
        {
            if slot.is_at(self.isa, window) {
                return Some(Route::to(slot, pos));
            }
            next += 1;
        }
        let isa = self.isa;
        isa.vectorize(LookUp { walker: self, reading, slots, due, pos })
    }

    /// The next member, found by its key.
    #[inline(always)]
    fn by_key(
        &mut self,
        reading: &ObjectState,
        slots: &mut Vec<Slot>,
        due: usize,
        pos: usize,
    ) -> Option<Route> {
        let Some(mut route) = self.hashed(reading, pos) else {
            return self.look_up(reading, slots, due, pos);
        };
        let predictor = &self.predictors[reading.object];
        if predictor.learns() {
            let place = predictor.place(route.field);
            let known = matches!(route.follows, Follows::Field(_)) && place >= due && due > 0;
            route.due = match slots.get(place) {
                // Fields before it are missing.
                Some(slot) if known && slot.is_at(self.isa, self.input.window(pos)) => place + 1,
                _ => self.learn(reading, slots, due, pos, route),
            };
        }
        Some(route)
    }

    /// The next member, if it is in its usual form: no white space but a space after comma and
    /// colon, and a key without escapes that fits into a window.
    #[inline(always)]
    fn hashed(&mut self, reading: &ObjectState, pos: usize) -> Option<Route> {
        let quote = match self.input.at(pos) {
            b'{' if pos == reading.start => pos + 1,
            b',' if pos != reading.start => pos + 1 + usize::from(self.input.at(pos + 1) == b' '),
            b'}' if pos != reading.start => {
                let follows = Follows::End;
                return Some(Route { follows, field: 0, pos: pos + 1, due: 0 });
            }
            _ => return None,
        };
        let key = quote + 1;
        let len = self.isa.string_stop(self.input.window(key)).trailing_zeros() as usize;
        let end = key + len;
        if self.input.at(quote) != b'"' || len >= 64 || self.input.at(end) != b'"' {
            return None;
        }
        let value = end + 2 + usize::from(self.input.at(end + 2) == b' ');
        if self.input.at(end + 1) != b':'
            || self.input.at(value) <= b' '
            || value > self.input.end()
        {
            return None;
        }
        let object = &self.program.objects[reading.object];
        let (follows, field) = match object.table.find(self.isa, self.input, key, len) {
            Found::Field(field, fast) => (Follows::Field(fast), field),
            Found::Unknown if self.left_out.key.is_some() => (Follows::Unknown, 0),
            _ => return None,
        };
        Some(Route { follows, field, pos: value, due: 0 })
    }

    /// Notes that this member is at `from`, where slot `due` was expected; returns the slot
    /// expected after it.
    #[inline(never)]
    fn learn(
        &mut self,
        reading: &ObjectState,
        slots: &mut Vec<Slot>,
        due: usize,
        from: usize,
        route: Route,
    ) -> usize {
        let text = self.input.slice(from, route.pos);
        let member = Member { text, follows: route.follows, field: route.field };
        self.predictors[reading.object].learn(slots, member, due)
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
                let route = Route { follows: Follows::End, field: 0, pos: pos + 1, due };
                let due = self.learn(reading, slots, due, from, route);
                return Some(Route { due, ..route });
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
        let follows = match field {
            Some(field) => Follows::Field(self.program.fast(reading.first_child + field)),
            None => Follows::Unknown,
        };
        let route = Route { follows, field: field.unwrap_or(0), pos, due };
        let due = self.learn(reading, slots, due, from, route);
        Some(Route { due, ..route })
    }

    /// The field whose key is the text between these positions, which may contain escapes.
    fn field_of(&self, object: usize, from: usize, to: usize) -> Result<Option<usize>, Fault> {
        let key = self.key(from, to)?;
        let index = &self.program.objects[object].index;
        Ok(key.and_then(|key| index.get(key.as_ref()).copied()))
    }

    /// The key between these positions, which may contain escapes; none if no schema can have it.
    fn key(&self, from: usize, to: usize) -> Result<Option<Cow<'_, str>>, Fault> {
        let text = self.input.slice(from, to);
        if !text.contains(&b'\\') {
            return Ok(std::str::from_utf8(text).ok().map(Cow::Borrowed));
        }
        let mut key = Vec::with_capacity(text.len());
        let mut pos = from;
        while pos < to {
            if self.input.at(pos) == b'\\' {
                let (escaped, end) = match unescape(self.input, pos) {
                    Ok(unescaped) => unescaped,
                    // No key of a schema contains half of a surrogate pair.
                    Err(Fault { kind: ErrorKind::LoneSurrogate, .. }) => return Ok(None),
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
        Ok(String::from_utf8(key).ok().map(Cow::Owned))
    }

    /// Whether the key in the text that starts at `between` is one that no column needs. It was
    /// read before, so its string ends.
    #[inline(never)]
    fn is_unselected(&self, object: usize, between: usize) -> bool {
        let unselected = &self.program.objects[object].unselected;
        if unselected.is_empty() {
            return false;
        }
        let from = self.quote(between) + 1;
        let Ok(after) = skip::string(self.isa, self.input, from) else { return false };
        matches!(self.key(from, after - 1), Ok(Some(key)) if unselected.contains(key.as_ref()))
    }

    /// The first quote from `pos` on.
    fn quote(&self, mut pos: usize) -> usize {
        while pos < self.input.end() && self.input.at(pos) != b'"' {
            pos += 1;
        }
        pos
    }

    /// Reports the key in the text that starts at `between` as an error.
    #[cold]
    #[inline(never)]
    fn refuse_key(&mut self, kind: ErrorKind, between: usize) -> usize {
        let wanted = match kind {
            ErrorKind::UnknownKey => "a key of the schema",
            _ => "another key",
        };
        self.fail(kind, self.quote(between), Subject::Grammar(wanted))
    }

    /// Appends nulls for missing fields; the object's bracket is at `pos`.
    #[inline(never)]
    pub(super) fn fill(&mut self, reading: &ObjectState, pos: usize) -> bool {
        let program = self.program;
        let object = &program.objects[reading.object];
        for (word, fields) in object.fields.iter().enumerate() {
            let seen = match word {
                0 => reading.seen,
                _ => self.predictors[reading.object].seen[word - 1],
            };
            let missing = fields.all & !seen;
            let first = reading.first_child + 64 * word;
            if missing & fields.required != 0 {
                let field = 64 * word + (missing & fields.required).trailing_zeros() as usize;
                self.fail(ErrorKind::MissingField, pos, Subject::Missing(reading.object, field));
                return false;
            }
            // One kind of column after another, so that the branches on it are predicted.
            let kinds = [fields.words, fields.texts, fields.bits, fields.lists];
            let mut rest = missing;
            for kind in kinds {
                self.columns.push_nulls_to(program, first, missing & kind);
                rest &= !kind;
            }
            self.columns.push_nulls_to(program, first, rest);
        }
        true
    }
}
