// SPDX-License-Identifier: Apache-2.0
//! Schema → text, so that reading the text gives the schema again.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use arrow_schema::{DataType, Field, Schema, UnionMode};

use super::lex::is_plain;
use super::types::{INTERVALS, JSON, SIMPLE, UNITS, name_of};
use crate::coerce::{COERCE_METADATA_KEY, Coercion};
use crate::plan::{
    ENCODING_METADATA_KEY, EXTENSION_NAME_KEY, JSON_EXTENSION_NAME, ROOT_METADATA_KEY,
};

/// Writes a schema, one column per line.
///
/// [`parse_schema`](super::parse_schema) returns the same schema for it, with any Arrow types and
/// metadata, unless it is nested deeper than a plan can be.
pub fn format_schema(schema: &Schema) -> String {
    let mut text = String::new();
    for (key, value) in sorted(schema.metadata()) {
        if key == ROOT_METADATA_KEY && value == "value" {
            text.push_str("root value\n");
        } else {
            text.push_str("metadata ");
            quote(&mut text, key);
            text.push_str(" = ");
            quote(&mut text, value);
            text.push('\n');
        }
    }
    for field in schema.fields() {
        named(&mut text, field, true);
        text.push('\n');
    }
    if schema.fields().is_empty() {
        text.push_str("# no columns\n");
    }
    text
}

/// Writes a type as it appears after a field's name.
pub fn format_type(data_type: &DataType) -> String {
    let mut text = String::new();
    write_type(&mut text, data_type, false);
    text
}

