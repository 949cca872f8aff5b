// SPDX-License-Identifier: Apache-2.0
//! The columns of a file by what a table calls them: tables whose columns can be renamed, or
//! dropped and added again, know those of their files by ids or by names that do not change.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields};
use arrowsmith_core::{Error, FileErrorKind, Result};
use parquet::basic::{Repetition, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use crate::schema::{ARROW_SCHEMA_KEY, FIELD_ID_KEY, Shape, is_element, repetition, shape};

/// What the name of a column starts with that is none of the table's. No table has such a name.
const UNKNOWN: char = '\0';

/// Metadata key of a table's column: its name in files, by [`ColumnMapping::Name`].
pub const PHYSICAL_NAME_KEY: &str = "delta.columnMapping.physicalName";

/// How the columns of a table, and the fields of its structs, are found in its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColumnMapping {
    /// They have the same names.
    #[default]
    None,
    /// They have the names of the metadata `delta.columnMapping.physicalName` in the table's
    /// schema; those without it their own.
    Name,
    /// They have the ids of the metadata `PARQUET:field_id` in the table's schema. A file without
    /// any ids is read as by [`Name`](Self::Name).
    Id,
}

/// Metadata in which the columns have the names of the table, and all others names that no table
/// has. `None` if they have these names already.
pub(crate) fn with_names(
    metadata: &ParquetMetaData,
    table: &Fields,
    mapping: ColumnMapping,
) -> Result<Option<ParquetMetaData>> {
    let file = metadata.file_metadata();
    let root = file.schema_descr().root_schema();
    let by = match mapping {
        ColumnMapping::None => return Ok(None),
        ColumnMapping::Id if root.get_fields().iter().any(|field| has_id(field)) => By::Id,
        ColumnMapping::Id | ColumnMapping::Name => By::Name,
    };
    let built = by.fields(root.get_fields(), table).and_then(|fields| {
        if fields == root.get_fields() {
            return Ok(None);
        }
        Type::group_type_builder(root.name()).with_fields(fields).build().map(Some)
    });
    let built = built.map_err(|error| Error::file(FileErrorKind::Corrupt, error.to_string()))?;
    let Some(root) = built else { return Ok(None) };
    // An Arrow schema has the names before.
    let mut pairs = file.key_value_metadata().cloned();
    pairs.iter_mut().for_each(|pairs| pairs.retain(|pair| pair.key != ARROW_SCHEMA_KEY));
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_owned),
        pairs,
        Arc::new(SchemaDescriptor::new(Arc::new(root))),
        file.column_orders().cloned(),
    );
    Ok(Some(ParquetMetaData::new(file, metadata.row_groups().to_vec())))
}

fn has_id(field: &Type) -> bool {
    field.get_basic_info().has_id()
}

/// What the fields of a file are found by.
#[derive(Clone, Copy)]
enum By {
    Id,
    Name,
}

#[derive(PartialEq, Eq, Hash)]
enum Key<'a> {
    Id(i32),
    Name(&'a str),
}

