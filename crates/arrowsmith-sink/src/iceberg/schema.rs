// SPDX-License-Identifier: Apache-2.0
//! Types of Iceberg and of Arrow: which Arrow type is written for a column, what the table's schema
//! calls it, and the ids by which readers find columns in files.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, TimeUnit};
use arrowsmith_core::{Error, Result};
use arrowsmith_parquet::FIELD_ID_KEY;
use serde_json::{Value, json};

/// The Arrow type that is written for a column of this type.
pub(super) fn written(path: &str, data_type: &DataType) -> Result<DataType> {
    use DataType as T;
    let within = |field: &Arc<Field>, name: &str, nullable: bool| -> Result<Arc<Field>> {
        let data_type = written(&format!("{path}.{}", field.name()), field.data_type())?;
        let field = Field::new(name, data_type, nullable).with_metadata(field.metadata().clone());
        Ok(Arc::new(field))
    };
    let element = |item: &Arc<Field>| within(item, "element", true);
    Ok(match data_type {
        T::Int8 | T::Int16 | T::UInt8 | T::UInt16 | T::Int32 => T::Int32,
        T::UInt32 | T::Int64 => T::Int64,
        T::UInt64 => T::Decimal128(20, 0),
        T::Float16 | T::Float32 => T::Float32,
        T::Decimal32(digits, scale @ 0..)
        | T::Decimal64(digits, scale @ 0..)
        | T::Decimal128(digits, scale @ 0..)
        | T::Decimal256(digits @ ..=38, scale @ 0..) => T::Decimal128(*digits, *scale),
        T::Date32 | T::Date64 => T::Date32,
        T::Time32(_) | T::Time64(TimeUnit::Microsecond) => T::Time64(TimeUnit::Microsecond),
        T::Timestamp(unit, zone) if *unit != TimeUnit::Nanosecond => {
            T::Timestamp(TimeUnit::Microsecond, zone.as_ref().map(|_| "UTC".into()))
        }
        T::FixedSizeList(item, _) | T::ListView(item) | T::List(item) => T::List(element(item)?),
        T::LargeListView(item) | T::LargeList(item) => T::LargeList(element(item)?),
        T::Struct(fields) => {
            names_are_unique(path, fields)?;
            let fields = fields.iter().map(|field| within(field, field.name(), true));
            T::Struct(fields.collect::<Result<_>>()?)
        }
        T::Map(entries, sorted) => {
            let T::Struct(fields) = entries.data_type() else {
                return Err(refused(path, data_type));
            };
            let [key, value] = &fields[..] else { return Err(refused(path, data_type)) };
            let pair = [within(key, "key", false)?, within(value, "value", true)?];
            let pair = T::Struct(pair.into_iter().collect());
            T::Map(Arc::new(Field::new("key_value", pair, false)), *sorted)
        }
        T::Dictionary(_, values) => match written(path, values)? {
            same if same == **values => data_type.clone(),
            other => other,
        },
        T::Boolean | T::Float64 | T::FixedSizeBinary(_) => data_type.clone(),
        T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Binary | T::LargeBinary | T::BinaryView => {
            data_type.clone()
        }
        _ => return Err(refused(path, data_type)),
    })
}

fn refused(path: &str, data_type: &DataType) -> Error {
    let remedy = match data_type {
        DataType::Timestamp(..) | DataType::Time64(_) => "; they have microseconds",
        DataType::Null => "; give the column another type",
        _ => "",
    };
    Error::schema(path, format!("Iceberg tables of version 2 have no {data_type}{remedy}"))
}

/// Checks that columns of a table, or fields of a record, have names of their own.
pub(super) fn names_are_unique(path: &str, fields: &Fields) -> Result<()> {
    let mut names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            let name = if path.is_empty() { pair[0].into() } else { format!("{path}.{}", pair[0]) };
            Err(Error::schema(name, "is the name of two columns"))
        }
        None => Ok(()),
    }
}

/// Numbers for columns, fields and elements.
#[derive(Debug, Default)]
pub(super) struct Ids(i32);

impl Ids {
    pub(super) fn next(&mut self) -> i32 {
        self.0 += 1;
        self.0
    }

    pub(super) fn last(&self) -> i32 {
        self.0
    }
}

