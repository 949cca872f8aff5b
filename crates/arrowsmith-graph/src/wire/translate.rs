// SPDX-License-Identifier: Apache-2.0
//! Messages of an older or a newer program → messages of this one: classes and members are matched
//! by name, new members have no value, removed ones are skipped, numbers may be of another width.
//!
//! It turns bytes into bytes and knows no memory; what it makes is read, and so checked, as any
//! other message. `cpp/include/arrowsmith/graph_translate.hpp` does the same for generated C++.

use super::walk::{Options, Tables, extend, load};
use super::{Code, HEADER_BYTES, NullSink, WireError, header};
use crate::layout::{Choice, Integer, Kind, Layout, LayoutError, Member};

type Result<T> = std::result::Result<T, LayoutError>;

/// How the messages of a layout become those of another one.
#[derive(Debug)]
pub struct Translation {
    from: Tables,
    to: Layout,
    classes: Vec<Moves>,
}

/// How a list of members becomes another one.
#[derive(Debug)]
pub(crate) struct Moves {
    /// The type id of the class, or the number of the alternative; none if there is no such.
    pub to: Option<u32>,
    /// By member of the new list.
    pub members: Vec<Move>,
}

/// Where the value of a member is from.
#[derive(Debug)]
pub(crate) struct Move {
    /// The member of the old list; none if it has none.
    pub from: Option<usize>,
    /// The members of an element, or those of each alternative of the old choice.
    pub inner: Vec<Moves>,
}

impl Translation {
    /// Matches two layouts.
    ///
    /// # Errors
    ///
    /// All members that have become something else, and new pointers that are never null.
    pub fn new(from: Layout, to: Layout) -> Result<Self> {
        let class = |old: &crate::layout::Class| {
            let Some(new) = to.class(&old.name) else {
                return Ok(Moves { to: None, members: Vec::new() });
            };
            let members = moves(&new.name, &old.members, &new.members)?;
            Ok(Moves { to: Some(new.type_id), members })
        };
        let classes = from.classes.iter().map(class).collect::<Result<_>>()?;
        Ok(Self { from: Tables::new(from), to, classes })
    }

    /// The layout of the messages that are taken.
    pub fn from_layout(&self) -> &Layout {
        self.from.layout()
    }

    pub(crate) fn classes(&self) -> &[Moves] {
        &self.classes
    }

    /// Turns a message into one of the other layout; with a header if it has one.
    ///
    /// # Errors
    ///
    /// The first error of the message as one of its own layout; an object or a variant's
    /// alternative of a class that the other layout does not have; a number that does not fit.
    pub fn message(
        &mut self,
        message: &[u8],
        options: Options,
    ) -> std::result::Result<Vec<u8>, WireError> {
        self.from.walk(message, u64::MAX, options, &mut NullSink::default())?;
        let body = if options.header { HEADER_BYTES } else { 0 };
        let from = self.from.layout();
        let mut walk = Walk { message, at: body, out: Vec::new() };
        let count = walk.number(4);
        walk.out.extend(message.get(body..walk.at).unwrap_or_default());
        let mut types = Vec::new();
        for _ in 0..count {
            let at = walk.at;
            let old = usize::try_from(walk.number(4)).unwrap_or(usize::MAX);
            let Some(new) = self.classes.get(old).and_then(|class| class.to) else {
                return Err(WireError::new(Code::UnknownType, at));
            };
            walk.out.extend(new.to_le_bytes());
            types.push((old, new as usize));
        }
        for (old, new) in types {
            let (source, target) = (&from.classes[old].members, &self.to.classes[new].members);
            walk.list(&self.classes[old], source, target)?;
        }
        if !options.header {
            return Ok(walk.out);
        }
        let Some(mut whole) = header(&self.to, walk.out.len()) else {
            return Err(WireError::new(Code::TooManyObjects, body));
        };
        whole.extend(walk.out);
        Ok(whole)
    }
}

fn moves(path: &str, from: &[Member], to: &[Member]) -> Result<Vec<Move>> {
    let alone = |list: &[Member]| list.iter().any(|member| member.name.is_empty());
    if !from.is_empty() && !to.is_empty() && alone(from) != alone(to) {
        return Err(LayoutError::new(path, "has elements of another kind"));
    }
    to.iter().map(|member| one(&format!("{path}::{}", member.name), from, member)).collect()
}

fn one(path: &str, list: &[Member], to: &Member) -> Result<Move> {
    let Some((index, from)) = list.iter().enumerate().find(|(_, from)| from.name == to.name) else {
        check_new(path, &to.kind)?;
        return Ok(Move { from: None, inner: Vec::new() });
    };
    if from.count != to.count {
        return Err(LayoutError::new(path, "is an array of another length"));
    }
    Ok(Move { from: Some(index), inner: inner(path, &from.kind, &to.kind)? })
}

