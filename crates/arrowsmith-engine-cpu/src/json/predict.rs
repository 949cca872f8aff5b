// SPDX-License-Identifier: Apache-2.0
//! Predict: the texts between the values of one kind of object, as they were learned.
//!
//! The texts are *slots*, in the order in which members follow each other: first the opening text,
//! with the key of the first member, then one slot for each field that was seen, last the closing
//! text. Learning costs a bounded time for each member that was not predicted, and it stops, for
//! longer each time, where members have no order: the keys are then looked up instead.

use arrowsmith_simd::isa::Isa;
use arrowsmith_simd::lanes::Literal;

use super::program::{Fast, Object};

/// Maximum number of slots of an object, in addition to two per key.
const SPARE_SLOTS: usize = 32;

/// Number of slots, from the expected one on, that are compared before a key is looked up.
pub(crate) const TRIES: usize = 4;

/// Added to [`Predictor::misses`] for a member in another place; each object read subtracts one.
const MISS: usize = 8;

/// Objects that are read without learning after the texts were forgotten, the first time.
const REST: usize = 256;

/// Maximum number of times that this is doubled.
const DOUBLED_MAX: u32 = 8;

/// The misses after which the order is forgotten: a constant, and more for each slot.
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
    /// The slot that is expected after it.
    pub next: u32,
}

impl Slot {
    /// Whether the text at the start of this window is this one. The opening text is only compared
    /// at the start of an object, as no slot is followed by it.
    #[inline(always)]
    pub fn is_at<I: Isa>(&self, isa: I, window: &[u8; 64]) -> bool {
        isa.equal(window, &self.literal.bytes, self.literal.mask)
    }

    /// A slot that is never at the start of an object, in place of an opening text that is too
    /// long.
    fn never() -> Self {
        let literal = Literal::new(b"\0").unwrap_or(Literal::EMPTY);
        Self { literal, follows: Follows::Unknown, field: 0, next: 1 }
    }
}

/// A text between two values, and what follows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member<'t> {
    pub text: &'t [u8],
    pub follows: Follows,
    /// The index of the field; 0 if there is none.
    pub field: usize,
}

/// The learned texts of one kind of object.
#[derive(Debug, Default)]
pub(crate) struct Predictor {
    /// The opening text, one slot for each member, the closing text.
    pub slots: Vec<Slot>,
    /// The slot of each field; 0 if there is none.
    places: Vec<u32>,
    /// The text before the quote of a key that is not the first.
    separator: Vec<u8>,
    /// Mispredictions, weighted by [`MISS`], less objects read between them; at the limit the texts
    /// are forgotten.
    misses: usize,
    /// Objects read so far, up to the last misprediction, and until texts were last forgotten.
    objects: usize,
    missed_at: usize,
    forgotten_at: usize,
    /// Texts are learned again when this many objects were read.
    rest_until: usize,
    /// How often texts were forgotten soon after they were learned.
    forgotten: u32,
    /// The fields from the 64th on that were seen in the current object, one bit each.
    pub seen: Vec<u64>,
}

impl Predictor {
    pub fn new(object: &Object) -> Self {
        let mut seen = vec![0; object.keys.len().div_ceil(64)];
        seen.pop();
        let places = vec![0; object.keys.len()];
        Self { seen, places, separator: b",".to_vec(), ..Self::default() }
    }

    /// Starts to read an object.
    #[inline(always)]
    pub fn start(&mut self) {
        self.passed(1);
        if !self.seen.is_empty() {
            self.seen.fill(0);
        }
    }

    /// Notes that this many objects were read.
    #[inline(always)]
    pub fn passed(&mut self, objects: usize) {
        self.objects = self.objects.saturating_add(objects);
    }

    /// Whether texts are learned at present.
    #[inline(always)]
    pub fn learns(&self) -> bool {
        self.objects >= self.rest_until
    }

    /// Learns nothing from now on.
    #[cfg(test)]
    pub fn rest(&mut self) {
        self.rest_until = usize::MAX;
    }

    /// The slot of a field, if it has one.
    #[inline(always)]
    pub fn place(&self, field: usize) -> usize {
        self.places.get(field).map_or(0, |&place| place as usize)
    }

    /// Notes that `member` was found where slot `due` was expected. `slots` are those of the
    /// predictor, which were moved out. Returns the slot expected after it.
    pub fn learn(&mut self, slots: &mut Vec<Slot>, member: Member<'_>, due: usize) -> usize {
        if !self.learns() {
            return 0;
        }
        if slots.is_empty() {
            // Where memory was refused, the slots that were moved out are lost.
            self.places.fill(0);
        }
        if member.text.first() == Some(&b'{') {
            return self.open(slots, member);
        }
        if slots.is_empty() {
            slots.push(Slot::never());
        }
        match member.follows {
            Follows::End => self.close(slots, member),
            Follows::Field(_) => {
                let head = member.text.split(|b| *b == b'"').next().unwrap_or_default();
                if head != self.separator && head.len() < 64 {
                    self.separator = head.to_vec();
                }
                self.field(slots, member, due.max(1))
            }
            Follows::Unknown => self.unknown(slots, member, due.max(1)),
        }
    }

