// SPDX-License-Identifier: Apache-2.0
//! Bytes of a message → calls of a [`Sink`], in message order; each value is checked before it is
//! passed on.
//!
//! All checks of docs/design/0004-object-graphs.md are here and only here; the sink turns the
//! values into memory, Arrow columns or a tree. It allocates the type list's offsets, which are at
//! most as long as the message.

use super::order::follows;
use super::{Code, HEADER_BYTES, MAGIC, NULL_ID, VERSION, WireError};
use crate::layout::{Choice, Element, Kind, Layout, Member, Reference, wire_bytes_min};

type Result<T> = std::result::Result<T, WireError>;

/// Options of a reader of messages.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Whether messages begin with a header.
    pub header: bool,
    /// Maximum number of objects in a message.
    pub objects_max: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { header: false, objects_max: 1 << 24 }
    }
}

/// Receives the values of a message. Places are offsets in the region, for sinks that have one.
pub trait Sink {
    /// The objects will take the first `bytes` of the region.
    fn begin(&mut self, _bytes: u64) {}
    /// An object begins.
    fn object(&mut self, type_id: u32, id: u32, place: u64);
    /// A number, extended to 64 bits; `member` is the index among those of its class or element.
    fn number(&mut self, member: usize, kind: &Kind, place: u64, bits: u64);
    /// A reference: the object, its offset including the adjustment, or null.
    fn pointer(&mut self, member: usize, place: u64, target: Option<(u32, u64)>);
    /// A string; its bytes go to `content` if they do not fit into the string itself.
    fn string(&mut self, member: usize, place: u64, bytes: &[u8], content: Option<u64>);
    /// A vector or another container begins; what it holds is at `content`.
    fn vector(&mut self, member: usize, element: &Element, length: u32, content: u64);
    /// A view of a string; its bytes go to `content`.
    fn view(&mut self, member: usize, place: u64, bytes: &[u8], content: Option<u64>) {
        self.string(member, place, bytes, content);
    }
    /// A choice begins: its alternative, whose members follow.
    fn choice(&mut self, member: usize, place: u64, choice: &Choice, alternative: u8);
    /// The innermost open choice has ended.
    fn choice_end(&mut self) {}
    /// The innermost open vector, which is at `place`, has ended.
    fn vector_end(&mut self, element: &Element, place: u64, length: u32, content: u64);
}

/// The tables of a layout, in the form that the walk uses.
#[derive(Debug)]
pub struct Tables {
    pub(super) layout: Layout,
    hash: u64,
    offsets: Vec<u64>,
}

impl Tables {
    /// Prepares a checked layout.
    pub fn new(layout: Layout) -> Self {
        Self { hash: layout.wire_hash(), layout, offsets: Vec::new() }
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Walks a message with a sink; returns the offset that the root pointer points to, and the
    /// region's bytes in use.
    ///
    /// # Errors
    ///
    /// The first error of the message.
    pub fn walk<S: Sink>(
        &mut self,
        message: &[u8],
        capacity: u64,
        options: Options,
        sink: &mut S,
    ) -> Result<(u64, u64)> {
        let mut offsets = std::mem::take(&mut self.offsets);
        offsets.clear();
        let mut walk = Walk {
            layout: &self.layout,
            message,
            at: 0,
            types: 0,
            count: 0,
            offsets: &mut offsets,
            capacity,
            tail: 0,
            sink,
        };
        let outcome = walk.run(self.hash, options);
        let tail = walk.tail;
        self.offsets = offsets;
        outcome.map(|root| (root, tail))
    }
}

struct Walk<'a, S> {
    layout: &'a Layout,
    message: &'a [u8],
    at: usize,
    /// Offset of the type list.
    types: usize,
    count: u32,
    offsets: &'a mut Vec<u64>,
    capacity: u64,
    tail: u64,
    sink: &'a mut S,
}

