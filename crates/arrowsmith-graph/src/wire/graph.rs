// SPDX-License-Identifier: Apache-2.0
//! A message as a tree of values, and back: for programs without the classes, for tests, and for
//! conversion from Arrow.

use super::walk::{Options, Sink, Tables, extend, within};
use super::{NULL_ID, WireError};
use crate::layout::{Choice, Element, Kind, Layout, LayoutError, Member};

/// The objects of a message; the first is the root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Graph {
    /// The objects, by id.
    pub objects: Vec<Object>,
}

/// An object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its class.
    pub type_id: u32,
    /// One list per member of the class, with `count` values.
    pub members: Vec<Vec<Value>>,
}

/// The value of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A number as 64 bits: integers sign-extended or zero-extended, floats as their bits.
    Number(u64),
    /// A reference: an object id, or null.
    Reference(Option<u32>),
    /// A string's bytes.
    String(Vec<u8>),
    /// A vector's elements, each as the members of an object.
    Vector(Vec<Vec<Vec<Value>>>),
    /// The alternative of a choice, and its members.
    Choice(u8, Vec<Vec<Value>>),
}

impl Graph {
    /// Reads a message.
    ///
    /// # Errors
    ///
    /// The first error of the message.
    pub fn decode(layout: &Layout, message: &[u8], options: Options) -> Result<Self, WireError> {
        let mut sink = GraphBuilder { layout, graph: Self::default(), open: Vec::new() };
        Tables::new(layout.clone()).walk(message, u64::MAX, options, &mut sink)?;
        Ok(sink.graph)
    }

    /// Writes the message, optionally with a header.
    ///
    /// # Errors
    ///
    /// Values that do not match the layout, or that every reader would refuse: by object and
    /// member.
    pub fn encode(&self, layout: &Layout, header: bool) -> Result<Vec<u8>, LayoutError> {
        let bad = |path: String, message: &str| Err(LayoutError::new(path, message));
        let mut body = Vec::new();
        let Ok(count) = u32::try_from(self.objects.len()) else {
            return bad(String::new(), "has more objects than ids");
        };
        body.extend(count.to_le_bytes());
        for object in &self.objects {
            body.extend(object.type_id.to_le_bytes());
        }
        for (id, object) in self.objects.iter().enumerate() {
            let Some(class) = layout.classes.get(object.type_id as usize) else {
                return bad(format!("object {id}"), "is of no class of the layout");
            };
            put(&mut body, &class.members, &object.members).map_err(|(member, why)| {
                LayoutError::new(format!("object {id}, {}::{member}", class.name), why)
            })?;
        }
        // A reader checks the rest: types and ids of references, the root.
        let mut checked = NullSink::default();
        if let Err(error) = Tables::new(layout.clone()).walk(
            &body,
            u64::MAX,
            Options { objects_max: u32::MAX, header: false },
            &mut checked,
        ) {
            let object = checked.object(layout);
            let path =
                object.map_or_else(String::new, |(id, class)| format!("object {id}, {class}"));
            return bad(path, &format!("would be refused: {error}"));
        }
        if !header {
            return Ok(body);
        }
        let Some(mut message) = super::header(layout, body.len()) else {
            return bad(String::new(), "is longer than a header can encode");
        };
        message.extend(body);
        Ok(message)
    }
}

type Fault = (String, &'static str);

fn put(out: &mut Vec<u8>, members: &[Member], values: &[Vec<Value>]) -> Result<(), Fault> {
    if members.len() != values.len() {
        return Err((String::new(), "has another number of members"));
    }
    for (member, values) in members.iter().zip(values) {
        if usize::try_from(member.count) != Ok(values.len()) {
            return Err((member.name.clone(), "has another number of values"));
        }
        for value in values {
            put_one(out, &member.kind, value).map_err(|why| (member.name.clone(), why))?;
        }
    }
    Ok(())
}

fn put_one(out: &mut Vec<u8>, kind: &Kind, value: &Value) -> Result<(), &'static str> {
    let length = |length: usize| {
        u32::try_from(length)
            .ok()
            .filter(|n| *n != NULL_ID)
            .ok_or("is longer than a message can encode")
    };
    match (kind, value) {
        (Kind::Integer(_) | Kind::Bits(_) | Kind::Float { .. }, Value::Number(bits)) => {
            let (signed, range) = match kind {
                Kind::Integer(integer) => (integer.signed, integer.range),
                Kind::Bits(field) => (field.signed, field.values()),
                _ => (false, None),
            };
            let width = kind.wire_bytes();
            let bytes = bits.to_le_bytes();
            let low = bits & (u64::MAX >> (64 - 8 * width));
            if extend(low, 8 * width, signed) != *bits {
                return Err("is a number that does not fit its width on the wire");
            }
            if range.is_some_and(|range| !within(range, *bits, signed)) {
                return Err("is a number outside of its values");
            }
            out.extend(&bytes[..width as usize]);
        }
        (Kind::Pointer(_), Value::Reference(id)) => {
            out.extend(id.unwrap_or(NULL_ID).to_le_bytes());
        }
        (Kind::String | Kind::View, Value::String(bytes)) => {
            out.extend(length(bytes.len())?.to_le_bytes());
            out.extend(bytes);
        }
        (Kind::Vector(element), Value::Vector(elements)) => {
            out.extend(length(elements.len())?.to_le_bytes());
            for values in elements {
                put(out, &element.members, values).map_err(|(_, why)| why)?;
            }
        }
        (Kind::Choice(choice), Value::Choice(which, values)) => {
            let Some(alternative) = choice.alternatives.get(usize::from(*which)) else {
                return Err("is an alternative that does not exist");
            };
            out.push(*which);
            put(out, &alternative.members, values).map_err(|(_, why)| why)?;
        }
        _ => return Err("is of another kind"),
    }
    Ok(())
}