impl By {
    /// What a field of a table is found by.
    fn key_of(self, field: &Field) -> Option<Key<'_>> {
        let metadata = field.metadata();
        match self {
            Self::Id => metadata.get(FIELD_ID_KEY)?.parse().ok().map(Key::Id),
            Self::Name => Some(Key::Name(metadata.get(PHYSICAL_NAME_KEY).unwrap_or(field.name()))),
        }
    }

    /// What a field of a file is found by.
    fn key_of_stored(self, stored: &Type) -> Option<Key<'_>> {
        match self {
            Self::Id => has_id(stored).then(|| Key::Id(stored.get_basic_info().id())),
            Self::Name => Some(Key::Name(stored.name())),
        }
    }

    /// The columns of a file, or the fields of a struct in it, with the names of the table.
    fn fields(self, stored: &[TypePtr], table: &Fields) -> Result<Vec<TypePtr>, ParquetError> {
        let keyed = table.iter().filter_map(|field| Some((self.key_of(field)?, field)));
        let by_key: HashMap<Key<'_>, &FieldRef> = keyed.collect();
        let named = stored.iter().map(|stored| {
            match self.key_of_stored(stored).and_then(|key| by_key.get(&key)) {
                Some(field) => self.within(stored, field.name(), field.data_type()),
                None => renamed(stored, &format!("{UNKNOWN}{}", stored.name()), None),
            }
        });
        named.collect()
    }

    /// A field with another name, and with those of the table inside of it. Where it has another
    /// form than in the table, names stay, and the types do not fit.
    fn within(
        self,
        stored: &TypePtr,
        name: &str,
        table: &DataType,
    ) -> Result<TypePtr, ParquetError> {
        if stored.is_primitive() {
            return renamed(stored, name, None);
        }
        let inner = stored.get_fields();
        let repeated = match inner {
            [only] if repetition(only) == Repetition::REPEATED => Some(only),
            _ => None,
        };
        let fields = match (table, shape(stored), repeated) {
            (DataType::Struct(fields), Shape::Struct, _) => self.fields(inner, fields)?,
            (DataType::List(item), Shape::List, Some(repeated)) => {
                vec![self.item(repeated, stored.name(), item.data_type())?]
            }
            (DataType::Map(pair, _), Shape::Map, Some(repeated)) => {
                vec![self.pair(repeated, pair.data_type())?]
            }
            _ => return renamed(stored, name, None),
        };
        renamed(stored, name, Some(fields))
    }

    /// The repeated field of a list, with the names of the table inside of its items.
    fn item(
        self,
        repeated: &TypePtr,
        list_name: &str,
        table: &DataType,
    ) -> Result<TypePtr, ParquetError> {
        if repeated.is_primitive() || is_element(repeated, list_name) {
            // Its name decides whether it is an item.
            return self.within(repeated, repeated.name(), table);
        }
        let item = &repeated.get_fields()[0];
        let item = self.within(item, item.name(), table)?;
        renamed(repeated, repeated.name(), Some(vec![item]))
    }

    /// The repeated pair of a map, with the names of the table inside of keys and values.
    fn pair(self, pair: &TypePtr, table: &DataType) -> Result<TypePtr, ParquetError> {
        let (DataType::Struct(fields), false) = (table, pair.is_primitive()) else {
            return Ok(Arc::clone(pair));
        };
        let parts = pair.get_fields().iter().zip(fields);
        let parts = parts.map(|(part, field)| self.within(part, part.name(), field.data_type()));
        renamed(pair, pair.name(), Some(parts.collect::<Result<_, _>>()?))
    }
}

/// A type with another name, and for a group with other fields if some are given.
fn renamed(
    kind: &TypePtr,
    name: &str,
    inner: Option<Vec<TypePtr>>,
) -> Result<TypePtr, ParquetError> {
    if kind.name() == name && inner.as_ref().is_none_or(|inner| inner == kind.get_fields()) {
        return Ok(Arc::clone(kind));
    }
    let info = kind.get_basic_info();
    let id = info.has_id().then(|| info.id());
    let (converted, logical) = (info.converted_type(), info.logical_type_ref().cloned());
    let built = match &**kind {
        Type::GroupType { fields, .. } => {
            let builder = Type::group_type_builder(name)
                .with_fields(inner.unwrap_or_else(|| fields.clone()))
                .with_converted_type(converted)
                .with_logical_type(logical)
                .with_id(id);
            match info.has_repetition() {
                true => builder.with_repetition(info.repetition()).build(),
                false => builder.build(),
            }
        }
        Type::PrimitiveType { physical_type, type_length, scale, precision, .. } => {
            let length = match physical_type {
                Physical::FIXED_LEN_BYTE_ARRAY => *type_length,
                _ => -1,
            };
            let builder = Type::primitive_type_builder(name, *physical_type)
                .with_converted_type(converted)
                .with_logical_type(logical)
                .with_length(length)
                .with_precision(*precision)
                .with_scale(*scale)
                .with_id(id);
            match info.has_repetition() {
                true => builder.with_repetition(info.repetition()).build(),
                false => builder.build(),
            }
        }
    }?;
    Ok(Arc::new(built))
}

#[cfg(test)]
mod tests {
    use parquet::schema::parser::parse_message_type;

    use super::*;

