// SPDX-License-Identifier: Apache-2.0
//! The names in the header of a text, and where the columns of a schema are in it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::Arc;

use arrow_csv::reader::Format;
use arrow_schema::{ArrowError, DataType, FieldRef, Schema};

use super::infer::Start;

/// Maximum size of a header, in bytes.
const HEADER_BYTES_MAX: usize = 1 << 20;

pub(super) fn names(schema: &Schema) -> impl Iterator<Item = &String> {
    schema.fields().iter().map(|field| field.name())
}

/// The names of a text's header, as a schema, and what was read for it.
pub(super) fn header(
    format: &Format,
    reader: &mut dyn Read,
) -> Result<(Schema, Vec<u8>), ArrowError> {
    let mut head = Start::new(reader, HEADER_BYTES_MAX, true);
    match format.infer_schema(&mut head, Some(0)) {
        Ok((header, _)) => Ok((header, head.kept)),
        Err(_) if head.is_over => {
            let message = format!("the header takes more than {HEADER_BYTES_MAX} bytes");
            Err(ArrowError::CsvError(message))
        }
        Err(error) => Err(error),
    }
}

/// Where each name of a schema is. Not by [`Schema::index_of`], which looks at one after the other:
/// a header may have as many names as `--fields-max`.
pub(super) fn indices(schema: &Schema) -> BTreeMap<&str, usize> {
    names(schema).enumerate().map(|(at, name)| (name.as_str(), at)).collect()
}

/// For each column of a schema its place in a header, which has no others; some columns that may be
/// null may be missing.
pub(super) fn places(
    schema: &Schema,
    header: &Schema,
    may_lack: bool,
) -> Result<Vec<Option<usize>>, String> {
    if names(schema).eq(names(header)) {
        return Ok((0..schema.fields().len()).map(Some).collect());
    }
    let known = indices(schema);
    if let Some(more) = names(header).find(|name| !known.contains_key(name.as_str())) {
        return Err(format!("the header has a column {more:?}, which the schema lacks"));
    }
    let found = indices(header);
    let place = |field: &FieldRef| match found.get(field.name().as_str()) {
        None if may_lack && field.is_nullable() => Ok(None),
        None => Err(format!("the header has no column {:?}", field.name())),
        Some(place) => Ok(Some(*place)),
    };
    schema.fields().iter().map(place).collect()
}

/// The columns of a schema that a header has, in its order.
pub(super) fn in_order(schema: &Schema, places: &[Option<usize>]) -> Schema {
    let fields = places.iter().zip(schema.fields());
    let mut fields: Vec<(usize, FieldRef)> =
        fields.filter_map(|(place, field)| Some(((*place)?, Arc::clone(field)))).collect();
    fields.sort_unstable_by_key(|(place, _)| *place);
    let fields: Vec<FieldRef> = fields.into_iter().map(|(_, field)| field).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

/// With text where there was no value: later records may have some, which a column of nulls would
/// drop.
pub(super) fn with_text(schema: &Schema) -> Schema {
    let field = |field: &FieldRef| match field.data_type() {
        DataType::Null => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8)),
        _ => Arc::clone(field),
    };
    let fields: Vec<FieldRef> = schema.fields().iter().map(field).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

/// Checks the names of a header, or of a schema.
pub(super) fn check(schema: &Schema, fields_max: usize) -> Result<(), String> {
    let names: Vec<&String> = names(schema).collect();
    if names.is_empty() {
        return Err("there is no header".to_owned());
    }
    if names.len() > fields_max {
        return Err(too_many(fields_max));
    }
    // Whatever is in such a column would be read as null.
    if let Some(field) = schema.fields().iter().find(|field| field.data_type().is_null()) {
        return Err(format!("column {:?} cannot be of type null", field.name()));
    }
    let mut seen = BTreeSet::new();
    match names.into_iter().find(|name| !seen.insert(*name)) {
        Some(name) => Err(format!("two columns are named {name:?}")),
        None => Ok(()),
    }
}

pub(super) fn too_many(fields_max: usize) -> String {
    format!("more than {fields_max} columns (--fields-max)")
}
