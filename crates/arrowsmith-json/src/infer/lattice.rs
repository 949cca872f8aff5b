// SPDX-License-Identifier: Apache-2.0
//! The kind of all values seen at one place of the records: kinds can only become wider.
//!
//! ```text
//!                          json
//!        ┌────────┬─────────┼──────────┬──────────┐
//!       bool    number    string     list(·)   object(·) → map(·)
//!               float64    utf8
//!               │    │    │    │
//!            int64 uint64 date32 timestamp
//!        └────────┴─────────┼──────────┴──────────┘
//!                        nothing                       and null beside all of them
//! ```
//! Joining is commutative, associative and idempotent. The order of an object's keys is that of
//! their first appearance, and each key remembers where that was, so that parts of an input can be
//! joined in any order.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use arrowsmith_core::Dialect;
use arrowsmith_plan::plan::{
    EXTENSION_NAME_KEY, JSON_EXTENSION_NAME, ROOT_METADATA_KEY, VALUE_FIELD_NAME,
};

use super::{InferOptions, Watch};

/// Where a key appears: the number of the source, and the byte in it.
pub(super) type Place = (u32, u64);

/// How many keys objects may have before they are maps, and how many new keys are still accepted.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) keys_max: usize,
    pub(super) fields_left: usize,
}

/// One place: a column, the items of a list, the values of a map.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    kind: Kind,
    /// Whether `null` was seen.
    nulls: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) enum Kind {
    /// No value yet.
    #[default]
    Nothing,
    Bool,
    Number(Number),
    Text(Text),
    List(Box<Node>),
    Object(Box<Object>),
    /// An object whose keys are data.
    Map(Box<Node>),
    /// Values that have no other common kind.
    Json,
}

/// The kinds of numbers seen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Number {
    /// A number with a minus sign.
    pub(super) negative: bool,
    /// An integer above `i64::MAX`, within `u64`.
    pub(super) large: bool,
    /// A number with a fraction or an exponent, or an integer beyond 64 bits.
    pub(super) float: bool,
    /// An integer that no `f64` represents exactly.
    pub(super) inexact: bool,
}

/// The properties that all strings have.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Text {
    /// All are dates.
    pub(super) date: bool,
    /// All are dates or timestamps that microseconds, and nanoseconds, represent exactly.
    pub(super) micros: bool,
    pub(super) nanos: bool,
    /// Whether one had an offset from UTC, and whether one had none.
    pub(super) offset: bool,
    pub(super) local: bool,
}

/// Objects, with their keys in order of appearance.
#[derive(Debug, Clone, Default)]
pub(super) struct Object {
    fields: Vec<Key>,
    places: HashMap<Box<str>, usize>,
    /// Number of objects so far.
    count: u64,
    /// The index at which the next key is expected.
    next: usize,
    /// Whether types are given for fields of it, so that it is an object even without keys.
    is_typed: bool,
}

#[derive(Debug, Clone)]
struct Key {
    name: Box<str>,
    node: Node,
    /// Where it appeared first.
    first: Place,
    /// The name in quotes and with a colon; empty if it would need escapes.
    quoted: Box<[u8]>,
    /// Number of objects with this key, and the index of the last one.
    present: u64,
    last: u64,
}

impl Node {
    pub(super) fn null(&mut self) {
        self.nulls = true;
    }

    /// Whether there was a value other than null.
    pub(super) fn has_values(&self) -> bool {
        !matches!(self.kind, Kind::Nothing)
    }

    /// Whether values have no common kind.
    pub(super) fn is_json(&self) -> bool {
        matches!(self.kind, Kind::Json)
    }

    pub(super) fn json(&mut self) {
        self.kind = Kind::Json;
    }

    pub(super) fn bool(&mut self) {
        self.scalar(Kind::Bool);
    }

    // Numbers and strings, most values, mostly have the kind of those before.

    pub(super) fn number(&mut self, number: Number) {
        match &mut self.kind {
            Kind::Number(one) => *one = one.join(number),
            _ => self.scalar(Kind::Number(number)),
        }
    }

    pub(super) fn text(&mut self, text: Text) {
        match &mut self.kind {
            Kind::Text(one) => *one = one.join(text),
            _ => self.scalar(Kind::Text(text)),
        }
    }

    /// Whether strings at this place can still be dates or timestamps.
    pub(super) fn may_be_time(&self) -> bool {
        match &self.kind {
            Kind::Nothing => true,
            Kind::Text(text) => text.nanos || text.micros,
            _ => false,
        }
    }