/// What Iceberg calls the type of a field, which is [`written`], with new ids for what is in it.
pub(super) fn type_of(field: &Field, ids: &mut Ids) -> Value {
    use DataType as T;
    let name = match field.data_type() {
        T::Boolean => "boolean",
        T::Int32 => "int",
        T::Int64 => "long",
        T::Float32 => "float",
        T::Float64 => "double",
        T::Date32 => "date",
        T::Time64(_) => "time",
        T::Timestamp(_, Some(_)) => "timestamptz",
        T::Timestamp(_, None) => "timestamp",
        T::Decimal128(digits, scale) => return json!(format!("decimal({digits}, {scale})")),
        T::FixedSizeBinary(16) if field.extension_type_name() == Some("arrow.uuid") => "uuid",
        T::FixedSizeBinary(len) => return json!(format!("fixed[{len}]")),
        T::Binary | T::LargeBinary | T::BinaryView => "binary",
        T::Dictionary(_, values) => {
            return type_of(&field.clone().with_data_type(values.as_ref().clone()), ids);
        }
        T::List(item) | T::LargeList(item) => {
            let id = ids.next();
            return json!({
                "type": "list", "element-id": id, "element": type_of(item, ids),
                "element-required": false,
            });
        }
        T::Struct(fields) => {
            let numbers: Vec<i32> = fields.iter().map(|_| ids.next()).collect();
            let fields = fields.iter().zip(numbers);
            let fields = fields.map(|(field, id)| column(field.name(), id, type_of(field, ids)));
            return json!({"type": "struct", "fields": fields.collect::<Vec<_>>()});
        }
        T::Map(entries, _) => {
            let T::Struct(fields) = entries.data_type() else { return Value::Null };
            let [key, value] = &fields[..] else { return Value::Null };
            let (key_id, value_id) = (ids.next(), ids.next());
            return json!({
                "type": "map", "key-id": key_id, "key": type_of(key, ids),
                "value-id": value_id, "value": type_of(value, ids), "value-required": false,
            });
        }
        _ => "string",
    };
    json!(name)
}

/// Checks that what reads metadata reads these columns of a table that is created.
pub(super) fn can_be_read(columns: &[Value]) -> Result<()> {
    for column in columns {
        // As deep as columns are in metadata.
        let text = format!("[[[[{column}]]]]");
        if serde_json::from_str::<Value>(&text).is_err() {
            let name = column["name"].as_str().unwrap_or_default();
            return Err(Error::schema(name, "is nested too deeply for the metadata of a table"));
        }
    }
    Ok(())
}

/// A column of a table, or a field of a struct.
pub(super) fn column(name: &str, id: i32, kind: Value) -> Value {
    json!({"id": id, "name": name, "required": false, "type": kind})
}

/// A type of a table, as messages have it.
pub(super) fn shown(kind: &Value) -> String {
    let null = |required: &Value| if *required == true { " not null" } else { "" };
    match kind["type"].as_str() {
        Some("list") => {
            format!("list<{}{}>", shown(&kind["element"]), null(&kind["element-required"]))
        }
        Some("map") => {
            let (key, value) = (shown(&kind["key"]), shown(&kind["value"]));
            format!("map<{key}, {value}{}>", null(&kind["value-required"]))
        }
        Some("struct") => {
            let fields = fields(kind).iter().map(|field| {
                let name = field["name"].as_str().unwrap_or_default();
                format!("{name}: {}{}", shown(&field["type"]), null(&field["required"]))
            });
            format!("struct<{}>", fields.collect::<Vec<_>>().join(", "))
        }
        _ => kind.as_str().unwrap_or("unknown").to_owned(),
    }
}

/// Whether a column of a type can be written to one of a table: they are the same but for ids,
/// documentation, and fields of structs that are in another order, or missing and may be null.
pub(super) fn same(given: &Value, table: &Value) -> bool {
    if let (Some(given), Some(table)) = (given.as_str(), table.as_str()) {
        return given.split(' ').collect::<String>() == table.split(' ').collect::<String>();
    }
    let part = |key: &str| same(&given[key], &table[key]);
    let may_be_null = |key: &str| table[key] == json!(false);
    given["type"] == table["type"]
        && match table["type"].as_str() {
            Some("list") => part("element") && may_be_null("element-required"),
            Some("map") => part("key") && part("value") && may_be_null("value-required"),
            Some("struct") => {
                let may_be_null = |column: &Value| column["required"] == json!(false);
                let is_known = |given: &Value| {
                    let of_table = field_named(table, &given["name"]);
                    of_table.is_some_and(|of_table| same(&given["type"], &of_table["type"]))
                };
                fields(table).iter().all(may_be_null) && fields(given).iter().all(is_known)
            }
            _ => false,
        }
}

/// The fields of a struct.
fn fields(kind: &Value) -> &[Value] {
    kind["fields"].as_array().map_or(&[], Vec::as_slice)
}

fn field_named<'a>(kind: &'a Value, name: &Value) -> Option<&'a Value> {
    fields(kind).iter().find(|field| field["name"] == *name)
}

/// The Arrow type of a column of a table that has every value of a narrower type; `None` if there
/// is another that it has not.
pub(super) fn wider(given: &Value, table: &Value) -> Option<DataType> {
    match (given.as_str()?, table.as_str()?) {
        ("int", "long") => Some(DataType::Int64),
        ("int" | "float", "double") => Some(DataType::Float64),
        (given, table) => {
            let ((narrow, scale), (digits, of_table)) = (decimal(given)?, decimal(table)?);
            let is_wider = narrow <= digits && scale == of_table;
            is_wider.then_some(DataType::Decimal128(digits, of_table))
        }
    }
}