/// A sink that only checks a message, and knows the last object: an error's.
#[derive(Default)]
pub(crate) struct NullSink {
    last: Option<(u32, u32)>,
}

impl NullSink {
    /// The number and the class of the last object.
    pub(crate) fn object(&self, layout: &Layout) -> Option<(u32, String)> {
        let (type_id, id) = self.last?;
        let class = layout.classes.get(usize::try_from(type_id).ok()?)?;
        Some((id, class.name.clone()))
    }
}

impl Sink for NullSink {
    fn object(&mut self, type_id: u32, id: u32, _: u64) {
        self.last = Some((type_id, id));
    }
    fn number(&mut self, _: usize, _: &Kind, _: u64, _: u64) {}
    fn pointer(&mut self, _: usize, _: u64, _: Option<(u32, u64)>) {}
    fn string(&mut self, _: usize, _: u64, _: &[u8], _: Option<u64>) {}
    fn vector(&mut self, _: usize, _: &Element, _: u32, _: u64) {}
    fn vector_end(&mut self, _: &Element, _: u64, _: u32, _: u64) {}
    fn choice(&mut self, _: usize, _: u64, _: &Choice, _: u8) {}
}

struct GraphBuilder<'a> {
    layout: &'a Layout,
    graph: Graph,
    /// Open vectors: the member, its expected content, and the elements so far.
    open: Vec<Open>,
}

struct Open {
    member: usize,
    members: usize,
    elements: Vec<Vec<Vec<Value>>>,
    values_left: usize,
    per_element: usize,
    /// The alternative, if it is a choice.
    alternative: Option<u8>,
}

impl GraphBuilder<'_> {
    fn push(&mut self, member: usize, value: Value) {
        let values = match self.open.last_mut() {
            Some(open) => {
                if open.values_left == 0 {
                    // Bounded: by the members of the layout.
                    open.elements.push(vec![Vec::new(); open.members]);
                    open.values_left = open.per_element;
                }
                open.values_left -= 1;
                open.elements.last_mut().and_then(|element| element.get_mut(member))
            }
            None => self.graph.objects.last_mut().and_then(|object| object.members.get_mut(member)),
        };
        if let Some(values) = values {
            values.push(value);
        }
    }
}

impl Sink for GraphBuilder<'_> {
    fn object(&mut self, type_id: u32, _id: u32, _place: u64) {
        let count = self.layout.classes[type_id as usize].members.len();
        // Bounded: by the members of the layout.
        self.graph.objects.push(Object { type_id, members: vec![Vec::new(); count] });
    }

    fn number(&mut self, member: usize, _kind: &Kind, _place: u64, bits: u64) {
        self.push(member, Value::Number(bits));
    }

    fn pointer(&mut self, member: usize, _place: u64, target: Option<(u32, u64)>) {
        self.push(member, Value::Reference(target.map(|(id, _)| id)));
    }

    fn string(&mut self, member: usize, _place: u64, bytes: &[u8], _content: Option<u64>) {
        self.push(member, Value::String(bytes.to_vec()));
    }

    fn vector(&mut self, member: usize, element: &Element, _length: u32, _content: u64) {
        let members = element.members.len();
        let per_element = element.members.iter().map(|member| member.count as usize).sum();
        let elements = Vec::new();
        let open =
            Open { member, members, elements, values_left: 0, per_element, alternative: None };
        self.open.push(open);
    }

    fn choice(&mut self, member: usize, _place: u64, choice: &Choice, alternative: u8) {
        let of = choice.alternatives.get(usize::from(alternative));
        let members = of.map_or(0, |of| of.members.len());
        // Bounded: by the members of the layout.
        let elements = vec![vec![Vec::new(); members]];
        let alternative = Some(alternative);
        let values_left = usize::MAX;
        let open = Open { member, members, elements, values_left, per_element: 0, alternative };
        self.open.push(open);
    }

    fn choice_end(&mut self) {
        if let Some(mut open) = self.open.pop() {
            let values = open.elements.pop().unwrap_or_default();
            self.push(open.member, Value::Choice(open.alternative.unwrap_or(0), values));
        }
    }

    fn vector_end(&mut self, _: &Element, _: u64, _: u32, _: u64) {
        if let Some(open) = self.open.pop() {
            self.push(open.member, Value::Vector(open.elements));
        }
    }
}
