// SPDX-License-Identifier: Apache-2.0
//! Parquet files as cases: random ones, those of the corpora, corrupted ones, and the properties
//! that every reader must have. Readers implement the trait [`Reader`] and are compared with the
//! `parquet` crate, which is [`ParquetRs`].

pub mod broken;
pub mod claims;
pub mod corpora;
mod engine;
pub mod predicates;
pub mod properties;
pub mod random;
mod reference;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use bytes::Bytes;

pub use engine::ByEngine;
pub use reference::ParquetRs;

/// A request to a reader.
#[derive(Debug, Clone, Default)]
pub struct Ask {
    /// Maximum rows per batch; `None`: the reader's choice.
    pub batch_rows: Option<usize>,
    /// Top-level columns, by their index in the file, ascending; `None`: all.
    pub columns: Option<Vec<usize>>,
    /// Row groups, ascending; `None`: all.
    pub row_groups: Option<Vec<usize>>,
    /// Ranges of rows within these, ascending and not overlapping; `None`: all.
    pub rows: Option<Vec<Range<usize>>>,
    /// A condition on these rows; `None`: all.
    pub condition: Option<String>,
}

/// Batches of one schema.
#[derive(Debug, Clone)]
pub struct Rows {
    /// Their schema.
    pub schema: SchemaRef,
    /// The rows, in order.
    pub batches: Vec<RecordBatch>,
}

impl Rows {
    /// All rows as one batch, validated by Arrow's rules.
    ///
    /// # Errors
    /// An invalid batch, or one with another schema.
    pub fn concat(&self) -> Result<RecordBatch, String> {
        for batch in &self.batches {
            if batch.schema() != self.schema {
                return Err(format!("a batch of {:?}, not {:?}", batch.schema(), self.schema));
            }
            for column in batch.columns() {
                column.to_data().validate_full().map_err(|error| error.to_string())?;
            }
        }
        arrow_select::concat::concat_batches(&self.schema, &self.batches)
            .map_err(|error| error.to_string())
    }
}

/// A reader of Parquet.
pub trait Reader {
    /// Its name in messages.
    fn name(&self) -> &str;

    /// Reads a file.
    ///
    /// # Errors
    /// The reader's error for the file or the request.
    fn read(&self, file: &Bytes, ask: &Ask) -> Result<Rows, String>;
}

/// A field whose lists and maps have Arrow's usual names of parts (`item`; `entries` of `keys` and
/// `values`): the `parquet` crate returns the names of the file, we those in the schema of the
/// footer, if there is one.
#[must_use]
pub fn with_usual_names(field: &Field) -> Field {
    use DataType as T;
    let inner = |field: &FieldRef| Arc::new(with_usual_names(field));
    let named = |field: &FieldRef, name: &str| Arc::new(with_usual_names(field).with_name(name));
    let kind = match field.data_type() {
        T::List(item) => T::List(named(item, "item")),
        T::LargeList(item) => T::LargeList(named(item, "item")),
        T::ListView(item) => T::ListView(named(item, "item")),
        T::LargeListView(item) => T::LargeListView(named(item, "item")),
        T::FixedSizeList(item, size) => T::FixedSizeList(named(item, "item"), *size),
        T::Struct(fields) => T::Struct(fields.iter().map(inner).collect()),
        T::Map(entries, sorted) => {
            let parts = match entries.data_type() {
                T::Struct(parts) => parts.iter().zip(["keys", "values"]),
                _ => return field.clone(),
            };
            let parts = T::Struct(parts.map(|(part, name)| named(part, name)).collect());
            let entries = entries.as_ref().clone().with_name("entries").with_data_type(parts);
            T::Map(Arc::new(entries), *sorted)
        }
        other => other.clone(),
    };
    field.clone().with_data_type(kind)
}

/// A field without the metadata of extension types: the `parquet` crate supports some only with
/// features that are disabled here.
fn without_extensions(field: &Field) -> Field {
    use DataType as T;
    let inner = |field: &FieldRef| Arc::new(without_extensions(field));
    let kind = match field.data_type() {
        T::List(item) => T::List(inner(item)),
        T::LargeList(item) => T::LargeList(inner(item)),
        T::FixedSizeList(item, size) => T::FixedSizeList(inner(item), *size),
        T::Struct(fields) => T::Struct(fields.iter().map(inner).collect()),
        T::Map(entries, sorted) => T::Map(inner(entries), *sorted),
        other => other.clone(),
    };
    let mut metadata = field.metadata().clone();
    metadata.retain(|key, _| !key.starts_with("ARROW:extension:"));
    field.clone().with_data_type(kind).with_metadata(metadata)
}

