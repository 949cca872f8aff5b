// SPDX-License-Identifier: Apache-2.0
//! The schema of a table as its metadata has it, and as Arrow's.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, TimeUnit};
use serde::Deserialize;

/// Metadata key of a column's id, as the Parquet reader has it.
const FIELD_ID_KEY: &str = "PARQUET:field_id";

/// A schema of a table.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct TableSchema {
    #[serde(default)]
    pub(super) schema_id: i32,
    pub(super) fields: Vec<Column>,
}

/// A column, or a field of a struct.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Column {
    pub(super) id: i32,
    pub(super) name: String,
    required: bool,
    #[serde(rename = "type")]
    pub(super) kind: Kind,
    initial_default: Option<serde_json::Value>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum Kind {
    Primitive(String),
    Nested(Box<Nested>),
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Nested {
    Struct {
        fields: Vec<Column>,
    },
    #[serde(rename_all = "kebab-case")]
    List {
        element_id: i32,
        element_required: bool,
        element: Kind,
    },
    #[serde(rename_all = "kebab-case")]
    Map {
        key_id: i32,
        key: Kind,
        value_id: i32,
        value_required: bool,
        value: Kind,
    },
}

impl TableSchema {
    /// As Arrow's; the metadata of each field has its id.
    ///
    /// # Errors
    /// The column whose type has no Arrow type here.
    pub(super) fn arrow(&self) -> Result<Schema, String> {
        let fields = self.fields.iter().map(Column::arrow);
        Ok(Schema::new(fields.collect::<Result<Vec<_>, _>>()?))
    }

    /// Checks that files with an earlier schema are read right by the ids of their columns.
    ///
    /// # Errors
    /// The column with which they are not.
    pub(super) fn check_earlier(&self, earlier: &Self) -> Result<(), String> {
        match narrowed(&earlier.fields, &self.fields) {
            Some(Column { name, .. }) => Err(format!("a column {name} whose type has changed")),
            None => Ok(()),
        }
    }
}

/// A field whose type was another before, other than one that has been widened.
fn narrowed<'a>(before: &[Column], after: &'a [Column]) -> Option<&'a Column> {
    let by_id: HashMap<i32, &Column> = before.iter().map(|it| (it.id, it)).collect();
    after.iter().find(|column| {
        let before = by_id.get(&column.id);
        before.is_some_and(|before| !is_widened(&before.kind, &column.kind))
    })
}

/// Whether a type is another one, or was that before it was widened, or fields of its structs were
/// renamed, added or dropped.
fn is_widened(before: &Kind, after: &Kind) -> bool {
    let (from, to) = match (before, after) {
        (Kind::Primitive(from), Kind::Primitive(to)) => (from.as_str(), to.as_str()),
        (Kind::Nested(before), Kind::Nested(after)) => return is_widened_nested(before, after),
        _ => return false,
    };
    match (from, to) {
        ("int", "long") | ("float", "double") => true,
        (from, to) => {
            let precision = |decimal: &str| decimal_of(decimal).map(|(precision, _)| precision);
            let scale = |decimal: &str| decimal_of(decimal).map(|(_, scale)| scale);
            from == to
                || (scale(from).is_some()
                    && scale(from) == scale(to)
                    && precision(from) <= precision(to))
        }
    }
}

fn is_widened_nested(before: &Nested, after: &Nested) -> bool {
    match (before, after) {
        (Nested::Struct { fields: before }, Nested::Struct { fields: after }) => {
            narrowed(before, after).is_none()
        }
        (Nested::List { element: before, .. }, Nested::List { element: after, .. }) => {
            is_widened(before, after)
        }
        (
            Nested::Map { key: key_before, value: before, .. },
            Nested::Map { key, value: after, .. },
        ) => is_widened(key_before, key) && is_widened(before, after),
        _ => false,
    }
}

impl Column {
    fn arrow(&self) -> Result<Field, String> {
        if self.initial_default.as_ref().is_some_and(|value| !value.is_null()) {
            return Err(format!("a column {} with a default for earlier rows", self.name));
        }
        let kind = self.kind.arrow();
        let kind = kind.map_err(|kind| format!("a column {} of type {kind}", self.name))?;
        Ok(field(&self.name, kind, self.id, self.required))
    }
}

fn field(name: &str, (kind, extension): Arrow, id: i32, required: bool) -> Field {
    let mut metadata = HashMap::from([(FIELD_ID_KEY.to_owned(), id.to_string())]);
    if let Some(extension) = extension {
        metadata.insert("ARROW:extension:name".to_owned(), extension.to_owned());
    }
    Field::new(name, kind, !required).with_metadata(metadata)
}

