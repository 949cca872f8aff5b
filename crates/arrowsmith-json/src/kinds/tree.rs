// SPDX-License-Identifier: Apache-2.0
//! The places of records, and the kinds of values seen there. What a record changed can be undone.

use std::collections::HashMap;

use arrowsmith_simd::{Input, Isa};

use crate::frame::scan::string_end;
use crate::key::unescaped;

/// A kind of values; a set of them is the sum of their bits.
pub(super) type Seen = u16;

pub(super) const NULL: Seen = 1;
pub(super) const BOOLEAN: Seen = 1 << 1;
/// An integer that an `i64` holds.
pub(super) const INTEGER: Seen = 1 << 2;
/// A larger integer, of at most [`DIGITS_MAX`] digits.
pub(super) const LARGE: Seen = 1 << 3;
/// A number with a fraction or an exponent, or a longer integer.
pub(super) const FLOAT: Seen = 1 << 4;
/// The string of no characters.
pub(super) const EMPTY: Seen = 1 << 5;
pub(super) const STRING: Seen = 1 << 6;
pub(super) const LIST: Seen = 1 << 7;
pub(super) const OBJECT: Seen = 1 << 8;

/// Digits that a decimal of 128 bits holds.
pub(super) const DIGITS_MAX: usize = 38;

/// Maximum number of places.
const NODES_MAX: usize = 1 << 16;

/// Maximum length of a key, in bytes of the text.
const KEY_BYTES_MAX: usize = 16 << 10;

/// Fields after the expected one that are tried before a key is looked up.
const NEAR_FIELDS: usize = 3;

const NONE: u32 = u32::MAX;

/// The place of the records.
pub(super) const ROOT: u32 = 0;

/// A place: its kinds, and the places in its lists and objects.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) seen: Seen,
    /// Maximum number of digits of a large integer.
    pub(super) digits: u8,
    item: u32,
    object: u32,
}

const NEW: Node = Node { seen: 0, digits: 0, item: NONE, object: NONE };

#[derive(Debug, Default)]
struct Object {
    fields: Vec<Field>,
    places: HashMap<Box<str>, usize>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: Box<str>,
    pub(super) node: u32,
    /// The key in quotes and with its colon, and its length; the length is 0 if it needs escapes or
    /// has more bytes.
    literal: [u8; 64],
    mask: u64,
    len: usize,
    /// The last object that had it.
    last: u64,
}

/// What a record changed.
#[derive(Debug)]
enum Change {
    /// A node, which was this before.
    Node(u32, Node),
    /// A field that was added to an object.
    Field(u32),
}

/// An open object or list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// The place of the items; of an object it is not used.
    pub(super) item: u32,
    /// The object, or that of a list, which is none.
    object: u32,
    /// The field that is expected next.
    next: usize,
    /// The number of the object, of all that were read.
    number: u64,
}

impl Frame {
    pub(super) const EMPTY: Self = Self { item: NONE, object: NONE, next: 0, number: 0 };

    #[inline(always)]
    pub(super) fn is_object(&self) -> bool {
        self.object != NONE
    }
}

#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    objects: Vec<Object>,
    /// Number of objects that were read.
    count: u64,
    changes: Vec<Change>,
    /// Nodes and objects at the start of the record.
    before: (usize, usize),
}

impl Default for Tree {
    fn default() -> Self {
        let (nodes, objects, changes) = (vec![NEW], Vec::new(), Vec::new());
        Self { nodes, objects, count: 0, changes, before: (1, 0) }
    }
}

fn index(number: u32) -> usize {
    number as usize
}

/// The number of an element to be pushed. Bounded: by `NODES_MAX`.
fn number(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(NONE)
}

impl Tree {
    /// Starts a record.
    #[inline(always)]
    pub(super) fn begin(&mut self) {
        if !self.changes.is_empty() {
            self.changes.clear();
        }
        self.before = (self.nodes.len(), self.objects.len());
    }

    /// Undoes what the record changed.
    #[cold]
    pub(super) fn undo(&mut self) {
        let (nodes, objects) = self.before;
        while let Some(change) = self.changes.pop() {
            match change {
                Change::Node(node, before) => self.nodes[index(node)] = before,
                Change::Field(object) => {
                    let object = &mut self.objects[index(object)];
                    if let Some(field) = object.fields.pop() {
                        object.places.remove(&field.name);
                    }
                }
            }
        }
        self.nodes.truncate(nodes);
        self.objects.truncate(objects);
    }

    /// Notes a value of this kind.
    #[inline(always)]
    pub(super) fn note(&mut self, node: u32, kind: Seen) {
        if self.nodes[index(node)].seen & kind == 0 {
            self.change(node).seen |= kind;
        }
    }

    /// Notes a large integer of this many digits.
    pub(super) fn note_large(&mut self, node: u32, digits: u8) {
        self.note(node, LARGE);
        if self.nodes[index(node)].digits < digits {
            self.change(node).digits = digits;
        }
    }