/// The Arrow type of a column that a table can be partitioned by.
pub(super) fn arrow_of(name: &str) -> Option<DataType> {
    let time = |zone: Option<&str>| {
        DataType::Timestamp(TimeUnit::Microsecond, zone.map(|zone| zone.into()))
    };
    Some(match name {
        "boolean" => DataType::Boolean,
        "int" => DataType::Int32,
        "long" => DataType::Int64,
        "date" => DataType::Date32,
        "timestamp" => time(None),
        "timestamptz" => time(Some("UTC")),
        "string" => DataType::Utf8,
        name => decimal(name).map(|(digits, scale)| DataType::Decimal128(digits, scale))?,
    })
}

/// Digits and scale of `decimal(10, 2)`.
pub(super) fn decimal(name: &str) -> Option<(u8, i8)> {
    let (digits, scale) = name.strip_prefix("decimal(")?.strip_suffix(')')?.split_once(',')?;
    let (digits, scale): (u8, i8) = (digits.trim().parse().ok()?, scale.trim().parse().ok()?);
    let is_valid = (1..=38).contains(&digits) && (0..=digits.cast_signed()).contains(&scale);
    is_valid.then_some((digits, scale))
}

/// A field, and those in it, with the ids that a column of a table has. Its type is the [`same`].
pub(super) fn identified(field: &Field, id: &Value, kind: &Value) -> Field {
    use DataType as T;
    let part = |field: &Arc<Field>, id: &str, part: &str| {
        Arc::new(identified(field, &kind[id], &kind[part]))
    };
    let data_type = match field.data_type() {
        T::List(item) => T::List(part(item, "element-id", "element")),
        T::LargeList(item) => T::LargeList(part(item, "element-id", "element")),
        T::Struct(fields) => {
            let fields = fields.iter().map(|field| match field_named(kind, &json!(field.name())) {
                Some(column) => Arc::new(identified(field, &column["id"], &column["type"])),
                None => Arc::clone(field),
            });
            T::Struct(fields.collect())
        }
        T::Map(entries, sorted) => match entries.data_type() {
            T::Struct(fields) if fields.len() == 2 => {
                let (key, value) = (&fields[0], &fields[1]);
                let pair = [part(key, "key-id", "key"), part(value, "value-id", "value")];
                let pair = T::Struct(pair.into_iter().collect());
                T::Map(Arc::new(entries.as_ref().clone().with_data_type(pair)), *sorted)
            }
            other => {
                T::Map(Arc::new(entries.as_ref().clone().with_data_type(other.clone())), *sorted)
            }
        },
        other => other.clone(),
    };
    let mut metadata = field.metadata().clone();
    metadata.insert(FIELD_ID_KEY.to_owned(), id.to_string());
    field.clone().with_data_type(data_type).with_metadata(metadata)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_written_to_a_column() {
        let text = |kind: &str| kind.replace('\'', "\"");
        let parsed = |kind: &str| serde_json::from_str::<Value>(&text(kind)).unwrap();
        let record = |fields: &[(&str, bool, &str)]| {
            let fields = fields.iter().enumerate().map(|(id, (name, required, kind))| {
                json!({"id": id, "name": name, "required": required, "type": parsed(kind)})
            });
            json!({"type": "struct", "fields": fields.collect::<Vec<_>>()})
        };
        let list = |required: bool, element: Value| {
            json!({"type": "list", "element-id": 7, "element": element,
                "element-required": required})
        };
        let (int, long) = (parsed("'int'"), parsed("'long'"));
        let table = record(&[("a", false, "'int'"), ("b", false, "'string'")]);
        let required = record(&[("a", false, "'int'"), ("b", true, "'string'")]);
        for (given, table, expected) in [
            (&int, &int, true),
            (&int, &long, false),
            (&parsed("'decimal(9, 2)'"), &parsed("'decimal(9,2)'"), true),
            (&table, &table, true),
            (&record(&[("b", false, "'string'"), ("a", false, "'int'")]), &table, true),
            (&record(&[("b", false, "'string'")]), &table, true),
            (&record(&[("b", false, "'int'")]), &table, false),
            (&record(&[("c", false, "'string'")]), &table, false),
            (&record(&[("a", false, "'int'")]), &required, false),
            (&table, &required, false),
            (&int, &table, false),
            (&list(false, int.clone()), &list(false, int.clone()), true),
            (&list(false, int.clone()), &list(true, int.clone()), false),
            (&list(false, int.clone()), &list(false, long.clone()), false),
        ] {
            assert_eq!(same(given, table), expected, "{} {}", shown(given), shown(table));
        }
    }
}