/// A type, and the name of its extension, if it has one.
type Arrow = (DataType, Option<&'static str>);

impl Kind {
    /// The Arrow type, or the type that has none here.
    fn arrow(&self) -> Result<Arrow, String> {
        let nested = match self {
            Self::Primitive(name) => {
                return primitive(name).ok_or_else(|| name.clone());
            }
            Self::Nested(nested) => nested.as_ref(),
        };
        Ok((
            match nested {
                Nested::Struct { fields } => {
                    let fields = fields.iter().map(Column::arrow);
                    DataType::Struct(fields.collect::<Result<_, _>>()?)
                }
                Nested::List { element_id, element_required, element } => {
                    let item = field("element", element.arrow()?, *element_id, *element_required);
                    DataType::List(Arc::new(item))
                }
                Nested::Map { key_id, key, value_id, value_required, value } => {
                    let key = field("key", key.arrow()?, *key_id, true);
                    let value = field("value", value.arrow()?, *value_id, *value_required);
                    let entries = DataType::Struct([key, value].into_iter().collect());
                    DataType::Map(Arc::new(Field::new("key_value", entries, false)), false)
                }
            },
            None,
        ))
    }
}

fn primitive(name: &str) -> Option<Arrow> {
    let utc = || Some("UTC".into());
    let kind = match name {
        "boolean" => DataType::Boolean,
        "int" => DataType::Int32,
        "long" => DataType::Int64,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "date" => DataType::Date32,
        "time" => DataType::Time64(TimeUnit::Microsecond),
        "timestamp" => DataType::Timestamp(TimeUnit::Microsecond, None),
        "timestamptz" => DataType::Timestamp(TimeUnit::Microsecond, utc()),
        "timestamp_ns" => DataType::Timestamp(TimeUnit::Nanosecond, None),
        "timestamptz_ns" => DataType::Timestamp(TimeUnit::Nanosecond, utc()),
        "string" => DataType::Utf8,
        "binary" => DataType::Binary,
        "uuid" => return Some((DataType::FixedSizeBinary(16), Some("arrow.uuid"))),
        name => match (fixed(name), decimal_of(name)) {
            (Some(len), _) => DataType::FixedSizeBinary(len),
            (_, Some((precision @ 1..=38, scale))) if scale.unsigned_abs() <= precision => {
                DataType::Decimal128(precision, scale)
            }
            _ => return None,
        },
    };
    Some((kind, None))
}

/// The length of `fixed[16]`.
fn fixed(name: &str) -> Option<i32> {
    let len = name.strip_prefix("fixed[")?.strip_suffix(']')?;
    len.parse().ok().filter(|len| *len >= 0)
}

/// Precision and scale of `decimal(10, 2)`.
fn decimal_of(name: &str) -> Option<(u8, i8)> {
    let (precision, scale) = name.strip_prefix("decimal(")?.strip_suffix(')')?.split_once(',')?;
    Some((precision.trim().parse().ok()?, scale.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(fields: &str) -> TableSchema {
        serde_json::from_str(&format!("{{\"type\":\"struct\",\"fields\":[{fields}]}}")).unwrap()
    }

    fn of(kind: &str) -> TableSchema {
        schema(&format!("{{\"id\":1,\"name\":\"a\",\"required\":false,\"type\":{kind}}}"))
    }

    fn arrow(kind: &str) -> String {
        match of(kind).arrow() {
            Ok(schema) => schema.field(0).data_type().to_string(),
            Err(error) => error,
        }
    }

    #[test]
    fn types_are_those_of_arrow() {
        for (kind, expected) in [
            ("long", "Int64"),
            ("decimal(10, 2)", "Decimal128(10, 2)"),
            ("decimal(38,0)", "Decimal128(38, 0)"),
            ("fixed[3]", "FixedSizeBinary(3)"),
            ("uuid", "FixedSizeBinary(16)"),
            ("timestamptz", "Timestamp(µs, \"UTC\")"),
            ("timestamp_ns", "Timestamp(ns)"),
        ] {
            assert_eq!(arrow(&format!("{kind:?}")), expected, "{kind}");
        }
        for kind in ["variant", "geometry(OGC:CRS84)", "decimal(39,2)", "decimal(2,3)", "fixed[-1]"]
        {
            assert_eq!(arrow(&format!("{kind:?}")), format!("a column a of type {kind}"));
        }
        let list = r#"{"type":"list","element-id":2,"element-required":true,"element":"int"}"#;
        let of_lists = format!(
            r#"{{"type":"map","key-id":2,"key":"string","value-id":3,"value-required":false,"value":{list}}}"#
        );
        let DataType::Map(entries, false) =
            of(&of_lists).arrow().unwrap().field(0).data_type().clone()
        else {
            panic!("no map")
        };
        let DataType::Struct(pair) = entries.data_type() else { panic!("no pair") };
        assert_eq!(pair[1].metadata()[FIELD_ID_KEY], "3");
        assert!(!pair[0].is_nullable() && pair[1].is_nullable());
    }

    #[test]
    fn what_earlier_files_have_is_read_or_refused() {
        let list = |item: &str| {
            format!(
                r#"{{"type":"list","element-id":2,"element-required":true,"element":"{item}"}}"#
            )
        };
        let record = |field: &str| {
            format!(
                r#"{{"type":"struct","fields":[{{"id":{field},"required":false,"type":"int"}}]}}"#
            )
        };
        for (before, after, is_read) in [
            ("\"int\"", "\"long\"", true),
            ("\"long\"", "\"int\"", false),
            ("\"float\"", "\"double\"", true),
            ("\"decimal(9,2)\"", "\"decimal(12, 2)\"", true),
            ("\"decimal(9,2)\"", "\"decimal(12,3)\"", false),
            ("\"string\"", "\"binary\"", false),
            (&list("int"), &list("int"), true),
            (&list("int"), &list("long"), true),
            (&list("long"), &list("int"), false),
            (&record("1,\"name\":\"x\""), &record("1,\"name\":\"y\""), true),
            (&record("1,\"name\":\"x\""), &record("2,\"name\":\"x\""), true),
            (&list("int"), "\"int\"", false),
        ] {
            let found = of(after).check_earlier(&of(before));
            assert_eq!(found.is_ok(), is_read, "{before} {after}");
        }
        // Renamed, dropped and added columns are.
        let other = schema(r#"{"id":9,"name":"a","required":true,"type":"string"}"#);
        of("\"int\"").check_earlier(&other).unwrap();
    }
}
