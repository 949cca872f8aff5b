// SPDX-License-Identifier: Apache-2.0
//! Types of Delta and of Arrow: which Arrow type is written for a column, and what the table's
//! schema calls it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use arrowsmith_core::{Error, Result};
use arrowsmith_parquet::{ColumnMapping, FIELD_ID_KEY, PHYSICAL_NAME_KEY};
use serde_json::{Map, Value, json};

/// Characters that names of columns may not have without Delta's column mapping.
const NOT_IN_NAMES: &[char] = &[' ', ',', ';', '{', '}', '(', ')', '\n', '\t', '='];

/// Maximum size of a table's schema as text, in bytes: parsed, it takes many times as much.
const TEXT_BYTES_MAX: usize = 16 << 20;

/// Maximum depth of a table's schema.
const DEPTH_MAX: usize = 64;

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) data_type: Value,
    pub(super) nullable: bool,
    metadata: Map<String, Value>,
}

impl Column {
    pub(super) fn new(name: &str, data_type: Value) -> Self {
        Self { name: name.to_owned(), data_type, nullable: true, metadata: Map::new() }
    }

    /// A property that a writer would have to ensure or to compute.
    pub(super) fn demand(&self) -> Option<&str> {
        let known = ["delta.invariants", "delta.generationExpression", "delta.identity"];
        self.metadata
            .keys()
            .find(|key| known.iter().any(|k| key.starts_with(k)))
            .map(String::as_str)
    }

    /// Its name in files and in the log.
    pub(super) fn physical_name(&self, mapping: ColumnMapping) -> &str {
        let physical = self.metadata.get(PHYSICAL_NAME_KEY).and_then(Value::as_str);
        match mapping {
            ColumnMapping::None => &self.name,
            ColumnMapping::Name | ColumnMapping::Id => physical.unwrap_or(&self.name),
        }
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.data_type,
            "nullable": self.nullable,
            "metadata": self.metadata,
        })
    }
}

/// The schema of a table, as text.
pub(super) fn text(columns: &[Column]) -> String {
    let fields: Vec<Value> = columns.iter().map(Column::json).collect();
    json!({"type": "struct", "fields": fields}).to_string()
}

/// Checks that what reads the log reads these columns of a table that is created.
///
/// # Errors
/// [`Error::Schema`] for a column that is nested too deeply.
pub(super) fn can_be_read(columns: &[Column]) -> Result<()> {
    for column in columns {
        let read = parse(&text(std::slice::from_ref(column)));
        if read.and_then(|columns| arrow(&columns, ColumnMapping::None)).is_err() {
            let message = "is nested too deeply for the log of a table";
            return Err(Error::schema(&column.name, message));
        }
    }
    Ok(())
}

/// The columns of a schema of a table, as text.
pub(super) fn parse(text: &str) -> Result<Vec<Column>> {
    let malformed = || Error::schema("", "the table's schema is malformed");
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the table's schema has more than {TEXT_BYTES_MAX} bytes");
        return Err(Error::schema("", message));
    }
    let value: Value = serde_json::from_str(text).map_err(|_| malformed())?;
    let fields = value.get("fields").and_then(Value::as_array).ok_or_else(malformed)?;
    let columns = fields.iter().map(|field| {
        Some(Column {
            name: field.get("name")?.as_str()?.to_owned(),
            data_type: field.get("type")?.clone(),
            nullable: field.get("nullable").and_then(Value::as_bool).unwrap_or(true),
            metadata: field.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default(),
        })
    });
    columns.collect::<Option<_>>().ok_or_else(malformed)
}