    /// Notes a list; returns the node of its items, unless they are kept as text.
    pub(super) fn list(&mut self) -> Option<&mut Self> {
        match self.kind {
            Kind::Nothing => self.kind = Kind::List(Box::default()),
            Kind::List(_) => {}
            _ => self.kind = Kind::Json,
        }
        match &mut self.kind {
            Kind::List(item) => Some(item),
            _ => None,
        }
    }

    /// Notes an object.
    pub(super) fn object(&mut self) {
        match &mut self.kind {
            Kind::Nothing => {
                self.kind = Kind::Object(Box::new(Object { count: 1, ..Object::default() }));
            }
            Kind::Object(object) => {
                object.count += 1;
                object.next = 0;
            }
            Kind::Map(_) => {}
            _ => self.kind = Kind::Json,
        }
    }

    /// Notes a key of the object; returns the node of its value, unless it is kept as text. A new
    /// key is counted in `created`.
    pub(super) fn key(
        &mut self,
        name: &str,
        place: Place,
        keys_max: usize,
        created: &mut usize,
    ) -> Option<&mut Self> {
        if let Kind::Object(object) = &mut self.kind
            && object.place(name) >= keys_max
        {
            self.kind = Kind::Map(Box::new(std::mem::take(&mut **object).into_values()));
        }
        match &mut self.kind {
            Kind::Object(object) => Some(object.value(name, place, created)),
            Kind::Map(value) => Some(value),
            _ => None,
        }
    }

    /// The key that is expected next in the object, in quotes and with its colon; empty if it
    /// would need escapes.
    pub(super) fn expected(&self) -> Option<&[u8]> {
        let Kind::Object(object) = &self.kind else { return None };
        object.fields.get(object.next).map(|key| &*key.quoted)
    }

    /// Notes that key; returns the node of its value.
    pub(super) fn take_expected(&mut self) -> Option<&mut Self> {
        let Kind::Object(object) = &mut self.kind else { return None };
        let key = object.fields.get_mut(object.next)?;
        object.next += 1;
        Some(key.seen(object.count))
    }

    /// Widens this kind to include a value that contains no others.
    fn scalar(&mut self, other: Kind) {
        self.kind = match (std::mem::take(&mut self.kind), other) {
            (Kind::Nothing, other) => other,
            (Kind::Bool, Kind::Bool) => Kind::Bool,
            (Kind::Number(one), Kind::Number(other)) => Kind::Number(one.join(other)),
            (Kind::Text(one), Kind::Text(other)) => Kind::Text(one.join(other)),
            _ => Kind::Json,
        };
    }

    /// Widens this node to include another. Returns whether `room` was enough for its keys.
    /// `columns_max` is the maximum number of keys of this node itself.
    pub(super) fn absorb(&mut self, other: Self, columns_max: usize, room: &mut Room) -> bool {
        self.nulls |= other.nulls;
        let keys_max = room.keys_max;
        let mut fits = true;
        self.kind = match (std::mem::take(&mut self.kind), other.kind) {
            (one, Kind::Nothing) => one,
            (Kind::Nothing, Kind::Object(other)) => {
                let mut one = Object::default();
                fits = one.absorb(*other, room);
                Kind::Object(Box::new(one))
            }
            (Kind::Nothing, Kind::List(other)) => {
                let mut one = Box::<Self>::default();
                fits = one.absorb(*other, keys_max, room);
                Kind::List(one)
            }
            (Kind::List(mut one), Kind::List(other)) => {
                fits = one.absorb(*other, keys_max, room);
                Kind::List(one)
            }
            (Kind::Nothing, Kind::Map(other)) => Kind::Map(other),
            (Kind::Map(mut one), Kind::Map(other)) => {
                fits = one.absorb(*other, keys_max, room);
                Kind::Map(one)
            }
            (Kind::Map(mut one), Kind::Object(other))
            | (Kind::Object(other), Kind::Map(mut one)) => {
                fits = one.absorb(other.into_values(), keys_max, room);
                Kind::Map(one)
            }
            (Kind::Object(mut one), Kind::Object(other)) => {
                fits = one.absorb(*other, room);
                Kind::Object(one)
            }
            (one, other) => {
                self.kind = one;
                self.scalar(other);
                std::mem::take(&mut self.kind)
            }
        };
        if let Kind::Object(object) = &mut self.kind
            && object.fields.len() > columns_max
        {
            self.kind = Kind::Map(Box::new(std::mem::take(&mut **object).into_values()));
        }
        fits
    }

    /// The schema of records.
    pub(super) fn into_schema(self, options: &InferOptions) -> Schema {
        match self.kind {
            Kind::Object(object) if !self.nulls => Schema::new(object.into_fields(options)),
            _ => {
                let metadata = [(ROOT_METADATA_KEY.to_owned(), "value".to_owned())];
                let value = self.into_field(VALUE_FIELD_NAME, false, options);
                Schema::new_with_metadata(vec![value], HashMap::from(metadata))
            }
        }
    }