/// Refuses a new member for which there is no value.
fn check_new(path: &str, kind: &Kind) -> Result<()> {
    match kind {
        Kind::Pointer(reference) if !reference.nullable => {
            Err(LayoutError::new(path, "is new, and a pointer that is never null"))
        }
        Kind::Choice(choice) => {
            let first = choice.alternatives.first().map_or(&[][..], |of| &of.members);
            first.iter().try_for_each(|of| check_new(&format!("{path}.{}", of.name), &of.kind))
        }
        _ => Ok(()),
    }
}

fn inner(path: &str, from: &Kind, to: &Kind) -> Result<Vec<Moves>> {
    let bad = |message: &str| Err(LayoutError::new(path, message));
    match (from, to) {
        (Kind::Integer(_) | Kind::Bits(_), Kind::Integer(_) | Kind::Bits(_))
        | (Kind::Float { .. }, Kind::Float { .. })
        | (Kind::Pointer(_), Kind::Pointer(_))
        | (Kind::String | Kind::View, Kind::String | Kind::View) => Ok(Vec::new()),
        (Kind::Vector(from), Kind::Vector(to)) => {
            let members = moves(&format!("{path}[]"), &from.members, &to.members)?;
            if let Some(new) = to.form.keys().filter(|keys| !keys.members.is_empty()) {
                let names = |list: &[Member], keys: &[u32]| -> Vec<String> {
                    let name = |key: &u32| list.get(*key as usize).map(|of| of.name.clone());
                    keys.iter().filter_map(name).collect()
                };
                let same = from.form.keys().is_some_and(|old| {
                    let same = old.descending == new.descending && old.unique >= new.unique;
                    let old = names(&from.members, &old.members);
                    same && old == names(&to.members, &new.members)
                });
                if !same {
                    return bad("is a container of another order");
                }
            }
            Ok(vec![Moves { to: Some(0), members }])
        }
        (Kind::Choice(from), Kind::Choice(to)) => alternatives(path, from, to),
        _ => bad("is of another kind"),
    }
}

fn alternatives(path: &str, from: &Choice, to: &Choice) -> Result<Vec<Moves>> {
    if from.is_optional() != to.is_optional() {
        return Err(LayoutError::new(path, "is of another kind"));
    }
    let one = |(index, old): (usize, &crate::layout::Alternative)| {
        let number = match from.is_optional() {
            true => Some(index),
            false => to.alternatives.iter().position(|new| new.name == old.name),
        };
        let Some((number, new)) = number.and_then(|at| Some((at, to.alternatives.get(at)?))) else {
            return Ok(Moves { to: None, members: Vec::new() });
        };
        let members = moves(&format!("{path}<{}>", new.name), &old.members, &new.members)?;
        Ok(Moves { to: u32::try_from(number).ok(), members })
    };
    from.alternatives.iter().enumerate().map(one).collect()
}

/// A message that has been checked, and what is made of it.
struct Walk<'a> {
    message: &'a [u8],
    at: usize,
    out: Vec<u8>,
}