/// The Arrow type that is written for a column of this type.
pub(super) fn written(path: &str, data_type: &DataType) -> Result<DataType> {
    use DataType as T;
    let within = |field: &Arc<Field>| -> Result<Arc<Field>> {
        let data_type = written(&format!("{path}.{}", field.name()), field.data_type())?;
        Ok(Arc::new(field.as_ref().clone().with_data_type(data_type)))
    };
    Ok(match data_type {
        T::UInt8 => T::Int16,
        T::UInt16 => T::Int32,
        T::UInt32 => T::Int64,
        T::UInt64 => T::Decimal128(20, 0),
        T::Float16 => T::Float32,
        T::Decimal32(digits, scale @ 0..)
        | T::Decimal64(digits, scale @ 0..)
        | T::Decimal128(digits, scale @ 0..)
        | T::Decimal256(digits @ ..=38, scale @ 0..) => T::Decimal128(*digits, *scale),
        T::Date64 => T::Date32,
        T::Timestamp(unit, zone) if *unit != TimeUnit::Nanosecond => {
            T::Timestamp(TimeUnit::Microsecond, zone.as_ref().map(|_| "UTC".into()))
        }
        T::FixedSizeBinary(_) => T::Binary,
        T::FixedSizeList(item, _) | T::ListView(item) | T::List(item) => T::List(within(item)?),
        T::LargeListView(item) | T::LargeList(item) => T::LargeList(within(item)?),
        T::Struct(fields) => {
            names_are_valid(path, fields)?;
            T::Struct(fields.iter().map(within).collect::<Result<_>>()?)
        }
        T::Map(entries, sorted) => {
            let T::Struct(fields) = entries.data_type() else {
                return Err(refused(path, data_type));
            };
            let fields = fields.iter().map(within).collect::<Result<Fields>>()?;
            let entries = entries.as_ref().clone().with_data_type(T::Struct(fields));
            T::Map(Arc::new(entries), *sorted)
        }
        T::Dictionary(_, values) => match written(path, values)? {
            same if same == **values => data_type.clone(),
            other => other,
        },
        T::Boolean | T::Int8 | T::Int16 | T::Int32 | T::Int64 | T::Float32 | T::Float64 => {
            data_type.clone()
        }
        T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Binary | T::LargeBinary | T::BinaryView => {
            data_type.clone()
        }
        T::Date32 => T::Date32,
        _ => return Err(refused(path, data_type)),
    })
}

fn refused(path: &str, data_type: &DataType) -> Error {
    let remedy = match data_type {
        DataType::Timestamp(..) => "; it has microseconds",
        DataType::Null => "; give the column another type",
        _ => "",
    };
    Error::schema(path, format!("Delta tables have no {data_type}{remedy}"))
}

/// Checks the names of the columns of a table, or of the fields of a record: Delta takes those that
/// differ only in case for the same.
pub(super) fn names_are_valid(path: &str, fields: &Fields) -> Result<()> {
    let mut seen = BTreeSet::new();
    for name in fields.iter().map(|field| field.name()) {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        if name.is_empty() || name.contains(NOT_IN_NAMES) {
            let message = "Delta tables have no names with spaces or ,;{}()=, and no empty ones";
            return Err(Error::schema(path, message));
        }
        if !seen.insert(name.to_lowercase()) {
            let message = "Delta tables have no two columns whose names differ only in case";
            return Err(Error::schema(path, message));
        }
    }
    Ok(())
}

/// What Delta calls a type that is [`written`].
pub(super) fn type_of(data_type: &DataType) -> Value {
    use DataType as T;
    let name = match data_type {
        T::Boolean => "boolean",
        T::Int8 => "byte",
        T::Int16 => "short",
        T::Int32 => "integer",
        T::Int64 => "long",
        T::Float32 => "float",
        T::Float64 => "double",
        T::Date32 => "date",
        T::Timestamp(_, Some(_)) => "timestamp",
        T::Timestamp(_, None) => "timestamp_ntz",
        T::Decimal128(digits, scale) => return json!(format!("decimal({digits},{scale})")),
        T::Dictionary(_, values) => return type_of(values),
        T::List(item) | T::LargeList(item) => {
            let item = type_of(item.data_type());
            return json!({"type": "array", "elementType": item, "containsNull": true});
        }
        T::Struct(fields) => {
            let fields =
                fields.iter().map(|f| Column::new(f.name(), type_of(f.data_type())).json());
            return json!({"type": "struct", "fields": fields.collect::<Vec<_>>()});
        }
        T::Map(entries, _) => {
            let T::Struct(fields) = entries.data_type() else { return Value::Null };
            let mut types = fields.iter().map(|field| type_of(field.data_type()));
            let (key, value) = (types.next(), types.next());
            return json!({
                "type": "map", "keyType": key, "valueType": value, "valueContainsNull": true,
            });
        }
        T::Binary | T::LargeBinary | T::BinaryView => "binary",
        _ => "string",
    };
    json!(name)
}