    /// What a decoder accepts at this place although it would widen the kind.
    pub(super) fn watch(&self, root: bool, options: &InferOptions) -> Option<Watch> {
        match &self.kind {
            Kind::Nothing => Some(Watch::Null),
            Kind::Bool | Kind::Json => None,
            Kind::Number(number) => {
                (number.is_float() && !number.is_text()).then_some(Watch::Float)
            }
            Kind::Text(text) if text.data_type() != DataType::Utf8 => Some(Watch::Time),
            Kind::Text(_) => (options.dialect == Dialect::Spark).then_some(Watch::Text),
            Kind::List(item) => item.watch(false, options).map(Box::new).map(Watch::List),
            Kind::Map(value) => Watch::map(false, value.watch(false, options)),
            Kind::Object(object) => object.watch(root && !self.nulls, options),
        }
    }

    /// Makes an object of what had no value, or objects without keys, where a field inside has a
    /// type that is given: `path` is what is around it.
    pub(super) fn open(&mut self, path: &[String]) {
        match &mut self.kind {
            Kind::Nothing => {
                let object = Object { is_typed: true, ..Object::default() };
                self.kind = Kind::Object(Box::new(object));
            }
            Kind::List(item) => item.open(path),
            Kind::Object(object) if object.fields.is_empty() => object.is_typed = true,
            Kind::Object(object) => {
                if let Some((name, rest)) = path.split_first()
                    && let Some(&place) = object.places.get(name.as_str())
                {
                    object.fields[place].node.open(rest);
                }
            }
            _ => {}
        }
    }

    /// Whether it is an object with this key.
    pub(super) fn has_key(&self, name: &str) -> bool {
        matches!(&self.kind, Kind::Object(object) if object.places.contains_key(name))
    }

    fn into_field(self, name: &str, missing: bool, options: &InferOptions) -> Field {
        let nullable = !options.strict_nulls || self.nulls || missing;
        let data_type = match self.kind {
            // No value was seen, so any may follow.
            Kind::Nothing => return json(name, true),
            Kind::Json => return json(name, nullable),
            Kind::Number(number) if number.is_text() => return json(name, nullable),
            Kind::Bool => DataType::Boolean,
            Kind::Number(number) => number.data_type(),
            Kind::Text(text) => text.data_type(),
            Kind::List(item) => {
                let item = item.into_field(Field::LIST_FIELD_DEFAULT_NAME, false, options);
                DataType::List(Arc::new(item))
            }
            Kind::Object(object) if object.is_typed => DataType::Struct(Fields::empty()),
            // Objects without keys: likewise.
            Kind::Object(object) if object.fields.is_empty() => return json(name, nullable),
            Kind::Object(object) if object.is_map(options) => map(object.into_values(), options),
            Kind::Object(object) => DataType::Struct(object.into_fields(options)),
            Kind::Map(value) => map(*value, options),
        };
        Field::new(name, data_type, nullable)
    }
}

fn json(name: &str, nullable: bool) -> Field {
    let metadata = [(EXTENSION_NAME_KEY.to_owned(), JSON_EXTENSION_NAME.to_owned())];
    Field::new(name, DataType::Utf8, nullable).with_metadata(HashMap::from(metadata))
}

fn map(value: Node, options: &InferOptions) -> DataType {
    let key = Field::new("key", DataType::Utf8, false);
    let value = value.into_field("value", false, options);
    let entries = Field::new_struct("entries", vec![key, value], false);
    DataType::Map(Arc::new(entries), false)
}

/// Whether a key is a number or a UUID, and thus data rather than a field name.
pub(super) fn is_data(key: &str) -> bool {
    let key = key.as_bytes();
    let is_uuid = || {
        key.len() == 36
            && key.iter().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => *byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    };
    !key.is_empty() && (key.iter().all(u8::is_ascii_digit) || is_uuid())
}

impl Number {
    fn join(self, other: Self) -> Self {
        Self {
            negative: self.negative | other.negative,
            large: self.large | other.large,
            float: self.float | other.float,
            inexact: self.inexact | other.inexact,
        }
    }

    /// Whether no integer type holds all of them.
    fn is_float(self) -> bool {
        self.float || (self.negative && self.large)
    }

    /// Whether no number type holds all of them: a float would round an integer.
    fn is_text(self) -> bool {
        self.is_float() && self.inexact
    }