impl Walk<'_> {
    fn number(&mut self, bytes: u32) -> u64 {
        let value = load(self.message, self.at, bytes as usize);
        self.at += bytes as usize;
        value
    }

    fn copy(&mut self, bytes: usize) {
        let bytes = self.message.get(self.at..).and_then(|rest| rest.get(..bytes));
        let bytes = bytes.unwrap_or_default();
        self.out.extend(bytes);
        self.at += bytes.len();
    }

    fn list(
        &mut self,
        moves: &Moves,
        from: &[Member],
        to: &[Member],
    ) -> std::result::Result<(), WireError> {
        let mut starts = Vec::with_capacity(from.len());
        for member in from {
            starts.push(self.at);
            self.skip(member);
        }
        let end = self.at;
        for (of, member) in moves.members.iter().zip(to) {
            let source = of.from.and_then(|index| from.get(index).zip(starts.get(index)));
            let Some((source, start)) = source else {
                for _ in 0..member.count {
                    self.absent(&member.kind);
                }
                continue;
            };
            self.at = *start;
            for _ in 0..member.count {
                self.value(&of.inner, &source.kind, &member.kind)?;
            }
        }
        self.at = end;
        Ok(())
    }

    fn skip(&mut self, member: &Member) {
        for _ in 0..member.count {
            match &member.kind {
                Kind::String | Kind::View => {
                    let length = self.number(4);
                    self.at += usize::try_from(length).unwrap_or(0);
                }
                Kind::Vector(element) => {
                    for _ in 0..self.number(4) {
                        element.members.iter().for_each(|member| self.skip(member));
                    }
                }
                Kind::Choice(choice) => {
                    let which = usize::try_from(self.number(1)).unwrap_or(0);
                    let of = choice.alternatives.get(which).map_or(&[][..], |of| &of.members);
                    of.iter().for_each(|member| self.skip(member));
                }
                kind => self.at += kind.wire_bytes() as usize,
            }
        }
    }

    /// The value of a member that the message does not have.
    fn absent(&mut self, kind: &Kind) {
        match kind {
            Kind::Pointer(_) => self.out.extend([0xff; 4]),
            Kind::Choice(choice) => {
                self.out.push(0);
                let first = choice.alternatives.first().map_or(&[][..], |of| &of.members);
                for member in first {
                    for _ in 0..member.count {
                        self.absent(&member.kind);
                    }
                }
            }
            kind => {
                // Zero, or what is next to it of the valid values.
                let range = match kind {
                    Kind::Integer(integer) => integer.range,
                    Kind::Bits(bits) => bits.values(),
                    _ => None,
                };
                let value = range.map_or(0, |[low, high]| 0.clamp(low, high));
                self.put(value.cast_unsigned(), kind.wire_bytes());
            }
        }
    }

    fn put(&mut self, value: u64, bytes: u32) {
        self.out.extend(value.to_le_bytes().iter().take(bytes as usize));
    }

    fn value(
        &mut self,
        inner: &[Moves],
        from: &Kind,
        to: &Kind,
    ) -> std::result::Result<(), WireError> {
        let begin = self.at;
        match (from, to) {
            (Kind::Float { bytes: 4 }, Kind::Float { bytes: 8 }) => {
                let value = f32::from_bits(u32::try_from(self.number(4)).unwrap_or(0));
                self.put(f64::from(value).to_bits(), 8);
            }
            (Kind::Float { bytes: 8 }, Kind::Float { bytes: 4 }) => {
                let value = f64::from_bits(self.number(8));
                let small = rounded(value);
                if f64::from(small).to_bits() != value.to_bits() && !value.is_nan() {
                    return Err(WireError::new(Code::ValueOutOfRange, begin));
                }
                self.put(small.to_bits().into(), 4);
            }
            (Kind::String | Kind::View, _) => {
                let length = load(self.message, begin, 4);
                self.copy(4 + usize::try_from(length).unwrap_or(0));
            }
            (Kind::Vector(old), Kind::Vector(new)) => {
                let length = load(self.message, begin, 4);
                self.copy(4);
                let [moves] = inner else { return Ok(()) };
                for _ in 0..length {
                    self.list(moves, &old.members, &new.members)?;
                }
            }
            (Kind::Choice(old), Kind::Choice(new)) => {
                let which = usize::try_from(self.number(1)).unwrap_or(usize::MAX);
                let moves = inner.get(which);
                let Some((moves, number)) = moves.and_then(|of| Some((of, of.to?))) else {
                    return Err(WireError::new(Code::ValueOutOfRange, begin));
                };
                self.put(number.into(), 1);
                let old = old.alternatives.get(which).map_or(&[][..], |of| &of.members);
                let new = new.alternatives.get(number as usize).map_or(&[][..], |of| &of.members);
                self.list(moves, old, new)?;
            }
            (Kind::Integer(_) | Kind::Bits(_), _) => {
                let value = self.number(from.wire_bytes());
                let signed = is_signed(from);
                let value = extend(value, 8 * from.wire_bytes(), signed);
                if !fits(value, signed, to) {
                    return Err(WireError::new(Code::ValueOutOfRange, begin));
                }
                self.put(value, to.wire_bytes());
            }
            (kind, _) => self.copy(kind.wire_bytes() as usize),
        }
        Ok(())
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the caller compares")]
fn rounded(value: f64) -> f32 {
    value as f32
}

fn is_signed(kind: &Kind) -> bool {
    match kind {
        Kind::Integer(Integer { signed, .. }) => *signed,
        Kind::Bits(bits) => bits.signed,
        _ => false,
    }
}

/// Whether a number has the same value in the width and with the sign of another member.
fn fits(value: u64, signed: bool, to: &Kind) -> bool {
    let bits = 8 * to.wire_bytes();
    let low = value & (u64::MAX >> (64 - bits));
    let back = extend(low, bits, is_signed(to));
    let number = |value: u64, signed: bool| match signed {
        true => i128::from(value.cast_signed()),
        false => i128::from(value),
    };
    number(value, signed) == number(back, is_signed(to))
}