/// Whether a column of a type can be written to one of a table: they are the same but for what may
/// be null, for metadata, and for fields of structs that are in another order, or missing and may
/// be null.
pub(super) fn same(table: &Value, given: &Value) -> bool {
    if table.is_string() || given.is_string() {
        return table == given;
    }
    let part = |key: &str| same(&table[key], &given[key]);
    table["type"] == given["type"]
        && match table["type"].as_str() {
            Some("array") => part("elementType"),
            Some("map") => part("keyType") && part("valueType"),
            Some("struct") => {
                let is_known = |field: &Value| {
                    let of_table = field_named(table, &field["name"]);
                    of_table.is_some_and(|of_table| same(&of_table["type"], &field["type"]))
                };
                let is_given = |field: &Value| {
                    field["nullable"] != json!(false)
                        || field_named(given, &field["name"]).is_some()
                };
                fields(given).iter().all(is_known) && fields(table).iter().all(is_given)
            }
            _ => false,
        }
}

/// The fields of a struct.
fn fields(data_type: &Value) -> &[Value] {
    data_type["fields"].as_array().map_or(&[], Vec::as_slice)
}

fn field_named<'a>(data_type: &'a Value, name: &Value) -> Option<&'a Value> {
    fields(data_type).iter().find(|field| field["name"] == *name)
}

/// Whether every value of a type is one of the other.
pub(super) fn widens(from: &Value, to: &Value) -> bool {
    const INTEGERS: [&str; 4] = ["byte", "short", "integer", "long"];
    let (Some(from), Some(to)) = (from.as_str(), to.as_str()) else { return false };
    let rank = |name: &str| INTEGERS.iter().position(|known| *known == name);
    match (rank(from), rank(to)) {
        (Some(from), Some(to)) => from < to,
        (Some(from), None) => from < 3 && to == "double",
        _ => (from, to) == ("float", "double"),
    }
}

/// The Arrow type of a column of a table.
pub(super) fn arrow_of(path: &str, data_type: &Value) -> Result<DataType> {
    arrow_within(path, data_type, ColumnMapping::None, 0)
}

fn arrow_within(
    path: &str,
    data_type: &Value,
    mapping: ColumnMapping,
    depth: usize,
) -> Result<DataType> {
    use DataType as T;
    let unknown = || Error::schema(path, format!("a type that is not known: {data_type}"));
    if depth > DEPTH_MAX {
        return Err(Error::schema(path, format!("nested more than {DEPTH_MAX} levels deep")));
    }
    let inner = |name: &str| -> Result<DataType> {
        arrow_within(path, data_type.get(name).ok_or_else(unknown)?, mapping, depth + 1)
    };
    if let Some(name) = data_type.as_str() {
        return Ok(match name {
            "boolean" => T::Boolean,
            "byte" => T::Int8,
            "short" => T::Int16,
            "integer" => T::Int32,
            "long" => T::Int64,
            "float" => T::Float32,
            "double" => T::Float64,
            "string" => T::Utf8,
            "binary" => T::Binary,
            "date" => T::Date32,
            "timestamp" => T::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            "timestamp_ntz" => T::Timestamp(TimeUnit::Microsecond, None),
            _ => decimal(name).ok_or_else(unknown)?,
        });
    }
    match data_type.get("type").and_then(Value::as_str) {
        Some("array") => Ok(T::new_list(inner("elementType")?, true)),
        Some("map") => {
            let key = Field::new("key", inner("keyType")?, false);
            let value = Field::new("value", inner("valueType")?, true);
            let entries = T::Struct(vec![key, value].into());
            Ok(T::Map(Arc::new(Field::new("key_value", entries, false)), false))
        }
        Some("struct") => {
            let fields = data_type.get("fields").and_then(Value::as_array).ok_or_else(unknown)?;
            let fields = fields.iter().map(|field| {
                let name = field.get("name").and_then(Value::as_str).ok_or_else(unknown)?;
                let inner = field.get("type").ok_or_else(unknown)?;
                let path = format!("{path}.{name}");
                let inner = arrow_within(&path, inner, mapping, depth + 1)?;
                let metadata = field.get("metadata").and_then(Value::as_object);
                Ok(Field::new(name, inner, true).with_metadata(in_files(metadata, mapping)))
            });
            Ok(T::Struct(fields.collect::<Result<Vec<_>>>()?.into()))
        }
        _ => Err(unknown()),
    }
}