    fn named(schema: &str, table: Vec<Field>, mapping: ColumnMapping) -> Option<Vec<String>> {
        let root = Arc::new(parse_message_type(schema).unwrap());
        let schema = Arc::new(SchemaDescriptor::new(root));
        let count = schema.num_columns();
        let file = FileMetaData::new(2, 0, None, None, schema, None);
        let metadata = ParquetMetaData::new(file, Vec::new());
        let found = with_names(&metadata, &table.into(), mapping).unwrap()?;
        let schema = found.file_metadata().schema_descr();
        assert_eq!(schema.num_columns(), count);
        Some(schema.columns().iter().map(|column| column.path().string()).collect())
    }

    fn field(name: &str, key: &str, value: &str, data_type: DataType) -> Field {
        let metadata = HashMap::from([(key.to_owned(), value.to_owned())]);
        Field::new(name, data_type, true).with_metadata(metadata)
    }

    #[test]
    fn columns_have_the_names_of_their_ids() {
        let schema = "message m {
            optional fixed_len_byte_array(5) amount (DECIMAL(10, 2)) = 3;
            required group user = 1 { optional binary name (UTF8) = 4; optional int32 age = 5; }
            repeated int32 days (DATE) = 9;
            optional double x;
        }";
        let id = |id: &str, name, data_type| field(name, FIELD_ID_KEY, id, data_type);
        let long = DataType::Int64;
        let user = |inner| DataType::Struct(vec![id("4", inner, DataType::Utf8)].into());
        let table = || {
            vec![
                id("1", "x", user("no")),
                id("3", "amount", long.clone()),
                id("4", "days", long.clone()),
                id("7", "x", long.clone()),
            ]
        };
        let found = named(schema, table(), ColumnMapping::Id);
        assert_eq!(found.unwrap(), ["amount", "x.no", "x.\0age", "\0days", "\0x"]);
        assert_eq!(named(schema, table(), ColumnMapping::None), None);
        let mut without = schema.to_owned();
        for number in [3, 1, 4, 5, 9] {
            without = without.replace(&format!(" = {number}"), "");
        }
        let found = named(&without, table(), ColumnMapping::Id);
        assert_eq!(found.unwrap(), ["amount", "\0user.name", "\0user.age", "days", "x"]);
        let same = schema.replace("optional double x;", "optional double x = 2;");
        let age = id("5", "age", long.clone());
        let user = DataType::Struct(vec![id("4", "name", DataType::Utf8), age].into());
        let all = vec![
            id("1", "user", user),
            id("2", "x", long.clone()),
            id("3", "amount", long.clone()),
            id("9", "days", long),
        ];
        assert_eq!(named(&same, all, ColumnMapping::Id), None);
    }

    #[test]
    fn fields_at_any_depth_have_the_names_of_the_table() {
        let schema = "message m {
            optional group c1 (LIST) { repeated group list { optional group element {
                optional int32 f1; optional int32 f2; } } }
            optional group c2 (LIST) { repeated group array { optional int32 f1; } }
            optional group c3 (MAP) { repeated group key_value { required binary key (UTF8);
                optional group value { optional int32 f1; } } }
            optional group c4 { optional group g1 { optional int32 f1; } }
            optional int32 c5;
        }";
        let physical = |name, stored, kind| field(name, PHYSICAL_NAME_KEY, stored, kind);
        let one = || DataType::Struct(vec![physical("a", "f1", DataType::Int32)].into());
        let list = DataType::new_list(one(), true);
        let pair = vec![Field::new("key", DataType::Utf8, false), Field::new("value", one(), true)];
        let pair = Field::new("key_value", DataType::Struct(pair.into()), false);
        let table = vec![
            physical("list", "c1", list.clone()),
            physical("old", "c2", list),
            physical("map", "c3", DataType::Map(Arc::new(pair), false)),
            physical("s", "c4", DataType::Struct(vec![physical("g", "g1", one())].into())),
            Field::new("c5", DataType::Int64, true),
        ];
        let found = named(schema, table, ColumnMapping::Name).unwrap();
        let expected = [
            "list.list.element.a",
            "list.list.element.\0f2",
            "old.array.a",
            "map.key_value.key",
            "map.key_value.value.a",
            "s.g.a",
            "c5",
        ];
        assert_eq!(found, expected);
        // A table with another form of column does not rename what is inside.
        let other = vec![physical("list", "c1", one()), physical("s", "c4", DataType::Int32)];
        let found = named(schema, other, ColumnMapping::Name).unwrap();
        assert_eq!(found[0], "list.list.element.f1");
        assert_eq!(found[5], "s.g1.f1");
    }
}