    /// The opening text replaces the last one. The first member also gets a slot of its own, for
    /// objects in which it is not the first.
    fn open(&mut self, slots: &mut Vec<Slot>, member: Member<'_>) -> usize {
        if member.follows == Follows::End {
            return 0;
        }
        if slots.is_empty() {
            slots.push(Slot::never());
        }
        let tail = member.text.iter().position(|b| *b == b'"').unwrap_or(0);
        let inner = [&self.separator, &member.text[tail..]].concat();
        let inner = Member { text: &inner, ..member };
        let next = match member.follows {
            Follows::Field(_) => self.field(slots, inner, 1),
            _ => self.unknown(slots, inner, 1),
        };
        // Unless all was just forgotten.
        if let Some(first) = slots.first_mut() {
            *first = match (Literal::new(member.text), u32::try_from(member.field)) {
                (Some(literal), Ok(field)) => {
                    let next = u32::try_from(next).unwrap_or(0);
                    Slot { literal, follows: member.follows, field, next }
                }
                _ => Slot::never(),
            };
        }
        next
    }

    fn close(&mut self, slots: &mut Vec<Slot>, member: Member<'_>) -> usize {
        let Some(literal) = Literal::new(member.text) else { return 0 };
        match slots.last_mut() {
            Some(last) if last.follows == Follows::End => {
                if last.literal.text() != member.text {
                    last.literal = literal;
                    self.miss(slots);
                }
            }
            _ => {
                slots.push(Slot { literal, follows: Follows::End, field: 0, next: 0 });
                let at = slots.len() - 1;
                self.number(slots, at);
            }
        }
        0
    }

    fn field(&mut self, slots: &mut Vec<Slot>, member: Member<'_>, due: usize) -> usize {
        let place = self.place(member.field);
        let is_own = |slot: &&mut Slot| {
            matches!(slot.follows, Follows::Field(_)) && slot.field as usize == member.field
        };
        let Some(slot) = slots.get_mut(place).filter(|slot| place > 0 && is_own(slot)) else {
            // Where nothing else is known, the order of the schema is a good guess.
            let before = |slot: &Slot| match slot.follows {
                Follows::Field(_) => slot.field as usize > member.field,
                Follows::Unknown => false,
                Follows::End => true,
            };
            let rest = slots.get(due..).unwrap_or_default();
            let at = due + rest.iter().position(before).unwrap_or(rest.len());
            return self.insert(slots, member, at, due);
        };
        let mut missed = false;
        if slot.literal.text() != member.text {
            let Some(literal) = Literal::new(member.text) else {
                self.miss(slots);
                return place + 1;
            };
            slot.literal = literal;
            missed = true;
        }
        let next = self.after(slots, place, due);
        if missed || place < due {
            self.miss(slots);
        }
        next
    }

    fn unknown(&mut self, slots: &mut Vec<Slot>, member: Member<'_>, due: usize) -> usize {
        let same = |slot: &Slot| slot.literal.text() == member.text;
        if let Some(at) = slots.iter().skip(due).take(TRIES).position(same) {
            return due + at + 1;
        }
        if let Some(at) = slots.iter().skip(1).position(same) {
            let next = self.after(slots, at + 1, due);
            self.miss(slots);
            return next;
        }
        self.insert(slots, member, due, due)
    }

    /// Moves the slot at `place` after the member before it, if it is not there yet. Returns the
    /// slot expected after it.
    fn after(&mut self, slots: &mut [Slot], place: usize, due: usize) -> usize {
        if place >= due {
            return place + 1;
        }
        let to = (due - 1).min(slots.len() - 1);
        slots[place..=to].rotate_left(1);
        self.number(slots, place);
        to + 1
    }

    /// Inserts a slot at `at`, if there is room. Returns the slot expected after it.
    fn insert(
        &mut self,
        slots: &mut Vec<Slot>,
        member: Member<'_>,
        at: usize,
        due: usize,
    ) -> usize {
        let room = slots.len() < SPARE_SLOTS + 2 * self.places.len();
        let (Some(literal), Ok(field), true) =
            (Literal::new(member.text), u32::try_from(member.field), room)
        else {
            self.miss(slots);
            return due;
        };
        let end = slots.iter().skip(1).position(|slot| slot.follows == Follows::End);
        let at = at.min(end.map_or(slots.len(), |end| end + 1));
        slots.insert(at, Slot { literal, follows: member.follows, field, next: 0 });
        self.number(slots, at);
        at + 1
    }

    /// Numbers the slots from `from` on again, after they moved.
    fn number(&mut self, slots: &mut [Slot], from: usize) {
        for (at, slot) in (0..).zip(slots.iter_mut()).skip(from.max(1)) {
            slot.next = at + 1;
            if let (Follows::Field(_), Some(place)) =
                (slot.follows, self.places.get_mut(slot.field as usize))
            {
                *place = at;
            }
        }
        if let Some(first) = slots.first_mut()
            && let Follows::Field(_) = first.follows
        {
            first.next = self.places.get(first.field as usize).map_or(1, |place| place + 1);
        }
    }

    fn miss(&mut self, slots: &mut Vec<Slot>) {
        let since = self.objects.saturating_sub(self.missed_at);
        self.misses = self.misses.saturating_sub(since) + MISS;
        self.missed_at = self.objects;
        if self.misses > misses_max(slots.len()) {
            // Members have no order that would help.
            slots.clear();
            self.places.fill(0);
            let age = self.objects.saturating_sub(self.forgotten_at);
            let soon = age < (4 * REST) << self.forgotten;
            let doubled = if soon { self.forgotten + 1 } else { 0 };
            self.forgotten = doubled.min(DOUBLED_MAX);
            self.rest_until = self.objects.saturating_add(REST << self.forgotten);
            (self.misses, self.forgotten_at) = (0, self.objects);
        }
    }
}

#[cfg(test)]
mod tests;