/// The metadata of a field by which it is found in files.
fn in_files(
    metadata: Option<&Map<String, Value>>,
    mapping: ColumnMapping,
) -> HashMap<String, String> {
    let mut found = HashMap::new();
    let Some(metadata) = metadata.filter(|_| mapping != ColumnMapping::None) else { return found };
    if let Some(name) = metadata.get(PHYSICAL_NAME_KEY).and_then(Value::as_str) {
        found.insert(PHYSICAL_NAME_KEY.to_owned(), name.to_owned());
    }
    if let Some(id) = metadata.get("delta.columnMapping.id").and_then(Value::as_i64)
        && mapping == ColumnMapping::Id
    {
        found.insert(FIELD_ID_KEY.to_owned(), id.to_string());
    }
    found
}

/// `decimal(10,2)`.
fn decimal(name: &str) -> Option<DataType> {
    let inside = name.strip_prefix("decimal(")?.strip_suffix(')')?;
    let (digits, scale) = inside.split_once(',')?;
    let (digits, scale): (u8, i8) = (digits.trim().parse().ok()?, scale.trim().parse().ok()?);
    let is_valid = (1..=38).contains(&digits) && (0..=digits.cast_signed()).contains(&scale);
    is_valid.then_some(DataType::Decimal128(digits, scale))
}

/// The Arrow schema of columns.
pub(super) fn arrow(columns: &[Column], mapping: ColumnMapping) -> Result<Schema> {
    let fields = columns.iter().map(|column| {
        let data_type = arrow_within(&column.name, &column.data_type, mapping, 0)?;
        let metadata = in_files(Some(&column.metadata), mapping);
        Ok(Field::new(&column.name, data_type, true).with_metadata(metadata))
    });
    Ok(Schema::new(fields.collect::<Result<Vec<_>>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_as_they_are_written() {
        let list = DataType::new_list(DataType::Decimal128(10, 2), true);
        let inner = Field::new("x", DataType::Timestamp(TimeUnit::Second, Some("x".into())), true);
        let types = [
            (DataType::UInt32, DataType::Int64),
            (DataType::UInt64, DataType::Decimal128(20, 0)),
            (DataType::Decimal32(5, 2), DataType::Decimal128(5, 2)),
            (list.clone(), list),
            (
                DataType::Struct(vec![inner].into()),
                DataType::Struct(
                    vec![Field::new(
                        "x",
                        DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
                        true,
                    )]
                    .into(),
                ),
            ),
            (DataType::Date64, DataType::Date32),
            (DataType::FixedSizeBinary(3), DataType::Binary),
        ];
        for (given, expected) in types {
            let found = written("a", &given).unwrap();
            assert_eq!(found, expected);
            assert_eq!(arrow_of("a", &type_of(&found)).unwrap(), expected);
        }
        let text_of = |data_type| type_of(&written("a", &data_type).unwrap());
        let dictionary = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
        assert_eq!(text_of(dictionary), "string");
        assert_eq!(text_of(DataType::LargeUtf8), "string");
        for refused in [
            DataType::Null,
            DataType::Time32(TimeUnit::Second),
            DataType::Timestamp(TimeUnit::Nanosecond, None),
            DataType::Decimal256(50, 2),
            DataType::Decimal128(5, -2),
            DataType::Duration(TimeUnit::Second),
        ] {
            assert!(written("a", &refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn malformed_types_are_errors() {
        let deep =
            (0..100).fold(json!("long"), |inner, _| json!({"type": "array", "elementType": inner}));
        for malformed in [
            json!("int"),
            json!("decimal(39,0)"),
            json!("decimal(5,6)"),
            json!("decimal(5,-1)"),
            json!("decimal(x)"),
            json!(null),
            json!({"type": "array"}),
            json!({"type": "struct", "fields": [{"name": 1}]}),
            json!({"type": "map", "keyType": "long"}),
            deep,
        ] {
            assert!(arrow_of("a", &malformed).is_err(), "{malformed}");
        }
        for malformed in ["", "{}", "{\"fields\":[{\"name\":\"a\"}]}", "[]"] {
            assert!(parse(malformed).is_err(), "{malformed}");
        }
        let columns = [Column::new("a", json!("long"))];
        assert_eq!(parse(&text(&columns)).unwrap(), columns);
        assert!(
            widens(&json!("byte"), &json!("long")) && widens(&json!("float"), &json!("double"))
        );
        assert!(
            !widens(&json!("long"), &json!("double")) && !widens(&json!("long"), &json!("byte"))
        );
    }
}
