// SPDX-License-Identifier: Apache-2.0
//! Random records whose keys and types change on the way, and the schema of all of them, by the
//! table of `docs/guide/schema.md`: the slow definition of what an inferred schema is.
//!
//! It works on values rather than text and shares no code with inference.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema};
use arrowsmith_plan::plan::{
    EXTENSION_NAME_KEY, JSON_EXTENSION_NAME, ROOT_METADATA_KEY, VALUE_FIELD_NAME,
};

use crate::random::Rng;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Value {
    Null,
    Bool(bool),
    /// A number as it is written.
    Number(String),
    /// A string without anything to escape.
    Text(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    /// Appends its text.
    pub fn write(&self, text: &mut String) {
        match self {
            Self::Null => text.push_str("null"),
            Self::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => text.push_str(number),
            Self::Text(string) => {
                let _ = write!(text, "\"{string}\"");
            }
            Self::List(items) => {
                text.push('[');
                for (at, item) in items.iter().enumerate() {
                    text.push_str(if at > 0 { ", " } else { "" });
                    item.write(text);
                }
                text.push(']');
            }
            Self::Object(fields) => {
                text.push('{');
                for (at, (key, value)) in fields.iter().enumerate() {
                    let _ = write!(text, "{}\"{key}\":", if at > 0 { "," } else { "" });
                    value.write(text);
                }
                text.push('}');
            }
        }
    }
}

/// What the values of a key look like for a while.
#[derive(Debug, Clone)]
enum Shape {
    Absent,
    Null,
    Bool,
    /// Integers of at most this many bits, with or without a sign.
    Integer(u32, bool),
    Float,
    Text,
    Mixed,
    Empty,
    List(Box<Shape>),
    Object(Vec<(&'static str, Shape)>),
    /// An object whose keys are numbers, or mostly.
    Map(Box<Shape>, bool),
}

const KEYS: &[&str] = &["a", "b", "c", "d", "e", "f", "g"];

fn shape(rng: &mut Rng, depth: usize) -> Shape {
    match rng.below(if depth == 0 { 10 } else { 16 }) {
        0 => Shape::Absent,
        1 => Shape::Null,
        2 => Shape::Bool,
        3 | 4 => Shape::Integer(10, rng.one_in(2)),
        5 => Shape::Integer(*rng.pick(&[53, 54, 63, 64, 70]), rng.one_in(2)),
        6 => Shape::Float,
        7 => Shape::Text,
        8 => Shape::Empty,
        9 if rng.one_in(4) => Shape::Mixed,
        9 => Shape::Text,
        10..=11 => Shape::List(Box::new(shape(rng, depth - 1))),
        12..=14 => Shape::Object(shapes(rng, depth - 1)),
        _ => Shape::Map(Box::new(shape(rng, depth - 1)), rng.one_in(4)),
    }
}

fn shapes(rng: &mut Rng, depth: usize) -> Vec<(&'static str, Shape)> {
    let keys = 1 + rng.below(4);
    let mut known: Vec<(&str, Shape)> = Vec::new();
    for _ in 0..keys {
        let key = *rng.pick(KEYS);
        if known.iter().all(|(other, _)| *other != key) {
            known.push((key, shape(rng, depth)));
        }
    }
    known
}

fn value(rng: &mut Rng, shape: &Shape) -> Option<Value> {
    if rng.one_in(12) {
        return Some(Value::Null);
    }
    Some(match shape {
        Shape::Absent => return None,
        Shape::Null => Value::Null,
        Shape::Bool => Value::Bool(rng.one_in(2)),
        Shape::Integer(bits, signed) => {
            let most = (1_i128 << bits) - 1;
            let mut number = rng.range(0, most);
            if rng.one_in(4) {
                number = most;
            }
            if *signed && number != 0 && rng.one_in(2) {
                number = -number;
            }
            Value::Number(number.to_string())
        }
        Shape::Float => Value::Number(
            (*rng.pick(&["1.5", "-0.25", "1e3", "2.0", "1e300", "123456789012345678.5"]))
                .to_owned(),
        ),
        Shape::Text => Value::Text((*rng.pick(&["", "x", "2024-02-29", "12", "é"])).to_owned()),
        Shape::Mixed => match rng.below(4) {
            0 => Value::Bool(true),
            1 => Value::Number("7".to_owned()),
            2 => Value::Number("1e999".to_owned()),
            _ => Value::Text("mixed".to_owned()),
        },
        Shape::Empty => match rng.below(2) {
            0 => Value::List(Vec::new()),
            _ => Value::Object(Vec::new()),
        },
        Shape::List(item) => {
            Value::List((0..rng.below(4)).filter_map(|_| value(rng, item)).collect())
        }
        Shape::Object(fields) => Value::Object(object(rng, fields)),
        Shape::Map(item, named) => {
            let mut fields = Vec::new();
            for _ in 0..rng.below(3) {
                let key = match *named && rng.one_in(6) {
                    true => "name".to_owned(),
                    false => (100 + rng.below(20)).to_string(),
                };
                fields.extend(value(rng, item).map(|value| (key, value)));
            }
            Value::Object(fields)
        }
    })
}

fn object(rng: &mut Rng, fields: &[(&'static str, Shape)]) -> Vec<(String, Value)> {
    let mut object = Vec::new();
    for (key, shape) in fields {
        object.extend(value(rng, shape).map(|value| ((*key).to_owned(), value)));
    }
    if rng.one_in(8) && object.len() > 1 {
        object.swap(0, 1);
    }
    object
}

/// The records of a seed. With `any_root` some are not objects.
pub fn records(seed: u64, any_root: bool) -> Vec<Value> {
    let rng = &mut Rng::new(seed);
    let mut columns = shapes(rng, 2);
    let mut records = Vec::new();
    for _ in 0..1 + rng.below(6) {
        for _ in 0..1 + rng.below(40) {
            records.push(match any_root && rng.one_in(60) {
                true => {
                    let shape = shape(rng, 1);
                    value(rng, &shape).unwrap_or(Value::Null)
                }
                false => Value::Object(object(rng, &columns)),
            });
        }
        // The next records differ in one key or several.
        for _ in 0..=rng.below(2) {
            let (key, shape) = (*rng.pick(KEYS), shape(rng, 2));
            match columns.iter_mut().find(|(known, _)| *known == key) {
                Some((_, known)) => *known = shape,
                None => columns.push((key, shape)),
            }
        }
    }
    records
}

/// The schema of these records.
pub fn schema(records: &[Value]) -> Schema {
    let objects: Option<Vec<&Vec<(String, Value)>>> = records.iter().map(as_object).collect();
    match objects {
        Some(objects) => Schema::new(fields(&objects)),
        None => {
            let metadata = [(ROOT_METADATA_KEY.to_owned(), "value".to_owned())];
            let value = field(VALUE_FIELD_NAME, &records.iter().collect::<Vec<_>>());
            Schema::new_with_metadata(vec![value], HashMap::from(metadata))
        }
    }
}

/// The schema of these records where bad ones are skipped: among objects, all others are bad.
pub fn schema_of_good(records: &[Value]) -> Schema {
    let objects = records.iter().filter(|record| as_object(record).is_some());
    let objects: Vec<Value> = objects.cloned().collect();
    schema(if objects.is_empty() { records } else { &objects })
}

fn as_object(value: &Value) -> Option<&Vec<(String, Value)>> {
    match value {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

/// The keys of all objects, in the order of their first appearance.
fn fields(objects: &[&Vec<(String, Value)>]) -> Fields {
    let mut keys: Vec<(&str, Vec<&Value>)> = Vec::new();
    for (key, value) in objects.iter().flat_map(|object| object.iter()) {
        match keys.iter_mut().find(|(known, _)| known == key) {
            Some((_, values)) => values.push(value),
            None => keys.push((key, vec![value])),
        }
    }
    keys.iter().map(|(key, values)| field(key, values)).collect()
}

fn field(name: &str, values: &[&Value]) -> Field {
    let values: Vec<&Value> =
        values.iter().copied().filter(|value| **value != Value::Null).collect();
    match data_type(&values) {
        Some(data_type) => Field::new(name, data_type, true),
        None => {
            let json = [(EXTENSION_NAME_KEY.to_owned(), JSON_EXTENSION_NAME.to_owned())];
            Field::new(name, DataType::Utf8, true).with_metadata(HashMap::from(json))
        }
    }
}

/// The type of these values, none of which is null; `None` for their text.
fn data_type(values: &[&Value]) -> Option<DataType> {
    let all = |is: fn(&Value) -> bool| values.iter().all(|value| is(value));
    if values.is_empty() {
        return None;
    }
    if all(|value| matches!(value, Value::Bool(_))) {
        return Some(DataType::Boolean);
    }
    if all(|value| matches!(value, Value::Number(_))) {
        return numbers(values);
    }
    if all(|value| matches!(value, Value::Text(_))) {
        return Some(DataType::Utf8);
    }
    if all(|value| matches!(value, Value::List(_))) {
        let items: Vec<&Value> = values
            .iter()
            .flat_map(|value| if let Value::List(items) = value { &items[..] } else { &[] })
            .collect();
        return Some(DataType::List(Arc::new(field(Field::LIST_FIELD_DEFAULT_NAME, &items))));
    }
    let objects: Vec<&Vec<(String, Value)>> =
        values.iter().map(|value| as_object(value)).collect::<Option<_>>()?;
    let keys = || objects.iter().flat_map(|object| object.iter());
    keys().next()?;
    if keys().all(|(key, _)| key.bytes().all(|byte| byte.is_ascii_digit())) {
        let values: Vec<&Value> = keys().map(|(_, value)| value).collect();
        let entries = vec![Field::new("key", DataType::Utf8, false), field("value", &values)];
        let entries = Field::new_struct("entries", entries, false);
        return Some(DataType::Map(Arc::new(entries), false));
    }
    Some(DataType::Struct(fields(&objects)))
}

fn numbers(values: &[&Value]) -> Option<DataType> {
    let (mut float, mut negative, mut large, mut inexact) = (false, false, false, false);
    for value in values {
        let Value::Number(text) = value else { return None };
        let number: f64 = text.parse().ok()?;
        if number.is_infinite() {
            return None;
        }
        match text.parse::<i128>() {
            Ok(integer) => {
                negative |= integer < 0;
                large |= integer > i128::from(i64::MAX);
                float |= integer < i128::from(i64::MIN) || integer > i128::from(u64::MAX);
                inexact |= format!("{number:.0}") != *text;
            }
            Err(_) => float = true,
        }
    }
    match (float || (negative && large), inexact, large) {
        (true, true, _) => None,
        (true, false, _) => Some(DataType::Float64),
        (false, _, true) => Some(DataType::UInt64),
        (false, _, false) => Some(DataType::Int64),
    }
}