    fn data_type(self) -> DataType {
        match self {
            _ if self.is_float() => DataType::Float64,
            Self { large: true, .. } => DataType::UInt64,
            _ => DataType::Int64,
        }
    }
}

impl Text {
    fn join(self, other: Self) -> Self {
        Self {
            date: self.date & other.date,
            micros: self.micros & other.micros,
            nanos: self.nanos & other.nanos,
            offset: self.offset | other.offset,
            local: self.local | other.local,
        }
    }

    fn data_type(self) -> DataType {
        if self.date {
            return DataType::Date32;
        }
        let unit = match self {
            // A time without offset is ambiguous beside others with one.
            Self { offset: true, local: true, .. } => return DataType::Utf8,
            Self { micros: true, .. } => TimeUnit::Microsecond,
            Self { nanos: true, .. } => TimeUnit::Nanosecond,
            _ => return DataType::Utf8,
        };
        DataType::Timestamp(unit, self.offset.then(|| "UTC".into()))
    }
}

impl Key {
    /// Notes the key in object number `count`; returns the node of its value.
    fn seen(&mut self, count: u64) -> &mut Node {
        if self.last != count {
            self.last = count;
            self.present += 1;
        }
        &mut self.node
    }
}

/// A key as it is written in an object without white space; empty if it needs escapes.
fn quoted(name: &str) -> Box<[u8]> {
    if name.bytes().any(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
        return Box::default();
    }
    format!("\"{name}\":").into_bytes().into()
}

impl Object {
    /// The index of a key; the number of keys if it is new.
    fn place(&mut self, name: &str) -> usize {
        // Records mostly have their keys in the same order.
        if self.fields.get(self.next).is_none_or(|key| *key.name != *name) {
            self.next = self.places.get(name).copied().unwrap_or(self.fields.len());
        }
        self.next
    }

    fn value(&mut self, name: &str, first: Place, created: &mut usize) -> &mut Node {
        let place = self.place(name);
        self.next = place + 1;
        if place == self.fields.len() {
            *created += 1;
            let node = Node::default();
            let quoted = quoted(name);
            let key = Key { name: name.into(), node, first, quoted, present: 0, last: 0 };
            self.fields.push(key);
            self.places.insert(name.into(), place);
        }
        let count = self.count;
        self.fields[place].seen(count)
    }

    /// Whether the keys are data rather than names.
    fn is_map(&self, options: &InferOptions) -> bool {
        self.fields.len() > options.object_keys_max
            || self.fields.iter().all(|key| is_data(&key.name))
    }

    fn watch(&self, columns: bool, options: &InferOptions) -> Option<Watch> {
        if self.fields.is_empty() {
            return (!columns).then_some(Watch::Empty);
        }
        if !columns && self.is_map(options) {
            let data_keys = self.fields.len() <= options.object_keys_max;
            return Watch::map(data_keys, self.clone().into_values().watch(false, options));
        }
        let watch = |key: &Key| Some((key.name.clone(), key.node.watch(false, options)?));
        let mut fields: Vec<_> = self.fields.iter().filter_map(watch).collect();
        // In an order that does not depend on that of merging.
        fields.sort_by(|(one, _), (other, _)| one.cmp(other));
        (!fields.is_empty()).then_some(Watch::Struct(fields))
    }

    /// Joins all values in one node.
    fn into_values(self) -> Node {
        // The keys below were counted when they were new.
        let mut room = Room { keys_max: usize::MAX, fields_left: usize::MAX };
        let mut values = Node::default();
        for key in self.fields {
            values.absorb(key.node, usize::MAX, &mut room);
        }
        values
    }

    fn absorb(&mut self, other: Self, room: &mut Room) -> bool {
        self.count += other.count;
        let (keys_max, mut fits) = (room.keys_max, true);
        for key in other.fields {
            let place = self.place(&key.name);
            if place == self.fields.len() {
                fits &= room.fields_left > 0;
                room.fields_left = room.fields_left.saturating_sub(1);
                self.places.insert(key.name.clone(), place);
                let (name, first) = (key.name, key.first);
                let (node, quoted) = (Node::default(), key.quoted);
                self.fields.push(Key { name, node, first, quoted, present: 0, last: 0 });
            }
            self.next = place + 1;
            let known = &mut self.fields[place];
            known.first = known.first.min(key.first);
            known.present += key.present;
            fits &= known.node.absorb(key.node, keys_max, room);
        }
        fits
    }

    fn into_fields(mut self, options: &InferOptions) -> Fields {
        let count = self.count;
        self.fields.sort_by_key(|key| key.first);
        let fields = self.fields.into_iter();
        fields.map(|key| key.node.into_field(&key.name, key.present < count, options)).collect()
    }
}
