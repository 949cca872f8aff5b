// SPDX-License-Identifier: Apache-2.0
//! Flattens objects: their fields become columns with dotted names, `user.name`.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use arrow_select::nullif::nullif;
use arrowsmith_core::{Error, Result};
use arrowsmith_plan::ROOT_METADATA_KEY;

/// The schema without structs: their fields are columns, which are null where the struct is.
/// Structs without fields stay, and those inside of lists and maps.
///
/// # Errors
/// Two columns of one name.
pub(super) fn schema(nested: &SchemaRef) -> Result<SchemaRef> {
    if !nested.fields().iter().any(|field| is_object(field.data_type())) {
        return Ok(Arc::clone(nested));
    }
    let mut fields = Vec::with_capacity(nested.fields().len());
    for field in nested.fields() {
        add_fields(field, &mut fields);
    }
    let mut names = HashSet::with_capacity(fields.len());
    if let Some(field) = fields.iter().find(|field| !names.insert(field.name().as_str())) {
        let message = "two columns have this name once objects are flattened";
        return Err(Error::schema(field.name().as_str(), message));
    }
    let mut metadata = nested.metadata().clone();
    // A record is not a single value any more.
    metadata.remove(ROOT_METADATA_KEY);
    Ok(Arc::new(Schema::new_with_metadata(fields, metadata)))
}

fn is_object(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Struct(fields) if !fields.is_empty())
}

fn add_fields(field: &FieldRef, fields: &mut Vec<FieldRef>) {
    match field.data_type() {
        DataType::Struct(children) if !children.is_empty() => {
            for child in children {
                let name = format!("{}.{}", field.name(), child.name());
                let nullable = field.is_nullable() || child.is_nullable();
                let child = child.as_ref().clone().with_name(name).with_nullable(nullable);
                add_fields(&Arc::new(child), fields);
            }
        }
        _ => fields.push(Arc::clone(field)),
    }
}

/// The columns of a batch, in the order of the fields of [`schema`].
///
/// # Errors
/// Those of Arrow's kernels.
pub(super) fn columns(batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
    let mut columns = Vec::with_capacity(batch.num_columns());
    for column in batch.columns() {
        add_columns(column, &mut columns)?;
    }
    Ok(columns)
}

fn add_columns(column: &ArrayRef, columns: &mut Vec<ArrayRef>) -> Result<()> {
    let Some(object) = column.as_struct_opt().filter(|object| object.num_columns() > 0) else {
        columns.push(Arc::clone(column));
        return Ok(());
    };
    let null = object.nulls().filter(|nulls| nulls.null_count() > 0);
    let null = null.map(|nulls| BooleanArray::new(!nulls.inner(), None));
    for child in object.columns() {
        match &null {
            Some(null) => add_columns(&nullif(child, null)?, columns)?,
            None => add_columns(child, columns)?,
        }
    }
    Ok(())
}