    #[cold]
    #[inline(never)]
    fn change(&mut self, node: u32) -> &mut Node {
        let changed = &mut self.nodes[index(node)];
        // Bounded: a record changes a node a few times.
        self.changes.push(Change::Node(node, *changed));
        changed
    }

    fn add_node(&mut self) -> Option<u32> {
        let node = number(self.nodes.len());
        (self.nodes.len() < NODES_MAX).then(|| self.nodes.push(NEW))?;
        Some(node)
    }

    /// Notes an object.
    #[inline(always)]
    pub(super) fn open_object(&mut self, node: u32) -> Frame {
        self.note(node, OBJECT);
        let mut object = self.nodes[index(node)].object;
        if object == NONE {
            object = number(self.objects.len());
            // Bounded: by the number of nodes.
            self.objects.push(Object::default());
            self.change(node).object = object;
        }
        self.count += 1;
        Frame { item: NONE, object, next: 0, number: self.count }
    }

    /// Notes a list; `None` if there are too many places.
    #[inline(always)]
    pub(super) fn open_list(&mut self, node: u32) -> Option<Frame> {
        self.note(node, LIST);
        let mut item = self.nodes[index(node)].item;
        if item == NONE {
            item = self.add_node()?;
            self.change(node).item = item;
        }
        Some(Frame { item, object: NONE, next: 0, number: 0 })
    }

    /// Reads the key at `pos` and its colon; returns the place of its value, and the position
    /// after it. `None` if that is not a key, if it is repeated, or if there are too many.
    #[inline(always)]
    pub(super) fn key<I: Isa>(
        &mut self,
        isa: I,
        input: Input<'_>,
        pos: usize,
        frame: &mut Frame,
    ) -> Option<(u32, usize)> {
        let fields = &mut self.objects[index(frame.object)].fields;
        for near in frame.next..=frame.next + NEAR_FIELDS {
            let Some(field) = fields.get_mut(near) else { break };
            if field.len > 0 && isa.equal(input.window(pos), &field.literal, field.mask) {
                frame.next = near + 1;
                if field.last == frame.number {
                    return None;
                }
                field.last = frame.number;
                return Some((field.node, pos + field.len));
            }
        }
        self.other_key(input, pos, frame)
    }

    /// A key that is not one of the next.
    #[inline(never)]
    fn other_key(
        &mut self,
        input: Input<'_>,
        pos: usize,
        frame: &mut Frame,
    ) -> Option<(u32, usize)> {
        let text = input.slice(pos, pos + KEY_BYTES_MAX);
        if text.first() != Some(&b'"') {
            return None;
        }
        let end = string_end(text, 1).ok()?;
        let raw = &text[1..end - 1];
        if raw.iter().any(|byte| *byte < b' ') {
            return None;
        }
        let name = unescaped(raw)?;
        let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
        let colon = end + text[end..].iter().take_while(is_blank).count();
        if text.get(colon) != Some(&b':') {
            return None;
        }
        let known = self.objects[index(frame.object)].places.get(name.as_ref()).copied();
        let place = match known {
            Some(place) => place,
            None => self.add_field(frame.object, &name)?,
        };
        let field = &mut self.objects[index(frame.object)].fields[place];
        if field.last == frame.number {
            return None;
        }
        field.last = frame.number;
        frame.next = place + 1;
        Some((field.node, pos + colon + 1))
    }

    fn add_field(&mut self, object: u32, name: &str) -> Option<usize> {
        let node = self.add_node()?;
        let quoted = format!("\"{name}\":");
        let plain = !name.bytes().any(|byte| matches!(byte, b'"' | b'\\' | 0..0x20));
        let mut literal = [0; 64];
        let len = if plain && quoted.len() <= literal.len() { quoted.len() } else { 0 };
        literal[..len].copy_from_slice(&quoted.as_bytes()[..len]);
        let mask = u64::MAX.checked_shl(u32::try_from(len).ok()?).map_or(u64::MAX, |above| !above);
        let to = &mut self.objects[index(object)];
        let place = to.fields.len();
        // Bounded: by the number of nodes, and by the text that the names are in.
        to.places.insert(name.into(), place);
        to.fields.push(Field { name: name.into(), node, literal, mask, len, last: 0 });
        self.changes.push(Change::Field(object));
        Some(place)
    }

    pub(super) fn node(&self, node: u32) -> Node {
        self.nodes[index(node)]
    }

    /// The place of the items of lists at a place.
    pub(super) fn item(&self, node: u32) -> Option<u32> {
        Some(self.node(node).item).filter(|item| *item != NONE)
    }

    /// The fields of objects at a place, in order of appearance.
    pub(super) fn fields(&self, node: u32) -> Option<&[Field]> {
        let object = self.objects.get(index(self.node(node).object))?;
        Some(&object.fields)
    }
}