fn retyped(column: &ArrayRef, kind: &DataType) -> ArrayRef {
    if column.data_type() == kind {
        return Arc::clone(column);
    }
    let data = column.to_data().into_builder();
    let children = column.to_data().child_data().to_vec();
    let kinds: Vec<DataType> = match kind {
        DataType::List(f)
        | DataType::LargeList(f)
        | DataType::FixedSizeList(f, _)
        | DataType::Map(f, _) => {
            vec![f.data_type().clone()]
        }
        DataType::Struct(fields) => fields.iter().map(|f| f.data_type().clone()).collect(),
        _ => Vec::new(),
    };
    let children = children
        .into_iter()
        .zip(kinds)
        .map(|(child, kind)| retyped(&make_array(child), &kind).to_data());
    let data = data.data_type(kind.clone()).child_data(children.collect()).build();
    // The layouts are the same: only metadata differ.
    data.map_or_else(|_| Arc::clone(column), make_array)
}

/// The rows as files have them: milliseconds for seconds, and days for dates in milliseconds.
///
/// # Errors
/// A time that has no place there.
pub fn as_stored(rows: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    fn field(from: &FieldRef) -> FieldRef {
        use DataType as T;
        let data_type = match from.data_type() {
            T::Timestamp(TimeUnit::Second, zone) => {
                T::Timestamp(TimeUnit::Millisecond, zone.clone())
            }
            T::Time32(_) => T::Time32(TimeUnit::Millisecond),
            T::Date64 => T::Date32,
            T::List(item) => T::List(field(item)),
            T::LargeList(item) => T::LargeList(field(item)),
            T::FixedSizeList(item, len) => T::FixedSizeList(field(item), *len),
            T::Struct(fields) => T::Struct(fields.iter().map(field).collect()),
            T::Map(entries, sorted) => T::Map(field(entries), *sorted),
            other => other.clone(),
        };
        Arc::new(from.as_ref().clone().with_data_type(data_type))
    }
    let schema = rows.schema();
    let fields: Fields = schema.fields().iter().map(field).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    let columns = rows.columns().iter().zip(schema.fields()).map(|(column, field)| {
        if column.data_type() == field.data_type() {
            return Ok(Arc::clone(column));
        }
        let options = CastOptions { safe: false, ..CastOptions::default() };
        cast_with_options(column, field.data_type(), &options)
    });
    let columns = columns.collect::<Result<_, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    RecordBatch::try_new_with_options(schema, columns, &options)
}

/// A description of the first difference of two results: type, nulls, or value of a row. Extension
/// types are compared by their storage; the names of the parts of lists and maps are not compared.
#[must_use]
pub fn difference(found: &RecordBatch, expected: &RecordBatch) -> Option<String> {
    if found.num_columns() != expected.num_columns() {
        return Some(format!("{} columns, not {}", found.num_columns(), expected.num_columns()));
    }
    let fields = found.schema_ref().fields().iter().zip(expected.schema_ref().fields());
    for (field, wanted) in fields {
        let comparable = |field: &FieldRef| with_usual_names(&without_extensions(field));
        if comparable(field) != comparable(wanted) {
            return Some(format!("the field {field:?}, not {wanted:?}"));
        }
    }
    if found.num_rows() != expected.num_rows() {
        return Some(format!("{} rows, not {}", found.num_rows(), expected.num_rows()));
    }
    let columns = found.columns().iter().zip(expected.columns());
    for (field, (column, wanted)) in found.schema_ref().fields().iter().zip(columns) {
        // With exactly the same type, including the metadata of the fields of structs.
        let column = retyped(column, wanted.data_type());
        if column.to_data() == wanted.to_data() {
            continue;
        }
        let name = field.name();
        let differs =
            |row: &usize| column.slice(*row, 1).to_data() != wanted.slice(*row, 1).to_data();
        let Some(row) = (0..column.len()).find(differs) else {
            return Some(format!("{name}: equal row by row, but not as a whole"));
        };
        let show = |array: &dyn arrow_array::Array| {
            let mut text = String::new();
            crate::render::value(&mut text, array, row);
            text.chars().take(300).collect::<String>()
        };
        let (column, wanted) = (show(column.as_ref()), show(wanted.as_ref()));
        return Some(format!("{name}, row {row}: {column}, not {wanted}"));
    }
    None
}
