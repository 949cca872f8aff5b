// SPDX-License-Identifier: Apache-2.0
//! VARIANT in the Parquet schema: the mapping of the `parquet` crate writes its struct without the
//! logical type.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema};
use parquet::basic::LogicalType;
use parquet::errors::ParquetError;
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

/// The name of the Arrow extension type whose storage is the group of a VARIANT.
const VARIANT_EXTENSION: &str = "arrow.parquet.variant";

/// The version of the binary encoding that the storage has.
const SPECIFICATION_VERSION: i8 = 1;

/// The Parquet schema of an Arrow schema, with the groups that are VARIANT marked as such.
pub(crate) fn marked(
    descr: SchemaDescriptor,
    schema: &Schema,
) -> Result<SchemaDescriptor, ParquetError> {
    if !schema.flattened_fields().into_iter().any(is_variant) {
        return Ok(descr);
    }
    let root = group(descr.root_schema(), None, children(descr.root_schema(), schema.fields())?)?;
    Ok(SchemaDescriptor::new(root))
}

/// Whether a field is a VARIANT with the storage of one, shredded or not.
fn is_variant(field: &Field) -> bool {
    let DataType::Struct(fields) = field.data_type() else { return false };
    let binary = |name: &str| fields.find(name).is_some_and(|(_, field)| is_binary(field));
    field.extension_type_name() == Some(VARIANT_EXTENSION)
        && binary("metadata")
        && (binary("value") || fields.find("typed_value").is_some())
}

fn is_binary(field: &Field) -> bool {
    use DataType as T;
    matches!(field.data_type(), T::Binary | T::LargeBinary | T::BinaryView)
}

fn mark(node: &TypePtr, field: &Field) -> Result<TypePtr, ParquetError> {
    use DataType as T;
    if node.is_primitive() {
        return Ok(Arc::clone(node));
    }
    // The fields of the repeated group below a list or map, or of a struct.
    let inner = match field.data_type() {
        T::Struct(fields) => {
            let logical =
                is_variant(field).then(|| LogicalType::variant(Some(SPECIFICATION_VERSION)));
            return group(node, logical, children(node, fields)?);
        }
        T::List(item)
        | T::LargeList(item)
        | T::ListView(item)
        | T::LargeListView(item)
        | T::FixedSizeList(item, _) => Fields::from([Arc::clone(item)]),
        T::Map(entries, _) => match entries.data_type() {
            T::Struct(fields) => fields.clone(),
            _ => return Ok(Arc::clone(node)),
        },
        _ => return Ok(Arc::clone(node)),
    };
    let repeated = node.get_fields().iter();
    let repeated = repeated.map(|repeated| group(repeated, None, children(repeated, &inner)?));
    let repeated = repeated.collect::<Result<_, _>>()?;
    group(node, None, repeated)
}

fn children(node: &Type, fields: &Fields) -> Result<Vec<TypePtr>, ParquetError> {
    node.get_fields().iter().zip(fields).map(|(node, field)| mark(node, field)).collect()
}

/// The group with other children, and another logical type if there is one.
fn group(
    node: &Type,
    logical: Option<LogicalType>,
    children: Vec<TypePtr>,
) -> Result<TypePtr, ParquetError> {
    let info = node.get_basic_info();
    let mut builder = Type::group_type_builder(info.name())
        .with_converted_type(info.converted_type())
        .with_logical_type(logical.or_else(|| info.logical_type_ref().cloned()))
        .with_id(info.has_id().then(|| info.id()))
        .with_fields(children);
    if info.has_repetition() {
        builder = builder.with_repetition(info.repetition());
    }
    Ok(Arc::new(builder.build()?))
}
