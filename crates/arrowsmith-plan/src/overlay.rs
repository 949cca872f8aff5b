// SPDX-License-Identifier: Apache-2.0
//! Types for some fields of a schema, such as an inferred one: `id: utf8, user.born: date32`.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use arrowsmith_core::{Error, Result};

use crate::plan::split_path;

/// A schema with other types for some of its fields.
///
/// The fields of `types` are named by their paths, as columns are selected: `user.born` is the
/// field `born` of `user`, or of the objects in the list `user`, unless there is a column of this
/// name, dots included. A path that the schema does not have is added at the end of its object, as
/// a sample of records need not have every key; so are the objects around it, which may be null.
///
/// # Errors
/// [`Error::Schema`] for a path that is given twice or with a part of it, and for one below a field
/// that is not an object.
///
/// ```
/// use arrowsmith_plan::text::{format_schema, parse_schema};
/// use arrowsmith_plan::with_types;
///
/// let inferred = parse_schema("id: int64, user: struct<born: utf8>")?;
/// let typed = with_types(&inferred, &parse_schema("id: utf8, user.born: date32, new: bool")?)?;
/// assert_eq!(typed, parse_schema("id: utf8, user: struct<born: date32>, new: bool")?);
/// # Ok::<(), arrowsmith_core::Error>(())
/// ```
pub fn with_types(schema: &Schema, types: &Schema) -> Result<Schema> {
    let mut fields: Vec<FieldRef> = schema.fields().iter().cloned().collect();
    let mut given = HashSet::new();
    for field in types.fields() {
        // Names of columns may have dots.
        let path = match schema.field_with_name(field.name()) {
            Ok(_) => vec![field.name().clone()],
            Err(_) => split_path(field.name()),
        };
        if path.iter().any(String::is_empty) {
            return Err(Error::schema(field.name(), "a type is for a path such as user.born"));
        }
        let overlaps = (1..path.len()).any(|len| given.contains(&path[..len]))
            || given.iter().any(|other: &Vec<String>| other.starts_with(&path));
        if overlaps {
            let message = "this path, or a part of it, has a type already";
            return Err(Error::schema(field.name(), message));
        }
        set(&mut fields, &path, field)?;
        given.insert(path);
    }
    Ok(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Sets the type of a path in the fields of an object.
fn set(fields: &mut Vec<FieldRef>, path: &[String], to: &Field) -> Result<()> {
    let Some((name, rest)) = path.split_first() else { return Ok(()) };
    let typed = |before: Option<&FieldRef>| -> Result<FieldRef> {
        if rest.is_empty() {
            return Ok(Arc::new(to.clone().with_name(name)));
        }
        let object = DataType::Struct(Fields::empty());
        let added = Field::new(name, object, true);
        let before = before.map_or(&added, AsRef::as_ref);
        let data_type = below(before.data_type(), rest, to)?;
        Ok(Arc::new(before.clone().with_data_type(data_type)))
    };
    match fields.iter_mut().find(|field| field.name() == name) {
        Some(field) => *field = typed(Some(field))?,
        None => {
            let added = typed(None)?;
            fields.push(added);
        }
    }
    Ok(())
}

/// A type with another type at a path below it.
fn below(data_type: &DataType, path: &[String], to: &Field) -> Result<DataType> {
    let item = |item: &FieldRef| -> Result<FieldRef> {
        let data_type = below(item.data_type(), path, to)?;
        Ok(Arc::new(item.as_ref().clone().with_data_type(data_type)))
    };
    Ok(match data_type {
        DataType::Struct(fields) => {
            let mut fields: Vec<FieldRef> = fields.iter().cloned().collect();
            set(&mut fields, path, to)?;
            DataType::Struct(fields.into())
        }
        // What was null in every record may be an object.
        DataType::Null => below(&DataType::Struct(Fields::empty()), path, to)?,
        DataType::List(inner) => DataType::List(item(inner)?),
        DataType::LargeList(inner) => DataType::LargeList(item(inner)?),
        DataType::FixedSizeList(inner, len) => DataType::FixedSizeList(item(inner)?, *len),
        other => {
            let message = format!("the field around it is {other}, which has no fields to type");
            return Err(Error::schema(to.name(), message));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_schema;

    fn typed(schema: &str, types: &str) -> Result<Schema> {
        with_types(&parse_schema(schema)?, &parse_schema(types)?)
    }

    #[test]
    fn types_are_put_in_place_or_added() {
        for (schema, types, expected) in [
            ("a: int64, b: utf8", "", "a: int64, b: utf8"),
            ("a: int64, b: utf8", "b: json", "a: int64, b: json"),
            ("a: int64 not null", "a: utf8", "a: utf8"),
            ("a: int64", "a: int8 not null", "a: int8 not null"),
            (
                "a: struct<b: int64, c: utf8> not null",
                "a.b: utf8",
                "a: struct<b: utf8, c: utf8> not null",
            ),
            ("a: list<struct<b: int64>>", "a.b: utf8", "a: list<struct<b: utf8>>"),
            (
                "a: large_list<list<struct<b: null>>>",
                "a.b.c: utf8",
                "a: large_list<list<struct<b: struct<c: utf8>>>>",
            ),
            ("a: int64", "b.c.d: bool", "a: int64, b: struct<c: struct<d: bool>>"),
            (
                "a: struct<b: int64>",
                "a.c: bool, a.d: utf8",
                "a: struct<b: int64, c: bool, d: utf8>",
            ),
            ("\"a.b\": int64", r#""\"a.b\"": utf8"#, "\"a.b\": utf8"),
            ("\"a.b\": int64", "a.b: utf8", "\"a.b\": utf8"),
            (
                "a: struct<b: int8>, \"a.b\": int64",
                "a.b: utf8",
                "a: struct<b: int8>, \"a.b\": utf8",
            ),
            ("a: struct<b: int64>", "a: map<utf8, int64>", "a: map<utf8, int64>"),
            ("root value\nvalue: int64", "value: utf8", "root value\nvalue: utf8"),
        ] {
            assert_eq!(typed(schema, types).unwrap(), parse_schema(expected).unwrap(), "{types}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (schema, types, path) in [
            ("a: int64", "a.b: utf8", "a.b"),
            ("a: map<utf8, int64>", "a.b: utf8", "a.b"),
            ("a: int64", "a: utf8, a: int8", "a"),
            ("a: int64", "b: struct<c: int8>, b.c: utf8", "b.c"),
            ("a: int64", "b.c: utf8, b: json", "b"),
            ("a: int64", "a..b: utf8", "a..b"),
        ] {
            let error = typed(schema, types).unwrap_err();
            let Error::Schema { path: found, .. } = &error else { panic!("{error}") };
            assert_eq!(found, path, "{types}");
        }
    }
}