fn sorted(metadata: &HashMap<String, String>) -> BTreeMap<&str, &str> {
    metadata.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

/// `name: type …`; `nullable` is the default, for which no modifier is written.
fn named(text: &mut String, field: &Field, nullable: bool) {
    name(text, field.name());
    text.push_str(": ");
    unnamed(text, field, nullable);
}

/// As [`named`], without the name.
fn unnamed(text: &mut String, field: &Field, nullable: bool) {
    let json = is_json(field);
    write_type(text, field.data_type(), json);
    modifiers(text, field, nullable, json);
}

/// A field inside a type: its name is written only if it is not the usual one.
fn inner(text: &mut String, field: &Field, usual: &str, nullable: bool) {
    if field.name() == usual {
        unnamed(text, field, nullable);
    } else {
        named(text, field, nullable);
    }
}

/// Whether the type is written as `json`.
fn is_json(field: &Field) -> bool {
    let text = match field.data_type() {
        DataType::Dictionary(_, values) => values,
        other => other,
    };
    name_of(JSON, text).is_some()
        && field.metadata().get(EXTENSION_NAME_KEY).is_some_and(|name| name == JSON_EXTENSION_NAME)
}

fn modifiers(text: &mut String, field: &Field, nullable: bool, json: bool) {
    if field.is_nullable() != nullable {
        text.push_str(if nullable { " not null" } else { " null" });
    }
    let mut metadata = sorted(field.metadata());
    if json {
        metadata.remove(EXTENSION_NAME_KEY);
    }
    if let Some(encoding @ ("hex" | "base64")) = metadata.get(ENCODING_METADATA_KEY).copied() {
        text.push_str(" encoding ");
        text.push_str(encoding);
        metadata.remove(ENCODING_METADATA_KEY);
    }
    let coercion = metadata.get(COERCE_METADATA_KEY).and_then(|text| text.parse::<Coercion>().ok());
    if let Some(coercion) = coercion.filter(|coercion| !coercion.is_empty()) {
        let _ = write!(text, " {coercion}");
        metadata.remove(COERCE_METADATA_KEY);
    }
    if !metadata.is_empty() {
        text.push_str(" metadata {");
        for (number, (key, value)) in metadata.into_iter().enumerate() {
            text.push_str(if number == 0 { "" } else { ", " });
            quote(text, key);
            text.push_str(" = ");
            quote(text, value);
        }
        text.push('}');
    }
}

fn write_type(text: &mut String, data_type: &DataType, json: bool) {
    use DataType as T;
    if json && let Some(name) = name_of(JSON, data_type) {
        text.push_str(name);
        return;
    }
    if let Some(name) = name_of(SIMPLE, data_type) {
        text.push_str(name);
        return;
    }
    match data_type {
        T::Decimal32(precision, scale) => number_pair(text, "decimal32", *precision, *scale),
        T::Decimal64(precision, scale) => number_pair(text, "decimal64", *precision, *scale),
        T::Decimal128(precision, scale) => number_pair(text, "decimal128", *precision, *scale),
        T::Decimal256(precision, scale) => number_pair(text, "decimal256", *precision, *scale),
        T::FixedSizeBinary(len) => {
            // Writing to a string cannot fail.
            let _ = write!(text, "fixed_size_binary({len})");
        }
        T::Time32(unit) => in_brackets(text, "time32", word(UNITS, unit)),
        T::Time64(unit) => in_brackets(text, "time64", word(UNITS, unit)),
        T::Duration(unit) => in_brackets(text, "duration", word(UNITS, unit)),
        T::Interval(unit) => in_brackets(text, "interval", word(INTERVALS, unit)),
        T::Timestamp(unit, None) => in_brackets(text, "timestamp", word(UNITS, unit)),
        T::Timestamp(unit, Some(zone)) => {
            let _ = write!(text, "timestamp({}, ", word(UNITS, unit));
            quote(text, zone);
            text.push(')');
        }
        T::List(item) => list(text, "list", item, None),
        T::LargeList(item) => list(text, "large_list", item, None),
        T::ListView(item) => list(text, "list_view", item, None),
        T::LargeListView(item) => list(text, "large_list_view", item, None),
        T::FixedSizeList(item, len) => list(text, "fixed_size_list", item, Some(*len)),
        T::Struct(fields) => {
            text.push_str("struct<");
            for (number, field) in fields.iter().enumerate() {
                text.push_str(if number == 0 { "" } else { ", " });
                named(text, field, true);
            }
            text.push('>');
        }
        T::Dictionary(keys, values) => {
            text.push_str("dictionary<");
            write_type(text, keys, false);
            text.push_str(", ");
            write_type(text, values, json);
            text.push('>');
        }
        T::Map(entries, sorted) => map(text, entries, *sorted),
        T::RunEndEncoded(run_ends, values) => {
            text.push_str("run_end_encoded<");
            named(text, run_ends, true);
            text.push_str(", ");
            named(text, values, true);
            text.push('>');
        }
        T::Union(fields, mode) => {
            text.push_str(if *mode == UnionMode::Dense { "dense_union<" } else { "sparse_union<" });
            for (number, (id, field)) in fields.iter().enumerate() {
                let _ = write!(text, "{}{id} ", if number == 0 { "" } else { ", " });
                named(text, field, true);
            }
            text.push('>');
        }
        // Every other type is in the table.
        _ => text.push_str("null"),
    }
}

fn list(text: &mut String, name: &str, item: &Field, len: Option<i32>) {
    text.push_str(name);
    text.push('<');
    inner(text, item, Field::LIST_FIELD_DEFAULT_NAME, true);
    if let Some(len) = len {
        let _ = write!(text, ", {len}");
    }
    text.push('>');
}

/// `map<keys, values>`, and everything that differs from the defaults.
fn map(text: &mut String, entries: &Field, sorted: bool) {
    text.push_str("map<");
    match entries.data_type() {
        DataType::Struct(fields) if fields.len() == 2 => {
            inner(text, &fields[0], "key", false);
            text.push_str(", ");
            inner(text, &fields[1], "value", true);
        }
        // Not a valid map, but possible in a schema.
        other => write_type(text, other, false),
    }
    if sorted {
        text.push_str(", sorted");
    }
    let unusual =
        entries.name() != "entries" || entries.is_nullable() || !entries.metadata().is_empty();
    if unusual {
        text.push_str(", entries ");
        name(text, entries.name());
        modifiers(text, entries, false, false);
    }
    text.push('>');
}

fn number_pair(text: &mut String, name: &str, precision: u8, scale: i8) {
    let _ = write!(text, "{name}({precision}, {scale})");
}

/// The name of a unit of time.
pub(crate) fn unit_name(unit: &arrow_schema::TimeUnit) -> &'static str {
    word(UNITS, unit)
}

fn in_brackets(text: &mut String, name: &str, argument: &str) {
    let _ = write!(text, "{name}({argument})");
}

fn word<T: PartialEq>(table: &[(&'static str, T)], wanted: &T) -> &'static str {
    table.iter().find(|(_, unit)| unit == wanted).map_or("", |(name, _)| name)
}

fn name(text: &mut String, name: &str) {
    if is_plain(name) {
        text.push_str(name);
    } else {
        quote(text, name);
    }
}

/// Writes text in quotes, with the escapes of JSON.
pub(crate) fn quote(text: &mut String, content: &str) {
    text.push('"');
    for c in content.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            c if c.is_control() => {
                let _ = write!(text, "\\u{:04x}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text.push('"');
}
