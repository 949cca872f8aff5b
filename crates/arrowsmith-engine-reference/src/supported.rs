// SPDX-License-Identifier: Apache-2.0
//! Checks that arrow-json decodes a schema as the contract requires; rejects others by field name.

use arrow_schema::{DataType, Field, Schema};
use arrowsmith_core::{Error, Result};
use arrowsmith_plan::plan::{ENCODING_METADATA_KEY, EXTENSION_NAME_KEY, JSON_EXTENSION_NAME};

/// Rejects the first field, in schema order, that arrow-json lacks or reads differently.
pub(crate) fn check_schema(schema: &Schema) -> Result<()> {
    schema.fields().iter().try_for_each(|field| check_field(field, field.name()))
}

fn check_field(field: &Field, path: &str) -> Result<()> {
    let refuse = |message: &str| Err(Error::schema(path, message));
    match field.data_type() {
        DataType::Dictionary(..) => refuse("arrow-json has no dictionaries"),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View if is_json(field) => {
            refuse("arrow-json does not keep JSON text")
        }
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_)
            if field.metadata().get(ENCODING_METADATA_KEY).is_none_or(|text| text != "hex") =>
        {
            refuse("arrow-json reads binary as hex only")
        }
        DataType::Struct(fields) => fields
            .iter()
            .try_for_each(|child| check_field(child, &format!("{path}.{}", child.name()))),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            check_field(item, &format!("{path}[]"))
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => {
                fields.iter().try_for_each(|child| check_field(child, &format!("{path}{{}}")))
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

fn is_json(field: &Field) -> bool {
    field.metadata().get(EXTENSION_NAME_KEY).is_some_and(|name| name == JSON_EXTENSION_NAME)
}
