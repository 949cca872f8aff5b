// SPDX-License-Identifier: Apache-2.0
//! The columns of a file by the ids of its schema instead of their names: tables whose columns can
//! be renamed, or dropped and added again, know them by these.

use std::collections::HashMap;
use std::sync::Arc;

use arrowsmith_core::{Error, FileErrorKind, Result};
use parquet::basic::Type as Physical;
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use parquet::schema::types::{SchemaDescriptor, Type};

use crate::schema::ARROW_SCHEMA_KEY;

/// What the name of a column starts with that is none of the table's. No table has such a name.
const UNKNOWN: char = '\0';

/// Metadata in which the top-level columns with these ids have these names, and all others names
/// that no table has. `None` if they have these names already, or no column has an id.
pub(crate) fn with_names(
    metadata: &ParquetMetaData,
    names: &HashMap<i32, String>,
) -> Result<Option<ParquetMetaData>> {
    let file = metadata.file_metadata();
    let root = file.schema_descr().root_schema();
    let fields = root.get_fields();
    if !fields.iter().any(|field| field.get_basic_info().has_id()) {
        return Ok(None);
    }
    let name = |field: &Type| {
        let info = field.get_basic_info();
        let known = info.has_id().then(|| names.get(&info.id())).flatten();
        known.cloned().unwrap_or_else(|| format!("{UNKNOWN}{}", field.name()))
    };
    let new: Vec<String> = fields.iter().map(|field| name(field)).collect();
    if new.iter().zip(fields).all(|(name, field)| name == field.name()) {
        return Ok(None);
    }
    let renamed = new.iter().zip(fields).map(|(name, field)| Ok(Arc::new(renamed(field, name)?)));
    let built = renamed
        .collect::<Result<Vec<_>, ParquetError>>()
        .and_then(|fields| Type::group_type_builder(root.name()).with_fields(fields).build());
    let root = built.map_err(|error| Error::file(FileErrorKind::Corrupt, error.to_string()))?;
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

/// A type with another name.
fn renamed(kind: &Type, name: &str) -> Result<Type, ParquetError> {
    let info = kind.get_basic_info();
    let id = info.has_id().then(|| info.id());
    let (converted, logical) = (info.converted_type(), info.logical_type_ref().cloned());
    match kind {
        Type::GroupType { fields, .. } => {
            let builder = Type::group_type_builder(name)
                .with_fields(fields.clone())
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
    }
}

#[cfg(test)]
mod tests {
    use parquet::schema::parser::parse_message_type;

    use super::*;

    fn names(schema: &str, names: &[(i32, &str)]) -> Option<Vec<String>> {
        let root = Arc::new(parse_message_type(schema).unwrap());
        let schema = Arc::new(SchemaDescriptor::new(root));
        let file = FileMetaData::new(2, 0, None, None, schema, None);
        let names = names.iter().map(|(id, name)| (*id, (*name).to_owned())).collect();
        let found = with_names(&ParquetMetaData::new(file, Vec::new()), &names).unwrap()?;
        let schema = found.file_metadata().schema_descr();
        assert_eq!(schema.num_columns(), 4);
        let columns = schema.columns().iter();
        Some(columns.map(|column| column.path().string()).collect())
    }

    #[test]
    fn columns_have_the_names_of_their_ids() {
        let schema = "message m {
            optional fixed_len_byte_array(5) amount (DECIMAL(10, 2)) = 3;
            required group user = 1 { optional binary name (UTF8) = 4; }
            repeated int32 days (DATE) = 9;
            optional double x;
        }";
        let found = names(schema, &[(1, "x"), (3, "amount"), (4, "no"), (7, "x")]);
        assert_eq!(found.unwrap(), ["amount", "x.name", "\0days", "\0x"]);
        let without = schema.replace(" = 3;", ";").replace(" = 1 ", " ").replace(" = 9", "");
        assert_eq!(names(&without, &[(1, "x")]), None);
        let same = schema.replace("optional double x;", "optional double x = 2;");
        let all = [(1, "user"), (2, "x"), (3, "amount"), (9, "days")];
        assert_eq!(names(&same, &all), None);
    }
}
