// SPDX-License-Identifier: Apache-2.0
//! Route: from the text between two values to the field that comes next.
//!
//! Writers repeat themselves: from the end of one value to the start of the next, the text of a record
//! is mostly what it was in the record before, white space included. An object keeps these texts, in
//! the order in which it saw them, as *slots*. The walker compares the slot that is due, and the few
//! after it (fields are left out more often than moved). If none matches, it reads punctuation and key
//! one by one, looks the key up, and notes the text as a new slot, or goes on behind the slot that has it.

use arrowsmith_core::{DuplicateKeys, ErrorKind, UnknownKeys};
use arrowsmith_simd::isa::{Isa, Kernel};
use arrowsmith_simd::skip;
use arrowsmith_simd::text::{Fault, unescape};

use super::build::Values;
use super::program::{Follows, Id, Object, Slot};
use super::walk::{About, FAIL, Walker};

/// Slots that are compared before the key is looked up.
const TRIES: usize = 4;

/// Slots an object keeps at most, beyond two for each of its keys.
const SPARE_SLOTS: usize = 32;

/// What a lookup that prediction should have saved costs in [`Object::misses`]; an object that was read
/// takes one off.
const MISS: usize = 8;

/// The misses after which the order is learned anew: some, and some more for each slot to learn.
const fn misses_max(slots: usize) -> usize {
    256 + 32 * slots
}

/// Runs [`Walker::look_up`] under an instruction set, out of line.
struct LookUp<'w, 'a, I> {
    walker: &'w mut Walker<'a, I>,
    object: usize,
    due: usize,
    pos: usize,
    first: bool,
}

impl<I: Isa> Kernel for LookUp<'_, '_, I> {
    type Output = Option<Route>;

    #[inline(always)]
    fn run<J: Isa>(self, _isa: J) -> Option<Route> {
        self.walker.look_up(self.object, self.due, self.pos, self.first)
    }
}

/// What comes next in an object.
#[derive(Clone, Copy)]
struct Route {
    follows: Follows,
    /// Position of the value.
    pos: usize,
    /// The slot that is due after it.
    due: usize,
}

impl Object {
    /// Keeps a text for prediction: at `due`, or where it is already. Gives the slot due after it.
    fn learn(&mut self, text: &[u8], follows: Follows, due: usize) -> usize {
        let known = self.slots.iter().position(|slot| slot.literal[..slot.len] == *text);
        if let Some(at) = known {
            self.miss();
            return at + 1;
        }
        if text.len() > 64 || self.slots.len() >= SPARE_SLOTS + 2 * self.keys.len() {
            self.miss();
            return due;
        }
        let mut literal = [0; 64];
        literal[..text.len()].copy_from_slice(text);
        let mask = if text.len() == 64 { u64::MAX } else { (1 << text.len()) - 1 };
        let at = due.min(self.slots.len());
        self.slots.insert(at, Slot { literal, mask, len: text.len(), follows });
        at + 1
    }

    fn miss(&mut self) {
        self.misses += MISS;
        if self.misses > misses_max(self.slots.len()) {
            // This order does not pay. What comes next begins a new one.
            self.misses = 0;
            self.slots.clear();
        }
    }
}

