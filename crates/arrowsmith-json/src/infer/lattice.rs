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
//! Joining is commutative, associative and idempotent, except for the order of an object's keys,
//! which is that of their first appearance.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use arrowsmith_plan::plan::{
    EXTENSION_NAME_KEY, JSON_EXTENSION_NAME, ROOT_METADATA_KEY, VALUE_FIELD_NAME,
};

use super::InferOptions;

/// One place: a column, the items of a list, the values of a map.
#[derive(Debug, Default)]
pub(super) struct Node {
    kind: Kind,
    /// Whether `null` was seen.
    nulls: bool,
}

#[derive(Debug, Default)]
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
#[derive(Debug, Default)]
pub(super) struct Object {
    fields: Vec<Key>,
    places: HashMap<Box<str>, usize>,
    /// Number of objects so far.
    count: u64,
    /// The index at which the next key is expected.
    next: usize,
}

#[derive(Debug)]
struct Key {
    name: Box<str>,
    node: Node,
    /// Number of objects with this key, and the index of the last one.
    present: u64,
    last: u64,
}

impl Node {
    pub(super) fn null(&mut self) {
        self.nulls = true;
    }

    pub(super) fn json(&mut self) {
        self.kind = Kind::Json;
    }

    pub(super) fn bool(&mut self) {
        self.join(Kind::Bool);
    }

    pub(super) fn number(&mut self, number: Number) {
        self.join(Kind::Number(number));
    }

    pub(super) fn text(&mut self, text: Text) {
        self.join(Kind::Text(text));
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
        keys_max: usize,
        created: &mut usize,
    ) -> Option<&mut Self> {
        if let Kind::Object(object) = &mut self.kind
            && object.place(name) >= keys_max
        {
            self.kind = Kind::Map(Box::new(std::mem::take(&mut **object).into_values()));
        }
        match &mut self.kind {
            Kind::Object(object) => Some(object.value(name, created)),
            Kind::Map(value) => Some(value),
            _ => None,
        }
    }

    /// Widens this kind to include another.
    fn join(&mut self, other: Kind) {
        self.kind = match (std::mem::take(&mut self.kind), other) {
            (one, Kind::Nothing) => one,
            (Kind::Nothing, other) => other,
            (Kind::Bool, Kind::Bool) => Kind::Bool,
            (Kind::Number(one), Kind::Number(other)) => Kind::Number(one.join(other)),
            (Kind::Text(one), Kind::Text(other)) => Kind::Text(one.join(other)),
            (Kind::List(mut one), Kind::List(other)) => {
                one.absorb(*other);
                Kind::List(one)
            }
            (Kind::Map(mut one), Kind::Map(other)) => {
                one.absorb(*other);
                Kind::Map(one)
            }
            (Kind::Map(mut one), Kind::Object(other))
            | (Kind::Object(other), Kind::Map(mut one)) => {
                one.absorb(other.into_values());
                Kind::Map(one)
            }
            (Kind::Object(mut one), Kind::Object(other)) => {
                one.absorb(*other);
                Kind::Object(one)
            }
            _ => Kind::Json,
        };
    }

    fn absorb(&mut self, other: Self) {
        self.nulls |= other.nulls;
        self.join(other.kind);
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

    fn into_field(self, name: &str, missing: bool, options: &InferOptions) -> Field {
        let nullable = !options.strict_nulls || self.nulls || missing;
        let data_type = match self.kind {
            // No value was seen, so any may follow.
            Kind::Nothing => return json(name, true),
            Kind::Json => return json(name, nullable),
            Kind::Bool => DataType::Boolean,
            Kind::Number(number) => number.data_type(),
            Kind::Text(text) => text.data_type(),
            Kind::List(item) => {
                let item = item.into_field(Field::LIST_FIELD_DEFAULT_NAME, false, options);
                DataType::List(Arc::new(item))
            }
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
fn is_data(key: &str) -> bool {
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
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self { float: true, .. } | Self { negative: true, large: true, .. } => {
                DataType::Float64
            }
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

impl Object {
    /// The index of a key; the number of keys if it is new.
    fn place(&mut self, name: &str) -> usize {
        // Records mostly have their keys in the same order.
        if self.fields.get(self.next).is_none_or(|key| *key.name != *name) {
            self.next = self.places.get(name).copied().unwrap_or(self.fields.len());
        }
        self.next
    }

    fn value(&mut self, name: &str, created: &mut usize) -> &mut Node {
        let place = self.place(name);
        self.next = place + 1;
        if place == self.fields.len() {
            *created += 1;
            let key = Key { name: name.into(), node: Node::default(), present: 0, last: 0 };
            self.fields.push(key);
            self.places.insert(name.into(), place);
        }
        let key = &mut self.fields[place];
        if key.last != self.count {
            key.last = self.count;
            key.present += 1;
        }
        &mut key.node
    }

    /// Whether the keys are data rather than names.
    fn is_map(&self, options: &InferOptions) -> bool {
        self.fields.len() > options.object_keys_max
            || self.fields.iter().all(|key| is_data(&key.name))
    }

    /// Joins all values in one node.
    fn into_values(self) -> Node {
        let mut values = Node::default();
        for key in self.fields {
            values.absorb(key.node);
        }
        values
    }

    fn absorb(&mut self, other: Self) {
        self.count += other.count;
        for key in other.fields {
            let place = self.place(&key.name);
            match self.fields.get_mut(place) {
                Some(known) => {
                    known.node.absorb(key.node);
                    known.present += key.present;
                }
                None => {
                    self.places.insert(key.name.clone(), place);
                    self.fields.push(Key { last: 0, ..key });
                }
            }
        }
    }

    fn into_fields(self, options: &InferOptions) -> Fields {
        let count = self.count;
        let fields = self.fields.into_iter();
        fields.map(|key| key.node.into_field(&key.name, key.present < count, options)).collect()
    }
}