impl<S: Sink> Walk<'_, S> {
    fn run(&mut self, hash: u64, options: Options) -> Result<u64> {
        if options.header {
            self.header(hash)?;
        }
        self.type_list(options)?;
        self.sink.begin(self.tail);
        let layout = self.layout;
        for id in 0..self.count {
            let type_id = self.type_of(id);
            let place = self.place_of(id);
            self.sink.object(type_id, id, place);
            let class = &layout.classes[type_id as usize];
            self.members(&class.members, place)?;
        }
        if self.at != self.message.len() {
            return self.fail(Code::TrailingBytes);
        }
        let adjust = adjust(&layout.root, self.type_of(0)).unwrap_or(0);
        Ok(u64::from(adjust))
    }

    fn fail<T>(&self, code: Code) -> Result<T> {
        Err(WireError::new(code, self.at))
    }

    fn left(&self) -> u64 {
        (self.message.len() - self.at) as u64
    }

    /// The next bytes, without consuming them.
    fn peek<const N: usize>(&self) -> Result<[u8; N]> {
        match self.message[self.at..].first_chunk() {
            Some(bytes) => Ok(*bytes),
            None => self.fail(Code::Truncated),
        }
    }

    fn peek_u32(&self) -> Result<u32> {
        self.peek().map(u32::from_le_bytes)
    }

    fn header(&mut self, hash: u64) -> Result<()> {
        if self.peek()? != MAGIC {
            return self.fail(Code::BadHeader);
        }
        self.at = 4;
        if u16::from_le_bytes(self.peek()?) != VERSION {
            return self.fail(Code::BadHeader);
        }
        self.at = 6;
        if usize::from(u16::from_le_bytes(self.peek()?)) != HEADER_BYTES {
            return self.fail(Code::BadHeader);
        }
        self.at = 8;
        if u64::from_le_bytes(self.peek()?) != hash {
            return self.fail(Code::WrongLayout);
        }
        self.at = 16;
        if u64::from(self.peek_u32()?) != self.left() - 4 {
            return self.fail(Code::BadHeader);
        }
        self.at = HEADER_BYTES;
        Ok(())
    }

    fn type_list(&mut self, options: Options) -> Result<()> {
        self.count = self.peek_u32()?;
        if self.count == 0 {
            return self.fail(Code::NoObjects);
        }
        if self.count > options.objects_max {
            return self.fail(Code::TooManyObjects);
        }
        self.at += 4;
        self.types = self.at;
        let mut heap = 0_u64;
        for id in 0..self.count {
            let type_id = self.peek_u32()?;
            let Some(class) = self.layout.classes.get(type_id as usize) else {
                return self.fail(Code::UnknownType);
            };
            if id == 0 && adjust(&self.layout.root, type_id).is_none() {
                return self.fail(Code::WrongType);
            }
            heap = heap.next_multiple_of(u64::from(class.align));
            self.offsets.push(heap);
            heap += u64::from(class.size);
            if heap > self.capacity {
                return self.fail(Code::RegionTooSmall);
            }
            self.at += 4;
        }
        self.tail = heap;
        Ok(())
    }

    /// The type of an object below the count, all of which have been read.
    fn type_of(&self, id: u32) -> u32 {
        let at = self.types + 4 * id as usize;
        self.message[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    fn place_of(&self, id: u32) -> u64 {
        self.offsets[id as usize]
    }

    fn members(&mut self, members: &[Member], base: u64) -> Result<()> {
        for (index, member) in members.iter().enumerate() {
            let mut place = base + u64::from(member.offset);
            let stride = member.kind.bytes(self.layout.target.pointer_bytes).unwrap_or(0);
            for _ in 0..member.count {
                self.value(index, &member.kind, place)?;
                place += u64::from(stride);
            }
        }
        Ok(())
    }

    fn value(&mut self, index: usize, kind: &Kind, place: u64) -> Result<()> {
        match kind {
            Kind::Integer(integer) => {
                self.number(index, kind, place, integer.signed, integer.range)
            }
            Kind::Bits(bits) => self.number(index, kind, place, bits.signed, bits.values()),
            Kind::Float { .. } => self.number(index, kind, place, false, None),
            Kind::Pointer(reference) => self.pointer(index, reference, place),
            Kind::String => self.string(index, place),
            Kind::View => self.view(index, place),
            Kind::Choice(choice) => {
                let [which] = self.peek()?;
                let Some(alternative) = choice.alternatives.get(usize::from(which)) else {
                    return self.fail(Code::ValueOutOfRange);
                };
                self.at += 1;
                self.sink.choice(index, place, choice, which);
                self.members(&alternative.members, place)?;
                self.sink.choice_end();
                Ok(())
            }
            Kind::Vector(element) => self.vector(index, element, place),
        }
    }

    fn vector(&mut self, index: usize, element: &Element, place: u64) -> Result<()> {
        let length = self.peek_u32()?;
        let least = u64::from(wire_bytes_min(&element.members));
        if u64::from(length) * least > self.left() - 4 {
            return self.fail(Code::LengthOutOfRange);
        }
        let word = u64::from(self.layout.target.pointer_bytes);
        let of = element.content(length.into(), word);
        let content = if of.bytes == 0 { 0 } else { self.take(of.bytes, of.align)? };
        self.at += 4;
        self.sink.vector(index, element, length, content);
        let keys = element.form.keys();
        let mut before = None;
        for i in 0..u64::from(length) {
            let begin = self.at;
            self.members(&element.members, content + of.first + i * of.stride)?;
            if let (Some(before), Some(keys)) = (before, keys)
                && !follows(self.message, element, keys, before, begin)
            {
                return Err(WireError::new(Code::ValueOutOfRange, begin));
            }
            before = Some(begin);
        }
        self.sink.vector_end(element, place, length, content);
        Ok(())
    }

    fn number(
        &mut self,
        index: usize,
        kind: &Kind,
        place: u64,
        signed: bool,
        range: Option<[i64; 2]>,
    ) -> Result<()> {
        let bits = match kind.wire_bytes() {
            1 => extend(u64::from(self.peek::<1>()?[0]), 8, signed),
            2 => extend(u64::from(u16::from_le_bytes(self.peek()?)), 16, signed),
            4 => extend(u64::from(u32::from_le_bytes(self.peek()?)), 32, signed),
            _ => u64::from_le_bytes(self.peek()?),
        };
        if range.is_some_and(|range| !within(range, bits, signed)) {
            return self.fail(Code::ValueOutOfRange);
        }
        self.sink.number(index, kind, place, bits);
        self.at += kind.wire_bytes() as usize;
        Ok(())
    }

    fn pointer(&mut self, index: usize, reference: &Reference, place: u64) -> Result<()> {
        let id = self.peek_u32()?;
        let target = if id == NULL_ID {
            if !reference.nullable {
                return self.fail(Code::NullReference);
            }
            None
        } else {
            if id >= self.count {
                return self.fail(Code::IdOutOfRange);
            }
            let Some(adjust) = adjust(reference, self.type_of(id)) else {
                return self.fail(Code::WrongType);
            };
            Some((id, self.place_of(id) + u64::from(adjust)))
        };
        self.sink.pointer(index, place, target);
        self.at += 4;
        Ok(())
    }

    fn string(&mut self, index: usize, place: u64) -> Result<()> {
        let length = u64::from(self.peek_u32()?);
        if length > self.left() - 4 {
            return self.fail(Code::LengthOutOfRange);
        }
        let content = if length > 15 { Some(self.take(length + 1, 1)?) } else { None };
        let begin = self.at + 4;
        // The rest of the message fits a `usize`.
        let end = begin + usize::try_from(length).unwrap_or(0);
        self.sink.string(index, place, &self.message[begin..end], content);
        self.at = end;
        Ok(())
    }

    fn view(&mut self, index: usize, place: u64) -> Result<()> {
        let length = u64::from(self.peek_u32()?);
        if length > self.left() - 4 {
            return self.fail(Code::LengthOutOfRange);
        }
        let content = if length > 0 { Some(self.take(length, 1)?) } else { None };
        let begin = self.at + 4;
        let end = begin + usize::try_from(length).unwrap_or(0);
        self.sink.view(index, place, &self.message[begin..end], content);
        self.at = end;
        Ok(())
    }

    /// Allocates memory after the objects; a failure is reported at the length that requires it.
    fn take(&mut self, bytes: u64, align: u64) -> Result<u64> {
        let begin = self.tail.next_multiple_of(align);
        match begin.checked_add(bytes) {
            Some(end) if end <= self.capacity => {
                self.tail = end;
                Ok(begin)
            }
            _ => self.fail(Code::RegionTooSmall),
        }
    }
}

/// The adjustment for an object of this type; `None` if it is not allowed there.
fn adjust(reference: &Reference, type_id: u32) -> Option<u32> {
    let targets = &reference.targets;
    // Usually every class is allowed, and a type is found at its own index.
    if let Some(target) = targets.get(type_id as usize)
        && target.type_id == type_id
    {
        return Some(target.adjust);
    }
    let found = targets.binary_search_by_key(&type_id, |target| target.type_id);
    found.ok().map(|index| targets[index].adjust)
}

/// A number of fewer bits as 64, sign-extended or zero-extended.
pub(super) fn extend(bits: u64, width: u32, signed: bool) -> u64 {
    if !signed || width >= 64 {
        return bits;
    }
    let sign = 1_u64 << (width - 1);
    (bits ^ sign).wrapping_sub(sign)
}

/// The number of 1 to 8 bytes at a position, zero-extended.
pub(super) fn load(message: &[u8], at: usize, width: usize) -> u64 {
    let bytes = message.get(at..).and_then(|rest| rest.get(..width)).unwrap_or_default();
    bytes.iter().rev().fold(0, |value, byte| (value << 8) | u64::from(*byte))
}

pub(super) fn within([low, high]: [i64; 2], bits: u64, signed: bool) -> bool {
    let value = if signed { i128::from(bits.cast_signed()) } else { i128::from(bits) };
    value >= i128::from(low) && value <= i128::from(high)
}
