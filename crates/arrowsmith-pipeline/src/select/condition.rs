// SPDX-License-Identifier: Apache-2.0
//! A condition with the columns of decoded batches, and those that are added.
//!
//! The columns that it looks at are put side by side in a batch of their own, named by their paths;
//! Parquet's [`Filter`] does the rest, so that a condition means the same for both formats.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, NullArray, RecordBatch, RecordBatchOptions, StringArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow_select::nullif::nullif;
use arrowsmith_core::{Error, Result};
use arrowsmith_parquet::{Filter, Predicate, ReadPlan, ambiguous};
use arrowsmith_plan::plan::{EXTENSION_NAME_KEY, JSON_EXTENSION_NAME};

use super::Select;
use super::bound::Origin;
use crate::partition::{column, repeated};

/// A condition for decoded batches of one schema.
#[derive(Debug)]
pub(crate) struct Condition {
    filter: Filter,
    /// Of the columns side by side.
    schema: SchemaRef,
    operands: Vec<Operand>,
}

/// Where a column that a condition looks at comes from.
#[derive(Debug)]
enum Operand {
    /// Places in the batch and in the structs inside it.
    Decoded(Vec<usize>),
    /// The same for values that are JSON text: only nulls can be compared.
    Json(Vec<usize>),
    Partition(usize),
    File,
}

impl Select {
    /// Gives a condition the columns of decoded batches.
    pub(super) fn condition(&self, filter: &Predicate, decoded: &Schema) -> Result<Condition> {
        let (mut operands, mut fields) = (Vec::new(), Vec::<FieldRef>::new());
        let is = |name: &Option<String>, path: &str| name.as_deref() == Some(path);
        for path in filter.columns() {
            let partitions = &self.partitions.fields;
            let partition = partitions.iter().position(|field| field.name() == path);
            let (operand, data_type) = if let Some(place) = partition {
                (Operand::Partition(place), partitions[place].data_type().clone())
            } else if is(&self.options.file_column, path) {
                (Operand::File, DataType::Utf8)
            } else if is(&self.options.record_column, path) {
                return Err(Error::Config(format!(
                    "condition: column {path} cannot be compared: records are counted after it"
                )));
            } else if let Some((places, field)) = only(path, decoded.fields())? {
                match is_json(&field) {
                    true => (Operand::Json(places), DataType::Null),
                    false => (Operand::Decoded(places), field.data_type().clone()),
                }
            } else {
                return Err(Error::Config(format!(
                    "condition: no column {path} that could be compared (what is inside of a list \
                     or map cannot)"
                )));
            };
            operands.push(operand);
            fields.push(Arc::new(Field::new(path, data_type, true)));
        }
        let columns = fields.iter().enumerate().map(|(index, field)| column(index, field));
        let columns = columns.collect();
        let schema = Arc::new(Schema::new(fields));
        let plan = ReadPlan { fields: columns, schema: Arc::clone(&schema) };
        Ok(Condition { filter: Filter::new(filter, &plan)?, schema, operands })
    }
}

impl Condition {
    /// The rows of a batch for which the condition is true.
    ///
    /// # Errors
    /// A column of JSON text with values.
    pub(super) fn mask(&self, batch: &RecordBatch, origin: &Origin<'_>) -> Result<BooleanArray> {
        let rows = batch.num_rows();
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.operands.len());
        for (operand, field) in self.operands.iter().zip(self.schema.fields()) {
            columns.push(match operand {
                Operand::Decoded(places) => decoded(batch, places)?,
                Operand::Json(places) => {
                    let array = decoded(batch, places)?;
                    if array.null_count() < array.len() {
                        return Err(Error::Config(format!(
                            "condition: column {} is json, as its values are of several types or \
                             it was declared so: give it a type that can be compared (--types)",
                            field.name()
                        )));
                    }
                    Arc::new(NullArray::new(rows))
                }
                Operand::Partition(place) => {
                    repeated(origin.values.get(*place).ok_or_else(foreign)?, rows)?
                }
                Operand::File => names(origin.name, rows),
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let side_by_side =
            RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        Ok(BooleanArray::new(self.filter.mask(&side_by_side)?, None))
    }
}

fn foreign() -> Error {
    Error::Config("a batch that is not of the condition's plan".to_owned())
}

/// A decoded column, null where a struct around it is.
fn decoded(batch: &RecordBatch, places: &[usize]) -> Result<ArrayRef> {
    let (first, inside) = places.split_first().ok_or_else(foreign)?;
    let mut array = batch.columns().get(*first).ok_or_else(foreign)?;
    let mut nulls: Option<NullBuffer> = None;
    for place in inside {
        let structure = array.as_struct_opt().ok_or_else(foreign)?;
        nulls = NullBuffer::union(nulls.as_ref(), structure.nulls());
        array = structure.columns().get(*place).ok_or_else(foreign)?;
    }
    Ok(match nulls {
        Some(nulls) => nullif(array, &BooleanArray::new(!nulls.inner(), None))?,
        None => Arc::clone(array),
    })
}

/// The name of an input in each row.
pub(super) fn names(name: Option<&str>, rows: usize) -> ArrayRef {
    Arc::new(match name {
        Some(name) => StringArray::from_iter_values(std::iter::repeat_n(name, rows)),
        None => StringArray::new_null(rows),
    })
}

fn is_json(field: &Field) -> bool {
    field.metadata().get(EXTENSION_NAME_KEY).is_some_and(|name| name == JSON_EXTENSION_NAME)
}

/// The one column with a dotted path.
fn only(path: &str, fields: &[FieldRef]) -> Result<Option<(Vec<usize>, FieldRef)>> {
    let mut found = find(path, fields);
    match found.len() {
        0 | 1 => Ok(found.pop()),
        _ => Err(ambiguous(path)),
    }
}

/// The columns with a dotted path, through structs only: several, if names contain dots.
fn find(path: &str, fields: &[FieldRef]) -> Vec<(Vec<usize>, FieldRef)> {
    let mut all = Vec::new();
    for (place, field) in fields.iter().enumerate() {
        let Some(rest) = path.strip_prefix(field.name().as_str()) else { continue };
        if rest.is_empty() {
            all.push((vec![place], Arc::clone(field)));
        } else if let (Some(inside), DataType::Struct(children)) =
            (rest.strip_prefix('.'), field.data_type())
        {
            all.extend(find(inside, children).into_iter().map(|(mut places, found)| {
                places.insert(0, place);
                (places, found)
            }));
        }
    }
    all
}

/// The columns with this path.
pub(super) fn fields(path: &str, schema: &Schema) -> Vec<FieldRef> {
    find(path, schema.fields()).into_iter().map(|(_, field)| field).collect()
}

/// The columns with this path, as options write them: names that contain dots in quotes.
pub(super) fn quoted(path: &str, schema: &Schema) -> Vec<String> {
    let all = find(path, schema.fields()).into_iter();
    all.map(|(places, _)| {
        let (mut fields, mut names) = (schema.fields(), Vec::with_capacity(places.len()));
        for place in places {
            let Some(field) = fields.get(place) else { break };
            let name = field.name();
            names.push(if name.contains('.') { format!("\"{name}\"") } else { name.clone() });
            if let DataType::Struct(children) = field.data_type() {
                fields = children;
            }
        }
        names.join(".")
    })
    .collect()
}