impl<I: Isa> Walker<'_, I> {
    /// Reads an object with known keys.
    #[inline(always)]
    pub fn object(&mut self, id: Id, object: usize, start: usize) -> usize {
        if self.input.at(start) != b'{' {
            return self.other_type(id, start);
        }
        if self.state.program.steps[id].depth > self.state.options.limits.depth_max {
            return self.fail(ErrorKind::DepthExceeded, start, About::Value(id));
        }
        self.state.program.objects[object].seen.fill(0);
        let first_child = self.state.program.objects[object].first;
        let len = self.state.columns.len(id);
        let mut missing = self.state.program.objects[object].keys.len();
        let mut pos = start;
        let mut due = 0;
        loop {
            let between = pos;
            let Some(route) = self.route(object, due, between, between == start) else {
                return FAIL;
            };
            (pos, due) = (route.pos, route.due);
            match route.follows {
                Follows::Field(field) => {
                    let seen = &mut self.state.program.objects[object].seen[field / 64];
                    let bit = 1 << (field % 64);
                    if *seen & bit != 0 {
                        if !self.again(first_child + field, len, between) {
                            return FAIL;
                        }
                    } else {
                        *seen |= bit;
                        missing -= 1;
                    }
                    pos = self.value_or_null(first_child + field, pos);
                    if pos == FAIL {
                        return FAIL;
                    }
                }
                Follows::Unknown => {
                    if self.state.options.unknown_keys == UnknownKeys::Error {
                        return self.refuse_key(ErrorKind::UnknownKey, between);
                    }
                    let depth = self.state.program.steps[id].depth;
                    pos = self.skip(pos, depth);
                    if pos == FAIL {
                        return FAIL;
                    }
                }
                Follows::End => break,
            }
        }
        if missing != 0 && !self.fill(object, pos - 1) {
            return FAIL;
        }
        let predictor = &mut self.state.program.objects[object].misses;
        *predictor = predictor.saturating_sub(1);
        if let Values::Count(count) = &mut self.state.columns.columns[id].values {
            *count += 1;
        }
        pos
    }

    /// What comes next, predicted or looked up.
    #[inline(always)]
    fn route(&mut self, object: usize, due: usize, pos: usize, first: bool) -> Option<Route> {
        let window = self.input.window(pos);
        let slots = &self.state.program.objects[object].slots;
        for (i, slot) in slots.iter().enumerate().skip(due).take(TRIES) {
            if self.isa.equal(window, &slot.literal, slot.mask) {
                return Some(Route { follows: slot.follows, pos: pos + slot.len, due: i + 1 });
            }
        }
        let isa = self.isa;
        isa.vectorize(LookUp { walker: self, object, due, pos, first })
    }

    /// Reads punctuation and key one by one.
    #[inline(always)]
    fn look_up(&mut self, object: usize, due: usize, from: usize, first: bool) -> Option<Route> {
        let mut pos = if first { from + 1 } else { from };
        pos = self.space(pos);
        match self.input.at(pos) {
            b'}' => {
                let text = self.input.slice(from, pos + 1);
                self.state.program.objects[object].learn(text, Follows::End, due);
                return Some(Route { follows: Follows::End, pos: pos + 1, due });
            }
            b',' if !first => pos = self.space(pos + 1),
            _ if first => {}
            _ => {
                self.fail(ErrorKind::Syntax, pos, About::Grammar("',' or '}'"));
                return None;
            }
        }
        if self.input.at(pos) != b'"' {
            let wanted = if first { "'\"' or '}'" } else { "'\"'" };
            self.fail(ErrorKind::Syntax, pos, About::Grammar(wanted));
            return None;
        }
        let after = match skip::string(self.isa, self.input, pos + 1) {
            Ok(after) => after,
            Err(Fault { kind, pos }) => {
                self.fail(kind, pos, About::Grammar("a key"));
                return None;
            }
        };
        let follows = match self.field_of(object, pos + 1, after - 1) {
            Ok(follows) => follows,
            Err(Fault { kind, pos }) => {
                self.fail(kind, pos, About::Grammar("a key"));
                return None;
            }
        };
        pos = self.space(after);
        if self.input.at(pos) != b':' {
            self.fail(ErrorKind::Syntax, pos, About::Grammar("':'"));
            return None;
        }
        pos = self.space(pos + 1);
        if pos > self.input.end() {
            self.fail(ErrorKind::Truncated, pos, About::Grammar("a value"));
            return None;
        }
        let text = self.input.slice(from, pos);
        let due = self.state.program.objects[object].learn(text, follows, due);
        Some(Route { follows, pos, due })
    }

    /// The field whose key is the text between these positions, escapes and all.
    fn field_of(&self, object: usize, from: usize, to: usize) -> Result<Follows, Fault> {
        let object = &self.state.program.objects[object];
        let text = self.input.slice(from, to);
        let field = if text.contains(&b'\\') {
            let mut key = Vec::with_capacity(text.len());
            let mut pos = from;
            while pos < to {
                if self.input.at(pos) == b'\\' {
                    let (escaped, end) = match unescape(self.input, pos) {
                        Ok(unescaped) => unescaped,
                        // No key of a schema holds half of a pair.
                        Err(Fault { kind: ErrorKind::LoneSurrogate, .. }) => {
                            return Ok(Follows::Unknown);
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
        Ok(field.map_or(Follows::Unknown, |field| Follows::Field(*field)))
    }

    /// A key that was there already: forgets its value, or refuses it.
    #[cold]
    #[inline(never)]
    fn again(&mut self, child: Id, len: usize, between: usize) -> bool {
        if self.state.options.duplicate_keys == DuplicateKeys::Error {
            self.refuse_key(ErrorKind::DuplicateKey, between);
            return false;
        }
        self.state.columns.truncate(&self.state.program, child, len);
        true
    }

    /// Refuses the key in the text that begins at `between`.
    #[cold]
    #[inline(never)]
    fn refuse_key(&mut self, kind: ErrorKind, between: usize) -> usize {
        let mut pos = between;
        while pos < self.input.end() && self.input.at(pos) != b'"' {
            pos += 1;
        }
        self.fail(kind, pos, About::Grammar("another key"))
    }

    /// Puts nulls where fields are missing; the object's bracket is at `pos`.
    #[inline(never)]
    fn fill(&mut self, object: usize, pos: usize) -> bool {
        let state = &mut *self.state;
        let (first, fields) = {
            let object = &state.program.objects[object];
            (object.first, object.keys.len())
        };
        for field in 0..fields {
            if state.program.objects[object].seen[field / 64] >> (field % 64) & 1 != 0 {
                continue;
            }
            if !state.program.steps[first + field].nullable {
                let about = About::Missing(object, field);
                self.fail(ErrorKind::MissingField, pos, about);
                return false;
            }
            state.columns.push_null(&state.program, first + field);
        }
        true
    }
}
